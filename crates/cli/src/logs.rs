//! Log messages of a server while something is asked of it, on standard error.

use std::pin::pin;

use polyport::model::{LogParams, SetLevel, SetLevelParams, UnknownWord};
use polyport::serde::Deserialize;
use polyport::{Client, ClientError, Level, Raw};

use crate::{render, ui};

/// A notification, as far as it is read here.
#[derive(Deserialize)]
#[serde(crate = "polyport::serde")]
struct Note {
    method: String,
    params: Option<Raw>,
}

/// Reads a level.
pub(crate) fn level(text: &str) -> Result<Level, String> {
    text.parse().map_err(|error: UnknownWord| error.to_string())
}

/// Asks for messages of this level and above, where that is a request of its own. A server that does not log is not asked.
///
/// # Errors
/// The server refuses.
pub(crate) async fn ask(client: &Client, level: Level) -> Result<(), ClientError> {
    let opened = client.opened();
    let by_session = !opened.revision.profile().listens;
    if by_session && opened.capabilities.logging.is_some() {
        client
            .request::<SetLevel>(&SetLevelParams::new(level))
            .await?;
    }
    Ok(())
}

/// Says the messages that come until the answer does.
pub(crate) async fn said_until<T>(client: &Client, answer: impl Future<Output = T>) -> T {
    let mut answer = pin!(answer);
    loop {
        tokio::select! {
            // What came before the answer is said before it.
            biased;
            note = client.notification() => match note {
                Some(note) => say(&note),
                None => return answer.await,
            },
            answer = &mut answer => return answer,
        }
    }
}

fn say(note: &Raw) {
    let Ok(note) = note.decode::<Note>() else {
        return;
    };
    let params = note
        .params
        .filter(|_| note.method == "notifications/message");
    if let Some(log) = params.and_then(|params| params.decode::<LogParams>().ok()) {
        ui::clear_status();
        ui::note(&format!("{}\n", ui::one_line(&render::log(&log))));
    }
}
