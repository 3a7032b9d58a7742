//! How long tasks are kept, and how many.

use polyport::TaskLimits;

use super::*;

fn limited(seen: &Seen, change: impl FnOnce(&mut TaskLimits)) -> Service {
    let mut limits = TaskLimits::default();
    change(&mut limits);
    server(seen).task_limits(limits).into_service()
}

// req: T-BOUNDS
#[tokio::test(start_paused = true)]
async fn a_task_is_kept_for_its_time_and_runs_no_longer() {
    let seen = Seen::default();
    let service = limited(&seen, |limits| {
        (limits.life, limits.max_life) = (S(5), S(60));
    });
    let peer = modern(&service).await;
    let (slow, quick) = (begin(&peer, "slow").await, begin(&peer, "must").await);
    until(&peer, &quick, "completed").await;
    tokio::time::sleep(S(4)).await;
    for id in [&slow, &quick] {
        assert!(
            look(&peer, id).await.get("error").is_none(),
            "kept for its whole time"
        );
    }
    tokio::time::sleep(S(4)).await;
    for id in [&slow, &quick] {
        assert_eq!(look(&peer, id).await["error"]["code"], -32602);
    }
    assert_eq!((count(&seen.told), count(&seen.dropped)), (1, 1));
    // A client may ask for more, up to a bound.
    let peer = legacy(&service).await;
    for (asked, got) in [
        (json!({"ttl": 8_000}), 8_000),
        (json!({"ttl": 9_999_999}), 60_000),
        (json!({}), 5_000),
    ] {
        let begun = ask(&peer, "tools/call", json!({"name": "must", "task": asked})).await;
        assert_eq!(begun["task"]["ttl"], got, "{begun}");
    }
}

// req: T-BOUNDS
#[tokio::test(start_paused = true)]
async fn beyond_so_many_a_call_is_plain_or_refused() {
    let service = limited(&Seen::default(), |limits| limits.in_all = 2);
    let peer = modern(&service).await;
    begin(&peer, "slow").await;
    begin(&peer, "slow").await;
    let plain = ask(&peer, "tools/call", json!({"name": "slow"})).await;
    assert_eq!(plain["content"][0]["text"], "slept", "{plain}");
    let refused = ask(&peer, "tools/call", json!({"name": "must"})).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let service = limited(&Seen::default(), |limits| limits.per_owner = 2);
    let (ann, bob) = (legacy(&service).await, legacy(&service).await);
    for _ in 0..2 {
        begin_core(&ann, "slow").await;
    }
    let refused = ask(&ann, "tools/call", json!({"name": "slow", "task": {}})).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    begin_core(&bob, "slow").await;
}

// req: T-BOUNDS
#[tokio::test(start_paused = true)]
async fn a_result_for_which_there_is_no_room_is_said_to_be_too_long() {
    let service = limited(&Seen::default(), |limits| limits.bytes = 100);
    let peer = modern(&service).await;
    let id = begin(&peer, "must").await;
    let task = until(&peer, &id, "failed").await;
    let message = task["error"]["message"].as_str().unwrap();
    assert!(message.contains("too long"), "{task}");
}

// req: T-BOUNDS
#[tokio::test(start_paused = true)]
async fn a_list_has_pages() {
    let service = limited(&Seen::default(), |limits| limits.page = 2);
    let peer = legacy(&service).await;
    assert_eq!(
        ask(&peer, "tasks/list", json!({})).await["tasks"],
        json!([])
    );
    let mut begun = Vec::new();
    for _ in 0..5 {
        begun.push(begin_core(&peer, "slow").await);
    }
    let (mut listed, mut params) = (Vec::new(), json!({}));
    loop {
        let page = ask(&peer, "tasks/list", params).await;
        let tasks = page["tasks"].as_array().unwrap();
        assert!(tasks.len() <= 2);
        listed.extend(
            tasks
                .iter()
                .map(|task| task["taskId"].as_str().unwrap().to_owned()),
        );
        match page.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    assert_eq!(listed, begun);
    let refused = ask(&peer, "tasks/list", json!({"cursor": "zzz"})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

// req: T-BOUNDS
#[tokio::test(start_paused = true)]
async fn what_runs_is_cancelled_when_the_server_stops() {
    let seen = Seen::default();
    let service = server(&seen).into_service();
    let started = service.start().await.unwrap();
    let peer = modern(&service).await;
    begin(&peer, "slow").await;
    tokio::time::sleep(S(1)).await;
    peer.stop().await;
    assert_eq!(count(&seen.told), 0, "a modern client may come back");
    started.shutdown().await;
    assert_eq!((count(&seen.told), count(&seen.dropped)), (1, 1));
}
