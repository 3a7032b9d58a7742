//! How serving is told to end: the first signal lets running calls finish, a second one does not wait for them.

use polyport::{Service, Stop, stop};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;
use crate::ui;

/// A stop that SIGTERM, SIGINT and SIGHUP say.
///
/// # Errors
/// The signals cannot be listened to.
pub(super) fn on_signals(service: &Service) -> Result<Stop, Failure> {
    let listen = |kind| {
        signal(kind)
            .map_err(|error| Failure::unexpected(format!("cannot listen to signals: {error}")))
    };
    let (mut term, mut int, mut hangup) = (
        listen(SignalKind::terminate())?,
        listen(SignalKind::interrupt())?,
        listen(SignalKind::hangup())?,
    );
    let (stopper, stop) = stop::stop();
    let service = service.clone();
    tokio::spawn(async move {
        let mut signalled = async || {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
                _ = hangup.recv() => {}
            }
        };
        signalled().await;
        stopper.stop();
        let running = service.unfinished();
        if running > 0 {
            ui::say(&format!(
                "waiting up to {} s for {}; a second signal cuts off\n",
                service.limits.drain.as_secs(),
                ui::count(running, "running call")
            ));
        }
        signalled().await;
        // Whoever asks twice does not want to wait, not even for connections to be closed.
        let cut = service.unfinished();
        if cut > 0 {
            cut_off(cut, "").report();
        }
        polyport_rt::kill_all();
        std::process::exit(i32::from(cut > 0));
    });
    Ok(stop)
}

/// Calls did not end in time.
pub(super) fn cut_off(calls: usize, why: &str) -> Failure {
    let were = if calls == 1 { "was" } else { "were" };
    Failure::unexpected(format!("{}{why} {were} cut off", ui::count(calls, "call")))
}
