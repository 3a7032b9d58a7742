//! Who owns the tasks of a call: a principal, or a session by an id that only this server knows.

use std::sync::Arc;

use super::Tasks;
use super::store::Owner;
use crate::context::Context;
use crate::random::{self, NoRandomness};

/// Under which id a session without a principal owns tasks.
struct SessionId([u8; 16]);

impl Tasks {
    /// To whom a task of this call belongs.
    pub(super) fn owner(&self, context: &Context) -> Result<Owner, NoRandomness> {
        if let Some(owner) = self.owner_of_old(context) {
            return Ok(owner);
        }
        let Some(session) = context.envelope().session() else {
            return Ok(Owner::Anyone);
        };
        let _naming = self.0.naming.lock();
        if let Some(owner) = self.owner_of_old(context) {
            return Ok(owner);
        }
        let mut id = [0; 16];
        random::fill(&mut id)?;
        let tasks = Arc::downgrade(&self.0);
        // Nobody can ask for them any more. Whoever ends a session need not do it within the runtime.
        let runtime = tokio::runtime::Handle::current();
        session.kept.keep(SessionId(id), move |id| {
            if let Some(tasks) = tasks.upgrade() {
                runtime.spawn(async move { tasks.abandon(&Owner::Session(id.0)).await });
            }
        });
        Ok(Owner::Session(id))
    }

    /// The same for who has tasks already; none: it has none.
    pub(super) fn owner_of_old(&self, context: &Context) -> Option<Owner> {
        let envelope = context.envelope();
        if let Some(principal) = envelope.principal() {
            return Some(Owner::Principal(principal.clone()));
        }
        match envelope.session() {
            Some(session) => Some(Owner::Session(session.kept.get::<SessionId>()?.0)),
            None => Some(Owner::Anyone),
        }
    }
}
