//! Lists and the words of several servers as one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport::client::Connect;
use polyport::model::CacheScope;
use polyport::{Command, Json, Revision, Revisions, Server, Speaker};
use polyport_gateway::{Gateway, MemoryNames, Seen, Upstream};
use serde_json::{Value, json};

use crate::{ERAS, both, client, names, server, text, upstream};

// req: S-GATE-LISTS
#[tokio::test]
async fn lists_are_merged_and_names_kept_where_they_can_be() {
    for theirs in ERAS {
        for ours in ERAS {
            let client = both(theirs, ours).await;
            let list = client.request("tools/list", &json!({})).await.unwrap();
            assert_eq!(
                names(&list["tools"], "name"),
                ["one__same", "alpha", "two__same", "beta"],
                "{ours} to {theirs}"
            );
            let list = client.request("prompts/list", &json!({})).await.unwrap();
            assert_eq!(names(&list["prompts"], "name"), ["one__same", "two__same"]);
            let list = client.request("resources/list", &json!({})).await.unwrap();
            assert_eq!(
                names(&list["resources"], "uri"),
                ["one+x://same", "x://alpha", "two+x://same", "x://beta"]
            );
            let list = client
                .request("resources/templates/list", &json!({}))
                .await
                .unwrap();
            assert_eq!(
                names(&list["resourceTemplates"], "uriTemplate"),
                ["ta://{id}", "tb://{id}"]
            );
            let bogus = client
                .request("tools/list", &json!({"cursor": "bogus"}))
                .await;
            assert!(bogus.unwrap_err().to_string().contains("-32602"));
        }
    }
}

// req: S-GATE-LISTS
#[tokio::test]
async fn what_servers_say_of_themselves_is_joined() {
    for theirs in ERAS {
        let client = both(theirs, ERAS[0]).await;
        let opened = client.opened().unwrap();
        assert_eq!(opened["instructions"], "# one\nAsk a.\n\n# two\nAsk b.");
        let offers = &opened["capabilities"];
        assert_eq!(offers["tools"], json!({"listChanged": true}));
        assert_eq!(offers["resources"], json!({"listChanged": true}));
        assert_eq!(offers.get("tasks"), None::<&Value>);
    }
}

// req: S-GATE-NAMES
#[tokio::test]
async fn servers_whose_names_look_alike_are_told_apart() {
    let [theirs, ours] = ERAS;
    let gateway = Gateway::new([
        upstream(server("a"), "my server", theirs),
        upstream(server("b"), "my-server", theirs),
    ]);
    let client = client(gateway, ours).await;
    let list = client.request("resources/list", &json!({})).await.unwrap();
    let mut shared = names(&list["resources"], "uri");
    shared.retain(|uri| uri.ends_with("x://same"));
    assert_eq!(shared, ["my-server+x://same", "my-server-2+x://same"]);
    for (uri, whose) in shared.into_iter().zip(["a", "b"]) {
        let read = client.request("resources/read", &json!({"uri": uri})).await;
        assert_eq!(read.unwrap()["contents"][0]["text"], whose, "{uri}");
    }
}

/// A server whose tool gives a list, and that says how long its lists may be kept.
fn lists_numbers(name: &'static str, ttl: u64, scope: CacheScope) -> Server {
    Server::new(name, "1")
        .cache(Duration::from_secs(ttl), scope)
        .tool("numbers", "", |_cx, (): ()| async { Ok(Json(vec![1])) })
}

// req: S-OLDER
#[tokio::test]
async fn a_merged_list_is_in_words_of_the_client() {
    for theirs in ERAS {
        for ours in Revision::ALL {
            let server = || lists_numbers("s", 0, CacheScope::Private);
            let gateway = Gateway::new([
                upstream(server(), "one", theirs),
                upstream(server(), "two", theirs),
            ]);
            let client = client(gateway, ours).await;
            let list = client.request("tools/list", &json!({})).await.unwrap();
            let has_schemas = [theirs, ours] == [Revision::LATEST; 2];
            for tool in list["tools"].as_array().unwrap() {
                let schema = tool.get("outputSchema");
                assert_eq!(schema.is_some(), has_schemas, "{ours} to {theirs}: {tool}");
            }
        }
    }
}

// req: S-GATE-HINTS
#[tokio::test(start_paused = true)]
async fn a_merged_list_may_be_kept_as_long_and_by_whom_all_of_it_may() {
    use CacheScope::{Private, Public};
    let latest = Revision::LATEST;
    for (one, two, want) in [
        (
            (60, Public, latest),
            (30, Public, latest),
            (30_000, "public"),
        ),
        (
            (60, Public, latest),
            (30, Private, latest),
            (30_000, "private"),
        ),
        ((60, Public, latest), (0, Public, latest), (0, "public")),
        ((60, Public, latest), (60, Public, ERAS[0]), (0, "private")),
    ] {
        let server = |name, of: (u64, _, _)| upstream(lists_numbers(name, of.0, of.1), name, of.2);
        let gateway = Gateway::new([server("one", one), server("two", two)]);
        let client = client(gateway, latest).await;
        for passed in [0, 10, 1_000] {
            tokio::time::advance(Duration::from_secs(passed)).await;
            let list = client.request("tools/list", &json!({})).await.unwrap();
            let left = list["ttlMs"].as_u64().unwrap();
            let want_left = match (want.0, passed) {
                // What is over, the servers are asked again for.
                (most, 10) if most > 0 => most - 10_000,
                (most, _) => most,
            };
            assert_eq!(
                (left, list["cacheScope"].as_str()),
                (want_left, Some(want.1)),
                "{passed} s"
            );
        }
        // None of them has any.
        let none = client.request("prompts/list", &json!({})).await.unwrap();
        assert_eq!(none["prompts"], json!([]));
    }
}

