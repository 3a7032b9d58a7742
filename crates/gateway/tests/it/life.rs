//! Servers that are slow, dead, or change.

use std::collections::BTreeMap;
use std::time::Duration;

use polyport::client::{Change, Connect};
use polyport::model::{Content, ResourceLink};
use polyport::{Command, Cx, Revisions, Server, Template, Tool};
use polyport_gateway::{Gateway, Upstream};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::{
    ERAS, changing, client, listener, lists, more, names, resources, server, text, upstream,
};

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
#[tokio::test(start_paused = true)]
async fn what_is_unknown_is_told_with_the_servers_that_may_have_it() {
    let asked = [
        ("tools/call", json!({"name": "nothing", "arguments": {}})),
        ("prompts/get", json!({"name": "nothing"})),
        ("resources/read", json!({"uri": "nothing://here"})),
    ];
    for ours in ERAS {
        for (method, params) in &asked {
            for is_down in [false, true] {
                let mut all = vec![upstream(server("a"), "one", ERAS[0])];
                if is_down {
                    let dead = Connect::command(Command::new("/nowhere/at/all"));
                    all.push(Upstream::new("dead", dead));
                }
                let client = client(Gateway::new(all), ours).await;
                let error = client.request(method, params).await.unwrap_err();
                let error = format!("{error:?}");
                let is_named = error.contains("dead") && error.contains("may have it");
                assert_eq!(is_named, is_down, "{method} in {ours}: {error}");
            }
        }
    }
}

