//! Questions in the middle of a call: requests of their own in the legacy era, rounds in the modern one.

use std::sync::atomic::Ordering;
use std::time::Duration;

use polyport_rt::{SealKey, Service};
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

async fn modern(script: &str) {
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

#[tokio::test(start_paused = true)]
async fn a_retry_may_leave_out_arguments_that_were_empty_or_give_them() {
    let none = [
        "",
        "\"arguments\":null,",
        "\"arguments\":{},",
        "\"arguments\": { } ,",
    ];
    let some = ["\"arguments\":{\"a\":{}},", "\"arguments\":{\"\":0},"];
    for first in none.into_iter().chain(some) {
        let mut peer = Script::connect(Service::new(Puppet::default()));
        let call = |rest: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"asks who",{rest}{}}}}}"#,
                meta(ALL)
            )
        };
        peer.send(&call(first)).await;
        let asked = peer.receive().await.unwrap();
        let state = &asked["result"]["requestState"];
        for then in none.into_iter().chain(some) {
            let answers = r#""inputResponses":{"who":{"action":"decline"}},"#;
            peer.send(&call(&format!("{then}\"requestState\":{state},{answers}")))
                .await;
            let end = peer.receive().await.unwrap();
            let is_same = first == then || (none.contains(&first) && none.contains(&then));
            let is_refused = end["error"]["code"] == -32602;
            assert!(is_refused != is_same, "{first:?} {then:?}: {end}");
            assert_eq!(
                end["result"]["who"]["action"] == "decline",
                is_same,
                "{end}"
            );
        }
    }
}

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

// req: Q-MODERN
#[tokio::test(start_paused = true)]
async fn a_modern_client_is_asked_by_the_result() {
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who","arguments":{"b":1,"a":[true]},META}}
        ~ {"id":1,"result":{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"requestState":"STATE","inputResponses":{"who":{"action":"accept","content":{"n":1}}},"arguments":{"a":[true],"b":1.0},"name":"asks who",META}}
        < {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","who":{"action":"accept","content":{"n":1}}}}
        $
    "#,
    )
    .await;
}

// req: Q-MODERN
#[tokio::test(start_paused = true)]
async fn rounds_remember_earlier_answers_and_steps() {
    let puppet = Puppet::default();
    let mut peer = Script::connect(Service::new(puppet.clone()));
    let script = r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"counts s then asks a b+roots",META}}
        ~ {"id":1,"result":{"resultType":"input_required","inputRequests":{"a":{}}}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"counts s then asks a b+roots","requestState":"STATE","inputResponses":{"a":{"action":"accept"},"zzz":7},META}}
        ~ {"id":2,"result":{"resultType":"input_required","inputRequests":{"b":{},"roots":{"method":"roots/list"}}}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"counts s then asks a b+roots","requestState":"STATE","inputResponses":{"b":{"action":"cancel"}},META}}
        ~ {"id":3,"result":{"resultType":"input_required","inputRequests":{"roots":{"method":"roots/list"}}}}
        > {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"counts s then asks a b+roots","requestState":"STATE","inputResponses":{"roots":{"roots":[]}},META}}
        < {"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","a":{"action":"accept"},"b":{"action":"cancel"},"roots":{"roots":[]}}}
        $
    "#;
    peer.play(&script.replace("META", &meta(ALL))).await;
    assert_eq!(puppet.seen.steps.load(Ordering::SeqCst), 1);
    assert_eq!(puppet.seen.calls.load(Ordering::SeqCst), 4);
}

