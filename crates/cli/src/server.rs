//! What may stand for a server on the command line, read in one place: `demo`, a folder, or a command after `--`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use polyport::client::Connect;
use polyport::model::{CODE_RESOURCE_NOT_FOUND, Root};
use polyport::serde::de::DeserializeOwned;
use polyport::{Client, ClientError, Code, Command, Era, Patience, Raw, Revisions, Server};
use polyport_backends::files::serve::{Access, Roots};
use polyport_backends::files::{self, Folders};

use crate::answers::Answers;
use crate::demo;
use crate::failure::Failure;
use crate::frames;
use crate::target::Target;
use crate::typed::Typed;
use crate::ui;

/// A server, and how it is spoken to.
#[derive(Debug, Args)]
pub(crate) struct Words {
    /// The server (demo, or a folder), and what this verb takes
    #[arg(value_name = "SERVER")]
    words: Vec<String>,
    /// The command of a server; a second -- ends it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// One variable of the command's environment
    #[arg(short, long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Where the command works
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// Give the command all of this environment, secrets included, not only PATH, HOME and their like
    #[arg(long)]
    inherit_env: bool,
    /// Which era is spoken; without it that is found out
    #[arg(
        long,
        value_enum,
        value_name = "modern|legacy",
        hide_possible_values = true
    )]
    era: Option<Speak>,
    /// A folder that the server may hear we work in (repeatable)
    #[arg(long = "root", value_name = "FOLDER")]
    roots: Vec<PathBuf>,
    /// Write each message of both sides to FILE, or to standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    frames: Option<PathBuf>,
    /// Seconds after which a request is given up, whatever came meanwhile
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Speak {
    Modern,
    Legacy,
}

/// A server that has been named.
#[derive(Debug)]
pub(crate) struct Named {
    connect: Connect,
    /// As it was named.
    pub(crate) shown: String,
    /// As it stands in a command line.
    pub(crate) typed: Typed,
    /// The words after it.
    pub(crate) rest: Vec<String>,
    /// After how long a request is given up.
    pub(crate) timeout: Option<Duration>,
}

impl Words {
    /// Reads the words; `verb` takes some more after the server.
    ///
    /// # Errors
    /// No server is named, or none that there is.
    pub(crate) fn named(self, verb: &str) -> Result<Named, Failure> {
        let roots = roots(&self.roots)?;
        let mut typed = self.typed();
        let mut words = self.words.into_iter();
        let (connect, shown, rest) = if self.command.is_empty() {
            let word = words.next().ok_or_else(|| {
                Failure::usage("no server is named").hint(format!(
                    "name demo, a folder, or a command: polyport {verb} -- npx -y some-server"
                ))
            })?;
            let service = inside(OsStr::new(&word))?;
            typed.server.push(word.clone());
            (
                Connect::service(service.into_service()),
                word,
                words.collect(),
            )
        } else {
            let mut parts = self.command.splitn(2, |word| word == "--");
            let command = parts.next().unwrap_or_default();
            let after = parts.next().unwrap_or_default();
            let [program, arguments @ ..] = command else {
                return Err(Failure::usage("the command after -- is empty"));
            };
            let mut start = Command::new(program).args(arguments);
            for (name, value) in &self.env {
                start = start.env(name, value);
            }
            if let Some(folder) = self.cwd {
                start = start.folder(folder);
            }
            if self.inherit_env {
                start = start.inherit_environment();
            }
            let mut rest: Vec<String> = words.collect();
            for word in after {
                let word = word.to_str().ok_or_else(|| {
                    Failure::usage(format!("{} is no text", word.to_string_lossy()))
                })?;
                rest.push(word.to_owned());
            }
            let shown = program.to_string_lossy().into_owned();
            typed.server.push("--".to_owned());
            let lossy = |word: &OsString| word.to_string_lossy().into_owned();
            typed.server.extend(command.iter().map(lossy));
            typed.server.push("--".to_owned());
            (Connect::command(start), shown, rest)
        };
        let speaks = match self.era {
            None => Revisions::ALL,
            Some(Speak::Modern) => Revisions::of(Era::Modern),
            Some(Speak::Legacy) => Revisions::of(Era::Legacy),
        };
        let mut patience = Patience::default();
        if let Some(timeout) = self.timeout {
            patience.handshake = timeout;
            patience.request = timeout;
        }
        let mut connect = connect.speaks(speaks).patience(patience);
        if !roots.is_empty() {
            connect = connect.roots(roots);
        }
        if let Some(file) = &self.frames {
            connect = connect.tap(frames::to(file)?);
        }
        Ok(Named {
            connect,
            shown,
            typed,
            rest,
            timeout: self.timeout,
        })
    }
}

