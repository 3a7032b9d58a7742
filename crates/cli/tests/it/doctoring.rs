//! `polyport doctor`: what it says of each kind of fault, and how it ends.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use polyport::Revision;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{BINARY, Place, golden, said, with_script};
use crate::web::listen;

/// A report with a word for what differs from run to run and from machine to machine.
pub(crate) fn timeless(text: &str) -> String {
    let mut plain = String::new();
    for line in text.lines() {
        let marks = [
            "first word after ",
            "has no answer after ",
            "it has run for ",
            "a ping is answered",
            " in ",
        ];
        let timed = marks
            .iter()
            .find_map(|mark| line.split_once(mark).zip(Some(mark)));
        // What is left of the time for it.
        if let Some((before, after)) = line.split_once("server/discover after ")
            && let Some((_, after)) = after.split_once(" s;")
        {
            writeln!(plain, "{before}server/discover after <time>;{after}").unwrap();
            continue;
        }
        if let Some((before, _)) = line.split_once("Of the time went: ") {
            writeln!(plain, "{before}Of the time went: <time>").unwrap();
            continue;
        }
        match timed {
            Some(((before, after), mark)) if after.ends_with(" ms") || after.ends_with(" s") => {
                let blank = after.len() - after.trim_start().len();
                writeln!(plain, "{before}{mark}{}<time>", " ".repeat(blank)).unwrap();
            }
            _ => writeln!(plain, "{line}").unwrap(),
        }
    }
    // Some systems have programs in two places.
    plain.replace(" /usr/bin/", " /bin/")
}

/// A server of the legacy era in `sh`, with these tools.
fn server(tools: &Value) -> String {
    format!(
        r#"while read -r line; do
id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
case "$line" in
*server/discover*) exit 1;;
*'"initialize"'*) printf '%s\n' '{{"jsonrpc":"2.0","id":'$id',"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}';;
*tools/list*) printf '%s\n' '{{"jsonrpc":"2.0","id":'$id',"result":{{"tools":{tools}}}}}';;
*'"ping"'*) printf '%s\n' '{{"jsonrpc":"2.0","id":'$id',"result":{{}}}}';;
*'"id"'*) printf '%s\n' '{{"jsonrpc":"2.0","id":'$id',"error":{{"code":-32601,"message":"no"}}}}';;
esac
done"#
    )
}

fn look(place: &Place, words: &[&str]) -> String {
    let mut command = place.command(["doctor"].iter().chain(words));
    shown(place, &mut command, words)
}

fn shown(place: &Place, command: &mut Command, words: &[&str]) -> String {
    let line: String = words
        .iter()
        .map(|word| {
            if word.contains('\n') {
                " <server>".to_owned()
            } else {
                format!(" {word}")
            }
        })
        .collect();
    let output = command.output().unwrap();
    place.plain(&format!(
        "$ polyport doctor{line}\n{}\n",
        timeless(&said(&output))
    ))
}

/// Answers each request as its body wants, for as long as the test runs.
pub(crate) fn answering(mut answer: impl FnMut(&[u8]) -> String + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.and_then(|stream| answer_one(stream, &mut answer));
        }
    });
    port
}

fn answer_one(mut stream: TcpStream, answer: impl FnOnce(&[u8]) -> String) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    // What begins with no letter is TLS, and has no end of its head.
    while !head.ends_with(b"\r\n\r\n")
        && head.first().is_none_or(u8::is_ascii_alphabetic)
        && stream.read(&mut byte)? > 0
    {
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = text
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    stream.write_all(answer(&body).as_bytes())
}

/// A server of the modern era over HTTP, with these tools.
fn modern(tools: Value) -> u16 {
    answering(move |body| {
        let message: Value = serde_json::from_slice(body).unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("server/discover") => json!({
                "resultType": "complete", "supportedVersions": [Revision::LATEST.name()],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
            }),
            Some("tools/list") => json!({
                "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private",
            }),
            _ => {
                return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    .to_owned();
            }
        };
        let text = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )
    })
}

/// A port on which nothing listens.
fn dead() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn portless(text: &str, port: u16) -> String {
    text.replace(&port.to_string(), "<port>")
}

/// The question about its era: answered, left alone, and not asked.
// req: S-DOCTOR
#[test]
fn what_comes_of_the_first_question_is_said_as_it_was() {
    let place = Place::new();
    let ending = server(&json!([]));
    let mute = ending.replace("exit 1;;", ";;");
    let refusing = ending.replace(
        "exit 1;;",
        r#"printf '%s\n' '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}';;"#,
    );
    for (script, era, want) in [
        (
            &ending,
            "",
            Some(
                "warn  it stands an unknown question    server/discover has ended it; a fresh one was started",
            ),
        ),
        (
            &mute,
            "",
            Some(
                "warn  it stands an unknown question    server/discover has no answer after <time>",
            ),
        ),
        (&refusing, "", Some("ok    it stands an unknown question")),
        (&mute, "legacy", None),
    ] {
        let era: &[&str] = match era {
            "" => &[],
            era => &["--era", era],
        };
        let text = look(&place, &[era, &["--", "sh", "-c", script]].concat());
        let said = text.lines().find(|line| line.contains("unknown question"));
        assert_eq!(said.map(str::trim), want, "{text}");
    }
}

