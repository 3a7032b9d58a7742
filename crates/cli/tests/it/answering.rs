//! What answers a server that asks: words of the command line, a terminal, a command in place of a model.

use serde_json::Value;

use crate::asking::run;
use crate::support::{Place, terminal};

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
