//! Questions in the middle of a call, written once and seen by clients of every revision.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{
    Answer, AskError, Fault, NeedInput, PromptReply, Question, Raw, Revision, Server, ToolError,
    testing,
};
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
pub(crate) struct Name {
    pub(crate) name: String,
}

/// Revisions in which users can be asked.
pub(crate) const ASKS: [Revision; 3] = [
    Revision::V2025_06_18,
    Revision::V2025_11_25,
    Revision::V2026_07_28,
];

pub(crate) fn everything() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}})
}

pub(crate) fn answer(method: &str, params: &Value) -> Value {
    match method {
        "elicitation/create" if params["mode"] == "url" => json!({"action": "accept"}),
        "elicitation/create" if params["message"] == "no" => json!({"action": "decline"}),
        "elicitation/create" if params["message"] == "gone" => json!({"action": "cancel"}),
        "elicitation/create" if params["message"] == "wrong" => {
            json!({"action": "accept", "content": {"name": 7}})
        }
        "elicitation/create" => json!({"action": "accept", "content": {"name": "Ada"}}),
        "sampling/createMessage" => {
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Paris"}})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///work"}]}),
        method => panic!("{method} was asked"),
    }
}

async fn call(server: Server, revision: Revision, tool: &str) -> Value {
    let peer = testing::connect_to(server.into_service(), revision, &everything())
        .await
        .unwrap()
        .answering(answer);
    let result = peer.call(tool, &json!({})).await;
    result.unwrap_or_else(|error| json!({"error": error.to_string()}))
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

// req: Q-SDK
#[tokio::test]
async fn one_line_asks_in_every_revision() {
    for revision in ASKS {
        let runs = Arc::new(AtomicUsize::new(0));
        let (seen, steps) = (runs.clone(), Arc::new(AtomicUsize::new(0)));
        let counted = steps.clone();
        let server = Server::new("t", "1").tool("ask", "", move |cx, (): ()| {
            runs.fetch_add(1, Ordering::SeqCst);
            let steps = steps.clone();
            async move {
                let first: usize = cx
                    .once("first", async {
                        Ok::<_, ToolError>(steps.fetch_add(1, Ordering::SeqCst))
                    })
                    .await?;
                let who: Name = cx.elicit("who", "Who are you?").await?;
                let (capital, roots) = cx
                    .ask_all((
                        cx.sample_text("capital", "The capital of France?", 10),
                        cx.roots("roots"),
                    ))
                    .await?;
                cx.elicit_url("pay", "Pay", "https://pay.example/1").await?;
                Ok(format!("{first} {} {capital} {}", who.name, roots[0].uri))
            }
        });
        let result = call(server, revision, "ask").await;
        let modern = revision == Revision::LATEST;
        if revision == Revision::V2025_06_18 {
            // It has no pages to send to; all before that went well.
            assert!(text(&result).contains("url"), "{result}");
            assert_eq!(result["isError"], true);
        } else {
            assert_eq!(text(&result), "0 Ada Paris file:///work", "{revision}");
        }
        // One run in the legacy era; one more for each of three rounds in the modern one.
        assert_eq!(seen.load(Ordering::SeqCst), if modern { 4 } else { 1 });
        assert_eq!(counted.load(Ordering::SeqCst), 1);
    }
}

// req: D-22
#[tokio::test]
async fn d_22_what_became_of_a_question_is_a_value_or_ends_the_call() {
    for revision in ASKS {
        for (message, want, words) in [
            ("no", Answer::Declined, "declined"),
            ("gone", Answer::Cancelled, "closed the question"),
            ("wrong", Answer::Unsupported, "does not fit"),
        ] {
            let wanted = want.clone();
            let server = Server::new("t", "1")
                .tool("short", "", move |cx, (): ()| async move {
                    let who: Name = cx.elicit("who", message).await?;
                    Ok(who.name)
                })
                .tool("long", "", move |cx, (): ()| {
                    let want = want.clone();
                    async move {
                        let answer = cx.elicit::<Name>("who", message).answer().await?;
                        let answer = match answer {
                            Answer::Given(name) => Answer::Given(name.name),
                            Answer::Declined => Answer::Declined,
                            Answer::Cancelled => Answer::Cancelled,
                            Answer::Unsupported => Answer::Unsupported,
                        };
                        Ok(if answer == want {
                            "as said"
                        } else {
                            "otherwise"
                        })
                    }
                })
                .prompt("short", "", move |cx, (): ()| async move {
                    let who: Name = cx.elicit("who", message).await?;
                    Ok::<_, Fault>(PromptReply::from(who.name))
                });
            let peer = testing::connect_to(server.into_service(), revision, &everything())
                .await
                .unwrap()
                .answering(answer);
            let short = peer.call("short", &json!({})).await.unwrap();
            assert_eq!(short["isError"], true, "{short}");
            assert!(text(&short).contains(words), "{short}");
            if wanted != Answer::Unsupported {
                let long = peer.call("long", &json!({})).await.unwrap();
                assert_eq!(text(&long), "as said", "{revision} {message}");
            }
            let prompt = peer.request("prompts/get", &json!({"name": "short"})).await;
            let error = prompt.unwrap_err().to_string();
            assert!(error.contains("-32602") && error.contains(words), "{error}");
        }
    }
}

// req: D-22
#[tokio::test]
async fn d_22_what_a_legacy_client_refuses_is_declined_or_unsupported_or_said() {
    for revision in Revision::ALL.into_iter().filter(|r| *r != Revision::LATEST) {
        for (code, becomes, words) in [
            (-1, "Declined", "declined"),
            (
                -32601,
                "Unsupported",
                "The client cannot be asked this: it answered that it has no such method",
            ),
            (-32000, "", "out of tokens"),
        ] {
            let server = Server::new("t", "1")
                .tool("short", "", |cx, (): ()| async move {
                    Ok(cx.sample_text("m", "?", 10).await?)
                })
                .tool("long", "", |cx, (): ()| async move {
                    let answer = cx.sample_text("m", "?", 10).answer().await?;
                    Ok(format!("{answer:?}"))
                });
            let peer = testing::connect_to(server.into_service(), revision, &everything())
                .await
                .unwrap()
                .answering(
                    move |_, _| json!({"error": {"code": code, "message": "out of tokens"}}),
                );
            let short = peer.call("short", &json!({})).await.unwrap();
            assert_eq!(short["isError"], true, "{revision} {short}");
            assert!(text(&short).contains(words), "{revision} {code}: {short}");
            let long = peer.call("long", &json!({})).await.unwrap();
            if becomes.is_empty() {
                assert_eq!(long, short);
            } else {
                assert_eq!(text(&long), becomes, "{revision}");
            }
        }
    }
}

// req: D-29
#[tokio::test]
async fn d_29_a_client_that_cannot_be_asked() {
    for revision in Revision::ALL {
        let server = || {
            Server::new("t", "1")
                .tool("ask", "", |cx, (): ()| async move {
                    let who: Name = cx.elicit("who", "Who?").await?;
                    Ok(who.name)
                })
                .tool("tries", "", |cx, (): ()| async move {
                    let answer = cx.elicit::<Name>("who", "Who?").answer().await?;
                    Ok(match answer {
                        Answer::Unsupported => "goes on without",
                        _ => "was answered",
                    })
                })
                .resource("a:/1", "a", |cx| async move {
                    cx.roots("r").await?;
                    Ok::<_, Fault>("a")
                })
        };
        let peer = testing::connect(server(), revision).await.unwrap();
        let tries = peer.call("tries", &json!({})).await.unwrap();
        assert_eq!(text(&tries), "goes on without");
        let tool = peer.call("ask", &json!({})).await;
        let resource = peer
            .request("resources/read", &json!({"uri": "a:/1"}))
            .await;
        let resource = resource.unwrap_err().to_string();
        if revision == Revision::LATEST {
            let tool = tool.unwrap_err().to_string();
            assert!(
                tool.contains("-32021") && tool.contains("elicitation"),
                "{tool}"
            );
            assert!(
                resource.contains("-32021") && resource.contains("roots"),
                "{resource}"
            );
        } else {
            assert_eq!(tool.unwrap()["isError"], true);
            assert!(resource.contains("-32602"), "{resource}");
        }
    }
}

// req: Q-GIVEN
#[tokio::test]
async fn a_tool_may_give_back_its_questions() {
    for revision in ASKS {
        let server = Server::new("t", "1").tool("ask", "", |cx, (): ()| async move {
            if let Some(answer) = cx.answered("who") {
                return Ok(format!(
                    "{} {}",
                    cx.state().unwrap_or_default(),
                    answer.as_str()
                ));
            }
            let question = Question {
                key: "who".to_owned(),
                method: "roots/list",
                params: None,
                is_passed_on: false,
            };
            Err(Fault::need_input(NeedInput {
                questions: vec![question],
                state: Some("mine".to_owned()),
                ..NeedInput::default()
            })
            .into())
        });
        let result = call(server, revision, "ask").await;
        assert_eq!(
            text(&result),
            r#"mine {"roots":[{"uri":"file:///work"}]}"#,
            "{result}"
        );
    }
}

// req: D-13
#[tokio::test(start_paused = true)]
async fn d_13_a_shielded_step_runs_to_its_end() {
    for (revision, seconds) in Revision::ALL.into_iter().flat_map(|r| [(r, 5), (r, 60)]) {
        let done = Arc::new(AtomicUsize::new(0));
        let counted = done.clone();
        let server = Server::new("t", "1").tool("move", "", move |cx, (): ()| {
            let done = done.clone();
            async move {
                let step = async move {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    done.fetch_add(1, Ordering::SeqCst);
                    "moved"
                };
                Ok(cx.shield(step).await)
            }
        });
        let peer = testing::connect(server, revision).await.unwrap();
        let nothing = json!({});
        let cut = tokio::time::timeout(Duration::from_secs(1), peer.call("move", &nothing));
        assert!(cut.await.is_err());
        peer.stop().await;
        // The server waits for it as long as for a call.
        assert_eq!(counted.load(Ordering::SeqCst), usize::from(seconds < 10));
        polyport::shielded().await;
        assert_eq!(counted.load(Ordering::SeqCst), 1);
    }
}

// req: Q-AUTHOR
#[tokio::test]
async fn a_form_that_is_none_is_the_authors_fault() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(crate = "polyport::serde")]
    #[schemars(crate = "polyport::schemars")]
    struct Nested {
        #[expect(dead_code, reason = "only its schema is looked at")]
        inner: Vec<String>,
    }
    for revision in ASKS {
        let server = Server::new("t", "1").tool("ask", "", |cx, (): ()| async move {
            cx.elicit::<Nested>("who", "?").await?;
            Ok("")
        });
        let result = call(server, revision, "ask").await.to_string();
        assert!(
            result.contains("-32603") && result.contains("errorId"),
            "{result}"
        );
        assert!(!result.contains("inner"), "{result}");
    }
}

