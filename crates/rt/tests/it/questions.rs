//! Questions in the middle of a call: requests of their own in the legacy era, rounds in the modern one.

use std::time::Duration;

use polyport_rt::Service;
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;

use crate::{check, limits};

/// What a client says that can be asked everything.
pub(crate) const ALL: &str =
    r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}"#;

pub(crate) fn open(capabilities: &str) -> String {
    format!(
        r#"
        > {{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"t","version":"1"}}}}}}
        ~ {{"jsonrpc":"2.0","id":0,"result":{{}}}}
        > {{"jsonrpc":"2.0","method":"notifications/initialized"}}
    "#
    )
}

async fn legacy(script: &str) {
    check(&format!("{}{script}", open(ALL))).await;
}

pub(crate) fn meta(capabilities: &str) -> String {
    format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}}}"#
    )
}

pub(crate) async fn modern(script: &str) {
    check(&script.replace("META", &meta(ALL))).await;
}

// req: Q-LEGACY
#[tokio::test(start_paused = true)]
async fn a_legacy_client_is_asked_by_a_request_of_ours() {
    legacy(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who"}}
        < {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}
        > {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":1}}}
        < {"jsonrpc":"2.0","id":1,"result":{"who":{"action":"accept","content":{"n":1}}}}
        > {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"asks who roots"}}
        ~ {"id":2,"method":"elicitation/create"}
        > {"jsonrpc":"2.0","id":2,"result":{"action":"decline"}}
        < {"jsonrpc":"2.0","id":3,"method":"roots/list"}
        > {"jsonrpc":"2.0","id":3,"result":{"roots":[]}}
        < {"jsonrpc":"2.0","id":"b","result":{"who":{"action":"decline"},"roots":{"roots":[]}}}
        $
    "#,
    )
    .await;
}

