//! Where results go and in what form: files, filters, tables, and what does not fit the schema of its tool.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};

use crate::asking::run;
use crate::support::{Place, terminal};

/// A command line, standard output, standard error, and the file that is written and how it begins.
type Case = (
    &'static [&'static str],
    &'static str,
    &'static str,
    &'static str,
    &'static [u8],
);

const FILES: &[Case] = &[
    (
        &["call", "demo", "picture", "-o", "a.png"],
        "",
        "note: image/png, 70 bytes, is in a.png\n",
        "a.png",
        b"\x89PNG",
    ),
    (
        &["call", "demo", "sound", "-o", "a.wav"],
        "",
        "note: audio/wav, 844 bytes, is in a.wav\n",
        "a.wav",
        b"RIFF",
    ),
    (
        &["call", "demo", "echo", "text=hi", "-o", "full.txt"],
        "",
        "",
        "full.txt",
        b"hi\n",
    ),
    (
        &["read", "demo", "demo://logo", "-o", "logo.png"],
        "",
        "",
        "logo.png",
        b"\x89PNG",
    ),
    (
        &["prompt", "demo", "greet", "name=Ada", "-o", "p.txt"],
        "",
        "",
        "p.txt",
        b"[user]\nWrite",
    ),
    (
        &[
            "call", "demo", "add", "a=1", "b=2", "--json", "-o", "d.json",
        ],
        "",
        "",
        "d.json",
        b"{\"resultType\"",
    ),
    (
        &[
            "call",
            "demo",
            "add",
            "a=1",
            "b=2",
            "--jq",
            ".structuredContent",
            "-o",
            "j.json",
        ],
        "",
        "",
        "j.json",
        b"{\"sum\":3.0}\n",
    ),
    (
        &["call", "demo", "echo", "text=hi", "-o", "-"],
        "hi\n",
        "",
        "full.txt",
        b"hi\n",
    ),
];

// req: S-SHELL
#[test]
fn results_go_to_files() {
    let place = Place::new();
    place.write("full.txt", "something much longer than what is written");
    for (words, out, err, file, begins) in FILES {
        let got = run(&place, words);
        assert_eq!(got, (0, (*out).to_owned(), (*err).to_owned()), "{words:?}");
        let bytes = std::fs::read(place.path(file)).unwrap();
        assert!(bytes.starts_with(begins), "{words:?}: {bytes:?}");
    }
    // What failed is not what the file is for.
    let (code, out, _) = run(
        &place,
        &["call", "demo", "fail", "message=no", "-o", "full.txt"],
    );
    assert_eq!((code, &*out), (5, "no\n"));
    assert_eq!(std::fs::read(place.path("full.txt")).unwrap(), b"hi\n");
    let (code, _, err) = run(&place, &["call", "demo", "picture", "-o", "none/x"]);
    assert_eq!(code, 2);
    assert!(err.starts_with("error: cannot write none/x: "), "{err}");
}

/// Several at once: each ends as its own kind does, and what was there is overwritten alike, and said to be.
// req: S-SHELL
#[test]
fn pictures_and_sounds_stand_beside_each_other() {
    let blob = |of: &str, kind: &str| json!({"type": of, "data": "AAAA", "mimeType": kind});
    let answer = json!({"content": [
        blob("image", "image/png"), blob("image", "image/png; q=1"), blob("audio", "audio/x-wav"), blob("image", "image/jpeg"),
        {"type": "resource", "resource": {"uri": "x://y", "blob": "AAAA"}}, blob("image", "IMAGE/PNG"), blob("image", "image/../png"),
    ]});
    let place = Place::new();
    for there in ["im.png", "im-2.png", "im-3.wav"] {
        place.write(there, "something much longer than what is written");
    }
    let variable = format!("ANSWER={answer}");
    let words = [
        "call",
        "-o",
        "im.png",
        "--unchecked",
        "--era",
        "legacy",
        "-e",
        &variable,
        "--",
        "sh",
        "-c",
        TYPED,
        "--",
        "t",
    ];
    let (code, out, err) = run(&place, &words);
    assert_eq!((code, &*out), (0, ""), "{err}");
    let files = [
        "im.png, in place of what was there",
        "im-2.png, in place of what was there",
        "im-3.wav, in place of what was there",
        "im-4.jpg",
        "im-5.bin",
        "im-6.png",
        "im-7.bin",
    ];
    let said: Vec<&str> = err
        .lines()
        .filter_map(|line| Some(line.split_once(" is in ")?.1))
        .collect();
    assert_eq!(said, files);
    for file in files {
        let name = file.split(',').next().unwrap();
        assert_eq!(
            std::fs::read(place.path(name)).unwrap(),
            [0, 0, 0],
            "{name}"
        );
    }
}

