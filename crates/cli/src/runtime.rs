//! Runs a verb of the client side on one thread, and hears Ctrl-C.

use std::process::ExitCode;
use std::time::Duration;

use crate::failure::Failure;
use crate::ui;

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
    let ended = runtime.block_on(verb);
    runtime.shutdown_timeout(GRACE);
    ended
}

/// Waits for something, or for Ctrl-C: then it is dropped, which tells a server that nobody waits for its answer. A second Ctrl-C
/// ends the program at once.
///
/// # Errors
/// Interrupted (exit 130).
pub(crate) async fn unless_interrupted<T>(what: impl Future<Output = T>) -> Result<T, Failure> {
    tokio::select! {
        done = what => Ok(done),
        interrupted = tokio::signal::ctrl_c() => {
            ui::clear_status();
            interrupted.map_err(|error| Failure::unexpected(format!("no signals: {error}")))?;
            tokio::spawn(async {
                if tokio::signal::ctrl_c().await.is_ok() {
                    std::process::exit(130);
                }
            });
            Err(Failure::unexpected("interrupted").code(130))
        }
    }
}
