//! A connected client as a [`Handler`]: what it is asked, its server is asked, in whatever revision that speaks.

mod ask;
mod calm;
mod hear;
mod listen;
mod marks;
mod pages;
mod park;
mod rounds;
mod stated;
mod words;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use polyport_model::method::TOOLS_LIST;
use polyport_model::{EXTENSION_TASKS, ServerCapabilities};
use polyport_proto::http::HeaderParam;
use polyport_proto::{ClientFacts, Code, Envelope, Era, Notice, Outcome, RpcError, TaskForm};
use polyport_rt::{
    Answerer, Bus, Call, Context, Handler, OnNote, OnProgress, StartError, Wait, Why,
};
use polyport_wire::{Message, Raw, write};
use serde_json::json;

use super::{Client, ClientError};
use ask::{Asking, Running, Waiting};
use hear::Hearing;
use marks::Marks;
use park::Parked;
use stated::Stated;

/// How long a server may take for a call. Whoever asks may give it up long before.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Answers requests by asking the server of a [`Client`].
///
/// Results, errors with their codes and data, progress, logs, changes, cancellation, tasks and questions pass through. Questions that
/// the client itself has functions for are answered by those; others go to whoever asks the relay, if the client was connected
/// [on their behalf](super::Connect::on_behalf_of), since a server asks only what its client has declared.
///
/// # Between the eras
/// A legacy server that asks in the middle of a call of a modern client waits with it: the call is parked, at most 256 of them for 10
/// minutes each, until the client brings the answers. A modern server that asks a legacy client is asked again with its answers. A
/// question that names no call, as over stdio, belongs to the call that runs; of several, to the one that began last after the others
/// had a second to end. A legacy server that refuses a call until its user has visited pages has a modern client asked to send him
/// there, which waits for at most 20 s for the server's word when it comes back ([`Connect::visiting`](super::Connect::visiting) says
/// otherwise). Tasks pass where both sides have them in the same form; else a call is waited for.
pub struct Relay(Arc<Shared>);

struct Shared {
    client: Client,
    /// By which whoever asks knows the server.
    name: Option<Arc<str>>,
    bus: Bus,
    /// The addresses under which clients see the server's resources, where these are others.
    shown: Option<Shown>,
    changed: Changed,
    running: Running,
    parked: Parked,
    hearing: OnceLock<Hearing>,
    marks: Marks,
    stated: Stated,
}

/// From the address that a server gives a resource to that under which clients see it.
pub type Shown = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// How often the lists of a server have changed since it was connected to, or may have.
#[derive(Debug, Default)]
pub struct Changed {
    /// That of tools.
    pub tools: AtomicU64,
    /// That of prompts.
    pub prompts: AtomicU64,
    /// Those of resources and of their templates.
    pub resources: AtomicU64,
}

impl Client {
    /// The same connection as a handler, to be served, routed to, or put behind layers.
    ///
    /// ```
    /// # use polyport::{Server, Service, client::Connect};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), polyport::ClientError> {
    /// # let server = Server::new("inner", "1").tool("hello", "Says hello.", |_cx, (): ()| async { Ok("hello") });
    /// let inner = Connect::service(server.into_service()).connect().await?;
    /// let outer = Connect::service(Service::new(inner.into_handler())).connect().await?;
    /// assert_eq!(outer.tools().await?[0].name, "hello");
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_handler(self) -> Relay {
        self.into_handler_on(None, Bus::new(), None)
    }

    /// The same where those who ask know the server by a name, listen on a bus that there is already, and may see resources under other
    /// addresses than the server's.
    pub fn into_handler_on(self, name: Option<Arc<str>>, bus: Bus, shown: Option<Shown>) -> Relay {
        let shared = Arc::new(Shared {
            client: self,
            name,
            bus,
            shown,
            changed: Changed::default(),
            running: Running::default(),
            parked: Parked::default(),
            hearing: OnceLock::new(),
            marks: Marks::default(),
            stated: Stated::default(),
        });
        let ours = Arc::downgrade(&shared);
        let receiver = shared.client.receiver.clone();
        let answerer: Answerer = Arc::new(move |method, params| {
            let Some(shared) = ours.upgrade() else {
                return receiver.answer(method, params);
            };
            if shared.answers_itself(method) {
                return receiver.answer(method, params);
            }
            let method = method.to_owned();
            Box::pin(async move { shared.running.ask(&method, params).await })
        });
        shared.client.caller.set_answerer(answerer);
        Relay(shared)
    }
}

