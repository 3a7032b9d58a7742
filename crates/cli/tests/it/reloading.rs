//! A configuration that changes while it is served. What is waited for is what clients and the log are told.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use polyport_testkit::Program;
use serde_json::{Value, json};

use crate::support::{BINARY, Place};

/// A server that notes each start under its name, and holds a pipe open as long as it lives.
fn stub(name: &str, more: &str) -> String {
    format!(
        "[servers.{name}]\ncommand = 'sh'\n\
         args = ['-c', 'echo {name} >> starts; exec 9>alive-{name}; exec {BINARY} serve demo']\n{more}\n"
    )
}

/// A place for such servers, and who waits for the end of the last. One of the others may be started again at any time, and waits until
/// somebody reads its pipe.
fn place(names: &[&str], text: &str) -> (Place, Vec<JoinHandle<()>>) {
    let place = Place::new();
    place.write("starts", "");
    place.write("polyport.toml", text);
    let last = names.len() - 1;
    let waiting = names.iter().enumerate().map(|(n, name)| {
        let pipe = place.path(&format!("alive-{name}"));
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        thread::spawn(move || {
            ended(&pipe);
            if n < last {
                loop {
                    ended(&pipe);
                }
            }
        })
    });
    let waiting = waiting.collect();
    (place, waiting)
}

/// Returns when whoever has opened the pipe is gone.
fn ended(pipe: &Path) {
    let mut pipe = File::open(pipe).unwrap();
    pipe.read_to_end(&mut Vec::new()).unwrap();
}

const SERVE: &[&str] = &["--config", "polyport.toml", "--reload"];

