//! Every kind of thing that a tool may give, as clients of each revision get it.

use polyport::model::{
    Annotations, Content, EmbeddedResource, Object, ResourceContents, ResourceLink, Role,
};
use polyport::schemars::JsonSchema;
use polyport::serde::Serialize;
use polyport::{Cx, Json, Raw, Revision, Server, Tool, ToolError, ToolResult};
use serde_json::{Value, json};

use crate::peer;

/// Is any JSON value structured in that revision, or only an object, or none?
fn takes(revision: Revision, value: &Value) -> bool {
    match revision {
        Revision::V2024_11_05 | Revision::V2025_03_26 => false,
        Revision::V2025_06_18 | Revision::V2025_11_25 => value.is_object(),
        Revision::V2026_07_28 => true,
    }
}

#[derive(Clone, Serialize, JsonSchema)]
#[serde(tag = "kind")]
enum Form {
    One { n: u8 },
    Two { text: String },
}

#[derive(Clone, Serialize, JsonSchema)]
struct Node {
    name: String,
    children: Vec<Self>,
}

/// A tool that gives a value of that type.
fn giving<T>(name: &str, value: T) -> Tool
where
    T: Serialize + JsonSchema + Clone + Send + Sync + 'static,
{
    Tool::new(name, "", move |_cx, (): ()| {
        let value = value.clone();
        async move { Ok(Json(value)) }
    })
}

fn leaf(name: &str) -> Node {
    Node {
        name: name.to_owned(),
        children: Vec::new(),
    }
}

fn tree() -> Node {
    Node {
        children: vec![leaf("a"), leaf("b")],
        ..leaf("root")
    }
}

/// What each tool gives, and the type that its schema has at the root.
fn values() -> [(&'static str, Value, Option<&'static str>); 15] {
    [
        ("object", json!({"a": {"b": [1]}}), None),
        (
            "struct",
            json!({"name": "a", "children": []}),
            Some("object"),
        ),
        (
            "recursive",
            serde_json::to_value(tree()).unwrap(),
            Some("object"),
        ),
        ("form", json!({"kind": "Two", "text": "t"}), Some("object")),
        ("one form", json!({"kind": "One", "n": 1}), Some("object")),
        ("array", json!([1, 2]), Some("array")),
        ("empty array", json!([]), Some("array")),
        ("text", json!("a\u{2028}\"\n"), Some("string")),
        ("number", json!(-1.5e300), Some("number")),
        ("integer", json!(u64::MAX), Some("integer")),
        ("true", json!(true), Some("boolean")),
        ("null", Value::Null, Some("null")),
        ("perhaps", Value::Null, None),
        ("some", json!(7), None),
        ("any", json!(["any"]), None),
    ]
}

fn giver() -> Server {
    let two = Form::Two {
        text: "t".to_owned(),
    };
    Server::new("s", "1")
        .check_output(true)
        .add_tool(giving("object", json!({"a": {"b": [1]}})))
        .add_tool(giving("struct", leaf("a")))
        .add_tool(giving("recursive", tree()))
        .add_tool(giving("form", two))
        .add_tool(giving("one form", Form::One { n: 1 }))
        .add_tool(giving("array", vec![1_u8, 2]))
        .add_tool(giving("empty array", Vec::<String>::new()))
        .add_tool(giving("text", "a\u{2028}\"\n".to_owned()))
        .add_tool(giving("number", -1.5e300_f64))
        .add_tool(giving("integer", u64::MAX))
        .add_tool(giving("true", true))
        .add_tool(giving("null", ()))
        .add_tool(giving("perhaps", None::<u8>))
        .add_tool(giving("some", Some(7_u8)))
        .add_tool(giving("any", json!(["any"])))
}

// req: S-STRUCTURED
#[tokio::test]
async fn structured_values_of_every_type_by_revision() {
    let values = values();
    for revision in Revision::ALL {
        let peer = peer(giver(), revision).await;
        let list = peer.request("tools/list", &json!({})).await.unwrap();
        for (at, (name, value, kind)) in values.iter().enumerate() {
            let got = peer.call(name, &json!({})).await.unwrap();
            let text = got["content"][0]["text"].as_str().unwrap();
            let read: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read, *value, "{revision} {name}");
            assert_eq!(
                got.get("structuredContent"),
                takes(revision, value).then_some(value),
                "{revision} {name}"
            );
            // Only what takes nothing but objects is listed where nothing else may be.
            let listed = list["tools"][at].get("outputSchema");
            let promised = kind.map_or(Value::Null, |kind| json!({"type": kind}));
            let of_object = if *kind == Some("object") {
                json!({})
            } else {
                json!([])
            };
            let is_listed = takes(revision, &of_object);
            assert_eq!(listed.is_some(), is_listed, "{revision} {name}");
            if let (Some(listed), true) = (listed, kind.is_some()) {
                assert_eq!(listed["type"], promised["type"], "{name} {listed}");
            }
        }
    }
}

