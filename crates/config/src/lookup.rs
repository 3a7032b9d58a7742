//! Finds a server by its name, and makes of its entry what can be started or reached.

use std::path::{Path, PathBuf};

use crate::check::check;
use crate::entry::{Entry, Field, Way};
use crate::fault::Fault;
use crate::file::{self, Servers};
use crate::hosts::{HOSTS, Host, HostFile};
use crate::node::{Format, Node};
use crate::own;
use crate::places::Places;
use crate::variables::{Expanded, Give, Origin, Scope, expand};

/// Files of a project in which a name is looked for after our own.
const OF_PROJECT: &[&str] = &[".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"];

/// Our own configuration, or a file that stands in for it.
#[derive(Clone, Debug)]
pub struct Own {
    /// The file.
    pub servers: Servers,
    /// All that is wrong with it.
    pub faults: Vec<Fault>,
    /// It is a host's: read as that host would, and held to nothing else.
    pub is_of_host: bool,
}

impl Own {
    /// Reads a file.
    ///
    /// # Errors
    /// It is not there, or cannot be read at all.
    pub fn read(file: &Path) -> Result<Self, Fault> {
        let text = file::text(file)?.ok_or_else(|| Fault::of(file, "is not there"))?;
        Self::of(file, &text)
    }

    /// Reads a file that somebody has named: by its name or by what stands in it, it is ours or a host's. `project` is the folder whose own
    /// servers a file of a host may hold besides those of all.
    ///
    /// # Errors
    /// It is not there, cannot be read at all, or names no servers.
    pub fn read_named(file: &Path, project: &Path) -> Result<Self, Fault> {
        let text = file::text(file)?.ok_or_else(|| Fault::of(file, "is not there"))?;
        let format = Format::of(file);
        let is_by_name = own::is_named(file);
        let is_ours = is_by_name
            || format == Format::Toml && !file::is_of_host(&file::parse(file, &text, format)?);
        if is_ours {
            let own = Self::of(file, &text)?;
            if is_by_name || !own.servers.entries.is_empty() {
                return Ok(own);
            }
            let none = || Fault::of(file, "holds no servers").hint("[servers.NAME] begins one");
            return Err(own.faults.into_iter().next().unwrap_or_else(none));
        }
        let servers = Servers::of(file, &text, format, project)?;
        let faults = servers.entries.iter();
        let faults = faults.filter_map(|(_, read)| read.clone().err()).collect();
        Ok(Self {
            servers,
            faults,
            is_of_host: true,
        })
    }

    /// Reads a text.
    ///
    /// # Errors
    /// It cannot be read at all.
    pub fn of(file: &Path, text: &str) -> Result<Self, Fault> {
        let format = Format::of(file);
        let root = file::parse(file, text, format)?;
        let (settings, faults) = check(file, &root);
        let mut servers = match root.get("servers").and_then(Node::table) {
            Some(_) => Servers::of(file, text, format, Path::new(""))?,
            None => Servers {
                file: file.to_owned(),
                entries: Vec::new(),
            },
        };
        for (name, entry) in &mut servers.entries {
            let own = settings.iter().rev().find(|(known, _)| known == name);
            if let (Ok(entry), Some((_, settings))) = (entry, own) {
                entry.settings.clone_from(settings);
            }
        }
        Ok(Self {
            servers,
            faults,
            is_of_host: false,
        })
    }

