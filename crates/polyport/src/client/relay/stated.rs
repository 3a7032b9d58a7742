//! What a modern server is told of the client for whom it is asked, as the last request said: most requests are of one client.

use std::sync::{Mutex, PoisonError};

use polyport_proto::{ClientFacts, Envelope, Revision};
use polyport_wire::Raw;

use super::super::answers;

/// The last client, and what is said of it.
#[derive(Default)]
pub(super) struct Stated(Mutex<Option<Known>>);

struct Known {
    client: ClientFacts,
    revision: Revision,
    tasks: bool,
    says: ClientFacts,
}

impl Stated {
    /// What is said of whoever asks. `tasks`: those of the server pass; `own`: what we answer ourselves.
    pub(super) fn of(
        &self,
        envelope: &Envelope,
        tasks: bool,
        own: impl FnOnce() -> Raw,
    ) -> ClientFacts {
        let (client, revision) = (envelope.client(), envelope.revision());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known
            && (known.revision, known.tasks) == (revision, tasks)
            && known.client.capabilities == client.capabilities
            && known.client.info == client.info
        {
            return known.says.clone();
        }
        let passed = client.passed_on(envelope.profile());
        let says = ClientFacts {
            info: passed.info,
            capabilities: answers::beside(&passed.capabilities, &own(), tasks),
        };
        *known = Some(Known {
            client: client.clone(),
            revision,
            tasks,
            says: says.clone(),
        });
        says
    }
}
