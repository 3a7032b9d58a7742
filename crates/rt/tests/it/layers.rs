//! What stands around a handler: time-outs, bounds, spans, and layers of an author's own.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use polyport_proto::{Outcome, RpcError};
use polyport_rt::layer::{AtMost, Timeout, Trace};
use polyport_rt::{BoxFuture, Call, Layer, Next, Service};
use polyport_testkit::asked::{ask, call, said, tool};
use polyport_testkit::handlers::Puppet;
use polyport_testkit::{Log, Script};
use polyport_wire::Raw;
use serde_json::json;
use tokio::time::Instant;
use tracing::Level;

use crate::{META, OPEN};

const S: fn(u64) -> Duration = Duration::from_secs;

// req: D-23
#[tokio::test(start_paused = true)]
async fn d_23_a_call_that_takes_too_long_is_told_so_and_answered() {
    let layer = Timeout::new(S(30))
        .of_tool("two minutes", S(100))
        .without_tool("slow then two minutes")
        .of_method("resources/read", Duration::from_millis(1_500));
    let puppet = Puppet::default();
    let service = Service::new(puppet.clone()).layer(layer);
    for (name, took, text) in [
        ("echo", 0, "{}"),
        ("slow", 1, "{}"),
        (
            "never",
            32,
            "The tool never did not answer within 30 s and was stopped. Try again, ask for less, or try later",
        ),
        // It ends in its grace, and is answered then.
        (
            "tidy",
            30,
            "The tool tidy did not answer within 30 s and was stopped. Try again, ask for less, or try later",
        ),
        (
            "two minutes",
            102,
            "The tool two minutes did not answer within 100 s and was stopped. Try again, ask for less, or try later",
        ),
        ("slow then two minutes", 121, "{}"),
    ] {
        let begun = Instant::now();
        let outcome = ask(&service, tool(name, None)).await.unwrap();
        assert_eq!(
            (begun.elapsed().as_secs(), said(&outcome).as_str()),
            (took, text),
            "{name}"
        );
        let failed = said(&outcome).contains("stopped");
        let Outcome::Complete(result) = outcome else {
            panic!("{name} ends with a result")
        };
        assert_eq!(result.as_str().contains("\"isError\":true"), failed);
    }
    let seen = &puppet.seen;
    assert_eq!(seen.tidied.load(Ordering::SeqCst), 1, "told first");
    assert_eq!(seen.dropped.load(Ordering::SeqCst), 2, "then dropped");
}

/// Waits for ever, whatever is asked.
async fn never(_call: Call, _next: Next) -> Outcome {
    std::future::pending().await
}

// req: D-23
#[tokio::test(start_paused = true)]
async fn d_23_what_is_no_tool_fails_with_an_error() {
    let layer = Timeout::new(S(5))
        .of_method("resources/read", Duration::from_millis(1_500))
        .advice("Try Oslo");
    let service = Service::new(Puppet::default()).layer(never).layer(layer);
    for (method, params, message) in [
        (
            "prompts/get",
            r#"{"name":"p"}"#,
            "The prompt p did not answer within 5 s and was stopped. Try Oslo",
        ),
        (
            "resources/read",
            r#"{"uri":"x://secret"}"#,
            "resources/read did not answer within 1500 ms and was stopped. Try Oslo",
        ),
        (
            "tools/list",
            "{}",
            "tools/list did not answer within 5 s and was stopped. Try Oslo",
        ),
    ] {
        let log = Log::at(Level::ERROR);
        let outcome = ask(&service, call(method, params, None)).await.unwrap();
        let Outcome::Failed(error) = outcome else {
            panic!("{method} fails")
        };
        assert_eq!(error.message, message);
        assert_eq!(error.code.number(), -32603);
        let data: serde_json::Value = error.data.unwrap().decode().unwrap();
        let logged = log.events("call failed");
        assert_eq!(logged[0].get("error_id"), data["errorId"].as_str().unwrap());
        assert!(!log.text().contains("secret"));
    }
}

/// Takes five seconds for whatever it is asked.
struct Slow;

impl polyport_rt::Handler for Slow {
    async fn call(&self, _call: Call) -> Outcome {
        tokio::time::sleep(S(5)).await;
        Outcome::Complete(Raw::from_static("{}"))
    }
}

