//! The verbs beside `ls`, `call` and `read`, and what all of them take.

use std::process::Command;

use serde_json::Value;

use crate::asking::run;
use crate::support::{BINARY, Place, golden, unnumbered, with_script};

/// A command line, its exit code, standard output, and how standard error begins.
type Case = (&'static [&'static str], i32, &'static str, &'static str);

const CASES: &[Case] = &[
    (
        &["show", "demo", "ad"],
        5,
        "",
        "error: demo has no ad\n  hint: did you mean add?\n",
    ),
    (
        &["show", "demo"],
        2,
        "",
        "error: one thing is shown, by its name\n",
    ),
    (
        &["show", "demo", "add", "--jq", ".inputSchema.required[]"],
        0,
        "a\nb\n",
        "",
    ),
    (
        &["prompt", "demo", "greet", "name=Ada"],
        0,
        "[user]\nWrite a short greeting for Ada.\n",
        "",
    ),
    (
        &["prompt", "demo", "greet"],
        2,
        "",
        "error: greet needs more arguments\n  hint: give also:\n    name (string): Whom to greet.\n",
    ),
    (
        &["prompt", "demo", "greet", "nam=Ada"],
        2,
        "",
        "error: there is no argument nam\n  hint: did you mean name?\n",
    ),
    (
        &["prompt", "demo", "greet", "name:=7"],
        2,
        "",
        "error: name: arguments of a prompt are text\n",
    ),
    (
        &["prompt", "demo", "great", "name=Ada"],
        5,
        "",
        "error: demo has no prompt great\n  hint: did you mean greet?\n",
    ),
    (
        &["prompt", "demo"],
        2,
        "",
        "error: no prompt is named\n  hint: demo has review, greet\n",
    ),
    (
        &[
            "prompt",
            "demo",
            "greet",
            "name=Ada",
            "--jq",
            ".messages[0].role",
        ],
        0,
        "user\n",
        "",
    ),
    (
        &["complete", "demo", "review", "language", "ja"],
        0,
        "java\njavascript\n",
        "",
    ),
    (
        &[
            "complete", "--era", "legacy", "demo", "review", "language", "ja", "code=x",
        ],
        0,
        "java\njavascript\n",
        "",
    ),
    (
        &["complete", "demo", "demo://greeting/{name}", "name", "A"],
        0,
        "Ada\nAlan\n",
        "",
    ),
    (
        &["complete", "demo", "review", "langage", "ja"],
        2,
        "",
        "error: review has no argument langage\n  hint: did you mean language?\n",
    ),
    (
        &["complete", "demo", "revue", "language", "ja"],
        5,
        "",
        "error: demo has no prompt revue\n",
    ),
    (
        &["complete", "demo", "review", "language"],
        2,
        "",
        "error: what is completed is named by three words",
    ),
    (
        &["ping", "demo", "more"],
        2,
        "",
        "error: \"more\" is one word too many\n",
    ),
    (
        &["ping", "-n", "0", "demo"],
        2,
        "",
        "error: invalid value '0'",
    ),
    (
        &["ping", "--timeout", "0.3", "--", "sleep", "1000"],
        7,
        "",
        "error: sleep: no answer after 0.3 s; it has run for ",
    ),
    (
        &[
            "call",
            "demo",
            "add",
            "a=1",
            "b=2",
            "--jq",
            ".structuredContent.sum",
        ],
        0,
        "3.0\n",
        "",
    ),
    (
        &["call", "demo", "add", "a=1", "b=2", "--jq", ".["],
        2,
        "",
        "error: --jq: this is no filter: .[\n",
    ),
    (
        &["call", "demo", "count", "to=2", "--progress", "none"],
        0,
        "counted to 2\n",
        "",
    ),
    (
        &["call", "demo", "folders", "--root", "nowhere"],
        2,
        "",
        "error: --root nowhere: ",
    ),
];

// req: S-SHELL
// req: S-SHOW
// req: S-JQ
#[test]
fn verbs_and_their_exit_codes() {
    let place = Place::new();
    for (words, code, out, err) in CASES {
        let (status, stdout, stderr) = run(&place, words);
        assert_eq!(status, *code, "{words:?}\n{stdout}\n{stderr}");
        assert_eq!(stdout, *out, "{words:?}");
        assert!(stderr.starts_with(err), "{words:?}: {stderr}");
        assert_eq!(stderr.is_empty(), *code == 0, "{words:?}: {stderr}");
        if *code == 0 || words.contains(&"--jq") {
            continue;
        }
        let words = [&words[..1], &["--json"], &words[1..]].concat();
        let (status, stdout, stderr) = run(&place, &words);
        assert_eq!((status, stdout), (*code, String::new()), "{words:?}");
        let said: Value = serde_json::from_str(&stderr).unwrap();
        assert!(said["error"]["message"].is_string(), "{words:?}: {stderr}");
    }
}

