//! What an AI host is to be given: our own program over folders, or a server of somebody else's as it is named.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use polyport_config::{Entry, Found, Host, Places, Remote, Settings, Start, Way, Word};

use crate::configured::{self, Config};
use crate::failure::Failure;
use crate::program::{plain, program};
use crate::target::Target;
use crate::ui;
use crate::{naming, reaching};

/// What the command line says.
pub(super) struct What<'a> {
    pub(super) backends: &'a [OsString],
    pub(super) command: &'a [String],
    pub(super) env: &'a [(String, String)],
    pub(super) headers: &'a [(String, String)],
    pub(super) write: bool,
    pub(super) config: &'a Config,
}

impl What<'_> {
    /// The entry for it.
    ///
    /// # Errors
    /// It names nothing, or what cannot be one server.
    pub(super) fn entry(&self, places: &Places) -> Result<Entry<String>, Failure> {
        self.check_options()?;
        match (self.backends, self.command) {
            ([], []) => Err(Failure::usage("nothing to install")
                .hint("name a folder, or a command: polyport install HOST ./notes")),
            ([], [program, args @ ..]) => Ok(self.started(program, args)),
            (_, [_, ..]) => Err(Failure::usage("a back-end and a command are two servers")
                .hint("install one after the other")),
            ([one], []) => match self.elsewhere(one)? {
                // What our file says of it no host would hold to.
                Some(entry) if entry.settings != Settings::default() => self.joined(self.backends),
                Some(entry) => Ok(absolute(entry, places)),
                None => self.served(),
            },
            (several, []) => {
                let mut elsewhere = false;
                for word in several {
                    elsewhere |= self.elsewhere(word)?.is_some();
                }
                if elsewhere {
                    self.joined(several)
                } else {
                    self.served()
                }
            }
        }
    }

    /// That a host cannot have it, and what it can have in its place: our own program, which passes on what it says.
    pub(super) fn refused(&self, host: &Host, name: &str, why: &str) -> Failure {
        let failure = Failure::usage(format!("{} cannot have this server: {why}", host.name));
        let [word] = self.backends else {
            return failure;
        };
        let Ok(word) = reaching::word_for_hosts(self.config, word, "install") else {
            return failure;
        };
        let headers = self.headers.iter();
        let headers: String = headers
            .map(|(name, _)| format!(" --header '{name}: …'"))
            .collect();
        failure.hint(format!(
            "polyport can stand between: polyport install {} --name {} -- {} serve {}{headers}",
            host.id,
            ui::word(name),
            ui::path(&program()),
            ui::word(&word)
        ))
    }

    /// Options that would do nothing are a mistake: somebody believes that they did.
    fn check_options(&self) -> Result<(), Failure> {
        if !self.command.is_empty() && !self.headers.is_empty() {
            return Err(reaching::misplaced("--header", "a command", "a URL"));
        }
        if !self.command.is_empty() && self.write {
            return Err(reaching::misplaced("--write", "a command", "folders"));
        }
        Ok(())
    }

    /// A command, as it is.
    fn started(&self, program: &str, args: &[String]) -> Entry<String> {
        entry(
            naming::of(program, args, self.env),
            Way::Command(Start {
                program: program.to_owned(),
                args: args.to_vec(),
                env: self.env.to_vec(),
                cwd: None,
                env_file: None,
            }),
        )
    }

    /// Our own program over folders and the built-in server.
    fn served(&self) -> Result<Entry<String>, Failure> {
        if !self.headers.is_empty() {
            return Err(reaching::misplaced(
                "--header",
                "what Polyport serves itself",
                "a URL",
            ));
        }
        let mut args = vec!["serve".to_owned()];
        let mut name = String::new();
        let mut has_folder = false;
        for word in self.backends {
            let target = Target::parse(word)?;
            if name.is_empty() {
                name = target.name();
            }
            has_folder |= target.folder().is_some();
            args.push(target.word());
        }
        self.write_to(&mut args, has_folder);
        let start = Start {
            program: program().display().to_string(),
            args,
            env: self.env.to_vec(),
            cwd: None,
            env_file: None,
        };
        Ok(entry(&name, Way::Command(start)))
    }

    fn write_to(&self, args: &mut Vec<String>, has_folder: bool) {
        if self.write && !has_folder {
            ui::note("note: --write is for folders, and none is named\n");
        } else if self.write {
            args.push("--write".to_owned());
        }
    }

    /// Our own program over several servers, some of which are others'.
    fn joined(&self, words: &[OsString]) -> Result<Entry<String>, Failure> {
        let given = [
            ("-e", !self.env.is_empty()),
            ("--header", !self.headers.is_empty()),
        ];
        if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
            let why = format!("{option} does not say for which of several servers it is");
            return Err(Failure::usage(why)
                .hint("give each its own in a configuration, and name them: FILE.json:NAME"));
        }
        let mut args = vec!["serve".to_owned()];
        let (mut name, mut has_folder) = (String::new(), false);
        for word in words {
            let (called, text) = match self.elsewhere(word)? {
                Some(entry) => (
                    entry.name,
                    reaching::word_for_hosts(self.config, word, "install HOST")?,
                ),
                None => {
                    let target = Target::parse(word)?;
                    has_folder |= target.folder().is_some();
                    (target.name(), target.word())
                }
            };
            if name.is_empty() {
                name = called;
            }
            args.push(text);
        }
        self.write_to(&mut args, has_folder);
        let start = Start {
            program: program().display().to_string(),
            args,
            env: Vec::new(),
            cwd: None,
            env_file: None,
        };
        Ok(entry(&name, Way::Command(start)))
    }

    /// The server that a word names somewhere else; nothing, if it is something to serve.
    fn elsewhere(&self, word: &OsStr) -> Result<Option<Entry<String>>, Failure> {
        let found = match reaching::read(word)? {
            Word::Demo | Word::Folder(_) => return Ok(None),
            Word::Name(name) if Path::new(&name).exists() => return Ok(None),
            Word::Kind { .. } => return Ok(None),
            Word::Url(url) => {
                if !self.env.is_empty() {
                    return Err(reaching::misplaced("-e", "a URL", "a command"));
                }
                let host = url.split('/').nth(2).unwrap_or_default();
                let headers = self.headers.to_vec();
                let name = host.split(':').next().unwrap_or_default().to_owned();
                return Ok(Some(entry(
                    &name,
                    Way::Url(Remote {
                        url,
                        headers,
                        is_sse: None,
                    }),
                )));
            }
            Word::File { file, name } => configured::in_file(&file, &name)?,
            Word::Host { host, name } => configured::in_host(host, &name)?,
            Word::Name(name) => self.config.named(&name, "install HOST")?,
        };
        Ok(Some(self.copied(&found)?))
    }

    /// An entry of another configuration, its variables as they are.
    fn copied(&self, found: &Found) -> Result<Entry<String>, Failure> {
        let mut has_variables = false;
        let copied = found.entry.clone().try_map(|field, it| {
            has_variables |= it.text.contains("${") || it.text.contains("{env:");
            if field == "env_file" {
                return Err(Failure::usage(format!(
                    "{} has an env_file, which hosts read in ways of their own",
                    found.entry.name
                ))
                .hint("name its variables with -e NAME=VALUE, and leave the file out"));
            }
            Ok(it.text)
        })?;
        if has_variables {
            ui::note(
                "note: variables are copied as they are; each host fills them in by rules of its own\n",
            );
        }
        let mut entry = copied;
        match &entry.way {
            Way::Command(_) if !self.headers.is_empty() => {
                return Err(reaching::misplaced("--header", "a command", "a URL"));
            }
            Way::Url(_) if !self.env.is_empty() => {
                return Err(reaching::misplaced("-e", "a URL", "a command"));
            }
            _ => {}
        }
        match &mut entry.way {
            Way::Command(start) => {
                for (name, value) in self.env {
                    start.env.retain(|(known, _)| known != name);
                    start.env.push((name.clone(), value.clone()));
                }
                if let Some(cwd) = &mut start.cwd {
                    let folder = found.file.parent().unwrap_or_else(|| Path::new(""));
                    let path = folder.join(&*cwd);
                    *cwd = std::path::absolute(&path)
                        .unwrap_or(path)
                        .display()
                        .to_string();
                }
            }
            Way::Url(remote) => remote.headers.extend(self.headers.iter().cloned()),
        }
        Ok(entry)
    }
}

