//! Hears what belongs to no request, as long as the session lives (2025-03-26 on, basic/transports, Listening for Messages).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use polyport_proto::Revision;
use tokio::time::{Instant, sleep};

use super::head;
use super::resume::PAUSE;
use super::streamable::Streamable;
use super::take::{self, Holds, Reading};

/// The longest pause between two tries.
const LONGEST: Duration = Duration::from_secs(30);
/// A stream that lived this long was a good one.
const GOOD: Duration = Duration::from_secs(10);

/// Listens until the server says that it offers no such stream, or that the session is over.
pub(super) async fn run(ours: Arc<Streamable>, revision: Revision) {
    let mut last: Option<String> = None;
    let mut pause = PAUSE;
    loop {
        let headers = head::of_stream(revision, ours.session().as_ref(), last.as_deref());
        let uri = ours.connection.uri();
        let asked = ours
            .connection
            .request(Method::GET, uri, headers, Bytes::new());
        let begun = Instant::now();
        let mut wanted = None;
        match asked.await {
            Ok(response) if response.status().is_success() => {
                if take::holds(response.headers()) != Holds::Events {
                    return;
                }
                let mut reading = Reading::new(response.into_body());
                reading.last = last;
                while reading.give(&ours.inbox).await {}
                last = reading.last;
                wanted = reading.retry;
            }
            Ok(response) if response.status().is_server_error() => {}
            // It offers none (405), or none any more (404).
            Ok(_) => return,
            Err(error) => tracing::debug!(%error, "the stream for notifications is not there"),
        }
        if begun.elapsed() >= GOOD {
            pause = PAUSE;
        }
        sleep(wanted.unwrap_or(pause)).await;
        pause = (pause * 2).min(LONGEST);
    }
}