impl Handler for Relay {
    async fn call(&self, call: Call) -> Outcome {
        let shared = &self.0;
        match call.method {
            "server/discover" => Outcome::Complete(shared.discovered(&call.context)),
            "subscriptions/listen" => self.listen(&call).await,
            "resources/subscribe" => self.take_subscription(&call.params).await,
            // The edge tells the bus, and that the server once nobody is left.
            "resources/unsubscribe" => Outcome::Complete(Raw::from_static("{}")),
            method if method.starts_with("tasks/") && !shared.shares_tasks(&call.context) => {
                Outcome::Failed(self.no_tasks(&call.context, method))
            }
            _ => {
                let context = call.context.clone();
                tokio::select! {
                    biased;
                    outcome = shared.clone().pass(call) => outcome,
                    // The server need not work on until the grace of calls of our own is over.
                    _ = context.cancelled() => Outcome::Failed(RpcError::new(Code::Internal, "cancelled")),
                }
            }
        }
    }

    fn notice(&self, notice: Notice) {
        let is_legacy = self.0.era() == Era::Legacy;
        if !is_legacy || notice.method != "notifications/roots/list_changed" {
            return;
        }
        let mut message = Vec::new();
        write::notification(&mut message, notice.method, notice.params.text());
        let shared = self.0.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let sent = shared.client.caller.send(message);
                let _ = tokio::time::timeout(shared.client.caller.patience(), sent).await;
            });
        }
    }

    fn bus(&self) -> Option<Bus> {
        Some(self.0.bus.clone())
    }

    fn header_params(&self, tool: &str, _: &Envelope) -> Option<Arc<[HeaderParam]>> {
        self.0.marks.of(tool)
    }

    async fn start(&self) -> Result<(), StartError> {
        self.hearing();
        Ok(())
    }

    async fn shutdown(&self) {
        self.0.parked.end();
        if let Some(hearing) = self.0.hearing.get() {
            hearing.end();
        }
        self.0.client.finish().await;
    }
}

impl Relay {
    /// Who hears of changes at the server; begun by the first who wants to know.
    fn hearing(&self) -> &Hearing {
        let shared = &self.0;
        shared.hearing.get_or_init(|| Hearing::begin(shared))
    }

    /// How often each list of the server has changed, as far as it has told.
    pub fn changed(&self) -> &Changed {
        &self.0.changed
    }

    /// Has the connection to the server ended?
    pub fn is_closed(&self) -> bool {
        self.0.client.is_closed()
    }

    /// Waits for that.
    pub async fn closed(&self) {
        self.0.client.caller.closed().await;
    }

    /// The client that asks the server.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// What the server offers whoever asks: tasks only where both have them in the same form.
    pub fn offers(&self, context: &Context) -> ServerCapabilities {
        self.0.offers(context)
    }

    /// The error of a request about tasks where the server and whoever asks share none.
    pub fn no_tasks(&self, context: &Context, method: &str) -> RpcError {
        let client = &self.0.client;
        let form = client.opened.revision.profile().tasks;
        let is_undeclared = form == TaskForm::Extension
            && context.envelope().profile().tasks == form
            && client.offers_tasks();
        if is_undeclared {
            let lacks = json!({"extensions": {EXTENSION_TASKS: {}}});
            return RpcError::missing_capability(&lacks.to_string());
        }
        RpcError::method_not_found(method)
    }
}

impl Shared {
    /// The era of the server.
    fn era(&self) -> Era {
        self.client.opened.revision.profile().era
    }

    /// Is that something the client has an answer to itself?
    fn answers_itself(&self, method: &str) -> bool {
        let profile = self.client.opened.revision.profile();
        self.client.is_shared
            || profile.question(method).is_none()
            || self.client.answers.has(method)
    }

    /// Do both sides have tasks, in the same form?
    fn shares_tasks(&self, context: &Context) -> bool {
        let theirs = self.client.opened.revision.profile().tasks;
        let offers = self.client.offers_tasks() && !self.client.is_shared;
        if !offers || theirs != context.envelope().profile().tasks {
            return false;
        }
        match theirs {
            TaskForm::Absent => false,
            TaskForm::Core => true,
            TaskForm::Extension => {
                let client = context.envelope().client().capabilities();
                client.extension(EXTENSION_TASKS).is_some()
            }
        }
    }

    /// What the server offers, as far as it holds for who asks.
    fn offers(&self, context: &Context) -> ServerCapabilities {
        let mut offers = self.client.opened().capabilities.clone();
        if !self.shares_tasks(context) {
            offers.tasks = None;
            if let Some(extensions) = &mut offers.extensions {
                extensions.remove(EXTENSION_TASKS);
            }
        }
        offers
    }

