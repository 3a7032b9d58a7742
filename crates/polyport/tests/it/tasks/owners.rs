//! Whose a task is: everybody else is told that there is none.

use polyport::Outcome;
use polyport_testkit::asked::{ask as ask_service, declaring};

use super::*;

const ABLE: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

async fn outcome(
    service: &Service,
    who: Option<&str>,
    method: &'static str,
    params: Value,
) -> Outcome {
    let call = declaring(ABLE, method, &params.to_string(), who);
    ask_service(service, call).await.unwrap()
}

/// The error, whole, or the result.
async fn said(service: &Service, who: Option<&str>, method: &'static str, params: Value) -> String {
    match outcome(service, who, method, params).await {
        Outcome::Complete(result) => result.as_str().to_owned(),
        Outcome::Failed(error) => format!("{:?} {} {:?}", error.code, error.message, error.data),
        other => panic!("{other:?}"),
    }
}

async fn begun(service: &Service, who: Option<&str>) -> String {
    match outcome(service, who, "tools/call", json!({"name": "slow"})).await {
        Outcome::Task(new) => new.task.id().to_owned(),
        other => panic!("{other:?}"),
    }
}

// req: V-302
// req: V-314
#[tokio::test(start_paused = true)]
async fn v_302_v_314_a_task_is_its_principals() {
    let seen = Seen::default();
    let service = server(&seen).into_service();
    let id = begun(&service, Some("ada")).await;
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let params = |id: &str| json!({"taskId": id, "inputResponses": {}});
        let unknown = said(&service, Some("ada"), method, params(&"0".repeat(32))).await;
        assert!(unknown.starts_with("InvalidParams"), "{unknown}");
        for who in [Some("bob"), None] {
            assert_eq!(
                said(&service, who, method, params(&id)).await,
                unknown,
                "{method}"
            );
        }
        for bogus in ["", "x", &id.to_uppercase(), &format!("{id} "), &id[..30]] {
            let bogus = said(&service, Some("ada"), method, params(bogus)).await;
            assert_eq!(bogus, unknown, "{method}");
        }
    }
    let task = said(&service, Some("ada"), "tasks/get", json!({"taskId": id})).await;
    assert!(
        task.contains("\"working\""),
        "nobody else has cancelled it: {task}"
    );
    // Nor is it anybody else's that nobody owns: only who knows its id.
    let nobodys = begun(&service, None).await;
    for (who, found) in [(Some("ada"), false), (None, true)] {
        let task = said(&service, who, "tasks/get", json!({"taskId": nobodys})).await;
        assert_eq!(task.contains("\"working\""), found, "{who:?}: {task}");
    }
}

// req: V-302
#[tokio::test(start_paused = true)]
async fn v_302_a_task_of_a_session_is_that_sessions() {
    let service = server(&Seen::default()).into_service();
    let (ann, bob, new) = (
        legacy(&service).await,
        legacy(&service).await,
        modern(&service).await,
    );
    let id = begin_core(&ann, "slow").await;
    let theirs = begin_core(&bob, "slow").await;
    for method in ["tasks/get", "tasks/cancel", "tasks/result"] {
        let unknown = ask(&bob, method, json!({"taskId": "0".repeat(32)})).await;
        assert_eq!(unknown["error"]["code"], -32602);
        assert_eq!(
            ask(&bob, method, json!({"taskId": id})).await,
            unknown,
            "{method}"
        );
    }
    assert!(look(&new, &id).await["error"]["code"] == -32602);
    let listed = async |peer: &TestPeer| {
        let list = ask(peer, "tasks/list", json!({})).await;
        let tasks = list["tasks"].as_array().unwrap().clone();
        tasks
            .iter()
            .map(|task| task["taskId"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(&ann).await, std::slice::from_ref(&id));
    assert_eq!(listed(&bob).await, [theirs]);
    assert_eq!(look(&ann, &id).await["status"], "working");
}

// req: V-302
#[tokio::test(start_paused = true)]
async fn v_302_nobody_is_told_of_what_becomes_of_anothers_task() {
    let service = server(&Seen::default()).into_service();
    let (ann, bob) = (legacy(&service).await, legacy(&service).await);
    let nosy = Arc::new(modern(&service).await);
    let id = begin_core(&ann, "must").await;
    let (listening, filter) = (nosy.clone(), json!({"notifications": {"taskIds": [id]}}));
    let stream = tokio::spawn(async move {
        let _ = listening.request("subscriptions/listen", &filter).await;
    });
    tokio::time::sleep(S(5)).await;
    let acknowledged = nosy.notifications();
    assert_eq!(
        acknowledged[0]["params"]["notifications"],
        json!({"taskIds": []})
    );
    assert_eq!(acknowledged.len(), 1);
    assert!(bob.notifications().is_empty());
    assert_eq!(ann.notifications().len(), 1);
    stream.abort();
}

// req: T-BOUNDS
#[tokio::test(start_paused = true)]
async fn the_tasks_of_a_session_end_with_it() {
    let seen = Seen::default();
    let service = server(&seen).into_service();
    let peer = legacy(&service).await;
    begin_core(&peer, "slow").await;
    tokio::time::sleep(S(1)).await;
    assert_eq!(count(&seen.begun), 1);
    peer.stop().await;
    tokio::time::sleep(S(3)).await;
    assert_eq!((count(&seen.told), count(&seen.dropped)), (1, 1));
}