// req: S-DOCTOR
#[test]
fn faults_of_programs() {
    let place = Place::new();
    place.write("plain.txt", "no program\n");
    let sound =
        server(&json!([{"name": "a", "description": "x", "inputSchema": {"type": "object"}}]));
    let odd = server(&json!([
        {"name": "a b", "inputSchema": {"type": "string"}},
        {"name": "twice", "description": "x", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}},
        {"name": "twice", "description": "x", "inputSchema": {
            "type": "object", "properties": {"p": {"type": "array", "x-mcp-header": "P"}}
        }},
    ]));
    let liar = sound.replace(
        r#""capabilities":{"tools":{}}"#,
        r#""capabilities":{"prompts":{}}"#,
    );
    let shy = sound.replace(r#""capabilities":{"tools":{}}"#, r#""capabilities":{}"#);
    let dying = sound.replace(
        "*tools/list*)",
        "*tools/list*) echo boom >&2; exit 7;; *never*)",
    );
    let poisoned = sound.replace(r#""name":"a""#, r#""name":"a\u001b[2J\u202eb""#);
    assert!(dying != sound && poisoned != sound && liar != sound && shy != sound);
    let lines: &[&[&str]] = &[
        &["demo"],
        &["notes", "--era", "legacy"],
        &["--", "no-such-program"],
        &["--", "./nowhere/server"],
        &["--", "./plain.txt"],
        &["--cwd", "nowhere", "--", "sh"],
        &["--cwd", "file.txt", "--", "sh"],
        &[
            "--",
            "sh",
            "-c",
            r"printf 'Server \033[31mstarted\n'; cat >/dev/null",
        ],
        &["--", "sh", "-c", r"printf 'give \033[2Jme\n' >&2; exit 3"],
        &[
            "-e",
            "TOKEN=",
            "-e",
            "KEY=<your key>",
            "--",
            "sh",
            "-c",
            "exit 1",
        ],
        &["-e", "TOKEN=s3cret", "--", "cat", "server.py"],
        &[
            "--timeout",
            "2",
            "--",
            "sh",
            "-c",
            "echo listening on 3000 >&2; sleep 100",
        ],
        &["--", "sh", "-c", &sound],
        &["--", "sh", "-c", &odd],
        &["--", "sh", "-c", &liar],
        &["--", "sh", "-c", &shy],
        &["--", "sh", "-c", &dying],
        &["--", "sh", "-c", &poisoned],
    ];
    let text: String = lines.iter().map(|words| look(&place, words)).collect();
    assert!(
        !text.contains('\u{1b}') && text.matches("s3cret").count() == 1,
        "{text}"
    );
    golden("doctor-programs.txt", &text);
}

// req: S-DOCTOR
#[test]
fn faults_of_addresses() {
    let place = Place::new();
    let mut text = String::new();
    let port = dead();
    let url = format!("http://127.0.0.1:{port}/mcp");
    text += &portless(&look(&place, &[&url]), port);
    for (answer, header) in [
        (
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"a\", resource_metadata=\"https://a.test/m\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            None,
        ),
        (
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            Some("Authorization: Bearer s3cret"),
        ),
        (
            "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            Some("X-Api-Key: s3cret-key"),
        ),
        (
            "HTTP/1.1 403 Forbidden\r\nWWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"files:write\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            Some("Authorization: Bearer s3cret"),
        ),
        (
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            None,
        ),
        (
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo \u{1b}[2Jbad",
            None,
        ),
        ("SSH-2.0-OpenSSH_9.2\r\n", None),
    ] {
        let port = answering(|_| answer.to_owned());
        let url = format!("http://127.0.0.1:{port}/mcp");
        let mut words = vec![url.as_str()];
        words.extend(header.iter().flat_map(|header| ["--header", header]));
        let one = look(&place, &words);
        text += &portless(
            &one.replace("Bearer s3cret", "Bearer <token>")
                .replace("s3cret-key", "<key>"),
            port,
        );
    }
    let port = answering(|_| "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_owned());
    let url = format!("https://127.0.0.1:{port}/mcp");
    text += &portless(&look(&place, &[&url]), port);
    let marked = |name: &str| {
        json!({"name": "t", "description": "x", "inputSchema": {
            "type": "object", "properties": {"a": {"type": "string", "x-mcp-header": name}}
        }})
    };
    let port = modern(json!([marked("no header"), marked("fine")]));
    let url = format!("http://127.0.0.1:{port}/mcp");
    text += &portless(&look(&place, &[&url]), port);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    for scheme in ["http", "https"] {
        let url = format!("{scheme}://127.0.0.1:{port}/mcp");
        text += &portless(&look(&place, &["--timeout", "0.4", &url]), port);
    }
    text += &look(&place, &["https://user:pass@example.com/mcp"]);
    assert!(
        !text.contains('\u{1b}') && !text.contains("s3cret"),
        "{text}"
    );
    golden("doctor-addresses.txt", &text);
}

// req: S-DOCTOR
#[test]
fn transports_are_told_apart() {
    let place = Place::new();
    let (mut program, host, _) = listen(&place, &["demo", "--listen", "0"]);
    let (name, port) = host.split_once(':').unwrap();
    for (url, code, want) in [
        (
            format!("http://{name}:{port}/mcp"),
            0,
            "transport is current             Streamable HTTP",
        ),
        (
            format!("http://{name}:{port}/sse"),
            0,
            "HTTP with SSE, which is deprecated",
        ),
        (
            format!("ws://{name}:{port}/mcp"),
            0,
            "transport is current             WebSocket",
        ),
        (
            format!("http://{name}:{port}/nowhere"),
            6,
            "Fix: a server answers at http://",
        ),
    ] {
        let output = place.command(["doctor", &url]).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{url}: {said}");
        assert!(said.contains(want), "{url}: {said}");
    }
    program.signal(Signal::TERM);
    assert_eq!(program.end().1, Some(0));
}

// req: S-DOCTOR
#[test]
fn one_document_says_the_same() {
    let place = Place::new();
    let port = dead().to_string();
    for (words, code, failed) in [
        (&["demo"][..], 0, None),
        (&["--", "no-such-program"], 4, Some("program")),
        (
            &["--", "sh", "-c", "echo junk; cat >/dev/null"],
            6,
            Some("stdout"),
        ),
        (&[&format!(":{port}")], 4, Some("port")),
        (&["nothing"], 2, Some("named")),
    ] {
        let output = place
            .command(["doctor", "--json"].iter().chain(words))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["ok"], failed.is_none(), "{document}");
        let checks = document["checks"].as_array().unwrap();
        for check in checks {
            let names: Vec<&String> = check.as_object().unwrap().keys().collect();
            let want = ["detail", "id", "remedy", "status", "what"];
            assert!(names.len() == want.len() && want.iter().all(|w| names.iter().any(|n| n == w)));
        }
        let first = checks.iter().find(|check| check["status"] == "fail");
        assert_eq!(first.map(|check| check["id"].as_str().unwrap()), failed);
        let after = checks
            .iter()
            .skip_while(|check| check["status"] != "fail")
            .skip(1);
        assert!(
            after.clone().all(|check| check["status"] == "skip"),
            "{document}"
        );
        if let Some(first) = first {
            assert!(first["remedy"].is_string(), "{first}");
            let error: Value = serde_json::from_slice(&output.stderr).unwrap();
            assert_eq!(error["error"]["hint"], first["remedy"]);
        } else {
            assert!(output.stderr.is_empty());
        }
    }
}

// req: D-26
#[test]
fn d_26_a_hosts_server_is_run_as_it_runs_it() {
    let place = Place::new();
    let entry =
        |script: &str| json!({"command": "sh", "args": ["-c", script], "env": {"WHO": "Ada"}});
    let servers = json!({"mcpServers": {
        "good": {"command": BINARY, "args": ["serve", "demo"], "env": {"EMPTY": ""}},
        "bad": entry("echo \"$WHO in $(pwd)\" >&2; exit 1"),
        "unset": {"command": "sh", "env": {"TOKEN": "${NOT_SET_ANYWHERE}"}},
    }});
    place.write("home/.cursor/mcp.json", &servers.to_string());
    let codex = "[mcp_servers.there]\ncommand = 'sh'\nargs = ['-c', 'pwd >&2; exit 1']\ncwd = '../../other'\n\
                 [mcp_servers.lost]\ncommand = 'sh'\ncwd = '/nowhere/at/all'\n";
    place.write("home/.codex/config.toml", codex);
    let lines: &[&[&str]] = &[
        &["cursor:good"],
        &["cursor:bad"],
        &["cursor:unset"],
        &["cursor:none"],
        &["codex:there"],
        &["codex:lost"],
    ];
    let text: String = lines.iter().map(|words| look(&place, words)).collect();
    golden("doctor-hosts.txt", &text);
}

/// Has one more tool for who answers questions.
const SHY: &str = r#"
opening() { case "$line" in *'"elicitation"'*) more=',{"name":"u","inputSchema":{"type":"object"}}' ;; esac; }
listed() { answer "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}$more]}"; return 1; }
"#;

// req: S-DOCTOR
#[test]
fn the_doctor_sees_what_ls_does() {
    let place = Place::new();
    let script = polyport_testkit::child::scripted(SHY);
    for verb in ["ls", "doctor"] {
        let words = with_script(&[verb], &script, &[]);
        let output = place.command(&words).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(out.contains("2 tools"), "{verb}: {out}");
    }
}
