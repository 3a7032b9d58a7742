//! The script of a connection: letters and what they stand for. Not what must come of it.

use std::time::Duration;

/// One thing that a client does, or that happens to it.
#[derive(Debug)]
pub(super) enum Step {
    Say(String),
    Batch(Vec<&'static str>),
    /// Answers a question of the server, in one of several ways.
    Answer(usize, With),
    /// Sends the last call that asked again, with answers.
    Round(&'static str),
    Change,
    Wait(Duration),
    Stop,
}

/// What a question is answered with.
#[derive(Clone, Copy, Debug)]
pub(super) enum With {
    Answer,
    Nonsense,
    Error,
}

/// A step is one letter, most of them with digits behind it; what is no letter of the script does nothing.
///
/// - `i`, `I`, `o`: `initialize` by a client that can answer everything, the same with batches, and by one that can answer nothing.
///   `n`: `notifications/initialized`.
/// - `c`, `m`: a legacy and a modern call; the digits are its id and its tool. `[` and `]`: the tools between them are one batch.
/// - `p`: ping. `x`: cancels that id. `l`: wants logs. `s`, `u`: subscribes to a resource, and no more. `L`: listens under that id.
/// - `a`, `b`, `f`: answers that question of the server, well, badly, with an error. `z`: answers what was never asked.
/// - `M`: sends the last modern call that asked again, under that id, with answers.
/// - `C`: lists and resources change. `w`: time goes by, more for each digit. `J`: the rest of the line is said.
/// - `!`: the server is told to stop.
pub(super) fn read(data: &[u8]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = data;
    while let [letter, after @ ..] = rest {
        rest = after;
        match letter {
            b'J' => steps.push(Step::Say(line(&mut rest))),
            b'[' => {
                let mut parts = Vec::new();
                while let [digit @ b'0'..=b'9', after @ ..] = rest {
                    rest = after;
                    parts.push(TOOLS[usize::from(digit - b'0')]);
                }
                if !parts.is_empty() {
                    steps.push(Step::Batch(parts));
                }
            }
            letter => steps.extend(step(*letter, &mut rest)),
        }
        if steps.len() > MAX {
            break;
        }
    }
    steps
}

/// The rest of the line, as far as it may be said in one: without carriage returns, and no batch.
fn line(rest: &mut &[u8]) -> String {
    let end = rest.iter().position(|byte| *byte == b'\n');
    let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
    *rest = after;
    let text = String::from_utf8_lossy(text);
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{feff}');
    if text.is_empty() || text.starts_with('[') {
        return "{}".to_owned();
    }
    text.to_owned()
}

fn digit(rest: &mut &[u8]) -> usize {
    match rest {
        [byte @ b'0'..=b'9', after @ ..] => {
            *rest = after;
            usize::from(byte - b'0')
        }
        _ => 0,
    }
}

fn step(letter: u8, rest: &mut &[u8]) -> Option<Step> {
    let open = |version, capabilities| {
        let params = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"f","version":"1"}}}}"#
        );
        Some(Step::Say(request("0", "initialize", &params)))
    };
    let notice = |method: &str, params: &str| {
        let text =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#);
        Some(Step::Say(text))
    };
    let mut id = || IDS[digit(rest) % IDS.len()];
    let said = |id: &str, method: &str, params: &str| Some(Step::Say(request(id, method, params)));
    match letter {
        b'i' => open("2025-11-25", ALL),
        b'I' => open("2025-03-26", ALL),
        b'o' => open("2025-06-18", "{}"),
        b'n' => notice("initialized", "{}"),
        b'c' => {
            let id = id();
            Some(Step::Say(call(id, TOOLS[digit(rest)])))
        }
        b'm' => {
            let id = id();
            Some(Step::Say(modern_call(id, TOOLS[digit(rest)], "")))
        }
        b'p' => said(id(), "ping", "{}"),
        b'x' => notice("cancelled", &format!(r#"{{"requestId":{}}}"#, id())),
        b'l' => said(id(), "logging/setLevel", r#"{"level":"debug"}"#),
        b's' => said(id(), "resources/subscribe", r#"{"uri":"a"}"#),
        b'u' => said(id(), "resources/unsubscribe", r#"{"uri":"a"}"#),
        b'L' => {
            let filter = r#"{"toolsListChanged":true,"resourceSubscriptions":["a"]}"#;
            let id = LISTENS[digit(rest) % LISTENS.len()];
            said(
                id,
                "subscriptions/listen",
                &format!(r#"{{"notifications":{filter},{META}}}"#),
            )
        }
        b'a' => Some(Step::Answer(digit(rest), With::Answer)),
        b'b' => Some(Step::Answer(digit(rest), With::Nonsense)),
        b'f' => Some(Step::Answer(digit(rest), With::Error)),
        b'z' => Some(Step::Say(
            r#"{"jsonrpc":"2.0","id":99,"result":{}}"#.to_owned(),
        )),
        b'M' => Some(Step::Round(id())),
        b'C' => Some(Step::Change),
        b'w' => Some(Step::Wait(Duration::from_millis(100 << digit(rest)))),
        b'!' => Some(Step::Stop),
        _ => None,
    }
}

pub(super) fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A legacy call whose progress is told under its id.
pub(super) fn call(id: &str, tool: &str) -> String {
    let params = format!(r#"{{"name":"{tool}","_meta":{{"progressToken":{id}}}}}"#);
    request(id, "tools/call", &params)
}

/// A modern call with more members of its params, each with a comma in front.
pub(super) fn modern_call(id: &str, tool: &str, more: &str) -> String {
    let params = format!(r#"{{"name":"{tool}"{more},{META}}}"#);
    request(id, "tools/call", &params)
}

/// Two kinds that look alike, and texts that need escapes.
const IDS: [&str; 6] = ["1", "2", "\"1\"", "\"\"", "-1", r#""a\"\n""#];
const LISTENS: [&str; 3] = ["\"l\"", "\"l\\n\"", "\"m\""];

/// At once, later, with line breaks, with progress and logs, with questions of all kinds, until it is cancelled, and badly.
const TOOLS: [&str; 10] = [
    "echo",
    "slow then logs",
    "pretty",
    "progress then ten logs",
    "asks who",
    "asks who+roots page",
    "impatient who",
    "tidy",
    "gives a model",
    "slow then asks roots then refuses",
];

const ALL: &str = r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}}"#;

/// Steps of one script.
const MAX: usize = 200;
