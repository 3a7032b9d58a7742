//! The same server from the marked functions of one type.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polyport::{Cx, Fault, Json, PromptReply, Raw, Server, ToolError};
use serde_json::{Value, json};

use super::{Manner, Order, Sum, annotations, icons, meta, shelf};

#[derive(Default)]
pub(super) struct Shop {
    pub(super) asked: AtomicUsize,
    greeting: Option<&'static str>,
}

pub(super) fn server() -> Server {
    Server::new("s", "1").with(Shop::default())
}

#[polyport::parts]
impl Shop {
    /// How often it was asked; no part.
    pub(super) fn count(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// Tells the weather.
    ///
    /// For some days.
    #[tool(title = "Forecast", read_only, idempotent, open_world, icons = icons(), meta = meta())]
    async fn forecast(
        &self,
        /// Name of the city,
        /// as people there write it.
        city: String,
        #[serde(default = "super::shared::days")]
        #[schemars(range(min = 1, max = 14))]
        days: u32,
        #[arg(description = "In degrees Fahrenheit.", title = "Unit")] fahrenheit: Option<bool>,
        cx: Cx,
        #[arg(name = "where", default = "eu".to_owned(), header = "Region")] region: String,
        #[arg(default, length(max = 3), inner(regex(pattern = "^[a-z]+$")))] tags: Vec<String>,
        #[arg(pattern = "^[A-Z]$", example = "A")] r#type: Option<String>,
    ) -> Result<String, ToolError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        cx.info("looking");
        if city.is_empty() {
            "x".parse::<u32>()?;
        }
        let kind = r#type;
        Ok(format!(
            "{city} {days} {fahrenheit:?} {region} {tags:?} {kind:?}"
        ))
    }

    /// Adds.
    #[polyport::tool(name = "sum.of", destructive = false, open_world = false)]
    fn add(a: i64, b: i64) -> Result<Json<Sum>, ToolError> {
        let sum = a.checked_add(b);
        let sum = sum.ok_or_else(|| ToolError::new("too much"))?;
        Ok(Json(Sum { sum }))
    }

    #[tool]
    async fn order(self: Arc<Self>, #[args] order: Order) -> Result<String, Fault> {
        if order.pieces == 0 {
            return Err(Fault::new(1001, "the cellar is locked"));
        }
        Ok(format!("{} {}", order.pieces, order.item))
    }

    #[tool(description = "Takes.", input_schema = shelf(), output_schema = json!({"type": "object"}), destructive = true)]
    async fn take(&self, text: Raw) -> Result<Json<Value>, serde_json::Error> {
        text.decode().map(Json)
    }

    /// Does nothing.
    #[tool]
    fn nothing(&self) {}

    /// Not in this build.
    #[cfg(any())]
    #[tool]
    fn nothing_at_all(&self, unknown: Unknown) {}

    #[resource("x://catalogue", title = "Catalogue", mime_type = "text/plain", size = 3,
        description = "What there is.", annotations = annotations(), icons = icons(), meta = meta())]
    fn catalogue(&self) -> &'static str {
        "a\nb"
    }

    #[resource("x://bytes")]
    async fn bytes(self: Arc<Self>) -> std::io::Result<Vec<u8>> {
        Ok(vec![0, 255])
    }

    /// One row of a table.
    #[resource("x://{table}/{row.id}", title = "A row", mime_type = "text/plain",
        annotations = annotations(), icons = icons(), meta = meta())]
    fn row(
        &self,
        #[arg(complete = |_cx, typed: String, _settled| async move { Ok(vec![typed + "ows"]) })]
        table: String,
        #[arg(name = "row.id")] id: u8,
    ) -> String {
        format!("{table} {id}")
    }

    #[resource("y://{+path}", name = "any")]
    async fn read(&self, path: String, cx: &Cx) -> Result<String, Fault> {
        if path == "none" {
            return Err(Fault::not_found("y://none"));
        }
        Ok(format!("{} {path}", cx.revision()))
    }

    /// Asks for a review.
    #[prompt(title = "Review", icons = icons(), meta = meta())]
    fn review(
        /// The code.
        code: String,
        #[arg(name = "in", title = "Language", description = "Its language.", complete = Self::languages)]
        language: Option<String>,
        #[serde(default)] manner: Manner,
    ) -> Result<PromptReply, Fault> {
        if code.is_empty() {
            return Err(Fault::invalid_params("nothing to review"));
        }
        let language = language.unwrap_or_default();
        Ok(PromptReply::new().user(format!("{language} {code} {manner:?}")))
    }

    async fn languages(
        cx: Cx,
        typed: String,
        settled: BTreeMap<String, String>,
    ) -> Result<Vec<String>, Fault> {
        Ok(vec![format!("{typed} {} {settled:?}", cx.revision())])
    }

    #[prompt]
    async fn hello(&self) -> String {
        self.greeting.unwrap_or("Hello!").to_owned()
    }
}

fn days() -> u32 {
    5
}
