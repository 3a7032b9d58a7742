//! Handles: whose they are, how long they live, how many there may be, and what is done at their end. In virtual time.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport::handles::{AtLimit, CloseReason, HandleError, HandleLimits, Handles};
use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{Cx, Revision, Server, Service, ToolError};
use polyport_testkit::asked::{ask, call, said};
use serde_json::json;

use crate::peer;

const S: fn(u64) -> Duration = Duration::from_secs;

#[derive(Deserialize, JsonSchema)]
struct Named {
    handle: String,
}

type Ends = Arc<Mutex<Vec<(u32, CloseReason)>>>;

/// A server that opens, reads, holds and closes handles, and what it has done at their ends.
fn numbered(limits: HandleLimits) -> (Server, Handles<u32>, Ends) {
    let ends = Ends::default();
    let noted = ends.clone();
    let handles = Handles::new(limits).on_close(move |value: Arc<u32>, why| {
        let noted = noted.clone();
        async move {
            tokio::time::sleep(S(1)).await;
            noted.lock().unwrap().push((*value, why));
        }
    });
    let next = Arc::new(std::sync::atomic::AtomicU32::new(1));
    let (opens, gets, holds, closes) = (
        handles.clone(),
        handles.clone(),
        handles.clone(),
        handles.clone(),
    );
    let server = Server::new("s", "1")
        .tool("open", "", move |cx: Cx, (): ()| {
            let (handles, next) = (opens.clone(), next.clone());
            async move { Ok(handles.open(&cx, next.fetch_add(1, Ordering::SeqCst))?) }
        })
        .tool("get", "", move |cx: Cx, named: Named| {
            let handles = gets.clone();
            async move { Ok(handles.get(&cx, &named.handle)?.to_string()) }
        })
        .tool("hold", "", move |cx: Cx, named: Named| {
            let handles = holds.clone();
            async move {
                let held = handles.get(&cx, &named.handle)?;
                tokio::time::sleep(S(100)).await;
                Ok(held.to_string())
            }
        })
        .tool("close", "", move |cx: Cx, named: Named| {
            let handles = closes.clone();
            async move { Ok(handles.close(&cx, &named.handle).await?) }
        });
    (server, handles, ends)
}

/// What a tool says to a subject.
async fn says(service: &Service, who: Option<&str>, tool: &str, handle: &str) -> String {
    let arguments = if tool == "open" {
        json!({})
    } else {
        json!({"handle": handle})
    };
    let params = json!({"name": tool, "arguments": arguments}).to_string();
    said(
        &ask(service, call("tools/call", &params, who))
            .await
            .unwrap(),
    )
}

fn short() -> HandleLimits {
    let mut limits = HandleLimits::default();
    (limits.idle, limits.life) = (S(60), S(300));
    (limits.in_all, limits.per_principal) = (4, 2);
    limits
}

// req: D-08
#[tokio::test(start_paused = true)]
async fn d_08_a_handle_is_its_principals_and_goes_from_call_to_call() {
    let (server, handles, ends) = numbered(short());
    let service = server.into_service();
    let id = says(&service, Some("ada"), "open", "").await;
    assert_eq!(id.len(), 32);
    assert_eq!(says(&service, Some("ada"), "get", &id).await, "1");
    // Who is somebody else, or nobody, is told the same as of one that never was.
    let unknown = says(&service, Some("ada"), "get", &"0".repeat(32)).await;
    assert!(unknown.starts_with("There is no such handle"), "{unknown}");
    for who in [Some("bob"), None] {
        for tool in ["get", "close", "hold"] {
            assert_eq!(says(&service, who, tool, &id).await, unknown);
        }
    }
    for bogus in ["", "x", &id.to_uppercase(), &format!("{id} "), &id[..30]] {
        assert_eq!(says(&service, Some("ada"), "get", bogus).await, unknown);
    }
    assert_eq!(says(&service, Some("ada"), "get", &id).await, "1");
    says(&service, Some("ada"), "close", &id).await;
    assert_eq!(*ends.lock().unwrap(), [(1, CloseReason::Asked)]);
    for tool in ["get", "close"] {
        assert_eq!(says(&service, Some("ada"), tool, &id).await, unknown);
    }
    assert!(handles.is_empty());
}

