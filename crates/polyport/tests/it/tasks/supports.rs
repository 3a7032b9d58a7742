//! Which tools our client calls as tasks: those whose list lets it, where the server has tasks at all.

use std::sync::Mutex;

use polyport::client::{Called, Client, Connect};
use polyport::{ClientError, Command, Era, Revisions, Speaker};

use super::*;

const TASKS: &str = r#"{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}"#;

/// Makes a task of each call, whatever its list says.
const FUNCTIONS: &str = r#"
    listed() { answer "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}$SAID}]}"; return 1; }
    called() {
      answer '{"task":{"taskId":"1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}'
      return 1
    }
    asked() { shows tasks/result && { answer '{"content":[]}'; return 1; }; :; }
"#;

/// A client of a server that offers this, and says this of its tool; and the calls that are sent to it.
async fn client(offers: &str, said: &str) -> (Client, Arc<Mutex<Vec<String>>>) {
    let [program, arguments @ ..] = polyport_testkit::child::scripted(FUNCTIONS);
    let command = Command::new(&program).args(&arguments);
    let command = command.env("OFFERS", offers).env("SAID", said);
    let calls = Arc::new(Mutex::new(Vec::new()));
    let sent = calls.clone();
    let connect = Connect::command(command)
        .speaks(Revisions::of(Era::Legacy))
        .tap(move |speaker, text| {
            let text = String::from_utf8_lossy(text);
            if speaker == Speaker::Client && text.contains("\"tools/call\"") {
                sent.lock().unwrap().push(text.into_owned());
            }
        });
    (connect.connect().await.unwrap(), calls)
}

// req: T-ALLOWED
#[tokio::test]
async fn a_tool_is_called_as_a_task_where_its_list_allows_that() {
    let forbidden = Some("tasks for this tool");
    for (offers, tool, said, refused) in [
        (TASKS, "t", "", forbidden),
        (TASKS, "t", r#","execution":{}"#, forbidden),
        (
            TASKS,
            "t",
            r#","execution":{"taskSupport":"forbidden"}"#,
            forbidden,
        ),
        (
            TASKS,
            "t",
            r#","execution":{"taskSupport":"some day"}"#,
            forbidden,
        ),
        (
            TASKS,
            "t",
            r#","execution":{"taskSupport":"optional"}"#,
            None,
        ),
        (
            TASKS,
            "t",
            r#","execution":{"taskSupport":"required"}"#,
            None,
        ),
        // What is not in the list may be there all the same.
        (TASKS, "hidden", "", None),
        (
            r#"{"tools":{}}"#,
            "t",
            r#","execution":{"taskSupport":"required"}"#,
            Some("tasks"),
        ),
        (
            r#"{"tools":{},"tasks":{"requests":{}}}"#,
            "t",
            r#","execution":{"taskSupport":"optional"}"#,
            Some("tasks"),
        ),
    ] {
        for is_listed in [false, true] {
            let (client, calls) = client(offers, said).await;
            if is_listed {
                client.tools().await.unwrap();
            }
            let none = Raw::from_static("{}");
            let called = client.call_tool_as_task(tool, &none, None).await;
            let params = json!({"name": tool, "arguments": {}}).to_string();
            let as_text = client.call_as_task_raw(&params, None).await;
            match (refused, called, as_text) {
                (None, Ok(Called::Task(_)), Ok(_)) => {}
                (
                    Some(what),
                    Err(ClientError::NotOffered(one)),
                    Err(ClientError::NotOffered(two)),
                ) => assert_eq!((one, two), (what, what), "{offers} {said}"),
                other => panic!("{offers} {tool} {said}: {other:?}"),
            }
            let calls = calls.lock().unwrap();
            let want = if refused.is_some() { 0 } else { 2 };
            assert_eq!(calls.len(), want, "{offers} {tool} {said}: {calls:?}");
            assert!(calls.iter().all(|call| call.contains("\"task\":{")));
        }
    }
}
