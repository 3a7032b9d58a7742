//! The streams of one session: those of its GETs, and those of its POSTs to which a client may come back. Each message goes to
//! one of them (2025-03-26 to 2025-11-25, basic/transports, Multiple Connections).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use polyport_proto::Blame;
use polyport_proto::http::EventId;

use crate::exchange::Exchange;
use crate::reader::Reader;
use crate::store::Store;

/// What a session knows of its streams.
#[derive(Debug)]
pub(super) struct Streams {
    store: Arc<Store>,
    /// How many have had a number; none is given twice.
    numbers: u64,
    /// The oldest first.
    known: Vec<Known>,
    /// What a GET's stream had been given and has not read, while there is no other one.
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    /// The session has ended: there will be no more.
    ended: bool,
}

#[derive(Debug)]
struct Known {
    /// None: nobody can come back to it.
    number: Option<u64>,
    exchange: Arc<Exchange>,
    /// When it was first seen without a reader and a call.
    idle: Option<Duration>,
}

impl Known {
    /// Is it read, and for what belongs to no call?
    fn is_listening(&self) -> bool {
        !self.exchange.is_of_calls() && self.exchange.is_read()
    }
}

impl Streams {
    pub(super) fn new(store: &Arc<Store>) -> Self {
        Self {
            store: store.clone(),
            numbers: 0,
            known: Vec::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            ended: false,
        }
    }

    /// The stream of a session that has one only.
    pub(super) fn only(&self) -> Option<Arc<Exchange>> {
        self.known.first().map(|known| known.exchange.clone())
    }

    /// Does somebody read one of them?
    pub(super) fn are_read(&self) -> bool {
        self.known.iter().any(|known| known.exchange.is_read())
    }

    /// Takes in a stream. `numbered`: its client may come back to it.
    pub(super) fn add(&mut self, exchange: &Arc<Exchange>, numbered: bool) {
        if self.ended {
            return exchange.begin_stream(None);
        }
        self.numbers += u64::from(numbered);
        let number = numbered.then_some(self.numbers);
        exchange.begin_stream(number);
        self.known.push(Known {
            number,
            exchange: exchange.clone(),
            idle: None,
        });
        self.make_room();
    }

    /// The stream of a GET.
    ///
    /// # Errors
    /// There are as many as there may be, or the session has ended.
    pub(super) fn listen(&mut self, exchange: Exchange, numbered: bool) -> Result<Reader, Blame> {
        self.check_listeners()?;
        // Read from the beginning: else it would be idle, and might have to make room.
        let reader = Reader::new(Arc::new(exchange));
        self.add(reader.exchange(), numbered);
        self.hand_over(reader.exchange());
        Ok(reader)
    }

    /// A stream, from the event on that its client has seen last. None: it has seen all there was.
    ///
    /// # Errors
    /// It is none of these, what followed is no longer there, or there are as many as there may be.
    pub(super) fn resume(&mut self, id: EventId) -> Result<Option<Reader>, Blame> {
        let Some(known) = self.known.iter().position(|k| k.number == Some(id.stream)) else {
            if self.ended {
                return Err(Blame::SessionUnknown);
            }
            let was = (1..=self.numbers).contains(&id.stream);
            return Err(if was {
                Blame::EventsLost
            } else {
                Blame::EventUnknown
            });
        };
        let exchange = self.known[known].exchange.clone();
        if exchange.is_general() && !exchange.is_read() {
            self.check_listeners()?;
        }
        let reader = Reader::after(exchange, id.event)?;
        self.known[known].idle = None;
        if let Some(reader) = &reader
            && reader.exchange().is_general()
        {
            self.hand_over(reader.exchange());
        }
        Ok(reader)
    }

    fn check_listeners(&self) -> Result<(), Blame> {
        if self.ended {
            return Err(Blame::SessionUnknown);
        }
        let open = self.known.iter().filter(|k| k.is_listening()).count();
        if open < self.store.limits.streams_per_session {
            Ok(())
        } else {
            Err(Blame::TooManyStreams)
        }
    }

    /// What waits for a stream goes to this one.
    fn hand_over(&mut self, exchange: &Exchange) {
        self.store.free(std::mem::take(&mut self.waiting_bytes));
        exchange.post(std::mem::take(&mut self.waiting));
    }

    /// The reader of a GET's stream is gone. What it has not read goes to another one, or waits for the next.
    pub(super) fn left(&mut self, exchange: &Arc<Exchange>) {
        if exchange.is_read() {
            return;
        }
        self.known
            .retain(|k| k.number.is_some() || !Arc::ptr_eq(&k.exchange, exchange));
        let unread = exchange.give_up();
        match self.listening() {
            Some(other) => {
                other.post(unread);
                other.wake();
            }
            None if self.ended => {}
            None => unread.into_iter().for_each(|m| self.wait(m)),
        }
    }

    /// The stream for what belongs to no call: the oldest one that is read.
    pub(super) fn listening(&self) -> Option<&Arc<Exchange>> {
        let listening = self.known.iter().find(|k| k.is_listening());
        listening.map(|known| &known.exchange)
    }

    fn wait(&mut self, message: Vec<u8>) {
        let limits = &self.store.limits;
        let bytes = message.len();
        let has_room = self.waiting.len() < limits.queue_messages
            && self.waiting_bytes + bytes <= limits.queue_bytes
            && !self.store.is_full();
        if has_room {
            self.store.add(bytes);
            self.waiting_bytes += bytes;
            self.waiting.push_back(message);
        }
    }

    /// Lets go of what has been idle for too long. Of a GET's stream the number stays: a client that missed nothing may go on.
    pub(super) fn tidy(&mut self, now: Duration) {
        let time = self.store.limits.replay_time;
        self.known.retain_mut(|known| {
            if !known.exchange.is_idle() {
                known.idle = None;
                return true;
            }
            let idle = now.saturating_sub(*known.idle.get_or_insert(now));
            if idle >= time {
                known.exchange.forget();
            }
            idle < time || known.exchange.is_general()
        });
        self.make_room();
        self.known.shrink_to_fit();
    }

    /// Lets go of those beyond the bound that have been idle for the longest time.
    fn make_room(&mut self) {
        let idle = |k: &&Known| k.number.is_some() && k.exchange.is_idle();
        let idle = self.known.iter().filter(idle);
        // What was not seen idle has been so for the shortest time.
        let mut since: Vec<_> = idle
            .map(|k| (k.idle.unwrap_or(Duration::MAX), k.number))
            .collect();
        let more = since.len().saturating_sub(self.store.limits.replay_streams);
        if more > 0 {
            since.sort_unstable();
            since.truncate(more);
            self.known
                .retain(|k| !since.iter().any(|(_, number)| *number == k.number));
        }
    }

    /// Ends those that no call holds open.
    pub(super) fn close(&mut self) {
        self.known.iter().for_each(|k| k.exchange.close());
    }

    /// Ends them for good; what is kept of them is let go of.
    pub(super) fn end(&mut self) {
        self.close();
        self.ended = true;
        self.known = Vec::new();
        self.waiting = VecDeque::new();
        self.store.free(std::mem::take(&mut self.waiting_bytes));
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.store.free(self.waiting_bytes);
    }
}
