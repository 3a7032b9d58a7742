//! The part of the demo that asks: the user by a form or a page, the client's model, and for the client's folders.

use std::fmt;
use std::time::Duration;

use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{AskError, Cx, Server, Tool};

const PAGE: &str = "https://modelcontextprotocol.io/";
/// What a step of the trip takes.
const STEP: Duration = Duration::from_millis(200);

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde", rename_all = "lowercase")]
#[schemars(crate = "polyport::schemars")]
enum Drink {
    Coffee,
    Tea,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Order {
    /// What to drink.
    drink: Drink,
    /// How many cups.
    #[schemars(range(min = 1, max = 12))]
    cups: u8,
    /// Whether milk goes into it.
    milk: Option<bool>,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drink = match self.drink {
            Drink::Coffee => "coffee",
            Drink::Tea => "tea",
        };
        let milk = if self.milk == Some(true) {
            ", white"
        } else {
            ""
        };
        write!(f, "{} x {drink}{milk}", self.cups)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Haiku {
    /// What it is about.
    about: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Trip {
    /// Where to.
    place: String,
    /// How many days.
    #[schemars(range(min = 1, max = 30))]
    days: u8,
}

pub(super) fn add(server: Server) -> Server {
    server
        .add_tool(
            Tool::new(
                "order",
                "Asks the user what to drink.",
                |cx: Cx, (): ()| async move {
                    let order: Order = cx.elicit("order", "What may it be?").await?;
                    Ok(order.to_string())
                },
            )
            .read_only(),
        )
        .add_tool(
            Tool::new(
                "visit",
                "Sends the user to a page about the protocol.",
                |cx: Cx, (): ()| async move {
                    cx.elicit_url("page", "Read about the protocol?", PAGE)
                        .await?;
                    Ok("The user is on the way.")
                },
            )
            .read_only(),
        )
        .add_tool(
            Tool::new(
                "haiku",
                "Asks the client's model for a haiku.",
                |cx: Cx, haiku: Haiku| async move {
                    let prompt = format!("Write a haiku about {}.", haiku.about);
                    Ok(cx.sample_text("haiku", prompt, 100).await?)
                },
            )
            .read_only(),
        )
        .add_tool(
            Tool::new(
                "folders",
                "Asks in which folders the client works.",
                |cx: Cx, (): ()| async move {
                    let folders = cx.roots("folders").await?;
                    Ok(folders
                        .into_iter()
                        .map(|folder| folder.uri)
                        .collect::<Vec<_>>()
                        .join("\n"))
                },
            )
            .read_only(),
        )
        .add_tool(
            Tool::new(
                "trip",
                "Plans a trip: asks the user and then the model, with progress and log messages.",
                |cx: Cx, (): ()| async move {
                    step(&cx, 1, "asking the user").await?;
                    let trip: Trip = cx.elicit("trip", "Where to, and for how long?").await?;
                    step(&cx, 2, "asking the model").await?;
                    let prompt = format!("Name one thing to see in {}.", trip.place);
                    let sight = cx.sample_text("sight", prompt, 100).await?;
                    step(&cx, 3, "packing").await?;
                    Ok(format!("{} days in {}: {sight}", trip.days, trip.place))
                },
            )
            .read_only(),
        )
}

/// Tells how far the trip is. Once: for the newest clients a tool runs again with each answer.
async fn step(cx: &Cx, n: u8, what: &str) -> Result<(), AskError> {
    cx.once(what, async {
        cx.progress_of(n.into(), 3.0, what);
        cx.info(what);
        tokio::time::sleep(STEP).await;
        Ok(())
    })
    .await
}
