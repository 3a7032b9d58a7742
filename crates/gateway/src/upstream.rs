//! A server behind the gateway, as it was named; and what all clients have in common.

use polyport::client::Connect;

use crate::names::Prefix;

/// A server behind a gateway.
#[derive(Clone, Debug)]
pub struct Upstream {
    pub(crate) name: String,
    pub(crate) connect: Connect,
}

impl Upstream {
    /// A server under a name, and how it is reached. Each client of the gateway has a connection of its own, which is made when the client
    /// comes.
    pub fn new(name: impl Into<String>, connect: Connect) -> Self {
        Self {
            name: name.into(),
            connect,
        }
    }
}

/// What all clients have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) upstreams: Vec<Upstream>,
    pub(crate) prefix: Prefix,
}

impl Shared {
    pub(crate) fn names(&self) -> Vec<&str> {
        let each = self.upstreams.iter();
        each.map(|upstream| &*upstream.name).collect()
    }
}
