//! The form that one revision has in its core: the client asks for a task, and waits for its result with a request of its own.

use std::sync::Mutex;

use super::*;

const RELATED: &str = "io.modelcontextprotocol/related-task";

// req: T-CORE
#[tokio::test(start_paused = true)]
async fn a_client_asks_for_a_task_and_waits_for_its_result() {
    let peer = legacy(&server(&Seen::default()).into_service()).await;
    let begun = ask(
        &peer,
        "tools/call",
        json!({"name": "slow", "task": {"ttl": 60_000}}),
    )
    .await;
    let task = &begun["task"];
    assert_eq!(
        (&task["status"], &task["ttl"], &task["pollInterval"]),
        (&json!("working"), &json!(60_000), &json!(1_000))
    );
    assert!(
        begun.get("resultType").is_none() && begun.get("taskId").is_none(),
        "{begun}"
    );
    let id = task["taskId"].as_str().unwrap();
    assert_eq!(look(&peer, id).await["status"], "working");
    let before = tokio::time::Instant::now();
    let result = ask(&peer, "tasks/result", json!({"taskId": id})).await;
    assert!(before.elapsed() >= S(10));
    assert_eq!(result["content"][0]["text"], "slept");
    assert_eq!(result["_meta"][RELATED], json!({"taskId": id}));
    // As often as one likes.
    assert_eq!(
        ask(&peer, "tasks/result", json!({"taskId": id})).await,
        result
    );
    for (tool, status, at, what) in [
        ("must", "completed", "/content/0/text", json!("done")),
        ("fails", "failed", "/isError", json!(true)),
        ("faulty", "failed", "/error/code", json!(1001)),
        ("panics", "failed", "/error/code", json!(-32603)),
    ] {
        let id = begin_core(&peer, tool).await;
        let task = until(&peer, &id, status).await;
        assert!(task.get("result").is_none(), "{task}");
        let result = ask(&peer, "tasks/result", json!({"taskId": id})).await;
        assert_eq!(result.pointer(at), Some(&what), "{tool}: {result}");
    }
}

// req: T-CORE
#[tokio::test(start_paused = true)]
async fn a_tool_says_whether_it_is_a_task() {
    let service = server(&Seen::default()).into_service();
    for (revision, wants) in [
        (Revision::V2025_06_18, None),
        (Revision::V2025_11_25, Some(["optional", "required"])),
        (Revision::V2026_07_28, None),
    ] {
        let peer = connect_to(service.clone(), revision, &able())
            .await
            .unwrap();
        let list = ask(&peer, "tools/list", json!({})).await;
        let support = |name: &str| {
            let tool = list["tools"]
                .as_array()
                .unwrap()
                .iter()
                .find(|t| t["name"] == name);
            tool.unwrap()["execution"]["taskSupport"]
                .as_str()
                .map(str::to_owned)
        };
        assert_eq!(support("plain"), None);
        let found = [support("slow"), support("must")];
        assert_eq!(
            found,
            wants.map_or([None, None], |w| w.map(|w| Some(w.to_owned()))),
            "{revision}"
        );
    }
    let peer = legacy(&service).await;
    let capabilities = peer.opened().unwrap()["capabilities"].clone();
    assert_eq!(
        capabilities["tasks"],
        json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}})
    );
    assert!(capabilities.get("extensions").is_none());
    for (params, code) in [
        (json!({"name": "must"}), -32601),
        (json!({"name": "plain", "task": {}}), -32601),
        (json!({"name": "slow", "task": 7}), -32602),
        (json!({"name": "slow", "task": {"ttl": -1}}), -32602),
    ] {
        let refused = ask(&peer, "tools/call", params.clone()).await;
        assert_eq!(refused["error"]["code"], code, "{params}: {refused}");
    }
    let plain = ask(&peer, "tools/call", json!({"name": "slow"})).await;
    assert_eq!(plain["content"][0]["text"], "slept");
}

// req: T-CORE
#[tokio::test(start_paused = true)]
async fn older_revisions_have_no_tasks() {
    let service = server(&Seen::default()).into_service();
    for revision in [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
    ] {
        let peer = connect_to(service.clone(), revision, &able())
            .await
            .unwrap();
        assert!(
            peer.opened().unwrap()["capabilities"]
                .get("tasks")
                .is_none()
        );
        for method in [
            "tasks/get",
            "tasks/result",
            "tasks/list",
            "tasks/cancel",
            "tasks/update",
        ] {
            let refused = ask(&peer, method, json!({"taskId": "x"})).await;
            assert_eq!(refused["error"]["code"], -32601, "{revision} {method}");
        }
        let plain = ask(&peer, "tools/call", json!({"name": "slow", "task": {}})).await;
        assert_eq!(plain["content"][0]["text"], "slept", "{revision}");
        let told = ask(&peer, "tools/call", json!({"name": "must"})).await;
        assert_eq!(told["isError"], true, "{revision}: {told}");
    }
    // Each form has methods that the other has not.
    let (peer, other) = (modern(&service).await, legacy(&service).await);
    for method in ["tasks/result", "tasks/list"] {
        assert_eq!(
            ask(&peer, method, json!({"taskId": "x"})).await["error"]["code"],
            -32601
        );
    }
    let refused = ask(
        &other,
        "tasks/update",
        json!({"taskId": "x", "inputResponses": {}}),
    )
    .await;
    assert_eq!(refused["error"]["code"], -32601);
}