// req: Q-LEGACY
#[tokio::test(start_paused = true)]
async fn several_legacy_questions_are_open_at_once_and_answered_in_any_order() {
    legacy(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who+model+roots"}}
        ~ {"id":1,"method":"elicitation/create"}
        ~ {"id":2,"method":"sampling/createMessage"}
        ~ {"id":3,"method":"roots/list"}
        > {"jsonrpc":"2.0","id":3,"result":{"roots":[]}}
        > {"jsonrpc":"2.0","id":99,"result":{"roots":[]}}
        > {"jsonrpc":"2.0","id":"1","result":{"action":"accept"}}
        > {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
        > {"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}
        > {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo"}}
        < {"jsonrpc":"2.0","id":4,"result":{}}
        > {"jsonrpc":"2.0","id":2,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"t"}}}
        ~ {"id":1,"result":{"who":{"action":"accept"},"roots":{"roots":[]}}}
        .
        $
    "#,
    )
    .await;
}

// req: Q-REFUSED
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_none_ends_the_call() {
    for (answer, words) in [
        (
            r#""error":{"code":-1,"message":"User rejected sampling request"}"#,
            "User rejected sampling request",
        ),
        (r#""result":{"action":"perhaps"}"#, "cannot be read"),
        (r#""result":[]"#, "must be an object"),
    ] {
        let mut peer = Script::connect(Service::new(Puppet::default()));
        peer.play(&open(ALL)).await;
        peer.play(
            r#"
            > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who"}}
            ~ {"id":1,"method":"elicitation/create"}
        "#,
        )
        .await;
        peer.send(&format!(r#"{{"jsonrpc":"2.0","id":1,{answer}}}"#))
            .await;
        let end = peer.receive().await.unwrap().to_string();
        assert!(end.contains("-32602") && end.contains(words), "{end}");
    }
}

const BAD_ANSWERS: [(&str, &str); 6] = [
    (
        r#""jsonrpc":"2.0","result":{"action":"accept"},"error":{"code":1,"message":"x"}"#,
        "more than one of `method`, `result` and `error`",
    ),
    (r#""jsonrpc":"2.0""#, "neither `result` nor `error`"),
    (
        r#""jsonrpc":"2.0","resutl":{}"#,
        "neither `result` nor `error`",
    ),
    (
        r#""result":{"action":"accept"}"#,
        "lacks `\"jsonrpc\":\"2.0\"`",
    ),
    (r#""jsonrpc":"2","error":{}"#, "lacks `\"jsonrpc\":\"2.0\"`"),
    (
        r#""jsonrpc":"2.0","result":{"action":"accept"},"result":{"action":"decline"}"#,
        "a key twice",
    ),
];

// req: Q-REFUSED
#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_ends_its_question_at_once() {
    for (answer, words) in BAD_ANSWERS {
        let mut peer = Script::connect(Service::new(Puppet::default()));
        peer.play(&open(ALL)).await;
        peer.play(
            r#"
            > {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"asks who"}}
            ~ {"id":1,"method":"elicitation/create"}
        "#,
        )
        .await;
        let begun = tokio::time::Instant::now();
        peer.send(&format!(r#"{{"id":1,{answer}}}"#)).await;
        let end = peer.receive().await.unwrap();
        assert_eq!(end["id"], 7, "{answer}: {end}");
        let message = end["error"]["message"].as_str().unwrap();
        let whole = format!("The client's answer cannot be read: it has {words}");
        let whole = whole.replace("has lacks", "lacks");
        assert!(message.starts_with(&whole), "{answer}: {message}");
        assert!(begun.elapsed() < Duration::from_secs(1), "{answer}");
        // A faulty request under the same id is no answer, and what answers nothing is as before.
        peer.play(
            r#"
            > {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"asks who"}}
            ~ {"id":2,"method":"elicitation/create"}
            > {"jsonrpc":"2.0","id":2,"method":5}
            ~ {"id":2,"error":{"code":-32600}}
            > {"jsonrpc":"2.0","id":9}
            ~ {"id":9,"error":{"code":-32600}}
            > {"jsonrpc":"2.0","id":2,"result":{"action":"decline"}}
            ~ {"id":8,"result":{"who":{"action":"decline"}}}
            $
        "#,
        )
        .await;
    }
}

// req: D-29
#[tokio::test(start_paused = true)]
async fn d_29_a_client_without_the_method_is_told_so_as_the_result_of_a_tool() {
    for asks in ["asks", "gives"] {
        legacy(&r#"
            > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ASKS roots"}}
            ~ {"id":1,"method":"roots/list"}
            > {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}
            < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"The client refused to answer: Method not found (-32601)"}],"isError":true}}
            $
        "#.replace("ASKS", asks)).await;
    }
}

// req: Q-UNSUPPORTED
#[tokio::test(start_paused = true)]
async fn what_a_client_cannot_answer_it_is_not_asked() {
    for (capabilities, keys, lacks) in [
        ("{}", "who", r#"{"elicitation":{"form":{}}}"#),
        (
            r#"{"elicitation":{}}"#,
            "page",
            r#"{"elicitation":{"url":{}}}"#,
        ),
        // A client that shows pages and no forms is sent no form.
        (
            r#"{"elicitation":{"url":{}}}"#,
            "who",
            r#"{"elicitation":{"form":{}}}"#,
        ),
        ("{}", "roots", r#"{"roots":{}}"#),
        (r#"{"roots":{}}"#, "roots+model", r#"{"sampling":{}}"#),
    ] {
        let modern = r#"
            > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks KEYS",META}}
            ~ {"id":1,"error":{"code":-32021,"data":{"requiredCapabilities":LACKS}}}
            > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"gives KEY",META}}
            ~ {"id":2,"error":{"code":-32021}}
            $
        "#;
        let key = keys.split('+').next_back().unwrap();
        let modern = modern
            .replace("KEYS", keys)
            .replace("KEY", key)
            .replace("LACKS", lacks);
        check(&modern.replace("META", &meta(capabilities))).await;
        let legacy = r#"
            > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks KEY"}}
            ~ {"id":1,"result":{"isError":true}}
            $
        "#;
        check(&format!(
            "{}{}",
            open(capabilities),
            legacy.replace("KEY", key)
        ))
        .await;
    }
}

// req: Q-TIMEOUT
#[tokio::test(start_paused = true)]
async fn nobody_answers() {
    legacy(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who"}}
        ~ {"id":1,"method":"elicitation/create"}
        @ 599s
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}
        < {"jsonrpc":"2.0","id":2,"result":{}}
        @ 2s
        < {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        ~ {"id":1,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"impatient who"}}
        ~ {"id":2,"method":"elicitation/create"}
        @ 6s
        < {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
        < {"jsonrpc":"2.0","id":3,"result":{"end":"nobody"}}
        $
    "#,
    )
    .await;
}

// req: D-13
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_asks_no_more() {
    legacy(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who"}}
        ~ {"id":1,"method":"elicitation/create"}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        @ 5s
        > {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
        .
        $
    "#,
    )
    .await;
}

// req: Q-GONE
#[tokio::test(start_paused = true)]
async fn a_client_that_closes_its_side_answers_no_more() {
    let begun = tokio::time::Instant::now();
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(&open(ALL)).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who"}}
        ~ {"id":1,"method":"elicitation/create"}
    "#,
    )
    .await;
    let ended = peer.end().await;
    assert_eq!((ended.cut, ended.broken), (0, false));
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "the drain was not waited for"
    );
}

// req: Q-BOUND
#[tokio::test(start_paused = true)]
async fn a_session_has_so_many_questions_open() {
    let bounds = limits(|limits| limits.questions_per_session = 2);
    let mut peer = Script::connect(Service::new(Puppet::default()).limits(bounds));
    peer.play(&open(ALL)).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks a+b"}}
        ~ {"id":1,"method":"elicitation/create"}
        ~ {"id":2,"method":"elicitation/create"}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asks c"}}
        ~ {"id":2,"error":{"message":"Too many questions are open: answer one of them first"}}
        > {"jsonrpc":"2.0","id":2,"result":{"action":"cancel"}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"asks c"}}
        ~ {"id":3,"method":"elicitation/create"}
        > {"jsonrpc":"2.0","id":3,"result":{"action":"accept"}}
        ~ {"id":3,"result":{"c":{"action":"accept"}}}
        > {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
        ~ {"id":1,"result":{"a":{"action":"accept"},"b":{"action":"cancel"}}}
        $
    "#,
    )
    .await;
}

// req: Q-ROUND
#[tokio::test(start_paused = true)]
async fn a_round_ends_when_only_questions_are_left() {
    let begun = tokio::time::Instant::now();
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow then asks who",META}}
        ~ {"id":1,"result":{"resultType":"input_required","inputRequests":{"who":{}}}}
    "#,
    )
    .await;
    assert_eq!(
        begun.elapsed(),
        Duration::from_secs(1),
        "a round needs no time of its own"
    );
    // A timer could wake this one, too: its round ends when nothing else has come of it for a second.
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"impatient who",META}}
        ~ {"id":1,"result":{"resultType":"input_required","inputRequests":{"who":{}}}}
        $
    "#,
    )
    .await;
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
}

