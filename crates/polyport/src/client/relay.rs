//! A connected client as a [`Handler`]: what it is asked, its server is asked, in whatever revision that speaks.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use polyport_model::{
    CODE_RESOURCE_NOT_FOUND, ListenParams, Object, RpcError as Refusal, SubscriptionFilter,
};
use polyport_proto::{Code, Outcome, RpcError};
use polyport_rt::{Bus, Call, Context, Handler, OnProgress, StartError, Wait};
use polyport_wire::{Params, Raw};
use serde_json::json;
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::changes::{Change, Wanted};
use super::{Client, ClientError};

/// Members of `_meta` that belong to one connection, and not to what is asked.
const PROTOCOL: &str = "io.modelcontextprotocol/";
/// How long a server may be silent about a call.
const IDLE: Duration = Duration::from_secs(300);
/// Before changes are listened to again, where the stream of them has ended.
const PAUSE: Duration = Duration::from_secs(5);

/// Answers requests by asking the server of a [`Client`].
///
/// Progress, errors with their codes and data, changes of lists, and cancellation pass through. Questions of the server are answered
/// by the functions of the client, not by whoever asks the relay. What is left out is not declared: subscriptions to single
/// resources, tasks, and extensions.
pub struct Relay {
    client: Arc<Client>,
    bus: Bus,
    hearing: Mutex<Option<AbortHandle>>,
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
        Relay {
            client: Arc::new(self),
            bus: Bus::new(),
            hearing: Mutex::default(),
        }
    }
}

impl Handler for Relay {
    async fn call(&self, call: Call) -> Outcome {
        match call.method {
            "server/discover" => return Outcome::Complete(self.discovered()),
            "subscriptions/listen" => return self.listen(&call.params),
            "resources/subscribe" | "resources/unsubscribe" => {
                return Outcome::Failed(RpcError::method_not_found(call.method));
            }
            _ => {}
        }
        let params = match own(&call.params) {
            Ok(params) => params,
            Err(error) => return Outcome::Failed(RpcError::invalid_params(error.to_string())),
        };
        let wait = Wait {
            idle: Some(IDLE),
            progress: hears(&call.context),
            ..Wait::default()
        };
        match self
            .client
            .request_raw(call.method, &params, Some(wait))
            .await
        {
            Ok(result) => complete(&result),
            Err(error) => Outcome::Failed(failed(error)),
        }
    }

    fn bus(&self) -> Option<Bus> {
        Some(self.bus.clone())
    }

    async fn start(&self) -> Result<(), StartError> {
        let hearing = tokio::spawn(hear(self.client.clone(), self.bus.clone()));
        let mut ours = self.hearing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = ours.replace(hearing.abort_handle()) {
            before.abort();
        }
        Ok(())
    }

    async fn shutdown(&self) {
        self.leave();
        self.client.finish().await;
    }
}

impl Relay {
    /// What the server has said of itself, as far as it holds behind us.
    fn discovered(&self) -> Raw {
        let opened = self.client.opened();
        let theirs = &opened.capabilities;
        let mut offers = json!({});
        for (name, list) in [("tools", &theirs.tools), ("prompts", &theirs.prompts)] {
            if let Some(list) = list {
                offers[name] = json!({"listChanged": list.list_changed == Some(true)});
            }
        }
        if let Some(resources) = &theirs.resources {
            offers["resources"] = json!({"listChanged": resources.list_changed == Some(true)});
        }
        if theirs.completions.is_some() {
            offers["completions"] = json!({});
        }
        let mut result = json!({"capabilities": offers});
        if let Some(instructions) = &opened.instructions {
            result["instructions"] = json!(instructions);
        }
        if let Some(server) = &opened.server {
            result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": server});
        }
        Raw::trusted(result.to_string())
    }

    /// What of a wish to hear of changes is honoured: the lists of which the server tells.
    fn listen(&self, params: &Params) -> Outcome {
        let asked = params.raw().map(|params| params.decode::<ListenParams>());
        let Some(Ok(ListenParams {
            notifications: asked,
            ..
        })) = asked
        else {
            let why = "subscriptions/listen: notifications are missing";
            return Outcome::Failed(RpcError::invalid_params(why));
        };
        let theirs = &self.client.opened().capabilities;
        let told = |changed: Option<bool>| changed == Some(true);
        let tools = theirs.tools.as_ref().and_then(|list| list.list_changed);
        let prompts = theirs.prompts.as_ref().and_then(|list| list.list_changed);
        let resources = theirs.resources.as_ref().and_then(|list| list.list_changed);
        let honoured = SubscriptionFilter {
            tools_list_changed: asked.tools_list_changed.filter(|_| told(tools)),
            prompts_list_changed: asked.prompts_list_changed.filter(|_| told(prompts)),
            resources_list_changed: asked.resources_list_changed.filter(|_| told(resources)),
            ..SubscriptionFilter::default()
        };
        Outcome::Complete(Raw::trusted(json!({"notifications": honoured}).to_string()))
    }

