//! What stands behind the endpoint: what Polyport serves itself, and servers of others, as the command line names them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use polyport::Command;
use polyport_config::{Settings, Word, mask};
use polyport_gateway::Upstream;

use super::entry::absolute;
use super::reload::Reload;
use crate::configured;
use crate::failure::Failure;
use crate::reach::Reached;
use crate::reaching::Reaching;
use crate::target::Target;
use crate::upstream::{ruled, way};
use crate::{naming, program, reaching, ui};

/// What was named, each thing once.
#[derive(Debug, Default)]
pub(super) struct Behind {
    /// What we serve.
    pub(super) targets: Vec<Target>,
    /// Before so many of the others.
    pub(super) at: usize,
    /// Servers of others.
    pub(super) others: Vec<Other>,
    /// How a host names the same.
    pub(super) words: Vec<String>,
    /// The command, which stands after all options.
    pub(super) command: Vec<String>,
    /// Where they stand, if they may change.
    pub(super) reload: Option<Reload>,
}

/// A server of somebody else.
#[derive(Debug)]
pub(super) struct Other {
    pub(super) name: String,
    /// How it is reached, in a word.
    pub(super) kind: &'static str,
    /// As it is shown.
    pub(super) shown: String,
    /// What means it everywhere; empty where nothing does.
    text: String,
    reached: Reached,
    /// What a configuration says of it.
    settings: Settings,
}

impl Behind {
    /// Reads the words, and the command after `--`.
    ///
    /// # Errors
    /// One of them is nothing that can be served.
    pub(super) fn read(
        words: &[OsString],
        command: &[OsString],
        reaching: &Reaching,
        may_change: bool,
    ) -> Result<Self, Failure> {
        let mut behind = Self::default();
        for word in words {
            behind.add(word, reaching)?;
        }
        let whole = whole(words, command, reaching)?;
        match &whole {
            Some(file) if may_change => behind.add_changing(file, reaching)?,
            Some(file) => behind.add_all(file, reaching)?,
            None if may_change => {
                return Err(Failure::usage("--reload does nothing for what a command line names")
                    .hint("it is for all servers of a configuration: polyport serve --config FILE --reload"));
            }
            None => {}
        }
        if let Some((program, arguments)) = command.split_first() {
            behind.start(program, arguments, reaching)?;
        }
        if behind.targets.is_empty() && behind.others.is_empty() {
            return Err(Failure::usage("nothing to serve is named").hint(
                "name demo, a folder, a URL, FILE.json:NAME, or a command: polyport serve -- npx -y some-server",
            ));
        }
        let reached = behind.others.iter().map(|other| &other.reached);
        let is_configured =
            whole.is_some() || words.iter().any(|word| is_configured(named(word).1));
        reaching.check_options(reached, is_configured)?;
        if behind.targets.contains(&Target::Demo) && Path::new("demo").is_dir() {
            ui::say("note: demo is the built-in server; for the folder of that name say ./demo\n");
        }
        Ok(behind)
    }

    fn add(&mut self, whole: &OsStr, reaching: &Reaching) -> Result<(), Failure> {
        let (name, word) = named(whole);
        let again = || {
            let shown = ui::path(Path::new(&mask::text(&word.to_string_lossy())));
            ui::say(&format!(
                "note: {shown} is named more than once; it is served once\n"
            ));
        };
        let reached = match reaching::read(word)? {
            Word::Demo => Reached::Inside(Target::Demo),
            _ => reaching.reach(word, "serve")?,
        };
        let text = match &reached {
            Reached::Inside(_) if name.is_some() => {
                let word = ui::path(Path::new(word));
                let why = format!("{word} is served here, and has its own name");
                return Err(Failure::usage(why).hint("NAME:=SERVER names servers of others"));
            }
            Reached::Inside(target) => {
                if self.targets.iter().any(|other| other.is_same(target)) {
                    again();
                    return Ok(());
                }
                if self.targets.is_empty() {
                    self.at = self.others.len();
                }
                self.words.push(target.word());
                self.targets.push(target.clone());
                return Ok(());
            }
            Reached::Command(_) | Reached::Remote(_) => reaching.word_for_hosts(word)?,
        };
        if self.others.iter().any(|other| other.text == text) {
            again();
            return Ok(());
        }
        let mut other = Other::new(
            name.map_or_else(|| name_of(word, &reached), str::to_owned),
            mask::text(&word.to_string_lossy()),
            text.clone(),
            reached,
        );
        other.settings = reaching.settings(word, "serve")?;
        let text = mask::text(&text);
        self.words.push(match name {
            Some(name) => format!("{name}:={text}"),
            None => text,
        });
        self.others.push(other);
        Ok(())
    }

