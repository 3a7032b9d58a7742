//! How long a program takes from its start to its end, and a server beside it that listens.

use std::env;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::cost;

/// How long a server may take until it listens.
const LISTENING: Duration = Duration::from_secs(10);

/// Milliseconds of one run that has to work. What it remembers is kept beside this program, not where its user's is.
pub(crate) fn of(words: &[&str]) -> Result<f64, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("there is nothing to run".to_owned());
    };
    let ours = env::current_exe().map_err(|error| format!("where are we? {error}"))?;
    let begun = Instant::now();
    let done = Command::new(program)
        .args(arguments)
        .env("XDG_CACHE_HOME", ours.with_file_name("latency-cache"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    let took = begun.elapsed().as_secs_f64() * 1_000.0;
    if done.status.success() {
        Ok(took)
    } else {
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        Err(format!("{words:?}: {}\n{said}", done.status))
    }
}

/// The middle one.
pub(crate) fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A server that listens; it ends with this.
pub(crate) struct Listening {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Listening {
    /// Starts one whose words hold `{address}` or `{port}`.
    pub(crate) fn new(words: &[&str]) -> Result<Self, String> {
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
        let address = free.map_err(|error| format!("no free port: {error}"))?;
        let words = words.iter().map(|word| {
            let word = word.replace("{address}", &address.to_string());
            word.replace("{port}", &address.port().to_string())
        });
        let words: Vec<String> = words.collect();
        let child = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", words[0]))?;
        let mut ours = Self { child, address };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            let ended = ours.child.try_wait().ok().flatten();
            if ended.is_some() || begun.elapsed() > LISTENING {
                return Err(format!("{words:?} does not listen: {ended:?}"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(ours)
    }

    /// Milliseconds of processor time that it has used.
    pub(crate) fn used(&self) -> f64 {
        // Nanoseconds of a short run: exact.
        #[allow(clippy::cast_precision_loss)]
        let nanoseconds = cost::of(self.child.id()) as f64;
        nanoseconds / 1_000_000.0
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
