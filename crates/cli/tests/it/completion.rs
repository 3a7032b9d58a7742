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

/// Hosts, what they have, and what a configuration has, wherever these stand.
// req: S-COMPLETION
#[test]
fn hosts_and_names_are_proposed() {
    let place = Place::new();
    for (file, text) in [
        (
            ".mcp.json",
            r#"{"mcpServers": {"shop": {"command": "x"}, "two words": {"command": "x"}}}"#,
        ),
        (
            "home/.cursor/mcp.json",
            r#"{"mcpServers": {"papers": {"command": "x"}, "plans": {"command": "x"}}}"#,
        ),
    ] {
        place.write(file, text);
    }
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["install", "c"],
            &["claude-code", "claude-desktop", "cursor", "codex"],
        ),
        (
            &["uninstall", "c"],
            &["claude-code", "claude-desktop", "cursor", "codex"],
        ),
        (&["install", "--yes", "mcp"], &["mcp-json"]),
        (&["install", "cursor", ""], &["demo", "shop"]),
        (&["install", "cursor", "shop", "de"], &["demo"]),
        (&["install", "cursor", "--", ""], &[]),
        (&["uninstall", "cursor", ""], &["papers", "plans"]),
        (&["uninstall", "cursor", "papers", ""], &[]),
        (&["uninstall", "claude-code", ""], &["shop"]),
        (&["uninstall", "nobody", ""], &[]),
        (&["serve", "sh"], &["shop"]),
        (&["serve", "demo", "sh"], &["shop"]),
        (&["add", "name", "sh"], &["shop"]),
        (&["add", "sh"], &[]),
        (&["ls", "cursor:"], &["cursor:papers", "cursor:plans"]),
        (&["install", "claude-code", "cursor:pl"], &["cursor:plans"]),
        (&["remove", ""], &["shop"]),
        (&["disable", "s"], &["shop"]),
        // Values behind their option, as by themselves.
        (&["call", "--era="], &["--era=modern", "--era=legacy"]),
        (&["ls", "--era=m"], &["--era=modern"]),
        (&["call", "--era=modern", "sh"], &["shop"]),
        (&["call", "--progress=p"], &["--progress=plain"]),
        (
            &["call", "--color="],
            &["--color=auto", "--color=always", "--color=never"],
        ),
        (&["call", "--frames", "sh"], &["shop"]),
        (&["call", "--unchecked="], &[]),
        (&["call", "--nothing="], &[]),
    ];
    for (words, want) in cases {
        assert_eq!(proposed(&place, words), *want, "{words:?}");
    }
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
        (
            &["help", "config", ""],
            &["show", "check", "schema", "path"],
        ),
        (&["help", "config", "show", ""], &[]),
        (&["help", "exit-codes", ""], &[]),
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

/// Runs a script in a shell that has its own way of completing; none, where that shell is not installed.
fn in_shell(place: &Place, shell: &str, options: &[&str], script: &str) -> Option<String> {
    let binary = Path::new(BINARY).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell);
    command
        .args(options)
        .arg(script)
        .current_dir(place.path(""));
    command
        .env("PATH", path)
        .env("HOME", place.path("home"))
        .env("XDG_CACHE_HOME", place.path("cache"));
    let Ok(output) = command.output() else {
        println!("skipped: {shell} is not installed");
        return None;
    };
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "",
        "{shell}: {script}"
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Command lines as the shells take them apart, and what they propose in the end.
const LINES: &[(&[&str], &[&str])] = &[
    (&["polyport", "ca"], &["call"]),
    (&["polyport", "call", "demo", "ad"], &["add"]),
    (&["polyport", "call", "demo", "add", "a=1", ""], &["b="]),
    (
        &["polyport", "call", "demo", "door", "open=t"],
        &["open=true"],
    ),
];

// req: S-COMPLETION
#[test]
fn zsh_takes_them() {
    let place = Place::new();
    assert_eq!(run(&place, &["ls", "demo"]).0, 0);
    for (words, want) in LINES {
        let line: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        // What completes is only there while somebody types; here it says what it is given.
        let script = format!(
            "compdef() {{ }}; compadd() {{ print -rl -- ${{(P)@[-1]}} }}; _files() {{ print files }}
             source <(polyport completion zsh)
             words=({}); CURRENT={}; _polyport",
            line.join(" "),
            words.len()
        );
        let Some(said) = in_shell(&place, "zsh", &["-f", "-c"], &script) else {
            return;
        };
        assert_eq!(said.lines().collect::<Vec<_>>(), *want, "{words:?}");
    }
}

// req: S-COMPLETION
#[test]
fn fish_takes_them() {
    let place = Place::new();
    assert_eq!(run(&place, &["ls", "demo"]).0, 0);
    for (words, want) in LINES {
        let line = words.join(" ");
        let script = format!("polyport completion fish | source; complete -C '{line}'");
        let Some(said) = in_shell(&place, "fish", &["--no-config", "-c"], &script) else {
            return;
        };
        let lines = said.lines().filter(|line| !line.is_empty());
        let names: Vec<&str> = lines.map(|line| line.split('\t').next().unwrap()).collect();
        assert_eq!(names, *want, "{words:?}");
    }
}

// req: S-COMPLETION
#[test]
fn nushell_takes_them() {
    let place = Place::new();
    assert_eq!(run(&place, &["ls", "demo"]).0, 0);
    let (_, text, _) = run(&place, &["completion", "nushell"]);
    place.write("polyport.nu", &text);
    let complete = |before: &str, words: &[&str]| {
        let line: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let script = format!(
            "{before}source polyport.nu; do $env.config.completions.external.completer [{}] | to json -r",
            line.join(" ")
        );
        in_shell(
            &place,
            "nu",
            &["--no-config-file", "--no-history", "-c"],
            &script,
        )
    };
    for (words, want) in LINES {
        let Some(said) = complete("", words) else {
            return;
        };
        let proposed: serde_json::Value = serde_json::from_str(&said).unwrap();
        let proposed = proposed.as_array().unwrap().iter();
        let names: Vec<&str> = proposed.map(|it| it["value"].as_str().unwrap()).collect();
        assert_eq!(names, *want, "{words:?}");
    }
    // Files, where nothing is known; and what somebody else completes stays theirs.
    assert_eq!(
        complete("", &["polyport", "call", "nowhere", ""])
            .unwrap()
            .trim(),
        "null"
    );
    assert_eq!(complete("", &["ls", "x"]).unwrap().trim(), "null");
    let theirs = "$env.config.completions.external.completer = {|spans| [\"theirs\"] }; ";
    assert_eq!(
        complete(theirs, &["ls", "x"]).unwrap().trim(),
        "[\"theirs\"]"
    );
}

/// PowerShell is on no machine of ours: its script is held to have all its brackets and quotes closed, and no more.
// req: S-COMPLETION
#[test]
fn the_script_for_powershell_is_whole() {
    let (_, text, _) = run(&Place::new(), &["completion", "powershell"]);
    let (mut open, mut quote) = (Vec::new(), None);
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    for c in lines.flat_map(str::chars) {
        match (quote, c) {
            (Some(end), c) => quote = (c != end).then_some(end),
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => open.push(c),
            (None, ')' | ']' | '}') => {
                let begun = open.pop();
                assert!(
                    matches!(
                        (begun, c),
                        (Some('('), ')') | (Some('['), ']') | (Some('{'), '}')
                    ),
                    "{text}"
                );
            }
            _ => {}
        }
    }
    assert_eq!((open, quote), (Vec::new(), None), "{text}");
}
