//! Servers that are slow, dead, or change.

use std::time::Duration;

use polyport::client::{Change, Connect, Wanted};
use polyport::{Command, Revisions, Service, Tool};
use polyport_gateway::{Gateway, Upstream};
use serde_json::json;
use tokio::time::{Instant, timeout};

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

// req: S-GATE-LIFE, S-GATE-NAMES
#[tokio::test]
async fn changes_are_told_under_the_address_that_is_seen() {
    for theirs in ERAS {
        for ours in ERAS {
            let (one, two) = (server("a"), server("b"));
            let handles = [one.handle(), two.handle()];
            let gateway =
                Gateway::new([upstream(one, "one", theirs), upstream(two, "two", theirs)]);
            let outer = Connect::service(Service::new(gateway)).speaks(Revisions::NONE.with(ours));
            let client = outer.connect().await.unwrap();
            assert_eq!(client.resources().await.unwrap().len(), 4);
            let wanted = Wanted {
                resources: vec!["two+x://same".to_owned(), "x://alpha".to_owned()],
                ..Wanted::default()
            };
            let changes = client.changes(wanted).await;
            let mut changes = changes.unwrap_or_else(|error| panic!("{ours} to {theirs}: {error}"));
            // The first one's is another resource.
            handles[0].resource_updated("x://same");
            handles[0].resource_updated("x://alpha");
            handles[1].resource_updated("x://same");
            let mut heard = Vec::new();
            for _ in 0..2 {
                let change = timeout(Duration::from_secs(20), changes.next());
                heard.push(change.await.unwrap().unwrap().unwrap().change);
            }
            let want = |uri: &str| heard.contains(&Change::Updated(uri.to_owned()));
            assert!(
                want("two+x://same") && want("x://alpha"),
                "{ours} to {theirs}: {heard:?}"
            );
        }
    }
}