impl Words {
    /// The options that a line needs that reaches the same server, and the words that name it (none yet). Variables may be secrets:
    /// they are taken from the shell.
    fn typed(&self) -> Typed {
        let mut options = Vec::new();
        for (name, _) in &self.env {
            options.push("-e".to_owned());
            options.push(format!("{name}=\"${name}\""));
        }
        if let Some(folder) = &self.cwd {
            options.extend(["--cwd".to_owned(), ui::path(folder)]);
        }
        if self.inherit_env {
            options.push("--inherit-env".to_owned());
        }
        match self.era {
            Some(Speak::Modern) => options.extend(["--era", "modern"].map(str::to_owned)),
            Some(Speak::Legacy) => options.extend(["--era", "legacy"].map(str::to_owned)),
            None => {}
        }
        Typed {
            options,
            server: Vec::new(),
        }
    }
}

impl Named {
    /// Nothing follows the server.
    ///
    /// # Errors
    /// There is a word too many.
    pub(crate) fn nothing_more(&self) -> Result<(), Failure> {
        match self.rest.first() {
            Some(word) => Err(Failure::usage(format!("{word:?} is one word too many"))
                .hint("a command stands after --")),
            None => Ok(()),
        }
    }

    /// The same with somebody who answers its questions.
    pub(crate) fn answered_by(mut self, answers: &Answers) -> Self {
        self.connect = answers.on(self.connect);
        self
    }

    /// Connects.
    ///
    /// # Errors
    /// The server cannot be reached, or not be spoken to.
    pub(crate) async fn connect(self) -> Result<Client, Failure> {
        let shown = self.shown;
        let connected = self.connect.connect().await;
        connected.map_err(|error| failure(&error, &shown))
    }
}

/// What of ours is named by a word: the built-in server, or a folder.
fn inside(word: &OsStr) -> Result<Server, Failure> {
    let server = Server::new("polyport", env!("CARGO_PKG_VERSION")).title("Polyport");
    match Target::parse(word)? {
        Target::Demo => Ok(demo::extend(server).instructions(demo::INSTRUCTIONS)),
        Target::Folder { named, .. } => {
            let opened = Folders::open([named.as_path()])
                .map_err(|error| Failure::usage(format!("{}: {error}", ui::path(&named))))?;
            let server = files::serve::extend(server, opened, Access::Read, Roots::Legacy);
            Ok(server.instructions(Access::Read.instructions()))
        }
    }
}

/// Folders as a server is told of them.
fn roots(folders: &[PathBuf]) -> Result<Vec<Root>, Failure> {
    let root = |folder: &PathBuf| {
        let found = std::fs::canonicalize(folder).and_then(|path| {
            if path.is_dir() {
                Ok(path)
            } else {
                Err(std::io::ErrorKind::NotADirectory.into())
            }
        });
        let path = found
            .map_err(|error| Failure::usage(format!("--root {}: {error}", ui::path(folder))))?;
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        Ok(Root {
            uri: files::uri::from_path(&path),
            name,
            ..Root::default()
        })
    };
    folders.iter().map(root).collect()
}

/// A result in the types of the specification.
///
/// # Errors
/// It is none.
pub(crate) fn decoded<T: DeserializeOwned>(result: &Raw, server: &str) -> Result<T, Failure> {
    let read = result.decode();
    read.map_err(|error| failure(&ClientError::Unreadable(error.to_string()), server))
}

/// What a client's error means for the exit code, and what to do.
pub(crate) fn failure(error: &ClientError, server: &str) -> Failure {
    let said = Failure::unexpected(format!("{server}: {error}"));
    match error {
        ClientError::NotStarted { .. } => said
            .code(4)
            .hint("is the program installed, and on PATH? with a relative path, from which folder?"),
        ClientError::Gone { said: lines, .. } if lines.is_empty() => said.code(4).hint(
            "it said nothing on standard error; does it run by itself? its variables may be missing: -e NAME=VALUE, or --inherit-env",
        ),
        ClientError::Gone { said: lines, .. } => {
            let lines = lines.join("\n    ");
            said.code(4).hint(format!("it said last:\n    {lines}"))
        }
        ClientError::Refused(refused) if is_unknown(refused.code) => said.code(5),
        ClientError::Refused(refused) if refused.code == Code::MissingCapability.number() => said
            .code(8)
            .hint("this verb has nothing that could answer it"),
        ClientError::NotOffered(_) => said.code(5),
        ClientError::NeedsInput(_) => said.code(8).hint("this verb has nothing that could answer it"),
        ClientError::TimedOut(_) => said.code(7).hint("--timeout SECONDS waits longer"),
        _ => said.code(6),
    }
}

/// Does the code say that there is no such thing, in one era or the other?
fn is_unknown(code: i32) -> bool {
    code == Code::InvalidParams.number() || code == CODE_RESOURCE_NOT_FOUND
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "write a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "write a number above 0".to_owned())
}
