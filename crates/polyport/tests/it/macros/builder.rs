//! The server that the attributes are measured by, made with the builder alone.

use std::collections::BTreeMap;

use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{
    Cx, Fault, Json, Prompt, PromptReply, Raw, Resource, Server, Template, Tool, ToolError,
};
use serde_json::{Value, json};

use super::{Manner, Order, Sum, annotations, icons, meta, shelf};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Forecast {
    /// Name of the city,
    /// as people there write it.
    city: String,
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 14))]
    days: u32,
    #[schemars(description = "In degrees Fahrenheit.", title = "Unit")]
    fahrenheit: Option<bool>,
    #[serde(default = "eu", rename = "where")]
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
    #[serde(default)]
    #[schemars(length(max = 3), inner(regex(pattern = "^[a-z]+$")))]
    tags: Vec<String>,
    #[schemars(regex(pattern = "^[A-Z]$"), example = &"A")]
    r#type: Option<String>,
}

fn five() -> u32 {
    5
}

fn eu() -> String {
    "eu".to_owned()
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Review {
    /// The code.
    code: String,
    #[serde(rename = "in")]
    #[schemars(title = "Language", description = "Its language.")]
    language: Option<String>,
    #[serde(default)]
    manner: Manner,
}

pub(super) fn server() -> Server {
    let server = Server::new("s", "1");
    prompts(resources(tools(server)))
}

fn tools(server: Server) -> Server {
    server
        .add_tool(
            Tool::new("forecast", "Tells the weather.\n\nFor some days.", forecast)
                .title("Forecast")
                .read_only()
                .idempotent()
                .open_world(true)
                .icons(icons())
                .meta(meta()),
        )
        .add_tool(
            Tool::blocking("sum.of", "Adds.", |_cx, n: Add| {
                let sum = n.a.checked_add(n.b);
                let sum = sum.ok_or_else(|| ToolError::new("too much"))?;
                Ok(Json(Sum { sum }))
            })
            .destructive(false)
            .open_world(false),
        )
        .tool("order", "", |_cx, order: Order| async move {
            if order.pieces == 0 {
                return Err(Fault::new(1001, "the cellar is locked").into());
            }
            Ok(format!("{} {}", order.pieces, order.item))
        })
        .add_tool(
            Tool::raw("take", "Takes.", shelf(), |_cx, text: Raw| async move {
                let value: Value = text.decode()?;
                Ok(Json(value))
            })
            .output_schema(json!({"type": "object"}))
            .destructive(true),
        )
        .tool("nothing", "Does nothing.", |_cx, (): ()| async { Ok(()) })
}

async fn forecast(cx: Cx, asked: Forecast) -> Result<String, ToolError> {
    cx.info("looking");
    if asked.city.is_empty() {
        return Err("x".parse::<u32>().unwrap_err().into());
    }
    Ok(format!(
        "{} {} {:?} {} {:?} {:?}",
        asked.city, asked.days, asked.fahrenheit, asked.region, asked.tags, asked.r#type
    ))
}

fn resources(server: Server) -> Server {
    server
        .add_resource(
            Resource::new("x://catalogue", "catalogue", |_cx| async { Ok("a\nb") })
                .title("Catalogue")
                .description("What there is.")
                .mime_type("text/plain")
                .size(3)
                .annotations(annotations())
                .icons(icons())
                .meta(meta()),
        )
        .resource("x://bytes", "bytes", |_cx| async { Ok(vec![0_u8, 255]) })
        .add_template(
            Template::new("x://{table}/{row.id}", "row", row)
                .title("A row")
                .description("One row of a table.")
                .mime_type("text/plain")
                .annotations(annotations())
                .icons(icons())
                .meta(meta())
                .completer("table", |_cx, typed, _settled| async move {
                    Ok(vec![format!("{typed}ows")])
                }),
        )
        .template("y://{+path}", "any", |cx: Cx, values| async move {
            let path = &values["path"];
            if path == "none" {
                return Err(Fault::not_found("y://none"));
            }
            Ok(format!("{} {path}", cx.revision()))
        })
}

async fn row(_cx: Cx, values: BTreeMap<String, String>) -> Result<String, Fault> {
    let (table, id) = (&values["table"], &values["row.id"]);
    let id: u8 = id.parse().map_err(|error| {
        let uri = format!("x://{table}/{id}");
        Fault::not_found_because(&uri, format!("Resource not found: row.id: {error}"))
    })?;
    Ok(format!("{table} {id}"))
}

fn prompts(server: Server) -> Server {
    server
        .add_prompt(
            Prompt::new(
                "review",
                "Asks for a review.",
                |_cx, r: Review| async move {
                    if r.code.is_empty() {
                        return Err(Fault::invalid_params("nothing to review"));
                    }
                    let language = r.language.unwrap_or_default();
                    Ok(PromptReply::new().user(format!("{language} {} {:?}", r.code, r.manner)))
                },
            )
            .title("Review")
            .icons(icons())
            .meta(meta())
            .completer("in", |cx: Cx, typed, settled| async move {
                Ok(vec![format!("{typed} {} {settled:?}", cx.revision())])
            }),
        )
        .prompt("hello", "", |_cx, (): ()| async { Ok("Hello!") })
}
