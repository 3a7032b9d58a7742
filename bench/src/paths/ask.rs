//! What is asked, of which server, and in which words. Not over which transport.

use std::time::Duration;

use polyport::layer::{Timeout, Trace};
use polyport::schemars::JsonSchema;
use polyport::serde::{Deserialize, Serialize};
use polyport::{Json, Server};

/// In which era a client speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Era {
    /// A handshake first; over HTTP a session.
    Legacy,
    /// Every request stands alone.
    Modern,
}

/// One request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ask {
    /// A text of so many bytes comes back.
    Echo(usize),
    /// The same of a server that asks questions in other tools, by a client that hears of changes.
    EchoBeside(usize),
    /// The same of a server behind a gateway, where two have a tool of that name.
    EchoBehind(usize),
    /// A structured result.
    Add,
    /// The same with layers around it that have nothing to do with the call.
    AddWithin,
    /// A member of the arguments has the wrong type.
    BadArguments,
    /// A list of 50 tools.
    List,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Echo {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Add {
    a: f64,
    b: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Sure {
    sure: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Sum {
    sum: f64,
}

const OPENING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"sampling":{}},"clientInfo":{"name":"count","version":"1.0.0"}}}"#;
const OPENED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const NOTES: &str = "notes://today";
const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"count","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

impl Era {
    /// What goes before the first request.
    pub(super) fn opening(self, ask: Ask) -> Vec<String> {
        let mut opening = match self {
            Self::Legacy => vec![OPENING.to_owned(), OPENED.to_owned()],
            Self::Modern => Vec::new(),
        };
        if let Ask::EchoBeside(_) = ask {
            let (method, params) = match self {
                Self::Legacy => ("resources/subscribe", format!(r#""uri":"{NOTES}""#)),
                Self::Modern => (
                    "subscriptions/listen",
                    format!(r#""notifications":{{"resourceSubscriptions":["{NOTES}"]}}{META}"#),
                ),
            };
            opening.push(request(1, method, &params));
        }
        opening
    }

    /// What every request carries besides its own.
    fn meta(self) -> &'static str {
        match self {
            Self::Legacy => "",
            Self::Modern => META,
        }
    }
}

impl Ask {
    /// The server that is asked.
    pub(super) fn server(self) -> Server {
        let tools = if self == Self::List { 49 } else { 1 };
        let mut server = Server::new("count", "1.0.0").tool(
            "add",
            "Adds two numbers.",
            |_cx, n: Add| async move { Ok(Json(Sum { sum: n.a + n.b })) },
        );
        for n in 0..tools {
            let name = if n == 0 {
                "echo".to_owned()
            } else {
                format!("echo_{n}")
            };
            server = server.tool(name, "Gives back the text.", |_cx, e: Echo| async move {
                Ok(e.text)
            });
        }
        if let Self::EchoBeside(_) = self {
            server = server
                .tool("clean", "Asks first.", |cx, (): ()| async move {
                    let Sure { sure } = cx.elicit("sure", "All of it?").await?;
                    Ok(sure.to_string())
                })
                .resource(NOTES, "Today", |_cx| async { Ok("nothing yet".to_owned()) });
        }
        if self == Self::AddWithin {
            let timeout = Timeout::new(Duration::from_secs(30)).without_method("tools/call");
            server = server.layer(Trace::new()).layer(timeout);
        }
        server
    }

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::List => "tools/list",
            _ => "tools/call",
        }
    }

    /// The tool that is called.
    pub(super) fn tool(self) -> Option<&'static str> {
        match self {
            Self::Echo(_) | Self::EchoBeside(_) => Some("echo"),
            Self::EchoBehind(_) => Some("one__echo"),
            Self::Add | Self::AddWithin | Self::BadArguments => Some("add"),
            Self::List => None,
        }
    }

    /// The message.
    pub(super) fn message(self, era: Era) -> String {
        let meta = era.meta();
        let params = match self {
            Self::Echo(bytes) | Self::EchoBeside(bytes) | Self::EchoBehind(bytes) => {
                let (name, text) = (self.tool().unwrap_or_default(), "x".repeat(bytes));
                format!(r#""name":"{name}","arguments":{{"text":"{text}"}}{meta}"#)
            }
            Self::Add | Self::AddWithin => {
                format!(r#""name":"add","arguments":{{"a":2,"b":3}}{meta}"#)
            }
            Self::BadArguments => format!(r#""name":"add","arguments":{{"a":2,"b":"3"}}{meta}"#),
            Self::List => meta.trim_start_matches(',').to_owned(),
        };
        request(7, self.method(), &params)
    }
}

fn request(id: u32, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
}

/// A tools/call of exactly so many bytes.
pub(super) fn call_of(bytes: usize) -> String {
    let least = Ask::Echo(0).message(Era::Legacy).len();
    Ask::Echo(bytes - least).message(Era::Legacy)
}
