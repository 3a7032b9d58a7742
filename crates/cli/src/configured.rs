//! Servers that a configuration names: found, their variables filled in, and made into what is started or reached.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use polyport_config::{
    Entry, Expanded, Fault, Found, Give, Host, MASK, Means, Os, Own, Places, Start, Way, env_file,
    find, host, mask, names, names_of_host, nearest, of_host,
};

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::terminal;
use crate::ui;

/// How long a command that gives the value of a variable may take.
const COMMAND: Duration = Duration::from_secs(10);
/// What is read of it.
const COMMAND_BYTES: u64 = 64 * 1024;

/// Names that are listed where one is wrong.
const NAMED: usize = 12;

/// Where names of servers are looked up, and what their variables may do.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Config {
    /// Look names of servers up in this file alone
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Let variables read files or run commands (repeatable)
    #[arg(long, value_enum, value_name = "file|cmd", hide_possible_values = true)]
    expand: Vec<Expand>,
    /// More variables, NAME=value a line (polyport help variables)
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Expand {
    File,
    Cmd,
}

/// Where things are on this machine.
///
/// # Errors
/// The working folder is gone.
pub(crate) fn places() -> Result<Places, Failure> {
    let here = std::env::current_dir()
        .map_err(|error| Failure::usage(format!("the working folder cannot be named: {error}")))?;
    Ok(Places::of(Os::HERE, here, |name| std::env::var_os(name)))
}

/// The names that stand for a server by themselves, and are one word in any shell.
pub(crate) fn plain_names() -> Vec<String> {
    let all = places().map_or_else(|_| Vec::new(), |places| names(&places, None));
    all.into_iter().filter(|name| is_plain(name)).collect()
}

/// The host that these words name last, by itself or before a colon, with such names of its servers.
pub(crate) fn host_in(words: &[String]) -> Option<(String, Vec<String>)> {
    let named = |word: &String| host(word.split(':').next()?);
    let host = words.iter().rev().find_map(named)?;
    let names = names_of_host(host, &places().ok()?).into_iter();
    Some((
        host.id.to_owned(),
        names.filter(|name| is_plain(name)).collect(),
    ))
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.len() <= 64 && name.chars().all(plain)
}

