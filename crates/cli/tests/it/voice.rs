//! How much is said, in what colours, and whether anybody is asked: the options of every verb; what the client warns of; and that secrets
//! of a server's environment are not said again.

use std::fs::File;
use std::io::Read as _;

use crate::asking::run;
use crate::support::{BINARY, Place, terminal};

/// A server of the legacy era that says something on standard error, prints a line that is no message, and lists a tool that is none.
const NOISY: &str = r#"
    echo "started with $TOKEN" >&2
    echo 'hello there'
    read opening; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
    read initialized
    read list; echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"good","inputSchema":{"type":"object"}},{"name":"bad","inputSchema":[]}]}}'
    read rest
"#;

fn noisy(options: &[&str]) -> (i32, String, String) {
    let place = Place::new();
    let server = [
        "--era",
        "legacy",
        "-e",
        "TOKEN=hunter2",
        "--",
        "sh",
        "-c",
        NOISY,
    ];
    run(&place, &[&["ls"], options, &server].concat())
}

// req: S-VOICE
#[test]
fn warnings_of_the_client_are_said_once() {
    let (code, out, err) = noisy(&[]);
    assert_eq!(
        (code, out.contains("good()"), out.contains("bad")),
        (0, true, false),
        "{out}"
    );
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), 2, "{err}");
    assert!(
        lines[0].starts_with("warning: the server writes something else than messages")
            && lines[0].contains("hello there"),
        "{err}"
    );
    assert!(
        lines[1]
            .starts_with("warning: an entry of a list is left out (method: tools/list, index: 1, "),
        "{err}"
    );
    let (_, out, err) = noisy(&["-q"]);
    assert_eq!((out.contains("good()"), &*err), (true, ""));
    let (_, out, err) = noisy(&["--json"]);
    assert_eq!((out.contains("\"bad\""), &*err), (true, ""));
}

// req: S-VOICE, S-SECRETS
#[test]
fn what_a_server_says_is_shown_live_without_its_secrets() {
    let (code, _, err) = noisy(&["-v"]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("server| started with ****\n"), "{err}");
    assert!(!err.contains("hunter2"), "{err}");
}

// req: S-SECRETS
#[test]
fn last_words_of_a_server_hold_none_of_its_secrets() {
    let place = Place::new();
    let script = "echo \"bad key $API_KEY at $DB for $WHO\" >&2; exit 3";
    place.write(
        ".mcp.json",
        &format!(
            r#"{{"mcpServers": {{"s": {{"command": "sh", "args": ["-c", {}],
                "env": {{"API_KEY": "opensesame", "DB": "postgres://u:p4ss@h/db", "WHO": "ada"}}}}}}}}"#,
            serde_json::json!(script)
        ),
    );
    let given = [
        "-e",
        "API_KEY=opensesame",
        "-e",
        "DB=postgres://u:p4ss@h/db",
        "-e",
        "WHO=ada",
        "--",
        "sh",
        "-c",
        script,
    ];
    for verb in ["ls", "doctor"] {
        for json in [&[][..], &["--json"]] {
            for server in [&["s"][..], &given] {
                let (code, out, err) = run(&place, &[&[verb], json, server].concat());
                let said = format!("{out}{err}");
                assert_eq!(code, 4, "{said}");
                assert!(
                    said.contains("bad key **** at **** for ada"),
                    "{verb} {json:?} {server:?}: {said}"
                );
                assert!(
                    !said.contains("opensesame") && !said.contains("p4ss"),
                    "{said}"
                );
            }
        }
    }
}

// req: S-VOICE
#[test]
fn colours_are_of_our_own_words_only() {
    let place = Place::new();
    let row = |options: &[&str], variables: &[(&str, &str)], want: bool| {
        let mut command = place.command([options, &["call", "demo", "ad"]].concat());
        command
            .env_remove("NO_COLOR")
            .envs(variables.iter().copied());
        let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
        assert_eq!(
            said.starts_with("\u{1b}[1;31merror:\u{1b}[0m "),
            want,
            "{options:?}: {said:?}"
        );
    };
    row(&[], &[], false);
    row(&["--color", "always"], &[], true);
    row(&["--color=always"], &[("NO_COLOR", "1")], true);
    row(&[], &[("CLICOLOR_FORCE", "1")], true);
    row(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false);
    row(&["--color", "never"], &[("CLICOLOR_FORCE", "1")], false);
    // Help, results, and failures as documents.
    let plain = |words: &[&str]| {
        let (_, out, err) = run(&place, words);
        assert!(
            !format!("{out}{err}").contains('\u{1b}'),
            "{words:?}: {out}{err}"
        );
    };
    plain(&["call", "demo", "echo", "text=error: x", "--color", "always"]);
    plain(&["call", "demo", "ad", "--json", "--color", "always"]);
    let (_, help, _) = run(&place, &["ls", "--help", "--color", "always"]);
    assert!(help.contains('\u{1b}'), "{help}");
    let (_, help, _) = run(&place, &["ls", "--help"]);
    assert!(!help.contains('\u{1b}'), "{help}");
    let (_, doctor, _) = run(&place, &["doctor", "demo", "--color", "always"]);
    assert!(doctor.contains("\u{1b}[32m ok \u{1b}[0m"), "{doctor}");
}

