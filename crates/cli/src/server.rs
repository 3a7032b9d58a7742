//! A server that the command line names for a verb, and the way to it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use polyport::client::Connect;
use polyport::model::CODE_RESOURCE_NOT_FOUND;
use polyport::serde::de::DeserializeOwned;
use polyport::{Client, ClientError, Code, Command, Raw};
use polyport_config::{Host, Settings, Word};

use crate::answers::{self, Answers};
use crate::configured;
use crate::failure::Failure;
use crate::limit::Limit;
use crate::reach::{Aimed, Manner, Reached, Speak};
use crate::reaching::Reaching;
use crate::typed::Typed;
use crate::{exit, sampling, secrets, values};

/// A server, and how it is spoken to.
#[derive(Debug, Args)]
pub(crate) struct Words {
    /// The server (polyport help server), and what this verb takes
    #[arg(value_name = "SERVER")]
    words: Vec<String>,
    /// The command of a server; a second -- ends it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    reaching: Reaching,
    /// Which era is spoken; without it that is found out
    #[arg(
        long,
        value_enum,
        value_name = "modern|legacy",
        hide_possible_values = true
    )]
    era: Option<Speak>,
    /// Forget which era the server speaks, and ask everything anew
    #[arg(long)]
    no_cache: bool,
    /// A folder that the server may hear we work in (repeatable)
    #[arg(long = "root", value_name = "FOLDER")]
    roots: Vec<PathBuf>,
    /// Write each message of both sides to FILE, or to standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    frames: Option<PathBuf>,
    /// End after so long in all; what a person takes does not count
    #[arg(long, value_name = "SECONDS", value_parser = values::seconds)]
    timeout: Option<Duration>,
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
    /// How long all of it may take.
    pub(crate) limit: Limit,
}

/// One of several servers that were named.
pub(crate) struct Aim {
    /// As it was named.
    pub(crate) shown: String,
    pub(crate) reached: Reached,
    /// What a configuration says of it.
    pub(crate) settings: Settings,
}

impl Words {
    /// Reads the words; `verb` takes some more after the server.
    ///
    /// # Errors
    /// No server is named, or none that there is.
    pub(crate) fn named(self, verb: &str) -> Result<Named, Failure> {
        let limit = Limit::begin(self.timeout);
        let (aimed, manner) = self.aimed(verb)?;
        Ok(Named {
            connect: manner.on(aimed.reached?.connect()?)?,
            shown: aimed.shown,
            typed: aimed.typed,
            rest: aimed.rest,
            limit,
        })
    }

    /// The same, before anything is done with the server: what it is may have failed by itself.
    ///
    /// # Errors
    /// No server is named.
    pub(crate) fn aimed(mut self, verb: &str) -> Result<(Aimed, Manner), Failure> {
        let mut typed = self.typed();
        let mut words = std::mem::take(&mut self.words).into_iter();
        let mut is_configured = false;
        let (reached, shown, rest) = if self.command.is_empty() {
            let word = words.next().ok_or_else(|| {
                Failure::usage("no server is named").hint(format!(
                    "name demo, a folder, or a command: polyport {verb} -- npx -y some-server"
                ))
            })?;
            let reached = self.reaching.reach(OsStr::new(&word), verb);
            // What the command line says wins; what is wrong with the word has been said.
            let settings = self.reaching.settings(OsStr::new(&word), verb);
            let era = settings.ok().and_then(|settings| settings.era);
            self.era = self.era.or_else(|| era.map(Speak::from));
            is_configured = matches!(
                Word::read(OsStr::new(&word)),
                Ok(Word::Name(_) | Word::File { .. } | Word::Host { .. })
            );
            typed.server.push(word.clone());
            (reached, polyport_config::mask::text(&word), words.collect())
        } else {
            let command = std::mem::take(&mut self.command);
            let mut parts = command.splitn(2, |word| word == "--");
            let command = parts.next().unwrap_or_default();
            let after = parts.next().unwrap_or_default();
            let [program, arguments @ ..] = command else {
                return Err(Failure::usage("the command after -- is empty"));
            };
            let start = self.reaching.told(Command::new(program).args(arguments));
            let start = start.map(Reached::Command);
            if let Some(word) = words.next() {
                let shown = polyport_config::mask::text(&word);
                let what = program.to_string_lossy();
                return Err(Failure::usage(format!(
                    "{shown} stands before --, and {what} after it: there are two servers"
                ))
                .hint(format!(
                    "polyport {verb} {shown} … without --, or polyport {verb} -- COMMAND... -- … for a command"
                )));
            }
            let mut rest = Vec::new();
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
            (start, shown, rest)
        };
        let reached = reached.and_then(|reached| {
            self.reaching.check_options([&reached], is_configured)?;
            Ok(reached)
        });
        let manner = self.manner();
        let aimed = Aimed {
            reached,
            shown,
            typed,
            rest,
        };
        Ok((aimed, manner))
    }