#[tokio::test]
async fn steps_that_fail_run_again() {
    let server = Server::new("t", "1").tool("ask", "", |cx, (): ()| async move {
        for n in 0..3_u8 {
            let step = cx.once(
                "s",
                async move { if n < 2 { Err(AskErrorLike) } else { Ok(n) } },
            );
            if let Ok(n) = step.await {
                return Ok(n.to_string());
            }
        }
        Ok("never".to_owned())
    });
    let result = call(server, Revision::LATEST, "ask").await;
    assert_eq!(text(&result), "2");
}

struct AskErrorLike;

impl From<AskError> for AskErrorLike {
    fn from(_: AskError) -> Self {
        Self
    }
}

#[tokio::test]
async fn what_a_legacy_client_is_asked_is_in_the_words_of_its_revision() {
    for (revision, mode) in [
        (Revision::V2025_06_18, Value::Null),
        (Revision::V2025_11_25, json!("form")),
        (Revision::V2026_07_28, json!("form")),
    ] {
        let server = Server::new("t", "1").tool("ask", "", |cx, (): ()| async move {
            let schema = json!({"properties": {"a": {"type": "string", "oneOf": [{"const": "x", "title": "X"}]}}});
            Ok(format!("{:?}", cx.elicit_schema("k", "m", schema).await?))
        });
        let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = asked.clone();
        let peer = testing::connect_to(server.into_service(), revision, &everything())
            .await
            .unwrap()
            .answering(move |_, params| {
                kept.lock().unwrap().push(params.clone());
                json!({"action": "accept", "content": {"a": "x"}})
            });
        let result = peer.call("ask", &json!({})).await.unwrap();
        assert!(text(&result).contains('x'), "{result}");
        let asked = asked.lock().unwrap()[0].clone();
        assert_eq!(asked["mode"], mode);
        let field = &asked["requestedSchema"]["properties"]["a"];
        if mode.is_null() {
            assert_eq!(
                *field,
                json!({"type": "string", "enum": ["x"], "enumNames": ["X"]})
            );
        } else {
            assert_eq!(field["oneOf"], json!([{"const": "x", "title": "X"}]));
        }
        let _: Raw = Raw::encode(&asked).unwrap();
    }
}
