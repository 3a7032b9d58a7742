//! How a call ends: a result or an error, in terms that no revision owns. Not how it is written: see the codecs.

use std::borrow::Cow;
use std::fmt;

use polyport_wire::Raw;

pub mod task;

use task::Task;

/// The end of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The result object, without `resultType`; the edge adds what its revision wants.
    Complete(Raw),
    /// A JSON-RPC error.
    Failed(RpcError),
    /// No end yet: it goes on when these questions have answers.
    NeedInput(NeedInput),
    /// No end yet: it goes on by itself, under an id by which it can be asked for.
    Task(Box<NewTask>),
    /// A result of another server with a `resultType` of its own, for a client of the modern era: it is written as it is.
    Passed(Raw),
}

/// What a call has become that goes on by itself.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// Where it stands at its beginning.
    pub task: Task,
    /// Members of `_meta`, ready text; empty: none.
    pub meta: String,
}

/// What a call asks instead of ending (2026-07-28, basic/patterns/mrtr). At least one of the two is there.
#[derive(Clone, Debug, Default)]
pub struct NeedInput {
    /// The questions; no key twice.
    pub questions: Vec<Question>,
    /// What comes back with the answers. From a handler: its own text, which nobody else can read or change; towards a client: that
    /// text sealed.
    pub state: Option<String>,
    /// Members of `_meta`, ready text; empty: none.
    pub meta: String,
}

impl From<RpcError> for Outcome {
    fn from(error: RpcError) -> Self {
        Self::Failed(error)
    }
}

/// One question. Its method is one of [`Profile::questions`](crate::Profile::questions); see [`question`](crate::question).
#[derive(Clone, Debug)]
pub struct Question {
    /// The name under which the answer comes back; its own within one call.
    pub key: String,
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: &'static str,
    /// Its parameters, an object.
    pub params: Option<Raw>,
    /// A server behind us asks it: whether that may offer tools or want context, the client judges itself, where its revision has these.
    pub is_passed_on: bool,
}

/// What kind of error it is. The number may depend on the revision: see [`Profile::code`](crate::Profile::code).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Code {
    /// -32700: the text is not JSON.
    Parse,
    /// -32600: the JSON is not a message we may be sent.
    InvalidRequest,
    /// -32601: no such method here.
    MethodNotFound,
    /// -32602: the parameters are wrong; also an unknown tool, prompt or cursor.
    InvalidParams,
    /// -32603: our fault; the cause is in our log under `data.errorId`.
    Internal,
    /// No such resource: -32002 in the legacy era, -32602 in the modern one.
    ResourceMissing,
    /// -32020: an HTTP header disagrees with the body.
    HeaderMismatch,
    /// -32021: the client did not declare a capability that this needs.
    MissingCapability,
    /// -32022: we do not speak that revision.
    UnsupportedVersion,
    /// -32042: the user must visit pages first, which the data names. One revision has it; who runs the call says it in the others.
    VisitFirst,
    /// A number of the author's own; outside -32768..-32000 (D-07).
    Other(i32),
    /// A number that another server has given. Those that the specification keeps for itself, and has not given a meaning here, become
    /// -32603.
    Passed(i32),
}

impl Code {
    /// The number where no revision differs; the modern one of [`Code::ResourceMissing`].
    pub const fn number(self) -> i32 {
        match self {
            Self::Parse => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams | Self::ResourceMissing => -32602,
            Self::Internal => -32603,
            Self::HeaderMismatch => -32020,
            Self::MissingCapability => -32021,
            Self::UnsupportedVersion => -32022,
            Self::VisitFirst => polyport_model::CODE_URL_ELICITATION_REQUIRED,
            Self::Other(n) | Self::Passed(n) => n,
        }
    }
}

/// A JSON-RPC error: what went wrong, for the one who asked.
#[derive(Clone, Debug)]
pub struct RpcError {
    /// What kind.
    pub code: Code,
    /// One sentence for a person: who erred and what to do.
    pub message: Cow<'static, str>,
    /// More, for a program.
    pub data: Option<Raw>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The same with data.
    #[must_use]
    pub fn with_data(mut self, data: Raw) -> Self {
        self.data = Some(data);
        self
    }

    /// The parameters are wrong (-32602).
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidParams, message)
    }

    /// No such method here (-32601).
    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            Code::MethodNotFound,
            format!("Method not found: {}", shorten(method)),
        )
    }

    /// No such resource; `data.uri` names it (server/resources, Error Handling).
    pub fn resource_not_found(uri: &str) -> Self {
        Self::resource_error(uri, "Resource not found")
    }

    /// The code of a missing resource with a sentence of the author's; `data.uri` names the resource.
    pub fn resource_error(uri: &str, message: impl Into<Cow<'static, str>>) -> Self {
        let mut data = Vec::with_capacity(uri.len() + 10);
        data.extend_from_slice(b"{\"uri\":");
        polyport_wire::write::string(&mut data, uri);
        data.push(b'}');
        Self::new(Code::ResourceMissing, message).with_data(Raw::trusted(data))
    }

    /// The client lacks a capability (-32021); `capability` is the JSON that it would have to declare.
    pub fn missing_capability(capability: &str) -> Self {
        let data = format!("{{\"requiredCapabilities\":{capability}}}");
        Self::new(
            Code::MissingCapability,
            format!("Missing required client capability: {capability}"),
        )
        .with_data(Raw::trusted(data.into_bytes()))
    }

    /// Our own fault; the log holds the cause under the same id (D-06).
    pub fn internal(error_id: &str) -> Self {
        let data = format!("{{\"errorId\":\"{error_id}\"}}");
        Self::new(Code::Internal, "Internal error").with_data(Raw::trusted(data.into_bytes()))
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code.number())
    }
}

impl std::error::Error for RpcError {}

/// A peer's text for our message: at most 80 characters of it, control characters left out.
pub fn shorten(text: &str) -> String {
    let clean: String = text.chars().filter(|c| !c.is_control()).take(81).collect();
    if clean.chars().count() > 80 {
        clean.chars().take(80).chain(['…']).collect()
    } else {
        clean
    }
}
