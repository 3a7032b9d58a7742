//! `polyport add`, `remove`, `enable` and `disable`: what our own configuration names, changed without changing anything else in it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use polyport_config::{Change, Fault, Format, Found, Own, Places, Way, Word, is_secret_name, own};
use serde_json::{Map, Value, json};

use super::install::diff;
use crate::configured::{self, Config, wrong};
use crate::failure::Failure;
use crate::printing;
use crate::program::program;
use crate::target::Target;
use crate::{reaching, ui, values};

/// Give a server a name in polyport.toml
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport add [OPTIONS] NAME SERVER\n       polyport add [OPTIONS] NAME -- COMMAND...",
    after_help = "\
The file is the nearest polyport.toml of the working folder or one above it, or a new one here; --user
takes the one that holds in every folder. Comments and order stay. ${NAME} in what is typed is filled
in when the server is used: quote it, and no secret stands in the file.

Examples:
  polyport add docs https://mcp.example.com/mcp --header 'Authorization: Bearer ${DOCS_TOKEN}'
  polyport add github -e 'GITHUB_TOKEN=${GITHUB_TOKEN}' -- npx -y @scope/server-github
  polyport add shop claude-desktop:shop
  polyport add notes ./notes"
)]
pub(crate) struct Add {
    /// Its name
    name: String,
    /// The server: a URL, :PORT, a folder, demo, FILE:NAME or HOST:NAME (polyport help server)
    server: Option<OsString>,
    /// A server's own command
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// One variable of the command's environment
    #[arg(short, long = "env", value_name = "NAME=VALUE", value_parser = values::variable)]
    env: Vec<(String, String)>,
    /// Where the command works
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// Sent with each request to a URL (repeatable)
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = values::header)]
    headers: Vec<(String, String)>,
    /// Put it in the place of one of that name, with all that is said of that
    #[arg(long)]
    replace: bool,
    /// Write the file that holds in every folder
    #[arg(long, conflicts_with = "config")]
    user: bool,
    #[command(flatten)]
    manner: Manner,
}

/// Take a server out of polyport.toml
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  polyport remove github")]
pub(crate) struct Remove {
    /// Its name
    name: String,
    #[command(flatten)]
    manner: Manner,
}

/// Switch a server of polyport.toml on
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  polyport enable github")]
pub(crate) struct Enable {
    /// Its name
    name: String,
    #[command(flatten)]
    manner: Manner,
}

/// Switch a server of polyport.toml off, and keep what is said of it
#[derive(Debug, Args)]
#[command(after_help = "\
polyport serve leaves it out; where it is named itself, it is still used.

Example:
  polyport disable github")]
pub(crate) struct Disable {
    /// Its name
    name: String,
    #[command(flatten)]
    manner: Manner,
}

/// Which file, and what is said of it.
#[derive(Debug, Args)]
struct Manner {
    /// Change this file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document that says what was done
    #[arg(long)]
    json: bool,
}