/// A filter that never ends does, when nobody reads.
// req: S-JQ
#[test]
fn a_filter_ends_with_its_reader() {
    let place = Place::new();
    let words = [
        "call",
        "demo",
        "add",
        "a=1",
        "b=2",
        "--jq",
        "range(infinite)",
    ];
    let mut command = place.command(words);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

/// A server of one tool with an output schema, whose result is what it is told in a variable.
const TYPED: &str = r#"
    read opening; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
    read initialized
    read list; echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}]}}'
    read call; echo '{"jsonrpc":"2.0","id":3,"result":'$ANSWER'}'
    read rest
"#;

// req: S-VERDICT
#[test]
fn results_are_held_to_their_schema() {
    let place = Place::new();
    let answer = |structured: Value| {
        let mut result = json!({"content": [{"type": "text", "text": "t"}]});
        if !structured.is_null() {
            result["structuredContent"] = structured;
        }
        result
    };
    for (result, code, err) in [
        (answer(json!({"n": 1})), 0, ""),
        (
            answer(json!({"n": "x"})),
            6,
            "error: the result of t does not fit its output schema: /n: ",
        ),
        (
            answer(json!(null)),
            6,
            "error: the result of t does not fit its output schema: there is no structured result\n",
        ),
        (
            json!({"content": [{"type": "text", "text": "t"}], "isError": true}),
            5,
            "",
        ),
    ] {
        let variable = format!("ANSWER={result}");
        let words = |option: &'static str| {
            let words = [
                "call", option, "--era", "legacy", "-e", &variable, "--", "sh", "-c", TYPED, "--",
                "t",
            ];
            words.map(str::to_owned)
        };
        let of = |words: [String; 12]| {
            let words: Vec<&str> = words
                .iter()
                .map(String::as_str)
                .filter(|w| !w.is_empty())
                .collect();
            run(&place, &words)
        };
        let (status, out, said) = of(words(""));
        assert_eq!((status, &*out), (code, "t\n"), "{result}: {said}");
        assert!(said.starts_with(err), "{said}");
        let (status, ..) = of(words("--unchecked"));
        assert_eq!(status, if code == 5 { 5 } else { 0 }, "{result}");
        let (status, out, _) = of(words("--json"));
        assert_eq!((status, out), (code, format!("{result}\n")));
    }
}

/// On a terminal a list of flat objects has columns that fit it, elsewhere tabs.
// req: S-TABLE
#[test]
fn a_list_is_a_table() {
    let place = Place::new();
    let rows = json!([{"name": "Ada Ltd", "t": 4210.5}, {"name": "Cloud Nine, the people with the very long name", "t": 912}]);
    let variable = format!(
        "ANSWER={}",
        json!({"content": [], "structuredContent": {"n": 2, "rows": rows}})
    );
    let words = [
        "call", "--era", "legacy", "-e", &variable, "--", "sh", "-c", TYPED, "--", "t",
    ];
    // What stands beside the rows would be missing.
    let (_, out, _) = run(&place, &words);
    assert!(out.starts_with("{\"n\":2,"), "{out}");
    let (ours, theirs) = terminal();
    let size = Winsize {
        ws_row: 20,
        ws_col: 40,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&ours, size).unwrap();
    let mut command = place.command(words);
    command.stdout(theirs.try_clone().unwrap());
    let status = command.status().unwrap();
    assert_eq!(status.code(), Some(0));
    drop((command, theirs));
    let mut shown = Vec::new();
    // The end of a terminal is an error.
    let _ = File::from(ours).read_to_end(&mut shown);
    let shown = String::from_utf8(shown).unwrap().replace("\r\n", "\n");
    assert_eq!(
        shown,
        "name                                   t\n\
         ────────────────────────────────  ──────\n\
         Ada Ltd                           4210.5\n\
         Cloud Nine, the people with the…     912\n\
         n: 2\n"
    );
}