    /// Each server that is named by itself, as many as there are; where none is, all of the configuration.
    ///
    /// # Errors
    /// One is none that there is.
    pub(crate) fn all(mut self, verb: &str) -> Result<(Vec<Aim>, Manner), Failure> {
        let mut aims = Vec::new();
        for word in std::mem::take(&mut self.words) {
            let word = OsStr::new(&word);
            aims.push(Aim {
                shown: polyport_config::mask::text(&word.to_string_lossy()),
                reached: self.reaching.reach(word, verb)?,
                settings: self.reaching.settings(word, verb)?,
            });
        }
        if let [program, arguments @ ..] = &self.command[..] {
            let command = Command::new(program).args(arguments);
            aims.push(Aim {
                shown: program.to_string_lossy().into_owned(),
                reached: Reached::Command(self.reaching.told(command)?),
                settings: Settings::default(),
            });
        }
        if aims.is_empty() {
            let file = self.reaching.nearest()?;
            for found in file
                .iter()
                .map(|file| configured::enabled_in(file))
                .collect::<Result<Vec<_>, _>>()?
                .concat()
            {
                aims.push(Aim {
                    shown: found.entry.name.clone(),
                    reached: self.reaching.configured(&found, verb)?,
                    settings: found.entry.settings,
                });
            }
        }
        if aims.is_empty() {
            return Err(Failure::usage("no server is named").hint(format!(
                "name some, or a configuration: polyport {verb} --config FILE"
            )));
        }
        self.reaching
            .check_options(aims.iter().map(|aim| &aim.reached), true)?;
        Ok((aims, self.manner()))
    }

    /// The host that the first word names, and the server of it.
    pub(crate) fn of_host(&self) -> Option<(&'static Host, String)> {
        match Word::read(OsStr::new(self.words.first()?)) {
            Ok(Word::Host { host, name }) => Some((host, name)),
            _ => None,
        }
    }
}

impl Words {
    fn manner(self) -> Manner {
        Manner {
            era: self.era,
            no_cache: self.no_cache,
            roots: self.roots,
            frames: self.frames,
            timeout: self.timeout,
        }
    }

    /// The options that a line needs that reaches the same server, and the words that name it (none yet). Variables may be secrets:
    /// they are taken from the shell.
    fn typed(&self) -> Typed {
        let mut options = self.reaching.typed();
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
        nothing_more(&self.rest)
    }

    /// The same with somebody who answers its questions, and does what there is to do at pages in the time that was given.
    pub(crate) fn answered_by(mut self, answers: &Answers) -> Self {
        self.connect = answers.on(self.connect, self.limit.time());
        self
    }

