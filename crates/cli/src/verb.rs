//! What all verbs of the client side share: they connect, do their work, and close whatever came of it.

use std::process::ExitCode;

use polyport::Client;

use crate::failure::Failure;
use crate::progress;
use crate::runtime::{self, unless_interrupted};
use crate::server::Named;
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
    let step = format!("reaching {}", ui::tail(&shown, NAME));
    let ended = runtime::run(async move {
        let connecting = progress::shown_while(&step, named.connect());
        let client = unless_interrupted(connecting).await??;
        let worked = unless_interrupted(work(&client)).await;
        let closed = unless_interrupted(client.close()).await;
        let code = worked??;
        closed.map(|()| code)
    });
    ended.map_err(|failure| failure.at(&shown))
}
