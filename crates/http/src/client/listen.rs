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

/// What a server means that gives no stream.
enum Refused {
    /// It may give one in a while: it is not well, or holds the stream that broke for open.
    Later,
    /// It has forgotten for whom the stream would be.
    Forgotten,
    /// The same, or something else: many servers have this word for a session that they do not know. Whoever waits for changes has to
    /// find out.
    Unknown,
    /// It offers none.
    Never,
}

fn refused(status: StatusCode, was_open: bool) -> Refused {
    match status {
        status if status.is_server_error() => Refused::Later,
        _ if !was_open => Refused::Never,
        StatusCode::NOT_FOUND => Refused::Forgotten,
        StatusCode::BAD_REQUEST => Refused::Unknown,
        StatusCode::REQUEST_TIMEOUT
        | StatusCode::CONFLICT
        | StatusCode::TOO_EARLY
        | StatusCode::TOO_MANY_REQUESTS => Refused::Later,
        _ => Refused::Never,
    }
}

/// Listens until the server says that it offers no such stream, or that the session is over.
pub(super) async fn run(way: Arc<Way>, revision: Revision) {
    let mut last: Option<String> = None;
    let mut pause = PAUSE;
    let (mut was_open, mut is_doubted) = (false, false);
    loop {
        let asked = way.stream(revision, last.as_deref());
        let begun = Instant::now();
        let mut wanted = None;
        match asked.await {
            Ok(response) if response.status().is_success() => {
                if take::holds(response.headers()) != Holds::Events {
                    return;
                }
                (was_open, is_doubted) = (true, false);
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
            Ok(response) => match refused(response.status(), was_open) {
                Refused::Later => {}
                Refused::Forgotten => {
                    way.inbox.lose_session();
                    return;
                }
                // It may be the place in the stream that it does not know.
                Refused::Unknown if last.take().is_some() => {}
                Refused::Unknown => {
                    way.inbox.lose_session();
                    // Where the session lives on all the same, that need not be found out again and again.
                    was_open = false;
                    is_doubted = true;
                }
                Refused::Never if is_doubted => {}
                Refused::Never => return,
            },
            Err(error) => tracing::debug!(%error, "the stream for notifications is not there"),
        }
        if begun.elapsed() >= GOOD || wanted.is_some() {
            pause = PAUSE;
        }
        match wanted {
            Some(wanted) => sleep(wanted.max(SHORTEST)).await,
            None => {
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST);
            }
        }
    }
}
