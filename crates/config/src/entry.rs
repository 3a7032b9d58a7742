//! How one server is started or reached, as an entry of a configuration says it. Reads the words of every host; expands nothing.

use std::collections::BTreeSet;
use std::path::Path;

use crate::fault::Fault;
use crate::node::{Node, Value};
use crate::settings::{Rules, Settings};

/// A text of a file, and where it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Field {
    /// As it is written.
    pub text: String,
    /// Its line.
    pub line: usize,
}

/// A server as it is configured.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry<T = Field> {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub line: usize,
    /// Does its host use it?
    pub enabled: bool,
    /// Do its texts name variables as `{env:NAME}`, without the dollar?
    pub bare: bool,
    /// How one comes to it.
    pub way: Way<T>,
    /// How it is used.
    pub settings: Settings,
    /// What is understood here, and not by every host.
    pub doubts: Vec<Fault>,
}

/// How one comes to a server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Way<T = Field> {
    /// It is started.
    Command(Start<T>),
    /// It is at an address.
    Url(Remote<T>),
}

/// A program to start.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Start<T = Field> {
    /// The program.
    pub program: T,
    /// Its arguments.
    pub args: Vec<T>,
    /// What its environment has besides.
    pub env: Vec<(String, T)>,
    /// Where it works.
    pub cwd: Option<T>,
    /// A file with more of its environment, `NAME=value` a line.
    pub env_file: Option<T>,
}

/// An address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Remote<T = Field> {
    /// The address.
    pub url: T,
    /// What is sent with each request.
    pub headers: Vec<(String, T)>,
    /// Is it said to speak the older HTTP with SSE? Nothing: it is to be found out.
    pub is_sse: Option<bool>,
}

impl<T> Entry<T> {
    /// The same with every text made into something else. The function gets the field's name, as in `env.TOKEN`.
    ///
    /// # Errors
    /// The first one of the function.
    pub fn try_map<U, E>(
        self,
        mut each: impl FnMut(&str, T) -> Result<U, E>,
    ) -> Result<Entry<U>, E> {
        let way = match self.way {
            Way::Command(start) => Way::Command(Start {
                program: each("command", start.program)?,
                args: start
                    .args
                    .into_iter()
                    .enumerate()
                    .map(|(i, text)| each(&format!("args[{i}]"), text))
                    .collect::<Result<_, E>>()?,
                env: pairs(start.env, "env", &mut each)?,
                cwd: start.cwd.map(|text| each("cwd", text)).transpose()?,
                env_file: start
                    .env_file
                    .map(|text| each("env_file", text))
                    .transpose()?,
            }),
            Way::Url(remote) => Way::Url(Remote {
                url: each("url", remote.url)?,
                headers: pairs(remote.headers, "headers", &mut each)?,
                is_sse: remote.is_sse,
            }),
        };
        Ok(Entry {
            name: self.name,
            line: self.line,
            enabled: self.enabled,
            bare: self.bare,
            way,
            settings: self.settings,
            doubts: self.doubts,
        })
    }
}

fn pairs<T, U, E>(
    pairs: Vec<(String, T)>,
    field: &str,
    each: &mut impl FnMut(&str, T) -> Result<U, E>,
) -> Result<Vec<(String, U)>, E> {
    pairs
        .into_iter()
        .map(|(name, text)| {
            let made = each(&format!("{field}.{name}"), text)?;
            Ok((name, made))
        })
        .collect()
}

/// The words that hosts have for the same thing.
const ENV: &[&str] = &["env", "environment"];
const URL: &[&str] = &["url", "httpUrl", "serverUrl", "uri"];
const HEADERS: &[&str] = &["headers", "http_headers", "requestInit"];
/// What `type` says of a program, and of an address.
const LOCAL: &[&str] = &["stdio", "local"];
const REMOTE: &[&str] = &[
    "http",
    "sse",
    "streamable-http",
    "streamableHttp",
    "ws",
    "websocket",
    "remote",
];
/// Tools that alone are used, and those that are not.
const USED: &[&str] = &[
    "enabled_tools",
    "enabledTools",
    "allowed_tools",
    "includeTools",
];
const UNUSED: &[&str] = &["disabled_tools", "disabledTools", "excludeTools"];
/// What says what is spoken at an address.
const KIND: &[&str] = &["type", "transport", "transportType"];
const ENV_FILE: &[&str] = &["env_file", "envFile"];

