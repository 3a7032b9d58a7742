//! Finds the way to a server and opens the conversation: a program that is started, an address, or a service in this process.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport_model::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult, ElicitUrlParams,
    Root, RpcError,
};
use polyport_proto::revision::Structured;
use polyport_proto::{ClientFacts, Era, Revision, Revisions};
use polyport_rt::{
    CallError, Caller, Child, Command, Offer, Opened, Patience, Service, Speaker, Tap, memory,
    stop, tapped,
};
use polyport_wire::Raw;
use serde_json::json;

use super::answers::{self, Answers, boxed};
use super::fresh::Fresh;
use super::outputs::Outputs;
use super::receiver::Receiver;
use super::room::Room;
use super::tasks::Supports;
use super::verdicts::{Remembering, ServerKey, VerdictStore};
use super::visits::Done;
use super::{Client, ClientError, Serving};

/// What a client says of itself unless told otherwise.
const NAME: &str = "polyport";
/// How long the end of a process is waited for after the end of its output.
const END: Duration = Duration::from_secs(1);
/// For the handshake of a server that is started a second time: whatever it installs is there by now.
const AGAIN: Duration = Duration::from_secs(10);

/// How a server is reached, and how it is spoken to.
#[derive(Clone, Debug)]
pub struct Connect {
    way: Way,
    speaks: Revisions,
    patience: Patience,
    info: String,
    answers: Answers,
    behalf: Option<ClientFacts>,
    is_shared: bool,
    looks_on: LooksOn,
    verdicts: Remembering,
    keeps: Keeps,
    idle: Option<Duration>,
    room: Option<Room>,
}

/// What a client keeps of what servers tell.
#[derive(Clone, Copy, Debug)]
struct Keeps {
    fresh: bool,
    outputs: bool,
}

/// Who looks on.
#[derive(Clone, Default)]
struct LooksOn(Option<Tap>);

impl fmt::Debug for LooksOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.is_some().fmt(f)
    }
}

#[derive(Clone, Debug)]
enum Way {
    Command(Command),
    Service(Box<Service>),
    #[cfg(feature = "http-client")]
    Http(polyport_http::client::Target),
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

    /// A server at an address, over Streamable HTTP or the older HTTP with SSE, whichever it speaks.
    #[cfg(feature = "http-client")]
    pub fn http(target: polyport_http::client::Target) -> Self {
        Self::to(Way::Http(target))
    }

