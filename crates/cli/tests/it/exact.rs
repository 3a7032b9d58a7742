//! Numbers of a command line: that they reach a server as they were written, and which are refused.

use polyport_testkit::child::scripted;

use crate::asking::run;
use crate::support::{Place, on_terminal, with_script};

/// A server that writes down what it is asked.
const KEEPS: &str = r#"
listed() { answer '{"tools":[{"name":"t","inputSchema":{"type":"object","required":["n"],
  "properties":{"n":{"type":"integer"},"x":{"type":"number"},"any":{},"in":{"type":"object"}}}}]}' | tr -d '\n'; echo; return 1; }
called() { printf '%s' "$line" > called; }
"#;

const LONG: &str = "123456789012345678901234567890";

// req: S-EXACT
#[test]
fn numbers_reach_a_server_as_they_are_written() {
    let place = Place::new();
    let script = scripted(KEEPS);
    let called = |words: &[&str]| {
        let _ = std::fs::remove_file(place.path("called"));
        let words: Vec<String> = words.iter().map(|w| w.replace("LONG", LONG)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let split = words.iter().position(|word| *word == "t").unwrap();
        let verb = [&["call", "--era", "legacy"], &words[..split]].concat();
        let (code, _, err) = run(&place, &with_script(&verb, &script, &words[split..]));
        let sent = std::fs::read_to_string(place.path("called")).unwrap_or_default();
        (code, sent, err)
    };
    for (words, want) in [
        (&["t", "n=LONG"][..], r#"{"n":LONG}"#),
        (&["t", "n:=-LONG"], r#"{"n":-LONG}"#),
        (&["t", "n=1.0"], r#"{"n":1.0}"#),
        (&["t", "n=1e2", "x=0.LONG"], r#"{"n":1e2,"x":0.LONG}"#),
        (&["t", "n=1", "any:=[LONG]"], r#"{"any":[LONG],"n":1}"#),
        (&["t", "n=1", "in.a:=LONG"], r#"{"in":{"a":LONG},"n":1}"#),
        (&["--args", r#"{"n": LONG}"#, "t"], r#"{"n":LONG}"#),
        (
            &["--args", r#"{"n": 1, "any": [LONG, {"a": 1.50}]}"#, "t"],
            r#"{"n":1,"any":[LONG, {"a": 1.50}]}"#,
        ),
        (&["--unchecked", "t", "x=1e400"], r#"{"x":1e400}"#),
        (&["--unchecked", "t", "n:=1.5"], r#"{"n":1.5}"#),
    ] {
        let (code, sent, err) = called(words);
        let want = format!(r#""arguments":{}"#, want.replace("LONG", LONG));
        assert_eq!(code, 0, "{words:?}: {err}");
        assert!(sent.contains(&want), "{words:?}: {sent}");
    }
    for (words, why) in [
        (&["t", "n=1.5"][..], "error: n: \"1.5\" is no integer\n"),
        (&["t", "n:=1.5"], "error: t: arguments/n: expected integer"),
        (
            &["--args", r#"{"n":1.5}"#, "t"],
            "error: t: arguments/n: expected integer",
        ),
        (
            &["t", "n=1", "x=1e400"],
            "error: x: this cannot be checked: number out of range",
        ),
        (
            &["t", "n=1", "any:=[1e400]"],
            "error: any: this cannot be checked: number out of range",
        ),
        (
            &["--args", r#"{"n":1,"n":2}"#, "t"],
            "error: --args: n is given twice\n",
        ),
    ] {
        let (code, sent, err) = called(words);
        assert_eq!((code, &*sent), (2, ""), "{words:?}: {err}");
        assert!(err.starts_with(why), "{words:?}: {err}");
    }
    // What is typed is no other.
    let words = with_script(&["call", "--era", "legacy"], &script, &["t"]);
    let (shown, code) = on_terminal(place.command(&words), &format!("{LONG}\n"));
    assert_eq!(code, Some(0), "{shown}");
    let sent = std::fs::read_to_string(place.path("called")).unwrap();
    assert!(sent.contains(&format!(r#"{{"n":{LONG}}}"#)), "{sent}");
}