    /// All servers of a file.
    fn add_all(&mut self, file: &Path, reaching: &Reaching) -> Result<(), Failure> {
        for found in configured::enabled_in(file)? {
            let name = program::plain(&found.entry.name);
            let reached = reaching.configured(&found, "serve")?;
            let shown = found.entry.name.clone();
            let mut other = Other::new(name, shown, String::new(), reached);
            other.settings = found.entry.settings;
            self.others.push(other);
        }
        self.named_by(file)
    }

    /// The same, which may change.
    fn add_changing(&mut self, file: &Path, reaching: &Reaching) -> Result<(), Failure> {
        let reload = Reload::new(file, reaching)?;
        for served in &reload.served {
            let (name, shown) = (program::plain(served.name()), served.name().to_owned());
            let reached = served.reached.clone();
            self.others
                .push(Other::new(name, shown, String::new(), reached));
        }
        self.reload = Some(reload);
        self.named_by(file)
    }

    /// A host names the file.
    fn named_by(&mut self, file: &Path) -> Result<(), Failure> {
        if self.others.is_empty() {
            let why = format!("{} has no servers that are switched on", ui::path(file));
            return Err(Failure::usage(why).hint("name another file, or a server"));
        }
        let path = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        self.words
            .extend(["--config".to_owned(), path.display().to_string()]);
        Ok(())
    }

    fn start(
        &mut self,
        program: &OsStr,
        arguments: &[OsString],
        reaching: &Reaching,
    ) -> Result<(), Failure> {
        if program.is_empty() {
            return Err(Failure::usage("the command after -- is empty"));
        }
        let reached = Reached::Command(reaching.told(Command::new(program).args(arguments))?);
        let lossy = |word: &OsString| word.to_string_lossy().into_owned();
        let arguments: Vec<String> = arguments.iter().map(lossy).collect();
        let program = program.to_string_lossy().into_owned();
        let name = program::plain(naming::of(&program, &arguments, &[]));
        let arguments = mask::args(arguments.iter().map(String::as_str));
        let shown = format!("{program} {}", arguments.join(" "));
        let shown = shown.trim_end().to_owned();
        self.others
            .push(Other::new(name, shown, String::new(), reached));
        self.command.push("--".to_owned());
        self.command.push(absolute(&program));
        self.command.extend(arguments);
        Ok(())
    }
}

impl Other {
    fn new(name: String, shown: String, text: String, reached: Reached) -> Self {
        let kind = match &reached {
            Reached::Remote(remote) if remote.url.starts_with("ws") => "ws",
            Reached::Remote(_) => "http",
            Reached::Command(_) | Reached::Inside(_) => "stdio",
        };
        Self {
            name,
            kind,
            shown,
            text,
            reached,
            settings: Settings::default(),
        }
    }

    /// It behind a gateway, as its configuration says.
    ///
    /// # Errors
    /// There is no way to it.
    pub(super) fn upstream(self) -> Result<Upstream, Failure> {
        let connect = way(self.reached, &self.settings)?;
        ruled(Upstream::new(self.name, connect), &self.settings)
    }
}

/// The file all of whose servers are meant: where nothing else is named, the one that is, or the nearest of our own.
fn whole(
    words: &[OsString],
    command: &[OsString],
    reaching: &Reaching,
) -> Result<Option<PathBuf>, Failure> {
    if !words.is_empty() || !command.is_empty() {
        return Ok(None);
    }
    let nearest = reaching.nearest()?;
    if let Some(file) = nearest.as_ref().filter(|_| reaching.file().is_none()) {
        let file = ui::path(file);
        ui::note(&format!(
            "note: nothing is named; all servers of {file} are served\n"
        ));
    }
    Ok(nearest)
}

/// `NAME:=SERVER` says how its tools are told from others'.
fn named(word: &OsStr) -> (Option<&str>, &OsStr) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let parts = word.to_str().and_then(|word| word.split_once(":="));
    match parts {
        Some((name, server)) if !name.is_empty() && name.chars().all(plain) => {
            (Some(name), OsStr::new(server))
        }
        _ => (None, word),
    }
}

fn is_configured(word: &OsStr) -> bool {
    matches!(
        Word::read(word),
        Ok(Word::Name(_) | Word::File { .. } | Word::Host { .. })
    )
}

/// What a server is called that nobody has named.
fn name_of(word: &OsStr, reached: &Reached) -> String {
    match (Word::read(word), reached) {
        (Ok(Word::File { name, .. } | Word::Host { name, .. } | Word::Name(name)), _) => {
            program::plain(&name)
        }
        (_, Reached::Remote(remote)) => program::plain(&naming::of_url(&remote.url)),
        _ => program::plain(&word.to_string_lossy()),
    }
}
