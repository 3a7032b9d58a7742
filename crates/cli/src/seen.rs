//! What servers were seen to offer, kept for the completion of command lines: one small file in the user's cache folder that only its
//! user reads. It holds names, never arguments or results; a command is kept by its hash, for its words may be secrets.

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use polyport::Raw;
use polyport::client::List;
use polyport::model::{Prompt, Tool};
use polyport::serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::offered::{apart, can_be_said, offered};
use crate::cache::Kept;
use crate::places::Reading;
use crate::typed::Typed;

/// Servers that are kept; those that were seen longest ago make room.
const SERVERS: usize = 64;
/// Names of one kind that are kept of one server.
const NAMES: usize = 1_000;
/// Bytes of one name, and characters of what is said of it.
const NAME: usize = 256;
const ABOUT: usize = 80;
/// Bytes of the file.
const FILE: u64 = 1 << 20;

/// All servers, the newest last.
#[derive(Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(crate = "polyport::serde", default)]
pub(crate) struct Seen {
    pub(crate) servers: Vec<Offer>,
    /// Names that a configuration has; they are not kept.
    #[serde(skip)]
    pub(crate) configured: Vec<String>,
    /// The host that the line names last, and the names of its servers; they are not kept.
    #[serde(skip)]
    pub(crate) of_host: Option<(String, Vec<String>)>,
}

/// What one server offers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(crate = "polyport::serde", default)]
pub(crate) struct Offer {
    key: String,
    /// As it is named, where that may be shown.
    pub(crate) name: Option<String>,
    pub(crate) tools: Vec<Callable>,
    pub(crate) prompts: Vec<Callable>,
    pub(crate) resources: Vec<Callable>,
    pub(crate) templates: Vec<Callable>,
}

/// A name, what is said of it, and what it takes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(crate = "polyport::serde", default)]
pub(crate) struct Callable {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) about: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) arguments: Vec<Argument>,
    /// A word that is given, and one that does not go with it; that ends at its `=` where no value goes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) apart: Vec<(String, String)>,
    /// That of the schema from which these were read.
    mark: u64,
    /// The schema, until it is read.
    #[serde(skip)]
    schema: Option<Raw>,
}

/// An argument, or a member of one, as it stands before the `=`; and the values that it may have where they are counted.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(crate = "polyport::serde", default)]
pub(crate) struct Argument {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) about: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) values: Vec<String>,
}

/// Keeps a list of a server. That it cannot be kept is no failure of anything.
pub(crate) fn keep(typed: &Typed, list: List, entries: Vec<Callable>) {
    apart_from_the_verb(|| {
        let mut seen = read();
        if seen.keep(&typed.server, list, entries) {
            let _ = write(&mut seen);
        }
    });
}

/// What is read here may be any schema of anybody: a fault of ours in that is never in the way of what was asked.
fn apart_from_the_verb(keep: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(keep)).is_err() {
        tracing::error!("what a server offers is not kept for completion");
    }
}

/// What is known; nothing where the file cannot be read.
pub(crate) fn read() -> Seen {
    let read = || -> io::Result<Seen> { Ok(serde_json::from_slice(&file().read()?)?) };
    read().unwrap_or_default()
}

impl Seen {
    /// The server that these words name.
    pub(crate) fn server(&self, words: &[String]) -> Option<&Offer> {
        let key = key(words);
        self.servers.iter().find(|offer| offer.key == key)
    }

    /// Keeps a list of the server that these words name. False: it is what was known.
    fn keep(&mut self, words: &[String], list: List, mut entries: Vec<Callable>) -> bool {
        entries.retain(|entry| is_plain(&entry.name));
        entries.truncate(NAMES);
        let mut known: HashMap<String, Callable> = HashMap::new();
        let key = key(words);
        let before = self.servers.iter().position(|offer| offer.key == key);
        let mut offer = before.map_or_else(
            || Offer {
                name: name(words),
                key,
                ..Offer::default()
            },
            |at| self.servers[at].clone(),
        );
        for entry in offer.list(list).drain(..) {
            known.insert(entry.name.clone(), entry);
        }
        // What a schema takes is looked for once, for that is work.
        let entries = entries
            .into_iter()
            .map(|entry| match known.remove(&entry.name) {
                Some(known) if known.mark == entry.mark => Callable {
                    arguments: known.arguments,
                    apart: known.apart,
                    schema: None,
                    ..entry
                },
                _ => entry.read(),
            });
        *offer.list(list) = entries.collect();
        if before.is_some_and(|at| self.servers[at] == offer) {
            return false;
        }
        if let Some(at) = before {
            self.servers.remove(at);
        }
        self.servers.push(offer);
        while self.servers.len() > SERVERS {
            self.servers.remove(0);
        }
        true
    }
}

