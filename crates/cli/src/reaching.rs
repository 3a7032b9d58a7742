//! What the command line says of how servers are started and reached, and what the words mean that name them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use polyport::Command;
use polyport_config::{Entry, Expanded, Found, HOSTS, Settings, Way, Word, nearest, own};

use crate::configured::{self, Config, wrong};
use crate::failure::Failure;
use crate::reach::Reached;
use crate::remote::Remote;
use crate::target::Target;
use crate::{secrets, ui, values};

/// How servers are started and reached.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Reaching {
    /// One variable of the command's environment
    #[arg(short, long = "env", value_name = "NAME=VALUE", value_parser = values::variable)]
    env: Vec<(String, String)>,
    /// Where the command works
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// Give the command all of this environment, secrets included
    #[arg(long)]
    inherit_env: bool,
    /// Sent with each request to a URL (repeatable)
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = values::header)]
    headers: Vec<(String, String)>,
    #[command(flatten)]
    config: Config,
}

impl Reaching {
    /// Options that would do nothing are a mistake: somebody believes that they did. One that would tell several servers what is meant
    /// for one is none better.
    ///
    /// # Errors
    /// There is such an option.
    pub(crate) fn check_options<'a>(
        &self,
        reached: impl IntoIterator<Item = &'a Reached>,
        is_configured: bool,
    ) -> Result<(), Failure> {
        let of_command = [
            ("-e", !self.env.is_empty()),
            ("--cwd", self.cwd.is_some()),
            ("--inherit-env", self.inherit_env),
            ("--env-file", self.config.has_variables() && !is_configured),
        ];
        let of_command = of_command.iter().find(|(_, is_given)| *is_given);
        let (mut commands, mut remotes, mut beside) = (0, 0, "what Polyport serves itself");
        for reached in reached {
            match reached {
                Reached::Inside(_) => {}
                Reached::Command(_) => (commands, beside) = (commands + 1, "a command"),
                Reached::Remote(_) => (remotes, beside) = (remotes + 1, "a URL"),
            }
        }
        let own = "give each its own in a configuration, and name them: FILE.json:NAME";
        match (of_command, commands) {
            (None, _) | (_, 1) => {}
            (Some((option, _)), 0) => return Err(misplaced(option, beside, "a command")),
            (Some(("-e" | "--cwd", _)), n) => {
                let option = of_command.map_or("-e", |(option, _)| option);
                let why = format!("{option} would be said to {n} commands");
                return Err(Failure::usage(why).hint(own));
            }
            _ => {}
        }
        match remotes {
            _ if self.headers.is_empty() => Ok(()),
            0 => Err(misplaced("--header", beside, "a URL")),
            1 => Ok(()),
            n => Err(Failure::usage(format!("--header would be sent to {n} URLs")).hint(own)),
        }
    }

    /// What a configuration says of the server that a word names there, beside the way to it.
    ///
    /// # Errors
    /// There is no such server.
    pub(crate) fn settings(&self, word: &OsStr, verb: &str) -> Result<Settings, Failure> {
        let found = match read(word)? {
            Word::File { file, name } => configured::in_file(&file, &name)?,
            Word::Host { host, name } => configured::in_host(host, &name)?,
            Word::Name(name) if !Path::new(&name).exists() || self.config.file().is_some() => {
                self.config.named(&name, verb)?
            }
            _ => return Ok(Settings::default()),
        };
        Ok(found.entry.settings)
    }

    /// What a word means.
    ///
    /// # Errors
    /// Nothing that there is.
    pub(crate) fn reach(&self, word: &OsStr, verb: &str) -> Result<Reached, Failure> {
        match read(word)? {
            Word::Demo => {
                if Path::new("demo").is_dir() {
                    ui::note(
                        "note: demo is the built-in server; for the folder of that name say ./demo\n",
                    );
                }
                Ok(Reached::Inside(Target::Demo))
            }
            Word::Url(url) => Ok(Reached::Remote(self.remote(url, Vec::new(), false))),
            Word::File { file, name } => self.configured(&configured::in_file(&file, &name)?, verb),
            Word::Host { host, name } => self.configured(&configured::in_host(host, &name)?, verb),
            Word::Folder(path) => Target::folder_at(path.as_os_str()).map(Reached::Inside),
            Word::Kind { kind, word } if !Path::new(&word).is_dir() => {
                let hosts = HOSTS.iter().map(|host| host.id);
                let hint = match (nearest(&kind, hosts), word.split_once(':')) {
                    (Some(host), Some((_, ""))) => format!("did you mean {host}:NAME?"),
                    (Some(host), Some((_, name))) => format!("did you mean {host}:{name}?"),
                    _ => format!(
                        "name demo, a folder, a URL, FILE.json:NAME, or a command: polyport {verb} -- npx -y some-server"
                    ),
                };
                let why = format!("{kind}: is no kind of server that is known");
                Err(Failure::usage(why).hint(hint))
            }
            Word::Kind { word, .. } => Target::folder_at(OsStr::new(&word)).map(Reached::Inside),
            Word::Name(name) => {
                if Path::new(&name).exists() && self.config.file().is_none() {
                    let target = Target::folder_at(OsStr::new(&name))?;
                    if let Some(file) = self.config.knows(&name) {
                        let file = ui::path(&file);
                        ui::note(&format!(
                            "note: {name} is the folder; for the server of that name say {file}:{name}\n"
                        ));
                    }
                    return Ok(Reached::Inside(target));
                }
                self.configured(&self.config.named(&name, verb)?, verb)
            }
        }
    }

    /// The server that a configuration names.
    ///
    /// # Errors
    /// Its variables cannot be filled in, or it is nothing that can be reached.
    pub(crate) fn configured(&self, found: &Found, verb: &str) -> Result<Reached, Failure> {
        // The doctor has checks for these.
        if verb != "doctor" {
            configured::tell_doubts(found);
        }
        self.reached(found, self.expanded(found)?)
    }

    /// Its entry with its variables filled in.
    ///
    /// # Errors
    /// One cannot be.
    pub(crate) fn expanded(&self, found: &Found) -> Result<Entry<Expanded>, Failure> {
        self.config.expanded(found).map_err(|fault| wrong(&fault))
    }

    /// Files with variables for these servers: their own, and the one that the command line names.
    pub(crate) fn variable_files(&self, found: &[Found]) -> Vec<PathBuf> {
        self.config.variable_files(found)
    }

    /// The server that such an entry says.
    ///
    /// # Errors
    /// It is nothing that can be reached.
    pub(crate) fn reached(
        &self,
        found: &Found,
        entry: Entry<Expanded>,
    ) -> Result<Reached, Failure> {
        let pairs = |pairs: Vec<(String, Expanded)>| {
            let plain = pairs.into_iter().map(|(name, value)| {
                if value.shown != value.text {
                    secrets::keep(&value.text);
                }
                (name, value.text)
            });
            plain.collect::<Vec<_>>()
        };
        match entry.way {
            Way::Command(start) => {
                let mut command = Command::new(&start.program.text);
                command = command.args(start.args.iter().map(|argument| &argument.text));
                for (name, value) in pairs(start.env) {
                    command = command.env(name, value);
                }
                if let Some(folder) = start.cwd {
                    command = command.folder(folder.text);
                }
                self.told(command).map(Reached::Command)
            }
            Way::Url(remote) => match read(OsStr::new(&remote.url.text))? {
                Word::Url(url) => {
                    let remote =
                        self.remote(url, pairs(remote.headers), remote.is_sse == Some(true));
                    Ok(Reached::Remote(remote))
                }
                _ => Err(Failure::usage(format!(
                    "{}:{}: {}.url is no address",
                    found.file.display(),
                    found.entry.line,
                    found.entry.name
                ))
                .hint("write it as in https://mcp.example.com/mcp")),
            },
        }
    }

    /// A command with what the command line says of it.
    ///
    /// # Errors
    /// A file of variables cannot be read.
    pub(crate) fn told(&self, mut command: Command) -> Result<Command, Failure> {
        for (name, value) in self.config.variables().map_err(|fault| wrong(&fault))? {
            let is_given = command.variables().iter().any(|(known, _)| *known == *name);
            if !is_given {
                command = command.env(name, value);
            }
        }
        for (name, value) in &self.env {
            command = command.env(name, value);
        }
        for (name, value) in command.variables() {
            if let (Some(name), Some(value)) = (name.to_str(), value.to_str()) {
                secrets::variable(name, value);
            }
        }
        let arguments = command.arguments().iter();
        let arguments: Vec<_> = arguments.map(|it| it.to_string_lossy()).collect();
        secrets::arguments(&arguments.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        if self.inherit_env {
            for (name, value) in std::env::vars_os() {
                if let (Some(name), Some(value)) = (name.to_str(), value.to_str()) {
                    secrets::variable(name, value);
                }
            }
        }
        if ui::verbose() > 0 && !ui::is_document() {
            command = command.heard_by(|line| {
                ui::clear_status();
                ui::line(&format!("server| {}", secrets::hidden(line)));
            });
        }
        if let Some(folder) = &self.cwd {
            command = command.folder(folder);
        }
        if self.inherit_env {
            command = command.inherit_environment();
        }
        Ok(command)
    }

    /// An address with what the command line says of it.
    fn remote(&self, url: String, mut headers: Vec<(String, String)>, is_sse: bool) -> Remote {
        for (name, value) in &self.headers {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            headers.push((name.clone(), value.clone()));
        }
        secrets::address(&url);
        for (name, value) in &headers {
            secrets::header(name, value);
        }
        Remote {
            url,
            headers,
            is_sse,
        }
    }

    /// The word for a server of somebody else that means the same wherever it is read.
    ///
    /// # Errors
    /// There is no such server.
    pub(crate) fn word_for_hosts(&self, word: &OsStr) -> Result<String, Failure> {
        word_for_hosts(&self.config, word, "serve")
    }

    /// The file all of whose servers are meant where none is named: the one that is, or the nearest of our own.
    ///
    /// # Errors
    /// The working folder is gone.
    pub(crate) fn nearest(&self) -> Result<Option<PathBuf>, Failure> {
        match self.file() {
            Some(file) => Ok(Some(file.to_owned())),
            None => Ok(own::files(&configured::places()?).into_iter().next()),
        }
    }

    /// The file that was named for the names of servers.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.config.file()
    }

    /// The same as options of a command line that stands in a file: of secrets, only where they belong.
    pub(crate) fn written(&self) -> Vec<String> {
        let mut options = Vec::new();
        for (name, _) in &self.env {
            options.extend(["-e".to_owned(), format!("{name}=…")]);
        }
        if let Some(folder) = &self.cwd {
            let path = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
            options.extend(["--cwd".to_owned(), path.display().to_string()]);
        }
        if self.inherit_env {
            options.push("--inherit-env".to_owned());
        }
        for (name, _) in &self.headers {
            options.extend(["--header".to_owned(), format!("{name}: …")]);
        }
        options.extend(self.config.written());
        options
    }

    /// The same as options of a command line, quoted for a shell. Variables may be secrets: they are taken from the shell.
    pub(crate) fn typed(&self) -> Vec<String> {
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
        for (name, _) in &self.headers {
            options.extend(["--header".to_owned(), format!("'{name}: …'")]);
        }
        options.extend(self.config.typed());
        options
    }
}

