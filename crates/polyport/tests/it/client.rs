//! The client of the SDK against servers of the SDK, in both eras: what is asked, what is answered, and what is refused.

use std::time::Duration;

use polyport::client::Connect;
use polyport::model::{
    Blocks, Content, CreateMessageResult, ElicitResult, Object, Role, Root, RpcError,
};
use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{ClientError, Era, Raw, Revision, Revisions, Server, Wait};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Name {
    name: String,
}

/// A tool that asks everything, one after the other.
fn curious() -> Server {
    Server::new("curious", "1")
        .tool("ask", "Asks.", |cx, (): ()| async move {
            let who: Name = cx.elicit("who", "Who?").await?;
            cx.elicit_url("page", "Look there", "https://example.test/")
                .await?;
            let said = cx.sample_text("said", "Say something", 10).await?;
            let roots = cx.roots("where").await?;
            Ok(format!("{} {said} {}", who.name, roots[0].uri))
        })
        .tool("plain", "Asks nothing.", |_cx, (): ()| async {
            Ok("plain")
        })
}

fn eras() -> [(Revisions, Revision); 2] {
    [
        (Revisions::of(Era::Modern), Revision::LATEST),
        (Revisions::of(Era::Legacy), Revision::LATEST_LEGACY),
    ]
}

fn answering(speaks: Revisions) -> Connect {
    Connect::service(curious().into_service())
        .speaks(speaks)
        .on_form(|form| async move {
            assert_eq!(form.message, "Who?");
            let mut content = Object::new();
            content.insert("name", Raw::from_static("\"Ada\""));
            ElicitResult::accept(Some(content))
        })
        .on_page(|page| async move {
            assert_eq!(page.url, "https://example.test/");
            ElicitResult::accept(None)
        })
        .on_sample(|_asked| async move {
            Ok(CreateMessageResult {
                role: Role::Assistant,
                content: Blocks::One(Box::new(Content::text("hello"))),
                model: "m".to_owned(),
                stop_reason: None,
                meta: None,
                extra: Object::new(),
            })
        })
        .roots([Root::new("file:///home/ada")])
}

// req: S-ANSWERS
#[tokio::test]
async fn one_set_of_functions_answers_in_both_eras() {
    for (speaks, revision) in eras() {
        let client = answering(speaks).connect().await.unwrap();
        assert_eq!(client.opened().revision, revision);
        assert_eq!(client.opened().server.as_ref().unwrap().name, "curious");
        let result = client
            .call_tool("ask", &Raw::from_static("{}"))
            .await
            .unwrap();
        let said = serde_json::to_value(&result.content).unwrap();
        assert_eq!(said[0]["text"], "Ada hello file:///home/ada", "{revision}");
        client.close().await;
    }
}

// req: S-ANSWERS
#[tokio::test]
async fn what_is_not_provided_is_not_declared() {
    for (speaks, revision) in eras() {
        let client = Connect::service(curious().into_service()).speaks(speaks);
        let client = client.connect().await.unwrap();
        let plain = client
            .call_tool("plain", &Raw::from_static("{}"))
            .await
            .unwrap();
        assert!(!plain.is_error.unwrap_or_default());
        // Legacy: the model is told; modern: the error of the revision.
        match client.call_tool("ask", &Raw::from_static("{}")).await {
            Ok(result) => {
                assert_eq!(
                    (result.is_error, revision),
                    (Some(true), Revision::LATEST_LEGACY)
                );
            }
            Err(ClientError::Refused(error)) => {
                assert_eq!((error.code, revision), (-32021, Revision::LATEST));
            }
            Err(other) => panic!("{revision}: {other:?}"),
        }
    }
}

// req: S-ANSWERS
#[tokio::test]
async fn a_refusal_of_ours_is_heard() {
    for (speaks, revision) in eras() {
        let connect = Connect::service(curious().into_service()).speaks(speaks);
        let client = connect.on_form(|_| async { ElicitResult::decline() });
        let client = client.connect().await.unwrap();
        let result = client
            .call_tool("ask", &Raw::from_static("{}"))
            .await
            .unwrap();
        assert_eq!(result.is_error, Some(true), "{revision}");
    }
    let sampling = Server::new("s", "1").tool("ask", "", |cx, (): ()| async move {
        Ok(cx.sample_text("m", "?", 10).await?)
    });
    let connect = Connect::service(sampling.into_service()).speaks(Revisions::of(Era::Legacy));
    let client = connect.on_sample(|_| async { Err(RpcError::new(-1, "User rejected sampling")) });
    let client = client.connect().await.unwrap();
    let result = client
        .call_tool("ask", &Raw::from_static("{}"))
        .await
        .unwrap();
    assert_eq!(result.is_error, Some(true));
}

