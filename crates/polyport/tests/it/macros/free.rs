//! The same server from marked functions that stand by themselves.

use std::collections::BTreeMap;

use polyport::{Cx, Fault, Json, PromptReply, Raw, Server, ToolError, prompt, resource, tool};
use serde_json::{Value, json};

use super::{Manner, Order, Sum, annotations, icons, meta, shelf};

pub(super) fn server() -> Server {
    Server::new("s", "1")
        .add_tool(forecast::tool())
        .add_tool(add::tool())
        .add_tool(order::tool())
        .add_tool(take::tool())
        .add_tool(nothing::tool())
        .add_resource(catalogue::resource())
        .add_resource(bytes::resource())
        .add_template(row::template())
        .add_template(any::template())
        .add_prompt(review::prompt())
        .add_prompt(hello::prompt())
}

/// Tells the weather.
///
/// For some days.
#[tool(
    title = "Forecast",
    read_only,
    idempotent,
    open_world,
    icons = icons(),
    meta = meta(),
)]
async fn forecast(
    cx: &Cx,
    /// Name of the city,
    /// as people there write it.
    city: String,
    #[arg(default = 5, range(min = 1, max = 14))] days: u32,
    /// Overruled.
    #[arg(description = "In degrees Fahrenheit.", title = "Unit")]
    fahrenheit: Option<bool>,
    #[arg(name = "where", default = "eu", header = "Region")] region: String,
    #[arg(default, length(max = 3), inner(regex(pattern = "^[a-z]+$")))] tags: Vec<String>,
    #[arg(pattern = "^[A-Z]$", example = "A")] r#type: Option<String>,
) -> Result<String, std::num::ParseIntError> {
    cx.info("looking");
    if city.is_empty() {
        "x".parse::<u32>()?;
    }
    Ok(format!(
        "{city} {days} {fahrenheit:?} {region} {tags:?} {type:?}",
        r#type = r#type
    ))
}

/// Adds.
#[tool(name = "sum.of", destructive = false, open_world = false)]
fn add(a: i64, b: i64) -> Result<Json<Sum>, ToolError> {
    let sum = a.checked_add(b);
    let sum = sum.ok_or_else(|| ToolError::new("too much"))?;
    Ok(Json(Sum { sum }))
}

#[tool]
async fn order(_: Cx, #[args] Order { item, pieces }: Order) -> Result<String, Fault> {
    if pieces == 0 {
        return Err(Fault::new(1001, "the cellar is locked"));
    }
    Ok(format!("{pieces} {item}"))
}

#[tool(
    description = "Takes.",
    input_schema = shelf(),
    output_schema = json!({"type": "object"}),
    destructive,
)]
async fn take(text: Raw) -> Result<Json<Value>, serde_json::Error> {
    text.decode().map(Json)
}

/// Does nothing.
#[polyport::tool]
async fn nothing() {}

/// What there is.
#[resource(
    "x://catalogue",
    title = "Catalogue",
    mime_type = "text/plain",
    size = 3,
    annotations = annotations(),
    icons = icons(),
    meta = meta(),
)]
async fn catalogue() -> &'static str {
    "a\nb"
}

#[resource("x://bytes")]
fn bytes(_cx: &Cx) -> Vec<u8> {
    vec![0, 255]
}

/// One row of a table.
#[resource(
    "x://{table}/{row.id}",
    title = "A row",
    mime_type = "text/plain",
    annotations = annotations(),
    icons = icons(),
    meta = meta(),
)]
async fn row(
    #[arg(name = "row.id")] id: u8,
    /** In the database. */
    #[arg(complete = tables)]
    table: String,
) -> String {
    format!("{table} {id}")
}

#[resource("y://{+path}", name = "any")]
fn any(path: String, cx: Cx) -> Result<String, Fault> {
    if path == "none" {
        return Err(Fault::not_found("y://none"));
    }
    Ok(format!("{} {path}", cx.revision()))
}

/// Asks for a review.
#[prompt(title = "Review", icons = icons(), meta = meta())]
async fn review(
    /// The code.
    code: String,
    #[arg(name = "in", title = "Language", description = "Its language.", complete = languages)]
    language: Option<String>,
    #[arg(default)] manner: Manner,
) -> Result<PromptReply, Fault> {
    if code.is_empty() {
        return Err(Fault::invalid_params("nothing to review"));
    }
    let language = language.unwrap_or_default();
    Ok(PromptReply::new().user(format!("{language} {code} {manner:?}")))
}

type Settled = BTreeMap<String, String>;

async fn languages(cx: Cx, typed: String, settled: Settled) -> Result<Vec<String>, Fault> {
    Ok(vec![format!("{typed} {} {settled:?}", cx.revision())])
}

async fn tables(_cx: Cx, typed: String, _settled: Settled) -> Result<Vec<String>, Fault> {
    Ok(vec![format!("{typed}ows")])
}

#[prompt]
fn hello() -> &'static str {
    "Hello!"
}

/// A marked function is still a function.
#[tokio::test]
async fn called_as_it_is() {
    let Json(Sum { sum }) = add(1, 2).unwrap();
    assert_eq!((sum, hello()), (3, "Hello!"));
    nothing().await;
    assert_eq!(row(7, "t".to_owned()).await, "t 7");
}
