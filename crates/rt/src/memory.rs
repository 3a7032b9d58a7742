//! Two ends of a connection within one process: a service at one, whoever tests or embeds it at the other.

use tokio::io::DuplexStream;
use tokio::task::JoinHandle;

use crate::driver::{self, Ended};
use crate::service::Service;
use crate::stop::Stop;

/// Bytes that may be under way in one direction.
const BUFFER: usize = 64 << 10;

/// Serves on one end; the other end speaks lines of JSON-RPC. Ends when that end is dropped or the stop is said; at once where the
/// handler does not start, and the log says why.
pub fn connect(service: Service, stop: Stop) -> (DuplexStream, JoinHandle<Ended>) {
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let task = tokio::spawn(async move {
        let (mut reader, mut writer) = tokio::io::split(ours);
        let started = match service.start().await {
            Ok(started) => started,
            Err(error) => {
                tracing::error!(%error, "nothing is served");
                return Ended {
                    cut: 0,
                    broken: true,
                };
            }
        };
        let ended =
            driver::drive_over(&service, "memory", None, &mut reader, &mut writer, stop).await;
        started.shutdown().await;
        ended
    });
    (theirs, task)
}
