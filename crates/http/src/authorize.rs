//! The hook that says who asks. An implementation proves it from the request's headers; this crate has none.

use std::sync::Arc;

use http::HeaderMap;
use polyport_proto::Principal;
use polyport_rt::BoxFuture;

/// Decides who a request comes from, before its body is read.
pub trait Authorize: Send + Sync + 'static {
    /// The principal, or what to answer. The headers are those of the request.
    fn authorize(&self, headers: &HeaderMap) -> BoxFuture<Result<Arc<Principal>, Challenge>>;
}

/// Why a request is not let in.
#[derive(Clone, Debug)]
pub struct Challenge {
    /// 401: nothing proven; 403: proven, but not enough.
    pub status: u16,
    /// The value of `WWW-Authenticate`.
    pub www_authenticate: String,
}
