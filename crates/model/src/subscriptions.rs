//! Owns subscriptions by `subscriptions/listen` (`basic/patterns/subscriptions`). Does not deliver.

use crate::shape::object;
use crate::{Object, ResultType};

/// What a client wants to hear of, or a server agreed to tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubscriptionFilter {
    /// The list of tools changed.
    pub tools_list_changed: Option<bool>,
    /// The list of prompts changed.
    pub prompts_list_changed: Option<bool>,
    /// The list of resources changed.
    pub resources_list_changed: Option<bool>,
    /// One of these resources changed.
    pub resource_subscriptions: Option<Vec<String>>,
    /// One of these tasks changed (tasks extension).
    pub task_ids: Option<Vec<String>>,
    /// Members unknown here.
    pub extra: Object,
}

object!(SubscriptionFilter {
    optional tools_list_changed "toolsListChanged",
    optional prompts_list_changed "promptsListChanged",
    optional resources_list_changed "resourcesListChanged",
    optional resource_subscriptions "resourceSubscriptions",
    optional task_ids "taskIds",
});

/// Params of `subscriptions/listen` and of `notifications/subscriptions/acknowledged`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListenParams {
    /// What to hear of.
    pub notifications: SubscriptionFilter,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ListenParams {
    required notifications "notifications",
    optional meta "_meta",
});

/// Result of `subscriptions/listen`: the server ended it. `_meta` names it, under
/// [`crate::META_SUBSCRIPTION_ID`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListenResult {
    /// The kind of result.
    pub result_type: Option<ResultType>,
    /// The `_meta` object.
    pub meta: Object,
    /// Members unknown here.
    pub extra: Object,
}

object!(ListenResult {
    optional result_type "resultType",
    required meta "_meta",
});