/// Reads entries of one file.
pub(crate) struct Reader<'a> {
    /// The file.
    pub(crate) file: &'a Path,
    /// The names before that of the server, as in `mcpServers`.
    pub(crate) below: &'a str,
    /// Are variables named without a dollar?
    pub(crate) bare: bool,
    /// Is `url` by itself an address of the older HTTP with SSE? Nothing: it may be.
    pub(crate) url_is_sse: Option<bool>,
}

impl Reader<'_> {
    /// Reads the entry of this name.
    ///
    /// # Errors
    /// It says neither how to start the server nor where it is, or in no known way.
    pub(crate) fn read(&self, name: &str, node: &Node) -> Result<Entry, Fault> {
        if node.table().is_none() {
            return Err(self.wrong(name, "", node, "a table"));
        }
        let mut doubts = Vec::new();
        let is_blank = |node: &Node| node.text() == Some("");
        let command = some(node, "command");
        let url = first(node, URL);
        let way = match (command, url) {
            (Some(command), Some((word, url))) if !is_blank(command) && !is_blank(url) => {
                let fault = self.fault(name, "", node.line, "says both a command and a url".into());
                match node.get("type").and_then(Node::text) {
                    Some(kind) if is_one_of(LOCAL, kind) => {
                        doubts.push(fault.hint(format!("its type is {kind}: leave out {word}")));
                        Way::Command(self.start(name, node, command)?)
                    }
                    Some(kind) if is_one_of(REMOTE, kind) => {
                        doubts
                            .push(fault.hint(format!("its type is {kind}: leave out the command")));
                        Way::Url(self.remote(name, node, word, url)?)
                    }
                    _ => return Err(fault.hint("leave out the one that is not meant")),
                }
            }
            (Some(command), url) if url.is_none() || !is_blank(command) => {
                Way::Command(self.start(name, node, command)?)
            }
            (_, Some((word, url))) => Way::Url(self.remote(name, node, word, url)?),
            _ => {
                let why = "says neither a command nor a url".to_owned();
                return Err(self.fault(name, "", node.line, why));
            }
        };
        let truth = |word: &str, otherwise: bool| match some(node, word) {
            None => Ok(otherwise),
            Some(found) => match found.value {
                Value::Bool(truth) => Ok(truth),
                _ => Err(self.wrong(name, word, found, "true or false")),
            },
        };
        let enabled = truth("enabled", true)? && !truth("disabled", false)?;
        self.doubt(name, node, &mut doubts);
        Ok(Entry {
            name: name.to_owned(),
            line: node.line,
            enabled,
            bare: self.bare,
            way,
            settings: self.switched_off(name, node)?,
            doubts,
        })
    }

    /// Which tools a host does not use.
    fn switched_off(&self, name: &str, node: &Node) -> Result<Settings, Fault> {
        let names = |words: &[&'static str]| {
            let Some((word, list)) = first(node, words) else {
                return Ok(None);
            };
            let elements = list.list();
            let elements =
                elements.ok_or_else(|| self.wrong(name, word, list, "a list of texts"))?;
            let texts = elements.iter().enumerate().map(|(i, element)| {
                let text = self.text(name, &format!("{word}[{i}]"), element)?.text;
                // Hosts take names, and of patterns only the one for all.
                Ok(match &*text {
                    "*" => text,
                    name => globset::escape(name),
                })
            });
            texts.collect::<Result<Vec<_>, Fault>>().map(Some)
        };
        let tools = Rules {
            allow: names(USED)?,
            deny: names(UNUSED)?.unwrap_or_default(),
            ..Rules::default()
        };
        Ok(Settings {
            tools,
            ..Settings::default()
        })
    }

    fn remote(&self, name: &str, node: &Node, word: &str, url: &Node) -> Result<Remote, Fault> {
        let kinds = KIND.iter().filter_map(|word| some(node, word)?.text());
        // Some address, as one host says of each.
        let mut kinds = kinds.filter(|kind| *kind != "remote");
        Ok(Remote {
            url: self.text(name, word, url)?,
            headers: self.headers(name, node)?,
            is_sse: match (kinds.next(), word) {
                (Some(kind), _) => Some(kind.eq_ignore_ascii_case("sse")),
                (None, "httpUrl") => Some(false),
                (None, "url") => self.url_is_sse,
                _ => None,
            },
        })
    }

    /// Numbers and truths are read as the texts that they are written as; many hosts refuse the whole entry.
    fn doubt(&self, name: &str, node: &Node, doubts: &mut Vec<Fault>) {
        let mut look = |field: String, value: &Node| {
            if let Value::Number(_) | Value::Bool(_) = value.value {
                let why = format!("is {}, where many hosts take only a text", value.kind());
                let fault = self.fault(name, &field, value.line, why);
                doubts.push(fault.hint("write it in quotes"));
            }
        };
        for word in ["command", "cwd"].iter().chain(URL) {
            if let Some(value) = some(node, word) {
                look((*word).to_owned(), value);
            }
        }
        for word in ["args", "command"] {
            let list = some(node, word).and_then(Node::list);
            for (i, value) in list.unwrap_or_default().iter().enumerate() {
                look(format!("{word}[{i}]"), value);
            }
        }
        for word in ENV.iter().chain(HEADERS) {
            let table = some(node, word).and_then(Node::table);
            for (key, value) in table.unwrap_or_default() {
                look(format!("{word}.{key}"), value);
            }
        }
    }

    fn start(&self, name: &str, node: &Node, command: &Node) -> Result<Start, Fault> {
        // One host has had a table here, with what else belongs to the command.
        if command.table().is_some() {
            let path = command
                .get("path")
                .ok_or_else(|| self.fault(name, "command", command.line, "has no path".into()))?;
            return self.start_of(name, command, path);
        }
        self.start_of(name, node, command)
    }

    fn start_of(&self, name: &str, node: &Node, command: &Node) -> Result<Start, Fault> {
        let mut args = Vec::new();
        let program = match command.list() {
            Some([]) => {
                return Err(self.fault(name, "command", command.line, "is empty".into()));
            }
            Some([program, rest @ ..]) => {
                for (i, argument) in rest.iter().enumerate() {
                    args.push(self.text(name, &format!("command[{}]", i + 1), argument)?);
                }
                self.text(name, "command[0]", program)?
            }
            None => self.text(name, "command", command)?,
        };
        if program.text.is_empty() {
            return Err(self.fault(name, "command", program.line, "is empty".into()));
        }
        if let Some(list) = some(node, "args") {
            let list_of = list
                .list()
                .ok_or_else(|| self.wrong(name, "args", list, "a list of texts"))?;
            for (i, argument) in list_of.iter().enumerate() {
                args.push(self.text(name, &format!("args[{i}]"), argument)?);
            }
        }
        let mut env = match first(node, ENV) {
            Some((word, table)) => self.pairs(name, word, table)?,
            None => Vec::new(),
        };
        self.passed(name, node, &mut env)?;
        let optional = |words: &[&'static str]| {
            first(node, words)
                .map(|(word, text)| self.text(name, word, text))
                .transpose()
        };
        Ok(Start {
            program,
            args,
            env,
            cwd: optional(&["cwd", "working_directory"])?,
            env_file: optional(ENV_FILE)?,
        })
    }

    /// Codex: names of variables that are handed on as they are.
    fn passed(&self, name: &str, node: &Node, env: &mut Vec<(String, Field)>) -> Result<(), Fault> {
        let Some(list) = some(node, "env_vars") else {
            return Ok(());
        };
        let names = list
            .list()
            .ok_or_else(|| self.wrong(name, "env_vars", list, "a list of names"))?;
        for node in names {
            let variable = node.text().or_else(|| node.get("name")?.text());
            let variable = variable.ok_or_else(|| self.wrong(name, "env_vars", node, "a name"))?;
            if !env.iter().any(|(known, _)| known == variable) {
                env.push((variable.to_owned(), reference(variable, node.line)));
            }
        }
        Ok(())
    }

    fn headers(&self, name: &str, node: &Node) -> Result<Vec<(String, Field)>, Fault> {
        let mut headers = match first(node, HEADERS) {
            Some(("requestInit", init)) => match some(init, "headers") {
                Some(table) => self.pairs(name, "requestInit.headers", table)?,
                None => Vec::new(),
            },
            Some((word, table)) => self.pairs(name, word, table)?,
            None => Vec::new(),
        };
        // Codex: variables whose values are headers, and one that is a bearer token.
        if let Some(table) = some(node, "env_http_headers") {
            for (header, variable) in self.pairs(name, "env_http_headers", table)? {
                headers.push((header, reference(&variable.text, variable.line)));
            }
        }
        if let Some(variable) = some(node, "bearer_token_env_var") {
            let variable = self.text(name, "bearer_token_env_var", variable)?;
            headers.push((
                "Authorization".to_owned(),
                Field {
                    text: format!("Bearer ${{{}}}", variable.text),
                    line: variable.line,
                },
            ));
        }
        Ok(headers)
    }

    fn pairs(&self, name: &str, word: &str, node: &Node) -> Result<Vec<(String, Field)>, Fault> {
        let members = node
            .table()
            .ok_or_else(|| self.wrong(name, word, node, "a table of texts"))?;
        let mut seen = BTreeSet::new();
        members
            .iter()
            .filter(|(_, value)| value.value != Value::Null)
            .map(|(key, value)| {
                let field = format!("{word}.{key}");
                if !seen.insert(key) {
                    return Err(self.fault(name, &field, value.line, "stands there twice".into()));
                }
                Ok((key.clone(), self.text(name, &field, value)?))
            })
            .collect()
    }

    fn text(&self, name: &str, field: &str, node: &Node) -> Result<Field, Fault> {
        let text = match &node.value {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.clone(),
            Value::Bool(truth) => truth.to_string(),
            Value::Null | Value::List(_) | Value::Table(_) => {
                return Err(self.wrong(name, field, node, "a text"));
            }
        };
        if text.contains('\0') {
            return Err(self.fault(name, field, node.line, "holds a zero byte".into()));
        }
        Ok(Field {
            text,
            line: node.line,
        })
    }

    fn wrong(&self, name: &str, field: &str, node: &Node, want: &str) -> Fault {
        let why = format!("is {}, where {want} is wanted", node.kind());
        self.fault(name, field, node.line, why)
    }

    fn fault(&self, name: &str, field: &str, line: usize, why: String) -> Fault {
        let mut path = format!("{}.{name}", self.below);
        if !field.is_empty() {
            path = format!("{path}.{field}");
        }
        Fault::of(self.file, why).at(line).field(path)
    }
}

/// A text that names a variable.
fn reference(variable: &str, line: usize) -> Field {
    Field {
        text: format!("${{{variable}}}"),
        line,
    }
}

/// The first of these members that is there and not null.
fn first<'n>(node: &'n Node, words: &[&'static str]) -> Option<(&'static str, &'n Node)> {
    words
        .iter()
        .find_map(|word| some(node, word).map(|found| (*word, found)))
}

fn is_one_of(kinds: &[&str], kind: &str) -> bool {
    kinds.iter().any(|known| known.eq_ignore_ascii_case(kind))
}

fn some<'n>(node: &'n Node, word: &str) -> Option<&'n Node> {
    node.get(word).filter(|found| found.value != Value::Null)
}
