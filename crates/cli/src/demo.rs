//! The built-in server: one of each kind of thing, to try a client with.

mod asking;
mod changing;

use std::collections::BTreeMap;
use std::time::Duration;

use polyport::model::{Content, EmbeddedResource, ResourceContents, ResourceLink};
use polyport::schemars::JsonSchema;
use polyport::serde::{Deserialize, Serialize};
use polyport::{Completer, Fault, Json, PromptReply, Resource, Server, Template, Tool, ToolError};

/// A picture of 1 by 1 pixel, and a tenth of a second of silence.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const NAMES: [&str; 8] = [
    "Ada", "Alan", "Barbara", "Donald", "Edsger", "Frances", "Grace", "Tony",
];
const LANGUAGES: [&str; 8] = [
    "c",
    "go",
    "java",
    "javascript",
    "python",
    "ruby",
    "rust",
    "typescript",
];

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Add {
    /// First number.
    a: f64,
    /// Second number.
    b: f64,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Sum {
    /// a + b.
    sum: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Text {
    /// Any text.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Count {
    /// Where to stop.
    #[schemars(range(min = 1, max = 1000))]
    to: u32,
    /// Pause between two numbers, in milliseconds.
    #[serde(default)]
    #[schemars(range(max = 10_000))]
    delay_ms: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Message {
    /// What the failure says.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Wait {
    /// How long.
    #[schemars(range(max = 600))]
    seconds: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Big {
    /// Length of the text.
    #[schemars(range(max = 8_388_608))]
    bytes: usize,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Now {
    /// Milliseconds since 1970.
    unix_ms: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Whoami {
    /// Name of the client.
    name: Option<String>,
    /// Version of the client.
    version: Option<String>,
    /// The revision in which it asks.
    revision: String,
    /// What it says it can do.
    capabilities: serde_json::Value,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Review {
    /// The code to review.
    code: String,
    /// Its language.
    language: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Greet {
    /// Whom to greet.
    name: String,
}

/// How a model should use it.
pub(crate) const INSTRUCTIONS: &str =
    "demo: tools to try a client with, all of them harmless. Start with add or whoami.";

/// Adds it to a server.
pub(crate) fn extend(server: Server) -> Server {
    let server = prompts(resources(talking_tools(plain_tools(server))));
    changing::add(asking::add(server))
}

fn plain_tools(server: Server) -> Server {
    server
        .add_tool(
            Tool::new("add", "Adds two numbers.", |_cx, n: Add| async move {
                let sum = n.a + n.b;
                if !sum.is_finite() {
                    return Err(ToolError::new(
                        "The sum is too large for a number: add smaller ones",
                    ));
                }
                Ok(Json(Sum { sum }))
            })
            .title("Add")
            .read_only()
            .open_world(false),
        )
        .add_tool(
            Tool::new("echo", "Gives back the text.", |_cx, t: Text| async move {
                Ok(t.text)
            })
            .read_only()
            .open_world(false),
        )
        .add_tool(
            Tool::new(
                "fail",
                "Fails, and says what it is told to.",
                |_cx, m: Message| async move { Err::<String, _>(ToolError::new(m.message)) },
            )
            .read_only(),
        )
        .add_tool(
            Tool::new("big", "Gives a long text.", |_cx, b: Big| async move {
                Ok("0123456789abcdef".repeat(b.bytes / 16 + 1)[..b.bytes].to_owned())
            })
            .read_only(),
        )
        .add_tool(
            Tool::new(
                "now",
                "Tells the time of this machine.",
                |_cx, (): ()| async { Ok(Json(Now { unix_ms: unix_ms() })) },
            )
            .read_only(),
        )
        .add_tool(
            Tool::new("picture", "Gives a picture.", |_cx, (): ()| async {
                Ok(Content::image(PICTURE, "image/png"))
            })
            .read_only(),
        )
        .add_tool(
            Tool::new("sound", "Gives a sound.", |_cx, (): ()| async {
                Ok(Content::audio(silence(), "audio/wav"))
            })
            .read_only(),
        )
        .add_tool(
            Tool::new(
                "links",
                "Gives a link to a resource, and a resource itself.",
                |_cx, (): ()| async { Ok(links()) },
            )
            .read_only(),
        )
}

fn talking_tools(server: Server) -> Server {
    server
        .add_tool(
            Tool::new("count", "Counts, with progress and log messages.", |cx: polyport::Cx, c: Count| async move {
                for n in 1..=c.to {
                    cx.progress_of(f64::from(n), f64::from(c.to), &format!("at {n}"));
                    cx.info(format!("counted {n}"));
                    if c.delay_ms > 0 {
                        tokio::time::sleep(Duration::from_millis(c.delay_ms)).await;
                    }
                }
                Ok(format!("counted to {}", c.to))
            })
            .read_only(),
        )
        .add_tool(
            Tool::new("wait", "Waits; can be cancelled.", |cx: polyport::Cx, w: Wait| async move {
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_secs_f64(w.seconds.max(0.0))) => Ok(format!("waited {} s", w.seconds)),
                    _ = cx.cancelled() => Err(ToolError::new("cancelled")),
                }
            })
            .read_only(),
        )
        .add_tool(
            Tool::new("whoami", "Tells what the client says of itself.", |cx: polyport::Cx, (): ()| async move {
                let client = cx.client();
                Ok(Json(Whoami {
                    name: client.as_ref().map(|c| c.name.clone()),
                    version: client.map(|c| c.version),
                    revision: cx.revision().to_string(),
                    capabilities: serde_json::to_value(cx.capabilities()).unwrap_or_default(),
                }))
            })
            .read_only(),
        )
}

fn resources(server: Server) -> Server {
    server
        .add_resource(
            Resource::new("demo://greeting", "greeting", |_cx| async {
                Ok("Hello from Polyport.")
            })
            .title("Greeting")
            .description("A text.")
            .mime_type("text/plain"),
        )
        .add_resource(
            Resource::new("demo://logo", "logo", |_cx| async {
                Ok(ResourceContents {
                    mime_type: Some("image/png".to_owned()),
                    ..ResourceContents::blob("demo://logo", PICTURE)
                })
            })
            .title("Logo")
            .description("A picture.")
            .mime_type("image/png"),
        )
        .add_template(
            Template::new(
                "demo://greeting/{name}",
                "greeting-for",
                |_cx, values: BTreeMap<String, String>| async move {
                    let name = values.get("name").cloned().unwrap_or_default();
                    Ok(format!("Hello, {}!", name.to_uppercase()))
                },
            )
            .title("Greeting for somebody")
            .description("A text with a name in it.")
            .mime_type("text/plain"),
        )
        .completer(Completer::of_template(
            "demo://greeting/{name}",
            "name",
            |_cx, typed, _settled| async move { Ok(starting_with(&NAMES, &typed)) },
        ))
}

fn prompts(server: Server) -> Server {
    server
        .prompt(
            "review",
            "Asks for a review of code.",
            |_cx, r: Review| async move {
                let language = r.language.map(|l| format!(" {l}")).unwrap_or_default();
                Ok(PromptReply::new().user(format!(
                    "Review this{language} code. Name faults first, then style:\n\n{}",
                    r.code
                )))
            },
        )
        .prompt(
            "greet",
            "Asks for a greeting.",
            |_cx, g: Greet| async move { Ok(format!("Write a short greeting for {}.", g.name)) },
        )
        .completer(Completer::of_prompt(
            "review",
            "language",
            |_cx, typed, _settled| async move { Ok::<_, Fault>(starting_with(&LANGUAGES, &typed)) },
        ))
}

fn starting_with(all: &[&str], typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    all.iter()
        .filter(|text| text.to_lowercase().starts_with(&typed))
        .map(|text| (*text).to_owned())
        .collect()
}

fn links() -> Vec<Content> {
    let link = ResourceLink {
        uri: "demo://greeting".to_owned(),
        name: "greeting".to_owned(),
        ..ResourceLink::default()
    };
    let contents = ResourceContents {
        mime_type: Some("text/plain".to_owned()),
        ..ResourceContents::text("demo://greeting", "Hello from Polyport.")
    };
    vec![
        Content::ResourceLink(link),
        Content::Resource(EmbeddedResource::new(contents)),
    ]
}

/// A WAV file of 800 silent samples.
fn silence() -> String {
    let mut wav = b"RIFF\x44\x03\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x20\x03\x00\x00".to_vec();
    wav.resize(wav.len() + 800, 0x80);
    data_encoding::BASE64.encode(&wav)
}

fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_offers_one_of_each_kind() {
        assert_eq!(extend(Server::new("demo", "1")).counts(), (18, 2, 3));
    }
}