// req: V-314
#[tokio::test(start_paused = true)]
async fn v_314_a_state_is_of_one_request() {
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},META}}
        ~ {"id":1,"result":{"resultType":"input_required"}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asks who","arguments":{"a":2},"requestState":"STATE","inputResponses":{"who":{"action":"accept"}},META}}
        ~ {"id":2,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"asks them","arguments":{"a":1},"requestState":"STATE","inputResponses":{"who":{"action":"accept"}},META}}
        ~ {"id":3,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"name":"asks who","arguments":{"a":1},"uri":"u","requestState":"STATE",META}}
        ~ {"id":4,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":13,"method":"prompts/get","params":{"name":"asks who","arguments":{"a":1},"requestState":"STATE",META}}
        ~ {"id":13,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":"STATE-TAMPERED","inputResponses":{"who":{"action":"accept"}},META}}
        ~ {"id":5,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":7,"inputResponses":{"who":{"action":"accept"}},META}}
        ~ {"id":6,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":"",META}}
        ~ {"id":7,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":"STATE","inputResponses":{"who":12345},META}}
        ~ {"id":8,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":"STATE","inputResponses":[],META}}
        ~ {"id":9,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":"STATE","inputResponses":null,META}}
        ~ {"id":10,"result":{"resultType":"input_required","inputRequests":{"who":{}}}}
        > {"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"inputResponses":{"who":12345},META}}
        ~ {"id":11,"result":{"resultType":"input_required","inputRequests":{"who":{}}}}
        > {"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":"STATE","inputResponses":{"who":{"action":"accept"}},META}}
        ~ {"id":12,"result":{"resultType":"complete"}}
        $
    "#,
    )
    .await;
}

// req: V-314
#[tokio::test(start_paused = true)]
async fn a_state_ends_and_replicas_share_it() {
    let ask = r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who",META}}
        ~ {"id":1,"result":{"resultType":"input_required"}}"#;
    let retry = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asks who","requestState":"STATE","inputResponses":{"who":{"action":"accept"}},META}}"#;
    let key = |byte| SealKey::new([byte; 32]);
    for (life, ours, theirs, good) in [
        (3_600, vec![key(1)], vec![key(1)], true),
        (3_600, vec![key(1)], vec![key(2), key(1)], true),
        (3_600, vec![key(1)], vec![key(2)], false),
        (3_600, vec![], vec![], false),
        (0, vec![key(1)], vec![key(1)], false),
    ] {
        let bounds = limits(|limits| limits.state_life = Duration::from_secs(life));
        let mut first = Script::connect(
            Service::new(Puppet::default())
                .limits(bounds.clone())
                .seal_keys(ours),
        );
        first.play(&ask.replace("META", &meta(ALL))).await;
        let state = first.state().to_owned();
        let mut second = Script::connect(
            Service::new(Puppet::default())
                .limits(bounds)
                .seal_keys(theirs),
        );
        second
            .send(&retry.replace("META", &meta(ALL)).replace("STATE", &state))
            .await;
        let answer = second.receive().await.unwrap();
        assert_eq!(answer.get("result").is_some(), good, "{answer}");
    }
}

// req: Q-MODERN
#[tokio::test(start_paused = true)]
async fn a_client_may_know_what_will_be_asked() {
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who roots","inputResponses":{"who":{"action":"accept"},"zzz":{"action":"accept"}},META}}
        ~ {"id":1,"result":{"resultType":"input_required","inputRequests":{"roots":{}}}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asks who roots","requestState":"STATE","inputResponses":{"roots":{"roots":[]}},META}}
        < {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","who":{"action":"accept"},"roots":{"roots":[]}}}
        $
    "#,
    )
    .await;
}

// req: Q-LONG
#[tokio::test(start_paused = true)]
async fn what_is_too_long_to_travel_stays_here() {
    let text = "x".repeat(100_000);
    let bounds = limits(|limits| limits.state_store_bytes = 250_000);
    let mut peer = Script::connect(Service::new(Puppet::default()).limits(bounds));
    let ask = r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks a b",META}}
        ~ {"id":1,"result":{"inputRequests":{"a":{}}}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asks a b","requestState":"STATE","inputResponses":{"a":{"action":"accept","content":{"t":"TEXT"}}},META}}
        ~ {"id":2,"result":{"inputRequests":{"b":{}}}}
    "#;
    let ask = ask.replace("META", &meta(ALL)).replace("TEXT", &text);
    let retry = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"asks a b","requestState":"STATE","inputResponses":{"b":{"action":"accept"}},META}}"#;
    let mut states = Vec::new();
    for _ in 0..3 {
        peer.play(&ask).await;
        assert!(peer.state().len() < 200, "{}", peer.state());
        states.push(peer.state().to_owned());
    }
    for (state, good) in states.iter().zip([false, true, true]) {
        peer.send(&retry.replace("META", &meta(ALL)).replace("STATE", state))
            .await;
        let answer = peer.receive().await.unwrap();
        let whole = answer["result"]["a"]["content"]["t"].as_str() == Some(&text);
        assert_eq!(whole, good, "the oldest made room");
    }
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
