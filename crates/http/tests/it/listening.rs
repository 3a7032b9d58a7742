//! GET streams of a session: each message goes to exactly one of them, or waits until there is one.

use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use http_body::Body as _;
use polyport_http::{Config, Endpoint};
use polyport_proto::{Level, Limits, Outcome};
use polyport_rt::listen::{honoured, wished};
use polyport_rt::{Bus, Call, Handler, Service};
use polyport_testkit::handlers::Puppet;
use serde_json::Value;

use crate::{
    INITIALIZE, INITIALIZED, PLAIN, Stream, V, endpoint_with, modern, open, open_in, post, send,
    stream, want_logs,
};

/// A server that tells things by itself.
struct Teller {
    puppet: Puppet,
    endpoint: Endpoint,
}

impl Teller {
    fn new(limits: Limits) -> Self {
        let puppet = Puppet::default();
        let endpoint = endpoint_with(puppet.clone(), limits);
        Self { puppet, endpoint }
    }

    async fn open_in(&self, revision: &str) -> String {
        let session = open_in(&self.endpoint, revision).await;
        want_logs(&self.endpoint, &session).await;
        session
    }

    async fn open(&self) -> String {
        self.open_in("2025-06-18").await
    }

    async fn get(&self, headers: &[(&str, &str)]) -> Stream {
        stream(&self.endpoint, "GET", headers, "").await
    }

    fn tell(&self, n: usize) {
        let data = format!("{{\"n\":{n}}}");
        self.puppet.bus.log(Level::Info, None, &data);
    }

    async fn delete(&self, session: &str) {
        let headers = [PLAIN, &[("mcp-session-id", session)]].concat();
        send(&self.endpoint, "DELETE", &headers, "").await;
    }

    /// An opening looks for what is over.
    async fn sweep(&self) {
        let session = open(&self.endpoint).await;
        self.delete(&session).await;
    }
}

fn number(message: &(Option<String>, Value)) -> usize {
    let n = message.1["params"]["data"]["n"].as_u64();
    usize::try_from(n.unwrap_or_else(|| panic!("{message:?}"))).unwrap()
}

async fn next(stream: &mut Stream) -> usize {
    number(&stream.message().await)
}

// req: V-304
#[tokio::test(start_paused = true)]
async fn v_304_a_second_stream_takes_nothing_from_the_first() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let teller = Teller::new(Limits::default());
        let session = teller.open_in(revision).await;
        let id = [("mcp-session-id", session.as_str())];
        let (mut first, mut second) = (teller.get(&id).await, teller.get(&id).await);
        if revision == "2025-11-25" {
            for (stream, id) in [(&mut first, "1-0"), (&mut second, "2-0")] {
                assert_eq!(stream.next().await.unwrap().id.as_deref(), Some(id));
            }
        }
        for n in 0..3 {
            teller.tell(n);
            assert_eq!(next(&mut first).await, n, "{revision}");
        }
        assert!(second.is_silent().await);
        // Its end hands over, with what it has not read.
        teller.tell(3);
        teller.tell(4);
        drop(first);
        teller.tell(5);
        for n in 3..6 {
            assert_eq!(next(&mut second).await, n, "{revision}");
        }
    }
}

// req: L-LISTEN
#[tokio::test(start_paused = true)]
async fn what_belongs_to_no_call_waits_for_a_stream() {
    for revision in ["2024-11-05", "2025-06-18"] {
        let teller = Teller::new(Limits::default());
        let session = teller.open_in(revision).await;
        let id = [("mcp-session-id", session.as_str())];
        (0..3).for_each(|n| teller.tell(n));
        let mut first = teller.get(&id).await;
        for n in 0..3 {
            assert_eq!(next(&mut first).await, n);
        }
        teller.tell(3);
        drop(first);
        teller.tell(4);
        let mut second = teller.get(&id).await;
        for n in 3..5 {
            assert_eq!(next(&mut second).await, n, "in order");
        }
        teller.delete(&session).await;
        assert!(second.next().await.is_none());
        drop(second);
        let left = (teller.puppet.bus.listeners(), teller.endpoint.kept_bytes());
        assert_eq!(left, (0, 0));
    }
}