fn tools(host: &mut Program) -> Vec<String> {
    let list = host.ask("tools/list", json!({}));
    let tools = list["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Waits until the client is told that the tools are others.
fn hears(host: &mut Program) {
    let is_it = |note: &Value| note["method"] == "notifications/tools/list_changed";
    if host.notes().iter().any(is_it) {
        return;
    }
    while !is_it(&host.message().unwrap()) {}
}

/// Waits until the client sees, or does not see, a tool of this name.
fn until(host: &mut Program, tool: &str, is_there: bool) {
    while tools(host).iter().any(|known| known == tool) != is_there {
        hears(host);
    }
}

fn starts(place: &Place, name: &str) -> usize {
    let starts = fs::read_to_string(place.path("starts")).unwrap();
    starts.lines().filter(|line| *line == name).count()
}

// req: S-CONFIG-RELOAD
#[test]
fn only_what_changed_is_started_anew() {
    let one = stub("one", "tools.allow = ['add']");
    let two = stub("two", "tools.allow = ['echo']");
    let (place, mut waiting) = place(&["one", "two"], &one);
    let mut host = place.host(SERVE);
    until(&mut host, "add", true);
    // One comes, by a file that is put into the place of the other.
    place.write("new", &format!("{one}{two}"));
    fs::rename(place.path("new"), place.path("polyport.toml")).unwrap();
    until(&mut host, "echo", true);
    host.until_said("has changed: two is added\n");
    // What is said of one changes: the connection stays.
    let said = stub("one", "tools.allow = ['add', 'now']");
    place.write("polyport.toml", &format!("{said}{two}"));
    until(&mut host, "now", true);
    host.until_said("one has other tools.allow\n");
    assert_eq!(tools(&mut host), ["add", "now", "echo"]);
    // Its environment changes: it is another one.
    let other = stub(
        "one",
        "env = { API_KEY = 'hush' }\ntools.allow = ['whoami']",
    );
    place.write("polyport.toml", &format!("{other}{two}"));
    until(&mut host, "whoami", true);
    let log = host.until_said("and it is started anew\n");
    assert!(
        log.contains("one has other env.API_KEY, tools.allow, and it is started anew"),
        "{log}"
    );
    assert!(!log.contains("hush"), "{log}");
    // One goes, and its process with it.
    place.write("polyport.toml", &other);
    until(&mut host, "echo", false);
    waiting.pop().unwrap().join().unwrap();
    host.until_said("two is gone\n");
    let refused = host.refused(
        "tools/call",
        json!({"name": "echo", "arguments": {"text": "x"}}),
    );
    assert_eq!(refused["message"], "Unknown tool: echo");
    assert_eq!((starts(&place, "one"), starts(&place, "two")), (2, 1));
    host.close_input();
    assert_eq!(host.end().1, Some(0));
}

// req: S-CONFIG-RELOAD
#[test]
fn a_bad_edit_changes_nothing_and_says_why() {
    let one = stub("one", "tools.allow = ['add']");
    let (place, _) = place(&["one"], &one);
    let mut host = place.host(SERVE);
    until(&mut host, "add", true);
    for (text, why) in [
        (
            "[servers.one\n".to_owned(),
            "polyport.toml:1: cannot be read",
        ),
        ("\n".to_owned(), "is served on: it is empty"),
        (
            one.replace("tools.allow", "tools.alow"),
            "polyport.toml:4: servers.one.tools.alow: is not known (did you mean allow?)",
        ),
        (
            one.replace("servers.one", "sevrers.one"),
            "polyport.toml:1: sevrers: is not known (did you mean servers?)",
        ),
        (
            format!("{one}cwd = '${{UNSET_CANARY}}'\n"),
            "polyport.toml:5: one.cwd: the variable UNSET_CANARY is not set",
        ),
        (
            format!("{one}cwd = 'no/such/folder'\n"),
            "there is no folder",
        ),
        (
            format!("{one}[servers.far]\nurl = 'nothing'\n"),
            "far.url is no address",
        ),
    ] {
        place.write("polyport.toml", &text);
        let log = host.until_said(why);
        assert!(
            log.contains(
                "polyport.toml has changed and is not taken, what was served is served on"
            ),
            "{log}"
        );
        assert_eq!(tools(&mut host), ["add"]);
    }
    assert_eq!(host.notes(), Vec::<Value>::new(), "nothing has changed");
    // One that is mended is taken.
    place.write("polyport.toml", &one.replace("'add'", "'echo'"));
    until(&mut host, "echo", true);
    assert_eq!(starts(&place, "one"), 1);
    host.close_input();
    assert_eq!(host.end().1, Some(0));
}

// req: S-CONFIG-RELOAD
#[test]
fn a_call_that_runs_ends_as_it_would_have() {
    for era in ["legacy", "modern"] {
        let one = stub("one", &format!("era = '{era}'"));
        let (place, mut waiting) = place(&["one"], &one);
        let mut host = place.listener(SERVE, Stdio::piped());
        let opening = json!({
            "jsonrpc": "2.0", "id": "open", "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "asked", "version": "1"},
            },
        });
        host.send_bytes(opening.to_string().as_bytes());
        let opened = host.answer();
        let told = &opened["result"]["capabilities"]["tools"]["listChanged"];
        assert_eq!(*told, json!(true), "{opened}");
        host.send_bytes(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let id = host.begin("tools/call", json!({"name": "order", "arguments": {}}), "");
        // It runs: it asks.
        let question = loop {
            let message = host.message().unwrap();
            if message["method"] == "elicitation/create" {
                break message;
            }
        };
        place.write("polyport.toml", "[servers]\n");
        hears(&mut host);
        host.until_said("one is gone\n");
        let answer = json!({
            "jsonrpc": "2.0", "id": question["id"],
            "result": {"action": "decline"},
        });
        host.send_bytes(answer.to_string().as_bytes());
        let result = host.answer();
        assert_eq!(result["id"], id, "{era}: {result}");
        assert!(result["result"]["content"].is_array(), "{era}: {result}");
        // Then its server ends.
        waiting.pop().unwrap().join().unwrap();
        assert_eq!(tools(&mut host), Vec::<String>::new());
        host.close_input();
        assert_eq!(host.end().1, Some(0));
    }
}

// req: S-CONFIG-RELOAD
#[test]
fn the_shell_changes_what_is_served() {
    let one = stub("one", "tools.allow = ['add']");
    let (place, mut waiting) = place(&["one"], &one);
    let mut host = place.host(SERVE);
    until(&mut host, "add", true);
    let run = |words: &[&str]| {
        let output = place.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {output:?}");
    };
    run(&["disable", "one"]);
    until(&mut host, "add", false);
    waiting.pop().unwrap().join().unwrap();
    run(&["add", "two", "--", BINARY, "serve", "demo"]);
    until(&mut host, "echo", true);
    host.close_input();
    assert_eq!(host.end().1, Some(0));
    // What a command line names does not change.
    let output = place
        .command(["serve", "demo", "--reload"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

// req: S-CONFIG-RELOAD
#[test]
fn a_file_of_variables_is_part_of_its_server() {
    let one = stub("one", "tools.allow = ['add']\nenv_file = 'secrets/one.env'");
    let two = stub("two", "tools.allow = ['echo']");
    let (place, _) = place(&["one", "two"], &two);
    fs::create_dir(place.path("secrets")).unwrap();
    let mut host = place.host(SERVE);
    until(&mut host, "echo", true);
    // Named before it is there, in a folder that nobody has watched yet.
    place.write("polyport.toml", &format!("{one}{two}"));
    host.until_said("one.env: is not there");
    place.write("secrets/one.env", "API_KEY=hush\n");
    until(&mut host, "add", true);
    host.until_said("one.env has changed: one is added\n");
    // In the place of the other, as editors write.
    place.write("secrets/new", "API_KEY=hush-hush\n");
    fs::rename(place.path("secrets/new"), place.path("secrets/one.env")).unwrap();
    host.until_said("one.env has changed: one has other env.API_KEY, and it is started anew\n");
    while starts(&place, "one") < 2 {
        hears(&mut host);
    }
    // What says the same is no change, and what cannot be read changes nothing.
    place.write("secrets/one.env", "# The same.\nAPI_KEY=hush-hush\n");
    place.write("secrets/one.env", "API KEY\n");
    let log = host.until_said("one.env:1: is not NAME=value");
    assert!(
        log.contains("one.env has changed and is not taken"),
        "{log}"
    );
    assert!(!log.contains("hush"), "{log}");
    assert_eq!((starts(&place, "one"), starts(&place, "two")), (2, 1));
    // A server that is gone takes its file with it.
    place.write("polyport.toml", &two);
    host.until_said("one is gone\n");
    place.write("secrets/one.env", "API_KEY=late\n");
    assert_eq!(tools(&mut host), ["echo"]);
    host.close_input();
    assert_eq!(host.end().1, Some(0));
}
