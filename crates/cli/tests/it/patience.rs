//! How long verbs wait by `--timeout`, and what they say when that is over.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::asking::run;
use crate::support::Place;

/// Of a command that does not answer in time it is said what is known: that it runs, for how long, and what it said elsewhere.
// req: S-FAIL-CAUSE
#[test]
fn what_is_known_of_a_silent_command_is_said() {
    let place = Place::new();
    let murmurs = "echo listening on 3000 >&2; sleep 100";
    let looks: Vec<_> = [
        (&["ls"][..], &[][..], murmurs),
        (&["ping"], &[], murmurs),
        (&["call"], &["--", "t"], murmurs),
        (&["read", "--era", "legacy"], &["--", "x://y"], murmurs),
        (&["ls", "--era", "modern"], &[], "sleep 100"),
    ]
    .into_iter()
    .map(|(verb, rest, script)| {
        let words = [verb, &["--timeout", "2", "--", "sh", "-c", script], rest].concat();
        let mut command = place.command(&words);
        let begun = Instant::now();
        let output = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        (words, script, begun, output.unwrap())
    })
    .collect();
    for (words, script, begun, program) in looks {
        let output = program.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(7), "{words:?}: {err}");
        let said = match script {
            "sleep 100" => "it has said nothing on standard error",
            _ => "it said last on standard error:\n    listening on 3000",
        };
        for want in [" after 2.0 s", "; it has run for ", said] {
            assert!(err.contains(want), "{words:?}: {want}: {err}");
        }
        // Only what hangs takes so long.
        assert!(begun.elapsed() < Duration::from_secs(60), "{words:?}");
    }
}

/// A server each of whose answers is in time, and all of them together are not.
const SLOW: &str = r#"
say() { sleep 0.4; printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) say '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) say '"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
    *'"id"'*) say '"result":{}' ;;
  esac
done
"#;

// req: S-DOCTOR
#[test]
fn the_time_is_that_of_all_steps() {
    let place = Place::new();
    let words = [
        "--timeout",
        "1.5",
        "--era",
        "legacy",
        "--",
        "sh",
        "-c",
        SLOW,
    ];
    let (code, out, err) = run(&place, &[&["doctor"], &words[..]].concat());
    assert_eq!(code, 7, "{out}{err}");
    for want in [
        "no answer after 1.5 s",
        "Of the time went: ",
        "start ",
        " skip  ",
    ] {
        assert!(out.contains(want), "{want}: {out}{err}");
    }
    let words = [&["doctor", "--json"], &words[..]].concat();
    let (code, out, err) = run(&place, &words);
    let out: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 7, "{out}{err}");
    assert!(out.to_string().contains("Of the time went: "), "{out}");
    // Of several servers, too.
    let words = [
        "--timeout",
        "0.2",
        "--era",
        "legacy",
        "--",
        "sh",
        "-c",
        SLOW,
    ];
    let (code, _, err) = run(&place, &[&["doctor", "--through"], &words[..]].concat());
    assert_eq!(code, 7, "{err}");
}
