//! Resources: fixed, by template, by source; and what is not there.

use polyport::model::{Resource as Listed, ResourceContents};
use polyport::{Cx, Fault, Page, Resource, ResourceSource, Revision, Server};
use serde_json::{Value, json};

use crate::{peer, refused};

/// Ten resources, three to a page.
struct Numbers;

type Answer<T> = std::pin::Pin<Box<dyn Future<Output = Result<T, Fault>> + Send>>;

impl ResourceSource for Numbers {
    fn list(&self, _cx: Cx, from: Option<String>) -> Answer<Page<Listed>> {
        Box::pin(async move {
            let from: u32 = from
                .map_or(Ok(0), |f| f.parse())
                .map_err(|_| Fault::invalid_params("bad place"))?;
            let end = (from + 3).min(10);
            let items = (from..end)
                .map(|n| Listed::new(format!("number://{n}"), n.to_string()))
                .collect();
            Ok(Page {
                items,
                next: (end < 10).then(|| end.to_string()),
            })
        })
    }

    fn read(&self, _cx: Cx, uri: String) -> Answer<Option<Vec<ResourceContents>>> {
        Box::pin(async move {
            Ok(uri
                .strip_prefix("number://")
                .map(|n| vec![ResourceContents::text(&uri, n)]))
        })
    }
}

fn library() -> Server {
    Server::new("s", "1")
        .add_resource(
            Resource::new("x://text", "text", |_cx| async { Ok("hello") })
                .mime_type("text/plain")
                .size(5),
        )
        .resource("x://bytes", "bytes", |_cx| async { Ok(vec![0_u8, 255]) })
        .resource("x://broken", "broken", |_cx| async {
            Ok(std::fs::read_to_string("/no/such/file")?)
        })
        .template("x://greet/{name}", "greet", |_cx, values| async move {
            Ok(format!("Hello, {}!", values["name"]))
        })
        .resource_source(Numbers)
}

// req: S-RESOURCE
#[tokio::test]
async fn reading() {
    for revision in Revision::ALL {
        let peer = peer(library(), revision).await;
        let read = async |uri: &str| {
            peer.request("resources/read", &json!({"uri": uri}))
                .await
                .unwrap()["contents"]
                .clone()
        };
        assert_eq!(
            read("x://text").await,
            json!([{"uri": "x://text", "mimeType": "text/plain", "text": "hello"}])
        );
        assert_eq!(
            read("x://bytes").await,
            json!([{"uri": "x://bytes", "blob": "AP8="}])
        );
        assert_eq!(
            read("x://greet/%C3%89a").await,
            json!([{"uri": "x://greet/%C3%89a", "text": "Hello, Éa!"}])
        );
        assert_eq!(
            read("number://4").await,
            json!([{"uri": "number://4", "text": "4"}])
        );
        let missing = refused(&peer, "resources/read", json!({"uri": "x://nope"})).await;
        let code = if revision == Revision::V2026_07_28 {
            -32602
        } else {
            -32002
        };
        assert_eq!(
            missing,
            json!({"code": code, "message": "Resource not found", "data": {"uri": "x://nope"}}),
            "{revision}"
        );
        assert_eq!(
            refused(&peer, "resources/read", json!({})).await["code"],
            -32602
        );
        let broken = refused(&peer, "resources/read", json!({"uri": "x://broken"})).await;
        assert_eq!(
            (broken["code"].as_i64(), broken["message"].as_str()),
            (Some(-32603), Some("Internal error"))
        );
    }
}

#[tokio::test]
async fn fixed_ones_and_sources_in_one_list() {
    let peer = peer(library(), Revision::V2026_07_28).await;
    let (mut uris, mut cursor) = (Vec::new(), None::<Value>);
    for _ in 0..10 {
        let params = cursor.take().map_or(json!({}), |c| json!({"cursor": c}));
        let got = peer.request("resources/list", &params).await.unwrap();
        assert_eq!(
            (got["ttlMs"].as_i64(), got["cacheScope"].as_str()),
            (Some(0), Some("private"))
        );
        uris.extend(
            got["resources"]
                .as_array()
                .unwrap()
                .iter()
                .map(|r| r["uri"].as_str().unwrap().to_owned()),
        );
        match got.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    let want: Vec<_> = ["x://text", "x://bytes", "x://broken"]
        .map(str::to_owned)
        .into_iter()
        .chain((0..10).map(|n| format!("number://{n}")))
        .collect();
    assert_eq!(uris, want);
    let templates = peer
        .request("resources/templates/list", &json!({}))
        .await
        .unwrap();
    assert_eq!(
        templates["resourceTemplates"],
        json!([{"uriTemplate": "x://greet/{name}", "name": "greet"}])
    );
}

// req: S-RESOURCE
#[test]
fn two_of_one_uri_are_a_fault_of_the_program() {
    let with = |template: bool, uri: &str| {
        let server = Server::new("s", "1")
            .resource("a://b", "one", |_cx| async { Ok("") })
            .template("a://{x}", "one", |_cx, _v| async { Ok("") });
        if template {
            server.template(uri, "two", |_cx, _v| async { Ok("") })
        } else {
            server.resource(uri, "two", |_cx| async { Ok("") })
        }
    };
    for (template, uri, taken) in [
        (false, "a://b", true),
        (false, "a://c", false),
        (true, "a://{x}", true),
        (true, "a://{x}/c", false),
    ] {
        let built = std::panic::catch_unwind(|| with(template, uri));
        assert_eq!(built.is_err(), taken, "{uri}");
    }
}
