//! Runs a verb of the client side on one thread, and hears Ctrl-C.

use std::process::ExitCode;
use std::time::Duration;

use polyport_rt::child;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;
use crate::{exit, ui};

/// How long a server that did not answer in time has to end.
const LATE_GRACE: Duration = Duration::from_secs(1);

/// Threads may hang in a read; nobody waits longer for them.
const GRACE: Duration = Duration::from_millis(100);

/// Runs a verb to its end.
///
/// # Errors
/// Those of the verb.
pub(crate) fn run(
    verb: impl Future<Output = Result<ExitCode, Failure>>,
) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unexpected(format!("cannot start: {error}")))?;
    let ended = runtime.block_on(async {
        let ended = verb.await;
        // What an interruption or a time-out dropped is being ended.
        match &ended {
            Err(failure) if failure.exit() == exit::TIMED_OUT => none_left_soon().await,
            _ => child::none_left().await,
        }
        ended
    });
    runtime.shutdown_timeout(GRACE);
    ended
}

/// Ends what has not answered in time: it may not hear the end of its input either.
pub(crate) async fn none_left_soon() {
    child::none_left_within(LATE_GRACE).await;
}

/// Waits for something for so long, if that is said: then it is dropped, which tells a server that nobody waits for its answer.
///
/// # Errors
/// Interrupted (exit 130).
pub(crate) async fn unless_after<T>(
    time: Option<Duration>,
    what: impl Future<Output = T>,
) -> Result<T, Failure> {
    let Some(time) = time else {
        return Ok(what.await);
    };
    tokio::time::timeout(time, what).await.map_err(|_| {
        ui::clear_status();
        Failure::unexpected(format!("cancelled after {time:?}, as --cancel-after says"))
            .code(exit::INTERRUPTED)
    })
}

/// Waits for something, or for Ctrl-C, SIGTERM or the end of the terminal: then it is dropped, which tells a server that nobody waits for its answer. A second
/// one ends the program at once.
///
/// # Errors
/// Interrupted (exit 130 or 143).
pub(crate) async fn unless_interrupted<T>(what: impl Future<Output = T>) -> Result<T, Failure> {
    let no_signals = |error| Failure::unexpected(format!("no signals: {error}"));
    let mut terminated = signal(SignalKind::terminate()).map_err(no_signals)?;
    let mut hung_up = signal(SignalKind::hangup()).map_err(no_signals)?;
    let code = tokio::select! {
        done = what => return Ok(done),
        interrupted = tokio::signal::ctrl_c() => interrupted.map(|()| exit::INTERRUPTED).map_err(no_signals)?,
        _ = terminated.recv() => exit::TERMINATED,
        _ = hung_up.recv() => exit::TERMINATED,
    };
    ui::clear_status();
    tokio::spawn(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated.recv() => {}
        }
        child::kill_all();
        std::process::exit(code.into());
    });
    let name = exit::name(code);
    Err(Failure::unexpected(name).code(code))
}
