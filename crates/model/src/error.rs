//! Owns the error object of a failed request, the codes the protocol adds to JSON-RPC, and what
//! their `data` holds (`basic/index` §Error Codes). The code for a page to visit is in
//! `elicitation.rs`. Does not decide which revision uses which of them.

use std::fmt;

use polyport_wire::Raw;

use crate::shape::object;
use crate::{ClientCapabilities, Object};

/// Why a request failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RpcError {
    /// The kind of failure.
    pub code: i32,
    /// What went wrong, in a sentence.
    pub message: String,
    /// More about it: any JSON value. JSON null is a value, distinct from absence.
    pub data: Option<Raw>,
    /// Members unknown here.
    pub extra: Object,
}

object!(RpcError {
    required code "code",
    required message "message",
    nullable data "data",
});

impl RpcError {
    /// A failure of this kind.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            ..Self::default()
        }
    }

    /// The same with more about it.
    #[must_use]
    pub fn with_data(self, data: Raw) -> Self {
        Self {
            data: Some(data),
            ..self
        }
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for RpcError {}

/// HTTP headers and body disagree, or a header is missing.
pub const CODE_HEADER_MISMATCH: i32 = -32020;
/// The request needs a capability the client did not declare; `data` is a
/// [`MissingCapabilityData`].
pub const CODE_MISSING_CLIENT_CAPABILITY: i32 = -32021;
/// The revision is not spoken here; `data` is an [`UnsupportedVersionData`].
pub const CODE_UNSUPPORTED_VERSION: i32 = -32022;
/// There is no such resource (legacy; later the code for bad params).
pub const CODE_RESOURCE_NOT_FOUND: i32 = -32002;
/// The user refused (legacy sampling).
pub const CODE_USER_REJECTED: i32 = -1;

/// `data` of [`CODE_MISSING_CLIENT_CAPABILITY`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MissingCapabilityData {
    /// What the client would have to declare.
    pub required_capabilities: ClientCapabilities,
    /// Members unknown here.
    pub extra: Object,
}

object!(MissingCapabilityData {
    required required_capabilities "requiredCapabilities",
});

/// `data` of [`CODE_UNSUPPORTED_VERSION`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnsupportedVersionData {
    /// The revisions spoken here.
    pub supported: Vec<String>,
    /// The one that was asked for.
    pub requested: String,
    /// Members unknown here.
    pub extra: Object,
}

object!(UnsupportedVersionData {
    required supported "supported",
    required requested "requested",
});
