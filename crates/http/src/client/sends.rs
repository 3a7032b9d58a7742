//! What sends requests to a server, and why one got no answer.

use std::error::Error;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use polyport_rt::BoxFuture;

use crate::body::Body;

/// Connections that are kept although nothing is asked, and for how long.
pub(super) const IDLE: usize = 32;
pub(super) const IDLE_FOR: Duration = Duration::from_secs(60);

pub(super) trait Sends: Send + Sync {
    fn send(&self, request: Request<Body>) -> BoxFuture<Result<Response<Incoming>, Unsent>>;
}

/// Why a request got no answer.
pub(super) enum Unsent {
    /// There is no connection to send it on.
    NoConnection(Box<dyn Error + Send + Sync>),
    /// One broke, and it may have been sent.
    Broken(hyper::Error),
    /// One or the other, as the pool says.
    Pooled(legacy::Error),
}

impl Unsent {
    /// Has nothing of it been sent?
    pub(super) fn is_before(&self) -> bool {
        match self {
            Self::NoConnection(_) => true,
            Self::Broken(_) => false,
            Self::Pooled(error) => error.is_connect(),
        }
    }

    /// What went wrong.
    pub(super) fn cause(&self) -> &(dyn Error + 'static) {
        match self {
            Self::NoConnection(error) => &**error,
            Self::Broken(error) => error,
            Self::Pooled(error) => error,
        }
    }
}
