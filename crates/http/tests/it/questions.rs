//! Questions to the client in the middle of a call: on the stream of that call, answered by a POST of its own.

use std::sync::Arc;
use std::time::Duration;

use polyport_http::{Config, Endpoint};
use polyport_proto::Limits;
use polyport_rt::Service;
use polyport_testkit::handlers::Puppet;
use serde_json::Value;

use crate::sessions::Tokens;
use crate::{
    CALL, Got, INITIALIZE, INITIALIZED, PING, PLAIN, Stream, V, call, call_with_token, cancel,
    endpoint, endpoint_with, modern, post, request, send, stream,
};

/// Opens a session of a client that can be asked everything.
pub(crate) async fn open_able(endpoint: &Endpoint, revision: &str) -> String {
    let session = begin_able(endpoint, revision).await;
    post(endpoint, &[("mcp-session-id", &session)], INITIALIZED).await;
    session
}

/// The same of one that has not said yet that it is ready.
pub(crate) async fn begin_able(endpoint: &Endpoint, revision: &str) -> String {
    let initialize = able().replace("2025-06-18", revision);
    post(endpoint, &[], &initialize).await.session()
}

pub(crate) fn able() -> String {
    let able = "\"capabilities\":{\"elicitation\":{},\"sampling\":{},\"roots\":{}}";
    INITIALIZE.replace("\"capabilities\":{}", able)
}

