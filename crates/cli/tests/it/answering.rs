//! What answers a server that asks: words of the command line, a terminal, a command in place of a model.

use polyport_testkit::child::scripted;
use serde_json::{Value, json};

use crate::asking::run;
use crate::support::{Place, on_terminal, terminal, with_script};

/// An answer that was given and does not do is said why, in either form of the error; one that nothing asks for is told of.
// req: S-ANSWERED
#[test]
fn answers_that_do_not_do_say_why() {
    let place = Place::new();
    let cups = ["--answer", "cups=2"];
    for (answer, message, hint) in [
        (
            &["--answer", "drink=beer"][..],
            "the server asks: What may it be?; --answer does not fit: ",
            "",
        ),
        (
            &["--answer", "drink=tea", "--answer", "cups=x"],
            "the server asks: What may it be?; --answer does not fit: cups: \"x\" is no integer",
            "",
        ),
        (
            &["--answer", "drnk=tea"],
            "; nothing asks for --answer drnk",
            "did you mean drink?",
        ),
        (
            &[],
            "the server asks: What may it be? (drink",
            "--answer FIELD=VALUE answers it",
        ),
    ] {
        for era in ["modern", "legacy"] {
            let given = if answer.contains(&"drink=tea") {
                &[][..]
            } else {
                &cups
            };
            let given = if answer.is_empty() { &[][..] } else { given };
            let words = [&["call", "--era", era], answer, given, &["demo", "order"]].concat();
            let (code, _, err) = run(&place, &words);
            assert_eq!(code, 8, "{words:?}: {err}");
            assert!(
                err.contains(message) && err.contains(hint),
                "{words:?}: {err}"
            );
            let (code, _, err) = run(&place, &[&words[..], &["--json"]].concat());
            let error: Value = serde_json::from_str(&err).unwrap();
            let error = &error["error"];
            assert_eq!((code, error["code"].as_str()), (8, Some("needs-person")));
            let said = error["message"].as_str().unwrap();
            assert!(said.contains(message), "{words:?}: {err}");
            assert!(
                error["hint"].as_str().unwrap_or_default().contains(hint),
                "{err}"
            );
        }
    }
    for (words, warning) in [
        (
            &[
                "order",
                "--answer",
                "drink=tea",
                "--answer",
                "cups=2",
                "--answer",
                "cup=2",
            ][..],
            "cup: did you mean cups?",
        ),
        (&["echo", "text=hi", "--answer", "drink=tea"], "drink"),
    ] {
        let (code, _, err) = run(&place, &[&["call", "demo"], words].concat());
        assert_eq!(
            (code, err),
            (
                0,
                format!("warning: nothing has asked for --answer {warning}\n")
            )
        );
    }
}

// req: S-ANSWERED
#[test]
fn a_page_is_answered_by_a_word() {
    let place = Place::new();
    for era in ["modern", "legacy"] {
        for (answer, code, want) in [
            (
                &["--answer", "url=accept"][..],
                0,
                "note: the server sends you to https://",
            ),
            (&["--answer", "url=decline"], 5, ""),
            (
                &["--answer", "url=yes"],
                8,
                "--answer does not fit: url=yes\n  hint: it is url=accept, ",
            ),
            (
                &[],
                8,
                "hint: --answer url=accept says that you go to that page, ",
            ),
        ] {
            let words = [&["call", "--era", era], answer, &["demo", "visit"]].concat();
            let (got, out, err) = run(&place, &words);
            assert_eq!(got, code, "{words:?}: {out}{err}");
            assert!(err.contains(want), "{words:?}: {err}");
        }
    }
}

/// What a tool needs and was not given is asked for at a terminal.
// req: S-ANSWERED
#[test]
fn a_terminal_is_asked_for_arguments() {
    let place = Place::new();
    let (ours, theirs) = terminal();
    let mut command = place.command(["call", "demo", "add", "a=2"]);
    command.stdin(theirs.try_clone().unwrap()).stderr(theirs);
    let child = command.spawn().unwrap();
    drop(command);
    rustix::io::write(&ours, b"three\n3\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), &*out), (Some(0), "{\"sum\":5.0}\n"));
}

/// A command stands in for a model: it reads what is asked, and what it prints is the answer.
// req: S-ANSWERED
#[test]
fn a_command_answers_for_a_model() {
    let place = Place::new();
    for era in ["modern", "legacy"] {
        for (command, code, out, err) in [
            ("tr a-z A-Z", 0, "WRITE A HAIKU ABOUT RAIN.\n", ""),
            ("echo done", 0, "done\n", ""),
            (
                "exit 3",
                8,
                "",
                "error: --sample-cmd: it failed (exit status: 3)\n",
            ),
            (
                "printf '\\377'",
                8,
                "",
                "error: --sample-cmd: it printed no text\n",
            ),
        ] {
            let words = [
                "call",
                "--era",
                era,
                "--sample-cmd",
                command,
                "demo",
                "haiku",
                "about=rain",
            ];
            let (got, said, told) = run(&place, &words);
            assert_eq!((got, &*told), (code, err), "{words:?}: {said}");
            assert!(code != 0 || said == out, "{words:?}: {said}");
        }
    }
    let (code, _, err) = run(&place, &["call", "demo", "haiku", "about=rain"]);
    assert_eq!(code, 8, "{err}");
    assert!(err.contains("--sample-cmd"), "{err}");
}

