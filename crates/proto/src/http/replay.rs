//! What a stream of a session keeps so that a client whose connection broke can take it up again (2025-03-26 to
//! 2025-11-25, basic/transports, Resumability). A log of numbered events; not what stands in them, nor when they are written.

use std::collections::VecDeque;
use std::fmt;

use http::{HeaderMap, HeaderName};

use crate::blame::Blame;

/// `Last-Event-ID`.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The id of an event: which stream of its session, and which event of that stream. Event 0 stands before the first one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct EventId {
    /// The stream.
    pub stream: u64,
    /// The event.
    pub event: u64,
}

impl EventId {
    /// The id that a client names; none: it names none, so it wants a new stream. An empty one is none (WHATWG HTML §9.2.3).
    ///
    /// # Errors
    /// It cannot be one of ours.
    pub fn last(headers: &HeaderMap) -> Result<Option<Self>, Blame> {
        let mut values = headers.get_all(LAST_EVENT_ID).iter();
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) if value.is_empty() => Ok(None),
            (Some(value), None) => {
                let id = value.to_str().ok().and_then(Self::parse);
                id.map(Some).ok_or(Blame::EventUnknown)
            }
            _ => Err(Blame::EventUnknown),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        // One event has one id: no signs, no leading zeros.
        let number = |text: &str| text.parse::<u64>().ok().filter(|n| n.to_string() == text);
        let (stream, event) = text.split_once('-')?;
        Some(Self {
            stream: number(stream)?,
            event: number(event)?,
        })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.event)
    }
}

/// The events of one stream, numbered from 1: those that wait to be written, and those of the written ones that are kept.
#[derive(Debug)]
pub struct Log<E> {
    events: VecDeque<(E, usize)>,
    /// The number of the oldest event that is here.
    first: u64,
    /// The number of the next event to be written.
    next: u64,
    bytes: usize,
    /// Bytes of the events that wait.
    waiting: usize,
}

impl<E> Default for Log<E> {
    fn default() -> Self {
        Self {
            events: VecDeque::new(),
            first: 1,
            next: 1,
            bytes: 0,
            waiting: 0,
        }
    }
}

impl<E> Log<E> {
    /// Bytes of all events that are here.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many events wait to be written, and their bytes.
    pub fn waiting(&self) -> (usize, usize) {
        (self.events.len() - self.written(), self.waiting)
    }

    /// How many of the events here have been written.
    fn written(&self) -> usize {
        usize::try_from(self.next - self.first).unwrap_or(usize::MAX)
    }

    /// Adds an event of that many bytes.
    pub fn push(&mut self, event: E, bytes: usize) {
        self.events.push_back((event, bytes));
        self.bytes += bytes;
        self.waiting += bytes;
    }

    /// The events that wait, oldest first, with their numbers. They count as written.
    pub fn take(&mut self) -> impl Iterator<Item = (u64, &E)> {
        let (written, next) = (self.written(), self.next);
        self.next = self.first + self.events.len() as u64;
        self.waiting = 0;
        (next..).zip(self.events.range(written..).map(|(event, _)| event))
    }

    /// The events that wait, which go on to do so.
    pub fn iter_waiting(&self) -> impl Iterator<Item = &E> {
        self.events.range(self.written()..).map(|(event, _)| event)
    }

    /// Takes out the events that wait: another stream is to write them.
    pub fn give_up(&mut self) -> impl Iterator<Item = E> + use<E> {
        self.bytes -= self.waiting;
        self.waiting = 0;
        let written = self.written();
        let waiting = self.events.split_off(written);
        waiting.into_iter().map(|(event, _)| event)
    }

    /// Makes all events after this one wait again.
    ///
    /// # Errors
    /// There was no such event, or one that came after it is no longer here. Nothing changes.
    pub fn rewind(&mut self, event: u64) -> Result<(), Blame> {
        if event >= self.next {
            return Err(Blame::EventUnknown);
        }
        if event + 1 < self.first {
            return Err(Blame::EventsLost);
        }
        self.next = event + 1;
        let written = self.written();
        self.waiting = self.events.range(written..).map(|(_, bytes)| bytes).sum();
        Ok(())
    }

    /// Lets go of the oldest written events until there are no more than these many and no more bytes than these. The last
    /// one that was written stays, however long it is: it may be the answer. Gives back the bytes that are free.
    pub fn trim(&mut self, events: usize, bytes: usize) -> usize {
        let before = self.bytes;
        while self.written() > usize::from(events > 0)
            && (self.events.len() > events || self.bytes > bytes)
        {
            let Some((_, length)) = self.events.pop_front() else {
                break;
            };
            self.first += 1;
            self.bytes -= length;
        }
        if self.events.is_empty() {
            self.events = VecDeque::new();
        }
        before - self.bytes
    }

