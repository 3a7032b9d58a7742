//! Goes on with a stream that ended before the answer came (2025-11-25, basic/transports, Resumability and Redelivery).

use std::time::Duration;

use polyport_proto::Revision;
use polyport_rt::CallError;
use tokio::time::sleep;

use super::take::{self, Holds, Reading};
use super::way::Way;

/// How long is waited before the next try, where the server does not say; it doubles with each that fails.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// However little the server wants.
pub(super) const SHORTEST: Duration = Duration::from_millis(10);
/// Tries in a row.
const TRIES: u32 = 5;

/// The stream anew, from where it ended.
///
/// # Errors
/// It cannot be resumed: the answer is lost.
pub(super) async fn again(
    way: &Way,
    ended: Reading,
    revision: Revision,
) -> Result<Reading, CallError> {
    let Some(last) = ended.last.filter(|_| revision.profile().resumable_streams) else {
        return Err(lost("the stream ended, and it cannot be resumed"));
    };
    for tries in 0..TRIES {
        let pause = ended.retry.unwrap_or(PAUSE).max(SHORTEST);
        sleep(pause.saturating_mul(2_u32.pow(tries))).await;
        let asked = way.stream(revision, Some(&last));
        let response = match asked.await {
            Ok(response) => response,
            Err(error) => {
                tracing::debug!(%error, "a stream is not there again yet");
                continue;
            }
        };
        if response.status().is_server_error() {
            continue;
        }
        let is_stream =
            response.status().is_success() && take::holds(response.headers()) == Holds::Events;
        if !is_stream {
            let code = response.status().as_u16();
            return Err(lost(&format!(
                "the stream ended, and the server does not resume it (HTTP status {code})"
            )));
        }
        let mut reading = Reading::new(response)?;
        reading.last = Some(last);
        reading.retry = ended.retry;
        return Ok(reading);
    }
    Err(lost("the stream ended, and the server does not come back"))
}

fn lost(why: &str) -> CallError {
    CallError::Broken(why.to_owned())
}
