//! Clients that send too much, too deep, too slowly, or nonsense: each is refused within its bound, and nothing is kept of it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame};
use polyport_http::{Endpoint, Served};
use polyport_proto::Limits;
use polyport_testkit::handlers::Puppet;
use tokio::time::{Instant, Sleep, sleep};

use crate::pair::Client;
use crate::{
    CALL, Got, INITIALIZE, INITIALIZED, PING, PLAIN, V, endpoint, endpoint_with, got, modern, open,
    open_old, post, send,
};

/// A body without an end: so many bytes at once, with a pause between. Counts what was taken of it.
struct Endless {
    piece: Bytes,
    pause: Duration,
    waits: Pin<Box<Sleep>>,
    taken: Arc<AtomicUsize>,
}

impl Endless {
    fn new(bytes: usize, pause: Duration) -> Self {
        Self {
            piece: vec![b' '; bytes].into(),
            pause,
            waits: Box::pin(sleep(pause)),
            taken: Arc::default(),
        }
    }
}

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if !self.pause.is_zero() {
            std::task::ready!(self.waits.as_mut().poll(cx));
            self.waits = Box::pin(sleep(self.pause));
        }
        self.taken.fetch_add(self.piece.len(), Ordering::SeqCst);
        Poll::Ready(Some(Ok(Frame::data(self.piece.clone()))))
    }
}

/// Does one post there?
fn takes_bodies(served: &&Served) -> bool {
    served.methods.split(", ").any(|method| method == "POST")
}

/// Posts such a body; the status, what was taken of it, and after how long.
async fn pour(
    endpoint: &Endpoint,
    path: &str,
    headers: &[(&str, &str)],
    body: Endless,
) -> (u16, usize, u64) {
    let mut request = Request::post(path);
    for (name, value) in PLAIN.iter().chain(headers) {
        request = request.header(*name, *value);
    }
    let (taken, begun) = (body.taken.clone(), Instant::now());
    let got = got(endpoint.handle(request.body(body).unwrap()).await).await;
    let taken = taken.load(Ordering::SeqCst);
    (got.status, taken, begun.elapsed().as_secs())
}

// req: V-401
#[tokio::test(start_paused = true)]
async fn v_401_a_body_is_taken_up_to_its_limit() {
    const LIMIT: usize = 1 << 20;
    const PIECE: usize = 10_000;
    let mut limits = Limits::default();
    limits.message_bytes = LIMIT;
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), limits);
    let session = open(&endpoint).await;
    let id = ("mcp-session-id", session.as_str());
    let seen = puppet.seen.calls.load(Ordering::SeqCst);
    let pair = Client::open(&endpoint).await;
    for served in endpoint.routes().iter().filter(takes_bodies) {
        for more in [&[][..], &[id], &[V, CALL, ("mcp-name", "echo")]] {
            // The messages of HTTP with SSE name their session in the target, and are all of the older era.
            let is_pair = pair.target.starts_with(&*served.path);
            let more = if is_pair { &[][..] } else { more };
            let path = if is_pair { &pair.target } else { &served.path };
            // What promises too much is refused before a byte of it is taken.
            for promise in ["5368709120", "18446744073709551615", "1048577"] {
                let headers = [more, &[("content-length", promise)]].concat();
                let body = Endless::new(PIECE, Duration::ZERO);
                let (status, taken, _) = pour(&endpoint, path, &headers, body).await;
                assert_eq!((status, taken), (413, 0), "{path} {promise}");
            }
            // What has no end is taken up to the limit, whatever it promised.
            for promise in [&[][..], &[("content-length", "7")]] {
                let headers = [more, promise].concat();
                let body = Endless::new(PIECE, Duration::ZERO);
                let (status, taken, _) = pour(&endpoint, path, &headers, body).await;
                assert_eq!(status, 413, "{path}");
                assert!((LIMIT..=LIMIT + PIECE).contains(&taken), "{path}: {taken}");
            }
            // What drips is waited for as long as a body may take, and others are served meanwhile.
            let drip = pour(
                &endpoint,
                path,
                more,
                Endless::new(1, Duration::from_secs(1)),
            );
            let others = async {
                sleep(Duration::from_secs(5)).await;
                post(&endpoint, &[id], PING).await.status
            };
            let ((status, taken, seconds), other) = tokio::join!(drip, others);
            assert_eq!((status, seconds, other), (408, 30, 200), "{path}");
            assert!(taken <= 30, "{path}: {taken}");
        }
    }
    assert_eq!(puppet.seen.calls.load(Ordering::SeqCst), seen);
    assert_eq!(endpoint.sessions(), 2);
}

