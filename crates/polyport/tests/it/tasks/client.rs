//! The client of the SDK where calls become tasks, in both forms.

use polyport::client::{Called, Client, Connect, Task};
use polyport::model::{ElicitResult, Object, TaskStatus};
use polyport::{
    Call, ClientError, Era, Handler, Outcome, Patience, Revisions, RpcError, TaskLimits,
};
use tokio::time::Instant;

use super::*;

fn nothing() -> Raw {
    Raw::from_static("{}")
}

fn eras() -> [Revisions; 2] {
    [Era::Modern, Era::Legacy].map(Revisions::of)
}

fn answering(service: &Service, speaks: Revisions) -> Connect {
    let connect = Connect::service(service.clone()).speaks(speaks);
    connect.on_form(|_| async {
        let content = [("name", Raw::from_static("\"Ada\""))].into_iter();
        ElicitResult::accept(Some(content.collect::<Object>()))
    })
}

async fn begin<'a>(client: &'a Client, tool: &str) -> Task<'a> {
    match client.call_tool_as_task(tool, &nothing(), None).await {
        Ok(Called::Task(task)) => task,
        other => panic!("{tool}: {other:?}"),
    }
}

fn text(result: &polyport::model::CallToolResult) -> String {
    let content = serde_json::to_value(&result.content).unwrap();
    content[0]["text"].as_str().unwrap_or_default().to_owned()
}

// req: T-CLIENT
#[tokio::test(start_paused = true)]
async fn a_task_is_begun_looked_at_and_waited_for_in_both_forms() {
    let service = server(&Seen::default()).into_service();
    for speaks in eras() {
        let client = answering(&service, speaks).connect().await.unwrap();
        let task = begin(&client, "slow").await;
        let state = task.look().await.unwrap();
        assert_eq!(
            (state.status, state.ttl_ms),
            (TaskStatus::Working, Some(3_600_000))
        );
        assert_eq!(text(&task.result(None).await.unwrap()), "slept");
        let asked = begin(&client, "asks").await;
        assert_eq!(text(&asked.result(None).await.unwrap()), "Ada Ada");
        let failed = begin(&client, "fails").await.result(None).await.unwrap();
        assert!(failed.is_failure() && text(&failed) == "no luck");
        match begin(&client, "faulty").await.result(None).await {
            Err(ClientError::Refused(error)) => assert_eq!(error.code, 1001),
            other => panic!("{other:?}"),
        }
        // By its id it is found again.
        let (id, again) = (task.id().to_owned(), client.task(task.id()));
        assert_eq!(text(&again.result(None).await.unwrap()), "slept");
        // By nobody else, where there are sessions.
        let other = answering(&service, speaks).connect().await.unwrap();
        let found = other.task(id).look().await;
        assert_eq!(
            found.is_ok(),
            speaks == Revisions::of(Era::Modern),
            "{found:?}"
        );
    }
}

// req: T-CLIENT
#[tokio::test(start_paused = true)]
async fn a_task_goes_on_unless_it_is_cancelled() {
    for speaks in eras() {
        let seen = Seen::default();
        let client = answering(&server(&seen).into_service(), speaks);
        let client = client.connect().await.unwrap();
        let task = begin(&client, "slow").await;
        match task.result(Some(S(2))).await {
            Err(ClientError::TimedOut(late)) => assert!(late.after >= S(2)),
            other => panic!("{other:?}"),
        }
        let id = task.id().to_owned();
        tokio::time::sleep(S(3)).await;
        assert_eq!(count(&seen.told), 0);
        let task = client.task(id);
        for _ in 0..2 {
            task.cancel().await.unwrap();
        }
        assert_eq!(task.look().await.unwrap().status, TaskStatus::Cancelled);
        let result = task.result(None).await;
        assert!(matches!(result, Err(ClientError::Cancelled)), "{result:?}");
        tokio::time::sleep(S(3)).await;
        assert_eq!((count(&seen.told), count(&seen.dropped)), (1, 1));
        assert!(client.task("unknown").cancel().await.is_err());
    }
}

