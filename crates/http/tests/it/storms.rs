//! Many clients whose connections break all the time: whatever happens, each gets all of its own, in order, once.

use std::time::Duration;

use polyport_http::Endpoint;
use serde_json::Value;

use crate::{Stream, call_with_token, endpoint, open_in, stream};

/// A small generator; the seed is said when a round fails.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    async fn pause(&mut self) {
        tokio::time::sleep(Duration::from_millis(self.roll(2_500))).await;
    }
}

/// One call whose client reads a little, breaks off, and comes back until it has the answer. What it has seen.
async fn endure(
    endpoint: &Endpoint,
    session: &str,
    id: u32,
    tool: &str,
    mut dice: Dice,
) -> Vec<Value> {
    let header = ("mcp-session-id", session);
    let mut seen = Vec::new();
    let mut last: Option<(String, u64)> = None;
    let mut body: Option<Stream> = None;
    loop {
        let mut reading = match (body.take(), &last) {
            (Some(body), _) => body,
            (None, None) => stream(endpoint, "POST", &[header], &call_with_token(id, tool)).await,
            (None, Some((last, _))) => {
                let headers = [header, ("last-event-id", last.as_str())];
                if dice.roll(4) == 0 {
                    // It tries twice at once; the second one has it.
                    let first = stream(endpoint, "GET", &headers, "").await;
                    body = Some(stream(endpoint, "GET", &headers, "").await);
                    assert!(first.rest().await.is_empty());
                    continue;
                }
                stream(endpoint, "GET", &headers, "").await
            }
        };
        assert_eq!(reading.status, 200);
        for _ in 0..=dice.roll(4) {
            let patience = Duration::from_millis(200 + dice.roll(1_500));
            let Ok(Some(event)) = tokio::time::timeout(patience, reading.next()).await else {
                break;
            };
            let Some(id) = event.id else { continue };
            let (stream, number) = id.split_once('-').unwrap();
            let number: u64 = number.parse().unwrap();
            let before = last.as_ref().map_or(0, |(_, number)| *number);
            let own = last
                .as_ref()
                .is_none_or(|(last, _)| last.split('-').next() == Some(stream));
            if !event.data.is_empty() {
                assert_eq!(
                    (own, number),
                    (true, before + 1),
                    "{id}: nothing is left out or comes twice"
                );
                seen.push(serde_json::from_str(&event.data).unwrap());
            }
            last = Some((id, number));
        }
        if seen
            .last()
            .is_some_and(|message: &Value| message["id"].is_number())
        {
            return seen;
        }
        if last.is_none() {
            // It has no id to come back with: it stays.
            body = Some(reading);
            continue;
        }
        drop(reading);
        dice.pause().await;
    }
}

// req: L-RESUME
// req: BR-104
#[tokio::test(start_paused = true)]
async fn br_104_streams_that_break_all_the_time() {
    for seed in 1..=40_u64 {
        let endpoint = endpoint();
        let mut sessions = Vec::new();
        for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
            sessions.push(open_in(&endpoint, revision).await);
        }
        let mut clients = tokio::task::JoinSet::new();
        for (n, session) in (0..).zip(&sessions) {
            for (id, tool) in [
                (1, "progress"),
                (2, "progress then slow then slow"),
                (3, "slow then burst then two minutes"),
                (4, "progress then burst"),
            ] {
                let (endpoint, session) = (endpoint.clone(), session.clone());
                let dice =
                    Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (n * 16 + u64::from(id)));
                clients.spawn(async move {
                    let seen = endure(&endpoint, &session, id, tool, dice).await;
                    (id, tool, seen)
                });
            }
        }
        while let Some(client) = clients.join_next().await {
            let (id, tool, seen) = client.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let (answer, before) = seen.split_last().unwrap();
            assert_eq!(
                (&answer["id"], &answer["result"]["tool"]),
                (&id.into(), &tool.into()),
                "seed {seed}"
            );
            let progress: Vec<_> = before
                .iter()
                .map(|m| m["params"]["progress"].as_u64())
                .collect();
            assert!(
                progress.iter().all(Option::is_some) && progress.is_sorted(),
                "seed {seed}: {progress:?}"
            );
            let most = if tool.contains("burst") { 100 } else { 3 };
            assert_eq!(
                progress.last(),
                Some(&Some(most)),
                "seed {seed}: the newest is there"
            );
        }
    }
}
