//! What is different at a terminal: its width and height, how far something is, the pager; and lists as people read them.

use std::fs::File;
use std::io::Read as _;

use rustix::termios::{Winsize, tcsetwinsize};

use crate::asking::run;
use crate::support::{BINARY, Place, golden, terminal};

/// Runs at a terminal of this size: how it ends, and what stands on it.
fn at_terminal(
    place: &Place,
    (columns, rows): (u16, u16),
    words: &[&str],
    variables: &[(&str, &str)],
) -> (i32, String) {
    let (ours, theirs) = terminal();
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&ours, size).unwrap();
    let mut command = place.command(words);
    command
        .env("TERM", "xterm")
        .env_remove("PAGER")
        .env_remove("POLYPORT_PAGER")
        .envs(variables.iter().copied());
    command
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    // Its end is the end of the other side.
    let _ = File::from(ours).read_to_end(&mut shown);
    let code = child.wait().unwrap().code().unwrap();
    (
        code,
        String::from_utf8(shown).unwrap().replace("\r\n", "\n"),
    )
}

// req: S-SCREEN
#[test]
fn lines_of_a_list_fit() {
    let place = Place::new();
    for columns in [40, 60, 200] {
        let (code, shown) = at_terminal(&place, (columns, 200), &["ls", "demo"], &[]);
        assert_eq!(code, 0);
        assert!(shown.contains("\n  add(a, b)"), "{shown}");
        assert_eq!(shown.contains('…'), columns < 200, "{shown}");
        for line in shown.lines() {
            assert!(
                line.chars().count() <= columns.into(),
                "{columns}: {line:?}"
            );
        }
    }
}

// req: S-SCREEN
#[test]
fn long_lists_are_paged() {
    let place = Place::new();
    let mark = ("POLYPORT_PAGER", "sed s/^/P:/");
    let rows = [
        (&["ls", "demo"][..], 10, &[mark][..], true),
        (&["ls", "demo"], 10, &[("PAGER", "sed s/^/P:/")], true),
        (&["ls", "demo"], 10, &[mark, ("PAGER", "cat")], true),
        (&["show", "demo", "add"], 4, &[mark], true),
        (&["ls", "demo"], 200, &[mark], false),
        (&["ls", "demo", "--no-pager"], 10, &[mark], false),
        (&["ls", "demo", "--no-input"], 10, &[mark], false),
        (&["ls", "demo"], 10, &[mark, ("TERM", "dumb")], false),
        (&["ls", "demo"], 10, &[("POLYPORT_PAGER", "")], false),
        (&["ls", "demo"], 10, &[("PAGER", "cat")], false),
        (&["ls", "demo", "--json"], 1, &[mark], false),
        (&["call", "demo", "echo", "text=a\nb\nc"], 2, &[mark], false),
    ];
    for (words, height, variables, is_paged) in rows {
        let (code, shown) = at_terminal(&place, (100, height), words, variables);
        assert_eq!(code, 0, "{words:?}: {shown}");
        assert_eq!(
            shown.starts_with("P:"),
            is_paged,
            "{words:?} {variables:?}: {shown}"
        );
    }
    // One that is not there shows nothing, and so it is printed.
    let (code, shown) = at_terminal(
        &place,
        (100, 10),
        &["ls", "demo"],
        &[("PAGER", "/nowhere/pager")],
    );
    assert_eq!(code, 0);
    assert!(
        shown.contains("Polyport, ") && shown.contains("greet"),
        "{shown}"
    );
    // Who leaves early has seen enough.
    let (code, _) = at_terminal(&place, (100, 10), &["ls", "demo"], &[("PAGER", "true")]);
    assert_eq!(code, 0);
}