/// At a terminal, with `--no-input`: what would be asked fails as if nobody were there.
// req: S-VOICE
#[test]
fn nobody_is_asked() {
    let place = Place::new();
    for (words, code, want) in [
        (
            &["call", "demo", "order", "--no-input"][..],
            8,
            "error: the server asks: ",
        ),
        (
            &["install", "claude-code", "./notes", "--no-input"],
            2,
            "error: nobody is here to agree to it",
        ),
    ] {
        let (ours, theirs) = terminal();
        let mut command = place.command(words);
        command.stdin(theirs.try_clone().unwrap()).stderr(theirs);
        let mut child = command.spawn().unwrap();
        drop(command);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{words:?}");
        let mut said = [0; 4096];
        let read = File::from(ours).read(&mut said).unwrap();
        let said = String::from_utf8_lossy(&said[..read]).into_owned();
        assert!(said.contains(want), "{said}");
    }
}

// req: S-VOICE
#[test]
fn quiet_leaves_results_and_failures() {
    let place = Place::new();
    std::fs::create_dir(place.path("demo")).unwrap();
    for (words, out, err) in [
        (&["call", "-q", "demo", "echo", "text=hi"][..], "hi\n", ""),
        (
            &["call", "-q", "demo", "ad"],
            "",
            "error: demo has no tool ad\n  hint: did you mean add?\n",
        ),
    ] {
        let (_, got, said) = run(&place, words);
        assert_eq!((&*got, &*said), (out, err), "{words:?}");
    }
    let (_, _, said) = run(&place, &["call", "demo", "echo", "text=hi"]);
    assert!(
        said.starts_with("note: demo is the built-in server"),
        "{said}"
    );
    let (code, _, said) = run(&place, &["call", "-q", "-v", "demo", "echo", "text=hi"]);
    assert_eq!(code, 2, "{said}");
}

/// A line of status is one line of the terminal, however narrow that is; a terminal that cannot show one gets none.
// req: S-VOICE
#[test]
fn status_fits_the_terminal() {
    let place = Place::new();
    for (term, columns, has_status) in [("xterm", 20, true), ("dumb", 80, false)] {
        let (ours, theirs) = terminal();
        let size = rustix::termios::Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        rustix::termios::tcsetwinsize(&ours, size).unwrap();
        let mut command = place.command(["call", "demo", "count", "to=4", "delay_ms=200"]);
        command.env("TERM", term).stderr(theirs);
        let mut child = command.spawn().unwrap();
        drop(command);
        let mut said = Vec::new();
        // Its end is the end of the other side.
        let _ = File::from(ours).read_to_end(&mut said);
        assert!(child.wait().unwrap().success());
        let said = String::from_utf8_lossy(&said).into_owned();
        assert_eq!(said.contains("\u{1b}[2K"), has_status, "{said:?}");
        for line in said.split("\r\u{1b}[2K") {
            assert!(line.chars().count() < columns.into(), "{line:?}");
        }
    }
}

// req: S-OPTIONS
#[test]
fn what_would_do_nothing_is_refused() {
    let place = Place::new();
    place.write(
        ".mcp.json",
        r#"{"mcpServers": {"far": {"url": "http://127.0.0.1:1/mcp"}, "near": {"command": "true"}}}"#,
    );
    let served = &["--", BINARY, "serve", "demo"][..];
    for (words, option) in [
        (&["ls", "-e", "A=1", ":1"][..], "-e"),
        (&["ls", "--env", "A=1", "far"], "-e"),
        (&["ls", "-e", "A=1", "demo"], "-e"),
        (&["ls", "-e", "A=1", "notes"], "-e"),
        (&["ls", "--cwd", "/", "http://127.0.0.1:1/"], "--cwd"),
        (
            &["ls", "--inherit-env", "ws://127.0.0.1:1/"],
            "--inherit-env",
        ),
        (&["ls", "--header", "A: 1", "demo"], "--header"),
        (&["ls", "--header", "A: 1", "near"], "--header"),
        (&[&["ls", "--header", "A: 1"], served].concat(), "--header"),
        (&["doctor", "--header", "A: 1", "demo"], "--header"),
        (&["install", "codex", "--print", "-e", "A=1", ":1"], "-e"),
        (&["install", "codex", "--print", "-e", "A=1", "far"], "-e"),
        (
            &["install", "codex", "--print", "--header", "A: 1", "near"],
            "--header",
        ),
        (
            &["install", "codex", "--print", "--header", "A: 1", "notes"],
            "--header",
        ),
        (
            &[&["install", "codex", "--print", "--header", "A: 1"], served].concat(),
            "--header",
        ),
        (
            &[&["install", "codex", "--print", "--write"], served].concat(),
            "--write",
        ),
    ] {
        let (code, out, err) = run(&place, words);
        let said = format!("{out}{err}");
        assert_eq!(code, 2, "{words:?}: {said}");
        assert!(
            said.contains(&format!("{option} does nothing for ")),
            "{words:?}: {said}"
        );
    }
}

