//! A server from outside of any call: what it offers changes, a resource has changed, something is to be logged.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use polyport_model::Level;
use polyport_rt::Bus;
use serde::Serialize;

use super::catalogue::{Catalogue, Taken};
use super::prompts::Prompt;
use super::resources::{Resource, Template};
use super::tools::Tool;
use super::{Declared, Kind};

/// What all parts of a server share.
#[derive(Default)]
pub(crate) struct Shared {
    catalogue: RwLock<Arc<Catalogue>>,
    pub(crate) bus: Bus,
    /// Somebody holds a handle: lists may change, and clients are told that they are told.
    changes: AtomicBool,
    /// Of the server that is served.
    pub(crate) declared: OnceLock<Declared>,
}

impl Shared {
    /// What is offered now.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        let catalogue = self.catalogue.read();
        catalogue.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes what is offered; calls under way keep what they began with.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Catalogue) -> T) -> T {
        let mut catalogue = self
            .catalogue
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut catalogue))
    }

    /// Tells clients that a list has changed, where it was said to them that there is one.
    fn tell(&self, kind: Kind) {
        if self
            .declared
            .get()
            .is_none_or(|declared| declared.has(kind))
        {
            match kind {
                Kind::Tools => self.bus.tools_changed(),
                Kind::Prompts => self.bus.prompts_changed(),
                Kind::Resources => self.bus.resources_changed(),
            }
        }
    }

    pub(crate) fn may_change(&self) -> bool {
        self.changes.load(Ordering::Relaxed)
    }
}

/// A server from outside of any call: [`Server::handle`](crate::Server::handle). Cheap to clone, and usable before the server is
/// served and while it is.
///
/// Clients hear of each change once, however often it is told before they have taken it. What is added must be of a kind that the
/// server declared when it was served: one that it had then, or [`Server::offers`](crate::Server::offers).
///
/// A server that looks after what somebody wants to hear of, and nothing else:
///
/// ```
/// use std::collections::BTreeSet;
/// use std::sync::{Arc, Mutex, PoisonError};
/// use polyport::{Server, Watcher};
///
/// #[derive(Default)]
/// struct Wanted(Mutex<BTreeSet<String>>);
///
/// impl Watcher for Wanted {
///     fn watch(&self, uri: &str, on: bool) {
///         let mut wanted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
///         if on {
///             wanted.insert(uri.to_owned());
///         } else {
///             wanted.remove(uri);
///         }
///     }
/// }
///
/// let wanted = Arc::new(Wanted::default());
/// let server = Server::new("shop", "1.0.0").watcher(wanted.clone());
/// // A task that polls prices looks into `wanted`, and calls `handle.resource_updated(uri)` for what has changed.
/// let handle = server.handle();
/// ```
#[derive(Clone)]
pub struct ServerHandle(Arc<Shared>);

impl ServerHandle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        shared.changes.store(true, Ordering::Relaxed);
        Self(shared)
    }

    /// Offers one more tool.
    ///
    /// # Errors
    /// Its name is taken.
    ///
    /// # Panics
    /// Its schema is not one: a fault in the program.
    pub fn add_tool(&self, tool: Tool) -> Result<(), Taken> {
        let tool = tool.register();
        self.0.change(|catalogue| catalogue.add_tool(tool))?;
        self.0.tell(Kind::Tools);
        Ok(())
    }

    /// Offers a tool no more; calls of it that run may end. False: there was none.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = self.0.change(|catalogue| catalogue.remove_tool(name));
        if removed {
            self.0.tell(Kind::Tools);
        }
        removed
    }

    /// Offers one more prompt.
    ///
    /// # Errors
    /// Its name is taken.
    pub fn add_prompt(&self, prompt: Prompt) -> Result<(), Taken> {
        self.0.change(|catalogue| catalogue.add_prompt(prompt))?;
        self.0.tell(Kind::Prompts);
        Ok(())
    }

    /// Offers a prompt no more. False: there was none.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let removed = self.0.change(|catalogue| catalogue.remove_prompt(name));
        if removed {
            self.0.tell(Kind::Prompts);
        }
        removed
    }

    /// Offers one more resource.
    ///
    /// # Errors
    /// Its URI is taken.
    pub fn add_resource(&self, resource: Resource) -> Result<(), Taken> {
        self.0
            .change(|catalogue| catalogue.add_resource(resource))?;
        self.0.tell(Kind::Resources);
        Ok(())
    }

    /// Offers a resource no more. False: there was none.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let removed = self.0.change(|catalogue| catalogue.remove_resource(uri));
        if removed {
            self.0.tell(Kind::Resources);
        }
        removed
    }

    /// Offers one more template.
    ///
    /// # Errors
    /// There is one of the same form.
    pub fn add_template(&self, template: Template) -> Result<(), Taken> {
        self.0
            .change(|catalogue| catalogue.add_template(template))?;
        self.0.tell(Kind::Resources);
        Ok(())
    }

    /// Offers a template no more. False: there was none.
    pub fn remove_template(&self, uri_template: &str) -> bool {
        let removed = self
            .0
            .change(|catalogue| catalogue.remove_template(uri_template));
        if removed {
            self.0.tell(Kind::Resources);
        }
        removed
    }

    /// The list of resources has changed in a way that a [`ResourceSource`](crate::ResourceSource) knows.
    pub fn resources_changed(&self) {
        self.0.tell(Kind::Resources);
    }

    /// The contents of a resource have changed: those who subscribed to this URI are told.
    pub fn resource_updated(&self, uri: &str) {
        self.0.bus.updated(uri);
    }

    /// The page of this id is done: the same as [`Visit::done`](crate::Visit::done), for who has the id alone.
    pub fn elicitation_complete(&self, id: &str) -> bool {
        self.0.bus.visited(id)
    }

    /// Sends a log message to every legacy session that asked for this level. The modern era has logs of calls only: see
    /// [`Cx::log`](crate::Cx::log).
    pub fn log(&self, level: Level, data: impl Serialize) {
        if let Ok(data) = serde_json::to_string(&data) {
            self.0.bus.log(level, None, &data);
        }
    }

    /// Who listens, and to what; for figures, and for a [`Handler`](crate::Handler) of your own that stands around this server and
    /// passes its bus on.
    ///
    /// ```
    /// # use polyport::Server;
    /// let handle = Server::new("shop", "1.0.0").handle();
    /// assert_eq!(handle.bus().listeners(), 0); // clients that hear of changes
    /// assert_eq!(handle.bus().watched(), 0); // resources somebody is subscribed to
    /// ```
    pub fn bus(&self) -> &Bus {
        &self.0.bus
    }
}

impl ServerHandle {
    /// The same for a part of the server itself, which must not keep it alive.
    pub fn downgrade(&self) -> WeakServerHandle {
        WeakServerHandle(Arc::downgrade(&self.0))
    }
}

/// A [`ServerHandle`] that does not keep its server alive.
#[derive(Clone)]
pub struct WeakServerHandle(Weak<Shared>);

impl WeakServerHandle {
    /// The handle, while there is a server.
    pub fn upgrade(&self) -> Option<ServerHandle> {
        self.0.upgrade().map(ServerHandle)
    }
}

impl std::fmt::Debug for WeakServerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WeakServerHandle")
    }
}

impl std::fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerHandle")
            .field("bus", &self.0.bus)
            .finish_non_exhaustive()
    }
}
