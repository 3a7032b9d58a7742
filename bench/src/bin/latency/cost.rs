//! The processor time of a client for each of its calls, seen from outside: without its start, and without its server.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Two lengths; what both runs do once drops out of the difference.
const SHORT: f64 = 0.3;
const LONG: f64 = 1.8;
/// How often is looked while it runs.
const LOOK: Duration = Duration::from_millis(2);

/// What is asked: an address, or `--` and a command.
pub(crate) type Server<'a> = &'a [&'a str];

/// Microseconds of user and system time for one call.
pub(crate) fn each(program: &Path, era: &str, server: Server<'_>) -> Result<f64, String> {
    let (short, long) = (
        once(program, era, SHORT, server)?,
        once(program, era, LONG, server)?,
    );
    let calls = long.0.saturating_sub(short.0);
    if calls == 0 {
        return Err(format!("{} does not get on", program.display()));
    }
    // Nanoseconds of some seconds, and thousands of calls: both are exact.
    #[allow(clippy::cast_precision_loss)]
    Ok((long.1.saturating_sub(short.1)) as f64 / 1_000.0 / calls as f64)
}

/// Calls, and nanoseconds.
fn once(program: &Path, era: &str, seconds: f64, server: Server<'_>) -> Result<(u64, u64), String> {
    let why = |error: std::io::Error| format!("cannot run {}: {error}", program.display());
    let mut child = Command::new(program)
        .args(["--era", era, &seconds.to_string()])
        .args(server)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(why)?;
    let mut time = 0;
    let status = loop {
        time = of(child.id()).max(time);
        match child.try_wait().map_err(why)? {
            Some(status) => break status,
            None => thread::sleep(LOOK),
        }
    };
    let mut said = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut said).map_err(why)?;
    }
    let calls = said.trim().strip_prefix("{\"calls\":");
    let calls = calls.and_then(|rest| rest.strip_suffix('}')?.parse().ok());
    match calls {
        Some(calls) if status.success() => Ok((calls, time)),
        _ => Err(format!("{} says {said:?}: {status}", program.display())),
    }
}

/// Nanoseconds that the threads of a process have run; its children are others.
pub(crate) fn of(process: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let time = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    threads.filter_map(time).sum()
}