/// Sends the user to a page, and writes down what became of that.
const SENDER: &str = r#"
called() {
  asked=$id
  say "\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\",\"elicitationId\":\"1\",\"message\":\"Pay there\",\"url\":\"https://bank.example.evil.test/pay?to=\u202emoc\"}"
  return 1
}
answered() { printf '%s\n' "$line" > answered; id=$asked; answer '{"content":[{"type":"text","text":"done"}]}'; }
"#;

/// What the server was answered.
fn answered(place: &Place) -> Value {
    let text = std::fs::read_to_string(place.path("answered")).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    answer["result"].clone()
}

// req: V-1005
#[test]
fn v_1005_nobody_is_sent_to_a_page_without_having_seen_where_and_agreed() {
    let place = Place::new();
    let script = scripted(SENDER);
    let words = with_script(&["call", "--era", "legacy"], &script, &["t"]);
    let (code, _, err) = run(&place, &words);
    assert_eq!(
        (code, &answered(&place)["action"]),
        (8, &json!("cancel")),
        "{err}"
    );
    assert!(
        err.contains("https://bank.example.evil.test/pay?to="),
        "{err}"
    );
    for (typed, want) in [
        ("\n", "decline"),
        ("n\n", "decline"),
        ("sure\n", "decline"),
        ("y\n", "accept"),
    ] {
        let (shown, _) = on_terminal(place.command(&words), typed);
        assert_eq!(answered(&place)["action"], want, "{typed:?}");
        assert!(
            shown.contains("https://bank.example.evil.test/pay?to=\u{fffd}moc"),
            "{shown}"
        );
    }
}

/// Asks for leave, by a form that requires nothing, as FORM says; writes down what became of that.
const ASKER: &str = r#"
called() {
  asked=$id
  say "\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"Delete everything?\",\"requestedSchema\":$FORM}"
  return 1
}
answered() { printf '%s\n' "$line" > answered; id=$asked; answer '{"content":[{"type":"text","text":"done"}]}'; }
"#;

// req: V-1005
#[test]
fn v_1005_nobody_agrees_to_what_nobody_has_seen() {
    let place = Place::new();
    let script = scripted(ASKER);
    let none = r#"FORM={"type":"object","properties":{}}"#;
    let some = r#"FORM={"type":"object","properties":{"why":{"type":"string"}}}"#;
    let accepted = |content: Value| json!({"action": "accept", "content": content});
    let named = |action: &str| json!({"action": action});
    for (form, typed, want) in [
        (none, "\n", named("decline")),
        (none, "n\n", named("decline")),
        (none, "y\n", accepted(json!({}))),
        (some, "\n\n", named("decline")),
        (some, "\ny\n", accepted(json!({}))),
        (some, "old\ny\n", accepted(json!({"why": "old"}))),
    ] {
        let words = ["call", "--era", "legacy", "-e", form];
        let words = with_script(&words, &script, &["t"]);
        let (shown, _) = on_terminal(place.command(&words), typed);
        assert!(shown.contains("Delete everything?"), "{shown}");
        assert_eq!(answered(&place), want, "{form} {typed:?}: {shown}");
    }
    for (form, answer, code, want) in [
        (none, &[][..], 8, named("cancel")),
        (some, &[], 8, named("cancel")),
        (none, &["--answer", "form=yes"], 8, named("cancel")),
        (none, &["--answer", "form=accept"], 0, accepted(json!({}))),
        (some, &["--answer", "form=accept"], 0, accepted(json!({}))),
        (some, &["--answer", "form=decline"], 0, named("decline")),
        (some, &["--answer", "form=cancel"], 0, named("cancel")),
        (
            some,
            &["--answer", "why=old"],
            0,
            accepted(json!({"why": "old"})),
        ),
    ] {
        let words = [&["call", "--era", "legacy", "-e", form][..], answer].concat();
        let (got, _, err) = run(&place, &with_script(&words, &script, &["t"]));
        assert_eq!(
            (got, answered(&place)),
            (code, want),
            "{form} {answer:?}: {err}"
        );
        assert!(code == 0 || err.contains("form=accept"), "{err}");
    }
}