// req: D-08
#[tokio::test]
async fn d_08_ids_are_128_random_bits() {
    let mut limits = HandleLimits::default();
    limits.in_all = usize::MAX;
    let (server, ..) = numbered(limits);
    let service = server.into_service();
    let (mut ids, mut ones) = (HashSet::new(), [0_u32; 128]);
    for _ in 0..2_000 {
        let id = says(&service, None, "open", "").await;
        let bits = u128::from_str_radix(&id, 16).unwrap();
        (0..128).for_each(|at| ones[at] += u32::from(bits >> at & 1 == 1));
        assert!(ids.insert(id));
    }
    // Nine standard deviations around the half.
    assert!(ones.iter().all(|n| (800..=1_200).contains(n)), "{ones:?}");
}

// req: D-08
#[tokio::test(start_paused = true)]
async fn d_08_a_handle_that_is_left_alone_closes_by_itself() {
    let (server, handles, ends) = numbered(short());
    let service = server.into_service();
    let (one, two) = (
        says(&service, None, "open", "").await,
        says(&service, None, "open", "").await,
    );
    for _ in 0..4 {
        tokio::time::sleep(S(50)).await;
        assert_eq!(says(&service, None, "get", &one).await, "1");
    }
    assert_eq!(
        (handles.len(), &*ends.lock().unwrap()),
        (1, &vec![(2, CloseReason::Idle)])
    );
    let unknown = says(&service, None, "get", &two).await;
    assert!(unknown.starts_with("There is no such handle"));
    // A call that holds it keeps it from being alone, until its life is over.
    let holding = service.clone();
    let held = tokio::spawn(async move { says(&holding, None, "hold", &one).await });
    tokio::time::sleep(S(99)).await;
    assert_eq!(handles.len(), 1);
    tokio::time::sleep(S(3)).await;
    assert_eq!(held.await.unwrap(), "1");
    assert_eq!(
        (handles.len(), ends.lock().unwrap().last()),
        (0, Some(&(1, CloseReason::Life)))
    );
}

// req: D-08
#[tokio::test(start_paused = true)]
async fn d_08_nobodys_handles_make_room_for_those_of_another() {
    let refused = "Too many handles of yours are open (limit 2): close one first";
    let full = "Too many handles are open (limit 4): try again later";
    for at_limit in [AtLimit::Refuse, AtLimit::CloseIdlest] {
        let mut limits = short();
        limits.at_limit = at_limit;
        let (server, handles, ends) = numbered(limits);
        let service = server.into_service();
        let refuses = at_limit == AtLimit::Refuse;
        let mut ids = Vec::new();
        for who in ["ada", "ada", "bob", "bob"] {
            ids.push(says(&service, Some(who), "open", "").await);
            tokio::time::sleep(S(1)).await;
        }
        assert_eq!(says(&service, Some("ada"), "get", &ids[0]).await, "1");
        let third = says(&service, Some("ada"), "open", "").await;
        assert_eq!(third == refused, refuses, "{third}");
        tokio::time::sleep(S(2)).await;
        let made_room = [(2, CloseReason::Room)];
        assert_eq!(*ends.lock().unwrap(), made_room[usize::from(refuses)..]);
        // There is none of hers that could go.
        assert_eq!(says(&service, Some("eve"), "open", "").await, full);
        assert_eq!(says(&service, None, "open", "").await, full);
        assert_eq!(says(&service, Some("bob"), "get", &ids[2]).await, "3");
        // What a call holds does not go either.
        let holds = |id: String| {
            let service = service.clone();
            tokio::spawn(async move { says(&service, Some("bob"), "hold", &id).await })
        };
        let held = [holds(ids[2].clone()), holds(ids[3].clone())];
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(says(&service, Some("bob"), "open", "").await, refused);
        for held in held {
            assert!(held.await.unwrap().parse::<u32>().is_ok());
        }
        // What is over makes room.
        tokio::time::sleep(S(61)).await;
        assert_eq!(handles.len(), 0);
        assert_eq!(says(&service, Some("eve"), "open", "").await.len(), 32);
    }
}