/// A call that says nothing, and a server that is slow to open, show that time passes.
// req: S-SCREEN
#[test]
fn silence_is_shown() {
    let place = Place::new();
    let (code, shown) = at_terminal(
        &place,
        (100, 24),
        &["call", "demo", "wait", "seconds=1"],
        &[],
    );
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("wait  0.") && shown.contains(" s  (Ctrl-C cancels)"),
        "{shown:?}"
    );
    assert!(shown.ends_with("\r\u{1b}[2Kwaited 1 s\n"), "{shown:?}");
    let slow = format!("sleep 1; exec {BINARY} serve demo");
    let words = ["ping", "-n", "1", "--", "sh", "-c", &slow];
    let (code, shown) = at_terminal(&place, (100, 24), &words, &[]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("reaching sh  0."), "{shown:?}");
    let (_, shown) = at_terminal(
        &place,
        (100, 24),
        &["call", "-q", "demo", "wait", "seconds=1"],
        &[],
    );
    assert_eq!(shown, "waited 1 s\n");
    let words = ["call", "--progress", "none", "demo", "wait", "seconds=1"];
    assert_eq!(
        at_terminal(&place, (100, 24), &words, &[]).1,
        "waited 1 s\n"
    );
}

/// The shell's next line begins on a line of its own; a program gets what the server sent.
// req: S-SCREEN
#[test]
fn a_text_ends_its_line_at_a_terminal() {
    let place = Place::new();
    let words = ["read", "demo", "demo://counter"];
    assert_eq!(
        at_terminal(&place, (80, 24), &words, &[]),
        (0, "0\n".to_owned())
    );
    assert_eq!(run(&place, &words).1, "0");
}

// req: S-SCREEN
#[test]
fn lists_in_full() {
    let place = Place::new();
    let mut text = String::new();
    for words in [
        &["ls", "-l", "demo"][..],
        &["ls", "--tokens", "demo"],
        &["ls", "-l", "--tokens", "notes"],
    ] {
        let (code, out, err) = run(&place, words);
        assert_eq!((code, &*err), (0, ""));
        text += &format!("$ polyport {}\n{out}\n", words.join(" "));
    }
    golden("lists.txt", &place.plain(&text));
    let (code, _, err) = run(&place, &["ls", "-l", "--json", "demo"]);
    assert_eq!(code, 2, "{err}");
}

/// A server of the legacy era that has a tool for clients that fill in forms, and a great many others.
const HIDING: &str = r#"
    read opening; case $opening in *elicitation*) more=',{"name":"asks","inputSchema":{"type":"object"}}';; esac
    echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
    read initialized
    read list; many=$(printf '{"name":"other_%s","inputSchema":{"type":"object"}},' $(seq 300))
    echo '{"jsonrpc":"2.0","id":2,"result":{"tools":['"$many"'{"name":"last","inputSchema":{"type":"object"}}'"$more"']}}'
    read rest
"#;

/// What can be called is listed: servers hide what a client could not answer.
// req: S-SCREEN
#[test]
fn a_list_has_what_can_be_called() {
    let place = Place::new();
    let server = ["--", "sh", "-c", HIDING];
    let (_, out, err) = run(&place, &[&["ls", "--era", "legacy"], &server[..]].concat());
    assert!(
        out.contains("302 tools") && out.contains("\n  asks()"),
        "{out}{err}"
    );
    let (code, out, _) = run(
        &place,
        &[&["show", "--era", "legacy"], &server[..], &["--", "asks"]].concat(),
    );
    assert_eq!((code, out.starts_with("tool asks")), (0, true), "{out}");
    // Of very many names some are said.
    for name in [&[][..], &["zzz"]] {
        let (_, _, err) = run(
            &place,
            &[&["call", "--era", "legacy"], &server[..], &["--"], name].concat(),
        );
        assert!(err.contains("other_12 and 290 more"), "{err}");
    }
}

/// An answer that is broken is one all the same: nobody waits for another.
// req: S-FAIL-CAUSE
#[test]
fn a_broken_answer_is_not_waited_for() {
    let place = Place::new();
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    for (result, why) in [
        ("{\"tools\":[NaN]}", "is not valid JSON"),
        (&*format!("{{\"tools\":{deep}}}"), "nests too deep"),
        ("{\"tools\":[]},\"error\":{}", "has more than one of"),
    ] {
        let script = format!(
            "read opening; echo '{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{{\"tools\":{{}}}},\"serverInfo\":{{\"name\":\"s\",\"version\":\"1\"}}}}}}'
             read initialized; read list; echo '{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{result}}}'; read rest"
        );
        let (code, _, err) = run(
            &place,
            &["ls", "--era", "legacy", "--", "sh", "-c", &script],
        );
        assert_eq!(code, 6, "{err}");
        assert!(
            err.contains("the server's answer cannot be read: ") && err.contains(why),
            "{why}: {err}"
        );
    }
}
