//! A server that changes while it is served: what clients of each revision are told, and what they see then.

use polyport::{
    Fault, Kind, Prompt, PromptReply, Resource, Revision, Server, ServerHandle, Template, Tool,
    testing,
};
use serde_json::{Value, json};

fn tool(name: &str) -> Tool {
    Tool::new(name, "", |_cx, (): ()| async { Ok("done") })
}

fn prompt(name: &str) -> Prompt {
    Prompt::new(name, "", |_cx, (): ()| async {
        Ok::<_, Fault>(PromptReply::from("hi"))
    })
}

fn resource(uri: &str) -> Resource {
    Resource::new(uri, uri, |_cx| async { Ok::<_, Fault>("text") })
}

fn server() -> (Server, ServerHandle) {
    let server = Server::new("t", "1")
        .add_tool(tool("first"))
        .add_resource(resource("a:/1"))
        .offers(Kind::Prompts);
    let handle = server.handle();
    (server, handle)
}

async fn names(peer: &testing::TestPeer, method: &str, key: &str) -> Vec<String> {
    let list = peer.request(method, &json!({})).await.unwrap();
    let items = list[key].as_array().unwrap().iter();
    let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
    items.map(name).collect()
}

// req: S-CHANGE
#[tokio::test]
async fn what_is_added_and_removed_is_seen_at_once_and_told() {
    for revision in Revision::ALL {
        let (server, handle) = server();
        let peer = testing::connect(server, revision).await.unwrap();
        assert_eq!(names(&peer, "prompts/list", "prompts").await, [""; 0]);
        handle.add_tool(tool("second")).unwrap();
        handle.add_tool(tool("third")).unwrap();
        assert!(handle.add_tool(tool("first")).is_err(), "taken");
        assert!(handle.remove_tool("second"));
        assert!(!handle.remove_tool("second"));
        handle.add_prompt(prompt("p")).unwrap();
        handle.add_resource(resource("a:/2")).unwrap();
        let template = Template::new("b:/{x}", "b", |_cx, _| async { Ok::<_, Fault>("b") });
        handle.add_template(template).unwrap();
        assert_eq!(
            names(&peer, "tools/list", "tools").await,
            ["first", "third"]
        );
        assert_eq!(names(&peer, "prompts/list", "prompts").await, ["p"]);
        assert_eq!(
            names(&peer, "resources/list", "resources").await,
            ["a:/1", "a:/2"]
        );
        let third = peer.call("third", &json!({})).await.unwrap();
        assert_eq!(third["content"][0]["text"], "done");
        assert!(peer.call("second", &json!({})).await.is_err());
        peer.request("resources/read", &json!({"uri": "b:/9"}))
            .await
            .unwrap();
        let told: Vec<_> = peer
            .notifications()
            .iter()
            .map(|n| n["method"].as_str().unwrap().to_owned())
            .collect();
        if revision == Revision::LATEST {
            assert!(told.is_empty(), "nobody asked: {told:?}");
        } else {
            for kind in ["tools", "prompts", "resources"] {
                let method = format!("notifications/{kind}/list_changed");
                assert!(told.contains(&method), "{revision}: {told:?}");
            }
        }
    }
}

// req: S-CHANGE
#[tokio::test]
async fn who_may_change_says_so() {
    for revision in Revision::ALL {
        let capabilities = async |server: Server| {
            let peer = testing::connect(server, revision).await.unwrap();
            match peer.opened() {
                Some(opened) => opened["capabilities"].clone(),
                None => peer.request("server/discover", &json!({})).await.unwrap()["capabilities"]
                    .clone(),
            }
        };
        let (changing, _handle) = server();
        let changing = capabilities(changing).await;
        assert_eq!(changing["tools"], json!({"listChanged": true}));
        assert_eq!(changing["prompts"], json!({"listChanged": true}));
        assert_eq!(
            changing["resources"],
            json!({"subscribe": true, "listChanged": true})
        );
        let fixed = Server::new("t", "1").add_tool(tool("first"));
        assert_eq!(
            capabilities(fixed).await,
            json!({"logging": {}, "tools": {}})
        );
        // Who does not change cannot be subscribed to.
        let fixed = Server::new("t", "1").add_resource(resource("a:/1"));
        let peer = testing::connect(fixed, revision).await.unwrap();
        for (method, params) in [
            ("resources/subscribe", json!({"uri": "a:/1"})),
            ("subscriptions/listen", json!({"notifications": {}})),
        ] {
            let error = peer.request(method, &params).await.unwrap_err().to_string();
            assert!(error.contains("-32601"), "{error}");
        }
    }
}

// req: S-SUBSCRIBE
#[tokio::test]
async fn updates_reach_who_subscribed() {
    for revision in Revision::ALL {
        let (server, handle) = server();
        let server = server.template("c:/{x}", "c", |_cx, _| async { Ok::<_, Fault>("c") });
        let peer = testing::connect(server, revision).await.unwrap();
        let caller = peer.caller();
        if revision == Revision::LATEST {
            let filter = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": false,
                "resourceSubscriptions": ["a:/1", "c:/7", "zzz:/"]}});
            let listening = peer.request("subscriptions/listen", &filter);
            let hear = async {
                let acknowledged = caller.notification().await.unwrap();
                let acknowledged: Value = serde_json::from_slice(&acknowledged).unwrap();
                assert_eq!(
                    acknowledged["params"]["notifications"],
                    json!({"toolsListChanged": true, "resourceSubscriptions": ["a:/1", "c:/7"]})
                );
                handle.resource_updated("zzz:/");
                handle.resource_updated("c:/7");
                caller.notification().await.unwrap()
            };
            tokio::select! {
                ended = listening => panic!("it has ended: {ended:?}"),
                update = hear => {
                    let update: Value = serde_json::from_slice(&update).unwrap();
                    assert_eq!(update["params"]["uri"], "c:/7");
                    assert!(update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].is_i64());
                }
            }
        } else {
            for uri in ["a:/1", "c:/7"] {
                peer.request("resources/subscribe", &json!({"uri": uri}))
                    .await
                    .unwrap();
            }
            let error = peer
                .request("resources/subscribe", &json!({"uri": "zzz:/"}))
                .await;
            assert!(error.unwrap_err().to_string().contains("-32002"));
            handle.resource_updated("zzz:/");
            handle.resource_updated("c:/7");
            let update: Value =
                serde_json::from_slice(&caller.notification().await.unwrap()).unwrap();
            assert_eq!(update["params"], json!({"uri": "c:/7"}));
        }
        assert_eq!(handle.bus().watched(), 2);
        peer.stop().await;
        assert_eq!((handle.bus().watched(), handle.bus().listeners()), (0, 0));
    }
}
