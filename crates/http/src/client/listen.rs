//! Hears what belongs to no request, as long as the session lives (2025-03-26 on, basic/transports, Listening for Messages).

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use polyport_proto::Revision;
use tokio::time::{Instant, sleep};

use super::resume::{PAUSE, SHORTEST};
use super::take::{self, Holds, Reading};
use super::way::Way;

/// The longest pause between two tries.
const LONGEST: Duration = Duration::from_secs(30);
/// A stream that lived this long was a good one.
const GOOD: Duration = Duration::from_secs(10);

/// Listens until the server says that it offers no such stream, or that the session is over.
pub(super) async fn run(way: Arc<Way>, revision: Revision) {
    let mut last: Option<String> = None;
    let mut pause = PAUSE;
    let mut was_open = false;
    loop {
        let asked = way.stream(revision, last.as_deref());
        let begun = Instant::now();
        let mut wanted = None;
        match asked.await {
            Ok(response) if response.status().is_success() => {
                if take::holds(response.headers()) != Holds::Events {
                    return;
                }
                was_open = true;
                let mut reading = match Reading::new(response) {
                    Ok(reading) => reading,
                    Err(error) => {
                        tracing::warn!(%error, "the stream for notifications cannot be read");
                        return;
                    }
                };
                reading.last = last;
                while reading.give(&way.inbox, None).await.is_some() {}
                last = reading.last;
                wanted = reading.retry;
            }
            Ok(response) if response.status().is_server_error() => {}
            Ok(response) => {
                // It offers none (405); or it has forgotten for whom it was (404).
                if was_open && response.status() == StatusCode::NOT_FOUND {
                    way.inbox.lose_session();
                }
                return;
            }
            Err(error) => tracing::debug!(%error, "the stream for notifications is not there"),
        }
        if begun.elapsed() >= GOOD {
            pause = PAUSE;
        }
        sleep(wanted.unwrap_or(pause).max(SHORTEST)).await;
        pause = (pause * 2).min(LONGEST);
    }
}