// req: V-402
#[tokio::test(start_paused = true)]
async fn v_402_a_batch_is_bounded_and_others_have_none() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let (old, new) = (open_old(&endpoint).await, open(&endpoint).await);
    let seen = puppet.seen.calls.load(Ordering::SeqCst);
    let (old, new) = (("mcp-session-id", &*old), ("mcp-session-id", &*new));
    let call = crate::call(1, "echo");
    let part = |n: usize, size: usize| match size {
        0..=100 => PING.replace('1', &n.to_string()),
        _ => call.clone(),
    };
    for (who, headers) in [
        ("2025-03-26", &[old][..]),
        ("2025-06-18", &[new]),
        ("none", &[]),
        ("modern", &[V]),
    ] {
        for size in [1, 2, 100, 101, 10_000] {
            let parts: Vec<String> = (0..size).map(|n| part(n, size)).collect();
            let got = post(&endpoint, headers, &format!("[{}]", parts.join(","))).await;
            if who == "2025-03-26" && size <= 100 {
                assert_eq!(got.json().as_array().map(Vec::len), Some(size), "{size}");
                assert_eq!(got.status, 200);
            } else {
                let want = (400, Some(-32600));
                assert_eq!((got.status, got.code()), want, "{who} {size}: {got:?}");
                assert!(got.text.len() < 300, "one error: {got:?}");
            }
        }
    }
    assert_eq!(
        puppet.seen.calls.load(Ordering::SeqCst),
        seen,
        "no part has run"
    );
}

/// Texts as deep as this: of lists, of objects, closed or not.
fn deep(depth: usize) -> [(String, bool); 4] {
    [
        ("[".repeat(depth) + &"]".repeat(depth), true),
        ("{\"a\":".repeat(depth) + "0" + &"}".repeat(depth), true),
        ("[".repeat(depth), false),
        ("{\"a\":".repeat(depth), false),
    ]
}

// req: V-404
#[tokio::test(start_paused = true)]
async fn v_404_depth_ends_at_128_and_nothing_else_does() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let session = open(&endpoint).await;
    let id = ("mcp-session-id", session.as_str());
    let wrap = |levels: usize, before: &str, text: &str, after: &str| {
        (levels, format!("{before}{text}{after}"))
    };
    for depth in [64, 120, 124, 125, 126, 127, 128, 129, 1_000, 100_000] {
        for (text, whole) in deep(depth) {
            let in_call = |member: &str| {
                let call = format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo",{member}"#
                );
                wrap(2, &call, &text, "}}")
            };
            let bodies = [
                wrap(0, "", &text, ""),
                wrap(1, "[", &text, "]"),
                wrap(
                    1,
                    r#"{"jsonrpc":"2.0","id":1,"method":"ping","x":"#,
                    &text,
                    "}",
                ),
                in_call(r#""x":"#),
                in_call(r#""_meta":"#),
                {
                    let (levels, text) = in_call(r#""arguments":{"a":"#);
                    (levels + 1, text + "}")
                },
            ];
            for (levels, body) in bodies {
                let got = post(&endpoint, &[id], &body).await;
                let fits = whole && depth + levels <= 128 && body.contains("jsonrpc");
                let shown = &body[..body.len().min(120)];
                assert_eq!(got.status == 200, fits, "{depth}: {shown}: {}", got.text);
                let refused = fits || matches!(got.code(), Some(-32600 | -32700 | -32602));
                assert!(refused, "{depth}: {shown}: {}", got.text);
            }
        }
        assert_eq!(post(&endpoint, &[id], PING).await.status, 200);
    }
}

// req: V-408
#[tokio::test(start_paused = true)]
async fn v_408_no_way_of_asking_leaves_sessions_behind() {
    const MANY: usize = 1_000;
    let endpoint = endpoint();
    let discover = modern("server/discover", "");
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let bad_accept = [PLAIN[0], PLAIN[1], ("accept", "text/html")];
    let bad_version = [PLAIN, &[("mcp-protocol-version", "1.0")]].concat();
    let asks = [PLAIN, &[V, ("mcp-method", "server/discover")]].concat();
    let unread = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    // How it is asked, what is answered, and how many sessions each leaves at first.
    type Kind<'a> = (&'a [(&'a str, &'a str)], &'a str, u16, usize);
    let kinds: [Kind<'_>; 7] = [
        (PLAIN, INITIALIZE, 200, 1),
        (&bad_accept, INITIALIZE, 406, 0),
        (&bad_version, INITIALIZE, 400, 0),
        (PLAIN, unread, 400, 0),
        (PLAIN, list, 400, 0),
        (PLAIN, INITIALIZED, 400, 0),
        (&asks, &discover, 200, 0),
    ];
    for (headers, body, status, left) in kinds {
        for _ in 0..MANY {
            let got = send(&endpoint, "POST", headers, body).await;
            assert_eq!(got.status, status, "{got:?}");
        }
        assert_eq!(endpoint.sessions(), MANY * left, "{body}");
        sleep(Duration::from_secs(61)).await;
        endpoint_is_swept(&endpoint).await;
    }
    for _ in 0..MANY {
        let session = open(&endpoint).await;
        let named = [PLAIN, &[("mcp-session-id", session.as_str())]].concat();
        assert_eq!(send(&endpoint, "DELETE", &named, "").await.status, 204);
    }
    assert_eq!(endpoint.sessions(), 0);
    for _ in 0..MANY {
        open(&endpoint).await;
    }
    assert_eq!(endpoint.sessions(), MANY);
    sleep(Duration::from_secs(30 * 60)).await;
    endpoint_is_swept(&endpoint).await;
}

/// Whatever stood in the table before is gone after the next opening, which is the only one.
async fn endpoint_is_swept(endpoint: &Endpoint) {
    let session = post(endpoint, &[], INITIALIZE).await.session();
    assert_eq!(endpoint.sessions(), 1);
    let named = [PLAIN, &[("mcp-session-id", session.as_str())]].concat();
    assert_eq!(send(endpoint, "DELETE", &named, "").await.status, 204);
}

/// The next of a row of numbers that look random (xorshift).
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 33).unwrap()
}

