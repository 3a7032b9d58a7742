//! Modules of a crate use each other in one direction only. A pass over names, not a compiler: it sees `use` and paths.
//!
//! An edge goes from the file that names a path to the file the path leads to, re-exports followed. Tests are left out.
//! A folder's own file puts its children together and lends them its types, so it may use them and they it; a circle that
//! is left when that file is taken out, or that leaves the folder, is a knot.

use std::collections::{BTreeMap, BTreeSet};

use super::{Findings, Tree, is_test_path};
use crate::lexer::is_name;

/// A module's path in its crate; empty for the root.
type Module = Vec<String>;
type Edges = BTreeMap<Module, BTreeSet<Module>>;

pub(super) fn check(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    for package in tree.members() {
        let name = package["name"].as_str().unwrap_or_default();
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let manifest = super::tree::relative(&tree.root, manifest.as_ref());
        let home = manifest.replace("Cargo.toml", "src/");
        let mut texts = BTreeMap::new();
        for file in &tree.rust {
            let inside = file.path.strip_prefix(&home);
            let inside = inside.filter(|path| !path.starts_with("bin/") && !is_test_path(path));
            if let Some(path) = inside {
                let bare = file.source.shipped(&file.source.bare);
                texts.insert(module_of(path), bare);
            }
        }
        for knot in Graph::new(texts).knots() {
            findings.fail(format!("{name}: {knot}"));
        }
    }
    Ok(findings)
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`.
fn module_of(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut parts: Module = path.split('/').map(str::to_owned).collect();
    let is_home = parts
        .last()
        .is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
    if is_home {
        parts.pop();
    }
    parts
}

/// Where a name that a module hands on comes from.
#[derive(Clone, Debug)]
enum Origin {
    Here(Module),
    OtherCrate,
}

struct Graph {
    texts: BTreeMap<Module, String>,
    /// Per module: the names it hands on.
    handed_on: BTreeMap<Module, BTreeMap<String, Origin>>,
    /// Per module: the modules it hands on as a whole.
    globs: BTreeMap<Module, Vec<Module>>,
    edges: Edges,
}

impl Graph {
    fn new(texts: BTreeMap<Module, String>) -> Self {
        let mut graph = Self {
            texts,
            handed_on: BTreeMap::new(),
            globs: BTreeMap::new(),
            edges: Edges::new(),
        };
        let mut named: Vec<(Module, Module)> = Vec::new();
        for (module, text) in &graph.texts {
            for item in uses(text) {
                let full = graph.absolute(module, &item.path);
                // A name that is only handed on is no use of it; one that the file also works with is.
                let is_used = !item.is_public || !item.is_glob && count_name(text, &item.name) > 1;
                if let (true, Some(full)) = (is_used, &full) {
                    named.push((module.clone(), full.clone()));
                }
                match full {
                    Some(full) if item.is_public && item.is_glob => {
                        let globs = graph.globs.entry(module.clone()).or_default();
                        globs.push(full);
                    }
                    full if item.is_public => {
                        let origin = full.map_or(Origin::OtherCrate, Origin::Here);
                        let names = graph.handed_on.entry(module.clone()).or_default();
                        names.insert(item.name, origin);
                    }
                    _ => {}
                }
            }
            let paths = paths(text).into_iter();
            let full = paths.filter_map(|path| graph.absolute(module, &path));
            named.extend(full.map(|full| (module.clone(), full)));
        }
        for (from, path) in named {
            if let Some(to) = graph.resolve(&path, 0).filter(|to| *to != from) {
                graph.edges.entry(from).or_default().insert(to);
            }
        }
        graph
    }

    /// The path from the crate's root; `None` when it leads out of the crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let mut base = module.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" | "super" => {
                while let Some(step @ ("self" | "super")) = rest.first().map(String::as_str) {
                    if step == "super" {
                        base.pop();
                    }
                    rest = &rest[1..];
                }
            }
            child => {
                let mut full = module.clone();
                full.push(child.to_owned());
                self.texts.get(&full)?;
            }
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The deepest module on a path, through what is handed on; `None` when that leads out of the crate.
    fn resolve(&self, path: &[String], depth: usize) -> Option<Module> {
        let end = (0..=path.len())
            .rev()
            .find(|end| self.texts.contains_key(&path[..*end]))?;
        let module = path[..end].to_vec();
        // Two modules that hand one name to each other would go on for ever.
        let Some(name) = path.get(end).filter(|_| depth < 8) else {
            return Some(module);
        };
        let names = self.handed_on.get(&module);
        match names.and_then(|names| names.get(name)) {
            Some(Origin::OtherCrate) => None,
            Some(Origin::Here(target)) => {
                let mut target = target.clone();
                target.extend_from_slice(&path[end + 1..]);
                self.resolve(&target, depth + 1)
            }
            None => {
                let mut globs = self.globs.get(&module).into_iter().flatten();
                let origin = globs.find(|target| self.defines(target, name));
                Some(origin.cloned().unwrap_or(module))
            }
        }
    }

    /// Whether a module's file has an item of this name.
    fn defines(&self, module: &Module, name: &str) -> bool {
        const KINDS: &[&str] = &[
            "struct", "enum", "trait", "fn", "type", "const", "static", "union",
        ];
        let Some(text) = self.texts.get(module) else {
            return false;
        };
        let mut words = text
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty());
        let mut before = "";
        words.any(|word| {
            let is_item = word == name && KINDS.contains(&before);
            before = word;
            is_item
        })
    }

    /// Groups of modules that reach each other, in words.
    fn knots(&self) -> Vec<String> {
        let mut knots = Vec::new();
        let mut open = vec![self.texts.keys().collect::<BTreeSet<_>>()];
        while let Some(modules) = open.pop() {
            for group in self.groups(&modules) {
                let top = group
                    .iter()
                    .find(|top| group.iter().all(|module| module.starts_with(top)));
                match top.copied() {
                    Some(top) => open.push(group.into_iter().filter(|it| *it != top).collect()),
                    None => knots.push(self.describe(&group)),
                }
            }
        }
        knots.sort();
        knots
    }

    /// Among these modules, those that reach each other.
    fn groups<'a>(&'a self, modules: &BTreeSet<&'a Module>) -> BTreeSet<BTreeSet<&'a Module>> {
        let reach: BTreeMap<&Module, BTreeSet<&Module>> = modules
            .iter()
            .map(|module| (*module, self.reach(module, modules)))
            .collect();
        let group = |module: &&'a Module| -> BTreeSet<&'a Module> {
            let there = reach[*module].iter();
            there
                .filter(|other| reach[*other].contains(*module))
                .copied()
                .collect()
        };
        modules
            .iter()
            .map(group)
            .filter(|group| !group.is_empty())
            .collect()
    }

    fn reach<'a>(&'a self, from: &Module, within: &BTreeSet<&'a Module>) -> BTreeSet<&'a Module> {
        let mut found = BTreeSet::new();
        let mut open = vec![from];
        while let Some(module) = open.pop() {
            for next in self.edges.get(module).into_iter().flatten() {
                if within.contains(next) && found.insert(next) {
                    open.push(next);
                }
            }
        }
        found
    }

    fn describe(&self, knot: &BTreeSet<&Module>) -> String {
        let mut lines = Vec::new();
        for from in knot {
            for to in self.edges.get(*from).into_iter().flatten() {
                if knot.contains(to) {
                    lines.push(format!("{} -> {}", show(from), show(to)));
                }
            }
        }
        format!("modules use each other in a circle: {}", lines.join(", "))
    }
}

fn show(module: &Module) -> String {
    if module.is_empty() {
        "the root".to_owned()
    } else {
        module.join("::")
    }
}

/// One name of a `use` item.
struct Use {
    is_public: bool,
    is_glob: bool,
    path: Vec<String>,
    /// What it is called here.
    name: String,
}

fn uses(text: &str) -> Vec<Use> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("use ") {
        if at > 0 && is_name(text.as_bytes()[at - 1]) {
            continue;
        }
        let Some(length) = text[at..].find(';') else {
            continue;
        };
        let item = text[..at]
            .rfind([';', '{', '}', ']'])
            .map_or(0, |end| end + 1);
        let is_public = text[item..at].trim_start().starts_with("pub");
        let mut leaves = Vec::new();
        expand(&text[at + 4..at + length], "", &mut leaves);
        for leaf in leaves {
            let (path, alias) = leaf.split_once(" as ").unwrap_or((&leaf, ""));
            let parts = path.split("::").map(|part| part.trim().to_owned());
            let mut path: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
            let is_glob = path.last().is_some_and(|last| last == "*");
            if is_glob || path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            let name = path.last().cloned().unwrap_or_default();
            let name = if alias.is_empty() {
                name
            } else {
                alias.trim().to_owned()
            };
            found.push(Use {
                is_public,
                is_glob,
                path,
                name,
            });
        }
    }
    found
}

/// `a::{b, c::d as e}` into `a::b` and `a::c::d as e`.
fn expand(tree: &str, prefix: &str, found: &mut Vec<String>) {
    let tree = tree.trim();
    if let Some((before, inside)) = tree.split_once('{') {
        let inside = inside.trim_end().strip_suffix('}').unwrap_or(inside);
        let prefix = format!("{prefix}{before}");
        let mut depth = 0_usize;
        let mut from = 0;
        for (at, byte) in inside.bytes().enumerate() {
            match byte {
                b'{' => depth += 1,
                b'}' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    expand(&inside[from..at], &prefix, found);
                    from = at + 1;
                }
                _ => {}
            }
        }
        expand(&inside[from..], &prefix, found);
        return;
    }
    if !tree.is_empty() {
        found.push(format!("{prefix}{tree}"));
    }
}

/// Paths of at least two names outside `use` items.
fn paths(text: &str) -> Vec<Vec<String>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_name(bytes[at]) {
            at += 1;
            continue;
        }
        // A macro's `$crate::…` is named where the macro is used.
        let follows = at > 0 && matches!(bytes[at - 1], b':' | b'.' | b'\'' | b'$');
        let mut path = Vec::new();
        loop {
            let end = bytes[at..].iter().position(|byte| !is_name(*byte));
            let end = end.map_or(bytes.len(), |length| at + length);
            path.push(text[at..end].to_owned());
            at = end;
            let goes_on =
                bytes[at..].starts_with(b"::") && bytes.get(at + 2).copied().is_some_and(is_name);
            if !goes_on {
                break;
            }
            at += 2;
        }
        if path == ["use"] {
            at += bytes[at..].iter().take_while(|byte| **byte != b';').count();
        } else if path.len() > 1 && !follows {
            found.push(path);
        }
    }
    found
}

fn count_name(text: &str, name: &str) -> usize {
    let bytes = text.as_bytes();
    text.match_indices(name)
        .filter(|(at, _)| {
            let before = at.checked_sub(1).map(|before| bytes[before]);
            let after = bytes.get(at + name.len()).copied();
            !before.is_some_and(is_name) && !after.is_some_and(is_name)
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::{Graph, module_of};

    fn check(files: &[(&str, &str)], expect: &[&str]) {
        let texts = files
            .iter()
            .map(|(path, text)| (module_of(path), (*text).to_owned()))
            .collect();
        let knots = Graph::new(texts).knots();
        let knots: Vec<&str> = knots
            .iter()
            .map(|knot| knot.split_once(": ").map_or("", |(_, edges)| edges))
            .collect();
        assert_eq!(knots, expect, "{files:?}");
    }

    #[test]
    fn one_direction_is_no_knot() {
        check(
            &[
                ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
                ("a.rs", "use crate::b::B; pub struct A(B);"),
                ("b.rs", "pub struct B;"),
            ],
            &[],
        );
    }

    #[test]
    fn circles_are_found() {
        check(
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use crate::b::{self, B as C};"),
                ("b.rs", "fn f() { crate::a::g(); }"),
            ],
            &["a -> b, b -> a"],
        );
    }

    #[test]
    fn a_folder_and_its_children_may_use_each_other() {
        let home = ("a/mod.rs", "mod b; mod c; fn f() { b::g(); }");
        check(
            &[
                home,
                ("a/b.rs", "use super::f;"),
                ("a/c.rs", "use super::b;"),
            ],
            &[],
        );
        check(
            &[
                home,
                ("a/b.rs", "use super::c::x;"),
                ("a/c.rs", "use super::b::g; use super::f;"),
            ],
            &["a::b -> a::c, a::c -> a::b"],
        );
        check(
            &[
                home,
                ("a/b.rs", "use crate::d::h;"),
                ("d.rs", "use crate::a::f;"),
            ],
            &["a -> a::b, a::b -> d, d -> a"],
        );
    }

    #[test]
    fn what_is_handed_on_is_followed() {
        check(
            &[
                ("lib.rs", "mod a; mod b; pub use a::A;"),
                ("a.rs", "use crate::b::B;"),
                ("b.rs", "use crate::A;"),
            ],
            &["a -> b, b -> a"],
        );
        check(
            &[
                ("lib.rs", "mod a; mod b; pub use a::*; pub use other::C;"),
                ("a.rs", "use crate::b::B; use crate::C; pub struct A;"),
                ("b.rs", "use crate::A; use crate::C;"),
            ],
            &["a -> b, b -> a"],
        );
    }
}
