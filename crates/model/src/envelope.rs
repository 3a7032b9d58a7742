//! Owns what surrounds every message's own content: the reserved `_meta` keys, `resultType`, and
//! params and results that have nothing else (`basic/index` §_meta). Does not decide which revision
//! wants which of them.

use crate::Object;
use crate::shape::object;
use crate::word::word;

/// In a request's `_meta`: the token under which progress is reported.
pub const META_PROGRESS_TOKEN: &str = "progressToken";
/// In a request's `_meta`: the revision it is written in.
pub const META_PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// In a request's `_meta`: who asks, an [`crate::Implementation`].
pub const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// In a request's `_meta`: what the asking side can do, a [`crate::ClientCapabilities`].
pub const META_CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// In a request's `_meta`: the least severe [`crate::Level`] of log messages wanted while it is
/// worked on.
pub const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// In a result's `_meta`: who answers, an [`crate::Implementation`].
pub const META_SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// In `_meta` of each notification and the result of a subscription: the id of the request that
/// opened it.
pub const META_SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// In `_meta` of what belongs to a core task: a [`crate::RelatedTask`].
pub const META_RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// In `_meta` of a created core task: a text for the model to go on with at once.
pub const META_MODEL_IMMEDIATE_RESPONSE: &str = "io.modelcontextprotocol/model-immediate-response";
/// In `_meta`: W3C trace context, the parent span.
pub const META_TRACEPARENT: &str = "traceparent";
/// In `_meta`: W3C trace context, vendor state.
pub const META_TRACESTATE: &str = "tracestate";
/// In `_meta`: W3C baggage.
pub const META_BAGGAGE: &str = "baggage";

/// How far a result goes.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum ResultType {
    /// The answer.
    Complete,
    /// Questions to be answered before there is an answer: [`crate::InputRequiredResult`].
    InputRequired,
    /// A task that will have the answer: [`crate::Task`].
    Task,
    /// A kind unknown here. Whoever did not ask for it must treat the result as invalid.
    Other(Box<str>),
}

word!(ResultType {
    Complete = "complete",
    InputRequired = "input_required",
    Task = "task",
} else Other);

/// Params of a request or notification that carries nothing but `_meta`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmptyParams {
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(EmptyParams {
    optional meta "_meta",
});

/// A result that says only that it was done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmptyResult {
    /// The kind of result; absent from legacy peers, and then `complete`.
    pub result_type: Option<ResultType>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(EmptyResult {
    optional result_type "resultType",
    optional meta "_meta",
});
