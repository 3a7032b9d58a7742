//! Numbers without a fraction are integers however they are written, and what a type cannot hold is told without its name.

use std::collections::BTreeMap;

use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{PromptReply, Revision, Server, ToolError, testing};
use serde_json::{Value, json};

use crate::{peer, refused};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Order {
    cups: u32,
    table: Option<i64>,
    by_name: BTreeMap<String, u8>,
    lines: Vec<Line>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Line {
    count: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Cups {
    cups: u32,
    ratio: f64,
}

/// A text by its schema, and a number by its decoding.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Page {
    #[schemars(with = "String")]
    page: u8,
}

fn server() -> Server {
    Server::new("cafe", "1")
        .tool("order", "", |_cx, order: Order| async move {
            let lines: u64 = order.lines.iter().map(|line| line.count).sum();
            let named: u8 = order.by_name.values().sum();
            let all = format!("{} {:?} {named} {lines}", order.cups, order.table);
            Ok(all)
        })
        .tool("ask", "", |cx, (): ()| async move {
            let answer: Cups = cx.elicit("cups", "How many?").await?;
            Ok::<_, ToolError>(format!("{} {}", answer.cups, answer.ratio))
        })
        .prompt("page", "", |_cx, page: Page| async move {
            Ok(PromptReply::from(page.page.to_string()))
        })
}

fn text(result: &Value) -> (&str, bool) {
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    (text, result["isError"] == true)
}

/// `serde_json` writes a float of its own with its `.0`.
fn order() -> Value {
    json!({"cups": 2.0, "table": -1e1, "by_name": {"a": 3.0, "b": 4}, "lines": [{"count": 5.0}, {"count": 6}]})
}

// req: D-32
#[tokio::test]
async fn arguments_take_integers_as_json_schema_does() {
    for revision in Revision::ALL {
        let peer = peer(server(), revision).await;
        let got = peer.call("order", &order()).await.unwrap();
        assert_eq!(text(&got), ("2 Some(-10) 7 11", false), "{revision}");
        for (place, value, told) in [
            ("/cups", json!(2.5), "arguments/cups: expected integer"),
            (
                "/cups",
                json!(4_294_967_296_u64),
                "arguments/cups: expected integer from 0 to 4294967295, got number 4294967296",
            ),
            (
                "/table",
                json!(1e30),
                "arguments/table: expected integer from -9223372036854775808 to 9223372036854775807, got number 1e+30",
            ),
            (
                "/lines/1/count",
                json!(1e30),
                "arguments/lines/1/count: expected integer from 0 to 18446744073709551615, got number 1e+30",
            ),
            ("/by_name/a", json!(256.0), "arguments/by_name/a: expected "),
        ] {
            let mut bad = order();
            *bad.pointer_mut(place).unwrap() = value;
            let got = peer.call("order", &bad).await.unwrap();
            let (text, is_error) = text(&got);
            assert!(is_error && text.starts_with(told), "{revision}: {text}");
            assert!(!text.contains("u32") && !text.contains("i64"), "{text}");
        }
    }
}

// req: D-32
#[tokio::test]
async fn what_a_user_fills_in_does_so_too() {
    for revision in [
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ] {
        for (cups, told, fails) in [
            (json!(3.0), "3 0.5", false),
            (
                json!(1e30),
                "The answer does not fit the question: arguments/cups: expected integer from 0 to 4294967295, got number 1e+30",
                true,
            ),
        ] {
            let service = server().into_service();
            let client = json!({"elicitation": {}});
            let peer = testing::connect_to(service, revision, &client).await;
            let peer = peer.unwrap().answering(
                move |_, _| json!({"action": "accept", "content": {"cups": cups, "ratio": 0.5}}),
            );
            let got = peer.call("ask", &json!({})).await.unwrap();
            assert_eq!(text(&got), (told, fails), "{revision}");
        }
    }
}

#[tokio::test]
async fn an_argument_of_a_prompt_is_named() {
    for revision in Revision::ALL {
        let peer = peer(server(), revision).await;
        let params = json!({"name": "page", "arguments": {"page": "7"}});
        let error = refused(&peer, "prompts/get", params).await;
        assert_eq!(error["code"], -32602, "{revision}");
        assert_eq!(
            error["message"],
            "prompts/get: arguments/page: expected integer from 0 to 255, got string \"7\"",
            "{revision}"
        );
    }
}