impl Offer {
    fn list(&mut self, list: List) -> &mut Vec<Callable> {
        match list {
            List::Tools => &mut self.tools,
            List::Prompts => &mut self.prompts,
            List::Resources => &mut self.resources,
            List::Templates => &mut self.templates,
        }
    }
}

impl Callable {
    /// With what its schema takes.
    pub(crate) fn read(mut self) -> Self {
        let Some(schema) = self.schema.take() else {
            return self;
        };
        let schema: Value = schema.decode().unwrap_or_default();
        let reading = Reading::of(&schema);
        let mut offered = offered(&reading, NAMES);
        offered.retain(|argument| is_plain(&argument.name));
        for argument in &mut offered {
            argument.values.retain(|value| is_plain(value));
        }
        self.apart = apart(&reading, &offered);
        self.apart.truncate(NAMES);
        let arguments = offered.into_iter().map(|argument| Argument {
            about: said(argument.about.as_deref()),
            name: argument.name,
            values: argument.values,
        });
        self.arguments = arguments.collect();
        self
    }

    /// A resource or a template.
    pub(crate) fn of_uri(uri: &str, about: Option<&str>) -> Self {
        Self {
            name: uri.to_owned(),
            about: said(about),
            ..Self::default()
        }
    }
}

impl From<&Tool> for Callable {
    /// What it takes is to be read yet.
    fn from(tool: &Tool) -> Self {
        let schema = tool.input_schema.as_raw().clone();
        let mut hasher = DefaultHasher::new();
        // Another version may read it in another way.
        (env!("CARGO_PKG_VERSION"), schema.as_str()).hash(&mut hasher);
        Self {
            name: tool.name.clone(),
            about: said(tool.description.as_deref()),
            mark: hasher.finish(),
            schema: Some(schema),
            ..Self::default()
        }
    }
}

impl From<&Prompt> for Callable {
    fn from(prompt: &Prompt) -> Self {
        let arguments = prompt.arguments.iter().flatten().map(|argument| Argument {
            name: argument.name.clone(),
            about: said(argument.description.as_deref()),
            values: Vec::new(),
        });
        Self {
            name: prompt.name.clone(),
            about: said(prompt.description.as_deref()),
            arguments: arguments
                .filter(|a| is_plain(&a.name) && can_be_said(&a.name))
                .take(NAMES)
                .collect(),
            ..Self::default()
        }
    }
}

/// May it stand on a command line at all?
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.len() <= NAME && !name.contains(char::is_control)
}

/// The first line of a description.
fn said(about: Option<&str>) -> String {
    let line = about.unwrap_or_default().trim().lines().next();
    let plain = line.unwrap_or_default().chars().filter(|c| !c.is_control());
    plain.take(ABOUT).collect()
}