// req: T-CLIENT
#[tokio::test(start_paused = true)]
async fn a_call_that_becomes_a_task_is_waited_for_as_a_call() {
    let seen = Seen::default();
    let mut limits = TaskLimits::default();
    limits.poll = S(4);
    let service = server(&seen).task_limits(limits).into_service();
    let modern = Revisions::of(Era::Modern);
    let client = answering(&service, modern).connect().await.unwrap();
    // Looked for at 0, 4, 8 and 12 seconds, as the server wants it.
    let before = Instant::now();
    let result = client.call_tool("slow", &nothing()).await.unwrap();
    assert_eq!(
        (text(&result), before.elapsed().as_secs()),
        ("slept".to_owned(), 12)
    );
    for tool in ["asks", "later"] {
        let result = client.call_tool(tool, &nothing()).await.unwrap();
        assert!(text(&result).starts_with("Ada"), "{tool}: {result:?}");
    }
    assert_eq!(
        text(&client.call_tool("must", &nothing()).await.unwrap()),
        "done"
    );
    // Within its bounds: what nobody waits for any more is given up.
    let patience = Patience {
        request: S(5),
        ..Patience::default()
    };
    let client = answering(&service, modern)
        .patience(patience)
        .connect()
        .await
        .unwrap();
    let told = count(&seen.told);
    match client.call_tool("slow", &nothing()).await {
        Err(ClientError::TimedOut(late)) => assert_eq!(late.after.as_secs(), 5),
        other => panic!("{other:?}"),
    }
    tokio::time::sleep(S(1)).await;
    assert_eq!(count(&seen.told), told + 1);
    let dropped = tokio::time::timeout(S(2), client.call_tool("slow", &nothing())).await;
    assert!(dropped.is_err());
    tokio::time::sleep(S(1)).await;
    assert_eq!(count(&seen.told), told + 2);
    // Who cannot answer what it asks does not leave it waiting.
    let client = Connect::service(service.clone()).speaks(modern);
    let client = client.connect().await.unwrap();
    let result = client.call_tool("asks", &nothing()).await;
    assert!(matches!(result, Err(ClientError::Refused(_))), "{result:?}");
}

// req: T-CLIENT
#[tokio::test(start_paused = true)]
async fn a_tool_that_is_only_a_task_is_called_as_one() {
    let seen = Seen::default();
    let slow = seen.clone();
    let server = server(&seen).add_tool(
        Tool::new("patient", "", move |cx: Cx, (): ()| {
            let told = slow.told.clone();
            async move {
                let who: Name = cx.elicit("who", "Who?").await?;
                tokio::select! {
                    () = tokio::time::sleep(S(10)) => Ok(who.name),
                    _ = cx.cancelled() => {
                        told.fetch_add(1, Ordering::SeqCst);
                        std::future::pending().await
                    }
                }
            }
        })
        .task(TaskMode::Required),
    );
    let service = server.into_service();
    let legacy = Revisions::of(Era::Legacy);
    let client = answering(&service, legacy).connect().await.unwrap();
    for (tool, says) in [("must", "done"), ("patient", "Ada")] {
        let result = client.call_tool(tool, &nothing()).await.unwrap();
        assert_eq!(text(&result), says);
    }
    let patience = Patience {
        request: S(5),
        ..Patience::default()
    };
    let hasty = answering(&service, legacy).patience(patience);
    let hasty = hasty.connect().await.unwrap();
    let result = hasty.call_tool("patient", &nothing()).await;
    assert!(
        matches!(result, Err(ClientError::TimedOut(_))),
        "{result:?}"
    );
    tokio::time::sleep(S(1)).await;
    assert_eq!(count(&seen.told), 1);
    // Known from the list, it is not refused first: the list, the call, the result.
    let before = service.stats().begun;
    hasty.tools().await.unwrap();
    assert_eq!(
        text(&hasty.call_tool("must", &nothing()).await.unwrap()),
        "done"
    );
    assert_eq!(service.stats().begun, before + 3);
    match client.call_tool("unknown", &nothing()).await {
        Err(ClientError::Refused(error)) => assert_eq!(error.code, -32602),
        other => panic!("{other:?}"),
    }
}

// req: T-CLIENT
#[tokio::test(start_paused = true)]
async fn who_has_no_tasks_is_not_asked_for_one() {
    let plain = || Server::new("t", "1").tool("plain", "", |_cx, (): ()| async { Ok("plain") });
    for speaks in eras() {
        let client = Connect::service(plain().into_service()).speaks(speaks);
        let client = client.connect().await.unwrap();
        let called = client.call_tool_as_task("plain", &nothing(), None).await;
        assert!(
            matches!(called, Err(ClientError::NotOffered("tasks"))),
            "{called:?}"
        );
    }
    let client = answering(&server(&Seen::default()).into_service(), eras()[0]);
    let client = client.connect().await.unwrap();
    match client.call_tool_as_task("plain", &nothing(), None).await {
        Ok(Called::Done(result)) => assert_eq!(text(&result), "plain"),
        other => panic!("{other:?}"),
    }
}

/// A server that says of its task what it likes.
struct Odd(fn(usize) -> Value, Arc<AtomicUsize>);

