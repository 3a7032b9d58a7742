//! What polyport.toml says of servers, held to by `polyport serve`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Output, Stdio};
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{BINARY, Place};

/// A folder with this in its polyport.toml; `<demo>` stands for what starts the built-in server.
fn place(text: &str) -> Place {
    let place = Place::new();
    let demo = format!("command = '{BINARY}'\nargs = ['serve', 'demo']");
    place.write("polyport.toml", &text.replace("<demo>", &demo));
    place
}

/// A verb at `polyport serve` with these words.
fn through(place: &Place, verb: &[&str], serve: &[&str], rest: &[&str]) -> Output {
    let words = [verb, &["--", BINARY, "serve"], serve, &["--"], rest].concat();
    place.command(words).output().unwrap()
}

/// The names of what is listed.
fn listed(place: &Place, serve: &[&str], kind: &str) -> Vec<String> {
    let output = through(place, &["ls", "--json"], serve, &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let listed = listed[kind].as_array().unwrap().iter();
    let name = |thing: &Value| {
        let name = thing.get("name").filter(|_| !kind.starts_with("resource"));
        let name = name
            .or_else(|| thing.get("uri"))
            .or_else(|| thing.get("uriTemplate"));
        name.unwrap().as_str().unwrap().to_owned()
    };
    listed.map(name).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const RULES: &str = "[servers.one]\n<demo>\n\
    [servers.one.tools]\nallow = ['a*', 'echo', 'who*', 'wait']\ndeny = ['*ai*']\n\
    rename = { echo = 'say' }\ndescribe = { add = 'Sums.' }\n\
    [servers.one.prompts]\ndeny = ['greet']\n\
    [servers.one.resources]\nallow = ['demo://greeting*']\n\
    [servers.off]\ncommand = 'never'\nenabled = false\n";

// req: S-GATE-RULES, S-CONFIG-HOLDS
#[test]
fn lists_and_calls_are_held_to_the_same_rules() {
    let place = place(RULES);
    // The nearest file is found, or the one that is named is taken.
    for serve in [&[][..], &["--config", "polyport.toml"], &["one"]] {
        assert_eq!(
            listed(&place, serve, "tools"),
            ["add", "say", "whoami"],
            "{serve:?}"
        );
        assert_eq!(listed(&place, serve, "prompts"), ["review"]);
        assert_eq!(listed(&place, serve, "resources"), ["demo://greeting"]);
        for (verb, hidden, missing) in [
            ("read", "demo://counter", "demo://nowhere"),
            ("read", "demo://%63ounter", "demo://nowhere"),
        ] {
            let hidden = through(&place, &[verb], serve, &[hidden]);
            let missing = through(&place, &[verb], serve, &[missing]);
            assert_eq!(hidden.status.code(), Some(5), "{hidden:?}");
            let plain = |output: &Output| {
                let said = said(output);
                said.split("demo://").next().unwrap_or_default().to_owned()
            };
            assert_eq!(plain(&hidden), plain(&missing));
        }
        let mut host = place.host(serve);
        for tool in ["wait", "echo", "count", "nowhere"] {
            let refused = host.refused("tools/call", json!({"name": tool, "arguments": {}}));
            let unknown = json!({"code": -32602, "message": format!("Unknown tool: {tool}")});
            assert_eq!(refused, unknown, "{serve:?}");
        }
        host.close_input();
        host.end();
        let output = through(&place, &["call"], serve, &["say", "text=hi"]);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "hi\n",
            "{output:?}"
        );
        let output = through(&place, &["show"], serve, &["add"]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("Sums."));
    }
}

// req: S-CONFIG, S-CONFIG-HOLDS
#[test]
fn a_file_of_any_name_is_held_to_the_letter() {
    let place = place("");
    let text = RULES.replace(
        "<demo>",
        &format!("command = '{BINARY}'\nargs = ['serve', 'demo']"),
    );
    place.write("team.toml", &text);
    let serve = ["--config", "team.toml"];
    assert_eq!(listed(&place, &serve, "tools"), ["add", "say", "whoami"]);
    place.write("team.toml", &text.replace("deny", "dney"));
    for words in [
        &["serve", "--config", "team.toml"][..],
        &["serve", "team.toml:one"],
        &["config", "check", "team.toml"],
    ] {
        let output = place.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
        let said = said(&output);
        assert!(
            said.contains("team.toml:6: servers.one.tools.dney: is not known"),
            "{said}"
        );
        assert!(said.contains("did you mean deny?"), "{said}");
    }
}

// req: S-CONFIG-HOLDS
#[test]
fn one_era_is_spoken_where_that_is_said() {
    let place =
        place("[servers.old]\n<demo>\nera = 'legacy'\n[servers.new]\n<demo>\nera = 'modern'\n");
    for (name, revision) in [("old", "2025-11-25"), ("new", "2026-07-28")] {
        let output = place.command(["ls", "--frames", name]).output().unwrap();
        let said = said(&output);
        assert!(said.contains(revision), "{name}: {said}");
        assert_eq!(
            said.contains("\"initialize\""),
            name == "old",
            "{name}: {said}"
        );
        assert_eq!(
            said.contains("server/discover"),
            name == "new",
            "{name}: {said}"
        );
        // Behind a gateway likewise, whatever its client speaks.
        for era in ["legacy", "modern"] {
            let output = through(
                &place,
                &["call", "--era", era],
                &[name],
                &["add", "a=1", "b=2"],
            );
            assert_eq!(output.status.code(), Some(0), "{output:?}");
        }
    }
}

// req: S-CONFIG-HOLDS
#[test]
fn a_server_is_waited_for_as_long_as_is_said() {
    let place = place("[servers.slow]\n<demo>\ntimeout = 0.2\n");
    let output = through(&place, &["call"], &[], &["wait", "seconds=600"]);
    let said = said(&output);
    assert!(said.contains("did not answer in time"), "{said}");
    let output = through(&place, &["call"], &[], &["add", "a=1", "b=2"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

// req: V-1101, S-CONFIG-HOLDS
#[test]
fn only_what_is_named_of_the_environment_is_passed_on() {
    let place = place(&format!(
        "[servers.one]\ncommand = 'sh'\nargs = ['-c', 'env > seen; exec {BINARY} serve demo']\n\
         env = {{ MINE = '${{CANARY_ONE}}' }}\npass_env = ['CANARY_TWO', 'CANARY_NONE']\n"
    ));
    let words = ["call", "--", BINARY, "serve", "--", "add", "a=1", "b=2"];
    let mut command = place.command(["call", "one", "add", "a=1", "b=2"]);
    for (name, value) in [
        ("CANARY_ONE", "1"),
        ("CANARY_TWO", "2"),
        ("CANARY_THREE", "3"),
    ] {
        command.env(name, value);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {output:?}");
    let seen = fs::read_to_string(place.path("seen")).unwrap();
    let mut canaries: Vec<&str> = seen
        .lines()
        .filter(|line| line.contains("CANARY") || line.starts_with("MINE="))
        .collect();
    canaries.sort_unstable();
    assert_eq!(canaries, ["CANARY_TWO=2", "MINE=1"]);
}

// req: V-1103, V-1105, S-CONFIG-HOLDS
#[test]
fn secrets_of_headers_are_sent_and_shown_nowhere() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
            request.push(byte[0]);
        }
        let refused = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        stream.write_all(refused).unwrap();
        String::from_utf8(request).unwrap().to_ascii_lowercase()
    });
    let place = place(&format!(
        "[servers.far]\nurl = 'http://{address}/mcp'\n\
         [servers.far.headers]\nAuthorization = 'Bearer ${{file:token.txt}}'\nX-Of-Env = '${{CANARY_TOKEN}}'\n"
    ));
    place.write("token.txt", "canary-of-file\n");
    let secret = |text: &str| text.contains("canary-of");
    for words in [
        &["config", "show", "--expand", "file"][..],
        &["config", "show", "--json", "--expand", "file"],
        &["config", "check", "--expand", "file"],
        &["servers", "--json"],
        &["ls", "-v", "far", "--expand", "file"],
    ] {
        let mut command = place.command(words);
        let output = command
            .env("CANARY_TOKEN", "canary-of-env")
            .output()
            .unwrap();
        let all = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(!secret(&all), "{words:?}: {all}");
    }
    let heard = heard.join().unwrap();
    assert!(
        heard.contains("authorization: bearer canary-of-file\r\n"),
        "{heard}"
    );
    assert!(heard.contains("x-of-env: canary-of-env\r\n"), "{heard}");
    // A log of everything has them neither.
    let mut command = place.command([
        "ls",
        "--",
        BINARY,
        "serve",
        "--expand",
        "file",
        "--log-level",
        "trace",
    ]);
    let output = command
        .env("CANARY_TOKEN", "canary-of-env")
        .output()
        .unwrap();
    assert!(!secret(&said(&output)), "{output:?}");
    // Without leave no file is read: a file that somebody else has written would send it where he likes.
    let output = place
        .command(["serve"])
        .env("CANARY_TOKEN", "x")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(said(&output).contains("--expand"), "{output:?}");
}

// req: S-GATE-COMMON, S-CONFIG-HOLDS
#[test]
fn one_session_serves_all_clients_where_that_is_said() {
    for (sessions, want) in [("shared", 1), ("per-client", 2)] {
        let place = place(&format!(
            "[servers.one]\ncommand = 'sh'\nargs = ['-c', 'echo started >> starts; exec {BINARY} serve demo']\n\
             era = 'legacy'\nsessions = '{sessions}'\n"
        ));
        let mut http = place.listener(&["--listen", "0"], Stdio::null());
        http.until_said("\"url\":");
        let said = http.stderr();
        let url = said
            .split_whitespace()
            .find(|word| word.starts_with("http://"));
        for _ in 0..2 {
            let words = ["call", "--era", "legacy", url.unwrap(), "add", "a=1", "b=2"];
            let output = place.command(words).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{output:?}");
        }
        http.signal(Signal::TERM);
        assert_eq!(http.end().1, Some(0));
        let starts = fs::read_to_string(place.path("starts")).unwrap();
        assert_eq!(starts.lines().count(), want, "{sessions}");
    }
}

// req: S-GATE-STRAYS
#[test]
fn a_rule_for_what_the_server_does_not_have_is_warned_of_once() {
    let place = place(
        "[servers.one]\n<demo>\n[servers.one.tools]\nrename = { ehco = 'say', add = 'sum' }\n\
         [servers.one.prompts]\nallow = ['greet', 'nothing*']\n",
    );
    let mut host = place.host(&[]);
    for _ in 0..2 {
        host.ask("tools/list", json!({}));
        host.ask("prompts/list", json!({}));
    }
    host.close_input();
    host.end();
    let said = host.stderr();
    let warned: Vec<&str> = said.lines().filter(|line| line.contains("names")).collect();
    assert_eq!(warned.len(), 2, "{said}");
    for (line, parts) in [
        (warned[0], ["tools.rename", "\"ehco\"", "\"echo\""]),
        (warned[1], ["prompts.allow", "\"nothing*\"", "one"]),
    ] {
        for part in parts {
            assert!(line.contains(part), "{part}: {said}");
        }
    }
}

// req: S-GATE-SAME-NAMES
#[test]
fn a_server_that_is_missing_at_the_next_start_changes_no_names() {
    let more = format!(
        "[servers.one]\n<demo>\ntools.allow = ['add', 'echo']\n\
         [servers.two]\ncommand = 'sh'\nargs = ['-c', 'test -e up && exec {BINARY} serve demo']\n\
         tools.allow = ['echo', 'now']\n"
    );
    let place = place(&more);
    let tools = || {
        let mut host = place.host(&[]);
        let list = host.ask("tools/list", json!({}));
        host.close_input();
        host.end();
        let tools = list["tools"].as_array().unwrap().iter();
        let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), host.stderr())
    };
    place.write("up", "");
    let both = ["add", "one__echo", "two__echo", "now"];
    assert_eq!(tools().0, both);
    fs::remove_file(place.path("up")).unwrap();
    assert_eq!(tools().0, both[..2]);
    // What somebody has broken is said once, and is nothing.
    let kept = place.path("cache/polyport/names.json");
    fs::write(&kept, "{").unwrap();
    let (names, said) = tools();
    assert_eq!(names, ["add", "echo"]);
    assert_eq!(said.matches("names of servers").count(), 1, "{said}");
    assert!(fs::read_to_string(&kept).unwrap().contains("echo"));
}

// req: S-GATE-ROOM, S-CONFIG-HOLDS
#[test]
fn one_client_more_than_there_may_be_is_told_which_setting_that_is() {
    let place = place("[servers.one]\n<demo>\nera = 'legacy'\nmax_sessions = 1\n");
    let mut http = place.listener(&["--listen", "0"], Stdio::null());
    http.until_said("\"url\":");
    let said = http.stderr();
    let mut words = said.split_whitespace();
    let url = words.find(|word| word.starts_with("http://")).unwrap();
    let words = |verb| [verb, "--era", "legacy", url];
    let first = place.command(words("watch")).spawn().unwrap();
    let call = || {
        let sum = [&words("call")[..], &["add", "a=1", "b=2"]].concat();
        place.command(sum).output().unwrap()
    };
    // It may have come before the other.
    let refused = loop {
        let output = call();
        if output.status.code() != Some(0) {
            break output;
        }
    };
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("max_sessions"), "{why}");
    let pid = rustix::process::Pid::from_child(&first);
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    first.wait_with_output().unwrap();
    while call().status.code() != Some(0) {}
    http.signal(Signal::TERM);
    assert_eq!(http.end().1, Some(0));
}
