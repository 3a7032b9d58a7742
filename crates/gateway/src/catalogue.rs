//! What several servers offer, as one list, and to which of them each entry belongs. A value; who fetches it is `peer`.

use std::collections::HashMap;
use std::sync::Arc;

use polyport::client::marked_arguments;
use polyport_proto::http::HeaderParam;
use polyport_wire::{Raw, splice, write};

use crate::addresses;
use crate::names::{self, Prefix};
use crate::seen::Seen;

/// One of the four lists.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl Kind {
    /// The member of an entry that names it.
    fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// What an entry is called by its server.
    pub(crate) fn name_of(self, entry: &Raw) -> Option<String> {
        addresses::text_of(entry.as_str(), self.key())
    }

    /// Is something of this name, or at this address, to be seen?
    fn is_seen(self, seen: &Seen, name: &str) -> bool {
        match self {
            Self::Tools | Self::Prompts | Self::Templates => seen.shows(name),
            Self::Resources => seen.shows_address(name),
        }
    }

    /// The member of a result that holds the list.
    pub(crate) fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }
}

/// The lists of all servers as one.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// As they are shown, in the order of the servers and of their lists.
    pub(crate) entries: Vec<Raw>,
    /// By the name that is shown.
    routes: HashMap<String, Route>,
    /// Those that are shown under other names than their own.
    renamed: HashMap<Route, String>,
    /// Of tools that have any: the arguments that clients mirror in headers, by the name that is shown.
    marked: HashMap<String, Arc<[HeaderParam]>>,
    /// Of tools: whose the pages are that hosts show for them, by the addresses that are shown.
    pages: HashMap<String, Route>,
}

/// Whose something is, and what it is called there.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Route {
    pub(crate) server: usize,
    pub(crate) name: String,
}

impl Merged {
    /// Puts lists together, one of each server. What has no name, and what is not to be seen, is left out. `known`: what else servers
    /// are known to have, which is not there now, and whose names are theirs all the same.
    pub(crate) fn of(
        kind: Kind,
        prefix: Prefix,
        servers: &[&str],
        lists: &[&[Raw]],
        known: &[Vec<String>],
        seen: &[&Seen],
    ) -> Self {
        let mut things = Vec::new();
        let mut texts = Vec::new();
        for (server, ((list, known), seen)) in lists.iter().zip(known).zip(seen).enumerate() {
            for entry in *list {
                let name = kind.name_of(entry);
                if let Some(name) = name.filter(|name| kind.is_seen(seen, name)) {
                    texts.push(Some(
                        seen.described(&name, entry)
                            .unwrap_or_else(|| entry.clone()),
                    ));
                    things.push((server, name));
                }
            }
            for name in known.iter().filter(|name| kind.is_seen(seen, name)) {
                texts.push(None);
                things.push((server, name.clone()));
            }
        }
        let offered = things
            .iter()
            .map(|(server, name)| (*server, seen[*server].offered(name)));
        let borrowed: Vec<_> = offered.collect();
        let shown = match kind {
            Kind::Tools | Kind::Prompts => names::shown(prefix, servers, &borrowed),
            Kind::Resources | Kind::Templates => shown_uris(servers, &borrowed),
        };
        let mut merged = Self::default();
        let are_tools = kind == Kind::Tools;
        for (((server, name), entry), shown) in things.into_iter().zip(texts).zip(shown) {
            let Some(entry) = entry else {
                continue;
            };
            let Some(shown) = shown else {
                let server = servers[server];
                tracing::warn!(server, name, "the name is taken: it is left out");
                continue;
            };
            let route = Route { server, name };
            let paged = are_tools
                .then(|| merged.paged(servers, server, &entry))
                .flatten();
            let entry = paged.unwrap_or(entry);
            let entry = if shown == route.name {
                entry
            } else {
                merged.renamed.insert(route.clone(), shown.clone());
                renamed(kind, &entry, &shown)
            };
            if are_tools && let Ok(Some((_, marked))) = marked_arguments(entry.as_str()) {
                merged.marked.insert(shown.clone(), marked);
            }
            merged.entries.push(entry);
            merged.routes.insert(shown, route);
        }
        merged
    }

    /// Whose it is that is shown under this name.
    pub(crate) fn route(&self, shown: &str) -> Option<&Route> {
        self.routes.get(shown)
    }

    /// The arguments of a tool that clients mirror in headers.
    pub(crate) fn marked(&self, shown: &str) -> Option<Arc<[HeaderParam]>> {
        self.marked.get(shown).cloned()
    }

    /// Notes whose a tool's page is. Some: the tool with another address of it, since a server before has a page at the same.
    fn paged(&mut self, servers: &[&str], server: usize, tool: &Raw) -> Option<Raw> {
        if !tool.as_str().contains("resourceUri") {
            return None;
        }
        let (at, name) = addresses::page(tool.as_str())?;
        let is_free = |route: Option<&Route>| route.is_none_or(|route| route.server == server);
        let route = Route { server, name };
        if is_free(self.pages.get(&route.name)) {
            self.pages.insert(route.name.clone(), route);
            return None;
        }
        let shown = names::prefixed_uri(servers[server], &route.name);
        let mut text = Vec::new();
        write::string(&mut text, &shown);
        let mut out = Vec::new();
        splice::replace(tool.as_bytes(), &[(at, &text)], &mut out);
        self.pages.insert(shown, route);
        Some(Raw::trusted(out))
    }