/// One of each kind of content, with all that may stand on it.
fn all_kinds() -> Vec<Content> {
    let annotations = Annotations {
        audience: Some(vec![Role::User]),
        priority: serde_json::Number::from_f64(0.5),
        ..Annotations::default()
    };
    let meta: Object = [("k", Raw::from_static("1"))].into_iter().collect();
    let link = ResourceLink {
        uri: "x://y".to_owned(),
        name: "why".to_owned(),
        mime_type: Some("text/plain".to_owned()),
        ..ResourceLink::default()
    };
    let embedded = |contents| EmbeddedResource {
        annotations: Some(annotations.clone()),
        meta: Some(meta.clone()),
        ..EmbeddedResource::new(contents)
    };
    vec![
        Content::text("t\u{0}\"\\é😀"),
        Content::image("aQ==", "image/png"),
        Content::audio("aQ==", "audio/wav"),
        Content::ResourceLink(link),
        Content::Resource(embedded(ResourceContents::text("x://t", "text"))),
        Content::Resource(embedded(ResourceContents::blob("x://b", ""))),
    ]
}

// req: S-CONTENT
#[tokio::test]
async fn content_of_every_kind_by_revision() {
    let server = || Server::new("s", "1").tool("all", "", |_cx, (): ()| async { Ok(all_kinds()) });
    let text = json!({"type": "text", "text": "t\u{0}\"\\é😀"});
    let image = json!({"type": "image", "data": "aQ==", "mimeType": "image/png"});
    let audio = json!({"type": "audio", "data": "aQ==", "mimeType": "audio/wav"});
    let link =
        json!({"type": "resource_link", "uri": "x://y", "name": "why", "mimeType": "text/plain"});
    let told = |text: &str| json!({"type": "text", "text": text});
    for revision in Revision::ALL {
        let peer = peer(server(), revision).await;
        let got = peer.call("all", &json!({})).await.unwrap();
        let old = [Revision::V2024_11_05, Revision::V2025_03_26].contains(&revision);
        let audio = if revision == Revision::V2024_11_05 {
            let resource =
                json!({"uri": "polyport:audio/3", "mimeType": "audio/wav", "blob": "aQ=="});
            json!({"type": "resource", "resource": resource})
        } else {
            audio.clone()
        };
        let link = if old {
            told("why: x://y")
        } else {
            link.clone()
        };
        assert_eq!(
            got["content"].as_array().unwrap()[..4],
            [text.clone(), image.clone(), audio, link],
            "{revision}"
        );
        for (at, resource) in [
            (4, json!({"uri": "x://t", "text": "text"})),
            (5, json!({"uri": "x://b", "blob": ""})),
        ] {
            let block = &got["content"][at];
            assert_eq!(block["type"], "resource");
            assert_eq!(block["resource"], resource, "{revision}");
            assert_eq!(
                block["annotations"],
                json!({"audience": ["user"], "priority": 0.5})
            );
        }
    }
}

// req: S-CONTENT
#[tokio::test]
async fn long_texts_are_whole_in_every_revision() {
    // More than a pipe and a window hold, in characters of every length, with progress on the way.
    let long: String = "añ€😀\u{2028}\"\\\n"
        .chars()
        .cycle()
        .take(1 << 18)
        .collect();
    let server = || {
        let long = long.clone();
        Server::new("s", "1").tool("long", "", move |cx: Cx, (): ()| {
            let long = long.clone();
            async move {
                for n in 1..=5 {
                    cx.progress(f64::from(n));
                    tokio::task::yield_now().await;
                }
                Ok(ToolResult::text(long.clone()).with_content(vec![
                    Content::text(long.clone()),
                    Content::text(""),
                    Content::text(long),
                ]))
            }
        })
    };
    for revision in Revision::ALL {
        let peer = peer(server(), revision).await;
        let params = json!({"name": "long", "_meta": {"progressToken": "p"}});
        let got = peer.request("tools/call", &params).await.unwrap();
        for (at, want) in [(0, long.as_str()), (1, ""), (2, long.as_str())] {
            assert!(got["content"][at]["text"] == *want, "{revision} {at}");
        }
        assert_eq!(peer.notifications().len(), 5, "{revision}");
    }
}

// req: S-BLOCK
#[tokio::test]
async fn blocking_tools_in_every_revision() {
    let block = |cx: Cx, (): ()| -> Result<ToolResult, ToolError> {
        cx.progress(1.0);
        let thread = std::thread::current();
        assert!(!cx.is_cancelled());
        Ok(ToolResult::structured(
            &json!({"named": thread.name().is_some()}),
        )?)
    };
    for revision in Revision::ALL {
        let server = Server::new("s", "1").add_tool(Tool::blocking("block", "", block));
        let peer = peer(server, revision).await;
        let params = json!({"name": "block", "_meta": {"progressToken": 0}});
        let got = peer.request("tools/call", &params).await.unwrap();
        assert_eq!(got["content"][0]["text"], "{\"named\":true}", "{revision}");
        assert_eq!(peer.notifications()[0]["params"]["progressToken"], 0);
    }
}
