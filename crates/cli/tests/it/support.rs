//! The program in a folder made for one test, terminals, and the comparison with golden files.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use polyport::Revision;
use polyport_testkit::Program;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_polyport");

/// Variables that say where configurations stand.
const ELSEWHERE: &[&str] = &[
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "CODEX_HOME",
    "CLAUDE_CONFIG_DIR",
];

/// A folder with a few files in it, in which the program is started.
pub(crate) struct Place {
    outside: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let outside = TempDir::with_prefix("polyport-cli").unwrap();
        let place = Self { outside };
        for (name, text) in [
            ("notes/a.md", "# A\nalpha\n"),
            ("notes/b/c.txt", "beta\ngamma\n"),
            ("other/notes/d.txt", "delta\n"),
            ("file.txt", "outside\n"),
        ] {
            place.write(name, text);
        }
        place
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.outside.path()).unwrap().join(name)
    }

    /// `polyport` with these words, on no input.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(BINARY);
        command.args(words).current_dir(self.path(""));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.env_remove("COLUMNS").env("NO_COLOR", "1");
        command.env("XDG_CACHE_HOME", self.path("cache"));
        // What the person who runs the tests has configured is none of theirs.
        command.env("HOME", self.path("home"));
        for name in ELSEWHERE {
            command.env_remove(name);
        }
        command
    }

    /// `polyport serve` with these words, as a host starts it.
    pub(crate) fn host(&self, words: &[&str]) -> Program {
        self.host_in(words, Revision::LATEST_LEGACY)
    }

    pub(crate) fn host_in(&self, words: &[&str], revision: Revision) -> Program {
        Program::start_in(&mut self.command(["serve"].iter().chain(words)), revision)
    }

    /// `polyport serve` with these words and standard input as `command` was told.
    pub(crate) fn listener(&self, words: &[&str], stdin: impl Into<Stdio>) -> Program {
        let mut command = self.command(["serve"].iter().chain(words));
        command.stdin(stdin);
        Program::spawn(&mut command, Revision::LATEST_LEGACY, |child| {
            Box::new(child.stdout.take().unwrap())
        })
    }

    /// What differs from run to run, by a name.
    pub(crate) fn plain(&self, text: &str) -> String {
        let here = self.path("");
        text.replace(BINARY, "<polyport>")
            .replace(here.to_str().unwrap().trim_end_matches('/'), "<here>")
            .replace(env!("CARGO_PKG_VERSION"), "<version>")
    }
}

/// What a program said, and how it ended.
pub(crate) fn said(output: &Output) -> String {
    let mut text = String::new();
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            let said = String::from_utf8_lossy(bytes);
            text += &format!("-- {name}\n{}\n", said.trim_end());
        }
    }
    text + &format!("-- exit {}\n", output.status.code().unwrap())
}

/// The number after each `mark`, by a name.
pub(crate) fn unnumbered(text: &str, mark: &str, name: &str) -> String {
    let mut pieces = text.split(mark);
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',');
        let name = if rest.len() == piece.len() { "" } else { name };
        plain += &format!("{mark}{name}{rest}");
    }
    plain
}

/// Compares with a file in `golden/`.
pub(crate) fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    let want = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == want,
        "{} is not what was printed (UPDATE_GOLDEN=1 writes it anew):\n{text}",
        path.display()
    );
}

/// A terminal: our end and the program's.
pub(crate) fn terminal() -> (OwnedFd, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let theirs = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
    (ours, theirs)
}

/// The command line that does `verb` with a script; `more` follows where the server ends.
pub(crate) fn with_script<'a>(
    verb: &[&'a str],
    script: &'a [String; 3],
    more: &[&'a str],
) -> Vec<&'a str> {
    let mut words = verb.to_vec();
    words.extend(["--"]);
    words.extend(script.iter().map(String::as_str));
    if !more.is_empty() {
        words.push("--");
        words.extend(more);
    }
    words
}

/// What stands on a terminal at the end of a command, and its exit code; `typed` is what somebody types there.
pub(crate) fn on_terminal(mut command: Command, typed: &str) -> (String, Option<i32>) {
    let (ours, theirs) = terminal();
    command.stdout(theirs.try_clone().unwrap());
    command.stderr(theirs.try_clone().unwrap());
    if typed.is_empty() {
        drop(theirs);
    } else {
        command.stdin(theirs);
        rustix::io::write(&ours, typed.as_bytes()).unwrap();
    }
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    // The end of a terminal is an error.
    let _ = File::from(ours).read_to_end(&mut shown);
    let shown = String::from_utf8(shown).unwrap().replace("\r\n", "\n");
    (shown, child.wait().unwrap().code())
}