// req: S-OPTIONS
#[test]
fn a_server_stands_on_one_side_of_the_dashes() {
    let place = Place::new();
    let (code, out, err) = run(&place, &["call", "demo", "--", "echo", "text=hi"]);
    assert_eq!((code, &*out), (2, ""));
    assert_eq!(
        err,
        "error: demo stands before --, and echo after it: there are two servers\n  \
         hint: polyport call demo … without --, or polyport call -- COMMAND... -- … for a command\n"
    );
}

/// A secret is one however quotes, JSON and URLs write it.
// req: S-SECRETS
#[test]
fn secrets_are_masked_before_what_is_said_is_quoted() {
    let place = Place::new();
    let secret = r#"s3cr3t/va"lue\x y"#;
    let json = serde_json::json!(secret).to_string();
    let script = format!(
        "printf 'junk %s\\n' \"$TOKEN\"; printf 'bad %s %s\\n' \"$TOKEN\" 's3cr3t%2Fva%22lue%5cx%20y' >&2\ncat >&2 <<'E'\n{json}\nE\nexit 1"
    );
    let token = format!("TOKEN={secret}");
    for options in [&[][..], &["--json"], &["-v"]] {
        let words = [&["ls"], options, &["-e", &token, "--", "sh", "-c", &script]].concat();
        let (code, out, err) = run(&place, &words);
        assert_eq!(code, 4, "{err}");
        assert!(!format!("{out}{err}").contains("s3cr3t"), "{out}{err}");
        assert!(err.contains("bad **** ****"), "{err}");
    }
    let words = ["ls", "-e", &token, "--", "sh", "-c", &script];
    let (_, _, err) = run(&place, &words);
    assert!(err.contains("line: \"junk ****\""), "{err}");
}

/// Arguments hold secrets as variables do, and servers say them again.
// req: S-SECRETS
#[test]
fn secrets_of_arguments_are_masked_in_what_a_server_says() {
    let place = Place::new();
    let script =
        "export API_KEY=hunter2abc; echo key $API_KEY pass $DBPASS word $4 url $URL >&2; exit 1";
    place.write(
        "polyport.toml",
        &format!(
            "[servers.a]\ncommand = 'sh'\nargs = ['-c', '{script}', 'x', '1', '2', '--user', 'ada:hunter2def']\n\
             env = {{ DBPASS = 'hunter2ghi', URL = 'postgres://u:hunt#er2jkl@h/d' }}\n"
        ),
    );
    for options in [&[][..], &["--json"], &["-v"]] {
        let (code, out, err) = run(&place, &[&["ls", "a"], options].concat());
        assert_eq!(code, 4, "{err}");
        let said = format!("{out}{err}");
        let is_hidden = !said.contains("hunt");
        assert!(
            is_hidden && said.contains("key **** pass **** word ada:**** url ****"),
            "{said}"
        );
    }
}

/// The line that a hint names is one that works.
// req: S-HELP
#[test]
fn a_hint_repeats_the_server_as_it_can_be_typed() {
    let place = Place::new();
    for words in [
        &[
            "show",
            "--",
            BINARY,
            "serve",
            "demo",
            "--",
            "nothing-like-it",
        ][..],
        &["show", "--era", "legacy", "--", BINARY, "serve", "demo"],
        &["read", "--", BINARY, "serve", "demo"],
        &["show", "demo", "nothing-like-it"],
    ] {
        let (_, _, err) = run(&place, words);
        let hint = err
            .split("hint: polyport ")
            .nth(1)
            .unwrap_or_else(|| panic!("{words:?}: {err}"));
        let line = hint.split(" lists what there is").next().unwrap();
        let typed: Vec<&str> = line.split(' ').collect();
        let (code, out, err) = run(&place, &typed);
        assert_eq!(code, 0, "{words:?}: {line}: {err}");
        assert!(out.contains("add("), "{out}");
    }
}

/// What is wrong with a line shows a line that works of the same verb.
// req: S-HELP
#[test]
fn examples_are_of_the_verb_at_hand() {
    let place = Place::new();
    for (words, want) in [
        (
            &["call", "--timeout", "x", "demo"][..],
            "polyport call demo add a=2 b=3",
        ),
        (&["ls", "--bogus"], "polyport ls demo"),
        (&["ping", "-n", "0", "demo"], "polyport ping demo"),
        (
            &["watch", "--level", "loud", "demo"],
            "polyport watch ./notes",
        ),
        (&["config", "shw"], "polyport config show"),
        (
            &["install", "--scope"],
            "polyport install claude-code ./notes",
        ),
        (&["serve", "--bogus"], "polyport serve ./notes"),
        (&["--bogus"], "polyport serve ./notes"),
    ] {
        let (code, _, err) = run(&place, words);
        assert_eq!(code, 2, "{words:?}");
        let last = err.lines().last().unwrap();
        assert_eq!(last, format!("Example: {want}"), "{words:?}: {err}");
    }
}
