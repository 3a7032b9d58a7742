//! What clients see of a server by what was said of it, in lists as in everything else.

use polyport::testing::TestPeer;
use polyport::{Completer, Revision};
use polyport_gateway::{Gateway, Seen};
use serde_json::{Value, json};

use crate::{ERAS, client, names, server, text, upstream};

/// One server of which something is said, in front of `ours`.
async fn gateway(
    theirs: Revision,
    ours: Revision,
    change: impl Fn(polyport_gateway::Upstream) -> polyport_gateway::Upstream,
) -> TestPeer {
    let one = server("a");
    // Its resources may change.
    one.handle();
    let one = one.completer(Completer::of_prompt("same", "x", |_cx, _, _| async {
        Ok(vec!["done".to_owned()])
    }));
    client(Gateway::new([change(upstream(one, "one", theirs))]), ours).await
}

/// How something is refused, without its own name.
async fn refusal(client: &TestPeer, method: &str, params: Value, name: &str) -> String {
    let answered = client.request(method, &params).await;
    answered.unwrap_err().to_string().replace(name, "…")
}

// req: S-GATE-RULES, BR-190
#[tokio::test]
async fn what_is_not_seen_is_as_if_it_were_not_there() {
    for theirs in ERAS {
        for ours in ERAS {
            let client = gateway(theirs, ours, |one| {
                one.tools(Seen::all().deny(["al*"]).unwrap())
                    .prompts(Seen::all().allow(["other"]).unwrap())
                    .resources(Seen::all().deny(["x://a*", "ta://1*"]).unwrap())
            })
            .await;
            let list = client.request("tools/list", &json!({})).await.unwrap();
            assert_eq!(names(&list["tools"], "name"), ["same"]);
            let list = client.request("prompts/list", &json!({})).await.unwrap();
            assert_eq!(list["prompts"], json!([]));
            let list = client.request("resources/list", &json!({})).await.unwrap();
            assert_eq!(names(&list["resources"], "uri"), ["x://same"]);
            for (method, key, hidden, missing) in [
                ("tools/call", "name", "alpha", "none"),
                ("prompts/get", "name", "same", "none"),
                ("resources/read", "uri", "x://alpha", "x://none"),
                ("resources/read", "uri", "x://%61lpha", "x://none"),
                ("resources/read", "uri", "one+x://alpha", "one+x://none"),
                ("resources/read", "uri", "ta://17", "x://none"),
            ] {
                let of = |name: &str| json!({key: name});
                let hidden = refusal(&client, method, of(hidden), hidden).await;
                let missing = refusal(&client, method, of(missing), missing).await;
                assert_eq!(hidden, missing, "{method} {key}: {ours} to {theirs}");
            }
            for (kind, key, hidden) in [
                ("ref/prompt", "name", "same"),
                ("ref/resource", "uri", "x://alpha"),
            ] {
                let of = |name: &str| json!({"ref": {"type": kind, key: name}, "argument": {"name": "x", "value": ""}});
                let method = "completion/complete";
                let hidden = refusal(&client, method, of(hidden), hidden).await;
                let missing = refusal(&client, method, of("x://none"), "x://none").await;
                assert_eq!(hidden, missing, "{kind}: {ours} to {theirs}");
            }
            // The rest is there.
            let result = client.call("same", &json!({})).await.unwrap();
            assert_eq!(text(&result), "a");
            let read = client
                .request("resources/read", &json!({"uri": "ta://27"}))
                .await;
            assert_eq!(read.unwrap()["contents"][0]["text"], "27");
        }
    }
}

// req: S-GATE-RULES
#[tokio::test]
async fn nobody_subscribes_to_what_is_not_seen() {
    let [theirs, ours] = [ERAS[0], ERAS[0]];
    let hiding =
        |one: polyport_gateway::Upstream| one.resources(Seen::all().deny(["x://alpha"]).unwrap());
    let client = gateway(theirs, ours, hiding).await;
    let method = "resources/subscribe";
    let hidden = refusal(&client, method, json!({"uri": "x://alpha"}), "x://alpha").await;
    let missing = refusal(&client, method, json!({"uri": "x://none"}), "x://none").await;
    assert_eq!(hidden, missing);
    let taken = client.request(method, &json!({"uri": "x://same"})).await;
    taken.unwrap();
}

// req: S-GATE-RULES, S-GATE-NAMES
#[tokio::test]
async fn other_names_and_descriptions_hold_everywhere() {
    for theirs in ERAS {
        for ours in ERAS {
            let client = gateway(theirs, ours, |one| {
                let seen = Seen::all()
                    .rename("same", "other")
                    .describe("same", "Another.");
                one.tools(seen.clone()).prompts(seen)
            })
            .await;
            for kind in ["tools", "prompts"] {
                let list = client.request(&format!("{kind}/list"), &json!({})).await;
                let list = list.unwrap();
                assert_eq!(list[kind][0]["name"], "other");
                assert_eq!(list[kind][0]["description"], "Another.");
            }
            let result = client.call("other", &json!({})).await.unwrap();
            assert_eq!(text(&result), "a", "{ours} to {theirs}");
            let unknown = client.call("same", &json!({})).await.unwrap_err();
            assert!(unknown.to_string().contains("Unknown tool: same"));
            let prompt = client
                .request("prompts/get", &json!({"name": "other"}))
                .await;
            assert_eq!(prompt.unwrap()["messages"][0]["content"]["text"], "a");
            let completed = client
                .request(
                    "completion/complete",
                    &json!({"ref": {"type": "ref/prompt", "name": "other"}, "argument": {"name": "x", "value": ""}}),
                )
                .await;
            assert_eq!(completed.unwrap()["completion"]["values"], json!(["done"]));
        }
    }
}

// req: S-GATE-RULES, S-GATE-NAMES
#[tokio::test]
async fn a_new_name_keeps_two_servers_apart() {
    let [theirs, ours] = ERAS;
    let one = upstream(server("a"), "one", theirs).tools(Seen::all().rename("same", "mine"));
    let client = client(
        Gateway::new([one, upstream(server("b"), "two", theirs)]),
        ours,
    )
    .await;
    let list = client.request("tools/list", &json!({})).await.unwrap();
    assert_eq!(
        names(&list["tools"], "name"),
        ["mine", "alpha", "same", "beta"]
    );
    for (tool, want) in [("mine", "a"), ("same", "b")] {
        let result = client.call(tool, &json!({})).await.unwrap();
        assert_eq!(text(&result), want);
    }
}