/// An option that does nothing for what it stands beside.
pub(crate) fn misplaced(option: &str, beside: &str, place: &str) -> Failure {
    Failure::usage(format!("{option} does nothing for {beside}"))
        .hint(format!("it is for {place}; leave it out"))
}

/// Reads a word.
///
/// # Errors
/// It cannot be meant.
pub(crate) fn read(word: &OsStr) -> Result<Word, Failure> {
    let read = Word::read(word).map_err(|misfit| Failure::usage(misfit.why).hint(misfit.hint))?;
    if matches!(read, Word::Folder(_) | Word::Kind { .. })
        && !Path::new(word).exists()
        && let Some(failure) = configured::unnamed(word)
    {
        return Err(failure);
    }
    Ok(read)
}

/// The word for a server of somebody else that means the same wherever it is read.
///
/// # Errors
/// There is no such server.
pub(crate) fn word_for_hosts(config: &Config, word: &OsStr, verb: &str) -> Result<String, Failure> {
    let at = |file: &Path, name: &str| {
        let path = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        format!("{}:{name}", path.display())
    };
    Ok(match read(word)? {
        Word::Url(url) => url,
        Word::File { file, name } => at(&file, &name),
        Word::Name(name) => at(&config.named(&name, verb)?.file, &name),
        _ => word.to_string_lossy().into_owned(),
    })
}
