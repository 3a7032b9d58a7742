//! Servers that fail behind a gateway, in every way and at each step: whoever asks is told which server it is, soon and honestly, and
//! the other servers know nothing of it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use polyport::client::Connect;
use polyport::testing::TestPeer;
use polyport::{CallError, Patience, Revision, Revisions};
use polyport_gateway::{Gateway, Upstream};
use polyport_testkit::web::{Asked, Reply, Then};
use polyport_testkit::{Fails, Web, failing, side_by_side};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{ERAS, client, names, server, text, upstream};

/// How long one answer of a server that may say nothing is waited for.
const PATIENCE: Duration = Duration::from_millis(400);
/// No request takes longer, whatever its server does: a list waits three seconds for one that is not there yet.
pub(crate) const SOON: Duration = Duration::from_secs(8);
/// What `AT` is in a table of the steps at which a server fails.
const STEPS: [&str; 4] = ["opening", "ready", "tools/list", "tools/call"];

fn result(asked: &Asked, mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    json!({"jsonrpc": "2.0", "id": asked.message()["id"], "result": result})
}

/// The step of a session to which a request belongs.
fn step(asked: &Asked) -> Option<&'static str> {
    match asked.message()["method"].as_str()? {
        "initialize" | "server/discover" => Some("opening"),
        "notifications/initialized" | "subscriptions/listen" => Some("ready"),
        "tools/list" => Some("tools/list"),
        "tools/call" => Some("tools/call"),
        _ => None,
    }
}

/// A server with one tool that gives back what it is given, in either era.
pub(crate) fn as_usual(asked: &Asked, session: &str) -> Reply {
    let message = asked.message();
    let tools = json!({"tools": {"listChanged": true}});
    match (asked.method.as_str(), message["method"].as_str()) {
        ("GET", _) => Reply::empty("405 Method Not Allowed"),
        ("DELETE", _) => Reply::empty("200 OK"),
        (_, Some("initialize")) => {
            let opened = json!({
                "protocolVersion": "2025-11-25", "capabilities": tools, "serverInfo": {"name": "s", "version": "1"},
            });
            let head = format!("Mcp-Session-Id: {session}\r\n");
            let body = result(asked, opened).to_string();
            Reply::of("200 OK", "application/json", &head, &body)
        }
        (_, Some("server/discover")) => {
            let found = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
            Reply::json(&result(asked, found))
        }
        (_, Some("tools/list")) => {
            let tool = json!({"name": "back", "inputSchema": {"type": "object"}});
            Reply::json(&result(asked, json!({"tools": [tool]})))
        }
        (_, Some("tools/call")) => {
            let given = message["params"]["arguments"]["tag"].clone();
            Reply::json(&result(
                asked,
                json!({"content": [{"type": "text", "text": given}]}),
            ))
        }
        (_, Some(method)) if method.starts_with("notifications/") => Reply::empty("202 Accepted"),
        _ => Reply::empty("404 Not Found"),
    }
}

/// How a server fails: what it says instead of an answer, of which the first half is `…`.
fn failures() -> Vec<(&'static str, Reply)> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let half = format!("{head}Content-Length: 90\r\n\r\n{{\"jsonrpc\":\"2.0\",");
    let json = |body: &str| Reply::of("200 OK", "application/json", "", body);
    let text = |status: &str| Reply::of(status, "text/plain", "", "no");
    let event = "data: {\"jsonrpc\":\"2.0\",\"id\":";
    vec![
        ("dies", Reply::raw("", Then::Reset)),
        ("dies in the middle", Reply::raw(half.clone(), Then::Reset)),
        ("closes", Reply::raw("", Then::End)),
        ("closes in the middle", Reply::raw(half.clone(), Then::End)),
        ("closes half", Reply::raw(half.clone(), Then::Deaf)),
        ("black hole", Reply::raw("", Then::Silence)),
        ("black hole in the middle", Reply::raw(half, Then::Silence)),
        (
            "drips",
            json("{\"jsonrpc\":\"2.0\"}").drip(1, Duration::from_secs(1)),
        ),
        (
            "half a message",
            json("{\"jsonrpc\":\"2.0\",\"id\":1,\"resu"),
        ),
        (
            "another's answer",
            json("{\"jsonrpc\":\"2.0\",\"id\":9999,\"result\":{}}"),
        ),
        ("half an event", Reply::events("", event, Then::End)),
        (
            "half an event and silence",
            Reply::events("", event, Then::Silence),
        ),
        (
            "an event that is none",
            Reply::events("", "data: what\n\n", Then::End),
        ),
        ("500", text("500 Oops")),
        ("502", text("502 Bad Gateway")),
        ("429", text("429 Too Many Requests")),
        (
            "a page",
            Reply::of("200 OK", "text/html", "", "<html>hello</html>"),
        ),
        (
            "broken gzip",
            Reply::of(
                "200 OK",
                "application/json",
                "Content-Encoding: gzip\r\n",
                "no gzip",
            ),
        ),
    ]
}

