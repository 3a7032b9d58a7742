//! What all verbs of the client side share: they connect, do their work, and close whatever came of it.

use std::process::ExitCode;

use polyport::{Client, ClientError};

use crate::failure::Failure;
use crate::progress;
use crate::runtime::{self, unless_interrupted};
use crate::server::{self, Named};
use crate::ui;

/// Characters of a server's name in a line of status.
const NAME: usize = 40;

/// Connects to the server and works with it; Ctrl-C ends either, and tells the server.
///
/// # Errors
/// Those of the server, and of the work.
pub(crate) fn with(
    named: Named,
    work: impl AsyncFnOnce(&Client) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    let shown = named.shown.clone();
    let limit = named.limit;
    let step = format!("reaching {}", ui::tail(&shown, NAME));
    let ended = runtime::run(async {
        let connecting = progress::shown_while(&step, named.connect());
        let late = |error: ClientError| {
            ui::clear_status();
            server::failure(&error, &shown)
        };
        let connected = unless_interrupted(limit.holds(None, connecting)).await?;
        let client = connected.map_err(late)??;
        let worked = unless_interrupted(limit.holds(Some(&client), work(&client))).await;
        let closed = unless_interrupted(limit.parting(client.close())).await;
        let code = worked?.map_err(late)??;
        closed.map(|()| code)
    });
    ended.map_err(|failure| failure.at(&shown))
}
