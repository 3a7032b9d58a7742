//! A connection that all clients share. What its server tells of its lists all of them hear; what it logs and what else it says outside
//! of calls is for none of them in particular, and nobody hears it.

use std::sync::{Arc, OnceLock, Weak};

use polyport::client::{Connect, Link};
use polyport::{Bus, Raw};
use polyport_model::SubscriptionFilter;
use polyport_proto::Limits;
use polyport_rt::{Alert, Listener};

/// Tells all clients that a list has changed.
pub(crate) trait All: Send + Sync + 'static {
    fn each(&self, tell: &dyn Fn(&Bus));
}

/// A connection that all clients share. Cheap to clone; clones are one.
#[derive(Clone)]
pub(crate) struct Common {
    link: Link,
    _listens: Arc<Listener>,
    _tells: Arc<Telling>,
}

struct Telling {
    all: Weak<dyn All>,
    listener: OnceLock<Weak<Listener>>,
}

impl Common {
    pub(crate) fn new(name: &str, connect: Connect, all: Weak<dyn All>) -> Self {
        let bus = Bus::new();
        let telling = Arc::new(Telling {
            all,
            listener: OnceLock::new(),
        });
        let filter = SubscriptionFilter {
            tools_list_changed: Some(true),
            prompts_list_changed: Some(true),
            resources_list_changed: Some(true),
            ..SubscriptionFilter::default()
        };
        let alert: Weak<dyn Alert> = Arc::downgrade(&telling) as Weak<Telling>;
        let id = Raw::from_static("0");
        let listener = bus
            .listen_filter(&filter, id, alert, &Arc::new(Limits::default()))
            .expect("no single resource is listened to");
        let _ = telling.listener.set(Arc::downgrade(&listener));
        Self {
            link: Link::on_bus(name, connect.shared(), bus, None),
            _listens: listener,
            _tells: telling,
        }
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }
}

impl Alert for Telling {
    fn alert(&self) {
        let listener = self.listener.get().and_then(Weak::upgrade);
        let (Some(listener), Some(all)) = (listener, self.all.upgrade()) else {
            return;
        };
        for message in listener.take() {
            let message = String::from_utf8_lossy(&message);
            let tell = if message.contains("notifications/tools/") {
                Bus::tools_changed
            } else if message.contains("notifications/prompts/") {
                Bus::prompts_changed
            } else {
                Bus::resources_changed
            };
            all.each(&tell);
        }
    }
}

impl std::fmt::Debug for Common {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.link.fmt(f)
    }
}