/// A message with something wrong in it, most often.
fn malformed(state: &mut u64, good: &[String]) -> Vec<u8> {
    let mut text = good[next(state) % good.len()].clone().into_bytes();
    for _ in 0..=next(state) % 3 {
        let at = next(state) % text.len();
        match next(state) % 6 {
            0 => text.truncate(at.max(1)),
            1 => text[at] = u8::try_from(next(state) % 256).unwrap(),
            2 => text[at] ^= 1 << (next(state) % 8),
            3 => text.insert(at, b"{}[]\",:\\\0"[next(state) % 9]),
            4 => {
                let twice = text[at..].to_vec();
                text.extend(twice);
            }
            _ => drop(text.remove(at)),
        }
        if text.is_empty() {
            text.push(b'{');
        }
    }
    text
}

// req: V-417
#[tokio::test(start_paused = true)]
async fn v_417_after_any_malformed_input_it_still_answers() {
    let endpoint = endpoint();
    let session = open_old(&endpoint).await;
    let id = ("mcp-session-id", session.as_str());
    let good = [
        INITIALIZE.to_owned(),
        PING.to_owned(),
        crate::call(2, "echo"),
        crate::call(3, "panics"),
        format!("[{PING},{}]", crate::call(2, "refuses")),
        modern(
            "tools/call",
            r#""name":"echo","arguments":{"a":[1,2.5,"\u00e9"]}"#,
        ),
        modern("resources/read", r#""uri":"x://y""#),
    ];
    let headers: [&[(&str, &str)]; 5] = [
        &[],
        &[id],
        &[V, CALL, ("mcp-name", "echo")],
        &[
            V,
            ("mcp-method", "resources/read"),
            ("mcp-name", "=?base64?x?="),
        ],
        &[
            ("mcp-session-id", "\t"),
            ("mcp-protocol-version", "2025-03-26"),
        ],
    ];
    let mut state = 0x2545_f491_4f6c_dd1d;
    for n in 0..10_000 {
        let body = malformed(&mut state, &good);
        let mut request = Request::post("/mcp");
        for (name, value) in PLAIN.iter().chain(headers[n % headers.len()]) {
            request = request.header(*name, *value);
        }
        let body = http_body_util::Full::new(Bytes::from(body));
        let answer = endpoint.handle(request.body(body).unwrap()).await;
        let status = answer.status().as_u16();
        assert!(matches!(status, 200 | 202 | 204 | 400 | 404), "{status}");
        drop(answer);
        // What was sent may have ended up as `initialize`, not as the end of this session.
        let pinged: Got = post(
            &endpoint,
            &[id],
            r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#,
        )
        .await;
        assert_eq!(
            (pinged.status, pinged.json()["id"].as_str()),
            (200, Some("p")),
            "{n}"
        );
    }
}