// req: S-OFFERED
#[tokio::test]
async fn what_is_not_offered_is_refused_here() {
    for (speaks, _) in eras() {
        let client = Connect::service(curious().into_service()).speaks(speaks);
        let client = client.connect().await.unwrap();
        assert_eq!(client.tools().await.unwrap().len(), 2);
        for refused in [
            client.prompts().await.map(drop),
            client.read("a:/b").await.map(drop),
        ] {
            assert!(
                matches!(refused, Err(ClientError::NotOffered(_))),
                "{refused:?}"
            );
        }
        client.ping().await.unwrap();
    }
}

// req: S-OFFERED
#[tokio::test]
async fn lists_are_read_to_their_last_page() {
    for (speaks, _) in eras() {
        let mut server = Server::new("long", "1");
        for n in 0..250 {
            server = server.tool(format!("t{n}"), "", |_cx, (): ()| async { Ok("") });
        }
        let client = Connect::service(server.into_service()).speaks(speaks);
        let client = client.connect().await.unwrap();
        let tools = client.tools().await.unwrap();
        assert_eq!((tools.len(), tools[249].name.as_str()), (250, "t249"));
        let raw = client
            .request_raw("tools/list", "{\"cursor\":\"zzz\"}", None)
            .await;
        assert!(matches!(raw, Err(ClientError::Refused(e)) if e.code == -32602));
    }
}

#[tokio::test]
async fn what_belongs_to_no_answer_is_heard_in_both_eras() {
    for (speaks, revision) in eras() {
        let server = Server::new("talks", "1").tool("talk", "Logs.", |cx, (): ()| async move {
            cx.info("here");
            Ok("")
        });
        let client = Connect::service(server.into_service()).speaks(speaks);
        let client = client.connect().await.unwrap();
        let mut params = r#"{"name":"talk"}"#;
        if revision.profile().era == Era::Legacy {
            let level = client.request_raw("logging/setLevel", r#"{"level":"info"}"#, None);
            level.await.unwrap();
        } else {
            params = r#"{"name":"talk","_meta":{"io.modelcontextprotocol/logLevel":"info"}}"#;
        }
        client
            .request_raw("tools/call", params, None)
            .await
            .unwrap();
        let told = client.notification().await.unwrap();
        assert!(told.as_str().contains("\"here\""), "{revision}: {told:?}");
    }
}

/// Over how many rounds it goes, and however long somebody thinks: it is one request.
// req: S-TOTAL
#[tokio::test(start_paused = true)]
async fn the_time_of_a_request_is_that_of_all_its_rounds() {
    for (speaks, revision) in eras() {
        for (each, total, is_done) in [(1, 5, true), (1, 3, false), (600, 3, false)] {
            let asks = Server::new("s", "1").tool("ask", "", |cx, (): ()| async move {
                for n in 0..4 {
                    cx.elicit::<Name>(&format!("q{n}"), "Who?").await?;
                }
                Ok("done")
            });
            let connect = Connect::service(asks.into_service()).speaks(speaks);
            let connect = connect.on_form(move |_| async move {
                tokio::time::sleep(Duration::from_secs(each)).await;
                let mut content = Object::new();
                content.insert("name", Raw::from_static("\"Ada\""));
                ElicitResult::accept(Some(content))
            });
            let client = connect.connect().await.unwrap();
            let wait = Wait {
                total: Some(Duration::from_secs(total)),
                ..Wait::default()
            };
            let begun = tokio::time::Instant::now();
            let result =
                client.request_raw("tools/call", r#"{"name":"ask","arguments":{}}"#, Some(wait));
            match result.await {
                Ok(_) => assert!(is_done, "{revision}"),
                Err(ClientError::TimedOut(late)) => {
                    assert!(!is_done, "{revision}");
                    assert_eq!(
                        (late.after.as_secs(), begun.elapsed().as_secs()),
                        (total, total)
                    );
                }
                Err(other) => panic!("{revision}: {other:?}"),
            }
        }
    }
}