    fn to(way: Way) -> Self {
        Self {
            way,
            speaks: Revisions::ALL,
            patience: Patience::default(),
            info: json!({"name": NAME, "version": env!("CARGO_PKG_VERSION")}).to_string(),
            answers: Answers::default(),
            behalf: None,
            is_shared: false,
            looks_on: LooksOn::default(),
            verdicts: Remembering::in_process(),
            keeps: Keeps {
                fresh: true,
                outputs: true,
            },
            idle: None,
            room: None,
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

    /// Answers forms that a server wants filled in (`elicitation/create`), in both eras. Default: such questions are not taken.
    #[must_use]
    pub fn on_form<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(ElicitFormParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ElicitResult> + Send + 'static,
    {
        self.answers.form = Some(boxed(function));
        self
    }

    /// Sends the user to pages that a server names (`elicitation/create` with a url). Accepting says that the user has agreed, not
    /// that all is done there. Default: such questions are not taken.
    ///
    /// A request that is refused until pages were visited (-32042 in 2025-11-25) sends the user there by the same function. Once he
    /// has agreed to all of them, it is sent once more: when the server tells that all is done there,
    /// [the user says so](Self::until_visited), or [the wait](Self::visiting) is over. Where he has not agreed, the error of the
    /// server names them ([`ClientError::pages`]). In 2026-07-28 pages are asked for with the other questions of a call, and nothing
    /// tells that all is done there: the call goes on when the user says so, and at once where nobody does.
    ///
    /// ```
    /// # use polyport::{Server, client::Connect, model::ElicitResult};
    /// # let server = Server::new("shop", "1");
    /// let connect = Connect::service(server.into_service()).on_page(|page| async move {
    ///     println!("{}\n  {}", page.message, page.url);
    ///     ElicitResult::accept(None)
    /// });
    /// # let _ = connect;
    /// ```
    #[must_use]
    pub fn on_page<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(ElicitUrlParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ElicitResult> + Send + 'static,
    {
        self.answers.page = Some(boxed(function));
        self
    }

    /// Resolves when the user says that all is done at these pages, which ends the wait before a request is sent once more; not every
    /// server tells, and of pages without an id none does. It is dropped when the wait ends otherwise. Default: nobody says it.
    #[must_use]
    pub fn until_visited<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(Vec<ElicitUrlParams>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.answers.visited = Some(boxed(function));
        self
    }

    /// How long it is waited at most for what the user does at pages, before a request is sent once more. Default: 5 minutes.
    #[must_use]
    pub fn visiting(mut self, wait: Duration) -> Self {
        self.answers.visiting = Some(wait);
        self
    }

    /// Asks a model for a server (`sampling/createMessage`). Default: such questions are not taken.
    #[must_use]
    pub fn on_sample<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(CreateMessageParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, RpcError>> + Send + 'static,
    {
        self.answers.sample = Some(boxed(function));
        self
    }

    /// The folders in which the client works (`roots/list`). Default: such questions are not taken.
    #[must_use]
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.answers.roots = Some(roots.into_iter().collect());
        self
    }

    /// Speaks for another client, which is asked what the server asks: see [`Relay`](super::Relay). Its name and its capabilities are
    /// declared to the server, beside those of the functions that answer here. Tasks of which it would be the receiver are not.
    #[must_use]
    pub fn on_behalf_of(mut self, client: ClientFacts) -> Self {
        self.behalf = Some(client);
        self
    }

    /// Clients that know nothing of each other share the connection, once it is passed on ([`Relay`](super::Relay)): its server can ask none
    /// of them anything, and what goes on there as a task is waited for, since others could look for it.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }

    /// How long nothing at all may come of a request that is passed on ([`Relay`](super::Relay)): neither its answer, nor progress, nor a
    /// question. Then it is cancelled at the server. Default: as long as whoever asks waits, an hour at most.
    #[must_use]
    pub fn idle(mut self, longest: Duration) -> Self {
        self.idle = Some(longest);
        self
    }

    /// Where it is remembered which era servers speak, so that the next connection to one need not ask. What is remembered is not
    /// used where [`speaks`](Self::speaks) leaves one era only, nor for a server in this process. Default: the
    /// [`MemoryVerdicts`](super::MemoryVerdicts) of this process.
    ///
    /// ```
    /// # use polyport::client::{Connect, MemoryVerdicts};
    /// # use polyport::Command;
    /// let verdicts = std::sync::Arc::new(MemoryVerdicts::default());
    /// let connect = Connect::command(Command::new("some-server")).verdicts(verdicts.clone());
    /// # let _ = connect;
    /// ```
    #[must_use]
    pub fn verdicts(mut self, store: Arc<dyn VerdictStore>) -> Self {
        self.verdicts = Remembering::by(store);
        self
    }

    /// Remembers nothing: the era is asked for, whatever is known.
    #[must_use]
    pub fn no_verdicts(mut self) -> Self {
        self.verdicts = Remembering::nowhere();
        self
    }

    /// Asks for lists and resources whenever they are wanted. Default: they are kept for as long as a modern server says that they are
    /// fresh (`ttlMs`), a day at most; 256 of them and 8 MiB in all. What it tells to have changed is asked for again. A client asks
    /// as one principal, so what is private is kept, too, and no other client gets it. Calls, raw requests and what needed answers
    /// on its way are never kept, nor is anything of a legacy server.
    #[must_use]
    pub fn no_cache(mut self) -> Self {
        self.keeps.fresh = false;
        self
    }

    /// Takes results of tools as they are. Default: [`Client::call_tool`] holds them to the output schema of the tool, if the tools
    /// have been listed.
    #[must_use]
    pub fn no_output_check(mut self) -> Self {
        self.keeps.outputs = false;
        self
    }

    /// Gives each message of the conversation to `tap`, as it was said, from the first one on. It is called where messages are read
    /// and written: it must not wait.
    #[must_use]
    pub fn tap(mut self, tap: impl Fn(Speaker, &[u8]) + Send + Sync + 'static) -> Self {
        self.looks_on = LooksOn(Some(Arc::new(tap)));
        self
    }

    /// How many connections that are made of this and its clones there may be at once. One more waits 2 s for another to end, and then
    /// fails with [`ClientError::NoRoom`]. Default: any number.
    #[must_use]
    pub fn at_most(mut self, most: usize) -> Self {
        self.room = Some(Room::new(most));
        self
    }

    /// Are there as many now as there may be?
    pub fn is_full(&self) -> bool {
        self.room.as_ref().is_some_and(Room::is_full)
    }

    /// Which server it is; none: one in this process.
    pub fn key(&self) -> Option<ServerKey> {
        match &self.way {
            Way::Command(command) => Some(ServerKey::of_command(command)),
            Way::Service(_) => None,
            #[cfg(feature = "http-client")]
            Way::Http(target) => Some(ServerKey::of_address(target)),
        }
    }

    /// Connects, in the newest revision that both speak.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn connect(mut self) -> Result<Client, ClientError> {
        match self.looks_on.0.take() {
            Some(tap) => tapped(tap, self.open()).await,
            None => self.open().await,
        }
    }

    async fn open(self) -> Result<Client, ClientError> {
        let (idle, is_shared, room) = (self.idle, self.is_shared, self.room.clone());
        let place = match room {
            Some(room) => Some(room.enter().await?),
            None => None,
        };
        let client = self.opened().await?;
        Ok(Client {
            idle,
            is_shared,
            place: Mutex::new(place),
            ..client
        })
    }

    async fn opened(self) -> Result<Client, ClientError> {
        let own = self.answers.capabilities();
        let behalf = self.behalf.as_ref().map(|client| ClientFacts {
            info: client.info.clone(),
            capabilities: answers::beside(&client.capabilities, &own, true),
        });
        let facts = match self.behalf {
            None => ClientFacts {
                info: Some(Raw::trusted(self.info)),
                capabilities: own,
            },
            Some(client) => ClientFacts {
                capabilities: answers::beside(&client.capabilities, &own, false),
                info: client.info.or_else(|| Some(Raw::trusted(self.info))),
            },
        };
        match self.way {
            Way::Service(service) => {
                let (stopper, stop) = stop::stop();
                let (stream, _serving) = memory::connect(*service, stop);
                let (reader, writer) = tokio::io::split(stream);
                let opened =
                    Caller::open(reader, writer, facts, self.speaks, self.patience).await?;
                let serving = Serving::Inside { _stopper: stopper };
                Ok(client(opened, serving, self.answers, self.keeps, behalf))
            }
            #[cfg(feature = "http-client")]
            Way::Http(target) => {
                let server = ServerKey::of_address(&target);
                let verdicts = self.verdicts.of(&server, self.speaks);
                let asked =
                    polyport_http::client::open(target, facts, verdicts.offer(), self.patience);
                let opened = verdicts.learn(asked.await.map_err(ClientError::from))?;
                let serving = Serving::Elsewhere;
                Ok(client(opened, serving, self.answers, self.keeps, behalf))
            }
            Way::Command(command) => {
                let server = ServerKey::of_command(&command);
                let verdicts = self.verdicts.of(&server, self.speaks);
                let started = run(&command, facts, verdicts.offer(), self.patience).await;
                let (opened, child) = match started {
                    Ok((opened, child)) => (verdicts.learn(Ok(opened))?, child),
                    Err(error) => return Err(verdicts.failed(error)),
                };
                let serving = Serving::Child(Box::new(child));
                Ok(client(opened, serving, self.answers, self.keeps, behalf))
            }
        }
    }
}

/// Starts a program; once more where it was perhaps what it was asked first that has ended it, or which it still chews on.
async fn run(
    command: &Command,
    facts: ClientFacts,
    offer: Offer,
    patience: Patience,
) -> Result<((Caller, Opened), Child), ClientError> {
    let started = start(command, facts.clone(), offer, patience).await;
    let is_legacy = |revision: Revision| revision.profile().era == Era::Legacy;
    let legacy = || Offer::from(offer.ours().only(Era::Legacy));
    let (next, patience) = match &started {
        Err(ClientError::Gone { .. }) if offer.known().is_some_and(is_legacy) => {
            // It may be another one by now.
            (offer.knowing(None), patience)
        }
        // Some servers die of a question before the handshake.
        Err(ClientError::Gone { .. }) if offer.is_both() => (legacy(), patience),
        Err(ClientError::TimedOut(_)) if offer.is_both() => {
            let handshake = patience.handshake.min(AGAIN);
            (
                legacy(),
                Patience {
                    handshake,
                    ..patience
                },
            )
        }
        _ => return started,
    };
    let again = start(command, facts, next, patience).await;
    let ((caller, mut opened), child) = match again {
        Err(ClientError::TimedOut(mut late)) => {
            started?;
            late.after = patience.handshake;
            return Err(ClientError::TimedOut(late));
        }
        again => again?,
    };
    opened.verdict = opened.verdict.or(Some(opened.revision));
    Ok(((caller, opened), child))
}

fn client(
    (caller, opened): (Caller, Opened),
    serving: Serving,
    answers: Answers,
    keeps: Keeps,
    behalf: Option<ClientFacts>,
) -> Client {
    let profile = opened.revision.profile();
    // In the legacy era nothing says for how long a result holds, nor whether its changes are told.
    let fresh = Arc::new(Fresh::new(keeps.fresh && profile.cache_hints));
    let is_structured = profile.structured != Structured::Absent;
    let done = Arc::new(Done::default());
    let (changes, visits) = (fresh.clone(), done.clone());
    caller.set_hearer(Arc::new(move |method, params| {
        changes.hear(method, params);
        visits.hear(method, params);
    }));
    let receiver = Receiver::new(answers.clone(), opened.revision);
    let answers_all = receiver.clone();
    caller.set_answerer(Arc::new(move |method, params| {
        answers_all.answer(method, params)
    }));
    #[cfg(feature = "http-client")]
    let has_headers = matches!(serving, Serving::Elsewhere);
    #[cfg(not(feature = "http-client"))]
    let has_headers = false;
    Client {
        answers,
        receiver,
        behalf,
        is_shared: false,
        idle: None,
        place: Mutex::default(),
        supports: Supports::default(),
        fresh,
        done,
        outputs: Outputs::new(keeps.outputs && is_structured),
        has_headers,
        caller,
        opened,
        server: tokio::sync::Mutex::new(serving),
    }
}

/// Starts a program and opens the conversation.
async fn start(
    command: &Command,
    facts: ClientFacts,
    offer: Offer,
    patience: Patience,
) -> Result<((Caller, Opened), Child), ClientError> {
    let (mut child, output, input) = command.start().map_err(|error| {
        let program = command.program().to_string_lossy().into_owned();
        ClientError::NotStarted { program, error }
    })?;
    match Caller::open(output, input, facts, offer, patience).await {
        Ok(opened) => Ok((opened, child)),
        Err(CallError::Closed) => Err(how_it_ended(&mut child).await),
        Err(CallError::TimedOut(late)) => {
            let late = late.of(child.running());
            child.end().await;
            Err(ClientError::TimedOut(late))
        }
        Err(error) => {
            child.end().await;
            Err(error.into())
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
