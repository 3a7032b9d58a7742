//! How calls speak into their stream: what they say meanwhile, what they ask, what they hear.

use std::sync::Arc;
use std::time::Duration;

use polyport_rt::{Alert, Asked, Context, Listener, NoAnswer, Outlet};

use crate::exchange::{Event, Exchange, wake};

impl Alert for Exchange {
    fn alert(&self) {
        self.wake();
    }
}

impl Outlet for Exchange {
    fn note(&self, context: &Context, message: Vec<u8>) -> Result<(), Vec<u8>> {
        if !self.streams() {
            // A client that takes no stream is told nothing but the answer.
            return Ok(());
        }
        let mut state = self.lock();
        if !self.has_room(&state, message.len()) {
            return Err(message);
        }
        let call = Some(context.revocation());
        let text = message;
        self.push(&mut state, Event { text, call });
        wake(state);
        Ok(())
    }

    fn release(&self, context: &Context, retry: Duration) -> bool {
        let mut state = self.lock();
        if !self.is_polled() || state.open == 0 || context.is_revoked() {
            return false;
        }
        if !state.is_left() {
            state.released = Some(retry);
        }
        wake(state);
        true
    }

    fn ask(&self, context: &Context, asked: Asked) -> Result<(), Asked> {
        let Some(home) = self.home().filter(|_| self.streams()) else {
            return Err(asked);
        };
        if self.lock().deaf {
            let _ = asked.asker.send(Err(NoAnswer::Gone));
            return Ok(());
        }
        self.push_of(context, vec![home.ask(context, asked)]);
        Ok(())
    }

    fn unask(&self, context: &Context) {
        if let Some(home) = self.home() {
            self.push_of(context, home.unask(context));
        }
    }

    fn question_wait(&self) -> Duration {
        let wait = self.home().map(|home| home.limits().question_wait);
        wait.unwrap_or_default()
    }

    fn patience(&self, waited: Duration) -> Option<Duration> {
        let bound = self.home()?.limits().question_unread;
        Some(bound.saturating_sub(self.lock().away().min(waited)))
    }

    fn listener(&self) -> Option<Arc<Listener>> {
        self.home()?.listener()
    }

    fn attach(&self, _context: &Context, listener: Arc<Listener>) {
        let mut state = self.lock();
        state.source = Some(listener);
        wake(state);
    }

    fn transport(&self) -> &'static str {
        if self.is_pair() { "sse" } else { "http" }
    }
}

impl Exchange {
    /// What a call says for which there is always room.
    fn push_of(&self, context: &Context, messages: Vec<Vec<u8>>) {
        let mut state = self.lock();
        for text in messages.into_iter().filter(|text| !text.is_empty()) {
            let call = Some(context.revocation());
            self.push(&mut state, Event { text, call });
        }
        wake(state);
    }
}
