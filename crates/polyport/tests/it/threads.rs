//! Connections that are dealt out among threads.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use polyport::client::{Connect, Target};
use polyport::http::{Config, Endpoint, Threads, bind};
use polyport::{Client, Ended, Revision, Revisions, Server, Tool, stop};
use tokio::sync::Notify;
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(20);

async fn client(url: &str) -> Client {
    // Of this era each has one connection, and no stream beside it.
    let speaks = Revisions::NONE.with(Revision::LATEST);
    let connect = Connect::http(Target::new(url).unwrap()).speaks(speaks);
    timeout(LONG, connect.connect()).await.unwrap().unwrap()
}

async fn called(client: &Client, tool: &str) -> String {
    let params = format!(r#"{{"name":"{tool}"}}"#);
    let result = client.request_raw("tools/call", &params, None);
    let result = timeout(LONG, result).await.unwrap().unwrap();
    result.as_str().to_owned()
}

// req: S-THREADS
#[tokio::test]
async fn a_call_that_blocks_its_thread_holds_up_neither_another_thread_nor_the_end() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let begun = Arc::new(Notify::new());
    let tells = begun.clone();
    let block = Tool::new("block", "", move |_cx, (): ()| {
        let (tells, wait) = (tells.clone(), wait.clone());
        async move {
            tells.notify_one();
            let _ = wait.lock().unwrap().recv();
            Ok("blocked")
        }
    });
    let server = Server::new("a", "1").add_tool(block);
    let server = server.tool("quick", "", |_cx, (): ()| async { Ok("quick") });
    let endpoint = Endpoint::new(server.into_service(), Config::default());
    let bound = bind(endpoint, ([127, 0, 0, 1], 0).into(), false)
        .await
        .unwrap();
    let url = bound.url();
    let threads = Threads::new(2).unwrap();
    let (stopper, stopped) = stop::stop();
    let serving = tokio::spawn(async move { bound.serve_on(stopped, &threads).await });
    let first = client(&url).await;
    let blocked = tokio::spawn(async move { called(&first, "block").await });
    timeout(LONG, begun.notified()).await.unwrap();
    let second = client(&url).await;
    for _ in 0..3 {
        assert!(called(&second, "quick").await.contains("quick"));
    }
    // The end is heard, and waits for what runs.
    stopper.stop();
    go.send(()).unwrap();
    assert!(blocked.await.unwrap().contains("blocked"));
    let ended = timeout(LONG, serving).await.unwrap().unwrap();
    assert!(
        matches!(
            ended,
            Ended {
                cut: 0,
                broken: false,
                ..
            }
        ),
        "{ended:?}"
    );
}
