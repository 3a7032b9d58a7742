//! The configuration of Polyport itself: where it stands, and what may stand in it, to the letter.
//!
//! ```toml
//! [servers.github]
//! command = "npx"
//! args = ["-y", "@modelcontextprotocol/server-github"]
//! env = { GITHUB_TOKEN = "${GITHUB_TOKEN}" }
//!
//! [servers.docs]
//! url = "https://mcp.example.com/mcp"
//! headers = { Authorization = "Bearer ${DOCS_TOKEN}" }
//! ```

use std::path::{Path, PathBuf};

use crate::fault::{Fault, nearest};
use crate::node::{Node, Value};
use crate::places::Places;

/// The name of the file.
pub const NAME: &str = "polyport.toml";

/// What may stand in it, as a JSON Schema.
pub const SCHEMA: &str = include_str!("polyport.schema.json");

/// Folders above the project that are looked into.
const UP: usize = 64;

/// Where the file may be, the nearest first: in the project and the folders above it, then where programs keep their configuration.
pub fn candidates(places: &Places) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = above(&places.project).map(|at| at.join(NAME)).collect();
    if let Some(config) = &places.config {
        all.push(config.join("polyport").join(NAME));
    }
    all
}

/// The files that are there: the nearest of the project's, then the user's.
pub fn files(places: &Places) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some(near) = above(&places.project)
        .map(|at| at.join(NAME))
        .find(|file| file.is_file())
    {
        found.push(near);
    }
    let user = places
        .config
        .as_ref()
        .map(|config| config.join("polyport").join(NAME));
    found.extend(user.filter(|file| file.is_file() && !found.contains(file)));
    found
}

/// A folder and those above it. One that somebody else could have put a file into ends the way.
pub(crate) fn above(folder: &Path) -> impl Iterator<Item = &Path> {
    folder
        .ancestors()
        .take(UP)
        .enumerate()
        .take_while(|(i, at)| *i == 0 || is_ours(at))
        .map(|(_, at)| at)
}

/// Does nobody but this user and root write to it?
#[cfg(unix)]
fn is_ours(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(about) = std::fs::metadata(folder) else {
        return false;
    };
    let user = rustix::process::geteuid().as_raw();
    (about.uid() == user || about.uid() == 0) && about.mode() & 0o002 == 0
}

#[cfg(not(unix))]
fn is_ours(_folder: &Path) -> bool {
    true
}

/// What a server that is started may have.
const COMMAND: &[&str] = &["command", "args", "env", "cwd", "env_file", "enabled"];
/// What one at an address may have.
const URL: &[&str] = &["url", "headers", "enabled"];

/// All that is wrong with the file, in the order of its lines.
pub fn check(file: &Path, root: &Node) -> Vec<Fault> {
    let mut check = Check {
        file,
        faults: Vec::new(),
    };
    for (name, node) in root.table().unwrap_or_default() {
        match name.as_str() {
            "servers" => check.servers(node),
            "$schema" => check.text(node, "$schema"),
            _ => check.unknown(node, name, &["servers"]),
        }
    }
    if root.table().is_none() {
        check.wrong(root, "", "a table");
    }
    check.faults.sort_by_key(|fault| fault.line);
    check.faults
}

struct Check<'a> {
    file: &'a Path,
    faults: Vec<Fault>,
}

impl Check<'_> {
    fn servers(&mut self, node: &Node) {
        let Some(servers) = node.table() else {
            return self.wrong(node, "servers", "a table");
        };
        for (name, server) in servers {
            let path = format!("servers.{name}");
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            let is_name = name.chars().all(plain)
                && name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && name.len() <= 64;
            if !is_name {
                let why = "is no name: letters, digits, and _ - . after the first, at most 64";
                self.fault(server, &path, why);
            }
            self.server(server, &path);
        }
    }

    fn server(&mut self, node: &Node, path: &str) {
        let Some(members) = node.table() else {
            return self.wrong(node, path, "a table");
        };
        let known = match (node.get("command"), node.get("url")) {
            (Some(_), None) => COMMAND,
            (None, Some(_)) => URL,
            (Some(_), Some(_)) => {
                return self.fault(node, path, "says both a command and a url");
            }
            (None, None) => return self.fault(node, path, "says neither a command nor a url"),
        };
        for (name, member) in members {
            let field = format!("{path}.{name}");
            match name.as_str() {
                name if !known.contains(&name) => self.unknown(member, &field, known),
                "args" => self.list(member, &field),
                "env" | "headers" => self.pairs(member, &field),
                "enabled" => {
                    if !matches!(member.value, Value::Bool(_)) {
                        self.wrong(member, &field, "true or false");
                    }
                }
                _ => {
                    self.text(member, &field);
                    if member.text() == Some("") {
                        self.fault(member, &field, "is empty");
                    }
                }
            }
        }
    }

    fn list(&mut self, node: &Node, path: &str) {
        match node.list() {
            Some(elements) => {
                for (i, element) in elements.iter().enumerate() {
                    self.text(element, &format!("{path}[{i}]"));
                }
            }
            None => self.wrong(node, path, "a list of texts"),
        }
    }

    fn pairs(&mut self, node: &Node, path: &str) {
        match node.table() {
            Some(members) => {
                for (name, member) in members {
                    self.text(member, &format!("{path}.{name}"));
                }
            }
            None => self.wrong(node, path, "a table of texts"),
        }
    }

    fn text(&mut self, node: &Node, path: &str) {
        if node.text().is_none() {
            self.wrong(node, path, "a text");
        }
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
        let fault = Fault::of(self.file, why).at(node.line);
        self.faults.push(fault.field(path));
    }
}