// req: T-INPUT
#[tokio::test(start_paused = true)]
async fn questions_come_on_the_way_on_which_the_result_is_waited_for() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = asked.clone();
    let peer = legacy(&server(&Seen::default()).into_service()).await;
    let peer = peer.answering(move |method, params| {
        noted.lock().unwrap().push(params.clone());
        answer(method, params)
    });
    let id = begin_core(&peer, "asks").await;
    until(&peer, &id, "input_required").await;
    tokio::time::sleep(S(60)).await;
    assert!(
        asked.lock().unwrap().is_empty(),
        "nobody waits, so nobody is asked"
    );
    let result = ask(&peer, "tasks/result", json!({"taskId": id})).await;
    assert_eq!(result["content"][0]["text"], "Ada Ada", "{result}");
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 2);
    assert!(
        asked
            .iter()
            .all(|params| params["_meta"][RELATED] == json!({"taskId": id})),
        "{asked:?}"
    );
}

// req: T-INPUT
#[tokio::test(start_paused = true)]
async fn a_question_outlives_the_wait_in_which_it_was_asked() {
    let service = server(&Seen::default()).into_service();
    // Nobody answers: the first wait is given up.
    let peer = Arc::new(legacy(&service).await);
    let id = begin_core(&peer, "asks").await;
    let (waiting, params) = (peer.clone(), json!({"taskId": id}));
    let wait = tokio::spawn(async move { waiting.request("tasks/result", &params).await.is_ok() });
    tokio::time::sleep(S(1)).await;
    wait.abort();
    tokio::time::sleep(S(5)).await;
    assert_eq!(look(&peer, &id).await["status"], "input_required");
    let peer = Arc::try_unwrap(peer).unwrap().answering(answer);
    let result = ask(&peer, "tasks/result", json!({"taskId": id})).await;
    assert_eq!(result["content"][0]["text"], "Ada Ada", "{result}");
}

// req: T-CANCEL
#[tokio::test(start_paused = true)]
async fn a_task_is_cancelled_before_that_is_answered() {
    let seen = Seen::default();
    let peer = legacy(&server(&seen).into_service()).await;
    let id = begin_core(&peer, "slow").await;
    let cancelled = ask(&peer, "tasks/cancel", json!({"taskId": id})).await;
    assert_eq!(
        (&cancelled["taskId"], &cancelled["status"]),
        (&json!(id), &json!("cancelled"))
    );
    tokio::time::sleep(S(3)).await;
    assert_eq!(count(&seen.dropped), count(&seen.begun));
    for method in ["tasks/cancel", "tasks/result"] {
        let refused = ask(&peer, method, json!({"taskId": id})).await;
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
    }
    // The session hears of it, and of nothing twice.
    let heard = peer.notifications();
    let heard: Vec<_> = heard
        .iter()
        .filter(|n| n["method"] == "notifications/tasks/status")
        .collect();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(
        (&heard[0]["params"]["taskId"], &heard[0]["params"]["status"]),
        (&json!(id), &json!("cancelled"))
    );
    assert!(heard[0]["params"].get("ttl").is_some());
}

// req: T-CORE
#[tokio::test(start_paused = true)]
async fn progress_of_a_task_goes_to_who_waits_for_it() {
    let server = Server::new("t", "1").add_tool(
        Tool::new("works", "", |cx: Cx, (): ()| async move {
            for step in 1..=3 {
                tokio::time::sleep(S(1)).await;
                cx.progress(f64::from(step));
            }
            Ok("worked")
        })
        .task(TaskMode::Optional),
    );
    let peer = legacy(&server.into_service()).await;
    let params = json!({"name": "works", "task": {}, "_meta": {"progressToken": "p"}});
    let begun = ask(&peer, "tools/call", params).await;
    let id = begun["task"]["taskId"].as_str().unwrap();
    ask(&peer, "tasks/result", json!({"taskId": id})).await;
    let heard = peer.notifications();
    let progress: Vec<_> = heard
        .iter()
        .filter(|n| n["method"] == "notifications/progress")
        .collect();
    assert_eq!(progress.len(), 3, "{heard:?}");
    for note in progress {
        assert_eq!(note["params"]["progressToken"], "p");
        assert_eq!(note["params"]["_meta"][RELATED], json!({"taskId": id}));
    }
}