    /// Lets go of everything, waiting or not; what was pushed counts as written. Gives back the bytes that are free.
    pub fn clear(&mut self) -> usize {
        self.first += self.events.len() as u64;
        self.next = self.first;
        self.events = VecDeque::new();
        self.waiting = 0;
        std::mem::take(&mut self.bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn last(values: &[&[u8]]) -> Result<Option<String>, Blame> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(LAST_EVENT_ID, HeaderValue::from_bytes(value).unwrap());
        }
        EventId::last(&headers).map(|id| id.map(|id| id.to_string()))
    }

    // req: V-309
    #[test]
    fn v_309_ids_are_read_strictly() {
        assert_eq!(last(&[]), Ok(None));
        assert_eq!(last(&[b""]), Ok(None));
        for good in ["0-0", "1-0", "7-255", "18446744073709551615-1"] {
            assert_eq!(last(&[good.as_bytes()]), Ok(Some(good.to_owned())));
        }
        let long = "9".repeat(4_000);
        for bad in [
            "1",
            "-",
            "1-",
            "-1",
            "1--1",
            "-1-1",
            "+1-1",
            "1-+1",
            "01-1",
            "1-01",
            "1-1-1",
            " 1-1 x",
            "a-b",
            "1.0-1",
            "1e1-1",
            "18446744073709551616-1",
            "é",
            "*",
            long.as_str(),
        ] {
            assert_eq!(last(&[bad.as_bytes()]), Err(Blame::EventUnknown), "{bad}");
        }
        assert_eq!(last(&[b"\xff-\xfe"]), Err(Blame::EventUnknown));
        assert_eq!(last(&[b"1-1", b"1-1"]), Err(Blame::EventUnknown));
    }

    fn log(events: u32) -> Log<u32> {
        let mut log = Log::default();
        (1..=events).for_each(|n| log.push(n, 10));
        log
    }

    fn take(log: &mut Log<u32>) -> Vec<(u64, u32)> {
        log.take().map(|(number, event)| (number, *event)).collect()
    }

    #[test]
    fn events_are_written_once_and_again_when_asked_for() {
        let mut log = log(3);
        assert_eq!((log.waiting(), log.bytes()), ((3, 30), 30));
        assert_eq!(take(&mut log), [(1, 1), (2, 2), (3, 3)]);
        assert_eq!((take(&mut log), log.waiting()), (vec![], (0, 0)));
        log.push(4, 10);
        assert_eq!(log.rewind(1), Ok(()));
        assert_eq!(log.waiting(), (3, 30));
        assert_eq!(take(&mut log), [(2, 2), (3, 3), (4, 4)]);
        assert_eq!(log.rewind(4), Ok(()));
        assert_eq!(take(&mut log), []);
        for never in [5, 6, u64::MAX] {
            assert_eq!(log.rewind(never), Err(Blame::EventUnknown));
        }
        assert_eq!(log.rewind(0), Ok(()));
        assert_eq!(take(&mut log).len(), 4);
    }

    #[test]
    fn what_was_written_is_kept_within_its_bounds() {
        for (events, bytes, left) in [(2, 100, 2), (9, 25, 2), (1, 0, 1), (0, 0, 0), (5, 50, 5)] {
            let mut log = log(5);
            assert_eq!(log.trim(events, bytes), 0, "nothing was written");
            take(&mut log);
            assert_eq!(log.trim(events, bytes), (5 - left) * 10);
            let oldest = 5 - left as u64;
            if oldest > 0 {
                assert_eq!(log.rewind(oldest - 1), Err(Blame::EventsLost));
            }
            assert_eq!(log.rewind(oldest), Ok(()), "{events} {bytes}");
            assert_eq!(take(&mut log).len(), left);
        }
        // What waits is not let go of.
        let mut log = log(3);
        take(&mut log);
        log.push(4, 10);
        log.push(5, 10);
        assert_eq!(log.trim(1, 0), 20);
        assert_eq!(take(&mut log), [(4, 4), (5, 5)]);
        assert_eq!(log.trim(1, 0), 20);
        assert_eq!(log.rewind(4), Ok(()));
        assert_eq!(take(&mut log), [(5, 5)]);
    }

    #[test]
    fn what_another_stream_writes_has_no_number_here() {
        let mut log = log(1);
        take(&mut log);
        log.push(2, 10);
        log.push(3, 10);
        assert_eq!(log.give_up().collect::<Vec<_>>(), [2, 3]);
        assert_eq!((log.waiting(), log.bytes()), ((0, 0), 10));
        log.push(4, 10);
        assert_eq!(take(&mut log), [(2, 4)]);
        assert_eq!(log.rewind(1), Ok(()));
    }

    #[test]
    fn what_is_cleared_is_lost() {
        let mut log = log(2);
        take(&mut log);
        assert_eq!((log.clear(), log.bytes()), (20, 0));
        assert_eq!(log.rewind(1), Err(Blame::EventsLost));
        assert_eq!(log.rewind(2), Ok(()), "nothing came after it");
        log.push(3, 10);
        assert_eq!(log.clear(), 10);
        assert_eq!(
            log.rewind(2),
            Err(Blame::EventsLost),
            "one was never written"
        );
        assert_eq!(log.rewind(3), Ok(()));
    }
}
