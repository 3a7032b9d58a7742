//! V-301: many clients with the same ids and tokens, each with a secret of its own, on one server; not a byte of one may reach
//! another. Owns the server and the count of what was seen; `client` is one of the clients.

use std::collections::HashSet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use polyport::http::{Bound, Config, Endpoint, bind};
use polyport::schemars::JsonSchema;
use polyport::serde::{Deserialize, Serialize};
use polyport::{Cx, Json, Server, Template, ToolError};
use tokio::task::JoinSet;

use crate::rng::Rng;
use client::Client;

mod client;

/// How long it goes on.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// So many visits of each client.
    Visits(u32),
    /// So long.
    Time(Duration),
}

/// What all clients have seen.
#[derive(Debug, Default)]
pub struct Report {
    /// Answers that were whole and right.
    pub calls: AtomicU64,
    /// Notifications that came with them.
    pub notes: AtomicU64,
    /// Legacy sessions that were opened.
    pub sessions: AtomicU64,
    /// Calls that were left in the middle, or whose session was ended meanwhile.
    pub left: AtomicU64,
    /// Pieces of streams that were taken up again.
    pub replayed: AtomicU64,
    /// Bytes in which another client's secret was looked for.
    pub bytes: AtomicU64,
    /// Bytes of another client's secrets.
    pub foreign: AtomicU64,
    faults: Mutex<Vec<String>>,
    ids: Mutex<HashSet<String>>,
}

impl Report {
    /// What went wrong, at most the first hundred.
    pub fn faults(&self) -> Vec<String> {
        let faults = self.faults.lock();
        faults.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Did anything come through, and nothing of anybody else?
    pub fn is_clean(&self) -> bool {
        let some = self.calls.load(Ordering::Relaxed) > 0;
        some && self.foreign.load(Ordering::Relaxed) == 0 && self.faults().is_empty()
    }

    fn fault(&self, fault: String) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.len() < 100 {
            faults.push(fault);
        }
    }

    /// A session has this id, which no other may have had.
    fn opened(&self, id: &str) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if !ids.insert(id.to_owned()) {
            drop(ids);
            self.fault("two sessions had one id".to_owned());
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [calls, notes, sessions, left, replayed, bytes, foreign] = [
            &self.calls,
            &self.notes,
            &self.sessions,
            &self.left,
            &self.replayed,
            &self.bytes,
            &self.foreign,
        ]
        .map(|count| count.load(Ordering::Relaxed));
        write!(
            f,
            "{calls} calls answered, {notes} notifications, {sessions} sessions, {left} calls left, {replayed} pieces taken up again, {foreign} foreign of {bytes} bytes, {} faults",
            self.faults().len()
        )
    }
}

/// Lets so many clients at a server until their time is over.
pub async fn run(address: SocketAddr, clients: usize, length: Length, seed: u64) -> Arc<Report> {
    let report = Arc::new(Report::default());
    let mut rng = Rng::new(seed);
    let until = match length {
        Length::Visits(_) => None,
        Length::Time(time) => Some(Instant::now() + time),
    };
    let mut tasks = JoinSet::new();
    for number in 0..clients {
        let mut client = Client::new(number, address, rng.fork(), report.clone());
        tasks.spawn(async move {
            let mut visits = 0;
            while match length {
                Length::Visits(most) => visits < most,
                Length::Time(_) => until.is_some_and(|until| Instant::now() < until),
            } {
                client.visit().await;
                visits += 1;
            }
        });
    }
    while tasks.join_next().await.is_some() {}
    report
}

/// What a client asks with: a text that is its own.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Secret {
    text: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Told {
    text: String,
}

/// A server whose every answer says again what was asked with, at once and later, in every kind of place.
pub fn server() -> Server {
    Server::new("isolation", "1")
        .tool("echo", "Says it again.", |_cx, secret: Secret| async move {
            Ok(secret.text)
        })
        .tool("fail", "Fails with it.", |_cx, secret: Secret| async move {
            Err::<String, _>(ToolError::new(secret.text))
        })
        .tool(
            "structured",
            "Says it as a value.",
            |_cx, secret: Secret| async move { Ok(Json(Told { text: secret.text })) },
        )
        .tool(
            "tell",
            "Says it on the way, and at the end.",
            |cx: Cx, secret: Secret| async move {
                for n in 1..=3 {
                    cx.progress_of(f64::from(n), 3.0, &secret.text);
                    cx.info(secret.text.clone());
                    tokio::time::sleep(Duration::from_millis(3)).await;
                }
                Ok(secret.text)
            },
        )
        .add_template(
            Template::new(
                "secret://{text}",
                "secret",
                |_cx, values: std::collections::BTreeMap<String, String>| async move {
                    Ok(values.get("text").cloned().unwrap_or_default())
                },
            )
            .description("Says it again."),
        )
        .prompt("ask", "Asks with it.", |_cx, secret: Secret| async move {
            Ok(secret.text)
        })
}

/// That server on a free port of loopback.
///
/// # Errors
/// There is none.
pub async fn listen() -> Result<Bound, polyport::http::ListenError> {
    let endpoint = Endpoint::new(server().into_service(), Config::default());
    bind(endpoint, ([127, 0, 0, 1], 0).into(), false).await
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // req: V-301
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn v_301_a_hundred_clients_see_no_byte_of_each_other() {
        let bound = listen().await.unwrap();
        let address = bound.address();
        let (stopper, stop) = polyport::stop::stop();
        let serving = tokio::spawn(bound.serve(stop));
        let report = run(address, 100, Length::Visits(3), 301).await;
        assert!(report.is_clean(), "{report}: {:#?}", report.faults());
        let counts = [
            &report.calls,
            &report.notes,
            &report.sessions,
            &report.left,
            &report.replayed,
        ];
        // Enough of each kind for something to cross.
        for (count, least) in counts.into_iter().zip([1_000, 1_000, 100, 30, 5]) {
            assert!(count.load(Ordering::Relaxed) >= least, "{report}");
        }
        stopper.stop();
        assert_eq!(serving.await.unwrap().cut, 0);
    }
}