impl Add {
    /// Adds it.
    ///
    /// # Errors
    /// The name is taken, or the server is none.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let places = configured::places()?;
        let entry = self.entry()?;
        let file = match (&self.manner.config, self.user) {
            (Some(file), _) => file.clone(),
            (None, true) => of_user(&places)?,
            (None, false) => of_project(&places),
        };
        let change = Change::add(&file, &self.name, &entry, self.replace);
        let change = change.map_err(|fault| match fault.why == "is there already" {
            true => wrong(&fault.hint("--replace puts this one in its place")),
            false => wrong(&fault),
        })?;
        self.tell_secrets(&change.file);
        self.manner.make(&change, &self.name, "added", "added to")
    }

    /// What is typed on a command line and looks like a secret stands in the file from now on.
    fn tell_secrets(&self, file: &Path) {
        let is_plain = |(name, value): &&(String, String)| {
            !value.contains("${") && !value.is_empty() && is_secret_name(name)
        };
        for (name, _) in self.env.iter().chain(&self.headers).filter(is_plain) {
            let file = ui::path(file);
            ui::note(&format!(
                "note: {name} stands in {file} as it was typed; '${{NAME}}' takes it from the environment\n"
            ));
        }
    }

    fn entry(&self) -> Result<Value, Failure> {
        match (&self.server, &self.command[..]) {
            (None, []) => Err(Failure::usage("no server is named").hint(
                "name a URL, a folder, or a command: polyport add NAME -- npx -y some-server",
            )),
            (Some(_), [_, ..]) => Err(Failure::usage("a server and a command are two servers")
                .hint("add one after the other")),
            (None, [program, args @ ..]) => self.started(program, args),
            (Some(word), []) => self.named(word),
        }
    }

    /// A command, as it is.
    fn started(&self, program: &str, args: &[String]) -> Result<Value, Failure> {
        if !self.headers.is_empty() {
            return Err(reaching::misplaced("--header", "a command", "a URL"));
        }
        let mut entry = Map::new();
        // Its folder is that of the file, and need not be where it is started.
        let program = match program.starts_with('.') {
            true => absolute(Path::new(program)),
            false => program.to_owned(),
        };
        entry.insert("command".to_owned(), json!(program));
        if !args.is_empty() {
            entry.insert("args".to_owned(), json!(args));
        }
        self.add_environment(&mut entry);
        Ok(Value::Object(entry))
    }

    fn add_environment(&self, entry: &mut Map<String, Value>) {
        if !self.env.is_empty() {
            let env = entry.entry("env").or_insert_with(|| json!({}));
            for (name, value) in &self.env {
                env[name] = json!(value);
            }
        }
        if let Some(folder) = &self.cwd {
            entry.insert("cwd".to_owned(), json!(absolute(folder)));
        }
    }

    /// What a word names.
    fn named(&self, word: &OsStr) -> Result<Value, Failure> {
        let found = match reaching::read(word)? {
            Word::Url(url) => return self.at(&url),
            Word::File { file, name } => configured::in_file(&file, &name)?,
            Word::Host { host, name } => configured::in_host(host, &name)?,
            Word::Name(name) if !Path::new(&name).exists() => {
                Config::default().named(&name, "add NAME")?
            }
            Word::Demo | Word::Folder(_) | Word::Kind { .. } | Word::Name(_) => {
                let target = Target::parse(word)?;
                let program = program().display().to_string();
                return self.started(&program, &["serve".to_owned(), target.word()]);
            }
        };
        self.copied(&found)
    }

    fn at(&self, url: &str) -> Result<Value, Failure> {
        for (option, is_given) in [("-e", !self.env.is_empty()), ("--cwd", self.cwd.is_some())] {
            if is_given {
                return Err(reaching::misplaced(option, "a URL", "a command"));
            }
        }
        let mut entry = Map::new();
        entry.insert("url".to_owned(), json!(url));
        self.add_headers(&mut entry);
        Ok(Value::Object(entry))
    }

    fn add_headers(&self, entry: &mut Map<String, Value>) {
        for (name, value) in &self.headers {
            let headers = entry.entry("headers").or_insert_with(|| json!({}));
            headers[name] = json!(value);
        }
    }

    /// An entry of another configuration, its variables as they are, in our words.
    fn copied(&self, found: &Found) -> Result<Value, Failure> {
        let folder = found.file.parent().unwrap_or_else(|| Path::new(""));
        let is_bare = found.entry.bare;
        let plain = |text: String| match is_bare {
            true => text.replace("{env:", "${env:").replace("{file:", "${file:"),
            false => text,
        };
        let in_folder = |text: &str| match text.starts_with(['~', '$']) {
            true => text.to_owned(),
            false => absolute(&folder.join(text)),
        };
        let entry = found.entry.clone().try_map(|field, it| {
            let text = plain(it.text);
            Ok::<_, Failure>(match field {
                "cwd" | "env_file" => in_folder(&text),
                _ => text,
            })
        })?;
        let pairs = |pairs: Vec<(String, String)>| -> Value {
            let pairs = pairs.into_iter().map(|(name, text)| (name, json!(text)));
            Value::Object(pairs.collect())
        };
        let mut out = Map::new();
        match entry.way {
            Way::Command(_) if !self.headers.is_empty() => {
                return Err(reaching::misplaced("--header", "a command", "a URL"));
            }
            Way::Url(remote) => {
                if !self.env.is_empty() || self.cwd.is_some() {
                    return Err(reaching::misplaced("-e", "a URL", "a command"));
                }
                out.insert("url".to_owned(), json!(remote.url));
                if !remote.headers.is_empty() {
                    out.insert("headers".to_owned(), pairs(remote.headers));
                }
                self.add_headers(&mut out);
            }
            Way::Command(start) => {
                out.insert("command".to_owned(), json!(start.program));
                if !start.args.is_empty() {
                    out.insert("args".to_owned(), json!(start.args));
                }
                if !start.env.is_empty() {
                    out.insert("env".to_owned(), pairs(start.env));
                }
                for (key, value) in [("cwd", start.cwd), ("env_file", start.env_file)] {
                    if let Some(value) = value {
                        out.insert(key.to_owned(), json!(value));
                    }
                }
                self.add_environment(&mut out);
            }
        }
        out.extend(entry.settings.entry());
        Ok(Value::Object(out))
    }
}

