//! Servers that are programs, as people have met them: talkative, fragile, stubborn, and wrong in one entry of a list.
#![cfg(unix)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use polyport::client::Connect;
use polyport::model::{ElicitResult, Object};
use polyport::{Client, ClientError, Command, Era, Patience, Raw, Revision, Revisions};
use polyport_testkit::Log;
use serde_json::{Value, json};

/// Nothing in these tests takes so long.
const LONG: Duration = Duration::from_secs(30);

/// A server of the legacy era, as far as the functions of a test do not say otherwise: each is called for a message of its kind
/// before the usual answer, and `return 1` leaves that out.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
answer() { say "\"id\":$id,\"result\":$1"; }
note() { say "\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":$1}"; }
for of in started probed opening listed called answered; do
  if ! command -v "$of" >/dev/null; then eval "$of() { :; }"; fi
done
started
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  case "$line" in
    *'"server/discover"'*) probed && say "\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no\"}" ;;
    *'"initialize"'*) opening && answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) listed && answer '{"tools":[]}' ;;
    *'"tools/call"'*) called && answer '{"content":[{"type":"text","text":"done"}]}' ;;
    *'"method"'*) ;;
    *) answered ;;
  esac
done
"#;

fn server(functions: &str) -> Connect {
    let script = format!("{functions}\n{SERVER}");
    Connect::command(Command::new("sh").args(["-c", &script]))
}

async fn connected(connect: Connect) -> Client {
    let connected = tokio::time::timeout(LONG, connect.connect()).await;
    connected.expect("it does not hang").unwrap()
}

async fn call(client: &Client) -> Result<Value, ClientError> {
    let nothing = Raw::from_static("{}");
    let called = tokio::time::timeout(LONG, client.call_tool("t", &nothing)).await;
    let result = called.expect("it does not hang")?;
    Ok(serde_json::to_value(&result.content).unwrap()[0]["text"].clone())
}

/// What the log messages carry, up to the first that comes no more.
async fn data(client: &Client, count: usize) -> Vec<Value> {
    let mut heard = Vec::new();
    while heard.len() < count {
        let note = tokio::time::timeout(LONG, client.notification()).await;
        let Some(note) = note.expect("it is told") else {
            break;
        };
        let note: Value = serde_json::from_str(note.as_str()).unwrap();
        heard.push(note["params"]["data"].clone());
    }
    heard
}

// req: BR-001
#[tokio::test]
async fn br_001_a_banner_and_lines_between_messages_are_passed_over() {
    let log = Log::at(tracing::Level::WARN);
    let client = connected(server(
        r#"
        started() { printf 'Starting…\n\n'; }
        opening() { echo 'warn: opening'; }
        called() { for i in 1 2 3; do note $i; printf 'warn: %s\n{}\n' $i; done; }
        "#,
    ))
    .await;
    for _ in 0..2 {
        assert_eq!(call(&client).await.unwrap(), "done");
    }
    assert_eq!(data(&client, 6).await, [1, 2, 3, 1, 2, 3]);
    client.close().await;
    let told = log.text();
    assert_eq!(
        told.matches("something else than messages").count(),
        1,
        "{told}"
    );
    assert!(told.contains("Starting…"), "{told}");
}

// req: BR-014
#[tokio::test]
async fn br_014_a_server_that_says_much_on_standard_error_is_not_held_up() {
    for (ends, last) in [(":", "xxxx"), ("echo >&2; echo the end >&2", "the end")] {
        // More than any pipe holds, without a line end and with many.
        let functions = format!(
            r#"
            started() {{ head -c 1048576 /dev/zero | tr '\0' x >&2; }}
            opening() {{ yes 'a line' | head -n 150000 >&2; }}
            called() {{ head -c 1048576 /dev/zero | tr '\0' x >&2; {ends}; [ -z "$DIES" ] || exit 3; }}
            "#
        );
        let script = format!("{functions}\n{SERVER}");
        let client = connected(server(&functions)).await;
        for _ in 0..2 {
            assert_eq!(call(&client).await.unwrap(), "done");
        }
        client.close().await;
        let command = Command::new("sh").args(["-c", &script]).env("DIES", "1");
        let client = connected(Connect::command(command)).await;
        match call(&client).await {
            Err(ClientError::Gone { status, said }) => {
                assert_eq!(status.and_then(|status| status.code()), Some(3));
                assert!(said.last().unwrap().starts_with(last), "{said:?}");
                assert!(said.iter().map(String::len).sum::<usize>() <= 20 << 10);
            }
            other => panic!("{other:?}"),
        }
    }
}

// req: BR-022
#[tokio::test]
async fn br_022_servers_that_break_of_an_unknown_request_are_spoken_to_in_the_legacy_era() {
    let dies = "probed() { exit 1; }";
    let dies_of_all = r#"probed() { exit 1; }; called() { [ -z "$BROKEN" ] || exit 1; }"#;
    let mute = "probed() { return 1; }";
    let wedged = "probed() { exec sleep 1000; }";
    let refuses = r#"probed() { say "\"id\":$id,\"error\":{\"code\":-32602,\"message\":\"Invalid request parameters\",\"data\":\"\"}"; return 1; }"#;
    let patience = Patience {
        probe: Duration::from_millis(300),
        handshake: Duration::from_secs(3),
        request: LONG,
    };
    for functions in [dies, dies_of_all, mute, wedged, refuses] {
        let begun = Instant::now();
        let client = connected(server(functions).patience(patience)).await;
        assert!(begun.elapsed() < Duration::from_secs(10), "{functions}");
        assert_eq!(client.opened().revision, Revision::LATEST_LEGACY);
        assert_eq!(call(&client).await.unwrap(), "done", "{functions}");
        client.close().await;
    }
}