    /// What the server has said of itself, likewise.
    fn discovered(&self, context: &Context) -> Raw {
        let opened = self.client.opened();
        let offers = self.offers(context);
        let mut result = json!({"capabilities": offers});
        if let Some(instructions) = &opened.instructions {
            result["instructions"] = json!(instructions);
        }
        if let Some(server) = &opened.server {
            result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": server});
        }
        Raw::trusted(result.to_string())
    }

    /// Asks the server, and whoever asked if the server asks back.
    async fn pass(self: Arc<Self>, call: Call) -> Outcome {
        let context = &call.context;
        if context.may_ask()
            && context.envelope().profile().era == Era::Modern
            && self.era() == Era::Legacy
            && !context.in_task()
        {
            return pages::run(self, call).await;
        }
        let asking: Asking = Arc::new(Waiting(context.clone()));
        let _running = self.running.enter(context, asking.clone());
        pages::pass(&self, &call, asking).await
    }

    /// Asks the server; its questions go to `asking`.
    async fn request(&self, call: &Call, asking: Asking) -> Outcome {
        let context = &call.context;
        let mut params = words::own(&call.params, context, self.era());
        if let Some(state) = context.state().filter(|_| self.era() == Era::Modern) {
            match rounds::with_answers(&params, &state, context) {
                Ok(with) => params = with.into(),
                Err(error) => return Outcome::Failed(error),
            }
        }
        if let Some(level) = context.envelope().log_level()
            && self.era() == Era::Legacy
            && let Some(hearing) = self.hearing.get()
        {
            hearing.log(level).await;
        }
        let wait = Wait {
            idle: self.client.idle,
            total: Some(LONGEST),
            progress: hears(&asking),
            logs: context.envelope().log_level(),
            notes: Some(logs(&asking)),
            on_behalf_of: self.facts(context),
            answers: Some(self.answers(asking)),
            why: Some(given_up(context)),
        };
        let asked = if self.shares_tasks(context) {
            self.client
                .in_rounds(call.method, &params, Some(wait))
                .await
        } else {
            self.client
                .request_raw(call.method, &params, Some(wait))
                .await
        };
        match asked {
            Ok(result) => {
                if self.era() == Era::Modern {
                    rounds::end(context);
                }
                let without = (call.method == TOOLS_LIST)
                    .then(|| self.marks.note(&call.params, &result, &self.client));
                words::complete(&without.flatten().unwrap_or(result), context)
            }
            Err(ClientError::NeedsInput(needed)) if !self.client.is_shared => {
                rounds::needed(*needed, context)
            }
            Err(error) => Outcome::Failed(words::failed(error, self.name.as_deref())),
        }
    }

    /// For whom a request is made, as far as the server should know; none: for the client itself.
    fn facts(&self, context: &Context) -> Option<ClientFacts> {
        if self.client.behalf.is_none() || self.era() == Era::Legacy {
            return None;
        }
        let tasks = self.shares_tasks(context);
        Some(self.stated.of(context.envelope(), tasks, || {
            self.client.answers.capabilities()
        }))
    }

    /// Answers what the server asks on the stream of one call.
    fn answers(&self, asking: Asking) -> Answerer {
        let receiver = self.client.receiver.clone();
        let answers = self.client.answers.clone();
        let profile = self.client.opened.revision.profile();
        let is_shared = self.client.is_shared;
        Arc::new(move |method, params| {
            if is_shared || profile.question(method).is_none() || answers.has(method) {
                return receiver.answer(method, params);
            }
            asking.ask(method, params)
        })
    }
}

/// Why a call was given up, in the words of its client.
fn given_up(context: &Context) -> Why {
    let context = context.clone();
    Arc::new(move || context.cancel_words().map(str::to_owned))
}

/// Passes on progress to a call that wants it.
fn hears(asking: &Asking) -> Option<OnProgress> {
    let context = asking.context()?;
    context.envelope().progress_token()?;
    let asking = asking.clone();
    Some(Arc::new(move |progress| {
        if let Some(context) = asking.context() {
            let total = progress.total.as_ref().and_then(|total| total.as_f64());
            context.progress(progress.value(), total, progress.message.as_deref());
        }
    }))
}

/// Passes on the log messages on the stream of a call.
fn logs(asking: &Asking) -> OnNote {
    let asking = asking.clone();
    Arc::new(move |message: &Message| {
        if message.method() != "notifications/message" {
            return false;
        }
        if let Some(context) = asking.context() {
            hear::log_in(&context, message.params());
        }
        true
    })
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Relay").field(&self.0.client).finish()
    }
}
