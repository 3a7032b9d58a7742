//! Discovery, capabilities, lists page by page, prompts and completion.

use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{Completer, PromptReply, Revision, Server};
use serde_json::{Value, json};

use crate::{adder, peer, refused};

// req: S-CAPS
#[tokio::test]
async fn what_is_not_offered_is_neither_declared_nor_answered() {
    for revision in Revision::ALL {
        let peer = peer(adder(), revision).await;
        let capabilities = match peer.opened() {
            Some(opened) => opened["capabilities"].clone(),
            None => {
                peer.request("server/discover", &json!({})).await.unwrap()["capabilities"].clone()
            }
        };
        assert_eq!(capabilities, json!({"logging": {}, "tools": {}}));
        for (method, params) in [
            ("prompts/list", json!({})),
            ("prompts/get", json!({"name": "x"})),
            ("resources/list", json!({})),
            ("resources/read", json!({"uri": "x://y"})),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}}),
            ),
        ] {
            assert_eq!(
                refused(&peer, method, params).await["code"],
                -32601,
                "{revision} {method}"
            );
        }
    }
}

/// Five of everything, two on a page.
fn pages() -> Server {
    (0..5).fold(Server::new("s", "1").page_size(2), |server, n| {
        server
            .tool(format!("t{n}"), "", |_cx, (): ()| async { Ok("") })
            .resource(format!("r://{n}"), format!("r{n}"), |_cx| async { Ok("") })
            .template(&format!("p{n}://{{x}}"), format!("p{n}"), |_cx, _v| async {
                Ok("")
            })
            .prompt(format!("q{n}"), "", |_cx, (): ()| async { Ok("") })
    })
}