impl Handler for Odd {
    async fn call(&self, call: Call) -> Outcome {
        let Self(state, looks) = self;
        let json = match call.method {
            "server/discover" => {
                json!({"capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}})
            }
            "tools/call" => state(0),
            "tasks/get" => state(1 + looks.fetch_add(1, Ordering::SeqCst)),
            "tasks/update" | "tasks/cancel" => json!({}),
            other => return Outcome::Failed(RpcError::method_not_found(other)),
        };
        Outcome::Complete(Raw::encode(&json).unwrap())
    }
}

fn odd(look: usize, poll: &Value, questions: Value, ends: usize) -> Value {
    // As the first answer it is the state of a call, which the edge makes complete: the tool's own result.
    let status = match (look, questions.is_null()) {
        (look, _) if look >= ends => "completed",
        (_, true) => "working",
        (_, false) => "input_required",
    };
    let mut state = json!({
        "taskId": "t", "status": status, "createdAt": "", "lastUpdatedAt": "", "ttlMs": null,
        "pollIntervalMs": poll, "result": {"content": []},
    });
    if status == "input_required" {
        state["inputRequests"] = questions;
    }
    state
}

// req: T-CLIENT
#[tokio::test(start_paused = true)]
async fn a_server_neither_hurries_nor_halts_who_waits() {
    for (state, least, most) in [
        (
            (|look| odd(look, &json!(0), Value::Null, 5)) as fn(usize) -> Value,
            200,
            1_000,
        ),
        // What nobody can wait for says nothing: it is a second then.
        (|look| odd(look, &json!(-7), Value::Null, 5), 4_000, 4_500),
        (
            |look| odd(look, &json!("soon"), Value::Null, 5),
            4_000,
            4_500,
        ),
        (|look| odd(look, &json!(1.5), Value::Null, 5), 4_000, 4_500),
        (
            |look| odd(look, &json!(1_000_000_000_000_i64), Value::Null, 3),
            120_000,
            121_000,
        ),
    ] {
        let client = answering(&Service::new(Odd(state, Arc::default())), eras()[0]);
        let client = client.connect().await.unwrap();
        let before = Instant::now();
        client.task("t").result(None).await.unwrap();
        let took = before.elapsed().as_millis();
        assert!((least..=most).contains(&took), "{took} ms");
    }
    // One that asks without end, or says that it works without end.
    let asks = |look| {
        let question = json!({"method": "elicitation/create", "params": {"message": "", "requestedSchema": {"type": "object", "properties": {}}}});
        odd(
            look,
            &json!(1),
            json!({(format!("k{look}")): question}),
            usize::MAX,
        )
    };
    let client = answering(&Service::new(Odd(asks, Arc::default())), eras()[0]);
    let client = client.connect().await.unwrap();
    let result = client.task("t").result(None).await;
    assert!(matches!(result, Err(ClientError::AsksOn(16))), "{result:?}");
    let works = |look| odd(look, &json!(1_000), Value::Null, usize::MAX);
    let client = answering(&Service::new(Odd(works, Arc::default())), eras()[0]);
    let client = client.connect().await.unwrap();
    let result = client.task("t").result(Some(S(90))).await;
    assert!(
        matches!(result, Err(ClientError::TimedOut(_))),
        "{result:?}"
    );
}

/// A task that has its answers and waits for them is given up, and not looked at as often as its server says.
// req: T-CLIENT
// req: S-ASKS-ON
#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_what_it_has_is_given_up() {
    let states: [fn(usize) -> Value; 2] = [
        |look| odd(look, &json!(1), question(), usize::MAX),
        // Now and then it says that it works.
        |look| {
            let asked = if look % 3 == 0 {
                Value::Null
            } else {
                question()
            };
            odd(look, &json!(1), asked, usize::MAX)
        },
    ];
    for state in states {
        let looks = Arc::default();
        let client = answering(&Service::new(Odd(state, Arc::clone(&looks))), eras()[0]);
        let client = client.connect().await.unwrap();
        let before = Instant::now();
        let result = client.task("t").result(None).await;
        assert!(
            matches!(&result, Err(ClientError::NeedsInput(needed)) if needed.input_requests.is_some()),
            "{result:?}"
        );
        assert!(before.elapsed() < S(60), "{:?}", before.elapsed());
        let looks = looks.load(Ordering::SeqCst);
        assert!(looks < 60, "{looks}");
    }
}

fn question() -> Value {
    json!({"k": {"method": "elicitation/create",
        "params": {"message": "", "requestedSchema": {"type": "object", "properties": {}}}}})
}

// req: BR-041
#[tokio::test(start_paused = true)]
async fn br_041_a_result_is_read_as_what_was_asked_for() {
    let states: [fn(usize) -> Value; 2] = [
        |_| json!({"content": [], "foo": 1}),
        |_| json!({"content": [], "taskId": "t", "status": "working", "structuredContent": {"resultType": "task"}}),
    ];
    for state in states {
        let client = answering(&Service::new(Odd(state, Arc::default())), eras()[0]);
        let client = client.connect().await.unwrap();
        let result = client.call_tool("any", &nothing()).await.unwrap();
        assert!(
            result.content.is_empty()
                && !result.extra.is_empty() | result.structured_content.is_some()
        );
        match client.call_tool_as_task("any", &nothing(), None).await {
            Ok(Called::Done(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    // A state that is none is no result.
    let client = answering(&Service::new(Odd(|_| json!({}), Arc::default())), eras()[0]);
    let client = client.connect().await.unwrap();
    assert!(matches!(
        client.task("t").look().await,
        Err(ClientError::Unreadable(_))
    ));
}

/// A server whose task is never heard of again.
struct Silent;

impl Handler for Silent {
    async fn call(&self, call: Call) -> Outcome {
        match call.method {
            "tasks/get" => std::future::pending().await,
            _ => {
                Odd(|look| odd(look, &json!(1), Value::Null, 9), Arc::default())
                    .call(call)
                    .await
            }
        }
    }
}

// req: T-CLIENT
// req: S-WAIT
#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_of_a_task_any_more_is_given_up() {
    let client = answering(&Service::new(Silent), eras()[0]);
    let client = client.connect().await.unwrap();
    let before = Instant::now();
    let result = client.task("t").result(None).await;
    assert!(
        matches!(result, Err(ClientError::TimedOut(_))),
        "{result:?}"
    );
    assert!(before.elapsed() <= S(61), "{:?}", before.elapsed());
}

// req: T-CLIENT
// req: S-WAIT
#[tokio::test]
async fn a_legacy_server_that_says_nothing_of_a_task_any_more_is_given_up() {
    let patience = Patience {
        request: Duration::from_millis(200),
        ..Patience::default()
    };
    let working = r#"{"taskId":"1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}"#;
    let ended = working.replace("working", "completed");
    for asked in [
        // Nothing at all; or that it has ended, and not how.
        "return 1".to_owned(),
        format!("shows tasks/get && answer '{ended}'; return 1"),
    ] {
        let functions = format!(
            r#"
            listed() {{ answer '{{"tools":[{{"name":"t","inputSchema":{{"type":"object"}},"execution":{{"taskSupport":"required"}}}}]}}'; return 1; }}
            called() {{ answer '{{"task":{working}}}'; return 1; }}
            asked() {{ {asked}; }}
        "#
        );
        let [program, arguments @ ..] = polyport_testkit::child::scripted(&functions);
        let offers = r#"{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}"#;
        let command = polyport::Command::new(&program).args(&arguments);
        let connect = Connect::command(command.env("OFFERS", offers));
        let connect = connect
            .speaks(Revisions::of(Era::Legacy))
            .patience(patience);
        let client = connect.connect().await.unwrap();
        let task = begin(&client, "t").await;
        let result = tokio::time::timeout(S(20), task.result(None)).await;
        let result = result.expect("it ends by itself");
        assert!(
            matches!(result, Err(ClientError::TimedOut(_))),
            "{result:?}"
        );
    }
}

/// Some servers say as the result of a tool why they do not call it.
// req: T-CLIENT
#[tokio::test]
async fn a_tool_that_says_itself_that_it_is_only_a_task_is_called_as_one() {
    let functions = r#"
        listed() { answer '{"tools":[{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}'; return 1; }
        called() {
          case "$line" in
            *'"task":'*) answer '{"task":{"taskId":"1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}' ;;
            *) answer "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"MCP error $CODE: it is what it is\"}]}" ;;
          esac
          return 1
        }
        asked() { shows tasks/result && { answer '{"content":[{"type":"text","text":"done later"}]}'; return 1; }; :; }
    "#;
    let [program, arguments @ ..] = polyport_testkit::child::scripted(functions);
    let offers = r#"{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}"#;
    for (code, want) in [
        ("-32601", "done later"),
        ("-32600", "done later"),
        ("-32602", "MCP error -32602: it is what it is"),
    ] {
        let command = polyport::Command::new(&program).args(&arguments);
        let command = command.env("OFFERS", offers).env("CODE", code);
        let connect = Connect::command(command).speaks(Revisions::of(Era::Legacy));
        let client = connect.connect().await.unwrap();
        assert_eq!(
            text(&client.call_tool("t", &nothing()).await.unwrap()),
            want
        );
    }
}