// req: S-SHOW
#[test]
fn what_is_shown() {
    let place = Place::new();
    let mut text = String::new();
    for name in [
        "add",
        "count",
        "door",
        "now",
        "order",
        "review",
        "demo://logo",
        "demo://greeting/{name}",
    ] {
        let (code, out, err) = run(&place, &["show", "demo", name]);
        assert_eq!((code, err), (0, String::new()), "{name}");
        text += &format!("$ polyport show demo {name}\n{out}\n");
    }
    golden("show.txt", &text);
}

/// The last line of what is shown is a command line; as it stands it gets past the check of the arguments.
// req: S-SHOW
#[test]
fn shown_lines_can_be_pasted() {
    let place = Place::new();
    let binary = std::path::Path::new(BINARY).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let (_, listed, _) = run(&place, &["ls", "demo", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let mut pasted = 0;
    let names = ["tools", "prompts"].map(|list| listed[list].as_array().unwrap().clone());
    for name in names
        .iter()
        .flatten()
        .map(|one| one["name"].as_str().unwrap())
    {
        if name == "wait" {
            // It really waits.
            continue;
        }
        for server in [&["demo"][..], &["--", BINARY, "serve", "demo", "--"]] {
            let words = match server {
                ["demo"] => vec!["show", "demo", name],
                command => [&["show"], command, &[name]].concat(),
            };
            let (_, out, _) = run(&place, &words);
            let line = out.lines().last().unwrap().trim();
            let mut shell = Command::new("sh");
            shell.args(["-c", line]).current_dir(place.path(""));
            shell.stdin(std::process::Stdio::null()).env("PATH", &path);
            let output = shell.output().unwrap();
            let code = output.status.code().unwrap();
            assert!(matches!(code, 0 | 5 | 8), "{line}: {output:?}");
            assert!(line.starts_with("polyport "), "{out}");
            pasted += 1;
        }
    }
    assert_eq!(pasted, 38);
}

// req: S-SHELL
#[test]
fn a_ping_tells_its_times() {
    let place = Place::new();
    for era in ["modern", "legacy"] {
        let (code, out, _) = run(&place, &["ping", "-n", "2", "--era", era, "demo"]);
        assert_eq!(code, 0);
        let out = unnumbered(&out, "in ", "<n>");
        let mut lines = out.lines();
        let first = lines.next().unwrap();
        assert!(first.contains(": opened in <n>"), "{out}");
        assert_eq!(lines.count(), 3, "{out}");
        let (_, out, _) = run(&place, &["ping", "-n", "2", "--era", era, "demo", "--json"]);
        let said: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(said["roundTripsMs"].as_array().unwrap().len(), 2);
        assert!(said["openedMs"].as_f64().unwrap() > 0.0, "{out}");
        assert_eq!(said["server"]["title"], "Polyport");
    }
}

// req: S-SHELL
#[test]
fn the_server_hears_of_roots() {
    let place = Place::new();
    for era in ["modern", "legacy"] {
        let words = [
            "call", "--era", era, "--root", "notes", "--root", "other", "demo", "folders",
        ];
        let (code, out, err) = run(&place, &words);
        let want =
            ["notes", "other"].map(|name| format!("file://{}\n", place.path(name).display()));
        assert_eq!((code, out), (0, want.concat()), "{era}: {err}");
    }
}

// req: S-SHELL
#[test]
fn progress_is_a_line_each() {
    let place = Place::new();
    let words = ["call", "demo", "count", "to=2", "--progress", "plain"];
    let (code, out, err) = run(&place, &words);
    assert_eq!((code, &*out), (0, "counted to 2\n"));
    let lines: Vec<&str> = err.lines().collect();
    assert!(lines[0].starts_with("count  1/2  50%  "), "{err}");
    assert!(
        lines[1].starts_with("count  2/2  100%  ") && lines[1].ends_with("  at 2"),
        "{err}"
    );
}

/// A server of the legacy era with a prompt for whose argument it proposes values.
const PROPOSING: &str = r#"
    read opening; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"prompts":{},"completions":{}},"serverInfo":{"name":"s","version":"1"}}}'
    read initialized
    read list; echo '{"jsonrpc":"2.0","id":2,"result":{"prompts":[{"name":"p","arguments":[{"name":"kind","required":true}]}]}}'
    read complete; echo '{"jsonrpc":"2.0","id":3,"result":{"completion":{"values":["","a text","a blob"]}}}'
    read rest
"#;

// req: S-SHOW
#[test]
fn a_shown_prompt_has_what_its_server_proposes() {
    let place = Place::new();
    let words = [
        "show",
        "--era",
        "legacy",
        "-e",
        "KEY=secret",
        "--",
        "sh",
        "-c",
        PROPOSING,
        "--",
        "p",
    ];
    let (code, out, err) = run(&place, &words);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("polyport prompt -e KEY=\"$KEY\" --era legacy -- sh -c '"),
        "{out}"
    );
    assert!(out.ends_with("' -- p 'kind=a text'\n"), "{out}");
    assert!(!out.contains("secret"), "{out}");
}

