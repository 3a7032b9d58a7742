//! How long a request may take, and who hears of what comes meanwhile.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use polyport_model::{Level, ProgressParams};
use polyport_proto::ClientFacts;
use polyport_wire::{Message, Raw};

use super::Answerer;

/// Hears each progress notification of a request. Called where messages are read: it must not wait.
pub type OnProgress = Arc<dyn Fn(ProgressParams) + Send + Sync>;

/// Hears each notification that is no progress, by its method and parameters, before anybody can take it. Called where messages are
/// read: it must not wait.
pub type OnNotification = Arc<dyn Fn(&str, Option<&Raw>) + Send + Sync>;

/// Hears each notification that comes on the stream of a request. True: nobody else need hear it. Called where messages are read: it
/// must not wait.
pub type OnNote = Arc<dyn Fn(&Message) -> bool + Send + Sync>;

/// The words with which a request is given up.
pub type Why = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// How long one request may take, who hears of it meanwhile, and for whom it is made.
#[derive(Clone, Default)]
pub struct Wait {
    /// How long nothing at all may come of it: neither its answer nor progress, which is asked for. None: as long as `total` lets it.
    pub idle: Option<Duration>,
    /// How long it may take, whatever comes meanwhile. None: without end.
    pub total: Option<Duration>,
    /// Some: progress is asked for, too.
    pub progress: Option<OnProgress>,
    /// Log messages of this level and above are asked for with it, in the era that asks so; they are notifications.
    pub logs: Option<Level>,
    /// Answers what the server asks on the stream of this request, in place of whoever answers the rest. Where all messages share one
    /// stream, none of them is on that of a request.
    pub answers: Option<Answerer>,
    /// Hears the notifications on that stream. Where all messages share one stream, it hears those while no other request does.
    pub notes: Option<OnNote>,
    /// Why it is given up, if it is: asked then, for the words with which the server is told.
    pub why: Option<Why>,
    /// For whom it is made, in the era in which each request says that. None: for the client of the connection.
    pub on_behalf_of: Option<ClientFacts>,
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("idle", &self.idle)
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}
