//! What is not to be trusted: texts that are meant for a terminal, words that are meant for a shell, and values of others.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, Stdio};

use polyport_testkit::Web;
use polyport_testkit::child::scripted;
use polyport_testkit::web::{Asked, Reply};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::asking::run;
use crate::support::{Place, on_terminal, with_script};

/// Clears a terminal, asks it for the clipboard, turns words round, and holds what nobody sees.
const HOSTILE: &str =
    "a\u{1b}[2Jb\u{1b}]52;c;?\u{7}c\u{9b}31md\u{202e}e\u{200b}f\u{e0041}g\rh\u{2066}i\u{8}j";

/// A server that says that wherever it can.
const LIAR: &str = r#"
started() { printf 'last\033[2Jwords\n' >&2; }
listed() { answer "{\"tools\":[{\"name\":\"t\",\"title\":$H,\"description\":$H,\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"description\":$H}}}},{\"name\":$H,\"inputSchema\":{\"type\":\"object\"}}]}"; return 1; }
called() {
  note "$H"
  case "$line" in
    *fails*) answer "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":$H}]}" ;;
    *refuses*) say "\"id\":$id,\"error\":{\"code\":-32000,\"message\":$H}" ;;
    *dies*) exit 3 ;;
    *) answer "{\"content\":[{\"type\":\"text\",\"text\":$H},{\"type\":\"resource_link\",\"name\":\"n\",\"uri\":$H}]}" ;;
  esac
  return 1
}
asked() {
  shows prompts/list && { answer "{\"prompts\":[{\"name\":\"p\",\"description\":$H,\"arguments\":[{\"name\":\"a\",\"description\":$H}]}]}"; return 1; }
  shows prompts/get && { answer "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":$H}}]}"; return 1; }
  shows resources/list && { answer "{\"resources\":[{\"uri\":\"x:y\",\"name\":$H,\"description\":$H}]}"; return 1; }
  shows resources/templates/list && { answer "{\"resourceTemplates\":[{\"uriTemplate\":\"x:{y}\",\"name\":$H,\"description\":$H}]}"; return 1; }
  shows resources/read && { answer "{\"contents\":[{\"uri\":\"x:y\",\"text\":$H}]}"; return 1; }
  shows completion/complete && { answer "{\"completion\":{\"values\":[$H]}}"; return 1; }
  :
}
"#;

fn is_harmless(text: &str) -> bool {
    let is_harmful = |c: char| {
        c.is_control() && c != '\n' && c != '\t'
            || matches!(c, '\u{200b}' | '\u{202e}' | '\u{2066}' | '\u{e0041}')
    };
    !text.contains(is_harmful)
}

// req: V-508
// req: V-1001
#[test]
fn v_508_v_1001_what_a_server_says_does_nothing_to_a_terminal() {
    let place = Place::new();
    let script = scripted(LIAR);
    let offers = r#"OFFERS={"tools":{},"prompts":{},"resources":{},"completions":{},"logging":{}}"#;
    let hostile = format!("H={}", json!(HOSTILE));
    let options = ["--era", "legacy", "-e", offers, "-e", &hostile];
    for (verb, more) in [
        (&["ls"][..], &[][..]),
        (&["show"], &["t"]),
        (&["show"], &["p"]),
        (&["show"], &["x:y"]),
        (&["call"], &["t"]),
        (&["call", "--level", "info"], &["t"]),
        (&["call", "--unchecked"], &["t", "a=fails"]),
        (&["call", "--unchecked"], &["t", "a=refuses"]),
        (&["call", "--unchecked"], &["t", "a=dies"]),
        (&["call"], &["nowhere"]),
        (&["call"], &["t", "b=1"]),
        (&["read"], &["x:y"]),
        (&["prompt"], &["p"]),
        (&["complete"], &["p", "a", ""]),
    ] {
        let words = with_script(&[verb, &options].concat(), &script, more);
        let (shown, _) = on_terminal(place.command(&words), "");
        assert!(is_harmless(&shown), "{verb:?} {more:?}: {shown:?}");
        // It is not hidden either.
        let is_own = matches!(more, ["nowhere"] | ["t", "b=1"]);
        assert!(
            is_own || shown.contains("\u{fffd}[2J"),
            "{verb:?} {more:?}: {shown}"
        );
        // A program gets a result as it came; what is said beside it is for people.
        let (_, out, err) = run(&place, &words);
        assert!(is_harmless(&err), "{verb:?} {more:?}: {err:?}");
        if verb == ["read"] {
            assert_eq!(out, HOSTILE);
        }
    }
    let words = with_script(&["doctor", "-e", offers, "-e", &hostile], &script, &[]);
    let (shown, _) = on_terminal(place.command(&words), "");
    assert!(is_harmless(&shown), "{shown:?}");
}

