//! Baskets that are filled over several calls. A basket has an id that the model passes back, so it works with clients of every
//! revision; one that is left alone is put away. The shop opens before the first client and closes after the last.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use polyport::handles::{CloseReason, HandleLimits, Handles};
use polyport::{Cx, Server, ToolError, stdio};
use schemars::JsonSchema;
use serde::Deserialize;

type Basket = Mutex<Vec<String>>;

#[derive(Deserialize, JsonSchema)]
struct Put {
    /// The basket, as open_basket gave it.
    basket: String,
    /// What goes into it.
    item: String,
}

#[derive(Deserialize, JsonSchema)]
struct Pay {
    /// The basket, as open_basket gave it.
    basket: String,
}

#[derive(Clone)]
struct Shop {
    baskets: Handles<Basket>,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut limits = HandleLimits::default();
    limits.idle = Duration::from_secs(15 * 60);
    let shop = Shop {
        baskets: Handles::new(limits).on_close(put_back),
    };
    let (opens, puts, pays, closes) = (shop.clone(), shop.clone(), shop.clone(), shop);
    let server = Server::new("shop", "1.0")
        .on_start(|| async { say("the shop is open") })
        .tool(
            "open_basket",
            "Opens a basket; gives its id.",
            move |cx, (): ()| {
                let shop = opens.clone();
                async move { shop.open(&cx) }
            },
        )
        .tool("put", "Puts an item into a basket.", move |cx, put: Put| {
            let shop = puts.clone();
            async move { shop.put(&cx, put) }
        })
        .tool(
            "pay",
            "Pays for a basket and closes it.",
            move |cx, pay: Pay| {
                let shop = pays.clone();
                async move { shop.pay(&cx, pay).await }
            },
        )
        .on_shutdown(move || {
            let shop = closes.clone();
            async move {
                shop.baskets.close_all().await;
                // Nobody may be left to read it.
                let _ = say("the shop is closed");
            }
        });
    stdio::serve(server).await?;
    Ok(())
}

impl Shop {
    /// `?` tells the model why there is no basket, and what to do.
    fn open(&self, cx: &Cx) -> Result<String, ToolError> {
        Ok(self.baskets.open(cx, Basket::default())?)
    }

    fn put(&self, cx: &Cx, put: Put) -> Result<String, ToolError> {
        let basket = self.baskets.get(cx, &put.basket)?;
        let mut items = basket.lock().unwrap_or_else(PoisonError::into_inner);
        items.push(put.item);
        Ok(format!("{} in the basket", items.len()))
    }

    async fn pay(&self, cx: &Cx, pay: Pay) -> Result<String, ToolError> {
        let basket = self.baskets.get(cx, &pay.basket)?;
        let paid = std::mem::take(&mut *basket.lock().unwrap_or_else(PoisonError::into_inner));
        self.baskets.close(cx, &pay.basket).await?;
        Ok(format!("paid for {}", paid.join(", ")))
    }
}

/// What was not paid for goes back to the shelf, whyever the basket is closed.
async fn put_back(basket: Arc<Basket>, why: CloseReason) {
    let items = std::mem::take(&mut *basket.lock().unwrap_or_else(PoisonError::into_inner));
    if !items.is_empty() {
        let _ = say(&format!(
            "back to the shelf ({why:?}): {}",
            items.join(", ")
        ));
    }
}

/// Standard output is for messages; this goes to standard error.
fn say(text: &str) -> std::io::Result<()> {
    use std::io::Write;
    writeln!(std::io::stderr(), "{text}")
}