impl Config {
    /// Names are looked up in this file alone, if one is named; variables may do nothing.
    pub(crate) fn at(config: Option<PathBuf>) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// The variables of the file that was named for them.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn variables(&self) -> Result<Vec<(String, String)>, Fault> {
        self.env_file.as_deref().map_or(Ok(Vec::new()), env_file)
    }

    /// Is there such a file?
    pub(crate) fn has_variables(&self) -> bool {
        self.env_file.is_some()
    }

    /// The file that was named.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The same as options of a command line, quoted for a shell.
    pub(crate) fn typed(&self) -> Vec<String> {
        let file = self
            .file()
            .map(|file| ["--config".to_owned(), ui::path(file)]);
        let expand = self.expand.iter().map(|expand| {
            let what = match expand {
                Expand::File => "file",
                Expand::Cmd => "cmd",
            };
            ["--expand".to_owned(), what.to_owned()]
        });
        let variables = self
            .env_file
            .as_deref()
            .map(|file| ["--env-file".to_owned(), ui::path(file)]);
        let all = file.into_iter().chain(expand).chain(variables);
        all.flatten().collect()
    }

    /// What its variables may do, as options of a command line that stands in a file.
    pub(crate) fn written(&self) -> Vec<String> {
        let mut options = Vec::new();
        for expand in &self.expand {
            let what = match expand {
                Expand::File => "file",
                Expand::Cmd => "cmd",
            };
            options.extend(["--expand".to_owned(), what.to_owned()]);
        }
        if let Some(file) = &self.env_file {
            let path = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            options.extend(["--env-file".to_owned(), path.display().to_string()]);
        }
        options
    }

    /// The server of this name; `line` is what stands before it, from the verb.
    ///
    /// # Errors
    /// There is none, or something is wrong with it.
    pub(crate) fn named(&self, name: &str, line: &str) -> Result<Found, Failure> {
        let places = places()?;
        if let Some(found) = find(name, &places, self.file()).map_err(|fault| wrong(&fault))? {
            return Ok(found);
        }
        let mut names = names(&places, self.file());
        let near = nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
        names.truncate(NAMED);
        let said = match self.file() {
            Some(file) => format!("{} has no server {name}", ui::path(file)),
            None => format!("there is no folder and no server {name}"),
        };
        let hint = match (near, &names[..]) {
            _ if let Some(host) = host(name) => {
                format!(
                    "a host's server is named HOST:NAME; {}",
                    has(name, &names_of_host(host, &places))
                )
            }
            (Some(near), _) => format!("did you mean {near}? polyport {line} {near}"),
            (None, []) => {
                format!("a command stands after --: polyport {line} -- npx -y some-server")
            }
            (None, names) => format!("known are {}; polyport servers says more", names.join(", ")),
        };
        Err(Failure::usage(said).hint(hint))
    }

    /// Is there a server of this name? What cannot be read knows none.
    pub(crate) fn knows(&self, name: &str) -> Option<PathBuf> {
        let found = find(name, &places().ok()?, self.file()).ok().flatten();
        found.map(|found| found.file)
    }

    /// Fills in the variables; somebody may be asked.
    ///
    /// # Errors
    /// One cannot be filled in.
    pub(crate) fn expanded(&self, found: &Found) -> Result<Entry<Expanded>, Fault> {
        self.expanded_by(found, &input)
    }

    /// Fills in the variables as they can be shown: nobody is asked for anything.
    ///
    /// # Errors
    /// One cannot be filled in.
    pub(crate) fn expanded_to_show(&self, found: &Found) -> Result<Entry<Expanded>, Fault> {
        self.expanded_by(found, &|_| Ok(MASK.to_owned()))
    }

    fn expanded_by(&self, found: &Found, input: Give<'_>) -> Result<Entry<Expanded>, Fault> {
        let places = places().map_err(|_| Fault::of(&found.file, "has no working folder"))?;
        let more = self.variables()?;
        self.with_means(&more, input, |means| found.expanded(&places, means))
    }

    /// The files with variables for these servers: their own, and the one that the command line names.
    pub(crate) fn variable_files(&self, found: &[Found]) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.env_file.clone().into_iter().collect();
        let more = self.variables().unwrap_or_default();
        if let Ok(places) = places() {
            let nobody = |_: &str| Err(String::new());
            self.with_means(&more, &nobody, |means| {
                let named = |found: &Found| found.env_file(&places, means);
                files.extend(found.iter().filter_map(named));
            });
        }
        files
    }

    fn with_means<T>(
        &self,
        more: &[(String, String)],
        input: Give<'_>,
        with: impl FnOnce(&Means<'_>) -> T,
    ) -> T {
        // What is set for this one run wins over what a file says for all.
        let variable = |name: &str| {
            let in_file = more.iter().rev().find(|(known, _)| known == name);
            let in_file = in_file.map(|(_, value)| value.clone());
            std::env::var(name).ok().or(in_file)
        };
        let means = Means {
            variable: &variable,
            input,
            command: self.expand.contains(&Expand::Cmd).then_some(&run),
            files: self.expand.contains(&Expand::File),
        };
        with(&means)
    }
}

/// A file that was named, ours or a host's.
///
/// # Errors
/// It cannot be read, or names no servers.
pub(crate) fn read(file: &Path) -> Result<Own, Fault> {
    Own::read_named(file, &std::env::current_dir().unwrap_or_default())
}

/// The servers of a file that are switched on.
///
/// # Errors
/// It cannot be read, or something is wrong with it.
pub(crate) fn enabled_in(file: &Path) -> Result<Vec<Found>, Failure> {
    let own = read(file).map_err(|fault| wrong(&fault))?;
    // A key that nobody knows may have been meant to hide something.
    if let Some(fault) = own.faults.first().filter(|_| !own.is_of_host) {
        return Err(wrong(fault));
    }
    let found = own.servers.names().map(|name| of(&own, file, name));
    let found: Vec<Found> = found.collect::<Result<_, _>>()?;
    Ok(found
        .into_iter()
        .filter(|found| found.entry.enabled)
        .collect())
}

/// The server of this name in this file.
///
/// # Errors
/// There is none, or something is wrong with it.
pub(crate) fn in_file(file: &Path, name: &str) -> Result<Found, Failure> {
    let own = read(file).map_err(|fault| wrong(&fault))?;
    of(&own, file, name)
}

fn of(own: &Own, file: &Path, name: &str) -> Result<Found, Failure> {
    let entry = match own.get(name).map_err(|fault| wrong(&fault))? {
        Some(entry) => entry,
        None => own.servers.get(name).map_err(|fault| wrong(&fault))?,
    };
    let file = file.to_owned();
    Ok(Found { file, entry })
}

/// The server of this name that a host has.
///
/// # Errors
/// There is none, or something is wrong with it.
pub(crate) fn in_host(host: &'static Host, name: &str) -> Result<Found, Failure> {
    of_host(host, name, &places()?).map_err(|fault| wrong(&fault))
}