impl Remove {
    /// Takes it out.
    ///
    /// # Errors
    /// There is none of that name.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let change = self.manner.change(&self.name, Change::remove)?;
        self.manner
            .make(&change, &self.name, "removed", "removed from")
    }
}

impl Enable {
    /// Switches it on.
    ///
    /// # Errors
    /// There is none of that name.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let on = |file: &Path, name: &str| Change::switch(file, name, true);
        let change = self.manner.change(&self.name, on)?;
        self.manner
            .make(&change, &self.name, "enabled", "switched on in")
    }
}

impl Disable {
    /// Switches it off.
    ///
    /// # Errors
    /// There is none of that name.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let off = |file: &Path, name: &str| Change::switch(file, name, false);
        let change = self.manner.change(&self.name, off)?;
        self.manner
            .make(&change, &self.name, "disabled", "switched off in")
    }
}

impl Manner {
    /// A change of a server that is there: in the file that is named, or the nearest that has it.
    fn change(
        &self,
        name: &str,
        act: impl Fn(&Path, &str) -> Result<Change, Fault>,
    ) -> Result<Change, Failure> {
        if let Some(file) = &self.config {
            return act(file, name).map_err(|fault| wrong(&fault));
        }
        let files = own::files(&configured::places()?);
        let has = |file: &&PathBuf| {
            Own::read(file).is_ok_and(|own| own.servers.names().any(|known| known == name))
        };
        let file = files.iter().find(has).or_else(|| files.first());
        let file = file.ok_or_else(|| {
            Failure::usage(format!("there is no {} here or above", own::NAME))
                .hint("polyport add makes one")
        })?;
        act(file, name).map_err(|fault| wrong(&fault))
    }

    /// Makes a change, and says so. `done`: in a word, for programs.
    fn make(
        &self,
        change: &Change,
        name: &str,
        done: &str,
        said: &str,
    ) -> Result<ExitCode, Failure> {
        let is_change = change.is_change();
        if is_change && !self.dry_run {
            change.make().map_err(|fault| wrong(&fault))?;
        }
        let file = change.file.display().to_string();
        if self.json {
            let document = json!({
                "file": file, "line": change.line, "server": name, "done": done,
                "changed": is_change && !self.dry_run,
            });
            printing::out(format!("{document}\n").as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let text = match (is_change, self.dry_run) {
            (false, _) => format!("{name} is {said} {file}:{} already\n", change.line),
            (true, true) => {
                let before = change.before.as_deref().unwrap_or_default();
                diff::lines(before, &change.after, Format::of(&change.file))
            }
            (true, false) => format!("{name} is {said} {file}:{}\n", change.line),
        };
        printing::out(ui::harmless(&text).as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The nearest file of the working folder and those above it; a new one here, where there is none.
fn of_project(places: &Places) -> PathBuf {
    let user = user(places);
    let near = own::files(places)
        .into_iter()
        .find(|file| Some(file) != user.as_ref());
    near.unwrap_or_else(|| places.project.join(own::NAME))
}

/// The file that holds in every folder.
fn of_user(places: &Places) -> Result<PathBuf, Failure> {
    user(places).ok_or_else(|| {
        Failure::usage("where programs keep their configuration is not known here")
            .hint("is HOME set? --config FILE names the file")
    })
}

fn user(places: &Places) -> Option<PathBuf> {
    let config = places.config.as_ref()?;
    Some(config.join("polyport").join(own::NAME))
}

fn absolute(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.display().to_string()
}
