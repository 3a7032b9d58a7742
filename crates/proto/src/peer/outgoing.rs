//! The requests that we have sent to a legacy peer and that it has not answered. Not who waits for the answer.

use std::collections::HashMap;

use polyport_wire::{Malformed, Message, Raw, RequestId, write};

/// What a peer answered to a request of ours: the result, or its error object.
pub type Answer = Result<Raw, Raw>;

/// Requests by id; `Q` is what the driver keeps of each.
#[derive(Debug)]
pub(super) struct Outgoing<Q> {
    /// Ids are never used again in a session.
    last: i64,
    waiting: HashMap<RequestId, Q>,
}

impl<Q> Default for Outgoing<Q> {
    fn default() -> Self {
        Self {
            last: 0,
            waiting: HashMap::new(),
        }
    }
}

impl<Q> Outgoing<Q> {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn ask(&mut self, method: &str, params: Option<&str>, asker: Q, out: &mut Vec<u8>) {
        self.last += 1;
        let id = RequestId::Number(self.last);
        write::request(out, &id, method, params);
        self.waiting.insert(id, asker);
    }

    /// Who asked what is answered here, and the answer. None: we did not ask that, or no longer wait.
    pub(super) fn take(&mut self, mut message: Message) -> Option<(Q, Answer)> {
        let answer = match (message.result(), message.error()) {
            (Some(result), _) => Ok(result),
            (None, Some(error)) => Err(error),
            (None, None) => return None,
        };
        let id = message.take_id()?;
        Some((self.remove(&id)?, answer))
    }

    /// Was that meant as the answer to a request of ours?
    pub(super) fn is_answered_by(&self, malformed: &Malformed) -> bool {
        let id = malformed.id.as_ref().filter(|_| malformed.answer);
        id.is_some_and(|id| self.waiting.contains_key(id))
    }

    /// Who asked what is answered here.
    pub(super) fn take_answered_by(&mut self, malformed: &Malformed) -> Option<Q> {
        let id = malformed.id.as_ref().filter(|_| malformed.answer)?;
        self.remove(id)
    }

    fn remove(&mut self, id: &RequestId) -> Option<Q> {
        let asker = self.waiting.remove(id)?;
        if self.waiting.is_empty() {
            self.waiting = HashMap::new();
        }
        Some(asker)
    }

    /// Lets go of the requests for whose answer nobody waits; `told`: the peer hears of it.
    pub(super) fn forget(
        &mut self,
        unwanted: impl Fn(&Q) -> bool,
        told: impl Fn(&Q) -> bool,
        mut on: impl FnMut(Q, Vec<u8>),
    ) {
        let ids: Vec<_> = self
            .waiting
            .iter()
            .filter(|(_, asker)| unwanted(asker))
            .map(|(id, _)| id.clone())
            .collect();
        for id in ids {
            let Some(asker) = self.waiting.remove(&id) else {
                continue;
            };
            if told(&asker) {
                let mut params = b"{\"requestId\":".to_vec();
                id.write(&mut params);
                params.push(b'}');
                let mut out = Vec::new();
                let params = std::str::from_utf8(&params).ok();
                write::notification(&mut out, "notifications/cancelled", params);
                on(asker, out);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.waiting = HashMap::new();
    }
}
