//! Completion of command lines, as the program proposes and as bash takes it; and the pages of the manual.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::asking::run;
use crate::support::{BINARY, Place};

/// What is proposed for the last of these words.
fn proposed(place: &Place, words: &[&str]) -> Vec<String> {
    let (code, out, err) = run(place, &[&["__complete", "zsh"], words].concat());
    assert_eq!((code, &*err), (0, ""), "{words:?}");
    let first = |line: &str| line.split('\t').next().unwrap().to_owned();
    out.lines().map(first).collect()
}

// req: S-COMPLETION
#[test]
fn words_are_proposed() {
    let place = Place::new();
    assert_eq!(proposed(&place, &["call", ""]), ["demo"]);
    for words in [
        &["ls", "demo"][..],
        &["ls", "notes"],
        &["show", "--", BINARY, "serve", "demo", "--", "add"],
    ] {
        assert_eq!(run(&place, words).0, 0, "{words:?}");
    }
    let cases: &[(&[&str], &[&str])] = &[
        (&["ca"], &["call"]),
        (&["__"], &[]),
        (&["call", ""], &["demo", "notes"]),
        (&["call", "demo", "ad"], &["add"]),
        (&["call", "--era", "legacy", "demo", "ad"], &["add"]),
        (&["call", "demo", "add", ""], &["a=", "b="]),
        (&["call", "demo", "add", "a=1", ""], &["b="]),
        (
            &["call", "demo", "door", "open="],
            &["open=true", "open=false"],
        ),
        (&["call", "--era", ""], &["modern", "legacy"]),
        (&["call", "--pro"], &["--progress"]),
        (&["call", "demo", "add", "--unc"], &["--unchecked"]),
        (&["prompt", "demo", ""], &["review", "greet"]),
        (&["prompt", "demo", "review", "code=x", ""], &["language="]),
        (&["read", "demo", "demo://l"], &["demo://logo"]),
        (
            &["show", "demo", "demo://greeting/"],
            &["demo://greeting/{name}"],
        ),
        (&["complete", "demo", "review", ""], &["code", "language"]),
        (&["watch", "demo", "demo://c"], &["demo://counter"]),
        (&["call", "notes", "list_d"], &["list_directory"]),
        (&["call", "./notes/", "list_d"], &["list_directory"]),
        (&["call", "elsewhere", ""], &[]),
        (&["call", "--", BINARY, "ser"], &[]),
        (
            &["call", "--", BINARY, "serve", "demo", "--", "ad"],
            &["add"],
        ),
        (
            &[
                "call", "--", BINARY, "serve", "demo", "--", "add", "b=1", "",
            ],
            &["a="],
        ),
        (&["help", "ex"], &["exit-codes"]),
        (&["help", "wat"], &["watch"]),
        (&["completion", "f"], &["fish"]),
    ];
    for (words, want) in cases {
        assert_eq!(proposed(&place, words), *want, "{words:?}");
    }
    let file = place.path("cache/polyport/completion.json");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    // A file that is none is as good as no file.
    std::fs::write(&file, "{").unwrap();
    assert_eq!(proposed(&place, &["call", ""]), ["demo"]);
}

/// Types a line into bash, and gives back its proposals, each on a line.
fn in_bash(place: &Place, line: &str, after: &str) -> String {
    let script = format!(
        r#"source <(polyport completion bash)
        COMP_LINE=$1 COMP_POINT=${{#1}}
        _polyport polyport
        printf '%s\n' "${{COMPREPLY[@]}}"
        {after}"#
    );
    let binary = Path::new(BINARY).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-c", &script, "bash", line]).env("PATH", path);
    bash.current_dir(place.path(""))
        .env("XDG_CACHE_HOME", place.path("cache"));
    let output = bash.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
    String::from_utf8(output.stdout).unwrap()
}

// req: S-COMPLETION
#[test]
fn bash_takes_them() {
    let place = Place::new();
    assert_eq!(run(&place, &["ls", "demo"]).0, 0);
    for (line, want) in [
        ("polyport ca", "call\n"),
        ("polyport call demo ad", "add\n"),
        ("polyport call demo add a=1 ", "b=\n"),
        // It replaces what stands after its own breaks.
        ("polyport call demo door open=t", "true\n"),
        ("polyport read demo demo://log", "//logo\n"),
        (
            "polyport show demo demo://greeting/",
            "//greeting\n'//greeting/{name}'\n",
        ),
        ("polyport call nowhere ", "\n"),
    ] {
        let want = want.replace("//greeting\n'", "'");
        assert_eq!(in_bash(&place, line, ""), want, "{line}");
    }
}

/// A server whose tools have names that mean something to a shell.
const HOSTILE: &str = r#"
    read opening; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
    read initialized
    read list; printf '%s\n' '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"$(touch pwned)","inputSchema":{"type":"object"}},{"name":"*","inputSchema":{"type":"object"}},{"name":"; touch pwned; '"'"'","inputSchema":{"type":"object"}},{"name":"two\nlines","inputSchema":{"type":"object"}}]}}'
    read rest
"#;

// req: S-COMPLETION
#[test]
fn names_are_words_to_the_shell() {
    let place = Place::new();
    place.write("server.sh", HOSTILE);
    let command = ["--", "sh", "server.sh"];
    let (code, _, err) = run(&place, &[&["ls", "--era", "legacy"], &command[..]].concat());
    assert_eq!(code, 0, "{err}");
    // Each proposal is put where it would be put, and the line is run.
    let run_all = r#"for word in "${COMPREPLY[@]}"; do eval "printf '<%s>' $word"; done"#;
    let line = "polyport call -- sh server.sh -- ";
    let said = in_bash(&place, line, run_all);
    assert!(
        said.ends_with("<$(touch pwned)><*><; touch pwned; '>"),
        "{said}"
    );
    assert!(!place.path("pwned").exists());
    for shell in ["powershell", "nushell"] {
        let words = [
            "__complete",
            shell,
            "call",
            "--",
            "sh",
            "server.sh",
            "--",
            "",
        ];
        let (_, out, _) = run(&place, &words);
        let want = match shell {
            "powershell" => "'$(touch pwned)'\t\n'*'\t\n'; touch pwned; '''\t\n",
            _ => "\"$(touch pwned)\"\t\n\"*\"\t\n\"; touch pwned; '\"\t\n",
        };
        assert_eq!(out, want, "{shell}");
    }
}

#[test]
fn each_verb_has_a_page() {
    let place = Place::new();
    std::fs::create_dir(place.path("man")).unwrap();
    assert_eq!(
        run(&place, &["man", "man"]),
        (0, String::new(), String::new())
    );
    let written: BTreeSet<String> = std::fs::read_dir(place.path("man"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut want: BTreeSet<String> = ["polyport.1".to_owned()].into();
    for verb in proposed(&place, &[""]) {
        want.insert(format!("polyport-{verb}.1"));
    }
    assert!(want.is_subset(&written), "{written:?}");
    assert!(
        !written.iter().any(|name| name.contains("__")),
        "{written:?}"
    );
    let page = std::fs::read_to_string(place.path("man/polyport-call.1")).unwrap();
    assert!(page.contains("polyport call demo add a=2 b=3"), "{page}");
    let (_, page, _) = run(&place, &["man"]);
    assert!(page.contains(".TH polyport 1"), "{page}");
    let (code, _, err) = run(&place, &["man", "nowhere"]);
    assert_eq!(code, 2);
    assert!(err.starts_with("error: cannot write to nowhere: "), "{err}");
}