    /// The server of this name, if there is one.
    ///
    /// # Errors
    /// Something is wrong with it.
    pub fn get(&self, name: &str) -> Result<Option<Entry>, Fault> {
        if !self.servers.names().any(|known| known == name) {
            return Ok(None);
        }
        let path = format!("servers.{name}");
        let is_its = |fault: &&Fault| {
            let rest = fault.field.strip_prefix(&path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        match self.faults.iter().find(is_its) {
            Some(fault) => Err(fault.clone()),
            None => self.servers.get(name).map(Some),
        }
    }
}

/// A server that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where.
    pub file: PathBuf,
    /// As it stands there.
    pub entry: Entry,
}

/// Finds a server by its name alone: in our own files (`only` one of them, where it is named), then in those of the project.
///
/// # Errors
/// A file cannot be read, or something is wrong with that server.
pub fn find(name: &str, places: &Places, only: Option<&Path>) -> Result<Option<Found>, Fault> {
    if let Some(only) = only {
        let entry = Own::read_named(only, &places.project)?.get(name)?;
        let file = only.to_owned();
        return Ok(entry.map(|entry| Found { file, entry }));
    }
    for file in own::files(places) {
        if let Some(entry) = Own::read(&file)?.get(name)? {
            return Ok(Some(Found { file, entry }));
        }
    }
    for file in of_project(places) {
        let servers = match Servers::read(&file, &places.project) {
            Ok(servers) => servers,
            Err(fault) if fault.why == "holds no servers" => continue,
            Err(fault) => return Err(fault),
        };
        if servers.names().any(|known| known == name) {
            let entry = servers.get(name)?;
            return Ok(Some(Found { file, entry }));
        }
    }
    Ok(None)
}

/// The files of the project that are there, the nearest first.
pub fn of_project(places: &Places) -> Vec<PathBuf> {
    own::above(&places.project)
        .flat_map(|at| OF_PROJECT.iter().map(move |name| at.join(name)))
        .filter(|file| file.is_file())
        .collect()
}

/// The names that can be found by themselves, the nearest file first. What cannot be read is left out.
pub fn names(places: &Places, only: Option<&Path>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    if let Some(only) = only {
        if let Ok(own) = Own::read_named(only, &places.project) {
            own.servers.names().for_each(&mut add);
        }
        return names;
    }
    for file in own::files(places) {
        if let Ok(own) = Own::read(&file) {
            own.servers.names().for_each(&mut add);
        }
    }
    for file in of_project(places) {
        if let Ok(servers) = Servers::read(&file, &places.project) {
            servers.names().for_each(&mut add);
        }
    }
    names
}

/// The server of a host by its name: in the first of its files that has it.
///
/// # Errors
/// None of them has it, or something is wrong with it.
pub fn of_host(host: &'static Host, name: &str, places: &Places) -> Result<Found, Fault> {
    let mut missing = None;
    // What is for one person wins over what a project has, and that over what a person has everywhere.
    let mut files: Vec<(&HostFile, PathBuf)> = host.files(places).collect();
    files.sort_by_key(|(file, _)| match file.scope {
        "local" => 0,
        "project" => 1,
        _ => 2,
    });
    for (about, file) in files {
        if !file.is_file() {
            continue;
        }
        match Servers::of_host(about, &file, places).and_then(|servers| servers.get(name)) {
            Ok(entry) => return Ok(Found { file, entry }),
            Err(fault) if fault.line.is_some() => return Err(fault),
            Err(fault) => _ = missing.get_or_insert((about, fault)),
        }
    }
    Err(missing.map_or_else(
        || {
            let at = host
                .files(places)
                .next()
                .map_or_else(|| PathBuf::from(host.id), |(_, file)| file);
            Fault::of(
                &at,
                format!("is not there, so {} has no servers", host.name),
            )
        },
        |(_, fault)| fault,
    ))
}

/// The names of the servers that a host has. What cannot be read is left out.
pub fn names_of_host(host: &'static Host, places: &Places) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (about, file) in host.files(places) {
        let Ok(servers) = Servers::of_host(about, &file, places) else {
            continue;
        };
        for name in servers.names() {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// Every file of every host that is there.
pub fn discovered(places: &Places) -> Vec<(&'static Host, &'static HostFile, PathBuf)> {
    HOSTS
        .iter()
        .flat_map(|host| {
            host.files(places)
                .map(move |(about, file)| (host, about, file))
        })
        .filter(|(_, _, file)| file.is_file())
        .collect()
}

/// What the variables of an entry may be filled in with.
pub struct Means<'a> {
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Asks for an input.
    pub input: Give<'a>,
    /// Runs a command, where that is allowed.
    pub command: Option<Give<'a>>,
    /// May files be read?
    pub files: bool,
}

impl std::fmt::Debug for Means<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Means").finish_non_exhaustive()
    }
}

