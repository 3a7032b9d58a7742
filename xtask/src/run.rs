//! Runs other programs: bounded in time, as a process group that is gone afterwards, output in a log. Judges no output.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often a running program is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What a finished program left.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Exit status 0 and in time.
    pub(crate) ok: bool,
    /// `exit 1`, `killed by signal 9`, `still running after 60 s`.
    pub(crate) how: String,
    /// Standard output and error, as they came.
    pub(crate) output: String,
    /// Where the output is kept.
    pub(crate) log: PathBuf,
}

impl Finished {
    /// The last lines, for a person who wants to know why it failed.
    pub(crate) fn tail(&self, lines: usize) -> String {
        let all: Vec<&str> = self.output.lines().collect();
        let from = all.len().saturating_sub(lines);
        all[from..].join("\n")
    }

    /// One sentence and the end of the output.
    pub(crate) fn complaint(&self, what: &str) -> String {
        let log = self.log.display();
        format!("{what}: {} (whole log: {log})\n{}", self.how, self.tail(40))
    }
}

/// A program that is killed with everything it started when this is dropped.
#[derive(Debug)]
pub(crate) struct Group {
    child: Child,
}

impl Group {
    /// Starts `command` as the leader of a process group of its own.
    pub(crate) fn spawn(command: &mut Command) -> Result<Self, String> {
        command.process_group(0);
        let child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy().into_owned();
            format!("cannot start {program}: {error}")
        })?;
        Ok(Self { child })
    }

    /// The program itself, for its pipes.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for the end, at most `limit`.
    pub(crate) fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + limit;
        loop {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            if Instant::now() >= until {
                return None;
            }
            thread::sleep(LOOK);
        }
    }

    /// Sends a signal (`TERM`, `KILL`) to the whole group.
    pub(crate) fn signal(&self, name: &str) {
        let _ = Command::new("kill")
            .arg(format!("-{name}"))
            .arg("--")
            .arg(format!("-{}", self.child.id()))
            .stderr(Stdio::null())
            .status();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal("KILL");
        let _ = self.child.wait();
    }
}

/// A command with no input and plain output.
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_PROGRESS_WHEN", "never")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

/// `cargo` of the toolchain that runs us.
pub(crate) fn cargo(folder: &Path) -> Command {
    command(
        std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        folder,
    )
}

/// Runs to the end or to `limit`; standard output and error go to `log`, in the order they came.
pub(crate) fn logged(
    command: &mut Command,
    log: &Path,
    limit: Duration,
) -> Result<Finished, String> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    let file =
        File::create(log).map_err(|error| format!("cannot write {}: {error}", log.display()))?;
    let twin = file
        .try_clone()
        .map_err(|error| format!("cannot write {}: {error}", log.display()))?;
    let mut group = Group::spawn(command.stdout(file).stderr(twin))?;
    let status = group.wait(limit);
    drop(group);
    let mut bytes = Vec::new();
    File::open(log)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|error| format!("cannot read {}: {error}", log.display()))?;
    Ok(Finished {
        ok: status.is_some_and(|status| status.success()),
        how: describe(status, limit),
        output: String::from_utf8_lossy(&bytes).into_owned(),
        log: log.to_path_buf(),
    })
}

/// Standard output of a command that is quick and has to work.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let done = command
        .output()
        .map_err(|error| format!("cannot start {shown}: {error}"))?;
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr);
        return Err(format!("{shown}: {}\n{text}", done.status));
    }
    String::from_utf8(done.stdout).map_err(|_| format!("{shown}: its output is not UTF-8"))
}

/// Where cargo puts what it builds.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// The platform that the compiler builds for by itself.
pub(crate) fn host_triple() -> Result<String, String> {
    let text = output(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc -vV names no host".to_owned())
}

/// The first line a program prints about its version, if it is there and runs.
pub(crate) fn version(program: impl AsRef<OsStr>, argument: &str) -> Option<String> {
    let done = Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let line = text.lines().next()?.trim().to_owned();
    done.status.success().then_some(line)
}

fn describe(status: Option<ExitStatus>, limit: Duration) -> String {
    match status {
        None => format!("still running after {} s, killed", limit.as_secs()),
        Some(status) => status.to_string(),
    }
}
