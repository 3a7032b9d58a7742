//! The form of the extension: the server decides, and the state of a task has all there is to know of it.

use super::*;

// req: T-EXTENSION
#[tokio::test(start_paused = true)]
async fn a_call_becomes_a_task_and_ends_as_its_handler_does() {
    let peer = modern(&server(&Seen::default()).into_service()).await;
    let begun = ask(&peer, "tools/call", json!({"name": "slow"})).await;
    assert_eq!(begun["resultType"], "task");
    assert_eq!(begun["status"], "working");
    assert_eq!(
        (&begun["ttlMs"], &begun["pollIntervalMs"]),
        (&json!(3_600_000), &json!(1_000))
    );
    for absent in [
        "task",
        "result",
        "error",
        "inputRequests",
        "requestState",
        "content",
    ] {
        assert!(begun.get(absent).is_none(), "{absent}: {begun}");
    }
    let id = begun["taskId"].as_str().unwrap();
    assert!(
        id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()),
        "{id}"
    );
    let task = look(&peer, id).await;
    assert_eq!(
        (&task["resultType"], &task["status"]),
        (&json!("complete"), &json!("working"))
    );
    tokio::time::sleep(S(11)).await;
    for (tool, status, at, what) in [
        ("must", "completed", "/result/content/0/text", json!("done")),
        ("fails", "completed", "/result/isError", json!(true)),
        (
            "faulty",
            "failed",
            "/error",
            json!({"code": 1001, "message": "locked"}),
        ),
        ("panics", "failed", "/error/code", json!(-32603)),
    ] {
        let task = until(&peer, &begin(&peer, tool).await, status).await;
        assert_eq!(task.pointer(at), Some(&what), "{task}");
        assert!(!task.to_string().contains("a secret"), "{task}");
    }
    let task = look(&peer, id).await;
    assert_eq!(task["result"]["content"][0]["text"], "slept");
    assert!(
        task["result"]["_meta"]
            .get("io.modelcontextprotocol/related-task")
            .is_none()
    );
}

// req: T-EXTENSION
#[tokio::test(start_paused = true)]
async fn who_does_not_declare_the_extension_has_no_tasks() {
    let service = server(&Seen::default()).into_service();
    let peer = connect_to(service, Revision::V2026_07_28, &json!({}))
        .await
        .unwrap();
    let plain = ask(
        &peer,
        "tools/call",
        json!({"name": "slow", "task": {"ttl": 1}}),
    )
    .await;
    assert_eq!(plain["content"][0]["text"], "slept");
    let required =
        json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    for (method, params) in [
        ("tools/call", json!({"name": "must"})),
        ("tasks/get", json!({"taskId": "x"})),
        ("tasks/update", json!({"taskId": "x", "inputResponses": {}})),
        ("tasks/cancel", json!({"taskId": "x"})),
        (
            "subscriptions/listen",
            json!({"notifications": {"taskIds": ["x"]}}),
        ),
    ] {
        let refused = ask(&peer, method, params).await;
        assert_eq!(refused["error"]["code"], -32021, "{method}: {refused}");
        assert_eq!(refused["error"]["data"], required, "{method}");
    }
    // Who has no tool that runs as a task says nothing of tasks, and knows none of their methods.
    let none = Server::new("t", "1").tool("plain", "", |_cx, (): ()| async { Ok("") });
    let peer = modern(&none.into_service()).await;
    let about = ask(&peer, "server/discover", json!({})).await;
    assert!(about["capabilities"].get("extensions").is_none(), "{about}");
    let refused = ask(&peer, "tasks/get", json!({"taskId": "x"})).await;
    assert_eq!(refused["error"]["code"], -32601);
}