// req: C-LEGACY
#[tokio::test(start_paused = true)]
async fn nothing_is_said_before_the_client_is_ready() {
    let teller = Teller::new(Limits::default());
    let session = post(&teller.endpoint, &[], INITIALIZE).await.session();
    let id = [("mcp-session-id", session.as_str())];
    let mut stream = teller.get(&id).await;
    for _ in 0..3 {
        teller.puppet.bus.tools_changed();
    }
    assert!(stream.is_silent().await);
    post(&teller.endpoint, &id, INITIALIZED).await;
    let message = stream.message().await.1;
    assert_eq!(message["method"], "notifications/tools/list_changed");
    assert!(stream.is_silent().await, "once");
}

// req: C-LEGACY
#[tokio::test(start_paused = true)]
async fn a_session_hears_of_what_it_subscribes_to() {
    let teller = Teller::new(Limits::default());
    let (session, other) = (teller.open().await, teller.open().await);
    let id = [("mcp-session-id", session.as_str())];
    let subscribe = |on: &str, uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"resources/{on}","params":{{"uri":"{uri}"}}}}"#
        )
    };
    for (on, uri, code) in [
        ("subscribe", "a:b", None),
        ("subscribe", "nowhere", Some(-32002)),
    ] {
        let got = post(&teller.endpoint, &id, &subscribe(on, uri)).await;
        assert_eq!((got.status, got.code()), (200, code), "{uri}");
    }
    let mut stream = teller.get(&id).await;
    let mut silent = teller.get(&[("mcp-session-id", other.as_str())]).await;
    teller.puppet.bus.updated("a:c");
    teller.puppet.bus.updated("a:b");
    teller.puppet.bus.updated("a:b");
    let message = stream.message().await.1;
    assert_eq!(message["method"], "notifications/resources/updated");
    assert_eq!(message["params"]["uri"], "a:b");
    assert!(stream.is_silent().await && silent.is_silent().await);
    post(&teller.endpoint, &id, &subscribe("unsubscribe", "a:b")).await;
    teller.puppet.bus.updated("a:b");
    assert!(stream.is_silent().await);
    // What a session has subscribed to ends with it.
    post(&teller.endpoint, &id, &subscribe("subscribe", "a:b")).await;
    assert_eq!(teller.puppet.bus.watched(), 1);
    teller.delete(&session).await;
    assert_eq!(
        (teller.puppet.bus.watched(), teller.puppet.bus.listeners()),
        (0, 1)
    );
}