fn impatient(connect: Connect, revision: Revision) -> Connect {
    let patience = Patience {
        probe: PATIENCE,
        handshake: PATIENCE,
        request: PATIENCE,
    };
    let connect = connect.no_verdicts().patience(patience).idle(PATIENCE);
    connect.speaks(Revisions::NONE.with(revision))
}

async fn call(client: &TestPeer, tool: &str, tag: &str) -> Result<String, String> {
    let begun = Instant::now();
    let arguments = if tag.is_empty() {
        json!({})
    } else {
        json!({"tag": tag})
    };
    let called = timeout(SOON, client.call(tool, &arguments)).await;
    let called = called.unwrap_or_else(|_| panic!("{tool} {tag} hangs"));
    let called = called.map(|result| text(&result).to_owned());
    called.map_err(|error: CallError| format!("{error} after {:?}", begun.elapsed()))
}

/// An error that says what is known: which server it is, where it is not known whose the tool would be, too.
fn is_honest(error: &str) -> bool {
    let is_named = error.contains(r#"The server \"bad\" behind this gateway"#);
    is_named && (error.contains("-32603") || error.contains("Unknown tool: back. "))
}

/// What a client sees of a server that fails, and of one beside it that does not.
async fn looks(client: &TestPeer, shown: &str, heals: bool) {
    let listed = timeout(SOON, client.request("tools/list", &json!({}))).await;
    let listed = listed
        .unwrap_or_else(|_| panic!("{shown}: the list hangs"))
        .unwrap();
    let there = names(&listed["tools"], "name");
    assert!(there.contains(&"alpha".to_owned()), "{shown}: {there:?}");
    let is_missing = listed["_meta"]["polyport/unavailable"] == json!(["bad"]);
    let is_there = there.contains(&"back".to_owned());
    assert!(is_there != is_missing, "{shown}: {listed}");
    let beside = async {
        for _ in 0..5 {
            let begun = Instant::now();
            assert_eq!(
                call(client, "alpha", "").await.as_deref(),
                Ok("alpha"),
                "{shown}"
            );
            assert!(
                begun.elapsed() < Duration::from_secs(2),
                "{shown}: it waits for another"
            );
        }
    };
    let (called, ()) = tokio::join!(call(client, "back", "first"), beside);
    match called {
        Ok(text) => assert_eq!(text, "first", "{shown}"),
        Err(error) => assert!(is_honest(&error), "{shown}: {error}"),
    }
    if !heals {
        return;
    }
    // It is there again, without a word of the client.
    let begun = Instant::now();
    loop {
        match call(client, "back", "later").await {
            Ok(text) => break assert_eq!(text, "later", "{shown}"),
            Err(error) => assert!(is_honest(&error), "{shown}: {error}"),
        }
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{shown}: it stays away"
        );
        sleep(Duration::from_millis(100)).await;
    }
}

/// One failure, at its first request of a step; after that all is well.
async fn fails_once(n: usize, at: &'static str, how: &'static str, reply: Reply) {
    for theirs in ERAS {
        let ours = ERAS[(n + usize::from(theirs == ERAS[1])) % 2];
        let shown = format!("{ours} to {theirs}: {how} at {at}");
        let (failed, runs) = (AtomicBool::new(false), Arc::new(AtomicUsize::new(0)));
        let (seen, reply) = (runs.clone(), reply.clone());
        let web = Web::serve(move |asked| {
            let fails = step(asked) == Some(at) && !failed.swap(true, Ordering::SeqCst);
            if step(asked) == Some("tools/call") {
                seen.fetch_add(1, Ordering::SeqCst);
            }
            if fails {
                reply.clone()
            } else {
                as_usual(asked, "s")
            }
        })
        .await;
        let target = polyport::client::Target::new(&web.url("/mcp")).unwrap();
        let bad = Upstream::new("bad", impatient(Connect::http(target), theirs));
        let gateway = Gateway::new([bad, upstream(server("a"), "well", theirs)]);
        let client = timeout(SOON, client(gateway, ours)).await;
        let client = client.unwrap_or_else(|_| panic!("{shown}: the opening hangs"));
        looks(&client, &shown, true).await;
        // What the client asked once the server was asked once: nothing is sent again of which is not known whether it was done.
        let tags = web.asked();
        let tags = tags
            .iter()
            .filter(|asked| step(asked) == Some("tools/call"));
        let first = tags
            .filter(|asked| asked.body.contains("\"first\""))
            .count();
        assert!(first <= 1, "{shown}: asked {first} times");
    }
}

