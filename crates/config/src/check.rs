//! Reads our own file to the letter: each key that there is, and a fault for any other.

use std::path::Path;
use std::time::Duration;

use globset::Glob;

use crate::fault::{Fault, nearest};
use crate::node::{Node, Value};
use crate::settings::{Era, Rules, Sessions, Settings};

/// What any server may have.
const ANY: [&str; 8] = [
    "enabled",
    "timeout",
    "era",
    "sessions",
    "max_sessions",
    "tools",
    "prompts",
    "resources",
];
/// What one that is started may have besides.
const COMMAND: [&str; 6] = ["command", "args", "env", "cwd", "env_file", "pass_env"];
/// What one at an address may have besides.
const URL: [&str; 2] = ["url", "headers"];
/// What is said of tools and prompts, and of resources.
const NAMED: &[&str] = &["allow", "deny", "rename", "describe"];
const ADDRESSED: &[&str] = &["allow", "deny"];

/// The longest time that a server can be waited for, in seconds.
const LONGEST: f64 = 3600.0;
/// More sessions than any machine holds.
const MOST: usize = 100_000;
/// The longest name under which hosts take a tool.
const NAME: usize = 64;

/// What a file says of each server beside the way to it, and all that is wrong with it, in the order of its lines.
pub(crate) fn check(file: &Path, root: &Node) -> (Vec<(String, Settings)>, Vec<Fault>) {
    let mut check = Check {
        file,
        faults: Vec::new(),
    };
    let mut settings = Vec::new();
    for (name, node) in root.table().unwrap_or_default() {
        match name.as_str() {
            "servers" => settings = check.servers(node),
            "$schema" => _ = check.text(node, "$schema"),
            _ => check.unknown(node, name, &["servers"]),
        }
    }
    if root.table().is_none() {
        check.wrong(root, "", "a table");
    }
    check.faults.sort_by_key(|fault| fault.line);
    (settings, check.faults)
}

struct Check<'a> {
    file: &'a Path,
    faults: Vec<Fault>,
}