/// What is wrong with a host or a file with a colon and no name behind it; nothing, if it is neither.
pub(crate) fn unnamed(word: &OsStr) -> Option<Failure> {
    let before = word.to_str()?.strip_suffix(':')?;
    let places = places().ok()?;
    let names = if let Some(host) = host(before) {
        names_of_host(host, &places)
    } else if Path::new(before).is_file() {
        names(&places, Some(Path::new(before)))
    } else {
        return None;
    };
    let shown = ui::path(Path::new(before));
    let failure = Failure::usage(format!("{shown}: names no server"));
    Some(failure.hint(has(before, &names)))
}

/// The servers of a host or a file, as they are named.
fn has(before: &str, names: &[String]) -> String {
    let named = names.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|name| ui::word(&format!("{before}:{name}")))
        .collect();
    match &named[..] {
        [] => "it has none; polyport servers --discover lists those of all hosts".to_owned(),
        named => format!("it has {}", named.join(", ")),
    }
}

/// A fault of a file is one of the command line that names it.
pub(crate) fn wrong(fault: &Fault) -> Failure {
    let failure = Failure::usage(fault);
    match &fault.hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Says what a host makes of an entry and we do not.
pub(crate) fn tell_doubts(found: &Found) {
    if !found.entry.enabled {
        ui::note(&format!(
            "note: {} is switched off in {}; its host does not start it\n",
            found.entry.name,
            ui::path(&found.file)
        ));
    }
    for doubt in &found.entry.doubts {
        ui::note(&format!("warning: {}\n", in_full(doubt)));
    }
}

/// A fault on one line, with what to do.
pub(crate) fn in_full(fault: &Fault) -> String {
    match &fault.hint {
        Some(hint) => format!("{fault}; {hint}"),
        None => fault.to_string(),
    }
}

/// What is started or reached, on a line.
pub(crate) fn way(entry: &Entry) -> String {
    match mask::raw(entry).way {
        Way::Command(Start { program, args, .. }) => {
            let words = std::iter::once(&program).chain(&args);
            let words: Vec<String> = words
                .map(|word| match word.contains(MASK) {
                    true => word.clone(),
                    false => ui::path(Path::new(word)),
                })
                .collect();
            words.join(" ")
        }
        Way::Url(remote) => remote.url,
    }
}

/// A fault as a value.
pub(crate) fn problem(fault: &Fault) -> Value {
    json!({
        "file": fault.file.display().to_string(),
        "line": fault.line,
        "field": fault.field,
        "message": fault.why,
        "hint": fault.hint,
    })
}

/// The value of an input: a variable of the environment, or what somebody types.
fn input(id: &str) -> Result<String, String> {
    let upper = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    let variable = format!("INPUT_{}", id.chars().map(upper).collect::<String>());
    if let Ok(value) = std::env::var(&variable) {
        return Ok(value);
    }
    if !terminal::is_terminal() {
        return Err(format!(
            "${{input:{id}}} is asked for at a terminal; or set {variable}"
        ));
    }
    ui::say(&format!("{id} (it is shown while it is typed): "));
    terminal::line().ok_or_else(|| format!("${{input:{id}}} was not given"))
}

/// What a command prints.
fn run(command: &str) -> Result<String, String> {
    let (shell, option) = if cfg!(windows) {
        ("cmd", "/C")
    } else {
        ("sh", "-c")
    };
    let mut child = Command::new(shell)
        .args([option, command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot be run: {error}"))?;
    let (done, read) = mpsc::channel();
    let output = child.stdout.take();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = output.map(|output| output.take(COMMAND_BYTES + 1).read_to_string(&mut text));
        // Nobody waits any longer if it came too late.
        let _ = done.send(read.unwrap_or(Ok(0)).map(|_| text));
    });
    let read = read.recv_timeout(COMMAND);
    let is_whole = matches!(&read, Ok(Ok(text)) if text.len() as u64 <= COMMAND_BYTES);
    if !is_whole {
        let _ = child.kill();
    }
    let ended = child.wait().map_err(|error| error.to_string())?;
    match read {
        Err(_) => Err(format!("took longer than {} s", COMMAND.as_secs())),
        Ok(Err(error)) => Err(format!("printed no text: {error}")),
        Ok(Ok(_)) if !is_whole => Err("printed more than 64 KiB".to_owned()),
        Ok(Ok(_)) if !ended.success() => Err(format!("failed: {ended}")),
        Ok(Ok(text)) => Ok(text),
    }
}