// req: Q-GIVEN
#[tokio::test(start_paused = true)]
async fn a_handler_may_give_back_its_questions() {
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gives a wait b",META}}
        ~ {"id":1,"result":{"resultType":"input_required","inputRequests":{"a":{}}}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"gives a wait b","requestState":"STATE","inputResponses":{"a":{"action":"decline"}},META}}
        ~ {"id":2,"result":{"resultType":"input_required"}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"gives a wait b","requestState":"STATE",META}}
        ~ {"id":3,"result":{"resultType":"input_required","inputRequests":{"b":{}}}}
        > {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"gives a wait b","requestState":"STATE","inputResponses":{"b":{"action":"accept"}},META}}
        < {"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","a":{"action":"decline"},"b":{"action":"accept"}}}
        $
    "#,
    )
    .await;
    legacy(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gives a wait b"}}
        ~ {"id":1,"method":"elicitation/create"}
        > {"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}
        ~ {"id":2,"method":"elicitation/create"}
        > {"jsonrpc":"2.0","id":2,"result":{"action":"accept"}}
        < {"jsonrpc":"2.0","id":1,"result":{"a":{"action":"decline"},"b":{"action":"accept"}}}
        $
    "#,
    )
    .await;
}

// req: Q-AUTHOR
#[tokio::test(start_paused = true)]
async fn faults_of_the_author_are_internal_errors() {
    // A key used twice, twice in one round, no question and no state.
    for name in ["asks a a", "asks a+a", "gives twice", "gives nothing"] {
        let mut peer = Script::connect(Service::new(Puppet::default()));
        let call =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"NAME",META}}"#;
        let call = call.replace("NAME", name).replace("META", &meta(ALL));
        peer.send(&call).await;
        let mut answer = peer.receive().await.unwrap();
        if answer.get("result").is_some() {
            let state =
                r#""requestState":"STATE","inputResponses":{"a":{"action":"accept"}},"_meta""#;
            peer.send(&call.replace("\"_meta\"", &state.replace("STATE", peer.state())))
                .await;
            answer = peer.receive().await.unwrap();
        }
        assert_eq!(answer["error"]["code"], -32603, "{name}: {answer}");
        assert!(
            answer["error"]["data"]["errorId"].is_string(),
            "{name}: {answer}"
        );
    }
}