// req: T-INPUT
#[tokio::test(start_paused = true)]
async fn questions_wait_for_answers_that_come_one_after_the_other() {
    let peer = modern(&server(&Seen::default()).into_service()).await;
    let id = begin(&peer, "asks").await;
    let task = until(&peer, &id, "input_required").await;
    let asked = task["inputRequests"].as_object().unwrap();
    assert_eq!(asked.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(asked["a"]["method"], "elicitation/create");
    let update = async |responses: Value| {
        ask(
            &peer,
            "tasks/update",
            json!({"taskId": id, "inputResponses": responses}),
        )
        .await
    };
    let accept = |name: &str| json!({"action": "accept", "content": {"name": name}});
    // An answer that is none: nothing of it is taken.
    let refused = update(json!({"a": accept("Ada"), "b": 7})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(
        look(&peer, &id).await["inputRequests"]
            .as_object()
            .unwrap()
            .len(),
        2
    );
    let refused = ask(&peer, "tasks/update", json!({"taskId": id})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    // One, and one to nothing.
    let taken = update(json!({"a": accept("Ada"), "zzz": 7})).await;
    assert_eq!(taken["resultType"], "complete", "{taken}");
    assert!(taken.get("taskId").is_none());
    let task = look(&peer, &id).await;
    assert_eq!(task["status"], "input_required");
    assert_eq!(
        task["inputRequests"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["b"]
    );
    // An answer that came already changes nothing.
    update(json!({"a": accept("Eve")})).await;
    update(json!({"b": accept("Bob")})).await;
    let task = until(&peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "Ada Bob");
    assert!(task.get("inputRequests").is_none());
    assert_eq!(
        update(json!({"b": accept("Eve")})).await["resultType"],
        "complete"
    );
}

// req: T-INPUT
#[tokio::test(start_paused = true)]
async fn a_key_is_never_used_again_within_a_task() {
    let peer = modern(&server(&Seen::default()).into_service()).await;
    let id = begin(&peer, "again").await;
    let mut keys = Vec::new();
    for name in ["Ada", "Bob", "Grace"] {
        let task = until(&peer, &id, "input_required").await;
        let asked = task["inputRequests"].as_object().unwrap();
        let key = asked.keys().next().unwrap().clone();
        assert!(!keys.contains(&key), "{key} was used before");
        let responses = json!({&key: {"action": "accept", "content": {"name": name}}});
        ask(
            &peer,
            "tasks/update",
            json!({"taskId": id, "inputResponses": responses}),
        )
        .await;
        keys.push(key);
    }
    let task = until(&peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "enough");
}

// req: T-INPUT
#[tokio::test(start_paused = true)]
async fn a_call_may_ask_first_and_become_a_task_then() {
    let service = server(&Seen::default()).into_service();
    let peer = modern(&service).await;
    let round = ask(&peer, "tools/call", json!({"name": "later"})).await;
    assert_eq!(round["resultType"], "input_required", "{round}");
    assert!(round.get("taskId").is_none());
    let responses = json!({"a": {"action": "accept", "content": {"name": "Ada"}}});
    let params = json!({"name": "later", "inputResponses": responses, "requestState": round["requestState"]});
    let begun = ask(&peer, "tools/call", params).await;
    assert_eq!(begun["resultType"], "task", "{begun}");
    assert!(begun.get("requestState").is_none());
    let task = until(&peer, begun["taskId"].as_str().unwrap(), "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "Ada true");
    // Elsewhere it goes on as it is.
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let peer = connect_to(service.clone(), revision, &able())
            .await
            .unwrap()
            .answering(answer);
        let result = ask(&peer, "tools/call", json!({"name": "later"})).await;
        assert_eq!(result["content"][0]["text"], "Ada false", "{revision}");
    }
}

// req: T-CANCEL
#[tokio::test(start_paused = true)]
async fn a_cancelled_task_has_its_handler_told_and_then_dropped() {
    let seen = Seen::default();
    let peer = modern(&server(&seen).into_service()).await;
    let id = begin(&peer, "slow").await;
    tokio::time::sleep(S(1)).await;
    for _ in 0..2 {
        let taken = ask(&peer, "tasks/cancel", json!({"taskId": id})).await;
        assert_eq!(taken["resultType"], "complete");
        assert!(taken.get("status").is_none(), "{taken}");
        assert_eq!(look(&peer, &id).await["status"], "cancelled");
    }
    assert_eq!((count(&seen.told), count(&seen.dropped)), (1, 0));
    tokio::time::sleep(S(3)).await;
    assert_eq!(count(&seen.dropped), 1);
    assert_eq!(look(&peer, &id).await["status"], "cancelled");
    // One that has ended is not ended again.
    let id = begin(&peer, "must").await;
    until(&peer, &id, "completed").await;
    let taken = ask(&peer, "tasks/cancel", json!({"taskId": id})).await;
    assert_eq!(taken["resultType"], "complete");
    assert_eq!(look(&peer, &id).await["status"], "completed");
}

// req: T-NEWS
#[tokio::test(start_paused = true)]
async fn who_listens_hears_what_becomes_of_a_task() {
    let peer = Arc::new(modern(&server(&Seen::default()).into_service()).await);
    let (id, other) = (begin(&peer, "asks").await, begin(&peer, "slow").await);
    until(&peer, &id, "input_required").await;
    let listening = peer.clone();
    let filter = json!({"notifications": {"taskIds": [id, "unknown"], "toolsListChanged": true}});
    let stream = tokio::spawn(async move {
        let _ = listening.request("subscriptions/listen", &filter).await;
    });
    tokio::time::sleep(S(1)).await;
    let heard = peer.notifications();
    assert_eq!(
        heard[0]["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(
        heard[0]["params"]["notifications"],
        json!({"taskIds": [id]})
    );
    let accept = json!({"action": "accept", "content": {"name": "Ada"}});
    let responses = json!({"a": accept, "b": accept});
    ask(
        &peer,
        "tasks/update",
        json!({"taskId": id, "inputResponses": responses}),
    )
    .await;
    tokio::time::sleep(S(20)).await;
    let heard = peer.notifications();
    assert!(
        !heard.is_empty() && heard.iter().all(|n| n["params"]["taskId"] == id),
        "{heard:?}"
    );
    let last = heard.last().unwrap();
    assert_eq!(last["method"], "notifications/tasks");
    assert_eq!(last["params"]["status"], "completed");
    assert_eq!(last["params"]["result"]["content"][0]["text"], "Ada Ada");
    assert!(
        last["params"]["_meta"]
            .get("io.modelcontextprotocol/subscriptionId")
            .is_some()
    );
    assert_eq!(look(&peer, &other).await["status"], "completed");
    stream.abort();
}
