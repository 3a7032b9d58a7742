//! A server that runs as our child: started in a process group of its own, with little of our environment, its standard error kept,
//! and ended as basic/transports/stdio (Shutdown) says: its input closed, then SIGTERM, then SIGKILL, to the whole group.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{self, ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// What a child gets of our own environment unless more is said. Secrets are somewhere else.
const PASSED: &[&str] = &[
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
];
/// Lines of standard error that are kept.
const LINES: usize = 20;
/// Bytes that are kept of one of them; the rest of a longer one is left out.
const LINE: usize = 1_024;
/// What waits for a child at each of the three steps of its end.
const GRACE: Duration = Duration::from_secs(2);

/// How a child is started.
#[derive(Clone)]
pub struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
    inherits: bool,
}

impl Command {
    /// A program, found as a shell would find it.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            folder: None,
            inherits: false,
        }
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let more = arguments.into_iter().map(|a| a.as_ref().to_owned());
        self.arguments.extend(more);
        self
    }

    /// One more variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let pair = (name.as_ref().to_owned(), value.as_ref().to_owned());
        self.environment.push(pair);
        self
    }

    /// Where it works. Default: where we do.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Gives it all of our environment, secrets included. Default: a short list, such as `PATH` and `HOME`.
    #[must_use]
    pub fn inherit_environment(mut self) -> Self {
        self.inherits = true;
        self
    }

    /// The program, as it was named.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Starts it.
    ///
    /// # Errors
    /// There is no such program, or it cannot be run.
    pub fn start(&self) -> io::Result<(Child, ChildStdout, ChildStdin)> {
        let mut command = process::Command::new(&self.program);
        command.args(&self.arguments);
        if !self.inherits {
            command.env_clear();
            let passed = PASSED
                .iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?)));
            command.envs(passed);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = pipes else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let group = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let said = Said::default();
        let draining = tokio::spawn(drain(errors, said.clone()));
        let child = Child {
            child,
            group,
            said,
            draining,
        };
        Ok((child, output, input))
    }
}

impl fmt::Debug for Command {
    /// Arguments and variables may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("arguments", &self.arguments.len())
            .finish_non_exhaustive()
    }
}

/// The newest lines of standard error.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<VecDeque<String>>>);

impl Said {
    fn push(&self, line: &[u8]) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(String::from_utf8_lossy(line).trim_end().to_owned());
    }

    fn lines(&self) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

/// Reads standard error to its end, so that a child which writes much is never held up.
async fn drain(errors: ChildStderr, said: Said) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut errors)
            .take(LINE as u64)
            .read_until(b'\n', &mut line)
            .await;
        if !matches!(read, Ok(n) if n > 0) {
            return;
        }
        said.push(&line);
        let mut is_whole = line.ends_with(b"\n");
        while !is_whole {
            let Ok(more @ [_, ..]) = errors.fill_buf().await else {
                return;
            };
            let end = more.iter().position(|&byte| byte == b'\n');
            let skipped = end.map_or(more.len(), |at| at + 1);
            is_whole = end.is_some();
            errors.consume(skipped);
        }
    }
}

/// A child that runs. Dropped, it is killed with its group at once; [`end`](Self::end) is kinder.
pub struct Child {
    child: process::Child,
    /// None once it has been reaped: its number may belong to another by then.
    group: Option<Pid>,
    said: Said,
    draining: JoinHandle<()>,
}

impl Child {
    /// The last lines that it has said on standard error, at most 20.
    pub fn said(&self) -> Vec<String> {
        self.said.lines()
    }

    /// Its process id, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits until it has ended by itself.
    ///
    /// # Errors
    /// The system does not say.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.end_group();
        // What it has said last may still be in the pipe; a grandchild may hold that open for ever.
        let _ = timeout(Duration::from_millis(200), &mut self.draining).await;
        Ok(status)
    }

    /// Ends it, once its input is closed: waits, then SIGTERM, then SIGKILL, 2 seconds each, to all of its group. None: it cannot
    /// be said how it ended.
    pub async fn end(self) -> Option<ExitStatus> {
        self.end_within(GRACE).await
    }

    /// The same with another time for each step.
    pub async fn end_within(mut self, grace: Duration) -> Option<ExitStatus> {
        for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
            if let (Some(group), Some(signal)) = (self.group, signal) {
                let _ = kill_process_group(group, signal);
            }
            if let Ok(status) = timeout(grace, self.wait()).await {
                return status.ok();
            }
        }
        None
    }

    /// What it has left behind in its group ends with it.
    fn end_group(&mut self) {
        if let Some(group) = self.group.take() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end_group();
        self.draining.abort();
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