    /// Whose page of a tool that is.
    pub(crate) fn page(&self, shown: &str) -> Option<Route> {
        self.pages.get(shown).cloned()
    }

    /// The name under which something of a server is shown, where that is not its own.
    pub(crate) fn renamed(&self, server: usize, name: &str) -> Option<&str> {
        if self.renamed.is_empty() {
            return None;
        }
        let name = name.to_owned();
        self.renamed
            .get(&Route { server, name })
            .map(String::as_str)
    }

    /// What of a server is shown under other names than its own.
    pub(crate) fn all_renamed(&self, server: usize) -> impl Iterator<Item = &str> {
        let renamed = self.renamed.keys();
        renamed
            .filter(move |route| route.server == server)
            .map(|route| &*route.name)
    }

    /// What those of each of so many servers are called by it, in alphabetical order.
    pub(crate) fn own_names(&self, servers: usize) -> Vec<Vec<&str>> {
        let mut names = vec![Vec::new(); servers];
        for route in self.routes.values() {
            names[route.server].push(&*route.name);
        }
        names.iter_mut().for_each(|names| names.sort_unstable());
        names
    }

    /// All of them, with the names that are shown.
    pub(crate) fn routes(&self) -> impl Iterator<Item = (&str, &Route)> {
        self.routes.iter().map(|(shown, route)| (&**shown, route))
    }
}

/// Addresses are kept where no two servers have the same.
fn shown_uris(servers: &[&str], things: &[(usize, &str)]) -> Vec<Option<String>> {
    let mut of: HashMap<&str, Vec<usize>> = HashMap::new();
    for (server, uri) in things {
        of.entry(uri).or_default().push(*server);
    }
    let mut seen = std::collections::HashSet::new();
    things
        .iter()
        .map(|(server, uri)| {
            if !seen.insert((*server, *uri)) {
                return None;
            }
            let first = of.get(uri).and_then(|of| of.first());
            let alone = of.get(uri).is_none_or(|of| of.iter().all(|s| s == server));
            if alone || first.is_none() {
                return Some((*uri).to_owned());
            }
            let shown = names::prefixed_uri(servers[*server], uri);
            // Another's own may look the same.
            Some(if of.contains_key(&*shown) {
                names::hashed_uri(servers[*server], uri)
            } else {
                shown
            })
        })
        .collect()
}

/// The same entry under another name; everything else stays as it came.
fn renamed(kind: Kind, entry: &Raw, shown: &str) -> Raw {
    let mut name = Vec::new();
    write::string(&mut name, shown);
    let renamed = addresses::exchanged(entry.as_str(), kind.key(), &name);
    renamed.map_or_else(|| entry.clone(), Raw::trusted)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn raws(texts: &[&'static str]) -> Vec<Raw> {
        texts.iter().map(|text| Raw::from_static(text)).collect()
    }

    fn both(kind: Kind, one: &[Raw], two: &[Raw]) -> Merged {
        let all = Seen::all();
        let servers = ["a", "b"];
        Merged::of(
            kind,
            Prefix::WhenNeeded,
            &servers,
            &[one, two],
            &[Vec::new(), Vec::new()],
            &[&all, &all],
        )
    }

    // req: S-GATE-BYTES
    #[test]
    fn entries_pass_as_they_came_but_for_their_names() {
        let one = raws(&[
            r#"{"x-vendor":{"deep":[1, 2.50, 9007199254740993]},"name":"say","icons":[{"src":"a"}]}"#,
            r#"{"name":"only"}"#,
        ]);
        let two = raws(&[r#"{"title":"é","name":"say"}"#, r#"{"no":"name"}"#]);
        let merged = both(Kind::Tools, &one, &two);
        let texts: Vec<_> = merged.entries.iter().map(Raw::as_str).collect();
        assert_eq!(
            texts,
            [
                r#"{"x-vendor":{"deep":[1, 2.50, 9007199254740993]},"name":"a__say","icons":[{"src":"a"}]}"#,
                r#"{"name":"only"}"#,
                r#"{"title":"é","name":"b__say"}"#,
            ]
        );
        let route = merged.route("b__say").unwrap();
        assert_eq!((route.server, &*route.name), (1, "say"));
        assert_eq!(merged.route("say"), None);
    }

    // req: S-GATE-NAMES
    #[test]
    fn addresses_stay_unless_two_have_the_same() {
        let one = raws(&[r#"{"uri":"f:a","name":"x"}"#, r#"{"uri":"f:b","name":"x"}"#]);
        let two = raws(&[r#"{"uri":"f:a","name":"x"}"#]);
        let merged = both(Kind::Resources, &one, &two);
        let mut shown: Vec<_> = merged.routes().map(|(shown, _)| shown).collect();
        shown.sort_unstable();
        assert_eq!(shown, ["a+f:a", "b+f:a", "f:b"]);
        // One's own address looks like another's with the name before it.
        let two = raws(&[
            r#"{"uri":"f:a","name":"x"}"#,
            r#"{"uri":"a+f:a","name":"x"}"#,
        ]);
        let merged = both(Kind::Resources, &one, &two);
        let of = |shown: &str| {
            merged
                .route(shown)
                .map(|route| (route.server, &*route.name))
        };
        assert_eq!(of("a+f:a"), Some((1, "a+f:a")));
        assert_eq!(of("b+f:a"), Some((1, "f:a")));
        let own = merged.renamed(0, "f:a").unwrap();
        assert_eq!(of(own), Some((0, "f:a")));
    }
}
