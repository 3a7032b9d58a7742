//! The servers under test: started, looked at from outside, told to end.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use polyport_bench::usage::Usage;
use tokio::process::{Child, Command};

/// Makes the C library give back what is freed at once, so that resident memory shows what a server holds. Left alone, glibc
/// takes the size of whatever large block is freed as a hint to keep that much, up to 64 MiB for each of several heaps.
const GIVE_BACK: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.malloc.mmap_threshold=131072:glibc.malloc.trim_threshold=131072",
);
/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(20);

/// What a server uses at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// Since the beginning of the run.
    pub(crate) at: Duration,
    /// Resident memory, in KiB.
    pub(crate) rss: u64,
    pub(crate) fds: usize,
    pub(crate) threads: usize,
}

/// Where and how servers are started.
#[derive(Debug)]
pub(crate) struct Workplace {
    /// The repository.
    pub(crate) root: PathBuf,
    pub(crate) logs: PathBuf,
    /// With the C library's own habits.
    pub(crate) as_is: bool,
}

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) port: Option<u16>,
    child: Child,
    log: PathBuf,
    /// Before the first client came, with what a folder takes for those who want to hear of its changes.
    pub(crate) fresh: Reading,
    pub(crate) readings: Vec<Reading>,
}

/// A port that is free now.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port())
}

impl Server {
    /// Starts `program` in `folder` and waits until it listens, if it is to listen.
    pub(crate) async fn start(
        name: &'static str,
        program: &Path,
        arguments: &[&str],
        port: Option<u16>,
        place: &Workplace,
    ) -> Result<Self, String> {
        let log = place.logs.join(format!("{name}.log"));
        let file =
            File::create(&log).map_err(|e| format!("cannot write {}: {e}", log.display()))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&place.root)
            .stderr(file)
            .kill_on_drop(true);
        if !place.as_is {
            command.env(GIVE_BACK.0, GIVE_BACK.1);
        }
        if port.is_none() {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
        } else {
            command.stdin(Stdio::null()).stdout(Stdio::null());
        }
        let child = command
            .spawn()
            .map_err(|e| format!("cannot start {}: {e}", program.display()))?;
        let mut server = Self {
            name,
            port,
            child,
            log,
            fresh: Reading::default(),
            readings: Vec::new(),
        };
        server.wait_for_port().await?;
        Ok(server)
    }

    async fn wait_for_port(&mut self) -> Result<(), String> {
        let Some(port) = self.port else { return Ok(()) };
        let until = Instant::now() + START;
        while tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .is_err()
        {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!(
                    "{} ended: {status}\n{}",
                    self.name,
                    self.log_tail()
                ));
            }
            if Instant::now() > until {
                return Err(format!("{} does not listen", self.name));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// What it uses now; none: it is gone.
    pub(crate) fn read(&self, at: Duration) -> Option<Reading> {
        let Usage { rss, fds, threads } = Usage::of(self.child.id()?)?;
        Some(Reading {
            at,
            rss,
            fds,
            threads,
        })
    }

    /// Says SIGTERM and waits at most `limit` for the end.
    pub(crate) async fn end(&mut self, limit: Duration) -> Option<ExitStatus> {
        let pid = self.child.id()?.to_string();
        let said = Command::new("kill").args(["-TERM", &pid]).status().await;
        said.ok().filter(ExitStatus::success)?;
        tokio::time::timeout(limit, self.child.wait())
            .await
            .ok()?
            .ok()
    }

    /// Lines of its log that tell of a panic.
    pub(crate) fn panics(&self) -> usize {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().filter(|line| line.contains("panicked")).count()
    }

    pub(crate) fn log_tail(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}