/// Goes on below, and says there what nobody has said.
const FORGED: &str = "t\nFORGED(all)  does everything\r\n\tFORGED";

/// A server that says that wherever something has a name.
const FORGER: &str = r#"
opening() { answer "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":$OFFERS,\"serverInfo\":{\"name\":$H,\"title\":$H,\"version\":\"1\"}}"; return 1; }
listed() { answer "{\"tools\":[{\"name\":$H,\"title\":$H,\"inputSchema\":{\"type\":\"object\",\"required\":[$H],\"properties\":{$H:{\"type\":\"string\",\"title\":$H,\"default\":$H,\"enum\":[$H]}}},\"outputSchema\":{\"type\":\"object\",\"properties\":{$H:{\"type\":\"string\"}}}}]}"; return 1; }
asked() {
  shows prompts/list && { answer "{\"prompts\":[{\"name\":$H,\"title\":$H,\"arguments\":[{\"name\":$H,\"description\":$H,\"required\":true}]}]}"; return 1; }
  shows resources/list && { answer "{\"resources\":[{\"uri\":$H,\"name\":$H,\"title\":$H,\"mimeType\":$H}]}"; return 1; }
  shows resources/templates/list && { answer "{\"resourceTemplates\":[{\"uriTemplate\":$H,\"name\":$H,\"title\":$H,\"mimeType\":$H}]}"; return 1; }
  shows completion/complete && { answer "{\"completion\":{\"values\":[$H]}}"; return 1; }
  shows resources/read && { answer "{\"contents\":[{\"uri\":$H,\"mimeType\":$H,\"blob\":\"\"}]}"; return 1; }
  shows logging/setLevel && { answer "{}"; say "\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"logger\":$H,\"data\":$H}"; say "\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":$H}"; return 1; }
  :
}
"#;

// req: V-508
#[test]
fn v_508_a_name_says_nothing_on_a_line_of_its_own() {
    let place = Place::new();
    let script = scripted(FORGER);
    let offers = r#"OFFERS={"tools":{},"prompts":{},"resources":{},"completions":{},"logging":{}}"#;
    let hostile = format!("H={}", json!(FORGED));
    let options = ["--era", "legacy", "-e", offers, "-e", &hostile];
    let answer = format!("{FORGED}=x");
    for (verb, more) in [
        (&["ls"][..], &[][..]),
        (&["ls", "-l"], &[]),
        (&["ls", "--tokens"], &[]),
        (&["show"], &[FORGED]),
        (&["show"], &["nothing"]),
        (&["ping", "-n", "1"], &[]),
        (&["call"], &[]),
        (&["call"], &["nothing"]),
        (&["call"], &[FORGED]),
        (&["call"], &[FORGED, "x=1"]),
        (&["call"], &[FORGED, &answer]),
        (&["prompt"], &["nothing"]),
        (&["prompt"], &[FORGED]),
        (&["prompt"], &[FORGED, "x=1"]),
        (&["complete"], &[FORGED, "x", ""]),
        (&["complete"], &[FORGED, FORGED, ""]),
        (&["watch", "-n", "2", "--level", "info"], &[]),
        (&["doctor"], &[]),
    ] {
        let options = match verb {
            ["doctor"] => &options[2..],
            _ => &options,
        };
        let words = with_script(&[verb, options].concat(), &script, more);
        let (shown, _) = on_terminal(place.command(&words), "");
        let (_, out, err) = run(&place, &words);
        for said in [shown, out, err] {
            let mut lines = said.split(['\n', '\r']);
            let forged = lines.find(|line| line.trim_start().starts_with("FORGED"));
            assert_eq!(forged, None, "{verb:?} {more:?}: {said}");
        }
    }
}

// req: V-508
#[test]
fn v_508_what_a_configuration_says_does_nothing_to_a_terminal() {
    let place = Place::new();
    let servers = json!({"mcpServers": {HOSTILE: {"command": HOSTILE, "args": [HOSTILE]},
        "far": {"url": format!("https://example.com/{HOSTILE}")}, "bad": {"command": HOSTILE, HOSTILE: 1}}});
    place.write(".mcp.json", &servers.to_string());
    for words in [
        &["servers"][..],
        &["servers", "--discover"],
        &["config", "show"],
        &["config", "check"],
        &["ls", "bad"],
        &["ls", "far"],
        &["ls", HOSTILE.trim_end_matches('\0')],
        &["ls", "near"],
        &["doctor", "bad"],
    ] {
        let (shown, _) = on_terminal(place.command(words), "");
        assert!(!shown.is_empty(), "{words:?}");
        assert!(is_harmless(&shown), "{words:?}: {shown:?}");
        let (_, _, err) = run(&place, words);
        assert!(is_harmless(&err), "{words:?}: {err:?}");
    }
}