pub(crate) fn answer(id: &Value, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

pub(crate) async fn post_in(endpoint: &Endpoint, session: &str, body: &str) -> Got {
    post(endpoint, &[("mcp-session-id", session)], body).await
}

pub(crate) async fn begin(endpoint: &Endpoint, session: &str, body: &str) -> Stream {
    stream(endpoint, "POST", &[("mcp-session-id", session)], body).await
}

/// The next message, which asks.
pub(crate) async fn question(stream: &mut Stream) -> Value {
    loop {
        let event = stream.next().await.expect("a question");
        if !event.data.is_empty() {
            let asked: Value = serde_json::from_str(&event.data).unwrap();
            assert!(
                asked["method"].is_string() && asked["id"].is_i64(),
                "{asked}"
            );
            return asked;
        }
    }
}

pub(crate) const ACCEPT: &str = r#"{"action":"accept","content":{}}"#;
pub(crate) const ROOTS: &str = r#"{"roots":[]}"#;

// req: Q-LEGACY
#[tokio::test(start_paused = true)]
async fn a_call_asks_on_its_own_stream() {
    for (revision, keys, method, result) in [
        ("2024-11-05", "roots", "roots/list", ROOTS),
        ("2025-03-26", "roots", "roots/list", ROOTS),
        ("2025-06-18", "form", "elicitation/create", ACCEPT),
        ("2025-11-25", "form", "elicitation/create", ACCEPT),
    ] {
        let endpoint = endpoint();
        let session = open_able(&endpoint, revision).await;
        let id = [("mcp-session-id", session.as_str())];
        let mut general = stream(&endpoint, "GET", &id, "").await;
        if revision == "2025-11-25" {
            general.next().await;
        }
        let mut asking = begin(&endpoint, &session, &call(7, &format!("asks {keys}"))).await;
        let asked = question(&mut asking).await;
        assert_eq!(asked["method"], method, "{revision}");
        let taken = post_in(&endpoint, &session, &answer(&asked["id"], result)).await;
        assert_eq!((taken.status, taken.text.as_str()), (202, ""));
        let (_, answered) = asking.message().await;
        let want: Value = serde_json::from_str(result).unwrap();
        assert_eq!(
            (&answered["id"], &answered["result"][keys]),
            (&7.into(), &want)
        );
        assert!(asking.next().await.is_none());
        assert!(general.is_silent().await, "it belongs to a call");
        // A second answer is one too many, and harms nobody.
        let late = post_in(&endpoint, &session, &answer(&asked["id"], result)).await;
        assert_eq!(late.status, 202);
    }
}

// req: Q-LEGACY
// req: L-RESUME
#[tokio::test(start_paused = true)]
async fn a_question_waits_for_a_client_that_is_away() {
    let endpoint = endpoint();
    let session = open_able(&endpoint, "2025-11-25").await;
    let mut first = begin(&endpoint, &session, &call(1, "asks form")).await;
    let asked = question(&mut first).await;
    drop(first);
    tokio::time::sleep(Duration::from_secs(50)).await;
    let id = ("mcp-session-id", session.as_str());
    let mut again = stream(&endpoint, "GET", &[id, ("last-event-id", "1-0")], "").await;
    assert_eq!(
        question(&mut again).await,
        asked,
        "the same question, not another"
    );
    post_in(&endpoint, &session, &answer(&asked["id"], ACCEPT)).await;
    let rest = again.rest().await;
    assert_eq!(rest[0].1["result"]["form"]["action"], "accept");
    // A call that has sent its client away asks meanwhile.
    let released = call(2, "releases then slow then asks form");
    assert_eq!(
        begin(&endpoint, &session, &released)
            .await
            .rest()
            .await
            .len(),
        0
    );
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut again = stream(&endpoint, "GET", &[id, ("last-event-id", "2-0")], "").await;
    let asked = question(&mut again).await;
    post_in(&endpoint, &session, &answer(&asked["id"], ACCEPT)).await;
    assert_eq!(again.rest().await[0].1["id"], 2);
}

// req: Q-TIMEOUT
#[tokio::test(start_paused = true)]
async fn who_waits_no_more_says_so() {
    let endpoint = endpoint();
    let session = open_able(&endpoint, "2025-06-18").await;
    let mut asking = begin(&endpoint, &session, &call(1, "impatient form")).await;
    let asked = question(&mut asking).await;
    let (_, cancelled) = asking.message().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    assert_eq!(asking.message().await.1["result"]["end"], "nobody");
    // A client that cancels the call itself is told nothing more.
    let mut asking = begin(&endpoint, &session, &call(2, "asks form")).await;
    let asked = question(&mut asking).await;
    post_in(&endpoint, &session, &cancel(2)).await;
    assert_eq!(asking.rest().await.len(), 0);
    let late = post_in(&endpoint, &session, &answer(&asked["id"], ACCEPT)).await;
    assert_eq!(late.status, 202);
}

// req: D-29
// req: D-11
#[tokio::test(start_paused = true)]
async fn a_client_without_a_stream_or_a_session_is_not_asked() {
    let endpoint = endpoint();
    let session = open_able(&endpoint, "2025-06-18").await;
    let json = [
        PLAIN[0],
        PLAIN[1],
        ("accept", "application/json"),
        ("mcp-session-id", &session),
    ];
    let got = send(&endpoint, "POST", &json, &call(1, "asks form")).await;
    assert_eq!(got.headers["content-type"], "application/json");
    let told = "\"text\":\"The client cannot be asked this: its request takes no stream on which to ask (text/event-stream)\"";
    assert!(
        got.text.contains(told) && got.text.contains("\"isError\":true"),
        "{got:?}"
    );
    let config = Config {
        sessions: false,
        ..Config::default()
    };
    let endpoint = Endpoint::new(Service::new(Puppet::default()), config);
    let got = post(
        &endpoint,
        &[("mcp-protocol-version", "2025-06-18")],
        &call(1, "asks form"),
    )
    .await;
    // It has said nothing of what it can do.
    assert!(
        got.text.contains("Missing required client capability"),
        "{got:?}"
    );
}

// req: Q-REFUSED
#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_ends_its_question_at_once() {
    for (answer, words) in [
        (
            r#""jsonrpc":"2.0","result":{"action":"accept"},"error":{"code":1,"message":"x"}"#,
            "it has more than one of",
        ),
        (r#""jsonrpc":"2.0""#, "it has neither"),
        (r#""result":{"action":"accept"}"#, "it lacks"),
    ] {
        let endpoint = endpoint();
        let session = open_able(&endpoint, "2025-06-18").await;
        let other = open_able(&endpoint, "2025-06-18").await;
        let mut asking = begin(&endpoint, &session, &call(7, "asks form")).await;
        let id = &question(&mut asking).await["id"];
        let answer = format!("{{\"id\":{id},{answer}}}");
        // What another session says under that id ends nothing.
        assert_eq!(post_in(&endpoint, &other, &answer).await.status, 400);
        assert!(asking.is_silent().await);
        let got = post_in(&endpoint, &session, &answer).await;
        assert_eq!(got.status, 400, "{answer}");
        let end = asking.message().await.1;
        assert_eq!(end["id"], 7);
        let message = end["error"]["message"].as_str().unwrap();
        let said = format!("The client's answer cannot be read: {words}");
        assert!(message.starts_with(&said), "{answer}: {message}");
    }
}

// req: Q-LEGACY
// req: L-BATCH
#[tokio::test(start_paused = true)]
async fn an_answer_may_come_in_a_batch() {
    for beside in ["", PING] {
        let endpoint = endpoint();
        let session = open_able(&endpoint, "2025-03-26").await;
        let mut asking = begin(&endpoint, &session, &call(7, "asks roots")).await;
        let asked = question(&mut asking).await;
        let mut batch = vec![answer(&asked["id"], ROOTS)];
        batch.extend((!beside.is_empty()).then(|| beside.to_owned()));
        let got = post_in(&endpoint, &session, &format!("[{}]", batch.join(","))).await;
        if beside.is_empty() {
            assert_eq!((got.status, got.text.as_str()), (202, ""));
        } else {
            assert_eq!(
                got.json(),
                serde_json::json!([{"jsonrpc": "2.0", "id": 1, "result": {}}])
            );
        }
        assert_eq!(
            asking.message().await.1["result"]["roots"]["roots"],
            serde_json::json!([])
        );
    }
}

// req: V-310
#[tokio::test(start_paused = true)]
async fn v_310_answers_do_not_cross() {
    let endpoint = endpoint();
    let (one, two) = (
        open_able(&endpoint, "2025-06-18").await,
        open_able(&endpoint, "2025-06-18").await,
    );
    let mut first = begin(&endpoint, &one, &call(1, "asks form")).await;
    let mut second = begin(&endpoint, &two, &call(1, "asks form")).await;
    let mut third = begin(&endpoint, &two, &call(2, "asks form")).await;
    let asked = question(&mut first).await;
    assert_eq!(
        question(&mut second).await["id"],
        asked["id"],
        "each session counts for itself"
    );
    let other = question(&mut third).await;
    assert_ne!(other["id"], asked["id"]);
    for (session, id, name) in [
        (&two, &other["id"], "c"),
        (&two, &asked["id"], "b"),
        (&one, &asked["id"], "a"),
    ] {
        let content = format!(r#"{{"action":"accept","content":{{"who":"{name}"}}}}"#);
        assert_eq!(
            post_in(&endpoint, session, &answer(id, &content))
                .await
                .status,
            202
        );
    }
    for (stream, name) in [(&mut first, "a"), (&mut second, "b"), (&mut third, "c")] {
        let (_, answered) = stream.message().await;
        assert_eq!(answered["result"]["form"]["content"]["who"], name);
    }
}

// req: V-314
#[tokio::test(start_paused = true)]
async fn v_314_a_state_is_its_principals() {
    let config = Config {
        authorize: Some(Arc::new(Tokens)),
        ..Config::default()
    };
    let endpoint = Endpoint::new(Service::new(Puppet::default()), config);
    let ask = modern("tools/call", r#""name":"asks form""#).replace(
        "clientCapabilities\":{}",
        "clientCapabilities\":{\"elicitation\":{}}",
    );
    let headers = |who| [("authorization", who), V, CALL, ("mcp-name", "asks form")];
    let asked = post(&endpoint, &headers("Bearer ada"), &ask).await.json();
    let state = asked["result"]["requestState"].as_str().unwrap();
    let back = format!(r#""requestState":"{state}","inputResponses":{{"form":{ACCEPT}}},"_meta""#);
    let retry = ask.replace("\"_meta\"", &back);
    let stolen = post(&endpoint, &headers("Bearer bob"), &retry).await;
    assert_eq!(
        (stolen.status, stolen.code()),
        (200, Some(-32602)),
        "{stolen:?}"
    );
    let own = post(&endpoint, &headers("Bearer ada"), &retry).await.json();
    assert_eq!(own["result"]["form"]["action"], "accept", "{own}");
}

// req: D-35
// req: Q-BOUND
#[tokio::test(start_paused = true)]
async fn d_35_questions_of_a_session_are_bounded() {
    let mut limits = Limits::default();
    limits.questions_per_session = 2;
    let endpoint = endpoint_with(Puppet::default(), limits.clone());
    let session = open_able(&endpoint, "2025-06-18").await;
    let mut open = Vec::new();
    for id in 1..=2 {
        let mut asking = begin(&endpoint, &session, &call(id, "asks form")).await;
        question(&mut asking).await;
        open.push(asking);
    }
    let got = post_in(&endpoint, &session, &call(3, "asks form")).await;
    assert!(got.text.contains("Too many questions"), "{got:?}");
    // In the end nobody waits any more, and there is room again.
    let begun = tokio::time::Instant::now();
    for asking in open {
        let rest = asking.rest().await;
        assert_eq!(rest[0].1["method"], "notifications/cancelled");
    }
    assert!(begun.elapsed() <= limits.question_wait);
    let mut asking = begin(&endpoint, &session, &call(4, "asks form")).await;
    question(&mut asking).await;
}

// req: Q-VISIT
// req: Q-DONE
#[tokio::test(start_paused = true)]
async fn that_a_page_is_done_is_told_on_the_stream_of_its_session() {
    let puppet = Puppet::default();
    let bus = puppet.bus.clone();
    let endpoint = endpoint_with(puppet, Limits::default());
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let able = "\"capabilities\":{\"elicitation\":{\"url\":{}}}";
        let initialize = INITIALIZE.replace("\"capabilities\":{}", able);
        let initialize = initialize.replace("2025-06-18", "2025-11-25");
        let session = post(&endpoint, &[], &initialize).await.session();
        post_in(&endpoint, &session, INITIALIZED).await;
        let refused = post_in(&endpoint, &session, &call(1, "sends away")).await;
        assert_eq!(refused.json()["error"]["code"], -32042, "{}", refused.text);
        let id = &refused.json()["error"]["data"]["elicitations"][0]["elicitationId"];
        sessions.push((session, id.as_str().unwrap().to_owned()));
    }
    let mut streams = Vec::new();
    for (session, id) in &sessions {
        // The first is told before it has a stream, the second after.
        if streams.is_empty() {
            assert!(bus.visited(id));
        }
        let header = [("mcp-session-id", session.as_str())];
        let mut general = stream(&endpoint, "GET", &header, "").await;
        general.next().await;
        if !streams.is_empty() {
            assert!(bus.visited(id));
        }
        let (_, told) = general.message().await;
        assert_eq!(told["method"], "notifications/elicitation/complete");
        assert_eq!(told["params"]["elicitationId"], **id);
        assert!(!bus.visited(id));
        streams.push(general);
    }
    for mut general in streams {
        assert!(general.is_silent().await);
    }
}

// req: Q-LEGACY
// req: D-18
#[tokio::test(start_paused = true)]
async fn a_pair_is_asked_on_its_stream() {
    let endpoint = endpoint();
    let response = endpoint.handle(request("GET", "/sse", PLAIN, "")).await;
    let mut stream = Stream::new(response);
    let target = format!("/{}", stream.next().await.unwrap().data);
    let able = INITIALIZE.replace("\"capabilities\":{}", "\"capabilities\":{\"roots\":{}}");
    let say = async |body: &str| {
        let got = endpoint.handle(request("POST", &target, PLAIN, body)).await;
        assert_eq!(got.status(), 202);
    };
    say(&able).await;
    stream.message().await;
    say(INITIALIZED).await;
    say(&call_with_token(1, "progress then asks roots")).await;
    for n in 1..=3 {
        assert_eq!(stream.message().await.1["params"]["progress"], n);
    }
    let asked = question(&mut stream).await;
    say(&answer(&asked["id"], ROOTS)).await;
    assert_eq!(
        stream.message().await.1["result"]["roots"]["roots"],
        serde_json::json!([])
    );
    // Its end is the end of the question.
    say(&call(2, "asks roots")).await;
    question(&mut stream).await;
    drop(stream);
    assert_eq!(endpoint.sessions(), 0);
}
