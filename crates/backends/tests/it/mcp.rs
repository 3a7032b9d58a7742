//! The files back-end as a client meets it: what the protocol makes of its answers and failures, in both eras.

use polyport::model::ResourceContents;
use polyport::testing::{self, TestPeer};
use polyport::{CallError, Resource, Revision, Server};
use polyport_backends::files::{
    Folders, Limits, serve,
    serve::{Access, Roots},
};
use serde_json::{Value, json};

use crate::support::{Fixture, fixture};

const BOTH: [Revision; 2] = [Revision::LATEST_LEGACY, Revision::LATEST];

async fn connect(folders: Folders, revision: Revision) -> TestPeer {
    let server =
        Server::new("files", "1").add_resource(Resource::new("x://other", "other", |_cx| async {
            Ok(ResourceContents::text("x://other", "another source"))
        }));
    testing::connect(
        serve::extend(server, folders, Access::Read, Roots::Legacy),
        revision,
    )
    .await
    .unwrap()
}

/// The code and message of a refusal, and its `data.uri`.
async fn refused(peer: &TestPeer, method: &str, params: Value) -> (i64, String, Value) {
    match peer.request(method, &params).await {
        Err(CallError::Refused(error)) => {
            let error: Value = error.decode().unwrap();
            let message = error["message"].as_str().unwrap().to_owned();
            (
                error["code"].as_i64().unwrap(),
                message,
                error["data"]["uri"].clone(),
            )
        }
        other => panic!("{method} {params}: {other:?}"),
    }
}

fn notes() -> Fixture {
    fixture(&[
        ("a.txt", "alpha"),
        ("b/c.txt", "beta"),
        ("b/d.bin", "\0\u{1}"),
    ])
}

// req: D-02
#[tokio::test]
async fn d_02_reads_are_refused_in_the_words_of_the_era() {
    for (revision, missing) in BOTH.into_iter().zip([-32002, -32602]) {
        let notes = notes();
        let root = format!("file://{}", notes.root().display());
        let peer = connect(notes.folders, revision).await;
        for uri in [
            format!("{root}/none"),
            format!("{root}/../secret.txt"),
            "file:///etc/passwd".to_owned(),
        ] {
            let (code, message, told) = refused(&peer, "resources/read", json!({"uri": uri})).await;
            assert_eq!((code, told), (missing, json!(uri)));
            assert!(message.contains("The working folder is"), "{message}");
        }
        let (code, message, _) =
            refused(&peer, "resources/read", json!({"uri": format!("{root}/b")})).await;
        assert_eq!(code, -32602);
        assert!(message.contains("is a directory"), "{message}");
        let (code, _, told) = refused(&peer, "resources/read", json!({"uri": "memo:1"})).await;
        assert_eq!((code, told), (missing, json!("memo:1")));
        let other = peer
            .request("resources/read", &json!({"uri": "x://other"}))
            .await
            .unwrap();
        assert_eq!(other["contents"][0]["text"], "another source");
        let (code, message, _) = refused(&peer, "resources/list", json!({"cursor": "bogus"})).await;
        assert_eq!(code, -32602, "{message}");
    }
}

#[tokio::test]
async fn lists_are_paged_over_all_sources() {
    for revision in BOTH {
        let limits = Limits {
            page: 1,
            ..Limits::default()
        };
        let notes = notes().limited(limits);
        let peer = connect(notes.folders, revision).await;
        let (mut names, mut params) = (Vec::new(), json!({}));
        for _ in 0..10 {
            let page = peer.request("resources/list", &params).await.unwrap();
            let listed = page["resources"].as_array().unwrap();
            names.extend(
                listed
                    .iter()
                    .map(|r| r["name"].as_str().unwrap().to_owned()),
            );
            match page.get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => break,
            }
        }
        assert_eq!(names, ["other", "a.txt", "b/c.txt", "b/d.bin"]);
    }
}

// req: S-COMPLETE
#[tokio::test]
async fn completion_says_how_many_there_are() {
    let names: Vec<_> = (0..150).map(|n| format!("f{n:03}")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
    for revision in BOTH {
        let notes = fixture(&files);
        let template = format!("file://{}/{{+path}}", notes.root().display())
            .replace(' ', "%20")
            .replace('ü', "%C3%BC");
        let peer = connect(notes.folders, revision).await;
        for (typed, given, total, more) in [
            ("f", 100, 150, true),
            ("f00", 10, 10, false),
            ("x", 0, 0, false),
        ] {
            let params = json!({"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": "path", "value": typed}});
            let answer = peer.request("completion/complete", &params).await.unwrap();
            let completion = &answer["completion"];
            assert_eq!(completion["values"].as_array().unwrap().len(), given);
            assert_eq!(
                (&completion["total"], &completion["hasMore"]),
                (&json!(total), &json!(more))
            );
        }
    }
}