// req: S-GATE-LIFE
#[tokio::test]
async fn lists_follow_what_the_servers_tell() {
    for theirs in ERAS {
        for ours in ERAS {
            let (handle, gateway) = changing(theirs);
            let client = client(gateway, ours).await;
            let list = client.request("tools/list", &json!({})).await.unwrap();
            assert_eq!(list["tools"].as_array().unwrap().len(), 4);
            handle.add_tool(more("more")).unwrap();
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
            let client = listener(gateway, ours).await;
            assert_eq!(client.resources().await.unwrap().len(), 4);
            let wanted = resources(["two+x://same", "x://alpha"]);
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

// req: S-GATE-LIFE
#[tokio::test(start_paused = true)]
async fn one_that_hangs_holds_nobody_up() {
    for ours in ERAS {
        // It takes what is said, and says nothing.
        let hangs = Upstream::new(
            "hangs",
            Connect::command(Command::new("sleep").args(["1000"])),
        );
        let gateway = Gateway::new([hangs, upstream(server("a"), "one", ERAS[0])]);
        let begun = Instant::now();
        let client = client(gateway, ours).await;
        for _ in 0..3 {
            let list = client.request("tools/list", &json!({})).await.unwrap();
            assert_eq!(names(&list["tools"], "name"), ["same", "alpha"]);
            assert_eq!(list["_meta"]["polyport/unavailable"], json!(["hangs"]));
            assert_eq!(text(&client.call("same", &json!({})).await.unwrap()), "a");
        }
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            begun.elapsed()
        );
    }
}

// req: S-GATE-LIFE, S-GATE-NAMES
#[tokio::test]
async fn resources_that_no_list_names_are_found_and_told_of() {
    for theirs in ERAS {
        for ours in ERAS {
            let (one, two) = (server("a"), server("b"));
            let handle = two.handle();
            let plain = Server::new("plain", "1").tool("t", "", |_cx, (): ()| async { Ok("t") });
            let gateway = Gateway::new([
                upstream(plain, "plain", theirs),
                upstream(one, "one", theirs),
                upstream(two, "two", theirs),
            ]);
            let client = listener(gateway, ours).await;
            let mut changes = client.changes(resources(["tb://7"])).await.unwrap();
            assert_eq!(changes.told().resources, ["tb://7"], "{ours} to {theirs}");
            handle.resource_updated("tb://7");
            let change = timeout(Duration::from_secs(20), changes.next());
            let heard = change.await.unwrap().unwrap().unwrap().change;
            assert_eq!(
                heard,
                Change::Updated("tb://7".to_owned()),
                "{ours} to {theirs}"
            );
        }
    }
}

// req: S-GATE-NAMES
#[tokio::test]
async fn resources_of_a_template_that_two_have_go_back_to_their_own() {
    let shared = |name: &'static str| {
        let template = Template::new("t://{id}", "t", move |_cx, vars| async move {
            let vars: BTreeMap<String, String> = vars;
            Ok(format!("{name}{}", vars["id"]))
        });
        Server::new(name, "1")
            .add_template(template)
            .tool("link", "", |_cx, (): ()| async {
                let link = ResourceLink {
                    uri: "t://7".to_owned(),
                    name: "seven".to_owned(),
                    ..ResourceLink::default()
                };
                Ok(Content::ResourceLink(link))
            })
    };
    for theirs in ERAS {
        for ours in ERAS {
            let gateway = Gateway::new([
                upstream(shared("a"), "one", theirs),
                upstream(shared("b"), "two", theirs),
            ]);
            let client = client(gateway, ours).await;
            for (tool, whose) in [("one__link", "a7"), ("two__link", "b7")] {
                let result = client.call(tool, &json!({})).await.unwrap();
                let uri = result["content"][0]["uri"].clone();
                let read = client.request("resources/read", &json!({"uri": uri})).await;
                let read = read.unwrap();
                assert_eq!(
                    read["contents"][0]["text"], whose,
                    "{ours} to {theirs}: {uri}"
                );
                assert_eq!(read["contents"][0]["uri"], uri, "{ours} to {theirs}");
            }
        }
    }
}

// req: S-GATE-LIFE
#[tokio::test(start_paused = true)]
async fn a_call_of_which_nothing_comes_is_given_up() {
    for theirs in ERAS {
        for ours in ERAS {
            let mute = Tool::new("mute", "", |_cx, (): ()| async {
                tokio::time::sleep(Duration::from_secs(3000)).await;
                Ok("late")
            });
            let busy = Tool::new("busy", "", |cx: Cx, (): ()| async move {
                for n in 0..8 {
                    tokio::time::sleep(Duration::from_secs(3)).await;
                    cx.progress_of(f64::from(n), 8.0, "on it");
                }
                Ok("done")
            });
            let slow = server("a").add_tool(mute).add_tool(busy);
            let connect = Connect::service(slow.into_service()).idle(Duration::from_secs(5));
            let connect = connect.speaks(Revisions::NONE.with(theirs));
            let client = client(Gateway::new([Upstream::new("one", connect)]), ours).await;
            let begun = Instant::now();
            let late = client.call("mute", &json!({})).await.unwrap_err();
            assert!(
                late.to_string().contains("did not answer in time"),
                "{late}"
            );
            assert_eq!(begun.elapsed().as_secs(), 5, "{ours} to {theirs}");
            let done = client.call("busy", &json!({})).await;
            assert_eq!(text(&done.unwrap()), "done", "{ours} to {theirs}");
        }
    }
}

// req: S-GATE-LIFE
#[tokio::test(start_paused = true)]
async fn one_that_comes_late_is_told_of_and_then_there() {
    for theirs in ERAS {
        for ours in ERAS {
            let late = server("b").on_start(|| async {
                tokio::time::sleep(Duration::from_secs(5)).await;
                Ok::<_, std::io::Error>(())
            });
            let gateway = Gateway::new([
                upstream(server("a"), "one", theirs),
                upstream(late, "late", theirs),
            ]);
            let client = listener(gateway, ours).await;
            let mut changes = client.changes(lists()).await.unwrap();
            let count = || async { client.tools().await.unwrap().len() };
            assert_eq!(count().await, 2, "{ours} to {theirs}");
            let told =
                async { while changes.next().await.unwrap().unwrap().change != Change::Tools {} };
            timeout(Duration::from_secs(20), told).await.unwrap();
            assert_eq!(count().await, 4, "{ours} to {theirs}");
        }
    }
}
