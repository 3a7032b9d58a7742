//! A server that runs as our child: started in a process group of its own, with little of our environment, its standard error kept,
//! and ended as basic/transports/stdio (Shutdown) says: its input closed, then SIGTERM, then SIGKILL, to the whole group.

mod output;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{self, ChildStderr, ChildStdin};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, timeout};

pub use output::Output;

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
/// How many programs have started each other, in the environment of each.
const DEPTH: &str = "POLYPORT_DEPTH";
/// So many at most: one that starts itself would have no end.
const DEEPEST: u32 = 5;
/// The steps: its input is closed before the first.
const STEPS: [Option<Signal>; 3] = [None, Some(Signal::TERM), Some(Signal::KILL)];
/// Longer than all of them.
const LONGEST: Duration = Duration::from_secs(7);

/// How a child is started.
#[derive(Clone)]
pub struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
    inherits: bool,
    hears: Option<Hears>,
}

/// Hears each line that a child says on standard error.
type Hears = Arc<dyn Fn(&str) + Send + Sync>;

impl Command {
    /// A program, found as a shell would find it.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            folder: None,
            inherits: false,
            hears: None,
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

    /// Gives each line that it says on standard error to `hears`, at once; of a long one the beginning. It is called where the lines
    /// are read: it must not wait.
    ///
    /// ```
    /// # use polyport_rt::Command;
    /// let command = Command::new("some-server").heard_by(|line| eprintln!("server| {line}"));
    /// ```
    #[must_use]
    pub fn heard_by(mut self, hears: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.hears = Some(Arc::new(hears));
        self
    }