/// What a server is kept under: where its folder is, or a hash of its words.
fn key(words: &[String]) -> String {
    if let [word] = words
        && word != "demo"
        && let Ok(path) = fs::canonicalize(word)
    {
        return path.to_string_lossy().into_owned();
    }
    if let Some(name) = name(words) {
        return name;
    }
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// A word that may be proposed. A command is too long to be, and an address may hold a secret.
fn name(words: &[String]) -> Option<String> {
    match words {
        [word] if is_plain(word) && !word.contains(['?', '@', '#']) => Some(word.clone()),
        _ => None,
    }
}

/// Writes as much of it as there is room for.
fn write(seen: &mut Seen) -> io::Result<()> {
    let mut text = serde_json::to_vec(seen)?;
    while text.len() as u64 > FILE && !seen.servers.is_empty() {
        seen.servers.remove(0);
        text = serde_json::to_vec(seen)?;
    }
    file().write(&text)
}

fn file() -> Kept {
    Kept::at("completion.json", FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: S-COMPLETION
    #[test]
    fn a_fault_in_keeping_is_none_of_the_verb() {
        let mut begun = false;
        apart_from_the_verb(|| {
            begun = true;
            panic!("a fault of ours");
        });
        assert!(begun);
    }

    fn words(server: &str) -> Vec<String> {
        vec![server.to_owned()]
    }

    // req: S-COMPLETION
    #[test]
    fn values_that_are_counted_are_kept_whatever_they_are() {
        let tool = serde_json::json!({"name": "t", "inputSchema": {
            "properties": {
                "n": {"enum": [1, 2.5, -3]}, "x": {"const": 5}, "b": {"type": ["boolean", "null"]}, "on": {"enum": [true]},
                "any": {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, "one": {"oneOf": [{"const": 1}, {"const": "two"}]},
                "ref": {"$ref": "#/$defs/E"}, "text": {"type": "string"}, "list": {"type": "array", "items": {"enum": [1]}},
            },
            "oneOf": [{"properties": {"kind": {"const": "k"}}}, {"properties": {"kind": {"const": "l"}}}],
            "$defs": {"E": {"enum": [null, 7]}},
        }});
        let tool: Tool = serde_json::from_value(tool).unwrap_or_default();
        let kept = Callable::from(&tool).read();
        let values = |name: &str| -> String {
            let argument = kept.arguments.iter().find(|argument| argument.name == name);
            argument.map_or_else(|| "none".to_owned(), |argument| argument.values.join(" "))
        };
        for (name, want) in [
            ("n", "1 2.5 -3"),
            ("x", "5"),
            ("b", "true false"),
            ("on", "true"),
            ("any", "a null"),
            ("one", "1 two"),
            ("ref", "null 7"),
            ("text", ""),
            ("list", ""),
            ("kind", "k l"),
        ] {
            assert_eq!(values(name), want, "{name}");
        }
    }

    // req: S-COMPLETION
    #[test]
    fn what_a_schema_takes_is_read_anew_where_it_is_another() {
        let mut seen = Seen::default();
        let mut keep = |name: &str, of: &str| {
            let schema = serde_json::json!({"properties": {name: {}}});
            let tool = serde_json::json!({"name": "t", "description": of, "inputSchema": schema});
            let tool: Tool = serde_json::from_value(tool).unwrap_or_default();
            let is_new = seen.keep(&words("s"), List::Tools, vec![Callable::from(&tool)]);
            let kept = seen.server(&words("s")).map(|offer| offer.tools.clone());
            let kept = kept.and_then(|mut tools| tools.pop()).unwrap_or_default();
            let names = kept.arguments.into_iter().map(|argument| argument.name);
            (is_new, kept.about, names.collect::<String>())
        };
        for (name, about, is_new) in [
            ("a", "one", true),
            ("a", "one", false),
            ("a", "two", true),
            ("b", "two", true),
        ] {
            let want = (is_new, about.to_owned(), name.to_owned());
            assert_eq!(keep(name, about), want);
        }
    }

    // req: S-COMPLETION
    #[test]
    fn the_newest_are_kept_and_nothing_secret() {
        let mut seen = Seen::default();
        let tool = || vec![Callable::of_uri("t", None), Callable::of_uri("a\nb", None)];
        for n in 0..=SERVERS {
            assert!(seen.keep(&words(&format!("server{n}")), List::Tools, tool()));
        }
        assert_eq!(seen.servers.len(), SERVERS);
        assert!(seen.server(&words("server0")).is_none());
        // What it knows already changes nothing, and a name of two lines is left out.
        assert!(!seen.keep(&words("server1"), List::Tools, tool()));
        assert_eq!(
            seen.server(&words("server1")).map(|o| o.tools.len()),
            Some(1)
        );
        for secret in ["https://u:secret@host/mcp", "https://host/mcp?key=secret"] {
            seen.keep(&words(secret), List::Tools, tool());
            assert!(seen.server(&words(secret)).is_some());
        }
        let command = ["--", "serve", "--key", "secret", "--"].map(str::to_owned);
        seen.keep(&command, List::Tools, tool());
        assert!(seen.server(&command).is_some());
        let text = serde_json::to_string(&seen).unwrap_or_default();
        assert!(
            text.contains("server64") && !text.contains("secret"),
            "{text}"
        );
        let many = (0..2 * NAMES).map(|n| Callable::of_uri(&n.to_string(), None));
        seen.keep(&words("many"), List::Resources, many.collect());
        assert_eq!(
            seen.server(&words("many")).map(|o| o.resources.len()),
            Some(NAMES)
        );
    }
}
