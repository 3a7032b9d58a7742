//! Which request goes to which part of a server that is served.

use std::future::ready;
use std::sync::Arc;

use polyport_proto::http::HeaderParam;
use polyport_proto::{Envelope, Notice, Outcome, RpcError};
use polyport_rt::{BoxFuture, Bus, Call, Handler, StartError};
use polyport_wire::{Params, Raw};

use super::context::Cx;
use super::hooks::Hooks;
use super::reply::{self, fault_outcome};
use super::session::Sessions;
use super::{Facts, complete, tasks, tools};
use crate::error::Fault;

/// A server as a handler.
#[derive(Debug)]
pub(crate) struct Running {
    pub(super) facts: Arc<Facts>,
    pub(super) hooks: Hooks,
    pub(super) sessions: Sessions,
}

impl Running {
    fn call_tool(self: &Arc<Self>, cx: Cx, params: Params) -> BoxFuture<Outcome> {
        let offers_tasks = self.facts.declared.tasks;
        let Some(name) = params.name() else {
            let outcome = fault_outcome(
                "tools/call",
                Fault::invalid_params("tools/call: name is missing or not a text"),
            );
            return Box::pin(ready(outcome));
        };
        match self.facts.catalogue().tool(&name) {
            Some(tool) if offers_tasks || tool.as_task.is_allowed() => {
                tasks::call(self.clone(), &self.facts, tool, cx, params)
            }
            Some(tool) => (tool.run)(self.facts.clone(), cx, params),
            None => Box::pin(ready(tools::unknown(&name))),
        }
    }

    fn get_prompt(&self, cx: Cx, params: Params) -> BoxFuture<Outcome> {
        let catalogue = self.facts.catalogue();
        let name = params.name();
        match name.as_deref().and_then(|name| catalogue.prompt(name)) {
            Some(prompt) => {
                let prompt = prompt.clone();
                drop(name);
                (prompt.run)(self.facts.clone(), cx, params)
            }
            None => {
                let why = name.map_or_else(
                    || "prompts/get: name is missing or not a text".to_owned(),
                    |name| {
                        format!(
                            "Unknown prompt: {}",
                            polyport_proto::outcome::shorten(&name)
                        )
                    },
                );
                Box::pin(ready(fault_outcome(
                    "prompts/get",
                    Fault::invalid_params(why),
                )))
            }
        }
    }
}

impl Handler for Running {
    async fn call(&self, call: Call) -> Outcome {
        let method = call.method;
        Outcome::Failed(RpcError::method_not_found(method))
    }

    fn call_boxed(self: Arc<Self>, call: Call) -> BoxFuture<Outcome> {
        let (cx, params) = (Cx(call.context), call.params);
        let facts = &self.facts;
        let offers = facts.declared;
        match call.method {
            "tools/call" if offers.tools => self.call_tool(cx, params),
            "server/discover" if self.sessions.opens(&cx) => Box::pin(async move {
                match self.sessions.open(cx.clone()).await {
                    Ok(()) => self.facts.discover(&cx),
                    Err(fault) => fault_outcome("initialize", fault),
                }
            }),
            "server/discover" => Box::pin(ready(facts.discover(&cx))),
            "tools/list" if offers.tools => Box::pin(ready(facts.list_tools(&cx, &params))),
            "prompts/list" if offers.prompts => Box::pin(ready(facts.list_prompts(&cx, &params))),
            "prompts/get" if offers.prompts => self.get_prompt(cx, params),
            "resources/list" if offers.resources => {
                Box::pin(Facts::list_resources(facts.clone(), cx, params))
            }
            "resources/templates/list" if offers.resources => {
                Box::pin(ready(facts.list_templates(&cx, &params)))
            }
            "resources/read" if offers.resources => {
                Box::pin(Facts::read(facts.clone(), cx, params))
            }
            "resources/subscribe" if offers.resources && facts.shared.may_change() => {
                Box::pin(Facts::subscribe(facts.clone(), cx, params))
            }
            "resources/unsubscribe" if offers.resources && facts.shared.may_change() => {
                Box::pin(ready(Outcome::Complete(Raw::from_static("{}"))))
            }
            "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result" | "tasks/list"
                if offers.tasks =>
            {
                Box::pin(tasks::answer(facts.clone(), cx, params))
            }
            "subscriptions/listen" if facts.shared.may_change() || offers.tasks => {
                Box::pin(Facts::listen(facts.clone(), cx, params))
            }
            "completion/complete" if offers.completions => {
                Box::pin(complete::complete(facts.clone(), cx, params))
            }
            method => Box::pin(ready(Outcome::Failed(RpcError::method_not_found(method)))),
        }
    }

    fn notice(&self, notice: Notice) {
        self.facts.notices.iter().for_each(|hear| hear(&notice));
    }

    fn bus(&self) -> Option<Bus> {
        Some(self.facts.shared.bus.clone())
    }

    fn result_meta(&self) -> String {
        format!("\"{}\":{}", reply::SERVER_INFO, self.facts.info)
    }

    fn header_params(&self, tool: &str, _: &Envelope) -> Option<Arc<[HeaderParam]>> {
        self.facts.catalogue().tool(tool)?.header_params.clone()
    }

    async fn start(&self) -> Result<(), StartError> {
        self.hooks.start().await
    }

    async fn shutdown(&self) {
        if let Some(tasks) = &self.facts.tasks {
            tasks.stop().await;
        }
        self.sessions.closed().await;
        self.hooks.shutdown().await;
    }
}