    /// The program, as it was named.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Its arguments.
    pub fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    /// What its environment has besides; of one that stands twice the last one counts.
    pub fn variables(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// The folder that was said it works in.
    pub fn works_in(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Starts it.
    ///
    /// # Errors
    /// There is no such program, or it cannot be run.
    pub fn start(&self) -> io::Result<(Child, Output, ChildStdin)> {
        let depth = std::env::var(DEPTH).ok();
        let depth = depth.and_then(|depth| depth.parse().ok()).unwrap_or(0);
        if depth >= DEEPEST {
            let why = format!(
                "{DEEPEST} programs have started each other already: does a configuration name the program that reads it?"
            );
            return Err(io::Error::other(why));
        }
        let mut command = process::Command::new(&self.program);
        command.args(&self.arguments);
        if !self.inherits {
            command.env_clear();
            let passed = PASSED
                .iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?)));
            command.envs(passed);
        }
        command.env(DEPTH, (depth + 1).to_string());
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
        let mut child = command.spawn().map_err(|error| self.unstarted(error))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = pipes else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let group = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let said = Said::default();
        let draining = tokio::spawn(drain(errors, said.clone(), self.hears.clone()));
        let id = child.id();
        let group = Group::of(group, said.clone());
        let (ends, ended) = watch::channel(None);
        tokio::spawn(reap(child, group.clone(), ends));
        let output = Output::new(output, ended.clone());
        let child = Child {
            id,
            ended,
            group,
            said,
            draining,
        };
        Ok((child, output, input))
    }

    /// What the system says does not tell the program from its folder.
    fn unstarted(&self, error: io::Error) -> io::Error {
        match &self.folder {
            Some(folder) if !folder.is_dir() => {
                let folder = folder.display();
                let why = format!("there is no folder {folder} in which it could work");
                io::Error::new(io::ErrorKind::NotADirectory, why)
            }
            _ => error,
        }
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
    fn push(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    fn lines(&self) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

/// Reads standard error to its end, so that a child which writes much is never held up.
async fn drain(errors: ChildStderr, said: Said, hears: Option<Hears>) {
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
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if let Some(hears) = &hears {
            hears(&text);
        }
        said.push(text);
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

/// Waits for the end of a child, and ends what it has left behind in its group, which may hold its pipes open.
async fn reap(mut child: process::Child, group: Group, ends: watch::Sender<Option<End>>) {
    let status = child.wait().await.map_err(|error| error.kind());
    group.end();
    // Nobody may be waiting any more.
    let _ = ends.send(Some(status));
}

type End = Result<ExitStatus, io::ErrorKind>;

/// A process group.
#[derive(Clone)]
struct Group(Arc<About>);

struct About {
    /// None once it has been reaped: its number may belong to another by then.
    leader: Mutex<Option<Pid>>,
    begun: Instant,
    said: Said,
}

/// The groups of all children of this process.
static GROUPS: Mutex<Vec<Weak<About>>> = Mutex::new(Vec::new());

/// A program that runs.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Running {
    /// For how long.
    pub time: Duration,
    /// The last lines that it has said on standard error, at most 20.
    pub said: Vec<String>,
}

/// The child of this process that has run longest.
pub fn running() -> Option<Running> {
    groups()
        .find(|group| !group.is_over())
        .map(|group| group.running())
}

/// Ends all children of this process, and all that they have started in their groups, at once: for a process that ends itself without
/// dropping what it holds.
pub fn kill_all() {
    for group in groups() {
        group.end();
    }
}

/// Waits until no child of this process is left, 7 seconds at most: for a program that ends, while those that it has dropped are being
/// ended.
pub async fn none_left() {
    let _ = timeout(LONGEST, over()).await;
}

/// The same where there is less time: half of it is for what hears that its input has ended, the other half for what hears SIGTERM; then
/// all are killed.
pub async fn none_left_within(time: Duration) {
    if timeout(time / 2, over()).await.is_ok() {
        return;
    }
    for group in groups() {
        group.signal(Signal::TERM);
    }
    if timeout(time / 2, over()).await.is_err() {
        kill_all();
    }
}

async fn over() {
    loop {
        let ended = ENDED.notified();
        if groups().all(|group| group.is_over()) {
            return;
        }
        ended.await;
    }
}

fn groups() -> impl Iterator<Item = Group> {
    let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    let groups: Vec<_> = groups.iter().filter_map(Weak::upgrade).map(Group).collect();
    groups.into_iter()
}

/// Told when a group has ended.
static ENDED: Notify = Notify::const_new();

impl Group {
    fn of(leader: Option<Pid>, said: Said) -> Self {
        let group = Arc::new(About {
            leader: Mutex::new(leader),
            begun: Instant::now(),
            said,
        });
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        groups.retain(|group| group.strong_count() > 0);
        groups.push(Arc::downgrade(&group));
        Self(group)
    }

    fn leader(&self) -> MutexGuard<'_, Option<Pid>> {
        self.0.leader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> Running {
        Running {
            time: self.0.begun.elapsed(),
            said: self.0.said.lines(),
        }
    }

    fn is_over(&self) -> bool {
        self.leader().is_none()
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = *self.leader() {
            let _ = kill_process_group(group, signal);
        }
    }

    fn end(&self) {
        if let Some(group) = self.leader().take() {
            let _ = kill_process_group(group, Signal::KILL);
            ENDED.notify_waiters();
        }
    }
}

/// A child that runs. Its end is the end of all that it has started in its group. Dropped, it is [ended](Self::end) where there is a
/// runtime that goes on, without anybody waiting for it; else, and with the runtime, it is killed.
pub struct Child {
    id: Option<u32>,
    ended: watch::Receiver<Option<End>>,
    group: Group,
    said: Said,
    draining: JoinHandle<()>,
}

impl Child {
    /// The last lines that it has said on standard error, at most 20.
    pub fn said(&self) -> Vec<String> {
        self.said.lines()
    }

    /// How it runs.
    pub fn running(&self) -> Running {
        self.group.running()
    }

    /// Its process id, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.id.filter(|_| self.ended.borrow().is_none())
    }

    /// Waits until it has ended by itself.
    ///
    /// # Errors
    /// The system does not say.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let ended = self.ended.wait_for(Option::is_some).await;
        let status = ended.ok().and_then(|ended| *ended);
        // What it has said last may still be in the pipe; somebody who has left its group may hold that open for ever.
        if !self.draining.is_finished() {
            let _ = timeout(Duration::from_millis(200), &mut self.draining).await;
        }
        status
            .unwrap_or(Err(io::ErrorKind::Other))
            .map_err(io::Error::from)
    }

    /// Ends it, once its input is closed: waits, then SIGTERM, then SIGKILL, 2 seconds each, to all of its group. None: it cannot
    /// be said how it ended.
    pub async fn end(self) -> Option<ExitStatus> {
        self.end_within(GRACE).await
    }

    /// The same with another time for each step.
    pub async fn end_within(mut self, grace: Duration) -> Option<ExitStatus> {
        for signal in STEPS {
            if let Some(signal) = signal {
                self.group.signal(signal);
            }
            if let Ok(status) = timeout(grace, self.wait()).await {
                return status.ok();
            }
        }
        None
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let draining = self.draining.abort_handle();
        let left = Left(self.group.clone(), draining);
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if self.ended.borrow().is_none() {
            let mut ended = self.ended.clone();
            runtime.spawn(async move {
                for signal in STEPS {
                    if let Some(signal) = signal {
                        left.0.signal(signal);
                    }
                    let over = ended.wait_for(Option::is_some);
                    if timeout(GRACE, over).await.is_ok() {
                        return;
                    }
                }
            });
        }
    }
}

/// A child that nobody has any more; what is left of it ends with this.
struct Left(Group, AbortHandle);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.end();
        self.1.abort();
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
