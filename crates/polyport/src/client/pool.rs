//! Servers under names, each with a link of its own: what a host or a gateway keeps.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::link::{Health, Link, LinkError};
use super::{Connect, Relay};

/// Named servers, each connected to when it is first needed, and again after it has ended. One that is down changes nothing for the
/// others.
///
/// ```
/// # use polyport::{Server, client::{Connect, Pool}};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = |name| Server::new(name, "1").tool("hello", "Says hello.", |_cx, (): ()| async { Ok("hello") }).into_service();
/// let pool = Pool::new();
/// pool.add("one", Connect::service(server("one")));
/// pool.add("two", Connect::service(server("two")));
/// let one = pool.open("one").await?;
/// assert_eq!(one.client().opened().server.as_ref().unwrap().name, "one");
/// assert_eq!(pool.health().len(), 2);
/// pool.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Pool(RwLock<BTreeMap<String, Link>>);

/// Why a pool has no connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PoolError {
    /// There is no server of that name.
    Unknown(String),
    /// There is none now.
    Link {
        /// The name of the server.
        name: String,
        /// Why.
        error: LinkError,
    },
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "there is no server named {name:?}"),
            Self::Link { name, error } => write!(f, "{name}: {error}"),
        }
    }
}

impl std::error::Error for PoolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unknown(_) => None,
            Self::Link { error, .. } => Some(error),
        }
    }
}

impl Pool {
    /// A pool without servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a server; nobody is connected to yet. False: that name is taken, and nothing changes.
    pub fn add(&self, name: impl Into<String>, connect: Connect) -> bool {
        let mut links = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let entry = links.entry(name.into());
        let is_free = matches!(entry, std::collections::btree_map::Entry::Vacant(_));
        entry.or_insert_with(|| Link::new(connect));
        is_free
    }

    /// Takes a server out and ends its connection. False: there was none of that name.
    pub async fn remove(&self, name: &str) -> bool {
        let link = {
            let mut links = self.0.write().unwrap_or_else(PoisonError::into_inner);
            links.remove(name)
        };
        match link {
            Some(link) => {
                link.close().await;
                true
            }
            None => false,
        }
    }

    /// The connection to a server; made now if there is none.
    ///
    /// # Errors
    /// [`PoolError`].
    pub async fn open(&self, name: &str) -> Result<Arc<Relay>, PoolError> {
        let link = self.link(name);
        let link = link.ok_or_else(|| PoolError::Unknown(name.to_owned()))?;
        let opened = link.open().await;
        opened.map_err(|error| PoolError::Link {
            name: name.to_owned(),
            error,
        })
    }

    /// The link to a server.
    pub fn link(&self, name: &str) -> Option<Link> {
        let links = self.0.read().unwrap_or_else(PoisonError::into_inner);
        links.get(name).cloned()
    }

    /// How each server is, by name.
    pub fn health(&self) -> Vec<(String, Health)> {
        let links = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let each = links.iter();
        each.map(|(name, link)| (name.clone(), link.health()))
            .collect()
    }

    /// Ends all connections, side by side.
    pub async fn close(&self) {
        let links = {
            let mut links = self.0.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *links)
        };
        let mut closing = tokio::task::JoinSet::new();
        for (_, link) in links {
            closing.spawn(async move { link.close().await });
        }
        closing.join_all().await;
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.health()).finish()
    }
}