// req: BR-022
#[tokio::test]
async fn br_022_a_server_that_never_answers_is_given_up_in_bounded_time() {
    let patience = Patience {
        probe: Duration::from_millis(100),
        handshake: Duration::from_millis(400),
        request: LONG,
    };
    let begun = Instant::now();
    let silent = server("started() { exec sleep 1000; }").patience(patience);
    let silent = tokio::time::timeout(LONG, silent.connect()).await.unwrap();
    assert!(
        matches!(silent, Err(ClientError::TimedOut(_))),
        "{silent:?}"
    );
    // Both tries, and the end of both programs.
    assert!(begun.elapsed() < Duration::from_secs(20));
}

// req: BR-023
#[tokio::test]
async fn br_023_a_server_that_logs_much_of_an_unknown_request_is_connected_to() {
    let functions = r#"
        probed() {
          yes 'Traceback: no such method' | head -c 102400 >&2
          say "\"id\":$id,\"error\":{\"code\":-32602,\"message\":\"Invalid request parameters\"}"
          return 1
        }
    "#;
    let client = connected(server(functions)).await;
    assert_eq!(client.opened().revision, Revision::LATEST_LEGACY);
    assert_eq!(call(&client).await.unwrap(), "done");
}

// req: BR-050
#[tokio::test]
async fn br_050_what_a_server_says_during_the_handshake_is_heard_and_answered() {
    // The answer to its ping comes before its own to the handshake: it waits for that.
    let functions = r#"
        opening() {
          opened=$id
          say '"method":"window/logMessage","params":{"type":3,"message":"hello"}'
          say '"method":"telemetry/event","params":{"n":1}'
          say '"method":"telemetry/event","params":[1]'
          say '"method":"$/progress"'
          note 7
          say '"id":"mine","method":"ping"'
          read -r pong
          printf '%s\n' "$pong" >&2
          id=$opened
        }
        called() { exit 0; }
    "#;
    for speaks in [Revisions::ALL, Revisions::of(Era::Legacy)] {
        let client = connected(server(functions).speaks(speaks)).await;
        assert_eq!(client.opened().server.as_ref().unwrap().name, "s");
        // Parameters that are a list are none of MCP's, and passed over.
        let data = data(&client, 4).await;
        assert_eq!(data, [json!(null), json!(null), json!(null), json!(7)]);
        let Err(ClientError::Gone { said, .. }) = call(&client).await else {
            panic!("it has ended");
        };
        let pong: Value = serde_json::from_str(&said[0]).unwrap();
        assert_eq!(
            pong,
            json!({"jsonrpc": "2.0", "id": "mine", "result": {}}),
            "{said:?}"
        );
    }
}

// req: BR-055
#[tokio::test]
async fn br_055_what_was_set_before_the_era_was_known_is_called_once() {
    // It is started a second time, for the legacy era; then it asks something, and dies at the second call.
    let functions = r#"
        probed() { exit 1; }
        called() {
          [ -z "$asked" ] || exit 3
          asked=$id
          say '"id":"q","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}'
          return 1
        }
        answered() { id=$asked; answer '{"content":[{"type":"text","text":"done"}]}'; }
    "#;
    let [asked, heard, ended] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let (asks, hears) = (asked.clone(), heard.clone());
    let connect = server(functions)
        .on_form(move |_form| {
            asks.fetch_add(1, Ordering::SeqCst);
            async { ElicitResult::accept(Some(Object::new())) }
        })
        .tap(move |_who, message| {
            let is_question = String::from_utf8_lossy(message).contains("\"elicitation/create\"");
            hears.fetch_add(usize::from(is_question), Ordering::SeqCst);
        });
    let client = Arc::new(connected(connect).await);
    let (listens, ends) = (client.clone(), ended.clone());
    let listening = tokio::spawn(async move {
        while listens.notification().await.is_some() {}
        ends.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!(call(&client).await.unwrap(), "done");
    assert_eq!(
        (asked.load(Ordering::SeqCst), heard.load(Ordering::SeqCst)),
        (1, 1)
    );
    assert_eq!(ended.load(Ordering::SeqCst), 0);
    assert!(matches!(call(&client).await, Err(ClientError::Gone { .. })));
    tokio::time::timeout(LONG, listening)
        .await
        .unwrap()
        .unwrap();
    assert!(client.is_closed());
    assert_eq!(ended.load(Ordering::SeqCst), 1);
}

// req: BR-124
#[tokio::test]
async fn br_124_a_malformed_entry_does_not_hide_the_list() {
    let good = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let mut odd = good("odd");
    odd["annotations"] = json!([]);
    let tools =
        json!([good("first"), null, {"name": "only"}, odd, 7, [], {"name": 7}, good("last")]);
    let listing = |list: &Value| format!("listed() {{ answer '{{\"tools\":{list}}}'; return 1; }}");
    let log = Log::at(tracing::Level::WARN);
    let client = connected(server(&listing(&tools))).await;
    let listed = client.tools().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names.first(), Some(&"first"));
    assert_eq!(names.last(), Some(&"last"));
    let told = log.text();
    let left_out = told.matches("an entry of a list is left out").count();
    assert_eq!(names.len() + left_out, 8, "{names:?} {told}");
    assert!(told.contains("\"index\": \"1\""), "{told}");
    // What is no list at all is said to be none.
    for list in [json!(null), json!({"a": 1}), json!("x")] {
        let client = connected(server(&listing(&list))).await;
        let listed = client.tools().await;
        assert!(
            matches!(listed, Err(ClientError::Unreadable(_))),
            "{listed:?}"
        );
    }
}
