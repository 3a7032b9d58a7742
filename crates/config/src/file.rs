//! The servers that a configuration file names, whichever host's it is.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::entry::{Entry, Reader};
use crate::fault::{Fault, nearest};
use crate::hosts::{HostFile, may_speak_sse};
use crate::node::{Format, Node};
use crate::places::Places;

/// A larger file is no configuration. Some hosts keep their whole history in theirs.
const BYTES: u64 = 64 * 1024 * 1024;

/// Under which names hosts keep their servers. Where a file has several, an earlier one wins.
const TABLES: &[&[&str]] = &[
    &["mcpServers"],
    &["servers"],
    &["mcp_servers"],
    &["context_servers"],
    &["mcp", "servers"],
    &["mcp"],
];

/// The servers of one file.
#[derive(Clone, Debug)]
pub struct Servers {
    /// The file.
    pub file: PathBuf,
    /// Each server by its name, or what is wrong with it.
    pub entries: Vec<(String, Result<Entry, Fault>)>,
}

/// The text of a file; nothing, where there is none.
///
/// # Errors
/// It cannot be read, is too large, or is no text.
pub fn text(file: &Path) -> Result<Option<String>, Fault> {
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
        _ => Err(Fault::of(file, format!("cannot be read: {error}"))),
    };
    let too_large = || Fault::of(file, "is larger than 64 MiB");
    // Looked at before it is opened: to open a pipe waits for whoever writes into it, and a device may do anything.
    match std::fs::metadata(file) {
        Ok(about) if !about.is_file() => return Err(Fault::of(file, "is no file")),
        Ok(about) if about.len() > BYTES => return Err(too_large()),
        Ok(_) => {}
        Err(error) => return unreadable(error),
    }
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) => return unreadable(error),
    };
    let mut bytes = Vec::new();
    opened
        .take(BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Fault::of(file, format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > BYTES {
        return Err(too_large());
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| Fault::of(file, "is no UTF-8 text"))
}

/// Reads a text as values.
///
/// # Errors
/// It is neither JSON with comments nor TOML.
pub fn parse(file: &Path, text: &str, format: Format) -> Result<Node, Fault> {
    Node::parse(text, format)
        .map_err(|error| Fault::of(file, format!("cannot be read: {}", error.why)).at(error.line))
}

impl Servers {
    /// Those of a file. `project` is the folder whose own servers a file may hold besides those of all.
    ///
    /// # Errors
    /// The file is not there, cannot be read, or holds no servers.
    pub fn read(file: &Path, project: &Path) -> Result<Self, Fault> {
        let text = text(file)?.ok_or_else(|| Fault::of(file, "is not there"))?;
        Self::of(file, &text, Format::of(file), project)
    }

    /// Those of a text.
    ///
    /// # Errors
    /// As [`Servers::read`].
    pub fn of(file: &Path, text: &str, format: Format, project: &Path) -> Result<Self, Fault> {
        let root = parse(file, text, format)?;
        let project = project.to_string_lossy();
        let own = ["projects", &project, "mcpServers"];
        let tables: Vec<&[&str]> = std::iter::once(&own[..])
            .chain(TABLES.iter().copied())
            .collect();
        Self::below(file, &root, &tables)
    }

    /// Those of one of a host's files, and of no other scope that the file may hold.
    ///
    /// # Errors
    /// As [`Servers::read`].
    pub fn of_host(about: &HostFile, file: &Path, places: &Places) -> Result<Self, Fault> {
        let text = text(file)?.ok_or_else(|| Fault::of(file, "is not there"))?;
        let root = parse(file, &text, Format::of(file))?;
        let keys = about.keys(places);
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let mut tables = vec![&keys[..]];
        if keys == ["mcp"] {
            tables.insert(0, &["mcp", "servers"]);
        }
        Self::below(file, &root, &tables)
    }

    fn below(file: &Path, root: &Node, tables: &[&[&str]]) -> Result<Self, Fault> {
        let mut servers = Self {
            file: file.to_owned(),
            entries: Vec::new(),
        };
        let mut is_there = false;
        for names in tables.iter().copied() {
            let Some(members) = root.at(names).and_then(Node::table) else {
                continue;
            };
            // `mcp.servers` is a table of servers where it has no command of its own.
            if names == ["mcp"]
                && root
                    .at(&["mcp", "servers"])
                    .is_some_and(is_table_of_servers)
            {
                continue;
            }
            if names == ["mcp", "servers"] && !root.at(names).is_some_and(is_table_of_servers) {
                continue;
            }
            is_there = true;
            let below = names.join(".");
            let reader = Reader {
                file,
                below: &below,
                bare: names[0] == "mcp",
                // For Gemini CLI `httpUrl` is an address of Streamable HTTP.
                url_is_sse: match file.ends_with(".gemini/settings.json") {
                    true => Some(true),
                    false => (!may_speak_sse(names)).then_some(false),
                },
            };
            let earlier: BTreeSet<String> = servers.names().map(str::to_owned).collect();
            let mut here = BTreeSet::new();
            for (name, node) in members {
                if earlier.contains(name) {
                    continue;
                }
                let read = if here.insert(name) {
                    reader.read(name, node)
                } else {
                    let field = format!("{below}.{name}");
                    Err(Fault::of(file, "stands there twice")
                        .at(node.line)
                        .field(field))
                };
                servers.entries.push((name.clone(), read));
            }
        }
        if !is_there {
            let known: Vec<String> = tables
                .iter()
                .filter(|names| names[0] != "projects" || tables.len() == 1)
                .map(|names| names.join("."))
                .collect();
            return Err(Fault::of(file, "holds no servers")
                .hint(format!("it has none of {}", known.join(", "))));
        }
        Ok(servers)
    }

    /// The server of this name.
    ///
    /// # Errors
    /// There is none, or something is wrong with it.
    pub fn get(&self, name: &str) -> Result<Entry, Fault> {
        // What is twice is wrong, although the first of the two could be read.
        let mut found = self.entries.iter().filter(|(known, _)| known == name);
        let Some((_, first)) = found.next() else {
            return Err(self.none(name));
        };
        match found.find(|(_, read)| read.is_err()) {
            Some((_, wrong)) => wrong.clone(),
            None => first.clone(),
        }
    }

    /// The names of all.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    fn none(&self, name: &str) -> Fault {
        let fault = Fault::of(&self.file, format!("has no server {name}"));
        if let Some(near) = nearest(name, self.names()) {
            return fault.hint(format!("did you mean {near}?"));
        }
        let names: Vec<&str> = self.names().take(12).collect();
        if names.is_empty() {
            return fault.hint("it has no servers at all");
        }
        fault.hint(format!("it has {}", names.join(", ")))
    }
}

/// Has it servers where hosts keep theirs, and none where we do?
pub(crate) fn is_of_host(root: &Node) -> bool {
    let has = |names: &[&str]| root.at(names).and_then(Node::table).is_some();
    !has(&["servers"]) && TABLES.iter().any(|names| has(names))
}

fn is_table_of_servers(node: &Node) -> bool {
    node.table().is_some() && node.get("type").is_none() && node.get("command").is_none()
}