// req: D-23
#[tokio::test(start_paused = true)]
async fn d_23_the_time_of_a_tool_is_that_of_no_prompt() {
    let service = Service::new(Slow).layer(Timeout::new(S(30)).of_tool("a", S(1)));
    for (method, took) in [("tools/call", 3), ("prompts/get", 5)] {
        let begun = Instant::now();
        let asked = call(method, r#"{"name":"a"}"#, None);
        ask(&service, asked).await.unwrap();
        assert_eq!(begun.elapsed(), S(took), "{method}");
    }
}

// req: D-23
#[tokio::test(start_paused = true)]
async fn d_23_a_call_whose_time_is_over_says_nothing_more() {
    let tool = |cx: polyport_rt::Context| async move {
        cx.progress(1.0, None, None);
        cx.log(polyport_proto::Level::Error, None, "1");
        cx.cancelled().await;
        cx.progress(2.0, None, None);
        cx.log(polyport_proto::Level::Error, None, "2");
        Ok("late".to_owned())
    };
    let mut peer = Script::connect(crate::tools::service(tool).layer(Timeout::new(S(5))));
    let meta = META.replace(
        "\"_meta\":{",
        "\"_meta\":{\"progressToken\":1,\"io.modelcontextprotocol/logLevel\":\"error\",",
    );
    let script = r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",META}}
        ~ {"params":{"progress":1}}
        ~ {"params":{"data":1}}
        ~ {"id":1,"result":{"isError":true}}
        .
        $
    "#;
    peer.play(&script.replace("META", &meta)).await;
}

// req: D-23, D-12
#[tokio::test(start_paused = true)]
async fn d_23_on_a_connection_it_is_answered_once_and_counted() {
    let service = Service::new(Puppet::default()).layer(Timeout::new(S(5)));
    let mut peer = Script::connect(service.clone());
    peer.play(OPEN).await;
    for meta in ["", &format!(",{META}")] {
        // What is cancelled while it tidies up is not answered; what ends in time is, and nothing comes afterwards.
        peer.play(
            &r#"
            > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"never"META}}
            ~ {"id":1,"result":{"isError":true}}
            > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"never"META}}
            @ 6s
            > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
            > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"META}}
            ~ {"id":3,"result":{}}
            .
        "#
            .replace("META", meta),
        )
        .await;
    }
    let stats = service.stats();
    assert_eq!(
        (stats.timed_out, stats.cancelled, stats.begun, stats.calls),
        (2, 2, 7, 0)
    );
    peer.end().await;
}

