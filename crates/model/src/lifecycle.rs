//! Owns how two peers meet: `initialize` (`basic/lifecycle`) and `server/discover`
//! (`server/discover`). Does not choose a revision.

use crate::shape::object;
use crate::{
    CacheScope, ClientCapabilities, Implementation, Object, ResultType, ServerCapabilities, Ttl,
};

/// Params of `initialize`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InitializeParams {
    /// The revision the client would like to speak.
    pub protocol_version: String,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Who the client is.
    pub client_info: Implementation,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(InitializeParams {
    required protocol_version "protocolVersion",
    required capabilities "capabilities",
    required client_info "clientInfo",
    optional meta "_meta",
});

/// Result of `initialize`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InitializeResult {
    /// The revision the server will speak.
    pub protocol_version: String,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// Who the server is.
    pub server_info: Implementation,
    /// How to use the server, for the model.
    pub instructions: Option<String>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(InitializeResult {
    required protocol_version "protocolVersion",
    required capabilities "capabilities",
    required server_info "serverInfo",
    optional instructions "instructions",
    optional meta "_meta",
});

/// Result of `server/discover`. Who the server is stands in `_meta`, under
/// [`crate::META_SERVER_INFO`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiscoverResult {
    /// The kind of result.
    pub result_type: Option<ResultType>,
    /// The revisions the server speaks.
    pub supported_versions: Vec<String>,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// How to use the server, for the model.
    pub instructions: Option<String>,
    /// For how long this stays fresh.
    pub ttl_ms: Option<Ttl>,
    /// Who may be given it from a cache; absent means private.
    pub cache_scope: Option<CacheScope>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(DiscoverResult {
    optional result_type "resultType",
    required supported_versions "supportedVersions",
    required capabilities "capabilities",
    optional instructions "instructions",
    optional ttl_ms "ttlMs",
    optional cache_scope "cacheScope",
    optional meta "_meta",
});
