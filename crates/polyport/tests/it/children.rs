//! Servers that are programs, as people have met them: talkative, fragile, stubborn, and wrong in one entry of a list.
#![cfg(unix)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use polyport::client::Connect;
use polyport::model::{ElicitResult, Object};
use polyport::{Client, ClientError, Command, Era, Patience, Raw, Revision, Revisions, Speaker};
use polyport_testkit::Log;
use polyport_testkit::child::scripted;
use serde_json::{Value, json};

/// Nothing in these tests takes so long.
const LONG: Duration = Duration::from_secs(30);

/// A server that does as these functions say.
fn program(functions: &str) -> Command {
    let [program, arguments @ ..] = scripted(functions);
    Command::new(program).args(arguments)
}

fn server(functions: &str) -> Connect {
    Connect::command(program(functions))
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
        let client = connected(server(&functions)).await;
        for _ in 0..2 {
            assert_eq!(call(&client).await.unwrap(), "done");
        }
        client.close().await;
        let client = connected(Connect::command(program(&functions).env("DIES", "1"))).await;
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

/// Of one that does not answer it is known that it runs, and what it has said elsewhere.
// req: S-FAIL-CAUSE
#[tokio::test]
async fn what_is_known_of_a_program_that_does_not_answer_comes_with_the_error() {
    let begun = Instant::now();
    let (said, mut has_said) = tokio::sync::mpsc::unbounded_channel();
    let silent = Command::new("sh").args(["-c", "echo listening >&2; exec sleep 100"]);
    let silent = silent.heard_by(move |_| {
        let _ = said.send(begun.elapsed());
    });
    let patience = Patience {
        probe: LONG,
        handshake: Duration::from_secs(2),
        request: LONG,
    };
    let connect = Connect::command(silent).speaks(Revisions::of(Era::Legacy));
    let failed = connect.patience(patience).connect().await.unwrap_err();
    let ClientError::TimedOut(late) = &failed else {
        panic!("{failed}");
    };
    let program = late.program.as_deref().unwrap();
    assert!(failed.to_string().contains("; it has run for "), "{failed}");
    // On a machine that is slow it may have come too late.
    let is_in_time = |heard: Duration| heard < patience.handshake / 2;
    if has_said.try_recv().is_ok_and(is_in_time) {
        assert_eq!(program.said, ["listening"]);
    }
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

/// A list that changes whenever it is asked for is asked for when we ask, and what nobody takes of its changes is bounded.
// req: V-413
#[tokio::test]
async fn v_413_a_server_whose_list_changes_all_the_time_is_not_asked_all_the_time() {
    let functions = r#"
        changes() { yes '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}' | head -n 20000; }
        listed() { changes; }
        called() { changes; calls=$((calls + 1)); [ "$calls" -lt 4 ] || exit 0; }
    "#;
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = asked.clone();
    let client = connected(server(functions).tap(move |who, message| {
        let is_list =
            who == Speaker::Client && String::from_utf8_lossy(message).contains("\"tools/list\"");
        counts.fetch_add(usize::from(is_list), Ordering::SeqCst);
    }))
    .await;
    for n in 1..4 {
        assert_eq!(client.tools().await.unwrap().len(), 1);
        assert_eq!(call(&client).await.unwrap(), "done");
        assert_eq!(asked.load(Ordering::SeqCst), n);
    }
    // The newest are there, until the server has ended.
    assert!(matches!(call(&client).await, Err(ClientError::Gone { .. })));
    let mut kept = 0;
    while client.notification().await.is_some() {
        kept += 1;
    }
    assert_eq!(kept, 1_024);
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

// req: BR-004, BR-005
#[tokio::test]
async fn br_004_br_005_a_text_is_the_same_however_it_is_cut_and_whatever_separates_its_lines() {
    let text = "—😀 a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f é e\u{301} \u{feff}\u{ffff}";
    let result = json!({"content": [{"type": "text", "text": text}]}).to_string();
    assert!(result.contains('\u{2028}'), "as it is, without escapes");
    // A write for each byte.
    let functions = r#"
        called() {
          printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$RESULT" | dd bs=1 2>/dev/null
          return 1
        }
    "#;
    let client = connected(Connect::command(program(functions).env("RESULT", &result))).await;
    assert_eq!(call(&client).await.unwrap(), text);
}

/// A long answer is an answer, up to a bound; one beyond it fails the call that waits for it, and says which bound.
// req: BR-019
#[tokio::test]
async fn br_019_a_result_of_one_long_line() {
    let functions = r#"
        called() {
          printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
          calls=$((calls + 1))
          [ "$calls" -gt 1 ] && bytes=$((65 << 20)) || bytes=$((5 << 20))
          head -c "$bytes" /dev/zero | tr '\0' y
          printf '"}]}}\n'
          return 1
        }
    "#;
    let log = Log::at(tracing::Level::WARN);
    let client = connected(server(functions)).await;
    let text = call(&client).await.unwrap();
    assert_eq!(text.as_str().unwrap(), "y".repeat(5 << 20));
    let called = call(&client).await;
    assert!(
        matches!(&called, Err(ClientError::Unreadable(why)) if why.contains("longer than 67108864 bytes")),
        "{called:?}"
    );
    assert!(log.text().contains("67108864"), "{}", log.text());
    client.ping().await.unwrap();
}

/// What a server answers is read within the same bounds as what a client asks: the call fails, and nothing else does.
// req: V-404, V-502
#[tokio::test]
async fn v_404_v_502_an_answer_that_nests_too_deeply_or_says_a_thing_twice_fails_alone() {
    let nested = |depth: usize| format!("[{}{}]", "[".repeat(depth), "]".repeat(depth));
    let deep = |depth: usize| {
        format!(
            r#"{{"content":[],"structuredContent":{{"a":{}}}}}"#,
            nested(depth)
        )
    };
    let double = r#"{"content":[],"content":[{"type":"text","text":"other"}]}"#;
    for (result, is_taken) in [
        (deep(60), true),
        (deep(1_000), false),
        (deep(50_000), false),
        (double.to_owned(), false),
        (
            r#"{"content":[]},"result":{"content":[]}"#.to_owned(),
            false,
        ),
        (
            r#"{"content":[]},"error":{"code":1,"message":"m"}"#.to_owned(),
            false,
        ),
    ] {
        let functions = r#"
            called() {
              calls=$((calls + 1))
              [ "$calls" = 1 ] || return 0
              answer "$(cat "$RESULT")"
              return 1
            }
        "#;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &result).unwrap();
        let command = program(functions).env("RESULT", file.path());
        let client = connected(Connect::command(command)).await;
        let arguments = Raw::from_static("{}");
        let called = client.call_tool("t", &arguments).await;
        let shown = &result[..result.len().min(60)];
        assert_eq!(called.is_ok(), is_taken, "{shown}: {called:?}");
        assert_eq!(call(&client).await.unwrap(), "done", "{shown}");
    }
}

// req: S-GONE
#[tokio::test]
async fn a_server_that_closes_its_input_is_told_of_long_before_the_time_is_over() {
    let deaf = Command::new("sh").args(["-c", "exec <&-; exec sleep 100"]);
    let connecting = tokio::time::timeout(LONG, Connect::command(deaf).connect());
    let error = connecting.await.expect("it does not hang").unwrap_err();
    assert!(error.to_string().contains("closed its input"), "{error}");
}