/// Hosts start servers in folders of their own.
fn absolute(mut entry: Entry<String>, places: &Places) -> Entry<String> {
    if let Way::Command(start) = &mut entry.way
        && start.cwd.is_none()
        && start.program.starts_with('.')
    {
        let path = places.project.join(&start.program);
        let path = std::path::absolute(&path).unwrap_or(path);
        start.program = path.display().to_string();
    }
    entry
}

fn entry(name: &str, way: Way<String>) -> Entry<String> {
    Entry {
        name: plain(name),
        line: 0,
        enabled: true,
        bare: false,
        way,
        settings: Settings::default(),
        doubts: Vec::new(),
    }
}

/// Names that mean something to a shell, a URL or a path are nobody's.
///
/// # Errors
/// The name is one of those, or none that the host takes.
pub(super) fn check_name(name: &str, host: &Host) -> Result<(), Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.chars().all(plain) && name.len() <= 64 {
        if host.takes_dots || !name.contains('.') {
            return Ok(());
        }
        let why = format!("{} takes no name with a dot in it, as {name}", host.name);
        return Err(Failure::usage(why).hint(format!("--name {}", name.replace('.', "-"))));
    }
    Err(
        Failure::usage(format!("{:?} is no name for a server", ui::visible(name)))
            .hint("letters, digits, and _ - . after the first, at most 64: --name notes"),
    )
}

/// The exact words that a host will start, each by itself, and the names of variables.
pub(super) fn starts(entry: &Entry<String>) -> Vec<String> {
    match &entry.way {
        Way::Command(start) => {
            let words = std::iter::once(&start.program).chain(&start.args);
            let mut lines: Vec<String> = words.map(|word| exact(word)).collect();
            let names = start
                .env
                .iter()
                .map(|(name, _)| format!("with {}", ui::visible(name)));
            lines.extend(names);
            lines
        }
        Way::Url(_) => Vec::new(),
    }
}

/// A word on one line.
fn exact(word: &str) -> String {
    let shown = ui::visible(word).replace('\n', "\\n").replace('\t', "\\t");
    if shown.is_empty() {
        "''".to_owned()
    } else {
        shown
    }
}