/// What servers behind a gateway say stands in its log as text, on the line that it belongs to.
// req: V-508
#[test]
fn v_508_what_servers_behind_say_makes_no_line_of_a_log() {
    let place = Place::new();
    let script = scripted(LIAR);
    let hostile =
        format!("{HOSTILE}\r\n{{\"level\":\"FORGED\"}}\n FORGED\u{85}FORGED\u{2028}FORGED");
    let env = json!({"OFFERS": r#"{"tools":{},"logging":{}}"#, "H": json!(hostile).to_string()});
    place.write("liar.sh", &script[2]);
    let servers = json!({"mcpServers": {
        "liar": {"command": "sh", "args": ["liar.sh"], "env": env},
        "gone": {"command": format!("/nowhere/{hostile}"), "args": [hostile]},
    }});
    place.write(".mcp.json", &servers.to_string());
    for format in ["json", "text"] {
        let words = [
            ".mcp.json:liar",
            ".mcp.json:gone",
            "./notes",
            "--log",
            format,
            "--log-level",
            "debug",
        ];
        let mut program = place.host(&words);
        let listed = program.ask("tools/list", json!({}));
        let is_there = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["name"] == "t");
        assert!(is_there, "{}", program.stderr());
        let call = |how: &str| json!({"name": "t", "arguments": {"a": how}});
        program.ask("tools/call", call("fails"));
        program.refused("tools/call", call("refuses"));
        program.refused("tools/call", call("dies"));
        program.refused("tools/call", json!({"name": hostile}));
        program.close_input();
        program.end();
        let said = program.stderr();
        assert!(said.lines().count() > 5, "{said}");
        if format == "json" {
            for line in said.lines() {
                let line: serde_json::Value =
                    serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}"));
                assert!(line["fields"].is_object(), "{line}");
            }
            continue;
        }
        assert!(is_harmless(&said), "{said:?}");
        let mut lines = said.split(['\n', '\r', '\u{85}', '\u{2028}']);
        let forged = lines.find(|line| {
            let line = line.trim_start();
            line.starts_with("FORGED") || line.starts_with("{\"level\":\"FORGED")
        });
        assert_eq!(forged, None, "{said}");
    }
}

/// Writes its arguments down, a line each, and ends.
const WRITES: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\" > words\n";

// req: V-212
#[test]
fn v_212_no_shell_reads_the_words_of_a_server() {
    let place = Place::new();
    let mut made = File::options();
    let made = made.create(true).write(true).mode(0o700);
    let path = place.path("writes");
    made.open(&path)
        .unwrap()
        .write_all(WRITES.as_bytes())
        .unwrap();
    let words = [
        "$(touch pwned)",
        "`touch pwned`",
        "; touch pwned",
        "&& touch pwned",
        "| touch pwned",
        "$HOME",
        "*",
        "~",
        "a  b",
        "\"",
        "'",
        "%PATH%",
        "^&",
        "-c",
    ];
    let program = path.to_str().unwrap();
    // Variables of a configuration have their own page; what is no variable there stays what it is.
    let listed = json!({"mcpServers": {"s": {"command": program, "args": words}}});
    place.write(".mcp.json", &listed.to_string());
    for line in [
        [&["ls", "--era", "legacy", "--", program], &words[..]].concat(),
        vec!["ls", "--era", "legacy", "s"],
    ] {
        let (code, _, _) = run(&place, &line);
        assert_eq!(code, 4, "{line:?}");
        let got = std::fs::read_to_string(place.path("words")).unwrap();
        assert_eq!(got.lines().collect::<Vec<_>>(), words, "{line:?}");
        std::fs::remove_file(place.path("words")).unwrap();
    }
    for program in [
        "sh -c 'touch pwned'",
        "./writes; touch pwned",
        "$(touch pwned)",
    ] {
        let (code, _, err) = run(&place, &["ls", "--", program]);
        assert_eq!(code, 4, "{err}");
    }
    assert!(!place.path("pwned").exists());
}

/// A server of the legacy era that has nothing.
fn nothing(asked: &Asked) -> Reply {
    let message = asked.message();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "serverInfo": {"name": "s", "version": "1"}}),
        Some(name) if name.starts_with("notifications/") => {
            return Reply::empty("202 Accepted");
        }
        _ => return Reply::empty("405 Method Not Allowed"),
    };
    Reply::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