// req: D-25
#[test]
fn d_25_both_sides_can_be_seen() {
    let place = Place::new();
    for (era, first) in [("modern", "server/discover"), ("legacy", "initialize")] {
        for server in [&["demo"][..], &["--", BINARY, "serve", "demo", "--"]] {
            let words = [
                &["call", "--era", era, "--frames=frames"],
                server,
                &["echo", "text=hi"],
            ];
            let (code, out, err) = run(&place, &words.concat());
            assert_eq!((code, &*out, &*err), (0, "hi\n", ""), "{era}");
            let text = std::fs::read_to_string(place.path("frames")).unwrap();
            let lines: Vec<Value> = text
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            assert_eq!(lines[0]["from"], "client");
            assert_eq!(lines[0]["message"]["method"], first);
            let [.., asked, answered] = &lines[..] else {
                panic!("{text}");
            };
            assert_eq!(asked["message"]["params"]["arguments"]["text"], "hi");
            assert_eq!(answered["from"], "server");
            assert_eq!(answered["message"]["id"], asked["message"]["id"]);
            assert_eq!(answered["message"]["result"]["content"][0]["text"], "hi");
            let times: Vec<f64> = lines
                .iter()
                .filter_map(|line| line["ms"].as_f64())
                .collect();
            assert!(times.len() == lines.len() && times.is_sorted(), "{times:?}");
        }
    }
    let (_, out, err) = run(&place, &["call", "--frames", "demo", "echo", "text=hi"]);
    assert_eq!(out, "hi\n");
    assert!(
        err.lines().all(|line| line.starts_with("{\"ms\":")) && err.lines().count() == 6,
        "{err}"
    );
    let (code, _, err) = run(&place, &["ls", "--frames=none/x", "demo"]);
    assert_eq!(code, 2);
    assert!(
        err.starts_with("error: --frames: cannot write none/x: "),
        "{err}"
    );
}

/// Nobody is told of a folder that was not named, and what is sent unchecked is what was told.
// req: D-25
#[test]
fn d_25_what_is_sent_is_what_was_told() {
    let place = Place::new();
    for (words, sent) in [
        (&["add", "--args", "{\"a\": \"x\"}"][..], r#"{"a":"x"}"#),
        (&["add", "a=two", "b=3"], r#"{"a":"two","b":3}"#),
        (&["add", "a=1", "c=3"], r#"{"a":1,"c":"3"}"#),
        (&["nope", "x=1", "y:=2"], r#"{"x":"1","y":2}"#),
    ] {
        for era in ["modern", "legacy"] {
            let verb = ["call", "--era", era, "--frames", "--unchecked", "demo"];
            let (code, out, err) = run(&place, &[&verb, words].concat());
            assert_eq!(code, 5, "{words:?}: {out}");
            let want = format!("\"name\":\"{}\",\"arguments\":{sent}", words[0]);
            assert!(err.contains(&want), "{words:?}: {err}");
            assert!(!err.contains("\"roots\""), "{err}");
        }
    }
    // Also where the server does not say what there is to call.
    for (offers, listed) in [
        ("{}", "answer '{}'"),
        ("{\"tools\":{}}", "answer '{\"tools\":1}'"),
    ] {
        let functions = format!("export OFFERS='{offers}'; listed() {{ {listed}; return 1; }}");
        let script = polyport_testkit::child::scripted(&functions);
        for (option, code, want) in [("--unchecked", 0, "done\n"), ("--no-input", 5, "")] {
            let verb = ["call", "--era", "legacy", option];
            let (got, out, err) = run(&place, &with_script(&verb, &script, &["t", "a=1"]));
            let code = if code == 5 && offers.contains("tools") {
                6
            } else {
                code
            };
            assert_eq!((got, &*out), (code, want), "{option} {offers}: {err}");
        }
    }
}

// req: S-SHELL
#[test]
fn logs_of_a_call_are_lines_beside_it() {
    let place = Place::new();
    for era in ["modern", "legacy"] {
        for (level, said) in [
            ("info", "info: counted 1\ninfo: counted 2\n"),
            ("error", ""),
        ] {
            let words = [
                "call", "--era", era, "--level", level, "demo", "count", "to=2",
            ];
            let (code, out, err) = run(&place, &words);
            assert_eq!((code, &*out, &*err), (0, "counted to 2\n", said), "{era}");
        }
        let words = [
            "call", "--era", era, "--level", "info", "--json", "demo", "count", "to=2",
        ];
        assert_eq!(run(&place, &words).2, "", "{era}");
    }
}