    fn leave(&self) {
        let mut hearing = self.hearing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hearing) = hearing.take() {
            hearing.abort();
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Relay").field(&self.client).finish()
    }
}

/// Passes on that lists change, as long as the server tells.
async fn hear(client: Arc<Client>, bus: Bus) {
    let wanted = Wanted {
        lists: true,
        ..Wanted::default()
    };
    loop {
        match client.changes(wanted.clone()).await {
            Ok(mut changes) => {
                while let Ok(Some(heard)) = changes.next().await {
                    match heard.change {
                        Change::Tools => bus.tools_changed(),
                        Change::Prompts => bus.prompts_changed(),
                        Change::Resources => bus.resources_changed(),
                        Change::Reopened => {
                            bus.tools_changed();
                            bus.prompts_changed();
                            bus.resources_changed();
                        }
                        _ => {}
                    }
                }
            }
            Err(error) => tracing::debug!(%error, "the server tells of no changes"),
        }
        if client.is_closed() {
            return;
        }
        sleep(PAUSE).await;
    }
}

/// The parameters without what belongs to the connection that they came over.
fn own(params: &Params) -> Result<String, serde_json::Error> {
    let Some(raw) = params.raw() else {
        return Ok("{}".to_owned());
    };
    let mut members: Object = raw.decode()?;
    if let Some(meta) = members.remove("_meta") {
        let meta: Object = meta.decode()?;
        let kept = meta.into_iter();
        let kept =
            kept.filter(|(name, _)| !name.starts_with(PROTOCOL) && **name != *"progressToken");
        let kept: Object = kept.collect();
        if !kept.is_empty() {
            members.encode("_meta", &kept)?;
        }
    }
    serde_json::to_string(&members)
}

/// A result without what its revision alone wants of it.
fn complete(result: &Raw) -> Outcome {
    let Ok(mut members) = result.decode::<Object>() else {
        return Outcome::Failed(RpcError::new(
            Code::Internal,
            "The server behind this one gave a result that is no object.",
        ));
    };
    if members.remove("resultType").is_none() {
        return Outcome::Complete(result.clone());
    }
    match Raw::encode(&members) {
        Ok(result) => Outcome::Complete(result),
        Err(_) => Outcome::Complete(result.clone()),
    }
}

fn hears(context: &Context) -> Option<OnProgress> {
    context.envelope().progress_token()?;
    let context = context.clone();
    Some(Arc::new(move |progress| {
        let total = progress.total.as_ref().and_then(|total| total.as_f64());
        context.progress(progress.value(), total, progress.message.as_deref());
    }))
}

/// The error of a server behind us, or what happened to it.
fn failed(error: ClientError) -> RpcError {
    let refused = match error {
        ClientError::Refused(refused) => refused,
        ClientError::NeedsInput(_) => {
            let why = "The server behind this one asks something that nobody here answers.";
            return RpcError::new(Code::Internal, why);
        }
        other => {
            tracing::warn!(error = %other, "the server behind this one does not answer");
            let why = "The server behind this one does not answer as it should; the log has more.";
            return RpcError::new(Code::Internal, why);
        }
    };
    let error = RpcError::new(code(&refused), refused.message);
    match refused.data {
        Some(data) => error.with_data(data),
        None => error,
    }
}

fn code(refused: &Refusal) -> Code {
    let names_uri = || {
        let data = refused.data.as_ref();
        let data = data.and_then(|data| data.decode::<Object>().ok());
        data.is_some_and(|data| data.contains("uri"))
    };
    let known = [
        Code::InvalidRequest,
        Code::MethodNotFound,
        Code::Internal,
        Code::MissingCapability,
    ];
    match refused.code {
        CODE_RESOURCE_NOT_FOUND => Code::ResourceMissing,
        code if code == Code::InvalidParams.number() => {
            // D-01.
            if names_uri() {
                Code::ResourceMissing
            } else {
                Code::InvalidParams
            }
        }
        number => {
            let known = known.into_iter().find(|code| code.number() == number);
            known.unwrap_or(Code::Other(number))
        }
    }
}