impl Check<'_> {
    fn servers(&mut self, node: &Node) -> Vec<(String, Settings)> {
        let Some(servers) = node.table() else {
            self.wrong(node, "servers", "a table");
            return Vec::new();
        };
        let mut all = Vec::new();
        for (name, server) in servers {
            let path = format!("servers.{name}");
            if !is_name(name) {
                let why = "is no name: letters, digits, and _ - . after the first, at most 64";
                self.fault(server, &path, why);
            }
            all.push((name.clone(), self.server(server, &path)));
        }
        all
    }

    fn server(&mut self, node: &Node, path: &str) -> Settings {
        let mut settings = Settings::default();
        let Some(members) = node.table() else {
            self.wrong(node, path, "a table");
            return settings;
        };
        let own = match (node.get("command"), node.get("url")) {
            (Some(_), None) => &COMMAND[..],
            (None, Some(_)) => &URL[..],
            (Some(_), Some(_)) => {
                self.fault(node, path, "says both a command and a url");
                return settings;
            }
            (None, None) => {
                self.fault(node, path, "says neither a command nor a url");
                return settings;
            }
        };
        let known = [own, &ANY].concat();
        for (name, member) in members {
            let field = format!("{path}.{name}");
            match name.as_str() {
                name if !known.contains(&name) => self.unknown(member, &field, &known),
                "args" => _ = self.list(member, &field),
                "env" | "headers" => _ = self.pairs(member, &field),
                "pass_env" => settings.pass_env = self.variables(member, &field),
                "enabled" => {
                    if !matches!(member.value, Value::Bool(_)) {
                        self.wrong(member, &field, "true or false");
                    }
                }
                "timeout" => settings.timeout = self.time(member, &field),
                "era" => {
                    let eras = [
                        ("both", None),
                        ("modern", Some(Era::Modern)),
                        ("legacy", Some(Era::Legacy)),
                    ];
                    settings.era = self.one_of(member, &field, &eras).flatten();
                }
                "sessions" => {
                    let kinds = [
                        ("per-client", Sessions::PerClient),
                        ("shared", Sessions::Shared),
                    ];
                    settings.sessions = self.one_of(member, &field, &kinds).unwrap_or_default();
                }
                "max_sessions" => settings.max_sessions = self.count(member, &field),
                "tools" => settings.tools = self.rules(member, &field, NAMED),
                "prompts" => settings.prompts = self.rules(member, &field, NAMED),
                "resources" => settings.resources = self.rules(member, &field, ADDRESSED),
                _ => {
                    if self.text(member, &field).is_some_and(str::is_empty) {
                        self.fault(member, &field, "is empty");
                    }
                }
            }
        }
        settings
    }

    fn rules(&mut self, node: &Node, path: &str, known: &[&str]) -> Rules {
        let mut rules = Rules::default();
        let Some(members) = node.table() else {
            self.wrong(node, path, "a table");
            return rules;
        };
        for (name, member) in members {
            let field = format!("{path}.{name}");
            match name.as_str() {
                name if !known.contains(&name) => self.unknown(member, &field, known),
                "allow" => rules.allow = Some(self.globs(member, &field)),
                "deny" => rules.deny = self.globs(member, &field),
                "rename" => rules.rename = self.names(member, &field),
                _ => rules.describe = self.pairs(member, &field),
            }
        }
        rules
    }

    fn globs(&mut self, node: &Node, path: &str) -> Vec<String> {
        let globs = self.list(node, path);
        for (i, (line, glob)) in globs.iter().enumerate() {
            let why = match Glob::new(glob) {
                _ if glob.is_empty() => "is empty".to_owned(),
                Err(error) => format!("is no pattern: {}", error.kind()),
                Ok(_) => continue,
            };
            self.at(*line, &format!("{path}[{i}]"), &why);
        }
        globs.into_iter().map(|(_, glob)| glob).collect()
    }

    /// New names: such as any host takes, each once.
    fn names(&mut self, node: &Node, path: &str) -> Vec<(String, String)> {
        let pairs = self.pairs(node, path);
        for (i, (own, new)) in pairs.iter().enumerate() {
            let line = node.get(own).map_or(node.line, |node| node.line);
            let field = format!("{path}.{own}");
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if new.is_empty() || new.len() > NAME || !new.chars().all(plain) {
                let why = "is no name that every host takes: letters, digits, _ - . and at most 64";
                self.at(line, &field, why);
            } else if let Some((other, _)) = pairs[..i].iter().find(|(_, other)| other == new) {
                self.at(line, &field, &format!("is the new name of {other}, too"));
            }
        }
        pairs
    }

    fn variables(&mut self, node: &Node, path: &str) -> Vec<String> {
        let names = self.list(node, path);
        for (i, (line, name)) in names.iter().enumerate() {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(plain) {
                let why = "is no name of a variable; each is named in full";
                self.at(*line, &format!("{path}[{i}]"), why);
            }
        }
        names.into_iter().map(|(_, name)| name).collect()
    }

    fn time(&mut self, node: &Node, path: &str) -> Option<Duration> {
        let Value::Number(digits) = &node.value else {
            self.wrong(node, path, "a number of seconds");
            return None;
        };
        let seconds = digits.parse::<f64>().ok();
        let seconds = seconds.filter(|seconds| (0.001..=LONGEST).contains(seconds));
        if seconds.is_none() {
            self.fault(node, path, "is no time: seconds, from 0.001 to 3600");
        }
        seconds.map(Duration::from_secs_f64)
    }

    fn count(&mut self, node: &Node, path: &str) -> Option<usize> {
        let Value::Number(digits) = &node.value else {
            self.wrong(node, path, "a number");
            return None;
        };
        let count = digits.parse::<usize>().ok();
        let count = count.filter(|count| (1..=MOST).contains(count));
        if count.is_none() {
            self.fault(node, path, "is no number from 1 to 100000");
        }
        count
    }

    fn one_of<T: Copy>(&mut self, node: &Node, path: &str, known: &[(&str, T)]) -> Option<T> {
        let text = self.text(node, path)?;
        let found = known.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            let why = format!("is {text:?}, which it cannot be");
            let fault = Fault::of(self.file, why).at(node.line).field(path);
            self.faults
                .push(fault.hint(format!("it is one of {}", words.join(", "))));
        }
        found.map(|(_, value)| *value)
    }

    /// Texts, and their lines.
    fn list(&mut self, node: &Node, path: &str) -> Vec<(usize, String)> {
        let Some(elements) = node.list() else {
            self.wrong(node, path, "a list of texts");
            return Vec::new();
        };
        let mut texts = Vec::new();
        for (i, element) in elements.iter().enumerate() {
            if let Some(text) = self.text(element, &format!("{path}[{i}]")) {
                texts.push((element.line, text.to_owned()));
            }
        }
        texts
    }

    fn pairs(&mut self, node: &Node, path: &str) -> Vec<(String, String)> {
        let Some(members) = node.table() else {
            self.wrong(node, path, "a table of texts");
            return Vec::new();
        };
        let mut pairs = Vec::new();
        for (name, member) in members {
            if let Some(text) = self.text(member, &format!("{path}.{name}")) {
                pairs.push((name.clone(), text.to_owned()));
            }
        }
        pairs
    }

    fn text<'n>(&mut self, node: &'n Node, path: &str) -> Option<&'n str> {
        if node.text().is_none() {
            self.wrong(node, path, "a text");
        }
        node.text()
    }

    fn unknown(&mut self, node: &Node, path: &str, known: &[&str]) {
        let name = path.rsplit('.').next().unwrap_or(path);
        let hint = nearest(name, known.iter().copied()).map_or_else(
            || format!("known are {}", known.join(", ")),
            |near| format!("did you mean {near}?"),
        );
        let fault = Fault::of(self.file, "is not known").at(node.line);
        self.faults.push(fault.field(path).hint(hint));
    }

    fn wrong(&mut self, node: &Node, path: &str, want: &str) {
        let why = format!("is {}, where {want} is wanted", node.kind());
        self.fault(node, path, &why);
    }

    fn fault(&mut self, node: &Node, path: &str, why: &str) {
        self.at(node.line, path, why);
    }

    fn at(&mut self, line: usize, path: &str, why: &str) {
        let fault = Fault::of(self.file, why).at(line);
        self.faults.push(fault.field(path));
    }
}

/// May a server of our own be called so?
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.chars().all(plain)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= NAME
}
