//! What of all that somebody wants to hear a modern server says that it tells. D-19: for nothing else is it asked.

use polyport_model::{EXTENSION_TASKS, ServerCapabilities, SubscriptionFilter};

use super::Wanted;

/// What is asked for; none: there is nothing to ask for.
pub(super) fn filter(wanted: &Wanted, offered: &ServerCapabilities) -> Option<SubscriptionFilter> {
    let list = |told: Option<bool>| (wanted.lists && told == Some(true)).then_some(true);
    let resources = match offered.has_resource_subscriptions() {
        true => wanted.resources.clone(),
        false => Vec::new(),
    };
    let tasks = match offered.extension(EXTENSION_TASKS) {
        Some(_) => wanted.tasks.clone(),
        None => Vec::new(),
    };
    let tools = offered.tools.as_ref().and_then(|it| it.list_changed);
    let prompts = offered.prompts.as_ref().and_then(|it| it.list_changed);
    let listed = offered.resources.as_ref().and_then(|it| it.list_changed);
    let filter = SubscriptionFilter {
        tools_list_changed: list(tools),
        prompts_list_changed: list(prompts),
        resources_list_changed: list(listed),
        resource_subscriptions: Some(resources).filter(|uris| !uris.is_empty()),
        task_ids: Some(tasks).filter(|ids| !ids.is_empty()),
        ..SubscriptionFilter::default()
    };
    (filter != SubscriptionFilter::default()).then_some(filter)
}
