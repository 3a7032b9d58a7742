//! What sessions and their streams leave behind: nothing. Measured in a process of its own, where no other test allocates.

use std::alloc::System;
use std::process::Command;

use polyport_http::Endpoint;
use polyport_proto::Limits;
use polyport_testkit::handlers::Puppet;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::{
    INITIALIZE, INITIALIZED, PLAIN, call_with_token, cancel, endpoint_with, open_in, post, request,
    send, stream,
};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Set in the process that measures.
const MEASURES: &str = "POLYPORT_MEASURES_MEMORY";

/// Runs a test again by itself; true: this is it.
fn is_alone(test: &str) -> bool {
    if std::env::var_os(MEASURES).is_some() {
        return true;
    }
    let this = std::env::current_exe().unwrap();
    let mut alone = Command::new(this);
    alone
        .args(["--exact", test, "--nocapture"])
        .env(MEASURES, "1");
    let output = alone.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint: Vec<_> = complaint.lines().take(4).collect();
    assert!(said.contains("1 passed"), "{}", complaint.join("\n"));
    false
}

/// Bytes that live now and did not before.
fn living(region: &Region<'_, System>) -> isize {
    let change = region.change();
    let count = |bytes: usize| isize::try_from(bytes).unwrap();
    count(change.bytes_allocated) - count(change.bytes_deallocated)
}

async fn delete(endpoint: &Endpoint, session: &str) {
    let headers = [PLAIN, &[("mcp-session-id", session)]].concat();
    assert_eq!(send(endpoint, "DELETE", &headers, "").await.status, 204);
}

// req: BR-115
// req: P-MEMORY
#[tokio::test(start_paused = true)]
async fn ten_thousand_sessions_leave_the_heap_where_it_was() {
    if !is_alone("memory::ten_thousand_sessions_leave_the_heap_where_it_was") {
        return;
    }
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    // What is made once is made by now.
    let warm = open_in(&endpoint, "2025-11-25").await;
    delete(&endpoint, &warm).await;
    puppet.seen.forget();
    let region = Region::new(ALLOCATOR);
    let mut sessions = Vec::with_capacity(10_000);
    for _ in 0..10_000 {
        sessions.push(open_in(&endpoint, "2025-11-25").await);
    }
    puppet.seen.forget();
    let each = living(&region) / 10_000;
    assert!(
        (300..1_300).contains(&each),
        "{each} bytes for each session without streams"
    );
    for session in &sessions {
        delete(&endpoint, session).await;
    }
    drop(sessions);
    assert_eq!(endpoint.sessions(), 0);
    // The table lets go of its room when it looks for what is over.
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let last = open_in(&endpoint, "2025-11-25").await;
    delete(&endpoint, &last).await;
    puppet.seen.forget();
    let left = living(&region);
    // The table keeps the order of some that have ended.
    assert!(
        left.abs() < 8_000,
        "{left} bytes are left of 10,000 sessions"
    );
}

// req: BR-115
// req: P-MEMORY
#[tokio::test(start_paused = true)]
async fn streams_leave_the_heap_where_it_was() {
    if !is_alone("memory::streams_leave_the_heap_where_it_was") {
        return;
    }
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let mut region = Region::new(ALLOCATOR);
    // The first rounds make what is made once.
    for round in 0..205 {
        if round == 5 {
            region = Region::new(ALLOCATOR);
        }
        streams(&endpoint, &puppet).await;
        puppet.seen.forget();
    }
    let left = living(&region);
    // The table keeps the order of some sessions that have ended.
    assert!(left.abs() < 8_000, "{left} bytes are left of 200 rounds");
    assert_eq!((endpoint.kept_bytes(), endpoint.sessions()), (0, 0));
}

/// Every way in which a stream can end.
async fn streams(endpoint: &Endpoint, puppet: &Puppet) {
    let session = open_in(endpoint, "2025-11-25").await;
    let id = ("mcp-session-id", session.as_str());
    let again = |last| [id, ("last-event-id", last)];
    // Read to its end, left early, left and come back to, cancelled while nobody reads.
    post(endpoint, &[id], &call_with_token(1, "progress")).await;
    drop(stream(endpoint, "POST", &[id], &call_with_token(2, "progress")).await);
    drop(
        stream(
            endpoint,
            "POST",
            &[id],
            &call_with_token(3, "progress then slow"),
        )
        .await,
    );
    tokio::time::sleep(std::time::Duration::from_secs(9)).await;
    stream(endpoint, "GET", &again("3-0"), "")
        .await
        .rest()
        .await;
    drop(
        stream(
            endpoint,
            "POST",
            &[id],
            &call_with_token(4, "progress then never"),
        )
        .await,
    );
    post(endpoint, &[id], &cancel(4)).await;
    post(endpoint, &[id], &call_with_token(5, "releases then slow")).await;
    // GETs: with what nobody read, and with what nobody came for.
    let get = stream(endpoint, "GET", &[id], "").await;
    puppet.bus.tools_changed();
    puppet.bus.prompts_changed();
    drop(get);
    puppet.bus.tools_changed();
    // A question that nobody answers, and one whose call is cancelled.
    drop(
        stream(
            endpoint,
            "POST",
            &[id],
            &call_with_token(6, "progress then impatient form"),
        )
        .await,
    );
    drop(
        stream(
            endpoint,
            "POST",
            &[id],
            &call_with_token(7, "progress then asks form"),
        )
        .await,
    );
    tokio::time::sleep(std::time::Duration::from_secs(9)).await;
    post(endpoint, &[id], &cancel(7)).await;
    delete(endpoint, &session).await;
    // A call whose client has left before there was anything to read, and one of the modern era.
    pair(endpoint).await;
    tokio::time::sleep(std::time::Duration::from_secs(9)).await;
}

/// A session of HTTP with SSE whose client leaves while a call runs and answers wait.
async fn pair(endpoint: &Endpoint) {
    let response = endpoint.handle(request("GET", "/sse", PLAIN, "")).await;
    let mut stream = crate::Stream::new(response);
    let target = format!("/{}", stream.next().await.unwrap().data);
    for body in [
        INITIALIZE,
        INITIALIZED,
        &call_with_token(1, "progress then never"),
        &call_with_token(2, "burst"),
    ] {
        let got = endpoint.handle(request("POST", &target, PLAIN, body)).await;
        assert_eq!(got.status(), 202);
    }
    assert_eq!(stream.message().await.1["id"], 0);
}
