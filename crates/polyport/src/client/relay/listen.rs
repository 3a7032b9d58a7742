//! What clients want to hear of: asked of the server before it is promised to them.

use polyport_model::{SubscriptionFilter, method};
use polyport_proto::{Code, Outcome, RpcError};
use polyport_rt::listen::{honoured, wished};
use polyport_rt::{Call, Context};
use polyport_wire::{Params, Raw};

use super::super::ClientError;
use super::{Relay, words};

impl Relay {
    /// What of a wish to hear of changes is honoured: what the server says that it tells, and of single resources and tasks those that it
    /// has taken the subscription to.
    pub(super) async fn listen(&self, call: &Call) -> Outcome {
        let asked = match wished(&call.params) {
            Ok(asked) => asked,
            Err(error) => return Outcome::Failed(error),
        };
        let theirs = &self.0.client.opened().capabilities;
        let told = |changed: Option<bool>| changed == Some(true);
        let tools = theirs.tools.as_ref().and_then(|list| list.list_changed);
        let prompts = theirs.prompts.as_ref().and_then(|list| list.list_changed);
        let resources = theirs.resources.as_ref().and_then(|list| list.list_changed);
        let mut taken = Vec::new();
        if theirs.has_resource_subscriptions() {
            for uri in asked.resource_subscriptions.iter().flatten() {
                if self.hearing().subscribe(uri).await.is_ok() {
                    taken.push(uri.clone());
                }
            }
        }
        let tasks = match self.listen_to(&call.context, asked.task_ids).await {
            Ok(tasks) => tasks,
            Err(error) => return Outcome::Failed(error),
        };
        honoured(&SubscriptionFilter {
            tools_list_changed: asked.tools_list_changed.filter(|_| told(tools)),
            prompts_list_changed: asked.prompts_list_changed.filter(|_| told(prompts)),
            resources_list_changed: asked.resources_list_changed.filter(|_| told(resources)),
            resource_subscriptions: Some(taken).filter(|taken| !taken.is_empty()),
            task_ids: Some(tasks).filter(|tasks| !tasks.is_empty()),
            ..SubscriptionFilter::default()
        })
    }

    /// Has the server tell of those tasks that it shares with whoever asks; which of them it does.
    async fn listen_to(
        &self,
        context: &Context,
        asked: Option<Vec<String>>,
    ) -> Result<Vec<String>, RpcError> {
        let Some(ids) = asked.filter(|ids| !ids.is_empty()) else {
            return Ok(Vec::new());
        };
        if self.0.shares_tasks(context) {
            return Ok(self.listen_to_tasks(ids).await);
        }
        match self.no_tasks(context, method::SUBSCRIPTIONS_LISTEN) {
            undeclared if undeclared.code == Code::MissingCapability => Err(undeclared),
            _ => Ok(Vec::new()),
        }
    }

    /// Has the server tell of changes of these tasks, on the bus of the relay; of which of them it does.
    pub async fn listen_to_tasks(&self, ids: Vec<String>) -> Vec<String> {
        self.hearing().listen_to_tasks(ids).await
    }

    /// The same after a while in which changes may have been missed: what stands now is told.
    pub async fn listen_to_tasks_again(&self, ids: Vec<String>) {
        let told = self.listen_to_tasks(ids).await;
        self.0.look(&told).await;
    }

    /// Somebody begins, or the last one ends, to listen to a task, where the bus is not the relay's own.
    pub fn watch_task(&self, id: &str, on: bool) {
        self.hearing().watch_task(id, on);
    }

    /// Has the server tell of changes of a resource, on the bus of the relay.
    ///
    /// # Errors
    /// It does not take the subscription.
    pub async fn subscribe(&self, uri: &str) -> Result<(), ClientError> {
        self.hearing().subscribe(uri).await
    }

    /// Somebody begins, or the last one ends, to want to hear of changes of a resource, where the bus is not the relay's own.
    pub fn watch(&self, uri: &str, on: bool) {
        self.hearing().watch(uri, on);
    }

    pub(super) async fn take_subscription(&self, params: &Params) -> Outcome {
        if !self
            .0
            .client
            .opened()
            .capabilities
            .has_resource_subscriptions()
        {
            return Outcome::Failed(RpcError::method_not_found("resources/subscribe"));
        }
        let Some(uri) = params.uri() else {
            let why = "resources/subscribe: uri is missing or not a text";
            return Outcome::Failed(RpcError::invalid_params(why));
        };
        match self.hearing().subscribe(&uri).await {
            Ok(()) => Outcome::Complete(Raw::from_static("{}")),
            Err(error) => Outcome::Failed(words::failed(error, self.0.name.as_deref())),
        }
    }
}