// req: L-RESUME
#[tokio::test(start_paused = true)]
async fn a_listener_comes_back_to_what_it_missed() {
    let teller = Teller::new(Limits::default());
    let session = teller.open().await;
    let id = ("mcp-session-id", session.as_str());
    let mut first = teller.get(&[id]).await;
    teller.tell(0);
    assert_eq!(first.message().await.0.as_deref(), Some("1-1"));
    teller.tell(1);
    teller.tell(2);
    assert_eq!(number(&first.message().await), 1);
    // That was under way when the connection broke; another waits for whoever comes.
    drop(first);
    teller.tell(3);
    let mut again = teller.get(&[id, ("last-event-id", "1-1")]).await;
    for n in 1..4 {
        let message = again.message().await;
        assert_eq!(
            (number(&message), message.0),
            (n, Some(format!("1-{}", n + 1)))
        );
    }
    // Who is away for long and missed nothing goes on; who missed something is told so.
    drop(again);
    for _ in 0..3 {
        tokio::time::sleep(Limits::default().replay_time).await;
        teller.sweep().await;
    }
    teller.tell(9);
    let mut late = teller.get(&[id, ("last-event-id", "1-4")]).await;
    assert_eq!(next(&mut late).await, 9);
    assert_eq!(
        teller.get(&[id, ("last-event-id", "1-3")]).await.status,
        410
    );
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_streams_of_a_session_are_capped() {
    let mut limits = Limits::default();
    limits.streams_per_session = 2;
    let teller = Teller::new(limits);
    let session = teller.open().await;
    let id = ("mcp-session-id", session.as_str());
    let first = teller.get(&[id]).await;
    let second = teller.get(&[id]).await;
    assert_eq!(teller.get(&[id]).await.status, 409);
    // Who comes back to a stream needs no room for another, even if its old connection is not known to be dead …
    let again = [id, ("last-event-id", "1-0")];
    let back = teller.get(&again).await;
    assert_eq!((back.status, first.rest().await.len()), (200, 0));
    drop(back);
    let third = teller.get(&[id]).await;
    assert_eq!(third.status, 200);
    // … but it does if its place is taken meanwhile.
    assert_eq!(teller.get(&again).await.status, 409);
    drop((second, third));
    assert_eq!(teller.get(&again).await.status, 200);
}

// req: BR-109
// req: D-35
#[tokio::test(start_paused = true)]
async fn br_109_a_reader_that_takes_nothing_costs_a_bounded_amount() {
    let mut limits = Limits::default();
    limits.queue_messages = 5;
    let teller = Teller::new(limits);
    let (slow, quick) = (teller.open().await, teller.open().await);
    let mut stuck = teller.get(&[("mcp-session-id", slow.as_str())]).await;
    let mut other = teller.get(&[("mcp-session-id", quick.as_str())]).await;
    for n in 0..2_000 {
        teller.tell(n);
        // Nobody else suffers.
        assert_eq!(next(&mut other).await, n);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(
        teller.endpoint.kept_bytes() < 64 << 10,
        "{}",
        teller.endpoint.kept_bytes()
    );
    // What is newest is there, and how much is missing.
    let missing = stuck.message().await.1["params"]["data"].to_string();
    assert!(
        missing.contains("1936 log messages were left out"),
        "{missing}"
    );
    for n in 1_936..2_000 {
        assert_eq!(next(&mut stuck).await, n);
    }
    assert!(stuck.is_silent().await);
}

// req: L-LISTEN
#[tokio::test(start_paused = true)]
async fn a_stream_that_is_closed_before_it_was_read_loses_nothing() {
    let teller = Teller::new(Limits::default());
    let session = teller.open().await;
    let id = [("mcp-session-id", session.as_str())];
    (0..3).for_each(|n| teller.tell(n));
    drop(teller.get(&id).await);
    teller.tell(3);
    drop(teller.get(&id).await);
    // One that was given something and has not read it hands it on.
    let mut body = teller.get(&id).await.body;
    for has_some in [true, false] {
        let mut cx = Context::from_waker(Waker::noop());
        let polled = Pin::new(&mut body).poll_frame(&mut cx);
        assert_eq!(polled.is_ready(), has_some);
        if has_some {
            teller.tell(4);
        }
    }
    drop(body);
    teller.tell(5);
    let mut stream = teller.get(&id).await;
    for n in 4..6 {
        assert_eq!(next(&mut stream).await, n);
    }
    assert!(stream.is_silent().await);
}

// req: P-SESSION
#[tokio::test(start_paused = true)]
async fn a_session_is_in_use_while_somebody_reads_and_no_longer() {
    let teller = Teller::new(Limits::default());
    let session = teller.open().await;
    let id = [("mcp-session-id", session.as_str())];
    let reading = teller.get(&id).await;
    tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
    open(&teller.endpoint).await;
    assert_eq!(teller.endpoint.sessions(), 2);
    teller.tell(1);
    drop(reading);
    // What is kept of the stream does not keep the session.
    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    open(&teller.endpoint).await;
    assert_eq!(teller.endpoint.sessions(), 1);
    assert_eq!(teller.get(&id).await.status, 404);
    assert_eq!(teller.endpoint.kept_bytes(), 0);
}

/// A modern request to hear of something.
fn listen(what: &str) -> String {
    modern(
        "subscriptions/listen",
        &format!(r#""notifications":{{{what}}}"#),
    )
}

// req: C-LISTEN
#[tokio::test(start_paused = true)]
async fn a_modern_client_hears_what_it_asked_for_until_it_leaves() {
    let teller = Teller::new(Limits::default());
    let headers = [V, ("mcp-method", "subscriptions/listen")];
    let body = listen(r#""toolsListChanged":true,"resourceSubscriptions":["a:b"]"#);
    let mut stream = stream(&teller.endpoint, "POST", &headers, &body).await;
    let first = stream.message().await.1;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let bus = &teller.puppet.bus;
    bus.prompts_changed();
    bus.updated("a:b");
    bus.tools_changed();
    bus.tools_changed();
    let mut heard = Vec::new();
    for _ in 0..2 {
        let message = stream.message().await.1;
        let tag = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(tag, 1, "{message}");
        heard.push(message["method"].as_str().unwrap().to_owned());
    }
    heard.sort();
    let want = [
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    ];
    assert_eq!(heard, want);
    assert!(stream.is_silent().await);
    assert_eq!((bus.listeners(), bus.watched()), (1, 1));
    drop(stream);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!((bus.listeners(), bus.watched()), (0, 0));
    // A client that takes no stream can hear nothing.
    let json = [
        PLAIN[0],
        PLAIN[1],
        ("accept", "application/json"),
        headers[0],
        headers[1],
    ];
    let got = send(&teller.endpoint, "POST", &json, &body).await;
    assert_eq!((got.status, got.code()), (406, Some(-32600)));
    let needs = "All that is to come is a stream: Accept must allow text/event-stream";
    assert_eq!(got.json()["error"]["message"], needs);
}

// req: C-LISTEN
#[tokio::test(start_paused = true)]
async fn the_end_of_the_server_ends_a_stream_with_its_result() {
    let teller = Teller::new(Limits::default());
    let headers = [V, ("mcp-method", "subscriptions/listen")];
    let body = listen(r#""toolsListChanged":true"#).replace("\"id\":1", "\"id\":\"1\"");
    let stream = stream(&teller.endpoint, "POST", &headers, &body).await;
    let (said, ()) = tokio::join!(stream.rest(), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        teller.endpoint.close().await;
    });
    // Here the end of the response says the rest: a cancellation by the server is for stdio.
    assert_eq!(said.len(), 2, "{said:?}");
    let ended = &said[1].1;
    let tag = &ended["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!((&ended["id"], tag), (&"1".into(), &"1".into()), "{ended}");
    assert_eq!(ended["result"]["resultType"], "complete");
    assert_eq!(teller.puppet.bus.listeners(), 0);
}

/// Takes its time before it says what it honours.
struct Ponders(Bus);

impl Handler for Ponders {
    async fn call(&self, call: Call) -> Outcome {
        tokio::time::sleep(Duration::from_secs(2)).await;
        honoured(&wished(&call.params).unwrap())
    }

    fn bus(&self) -> Option<Bus> {
        Some(self.0.clone())
    }
}

// req: P-END
#[tokio::test(start_paused = true)]
async fn a_stream_of_changes_is_not_waited_for_and_one_that_begins_at_the_end_ends_too() {
    let service = Service::new(Ponders(Bus::new()));
    let endpoint = Endpoint::new(service.clone(), Config::default());
    let headers = [V, ("mcp-method", "subscriptions/listen")];
    let body = listen(r#""toolsListChanged":true"#);
    let open = stream(&endpoint, "POST", &headers, &body).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!((service.running(), service.unfinished()), (1, 0));
    let late = async {
        let late = stream(&endpoint, "POST", &headers, &body).await;
        late.rest().await
    };
    let ends = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((service.running(), service.unfinished()), (2, 1));
        let begun = tokio::time::Instant::now();
        let ended = endpoint.close().await;
        // As long as the second one takes to begin, and not the drain.
        assert_eq!((ended.cut, begun.elapsed().as_secs()), (0, 1));
    };
    let (open, late, ()) = tokio::join!(open.rest(), late, ends);
    for said in [open, late] {
        let said: Vec<_> = said.iter().map(|(_, it)| it).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert_eq!(said[1]["result"]["resultType"], "complete", "{said:?}");
    }
}

// req: C-LISTEN
// req: BR-109
#[tokio::test(start_paused = true)]
async fn a_slow_modern_listener_hears_of_each_change_once() {
    let mut limits = Limits::default();
    limits.queue_messages = 2;
    let teller = Teller::new(limits);
    let headers = [V, ("mcp-method", "subscriptions/listen")];
    let body = listen(r#""toolsListChanged":true,"promptsListChanged":true"#);
    let mut stream = stream(&teller.endpoint, "POST", &headers, &body).await;
    stream.message().await;
    for _ in 0..100 {
        teller.puppet.bus.tools_changed();
        teller.puppet.bus.prompts_changed();
    }
    for _ in 0..2 {
        stream.message().await;
    }
    assert!(stream.is_silent().await);
}