// req: BR-123
#[tokio::test]
async fn br_123_pages() {
    for revision in Revision::ALL {
        let peer = peer(pages(), revision).await;
        for (method, key, letter) in [
            ("tools/list", "tools", "t"),
            ("resources/list", "resources", "r"),
            ("resources/templates/list", "resourceTemplates", "p"),
            ("prompts/list", "prompts", "q"),
        ] {
            let (mut names, mut sizes, mut cursor) = (Vec::new(), Vec::new(), None::<Value>);
            loop {
                let params = cursor.take().map_or(json!({}), |c| json!({"cursor": c}));
                let got = peer.request(method, &params).await.unwrap();
                let page = got[key].as_array().unwrap();
                let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
                names.extend(page.iter().map(name));
                sizes.push(page.len());
                match got.get("nextCursor") {
                    Some(next) => cursor = Some(next.clone()),
                    None => break,
                }
            }
            let want: Vec<_> = (0..5).map(|n| format!("{letter}{n}")).collect();
            assert_eq!((names, sizes), (want, vec![2, 2, 1]), "{revision} {method}");
            let beyond = polyport::cursor::encode(0, &usize::MAX.to_string());
            let texts = ["", "zzz", "MS4wLjk5", "MS45Lng", &beyond].map(Value::from);
            let others = [
                json!(5),
                json!(true),
                json!([texts[1]]),
                json!({"c": "zzz"}),
            ];
            for bogus in texts.into_iter().chain(others) {
                let error = refused(&peer, method, json!({"cursor": bogus})).await;
                assert_eq!(error["code"], -32602, "{revision} {method} {bogus}");
            }
            let first = peer
                .request(method, &json!({"cursor": null}))
                .await
                .unwrap();
            assert_eq!(first[key][0]["name"], format!("{letter}0"), "{method}");
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// The code.
    code: String,
    /// Its language.
    language: Option<String>,
}

fn reviewer() -> Server {
    Server::new("s", "1")
        .prompt(
            "review",
            "Asks for a review.",
            |_cx, r: Review| async move {
                Ok(PromptReply::new()
                    .user(format!("{}: {}", r.language.unwrap_or_default(), r.code))
                    .assistant("Sure."))
            },
        )
        .completer(Completer::of_prompt(
            "review",
            "language",
            |_cx, typed, settled| async move {
                let all = (0..150).map(|n| {
                    format!(
                        "{typed}{n}{}",
                        settled.get("code").cloned().unwrap_or_default()
                    )
                });
                Ok(all.collect())
            },
        ))
}

// req: S-PROMPT
#[tokio::test]
async fn prompts() {
    for revision in Revision::ALL {
        let peer = peer(reviewer(), revision).await;
        let list = peer.request("prompts/list", &json!({})).await.unwrap();
        assert_eq!(
            list["prompts"],
            json!([{"name": "review", "description": "Asks for a review.", "arguments": [
                {"name": "code", "description": "The code.", "required": true},
                {"name": "language", "description": "Its language.", "required": false}]}])
        );
        let got = peer
            .request(
                "prompts/get",
                &json!({"name": "review", "arguments": {"code": "x", "language": "rust"}}),
            )
            .await
            .unwrap();
        assert_eq!(
            got["messages"],
            json!([{"role": "user", "content": {"type": "text", "text": "rust: x"}}, {"role": "assistant", "content": {"type": "text", "text": "Sure."}}])
        );
        // null is no argument.
        let params = json!({"name": "review", "arguments": {"code": "x", "language": null}});
        let got = peer.request("prompts/get", &params).await.unwrap();
        assert_eq!(got["messages"][0]["content"]["text"], ": x");
        for params in [
            json!({"name": "nope"}),
            json!({}),
            json!({"name": "review"}),
            json!({"name": "review", "arguments": {"code": 7}}),
            json!({"name": "review", "arguments": {"code": null}}),
            json!({"name": "review", "arguments": ["x"]}),
        ] {
            assert_eq!(refused(&peer, "prompts/get", params).await["code"], -32602);
        }
    }
}

// req: S-COMPLETE
#[tokio::test]
async fn completion() {
    for revision in Revision::ALL {
        let peer = peer(reviewer(), revision).await;
        let ask = |name: &str, argument: &str| json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": argument, "value": "r"}, "context": {"arguments": {"code": "!"}}});
        let complete = async |params: &Value| {
            let got = peer.request("completion/complete", params).await.unwrap();
            got["completion"].clone()
        };
        let got = complete(&ask("review", "language")).await;
        let values = got["values"].as_array().unwrap();
        assert_eq!((values.len(), values[7].as_str()), (100, Some("r7!")));
        assert_eq!(
            (got["total"].as_i64(), got["hasMore"].as_bool()),
            (Some(150), Some(true)),
            "{revision}"
        );
        let got = complete(&ask("review", "code")).await;
        assert_eq!(got["values"], json!([]), "{revision}");
        for params in [
            ask("nope", "x"),
            json!({}),
            json!({"ref": {"type": "ref/tool", "name": "x"}, "argument": {"name": "a", "value": ""}}),
        ] {
            let error = refused(&peer, "completion/complete", params).await;
            assert_eq!(error["code"], -32602, "{revision}");
        }
    }
}

// req: S-COMPLETE
#[tokio::test]
async fn what_a_prompt_brings_along_goes_first() {
    let ask = |at: &str| {
        let own = at.to_owned();
        polyport::Prompt::new("ask", "", |_cx, _: Review| async { Ok("") }).completer(
            "language",
            move |_cx, typed, _settled| {
                let value = format!("{own} {typed}");
                async move { Ok(vec![value]) }
            },
        )
    };
    let general = |argument| {
        Completer::of_prompt("ask", argument, |_cx, typed, _settled| async move {
            Ok(vec![format!("general {typed}")])
        })
    };
    let server = Server::new("s", "1").add_prompt(ask("own"));
    let server = server
        .completer(general("language"))
        .completer(general("code"));
    let handle = server.handle();
    let peer = peer(server, Revision::LATEST).await;
    let complete = async |argument: &str| {
        let params = json!({"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": argument, "value": "r"}});
        let got = peer.request("completion/complete", &params).await.unwrap();
        got["completion"]["values"][0].as_str().unwrap().to_owned()
    };
    assert_eq!(complete("language").await, "own r");
    assert_eq!(complete("code").await, "general r");
    // It goes with its prompt.
    assert!(handle.remove_prompt("ask"));
    handle.add_prompt(ask("another")).unwrap();
    assert_eq!(complete("language").await, "another r");
}

// req: S-PROMPT
#[test]
#[should_panic(expected = "prompt argument \"n\": the protocol has texts only")]
fn an_argument_of_a_prompt_that_can_be_no_text() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Number {
        n: u32,
    }
    let _ = Server::new("s", "1").prompt("p", "", |_cx, _n: Number| async { Ok("") });
}
