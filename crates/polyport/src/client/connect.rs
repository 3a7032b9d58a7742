//! Finds the way to a server and opens the conversation: a program that is started, or a service in this process.

use std::time::Duration;

use polyport_proto::{ClientFacts, Era, Revisions};
use polyport_rt::{CallError, Caller, Child, Command, Opened, Patience, Service, memory, stop};
use polyport_wire::Raw;
use serde_json::json;

use super::{Client, ClientError, Serving};

/// What a client says of itself unless told otherwise.
const NAME: &str = "polyport";
/// How long the end of a process is waited for after the end of its output.
const END: Duration = Duration::from_secs(1);

/// How a server is reached, and how it is spoken to.
#[derive(Debug)]
pub struct Connect {
    way: Way,
    speaks: Revisions,
    patience: Patience,
    info: String,
}

#[derive(Debug)]
enum Way {
    Command(Command),
    Service(Box<Service>),
}

impl Connect {
    /// A server that is started as a child and spoken to over its standard input and output.
    pub fn command(command: Command) -> Self {
        Self::to(Way::Command(command))
    }

    /// A server in this process.
    pub fn service(service: Service) -> Self {
        Self::to(Way::Service(Box::new(service)))
    }

    fn to(way: Way) -> Self {
        Self {
            way,
            speaks: Revisions::ALL,
            patience: Patience::default(),
            info: json!({"name": NAME, "version": env!("CARGO_PKG_VERSION")}).to_string(),
        }
    }

    /// Speaks only these revisions. Default: all.
    #[must_use]
    pub fn speaks(mut self, revisions: Revisions) -> Self {
        self.speaks = revisions;
        self
    }

    /// How long is waited for. Default: [`Patience::default`].
    #[must_use]
    pub fn patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Who the client is, by name and version. Default: Polyport.
    #[must_use]
    pub fn named(mut self, name: &str, version: &str) -> Self {
        self.info = json!({"name": name, "version": version}).to_string();
        self
    }

    /// Connects, in the newest revision that both speak.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn connect(self) -> Result<Client, ClientError> {
        let facts = ClientFacts {
            info: Some(Raw::trusted(self.info)),
            // What nobody here answers is not declared.
            capabilities: Raw::from_static("{}"),
        };
        match self.way {
            Way::Service(service) => {
                let (stopper, stop) = stop::stop();
                let (stream, _serving) = memory::connect(*service, stop);
                let (reader, writer) = tokio::io::split(stream);
                let opened =
                    Caller::open(reader, writer, facts, self.speaks, self.patience).await?;
                Ok(client(opened, Serving::Inside { _stopper: stopper }))
            }
            Way::Command(command) => {
                match start(&command, facts.clone(), self.speaks, self.patience).await {
                    // Some servers die of a question before the handshake.
                    Err((ClientError::Gone { .. }, true)) => {
                        let legacy = self.speaks.only(Era::Legacy);
                        let again = start(&command, facts, legacy, self.patience).await;
                        again.map_err(|(error, _)| error)
                    }
                    other => other.map_err(|(error, _)| error),
                }
            }
        }
    }
}

fn client((caller, opened): (Caller, Opened), serving: Serving) -> Client {
    Client {
        caller,
        opened,
        server: tokio::sync::Mutex::new(serving),
    }
}

/// Starts a program and opens the conversation. With an error: might it have been the question about the era?
async fn start(
    command: &Command,
    facts: ClientFacts,
    speaks: Revisions,
    patience: Patience,
) -> Result<Client, (ClientError, bool)> {
    let (mut child, output, input) = command.start().map_err(|error| {
        let program = command.program().to_string_lossy().into_owned();
        (ClientError::NotStarted { program, error }, false)
    })?;
    let is_both = [Era::Modern, Era::Legacy]
        .into_iter()
        .all(|era| speaks.only(era) != Revisions::NONE);
    match Caller::open(output, input, facts, speaks, patience).await {
        Ok(opened) => Ok(client(opened, Serving::Child(Box::new(child)))),
        Err(CallError::Closed) => Err((how_it_ended(&mut child).await, is_both)),
        Err(error) => {
            child.end().await;
            Err((error.into(), false))
        }
    }
}

/// Says how a child ended whose output has ended.
pub(super) async fn how_it_ended(child: &mut Child) -> ClientError {
    let status = tokio::time::timeout(END, child.wait()).await;
    ClientError::Gone {
        status: status.ok().and_then(Result::ok),
        said: child.said(),
    }
}