impl Found {
    /// Fills in the variables of every field, once.
    ///
    /// # Errors
    /// One cannot be filled in: the file, the line and the field.
    pub fn expanded(&self, places: &Places, means: &Means<'_>) -> Result<Entry<Expanded>, Fault> {
        let folder = self.folder(places);
        let scope = self.scope(&folder, places, means);
        let name = self.entry.name.clone();
        let fault = |field: &str, line: usize, why: String| {
            let path = format!("{name}.{field}");
            Fault::of(&self.file, why).at(line).field(path)
        };
        let mut lines = Vec::new();
        let mut expanded = self.entry.clone().try_map(|field, text: Field| {
            lines.push((field.to_owned(), text.line));
            expand(&text.text, &scope).map_err(|why| {
                let unset = why.contains("is not set");
                let fault = fault(field, text.line, why);
                if unset {
                    return fault.hint("set it, or write a default: ${NAME:-default}");
                }
                fault
            })
        })?;
        let passed = self.entry.settings.pass_env.clone();
        let Way::Command(start) = &mut expanded.way else {
            return Ok(expanded);
        };
        for name in passed {
            let is_given = start.env.iter().any(|(known, _)| *known == name);
            if let Some(value) = (means.variable)(&name).filter(|_| !is_given) {
                let value = Expanded::of(&value, Origin::Variable(name.clone()));
                start.env.push((name, value));
            }
        }
        if let Some(cwd) = &mut start.cwd {
            let path = in_folder(&folder, &cwd.text, places);
            cwd.text = path.display().to_string();
            cwd.shown.clone_from(&cwd.text);
        }
        if let Some(named) = start.env_file.take() {
            let path = in_folder(&folder, &named.text, places);
            let line = lines
                .iter()
                .find(|(field, _)| field == "env_file")
                .map_or(1, |(_, line)| *line);
            let pairs = env_file(&path).map_err(|wrong| match wrong.line {
                Some(_) => wrong,
                None => fault("env_file", line, wrong.to_string()),
            })?;
            for (variable, value) in pairs {
                if !start.env.iter().any(|(known, _)| *known == variable) {
                    let value = Expanded::of(&value, Origin::File(path.clone()));
                    start.env.push((variable, value));
                }
            }
        }
        Ok(expanded)
    }

    /// The file that it names for more of its environment; none, too, where the variables in its name cannot be filled in.
    pub fn env_file(&self, places: &Places, means: &Means<'_>) -> Option<PathBuf> {
        let Way::Command(start) = &self.entry.way else {
            return None;
        };
        let folder = self.folder(places);
        let scope = self.scope(&folder, places, means);
        let named = expand(&start.env_file.as_ref()?.text, &scope).ok()?;
        Some(in_folder(&folder, &named.text, places))
    }

    /// From where what it names is meant.
    fn folder(&self, places: &Places) -> PathBuf {
        let folder = self.file.parent().unwrap_or_else(|| Path::new(""));
        std::path::absolute(folder).unwrap_or_else(|_| places.project.clone())
    }

    fn scope<'a>(&self, folder: &'a Path, places: &'a Places, means: &Means<'a>) -> Scope<'a> {
        Scope {
            variable: means.variable,
            input: means.input,
            command: means.command,
            files: means.files,
            project: &places.project,
            folder,
            home: places.home.as_deref(),
            bare: self.entry.bare,
        }
    }
}

fn in_folder(folder: &Path, named: &str, places: &Places) -> PathBuf {
    at_home(named, places).unwrap_or_else(|| folder.join(named))
}

/// `~/x` and `~`.
fn at_home(text: &str, places: &Places) -> Option<PathBuf> {
    let home = places.home.as_ref()?;
    match text.strip_prefix('~')? {
        "" => Some(home.clone()),
        rest => Some(home.join(rest.strip_prefix('/')?)),
    }
}

/// The variables of a file: `NAME=value` a line; `#` begins a comment, `export` and quotes around a value are taken off.
///
/// # Errors
/// It cannot be read, or a line is none of these.
pub fn env_file(file: &Path) -> Result<Vec<(String, String)>, Fault> {
    let text = file::text(file)?.ok_or_else(|| Fault::of(file, "is not there"))?;
    dotenv(file, &text)
}

fn dotenv(file: &Path, text: &str) -> Result<Vec<(String, String)>, Fault> {
    let mut pairs = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let pair = line
            .split_once('=')
            .map(|(name, value)| (name.trim(), value.trim()));
        let Some((name, value)) = pair.filter(|(name, _)| {
            !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '\0')
        }) else {
            return Err(Fault::of(file, "is not NAME=value").at(i + 1));
        };
        let quoted = ['"', '\'']
            .iter()
            .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        pairs.push((name.to_owned(), quoted.unwrap_or(value).to_owned()));
    }
    Ok(pairs)
}
