//! Lists and the words of several servers as one.

use polyport_gateway::Gateway;
use serde_json::{Value, json};

use crate::{ERAS, both, client, names, server, upstream};

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