// req: D-08
#[tokio::test(start_paused = true)]
async fn d_08_all_close_with_the_server_and_a_hook_that_fails_harms_nobody() {
    let (server, handles, ends) = numbered(HandleLimits::default());
    let last = handles.clone();
    let server = server.on_shutdown(move || {
        let last = last.clone();
        async move { last.close_all().await }
    });
    let peer = peer(server, Revision::LATEST).await;
    for _ in 0..3 {
        peer.call("open", &json!({})).await.unwrap();
    }
    peer.stop().await;
    let mut ended = ends.lock().unwrap().clone();
    ended.sort_by_key(|(value, _)| *value);
    let why = CloseReason::Shutdown;
    assert_eq!(ended, [(1, why), (2, why), (3, why)]);
    // One hook panics, one never ends: the others run, and the wait has an end.
    let ran = Arc::new(AtomicBool::new(false));
    let seen = ran.clone();
    let odd = Handles::new(HandleLimits::default()).on_close(move |value: Arc<u32>, _why| {
        assert_ne!(*value, 1, "as it was told");
        let seen = seen.clone();
        async move {
            match *value {
                2 => std::future::pending().await,
                3 => panic!("as it was told"),
                _ => seen.store(true, Ordering::SeqCst),
            }
        }
    });
    let opens = odd.clone();
    let server = Server::new("s", "1").tool("open", "", move |cx: Cx, (): ()| {
        let opens = opens.clone();
        async move {
            for value in 1..=4 {
                opens.open(&cx, value)?;
            }
            Ok(())
        }
    });
    says(&server.into_service(), None, "open", "").await;
    let begun = tokio::time::Instant::now();
    odd.close_all().await;
    assert_eq!(begun.elapsed(), S(5));
    assert!(ran.load(Ordering::SeqCst) && odd.is_empty());
}

// req: D-08, D-09
#[tokio::test(start_paused = true)]
async fn d_09_nothing_is_left_of_handles_that_nobody_has() {
    let count = Arc::new(());
    let handles = Handles::new(HandleLimits::default());
    let opens = handles.clone();
    let value = count.clone();
    let server = Server::new("s", "1").tool("open", "", move |cx: Cx, (): ()| {
        let opened = opens.open(&cx, value.clone());
        async move { Ok(opened?) }
    });
    let service = server.into_service();
    let tasks = tokio::runtime::Handle::current().metrics();
    assert_eq!(says(&service, None, "open", "").await.len(), 32);
    assert_eq!(
        tasks.num_alive_tasks(),
        1,
        "the one that looks for old ones"
    );
    assert_eq!(Arc::strong_count(&count), 3);
    drop((service, handles));
    tokio::task::yield_now().await;
    assert_eq!((tasks.num_alive_tasks(), Arc::strong_count(&count)), (0, 1));
}

// req: D-08
#[tokio::test]
async fn d_08_both_eras_use_handles_and_blocking_tools_do() {
    let handles = Handles::<u32>::new(HandleLimits::default());
    let (opens, gets) = (handles.clone(), handles.clone());
    let server = || {
        let (opens, gets) = (opens.clone(), gets.clone());
        let open = move |cx: Cx, (): ()| -> Result<String, ToolError> { Ok(opens.open(&cx, 7)?) };
        let get = move |cx: Cx, named: Named| -> Result<String, ToolError> {
            let value = gets.get(&cx, &named.handle);
            assert_ne!(value, Err(HandleError::NoRandomness));
            Ok(value?.to_string())
        };
        Server::new("s", "1")
            .add_tool(polyport::Tool::blocking("open", "", open))
            .add_tool(polyport::Tool::blocking("get", "", get))
    };
    for revision in Revision::ALL {
        let peer = peer(server(), revision).await;
        let opened = peer.call("open", &json!({})).await.unwrap();
        let id = &opened["content"][0]["text"];
        let got = peer.call("get", &json!({"handle": id})).await.unwrap();
        assert_eq!(got["content"][0]["text"], "7", "{revision}");
    }
}