/// What a form begins with is sent as it is written, however long its numbers are.
// req: S-EXACT
#[test]
fn a_default_is_taken_as_it_is_written() {
    let place = Place::new();
    let script = scripted(ASKER);
    let defaults = [
        ("a", "integer", "123456789012345678901234567890"),
        ("b", "integer", "-18446744073709551616"),
        ("c", "integer", "1e2"),
        ("d", "number", "0.1234567890123456789"),
        ("e", "number", "1.50"),
        ("f", "integer", "1.0"),
    ];
    let members = defaults
        .map(|(name, kind, value)| format!(r#""{name}":{{"type":"{kind}","default":{value}}}"#));
    let form = format!(
        r#"FORM={{"type":"object","required":["a"],"properties":{{{}}}}}"#,
        members.join(",")
    );
    let content = defaults.map(|(name, _, value)| format!(r#""{name}":{value}"#));
    let want = format!(r#""content":{{{}}}"#, content.join(","));
    let words = ["call", "--era", "legacy", "-e", &form];
    let typed = with_script(&words, &script, &["t"]);
    let (shown, _) = on_terminal(place.command(&typed), "\n\n\n\n\n\n");
    let sent = std::fs::read_to_string(place.path("answered")).unwrap();
    assert!(sent.contains(&want), "{shown}: {sent}");
    for (name, _, value) in defaults {
        let begins = format!("{name}, empty for {value}: ");
        assert!(shown.contains(&begins), "{begins}: {shown}");
    }
    let words = [&words[..], &["--answer", "form=accept"]].concat();
    let (code, _, err) = run(&place, &with_script(&words, &script, &["t"]));
    let sent = std::fs::read_to_string(place.path("answered")).unwrap();
    assert!(code == 0 && sent.contains(&want), "{err}: {sent}");
}

/// What a form begins with is shown, and taken by whoever leaves it as it is. What does not fit is nothing to begin with.
// req: BR-155
#[test]
fn br_155_a_form_begins_with_its_defaults() {
    let place = Place::new();
    let script = scripted(ASKER);
    let form = r#"FORM={"type":"object","required":["a","b"],"properties":{"a":{"type":"string","default":"it"},
        "b":{"type":"integer","default":3},"c":{"type":"boolean","default":true},"d":{"type":"number","default":0.5},
        "e":{"type":"string","enum":["x","y"],"default":"y"},"f":{"type":"string"},"g":{"type":"integer","default":"x"}}}"#;
    let form = form.replace('\n', "");
    let begun = json!({"a": "it", "b": 3, "c": true, "d": 0.5, "e": "y"});
    let mut changed = begun.clone();
    changed["a"] = json!("other");
    changed["c"] = json!(false);
    let words = ["call", "--era", "legacy", "-e", &form];
    let on_it = with_script(&words, &script, &["t"]);
    for (typed, content) in [
        ("\n\n\n\n\n\n\n", &begun),
        ("other\n\nfalse\n\n\n\n\n", &changed),
    ] {
        let (shown, _) = on_terminal(place.command(&on_it), typed);
        let want = json!({"action": "accept", "content": content});
        assert_eq!(answered(&place), want, "{shown}");
        for begins in [
            "a, empty for it: ",
            "e, empty for y: ",
            "g, empty for none: ",
        ] {
            assert!(shown.contains(begins), "{begins}: {shown}");
        }
    }
    for (answers, content) in [
        (&["--answer", "form=accept"][..], &begun),
        (
            &[
                "--answer",
                "form=accept",
                "--answer",
                "a=other",
                "--answer",
                "c=false",
            ],
            &changed,
        ),
    ] {
        let words = [&words[..], answers].concat();
        let (code, _, err) = run(&place, &with_script(&words, &script, &["t"]));
        let want = json!({"action": "accept", "content": content});
        assert_eq!((code, answered(&place)), (0, want), "{answers:?}: {err}");
    }
}

/// A server names its fields as it likes, and people type what they like.
// req: BR-202, V-1005
#[test]
fn br_202_what_is_typed_is_the_value_and_nothing_else() {
    let place = Place::new();
    place.write("secret", "hush");
    let script = scripted(ASKER);
    let form = r#"FORM={"type":"object","required":["a.b","b[]","c:","d"],"properties":{"a.b":{"type":"string"},"b[]":{"type":"string"},
        "c:":{"type":"string"},"d":{"type":"integer"},"e":{"type":"string"}}}"#;
    let form = form.replace('\n', "");
    let words = ["call", "--era", "legacy", "-e", &form];
    let words = with_script(&words, &script, &["t"]);
    let (shown, _) = on_terminal(place.command(&words), "@secret\n\n@-\nseven\n7\n\n");
    let content = json!({"a.b": "@secret", "b[]": "", "c:": "@-", "d": 7});
    assert_eq!(
        answered(&place),
        json!({"action": "accept", "content": content}),
        "{shown}"
    );
}

// req: S-SHELL
// req: S-TOTAL
#[test]
fn nothing_is_left_of_a_command_whose_answer_nobody_waits_for() {
    let place = Place::new();
    let command = "sleep 300 & echo $! > pid; wait";
    for era in ["legacy", "modern"] {
        let words = [
            "call",
            "--era",
            era,
            "--timeout",
            "1",
            "--sample-cmd",
            command,
        ];
        let words = [&words[..], &["demo", "haiku", "about=x"]].concat();
        let output = place.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{era}: {output:?}");
        let pid = std::fs::read_to_string(place.path("pid")).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let begun = std::time::Instant::now();
        let is_there = || {
            let stat = std::fs::read_to_string(&stat).unwrap_or_default();
            let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
            !state.is_empty() && !state.starts_with('Z')
        };
        while is_there() {
            assert!(begun.elapsed().as_secs() < 20, "{era}: it is left");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}
