//! What is put on a server as one: several parts that share a value.

use std::sync::Arc;

use super::Server;

/// Parts of a server that share one value, such as a connection pool. `#[polyport::parts]` on an `impl` block makes its type one;
/// by hand it is a function that adds what it likes.
///
/// ```
/// use std::sync::Arc;
/// use polyport::{Parts, Server};
///
/// struct Motto(&'static str);
///
/// impl Parts for Motto {
///     fn add_to(self: Arc<Self>, server: Server) -> Server {
///         server.tool("motto", "Says the motto.", move |_cx, (): ()| {
///             let motto = self.0;
///             async move { Ok(motto) }
///         })
///     }
/// }
///
/// let server = Server::new("school", "1.0").with(Motto("Sapere aude"));
/// # assert_eq!(server.counts(), (1, 0, 0));
/// ```
pub trait Parts: Send + Sync + 'static {
    /// Adds them all.
    fn add_to(self: Arc<Self>, server: Server) -> Server;
}

/// For who keeps a share of the value.
impl<P: Parts + ?Sized> Parts for Arc<P> {
    fn add_to(self: Arc<Self>, server: Server) -> Server {
        P::add_to(Self::clone(&self), server)
    }
}

impl Server {
    /// Adds the parts of a value, which all calls share; it may also be an [`Arc`].
    ///
    /// # Panics
    /// As [`add_tool`](Self::add_tool) and its kin do.
    #[must_use]
    pub fn with(self, parts: impl Parts) -> Self {
        Arc::new(parts).add_to(self)
    }
}