// req: S-GATE-FAULTS
#[tokio::test]
async fn a_server_that_fails_once_fails_alone_and_comes_back() {
    let cases = STEPS
        .iter()
        .flat_map(|at| failures().into_iter().map(move |it| (*at, it)));
    let cases = cases
        .enumerate()
        .map(|(n, (at, (how, reply)))| fails_once(n, at, how, reply));
    side_by_side(24, cases).await;
}

/// A server in either era.
const SCRIPT: &str = r#"
at 1
while read -r line; do
  number
  case "$line" in
    *'"server/discover"'*) answer 2 '"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}' ;;
    *'"initialize"'*) answer 2 '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"notifications/initialized"'*) at 5 ;;
    *'"tools/list"'*) answer 6 '"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"back","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) answer 9 '"result":{"resultType":"complete","content":[{"type":"text","text":"first"}]}' ;;
  esac
done
"#;

async fn program_fails(n: usize, step: u32, how: Fails) {
    let theirs = ERAS[n % 2];
    for ours in ERAS {
        let shown = format!("{ours} to {theirs}: {how:?} at {step}");
        let program = Connect::command(failing(SCRIPT, step, how));
        let bad = Upstream::new("bad", impatient(program, theirs));
        let gateway = Gateway::new([bad, upstream(server("a"), "well", theirs)]);
        let client = timeout(SOON, client(gateway, ours)).await;
        let client = client.unwrap_or_else(|_| panic!("{shown}: the opening hangs"));
        looks(&client, &shown, false).await;
        client.stop().await;
    }
}

// req: S-GATE-FAULTS
#[cfg(unix)]
#[tokio::test]
async fn a_program_that_fails_at_any_step_fails_alone() {
    let cases = (1..=12).flat_map(|step| Fails::ALL.map(|how| (step, how)));
    let cases = cases.enumerate().map(|(n, (step, how))| {
        // Both eras fail at each step in two of the ways.
        program_fails(n + step as usize, step, how)
    });
    side_by_side(8, cases).await;
}

/// A server that is started anew has forgotten the sessions that it gave.
// req: BR-181
#[tokio::test]
async fn br_181_a_session_that_one_server_forgets_is_opened_anew_and_nobody_sees_it() {
    for ours in ERAS {
        let known = Arc::new(Mutex::new(HashSet::<String>::new()));
        let (sessions, opened) = (known.clone(), AtomicUsize::new(0));
        let web = Web::serve(move |asked| {
            let mut known = sessions.lock().unwrap();
            if step(asked) == Some("opening") {
                let session = format!("s{}", opened.fetch_add(1, Ordering::SeqCst));
                known.insert(session.clone());
                return as_usual(asked, &session);
            }
            match asked.header("mcp-session-id") {
                Some(session) if known.contains(session) => as_usual(asked, session),
                _ => Reply::empty("404 Not Found"),
            }
        })
        .await;
        let target = polyport::client::Target::new(&web.url("/mcp")).unwrap();
        let connect = Connect::http(target).speaks(Revisions::NONE.with(ERAS[0]));
        let gateway = Gateway::new([
            Upstream::new("bad", connect),
            upstream(server("a"), "well", ERAS[0]),
        ]);
        let client = client(gateway, ours).await;
        for round in 0..3 {
            let tag = format!("round {round}");
            assert_eq!(call(&client, "back", &tag).await, Ok(tag), "{ours}");
            assert_eq!(call(&client, "alpha", "").await.as_deref(), Ok("alpha"));
            known.lock().unwrap().clear();
        }
        let calls = web
            .asked()
            .into_iter()
            .filter(|asked| step(asked) == Some("tools/call"));
        let answered = calls
            .filter(|asked| asked.header("mcp-session-id").is_some())
            .count();
        assert!((3..=5).contains(&answered), "{ours}: {answered}");
        assert_eq!(
            web.heard().iter().filter(|it| *it == "initialize").count(),
            3,
            "{ours}"
        );
    }
}