// req: D-23
#[tokio::test(start_paused = true)]
async fn d_23_a_question_takes_none_of_the_time_and_is_not_held_up() {
    let service = || Service::new(Puppet::default()).layer(Timeout::new(S(5)));
    let mut peer = Script::connect(service());
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}
        ~ {"id":0}
        > {"jsonrpc":"2.0","method":"notifications/initialized"}
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who"}}
        ~ {"id":1,"method":"elicitation/create"}
        @ 60s
        > {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":1}}}
        < {"jsonrpc":"2.0","id":1,"result":{"who":{"action":"accept","content":{"n":1}}}}
    "#,
    )
    .await;
    // In the modern era the round ends at once: the timer around the call is nothing that the call waits for.
    let mut peer = Script::connect(service());
    let meta = META.replace("{}}", "{\"elicitation\":{}}}");
    let begun = Instant::now();
    peer.play(
        &r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who","arguments":{},META}}
        ~ {"id":1,"result":{"resultType":"input_required"}}
    "#
        .replace("META", &meta),
    )
    .await;
    assert_eq!(begun.elapsed(), S(0));
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_who_finds_no_place_waits_and_is_then_told_so() {
    let layer = AtMost::calls(3).of_tool("two minutes", 1).patience(S(5));
    let service = Service::new(Puppet::default()).layer(layer);
    let first = ask(&service, tool("two minutes", None));
    tokio::time::sleep(Duration::from_millis(1)).await;
    let begun = Instant::now();
    let second = ask(&service, tool("two minutes", None)).await.unwrap();
    assert_eq!(
        said(&second),
        "The tool two minutes was not run: at most 1 call of this tool may run at once, and no place became free within 5 s. Try again when others have finished"
    );
    assert_eq!(begun.elapsed(), S(5));
    // Others go on beside it; a place that becomes free is taken by who waits longest.
    let slow: Vec<_> = (0..4).map(|_| ask(&service, tool("slow", None))).collect();
    let begun = Instant::now();
    for slow in slow {
        assert_eq!(said(&slow.await.unwrap()), "{}");
    }
    assert_eq!(begun.elapsed(), S(2));
    // Nobody needs a place to learn what is offered.
    let all: Vec<_> = (0..2).map(|_| ask(&service, tool("never", None))).collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let discovered = ask(&service, call("server/discover", "{}", None));
    assert!(matches!(discovered.await.unwrap(), Outcome::Complete(_)));
    let begun = Instant::now();
    let prompt = ask(&service, call("prompts/get", r#"{"name":"p"}"#, None));
    let Outcome::Failed(error) = prompt.await.unwrap() else {
        panic!("there is no place")
    };
    assert_eq!(
        (error.code.number(), error.message.as_ref()),
        (
            -32600,
            "The prompt p was not run: at most 3 calls may run at once, and no place became free within 5 s. Try again when others have finished"
        )
    );
    assert_eq!(begun.elapsed(), S(5));
    all.iter().for_each(tokio::task::JoinHandle::abort);
    first.abort();
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_so_many_may_wait_and_a_call_that_is_dropped_leaves_its_place() {
    let layer = AtMost::calls(1).queue(1).patience(S(5));
    let service = Service::new(Puppet::default()).layer(layer);
    let running = ask(&service, tool("never", None));
    tokio::time::sleep(Duration::from_millis(1)).await;
    let waiting = ask(&service, tool("echo", None));
    tokio::time::sleep(Duration::from_millis(1)).await;
    let begun = Instant::now();
    let refused = ask(&service, tool("echo", None)).await.unwrap();
    assert!(
        said(&refused).contains("too many wait already"),
        "{refused:?}"
    );
    assert_eq!(begun.elapsed(), S(0));
    running.abort();
    assert_eq!(said(&waiting.await.unwrap()), "{}");
    // What waits and is dropped leaves nothing behind either.
    let running = ask(&service, tool("never", None));
    tokio::time::sleep(Duration::from_millis(1)).await;
    let waiting = ask(&service, tool("echo", None));
    tokio::time::sleep(Duration::from_millis(1)).await;
    waiting.abort();
    running.abort();
    tokio::time::sleep(Duration::from_millis(1)).await;
    for _ in 0..3 {
        assert_eq!(
            said(&ask(&service, tool("echo", None)).await.unwrap()),
            "{}"
        );
    }
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_one_principal_does_not_take_the_places_of_another() {
    let layer = AtMost::calls(100).of_principal(2).patience(S(1));
    let service = Service::new(Puppet::default()).layer(layer);
    let adas: Vec<_> = (0..2)
        .map(|_| ask(&service, tool("never", Some("ada"))))
        .collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    for (who, let_in) in [(Some("ada"), false), (Some("bob"), true), (None, true)] {
        let outcome = ask(&service, tool("echo", who)).await.unwrap();
        let refused = said(&outcome).contains("at most 2 calls of yours may run at once");
        assert_eq!(refused, !let_in, "{who:?}");
    }
    adas[0].abort();
    let outcome = ask(&service, tool("echo", Some("ada"))).await.unwrap();
    assert_eq!(said(&outcome), "{}");
}

// req: D-12
#[tokio::test(start_paused = true)]
async fn d_12_what_is_turned_away_is_counted() {
    let service = Service::new(Puppet::default()).layer(AtMost::calls(1).patience(S(1)));
    let mut peer = Script::connect(service.clone());
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"never"}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}
        ~ {"id":2,"result":{"isError":true}}
    "#,
    )
    .await;
    let stats = service.stats();
    assert_eq!((stats.refused, stats.calls, stats.begun), (1, 1, 3));
}

/// Lets only one subject call, and list, the tools that begin with `admin`.
struct Allow(&'static str);

impl Layer for Allow {
    fn call(self: Arc<Self>, call: Call, next: Next) -> BoxFuture<Outcome> {
        let principal = call.context.envelope().principal();
        if principal.is_some_and(|p| *p.subject == *self.0) || call.method != "tools/call" {
            return next.run(call);
        }
        let name = call.params.name().unwrap_or_default().into_owned();
        if !name.starts_with("admin") {
            return next.run(call);
        }
        let error = RpcError::invalid_params("not yours");
        let outcome = next.tell(&call, &format!("{name} is not for you"), error);
        Box::pin(std::future::ready(outcome))
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_of_an_authors_own() {
    let stamped = |call: Call, next: Next| async move {
        match next.run(call).await {
            Outcome::Complete(_) => Outcome::Complete(Raw::from_static("{\"stamped\":true}")),
            other => other,
        }
    };
    let puppet = Puppet::default();
    let service = Service::new(puppet.clone())
        .layer(stamped)
        .layer(Allow("ada"));
    for (name, who, want) in [
        ("echo", None, "{\"stamped\":true}"),
        ("admin", Some("bob"), "admin is not for you"),
        ("admin", None, "admin is not for you"),
        ("admin", Some("ada"), "Unknown tool: admin (-32602)"),
    ] {
        let outcome = ask(&service, tool(name, who)).await.unwrap();
        assert_eq!(said(&outcome), want, "{name} {who:?}");
    }
    assert_eq!(puppet.seen.calls.load(Ordering::SeqCst), 2);
    // What belongs to no call passes them all.
    let mut peer = Script::connect(service);
    peer.play(OPEN.split("<").next().unwrap()).await;
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#)
        .await;
    peer.end().await;
    assert_eq!(puppet.seen.notices.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_panics_is_a_handler_that_does() {
    for when in ["at once", "later"] {
        let panics = move |_call: Call, _next: Next| async move {
            if when == "later" {
                tokio::time::sleep(S(1)).await;
            }
            panic!("secret")
        };
        let mut peer = Script::connect(Service::new(Puppet::default()).layer(panics));
        let request = r#"
            > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",META}}
            ~ {"id":1,"error":{"code":-32603,"message":"Internal error"}}
            > {"jsonrpc":"2.0","id":2,"method":"ping"}
            ~ {"id":2,"result":{}}
            $
        "#;
        peer.play(&request.replace("META", META)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_span_around_each_call() {
    let log = Log::at(Level::INFO);
    let service = Service::new(Puppet::default()).layer(Trace::new());
    let mut peer = Script::connect(service);
    peer.play(OPEN).await;
    let request = r#"
        > {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"slow","arguments":{"token":"s3cret"}}}
        ~ {"id":"a","result":{}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"refuses",META}}
        ~ {"id":2,"error":{}}
        > {"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"x://s3cret"}}
        ~ {"id":3,"error":{}}
        > {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"never"}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}
        @ 3s
        $
    "#;
    peer.play(&request.replace("META", META)).await;
    let spans = log.spans();
    let fields = |at: usize| {
        let of = |name: &str| spans[at].get(name).to_owned();
        json!([
            of("otel.name"),
            of("mcp.method.name"),
            of("gen_ai.tool.name"),
            of("jsonrpc.request.id"),
            of("mcp.protocol.version"),
            of("error.type"),
            of("rpc.response.status_code"),
        ])
    };
    for (at, want) in [
        json!(["initialize", "initialize", "", "0", "2025-06-18", "", ""]),
        json!([
            "tools/call slow",
            "tools/call",
            "slow",
            "\"a\"",
            "2025-06-18",
            "",
            ""
        ]),
        json!([
            "tools/call refuses",
            "tools/call",
            "refuses",
            "2",
            "2026-07-28",
            "-32602",
            "-32602"
        ]),
        json!([
            "resources/read",
            "resources/read",
            "",
            "3",
            "2025-06-18",
            "-32602",
            "-32602"
        ]),
        json!([
            "tools/call never",
            "tools/call",
            "never",
            "4",
            "2025-06-18",
            "cancelled",
            ""
        ]),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(fields(at), want);
        assert_eq!(spans[at].get("network.transport"), "pipe");
        assert!(spans[at].closed, "{at}");
    }
    assert_eq!(spans.len(), 5);
    assert!(!log.text().contains("s3cret"), "{}", log.text());
}
