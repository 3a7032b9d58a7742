//! What may be subscribed to: the answers to `resources/subscribe` and `subscriptions/listen`. Who hears is the runtime's business.

use std::sync::Arc;

use polyport_model::SubscriptionFilter;
use polyport_proto::Outcome;
use polyport_rt::listen;
use polyport_wire::{Params, Raw};

use super::context::Cx;
use super::reply::fault_outcome;
use super::{Facts, tasks};
use crate::error::Fault;

impl Facts {
    /// A resource may be subscribed to when it can be read.
    pub(super) async fn subscribe(facts: Arc<Self>, cx: Cx, params: Params) -> Outcome {
        let uri = params.uri().unwrap_or_default().into_owned();
        match facts.may_subscribe(cx, &uri).await {
            Ok(true) => Outcome::Complete(Raw::from_static("{}")),
            Ok(false) => fault_outcome("resources/subscribe", Fault::not_found(&uri)),
            Err(fault) => fault_outcome("resources/subscribe", fault),
        }
    }

    /// What of a filter is honoured: the lists that are offered, the resources that there are.
    pub(super) async fn listen(facts: Arc<Self>, cx: Cx, params: Params) -> Outcome {
        let mut asked = match listen::wished(&params) {
            Ok(asked) => asked,
            Err(error) => return Outcome::Failed(error),
        };
        let tasks = asked.task_ids.take();
        let (declared, changes) = (facts.declared, facts.shared.may_change());
        let wanted = |asked: Option<bool>, offered: bool| asked.filter(|asked| *asked && offered);
        let mut honoured = SubscriptionFilter {
            tools_list_changed: wanted(asked.tools_list_changed, changes && declared.tools),
            prompts_list_changed: wanted(asked.prompts_list_changed, changes && declared.prompts),
            resources_list_changed: wanted(
                asked.resources_list_changed,
                changes && declared.resources,
            ),
            ..SubscriptionFilter::default()
        };
        if let Some((there, ids)) = facts.tasks.as_ref().zip(tasks) {
            if let Err(error) = tasks::check_declared(&cx) {
                return Outcome::Failed(error);
            }
            honoured.task_ids = Some(tasks::known(there, &cx, ids).await);
        }
        if let Some(uris) = asked.resource_subscriptions.filter(|_| changes) {
            let mut known = Vec::new();
            for uri in uris {
                match facts.may_subscribe(cx.clone(), &uri).await {
                    Ok(true) => known.push(uri),
                    Ok(false) => {}
                    // Why it is not there would find no place in the answer.
                    Err(fault) if fault.is_not_found() => {}
                    Err(fault) => return fault_outcome("subscriptions/listen", fault),
                }
            }
            honoured.resource_subscriptions = Some(known);
        }
        listen::honoured(&honoured)
    }

    async fn may_subscribe(&self, cx: Cx, uri: &str) -> Result<bool, Fault> {
        if self.catalogue().may_read(uri) {
            return Ok(true);
        }
        for source in &self.sources {
            if source.has(cx.clone(), uri.to_owned()).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