// req: S-GATE-HINTS
#[tokio::test]
async fn a_list_in_which_something_is_missing_is_not_to_be_kept() {
    let there = upstream(
        lists_numbers("one", 60, CacheScope::Public),
        "one",
        Revision::LATEST,
    );
    let gone = Upstream::new(
        "two",
        Connect::command(Command::new("/nothing/of/the/kind")),
    );
    let client = client(Gateway::new([there, gone]), Revision::LATEST).await;
    let list = client.request("tools/list", &json!({})).await.unwrap();
    assert_eq!(
        (&list["ttlMs"], &list["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    assert_eq!(list["tools"].as_array().unwrap().len(), 1);
}

// req: S-GATE-LISTS
#[tokio::test]
async fn the_pages_of_a_list_are_of_one_time() {
    for theirs in ERAS {
        let many = (0..2_500).fold(Server::new("s", "1"), |server, n| {
            server.tool(format!("t{n}"), "", |_cx, (): ()| async { Ok("") })
        });
        let begun = Arc::new(AtomicUsize::new(0));
        let counts = begun.clone();
        let connect = Connect::service(many.into_service())
            .speaks(Revisions::NONE.with(theirs))
            .tap(move |speaker, text| {
                let text = String::from_utf8_lossy(text);
                if speaker == Speaker::Client
                    && text.contains("tools/list")
                    && !text.contains("cursor")
                {
                    counts.fetch_add(1, Ordering::Relaxed);
                }
            });
        let other = upstream(server("a"), "other", theirs);
        let client = client(
            Gateway::new([Upstream::new("many", connect), other]),
            theirs,
        )
        .await;
        for round in 1..=2 {
            let mut seen = BTreeSet::new();
            let mut params = json!({});
            loop {
                let page = client.request("tools/list", &params).await.unwrap();
                seen.extend(names(&page["tools"], "name"));
                match page.get("nextCursor") {
                    Some(next) => params = json!({"cursor": next}),
                    None => break,
                }
            }
            assert_eq!(seen.len(), 2_502, "{theirs}");
            assert_eq!(begun.load(Ordering::Relaxed), round, "{theirs}");
        }
    }
}

/// One that cannot be connected to, since it speaks another revision than it is spoken to in.
fn down(name: &str) -> Upstream {
    let service = server("b").into_service();
    let connect = Connect::service(service.speaks(Revisions::NONE.with(ERAS[0])));
    Upstream::new(name, connect.speaks(Revisions::NONE.with(ERAS[1])))
}

// req: S-GATE-SAME-NAMES
#[tokio::test(start_paused = true)]
async fn names_are_the_same_while_a_server_is_missing_that_was_there_before() {
    let known = Arc::new(MemoryNames::default());
    let both = ["one__same", "alpha", "two__same", "beta"];
    let gateway = |two| Gateway::new([upstream(server("a"), "one", ERAS[1]), two]);
    // Nothing is known yet.
    let first = client(gateway(down("two")).names(known.clone()), ERAS[0]).await;
    let list = first.request("tools/list", &json!({})).await.unwrap();
    assert_eq!(names(&list["tools"], "name"), ["same", "alpha"]);
    let here = gateway(upstream(server("b"), "two", ERAS[1])).names(known.clone());
    let second = client(here, ERAS[0]).await;
    let list = second.request("tools/list", &json!({})).await.unwrap();
    assert_eq!(names(&list["tools"], "name"), both);
    let prompts = second.request("prompts/list", &json!({})).await.unwrap();
    assert_eq!(
        names(&prompts["prompts"], "name"),
        ["one__same", "two__same"]
    );
    // After another start, the other is missing.
    let third = client(gateway(down("two")).names(known.clone()), ERAS[0]).await;
    let list = third.request("tools/list", &json!({})).await.unwrap();
    assert_eq!(names(&list["tools"], "name"), both[..2]);
    let prompts = third.request("prompts/list", &json!({})).await.unwrap();
    assert_eq!(names(&prompts["prompts"], "name"), ["one__same"]);
    let result = third.call("one__same", &json!({})).await.unwrap();
    assert_eq!(text(&result), "a");
    // What is not to be seen of it takes no name.
    let two = down("two").tools(Seen::all().deny(["same"]).unwrap());
    let fourth = client(gateway(two).names(known), ERAS[0]).await;
    let list = fourth.request("tools/list", &json!({})).await.unwrap();
    assert_eq!(names(&list["tools"], "name"), ["same", "alpha"]);
}