    /// The same with a command that is asked in place of a model, if there is one.
    pub(crate) fn sampled_by(mut self, command: Option<String>, answers: &Answers) -> Self {
        if let Some(command) = command {
            self.connect = sampling::by(command, answers, self.connect);
        }
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

/// There are no words.
///
/// # Errors
/// There is one too many.
pub(crate) fn nothing_more(rest: &[String]) -> Result<(), Failure> {
    match rest.first() {
        Some(word) => Err(Failure::usage(format!("{word:?} is one word too many"))
            .hint("a command stands after --")),
        None => Ok(()),
    }
}

/// A result in the types of the specification.
///
/// # Errors
/// It is none.
pub(crate) fn decoded<T: DeserializeOwned>(
    client: &Client,
    result: &Raw,
    server: &str,
) -> Result<T, Failure> {
    held(client, result, server)?;
    let read = result.decode();
    read.map_err(|error| failure(&ClientError::Unreadable(error.to_string()), server))
}

/// It is a result, whatever it says.
///
/// # Errors
/// It is of a type of results that is none of ours.
pub(crate) fn held(client: &Client, result: &Raw, server: &str) -> Result<(), Failure> {
    let checked = client.check_result(result);
    checked.map_err(|error| failure(&error, server))
}

/// What answers a server that asks.
const ANSWERS: &str =
    "call answers for a model with --sample-cmd COMMAND, and --root FOLDER names where we work";

/// A code of SDKs that no revision defines: whoever asks may not have it.
const DENIED: i32 = -32003;

/// What to do where there was too little time.
pub(crate) const LONGER: &str = "--timeout SECONDS waits longer";

/// What a client's error means for the exit code, and what to do.
pub(crate) fn failure(error: &ClientError, server: &str) -> Failure {
    let said = Failure::unexpected(format!("{server}: {error}"));
    match error {
        ClientError::NotStarted { .. } => said
            .code(4)
            .hint("is the program installed, and on PATH? with a relative path, from which folder?"),
        ClientError::Closed => said
            .code(4)
            .hint("it, or something between here and there, ended the connection; its own log may say why"),
        ClientError::Gone { said: lines, .. } if lines.is_empty() => said.code(4).hint(
            "it said nothing on standard error; does it run by itself? its variables may be missing: -e NAME=VALUE, or --inherit-env",
        ),
        ClientError::Gone { said: lines, .. } => {
            let lines = lines.join("\n    ");
            said.code(4).hint(format!("it said last:\n    {lines}"))
        }
        ClientError::Refused(_) if let Some(hint) = answers::visit_first(error) => {
            said.code(8).hint(hint)
        }
        ClientError::Refused(refused) if refused.code == Code::MissingCapability.number() => said
            .code(8)
            .hint(ANSWERS),
        ClientError::Refused(refused) => match refused.code {
            CODE_RESOURCE_NOT_FOUND => said.code(5),
            DENIED => Failure::unexpected(format!("{server}: access is denied: {refused}"))
                .code(3)
                .hint(who_asks(403, &secrets::headers())),
            // What was asked for may tell more.
            _ => said.code(6),
        },
        ClientError::Unreachable(why) if why.contains("the proxy ") => said
            .code(4)
            .hint("does the proxy run? NO_PROXY=HOST leaves a host out"),
        ClientError::Unreachable(_) => said
            .code(4)
            .hint("does it run, and is this its address? polyport servers lists what is configured"),
        ClientError::Broken(_) => said.code(4),
        ClientError::Status(status) => match status.code {
            401 | 403 | 407 => said.code(3).hint(who_asks(status.code, &secrets::headers())),
            404 | 405 => said
                .code(6)
                .hint("is this the path of its endpoint? most have /mcp"),
            _ => said.code(6),
        },
        ClientError::NotOffered(_) => said.code(5),
        // A call that did not end; whoever presses Ctrl-C here waits for no answer.
        ClientError::Cancelled => said.code(1).hint(
            "nobody here did: the server, or somebody else who knows the task; the same call makes a new one",
        ),
        ClientError::NeedsInput(_) => said.code(8).hint(ANSWERS),
        ClientError::AsksOn(_) => said
            .code(6)
            .hint("is one of the answers not what it wants? --frames shows what it asks"),
        ClientError::UnknownResult(_) => said
            .code(6)
            .hint("--frames shows what it said; by the protocol, that is invalid"),
        ClientError::TimedOut(late) if late.odd.is_some() => said
            .code(exit::TIMED_OUT)
            .hint("an answer has the id of its request; --frames shows both"),
        ClientError::TimedOut(late) => {
            let said = said.code(exit::TIMED_OUT);
            match late.program.as_deref().map(|program| &program.said[..]) {
                None => said.hint(LONGER),
                Some([]) => said.hint(format!(
                    "it has said nothing on standard error; does it serve MCP over stdio? {LONGER}"
                )),
                Some(lines) => {
                    let lines = lines.join("\n    ");
                    said.hint(format!(
                        "{LONGER}; it said last on standard error:\n    {lines}"
                    ))
                }
            }
        }
        _ => said.code(6),
    }
}

/// What to do about a server that does not let whoever asks, who has said so with these headers.
fn who_asks(code: u16, given: &[String]) -> String {
    let given = given.join(" and ");
    match code {
        _ if given.is_empty() => {
            "it wants to know who asks: --header 'Authorization: Bearer …'".to_owned()
        }
        403 => {
            format!("it refuses what was asked with the {given} that was given: may that do this?")
        }
        _ => {
            format!("it refuses the {given} that was given: is it expired, or for another server?")
        }
    }
}
