//! A harbour whose tools, resources and prompt are functions with attributes; those of one type share its berths.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use polyport::{
    Cx, Fault, Json, PromptReply, Server, ToolError, parts, prompt, resource, stdio, tool,
};
use schemars::JsonSchema;
use serde::Serialize;

const BERTHS: u8 = 3;

#[derive(Default)]
struct Harbour {
    ships: Mutex<BTreeMap<u8, String>>,
}

#[derive(Serialize, JsonSchema)]
struct Moored {
    /// Where it lies.
    berth: u8,
}

/// What shares a value stands in an `impl` block.
#[parts]
impl Harbour {
    fn ships(&self) -> std::sync::MutexGuard<'_, BTreeMap<u8, String>> {
        self.ships.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a ship a berth.
    #[tool(title = "Moor a ship", destructive = false)]
    async fn moor(
        &self,
        cx: &Cx,
        /// Name of the ship.
        #[arg(length(min = 1, max = 40))]
        ship: String,
        /// Where it wants to lie; anywhere if left out.
        #[arg(range(min = 1, max = 3))]
        berth: Option<u8>,
    ) -> Result<Json<Moored>, ToolError> {
        let mut ships = self.ships();
        let mut free = (1..=BERTHS).filter(|berth| !ships.contains_key(berth));
        let found = match berth {
            Some(wanted) => free.find(|berth| *berth == wanted),
            None => free.next(),
        };
        let berth = found.ok_or_else(|| ToolError::new("that is taken; see harbour://berths"))?;
        cx.info(format!("{ship} comes in"));
        ships.insert(berth, ship);
        Ok(Json(Moored { berth }))
    }

    /// Sends a ship to sea.
    #[tool(idempotent)]
    async fn cast_off(
        &self,
        #[arg(description = "Number of the berth.")] berth: u8,
    ) -> &'static str {
        match self.ships().remove(&berth) {
            Some(_) => "fair winds",
            None => "nobody was there",
        }
    }

    /// Who lies where.
    #[resource("harbour://berths", mime_type = "text/plain")]
    async fn berths(&self) -> String {
        let ships = self.ships();
        let lines = ships.iter().map(|(berth, ship)| format!("{berth}: {ship}"));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Who lies there.
    #[resource("harbour://berths/{berth}", mime_type = "text/plain")]
    async fn berth(&self, berth: u8) -> Result<String, Fault> {
        let ship = self.ships().get(&berth).cloned();
        ship.ok_or_else(|| Fault::not_found(&format!("harbour://berths/{berth}")))
    }
}

/// How long a way takes, in hours.
///
/// # Errors
/// Nobody gets anywhere at no speed.
#[tool(read_only, idempotent)]
async fn hours(
    /// In nautical miles.
    #[arg(range(min = 0))]
    miles: f64,
    /// In knots.
    #[arg(default = 6.0)]
    knots: f64,
) -> Result<String, ToolError> {
    if knots <= 0.0 {
        return Err(ToolError::new("take more than 0 knots"));
    }
    Ok(format!("{:.1}", miles / knots))
}

/// What the harbour asks of all. Not an async function: it may read a file, and holds nobody up.
#[resource("harbour://rules", title = "Rules", mime_type = "text/plain")]
fn rules() -> String {
    "Go slowly.".to_owned()
}

/// Asks for a welcome over the radio.
#[prompt]
async fn welcome(
    /// Name of the ship.
    ship: String,
    /// In which language; that of its flag if left out.
    language: Option<String>,
) -> PromptReply {
    let language = language.as_deref().unwrap_or("the language of its flag");
    PromptReply::new().user(format!(
        "Welcome the {ship} in {language}, in one sentence."
    ))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = Server::new("harbour", "1.0")
        .with(Harbour::default())
        .add_tool(hours::tool())
        .add_resource(rules::resource())
        .add_prompt(welcome::prompt());
    stdio::serve(server).await?;
    Ok(())
}
