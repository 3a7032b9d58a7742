//! Pages that one session was sent to and that are not done, and those whose end is to be said. Each end is said once.

use std::collections::VecDeque;

use polyport_model::method;
use polyport_wire::write;

use crate::said::notification;

/// Pages of one session.
#[derive(Debug, Default)]
pub(super) struct Visits {
    /// Asked for and not done, the oldest first.
    open: VecDeque<String>,
    /// Done, and not said yet.
    done: VecDeque<String>,
}

impl Visits {
    /// The client has been sent to this page. Beyond `max` the oldest is forgotten.
    pub(super) fn begin(&mut self, id: &str, max: usize) {
        if !self.open.iter().any(|open| open == id) {
            self.open.push_back(id.to_owned());
        }
        while self.open.len() > max {
            self.open.pop_front();
        }
    }

    /// False: it was never asked for, is done already, or has been forgotten.
    pub(super) fn end(&mut self, id: &str) -> bool {
        let at = self.open.iter().position(|open| open == id);
        at.and_then(|at| self.open.remove(at)).is_some()
    }

    /// It is to be said that this one is done. Beyond `max`, for a client that takes nothing, the oldest is left out.
    pub(super) fn tell(&mut self, id: &str, max: usize) {
        self.done.push_back(id.to_owned());
        while self.done.len() > max {
            self.done.pop_front();
        }
    }

    /// What is to be said, as messages.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Vec<u8>> {
        self.done.drain(..).map(|id| {
            let method = method::NOTIFICATIONS_ELICITATION_COMPLETE;
            notification(method, &named(&id))
        })
    }
}

/// The parameters of that word.
pub(crate) fn named(id: &str) -> Vec<u8> {
    let mut params = b"{\"elicitationId\":".to_vec();
    write::string(&mut params, id);
    params.push(b'}');
    params
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_done_once_and_bounded() {
        let mut visits = Visits::default();
        for n in 0..10 {
            visits.begin(&n.to_string(), 4);
            visits.begin(&n.to_string(), 4);
        }
        assert!(!visits.end("5"), "forgotten");
        for n in 6..10 {
            assert!(visits.end(&n.to_string()));
            assert!(!visits.end(&n.to_string()), "once");
            visits.tell(&n.to_string(), 3);
        }
        let told: Vec<_> = visits
            .take()
            .map(|m| String::from_utf8(m).unwrap())
            .collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].contains("{\"elicitationId\":\"7\"}"), "{told:?}");
        assert_eq!(visits.take().count(), 0);
    }
}
