//! The two ways in which a call can fail: so that the model is told ([`ToolError`]), or so that the client is ([`Fault`]).

use std::borrow::Cow;
use std::fmt;

use polyport_model::{Content, ElicitUrlParams, UrlElicitationData};
use polyport_proto::{Code, NeedInput, RpcError};
use polyport_wire::Raw;

use crate::ask::{AskError, Why};
use crate::server::result::ToolResult;

/// A protocol error: the request itself was wrong, or we failed. The client sees it; the model usually does not.
#[derive(Debug)]
pub struct Fault(pub(crate) FaultKind);

#[derive(Debug)]
pub(crate) enum FaultKind {
    Rpc(RpcError),
    /// The cause goes to the log, the client gets an id.
    Internal(String),
    /// The call is not over: it asks.
    NeedInput(NeedInput),
}

impl Fault {
    /// An error with a code of your own. It must lie outside -32768..-32000, which the protocol keeps to itself; inside it, debug
    /// builds panic and release builds send -32603.
    pub fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        debug_assert!(
            !(-32768..=-32000).contains(&code),
            "the protocol keeps -32768..-32000 to itself: choose another code than {code}"
        );
        Self::rpc(RpcError::new(Code::Other(code), message))
    }

    /// The parameters are wrong (-32602).
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::rpc(RpcError::invalid_params(message))
    }

    /// No such resource: -32002 for legacy clients, -32602 for modern ones, with `data.uri`.
    pub fn not_found(uri: &str) -> Self {
        Self::rpc(RpcError::resource_not_found(uri))
    }

    /// The same in your own words.
    pub fn not_found_because(uri: &str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::rpc(RpcError::resource_error(uri, message))
    }

    pub(crate) fn is_not_found(&self) -> bool {
        matches!(&self.0, FaultKind::Rpc(error) if error.code == Code::ResourceMissing)
    }

    /// The client lacks a capability, as the object that it would have to declare, such as `json!({"sampling": {}})` (-32021 for
    /// modern clients).
    pub fn missing_capability(capability: &serde_json::Value) -> Self {
        Self::rpc(RpcError::missing_capability(&capability.to_string()))
    }

    /// The user must visit pages first, then the call may come again: see [`Cx::visit`](crate::Cx::visit).
    ///
    /// A client of 2025-11-25 gets -32042 with the pages and calls again when it has been told that they are done. One of 2026-07-28 is
    /// asked, and the function runs again: refusing once more ends the call with a sentence, so that nobody is sent twice. A legacy
    /// client that cannot be sent anywhere gets the addresses in a sentence, as the result of a tool or as -32602.
    ///
    /// # Panics
    /// In debug builds: there are no pages.
    pub fn visit_first(pages: impl IntoIterator<Item = ElicitUrlParams>) -> Self {
        let elicitations: Vec<_> = pages.into_iter().collect();
        debug_assert!(
            !elicitations.is_empty(),
            "a page is needed to send a user to"
        );
        let messages: Vec<_> = elicitations.iter().map(|page| &*page.message).collect();
        let message = messages.join(", ");
        let data = UrlElicitationData {
            elicitations,
            ..UrlElicitationData::default()
        };
        match Raw::encode(&data) {
            Ok(data) => Self::rpc(RpcError::new(Code::VisitFirst, message).with_data(data)),
            Err(error) => Self::internal(error),
        }
    }

    /// We failed. The client gets -32603 with an id; the log has the cause under that id.
    pub fn internal(cause: impl fmt::Display) -> Self {
        Self(FaultKind::Internal(cause.to_string()))
    }
}

impl Fault {
    /// No error: the call needs answers and runs again when they are there, in both eras. For functions that give back their questions
    /// instead of waiting for them; [`Cx::answered`](crate::Cx::answered) and [`Cx::state`](crate::Cx::state) have what came back.
    pub fn need_input(need: NeedInput) -> Self {
        Self(FaultKind::NeedInput(need))
    }

    /// The error of the protocol core as it is.
    pub(crate) fn rpc(error: RpcError) -> Self {
        Self(FaultKind::Rpc(error))
    }
}

/// What goes wrong inside is not the client's business: it gets an id, the log has the text. A question without an answer is the
/// client's business.
impl<E: std::error::Error + 'static> From<E> for Fault {
    fn from(error: E) -> Self {
        match as_ask_error(&error) {
            Some(no) => no.to_fault(),
            None => Self::internal(error),
        }
    }
}

impl AskError {
    /// As the error of a prompt or resource.
    fn to_fault(&self) -> Fault {
        match self.why() {
            Why::Unsupported(capability) if capability.starts_with('{') => {
                Fault::rpc(RpcError::missing_capability(capability))
            }
            Why::Internal(cause) => Fault(FaultKind::Internal(cause.clone())),
            _ => Fault::invalid_params(self.to_string()),
        }
    }

    /// As the end of a tool.
    fn to_tool_error(&self) -> ToolError {
        match self.why() {
            Why::Unsupported(capability) if capability.starts_with('{') => self.to_fault().into(),
            Why::Internal(_) => self.to_fault().into(),
            _ => ToolError(ToolErrorKind::Told(ToolResult::text(self.to_string()))),
        }
    }
}

fn as_ask_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a AskError> {
    error.downcast_ref()
}

/// Why a tool has no result.
///
/// Any [`std::error::Error`] becomes one by `?`: the model reads its text in an `isError` result. A [`Fault`] becomes one too:
/// the client gets the protocol error.
#[derive(Debug)]
pub struct ToolError(pub(crate) ToolErrorKind);

#[derive(Debug)]
pub(crate) enum ToolErrorKind {
    Told(ToolResult),
    Fault(Fault),
}

impl ToolError {
    /// Tells the model what went wrong and what to do.
    pub fn new(text: impl Into<String>) -> Self {
        Self(ToolErrorKind::Told(ToolResult::text(text)))
    }

    /// The same for an error that is no [`std::error::Error`], such as a boxed one: `.map_err(ToolError::from_display)?`.
    pub fn from_display(error: impl fmt::Display) -> Self {
        Self::new(error.to_string())
    }

    /// Tells it with more than a text.
    pub fn content(content: Vec<Content>) -> Self {
        Self(ToolErrorKind::Told(ToolResult::content(content)))
    }
}

impl<E: std::error::Error + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        match as_ask_error(&error) {
            Some(no) => no.to_tool_error(),
            None => Self::new(error.to_string()),
        }
    }
}

impl From<Fault> for ToolError {
    fn from(fault: Fault) -> Self {
        Self(ToolErrorKind::Fault(fault))
    }
}