// req: BR-038
#[tokio::test]
async fn br_038_what_the_model_can_mend_is_a_result() {
    for revision in BOTH {
        let notes = notes();
        let peer = connect(notes.folders, revision).await;
        for (tool, arguments, says) in [
            ("read_text_file", json!({"path": "none"}), "Nothing at"),
            ("read_text_file", json!({"path": "b"}), "is a directory"),
            ("read_text_file", json!({"path": "b/d.bin"}), "not UTF-8"),
            ("read_text_file", json!({}), "path"),
            (
                "read_text_file",
                json!({"path": "a.txt", "lines": 3}),
                "lines",
            ),
            ("list_directory", json!({"path": "a.txt"}), "is a file"),
            ("search_contents", json!({"pattern": "("}), "pattern"),
        ] {
            let told = peer.call(tool, &arguments).await.unwrap();
            assert_eq!(told["isError"], true, "{tool} {arguments}: {told}");
            let text = told["content"][0]["text"].as_str().unwrap();
            assert!(text.contains(says), "{tool} {arguments}: {text}");
        }
    }
}

/// What a model pays in every conversation.
// req: D-41
#[test]
fn d_41_definitions_stay_light() {
    for (access, tools, bytes) in [(Access::Read, 9, 6_200), (Access::Write, 15, 9_500)] {
        let server = serve::extend(
            Server::new("files", "1"),
            notes().folders,
            access,
            Roots::Legacy,
        );
        let weights = server
            .tool_definitions()
            .into_iter()
            .map(|tool| tool.as_bytes().len());
        let weights: Vec<_> = weights.collect();
        let sum: usize = weights.iter().sum();
        assert_eq!(weights.len(), tools);
        assert!(sum < bytes, "{sum} bytes");
    }
}

/// Without the right to write there is nothing to write with; with it, each tool says what it does.
#[tokio::test]
async fn hints_say_what_a_tool_does() {
    let read_only = json!({"readOnlyHint": true, "openWorldHint": false});
    let hints = |destructive, idempotent| {
        let mut hints = json!({"destructiveHint": destructive, "openWorldHint": false});
        if idempotent {
            hints["idempotentHint"] = true.into();
        }
        hints
    };
    for revision in BOTH {
        for access in [Access::Read, Access::Write] {
            let server = serve::extend(
                Server::new("files", "1"),
                notes().folders,
                access,
                Roots::Legacy,
            );
            let peer = testing::connect(server, revision).await.unwrap();
            let listed = peer.request("tools/list", &json!({})).await.unwrap();
            let mut writing = Vec::new();
            for tool in listed["tools"].as_array().unwrap() {
                assert!(
                    tool["title"].is_string() && tool["description"].is_string(),
                    "{tool}"
                );
                if tool["annotations"] != read_only {
                    writing.push((tool["name"].as_str().unwrap(), tool["annotations"].clone()));
                }
            }
            let want = match access {
                Access::Read => Vec::new(),
                Access::Write => vec![
                    ("write_file", hints(true, true)),
                    ("edit_file", hints(true, false)),
                    ("create_directory", hints(false, true)),
                    ("move_file", hints(true, false)),
                    ("copy_file", hints(false, true)),
                    ("delete_file", hints(true, true)),
                ],
            };
            assert_eq!(writing, want);
            if access == Access::Read {
                let (code, message, _) = refused(
                    &peer,
                    "tools/call",
                    json!({"name": "write_file", "arguments": {"path": "x", "content": ""}}),
                )
                .await;
                assert!(
                    code == -32602 && message.contains("write_file"),
                    "{code} {message}"
                );
            }
        }
    }
}

#[test]
fn resources_are_counted_as_far_as_one_page() {
    let limits = |page| Limits {
        page,
        ..Limits::default()
    };
    for (page, want) in [(1, (1, true)), (3, (3, false)), (500, (3, false))] {
        let notes = notes().limited(limits(page));
        assert_eq!(serve::count_resources(&notes.folders), Some(want));
    }
    let empty = fixture::<&str>(&[]);
    assert_eq!(serve::count_resources(&empty.folders), Some((0, false)));
}