/// What a command line and a variable hold is no place where variables are looked for, and headers are sent as they are given.
// req: BR-208
// req: V-208
#[test]
fn br_208_v_208_headers_are_sent_once_and_as_they_are_given() {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(1).enable_all().build().unwrap();
    let web = runtime.block_on(Web::serve(nothing));
    let url = web.url("/mcp");
    place.write(
        "polyport.toml",
        &format!(
            "[servers.s]\nurl = '{url}'\nheaders = {{ X-Foo = 'entry', X-Env = '${{HELD}}' }}\n"
        ),
    );
    let sent = |words: &[&str], name: &str| -> Vec<String> {
        let before = web.asked().len();
        let mut command = place.command([&["ls", "--era", "legacy"], words].concat());
        let output = command
            .env("HELD", "${SECRET}")
            .env("SECRET", "s3cret")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let asked = web.asked();
        assert!(asked.len() > before);
        let all = |asked: &Asked| -> Vec<String> {
            let those = asked.headers.iter().filter(|(known, _)| known == name);
            those.map(|(_, value)| value.clone()).collect()
        };
        let first = all(&asked[before]);
        assert!(
            asked[before..].iter().all(|asked| all(asked) == first),
            "{asked:?}"
        );
        first
    };
    for (words, name, want) in [
        (&["--header", "X-Foo: a"][..], "x-foo", "a"),
        (
            &["--header", "X-Foo: a", "--header", "x-foo: b"],
            "x-foo",
            "b",
        ),
        (
            &["--header", "Authorization: Bearer t:o=k"],
            "authorization",
            "Bearer t:o=k",
        ),
        (
            &["--header", "x-foo:  spaced  out "],
            "x-foo",
            "spaced  out",
        ),
        (&["--header", "X-Foo: ${SECRET}"], "x-foo", "${SECRET}"),
        (&["--header", "X-Foo: $SECRET"], "x-foo", "$SECRET"),
    ] {
        for server in [&*url, "s"] {
            assert_eq!(
                sent(&[words, &[server]].concat(), name),
                [want],
                "{words:?} {server}"
            );
        }
    }
    assert_eq!(sent(&["s"], "x-foo"), ["entry"]);
    assert_eq!(sent(&["s"], "x-env"), ["${SECRET}"]);
    let before = web.asked().len();
    for header in [
        "X-Foo:",
        "Authorization: ",
        "X-Foo",
        ": a",
        "Host: a",
        "X-\u{e9}: a",
    ] {
        let (code, _, err) = run(&place, &["ls", "--header", header, &url]);
        assert_eq!(code, 2, "{header}: {err}");
    }
    // Nor is an address, of which a brace is no part.
    let (code, _, _) = run(&place, &["ls", &format!("{url}/${{SECRET}}")]);
    assert_eq!(code, 2);
    assert_eq!(web.asked().len(), before);
}

// req: V-1104
#[test]
fn v_1104_a_server_hears_of_our_end_however_we_end() {
    let place = Place::new();
    for signal in [Signal::KILL, Signal::ABORT, Signal::TERM] {
        let up = place.path("up");
        assert!(Command::new("mkfifo").arg(&up).status().unwrap().success());
        // It has a child of its own, which hears the same.
        let script = scripted(r#"started() { cat <&0 >/dev/null & echo "$$" > up; }"#);
        let words = with_script(&["watch", "--era", "legacy"], &script, &[]);
        let mut command = place.command(&words);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let pid = std::fs::read_to_string(&up).unwrap();
        std::fs::remove_file(up).unwrap();
        let ours = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(ours, signal).unwrap();
        child.wait().unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        let until = std::time::Instant::now() + polyport_testkit::program::PATIENCE;
        while test_kill_process(pid).is_ok() {
            assert!(std::time::Instant::now() < until, "{signal:?}: it lives on");
            std::thread::yield_now();
        }
    }
}

/// A reader may take its time; a result that is larger than any pipe comes to its last byte.
// req: BR-206
#[test]
fn br_206_a_large_result_is_whole_however_slowly_it_is_read() {
    const BYTES: usize = 3_000_000;
    let place = Place::new();
    let bytes = format!("bytes={BYTES}");
    for (option, least) in [("--progress=none", BYTES + 1), ("--json", BYTES + 20)] {
        let mut command = place.command(["call", option, "demo", "big", &bytes]);
        let mut child = command.spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let (mut all, mut part) = (Vec::new(), [0; 500]);
        // Nothing is taken until the pipe is full.
        while rustix::io::ioctl_fionread(&output).unwrap() < 1 << 16 {
            assert!(
                child.try_wait().unwrap().is_none(),
                "it waits for its reader"
            );
            std::thread::yield_now();
        }
        loop {
            match output.read(&mut part).unwrap() {
                0 => break,
                n => all.extend_from_slice(&part[..n]),
            }
        }
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(all.len() >= least && all.ends_with(b"\n"), "{}", all.len());
    }
}
