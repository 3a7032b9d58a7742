//! Servers that are slow, dead, or change.

use std::time::Duration;

use polyport::client::Connect;
use polyport::{Command, Tool};
use polyport_gateway::{Gateway, Upstream};
use serde_json::json;
use tokio::time::Instant;

use crate::{ERAS, client, names, server, text, upstream};

// req: S-GATE-LIFE
#[tokio::test(start_paused = true)]
async fn one_dead_server_changes_nothing_for_the_others() {
    for ours in ERAS {
        let dead = Upstream::new("dead", Connect::command(Command::new("/nowhere/at/all")));
        let gateway = Gateway::new([dead, upstream(server("a"), "one", ERAS[0])]);
        let begun = Instant::now();
        let client = client(gateway, ours).await;
        let list = client.request("tools/list", &json!({})).await.unwrap();
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(names(&list["tools"], "name"), ["same", "alpha"]);
        assert_eq!(list["_meta"]["polyport/unavailable"], json!(["dead"]));
        let result = client.call("same", &json!({})).await.unwrap();
        assert_eq!(text(&result), "a");
    }
}

// req: S-GATE-LIFE
#[tokio::test]
async fn lists_follow_what_the_servers_tell() {
    for theirs in ERAS {
        for ours in ERAS {
            let changing = server("a");
            let handle = changing.handle();
            let gateway = Gateway::new([
                upstream(changing, "one", theirs),
                upstream(server("b"), "two", theirs),
            ]);
            let client = client(gateway, ours).await;
            let list = client.request("tools/list", &json!({})).await.unwrap();
            assert_eq!(list["tools"].as_array().unwrap().len(), 4);
            let more = Tool::new("more", "", |_cx, (): ()| async { Ok("more") });
            handle.add_tool(more).unwrap();
            // The word of the server is on its way.
            let result = loop {
                match client.call("more", &json!({})).await {
                    Ok(result) => break result,
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            };
            assert_eq!(text(&result), "more", "{ours} to {theirs}");
        }
    }
}
