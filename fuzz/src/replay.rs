//! The check of what streams keep for clients that come back: event ids, and the log of events.

use std::collections::{BTreeMap, VecDeque};

use http::{HeaderMap, HeaderValue};
use polyport_proto::Blame;
use polyport_proto::http::replay::{EventId, LAST_EVENT_ID, Log};

/// Plays `data` against a log of events. A step is a letter with one or two digits behind it; what is no letter does nothing.
///
/// - `p`: an event comes, of so many bytes. `t`: those that wait are written. `r`: the client comes back after the last one but that.
/// - `x`: what is more than so many events or bytes is let go. `g`: another stream writes what waits. `c`: everything is let go.
/// - `I`: the rest of the line is a `Last-Event-ID`.
///
/// What must hold:
///
/// - Numbers follow each other, and what is written again under a number is what was written under it.
/// - Nothing that waits is let go of unless it is given up; sums of bytes are exact.
/// - An id is read if it is the one spelling of it.
pub fn check(data: &[u8]) {
    let mut play = Play::default();
    let mut rest = data;
    while let [letter, after @ ..] = rest {
        rest = after;
        if *letter == b'I' {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (id, after) = rest.split_at(end.unwrap_or(rest.len()));
            check_id(id);
            rest = after;
        } else {
            let (a, b) = (digit(&mut rest), digit(&mut rest));
            play.step(*letter, a, b);
        }
        play.compare();
    }
}

fn digit(rest: &mut &[u8]) -> usize {
    match rest {
        [byte @ b'0'..=b'9', after @ ..] => {
            *rest = after;
            usize::from(byte - b'0')
        }
        _ => 0,
    }
}

fn check_id(text: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(text) else {
        return;
    };
    let one = HeaderMap::from_iter([(LAST_EVENT_ID, value.clone())]);
    let read = EventId::last(&one);
    let text = String::from_utf8_lossy(text);
    let is_number = |text: &str| {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
        let shortest = text == "0" || !text.starts_with('0');
        let fits = text.len() < 20 || text.len() == 20 && text <= "18446744073709551615";
        plain && shortest && fits
    };
    let ours = text.split_once('-');
    let ours = ours.is_some_and(|(stream, event)| is_number(stream) && is_number(event));
    match &read {
        Ok(None) => assert!(text.is_empty(), "{text:?} is no id"),
        Ok(Some(id)) => assert!(ours && id.to_string() == text, "{text:?} is {id}"),
        Err(blame) => assert!(!ours && *blame == Blame::EventUnknown, "{text:?} is one"),
    }
    let mut two = one;
    two.append(LAST_EVENT_ID, value);
    let twice = EventId::last(&two);
    assert!(text.is_empty() && twice == Ok(None) || twice == Err(Blame::EventUnknown));
}

#[derive(Default)]
struct Play {
    log: Log<u32>,
    made: u32,
    /// What was written under each number, as far as it is kept.
    written: BTreeMap<u64, (u32, usize)>,
    /// What waits for its first number.
    fresh: VecDeque<(u32, usize)>,
    /// Numbers up to this one have been written, and need not be again.
    last: u64,
}

impl Play {
    fn step(&mut self, letter: u8, a: usize, b: usize) {
        match letter {
            b'p' => {
                self.made += 1;
                self.log.push(self.made, a);
                self.fresh.push_back((self.made, a));
            }
            b't' => self.take(),
            b'r' => self.rewind(a as u64),
            b'x' => self.trim(a, b),
            b'g' => {
                let given: Vec<u32> = self.log.give_up().collect();
                let again = self.written.split_off(&(self.last + 1));
                let expected = again.into_values().chain(self.fresh.drain(..));
                assert_eq!(given, expected.map(|(made, _)| made).collect::<Vec<_>>());
            }
            b'c' => {
                let freed = self.log.clear();
                let bytes = self.written.values().chain(&self.fresh).map(|it| it.1);
                assert_eq!(freed, bytes.sum::<usize>());
                let newest = self.written.keys().next_back().copied().unwrap_or(0);
                self.last = newest.max(self.last) + self.fresh.len() as u64;
                self.written.clear();
                self.fresh.clear();
            }
            _ => {}
        }
    }

    fn take(&mut self) {
        let taken: Vec<(u64, u32)> = self.log.take().map(|(n, made)| (n, *made)).collect();
        let again = self
            .written
            .range(self.last + 1..)
            .map(|(n, it)| (*n, it.0));
        let mut expected: Vec<(u64, u32)> = again.collect();
        let mut number = expected.last().map_or(self.last, |(number, _)| *number);
        for (made, bytes) in self.fresh.drain(..) {
            number += 1;
            self.written.insert(number, (made, bytes));
            expected.push((number, made));
        }
        assert_eq!(taken, expected);
        self.last = number;
    }

    fn rewind(&mut self, back: u64) {
        let event = self.last.wrapping_sub(back);
        let kept = self.written.keys().next().copied();
        let expected = match kept {
            _ if event > self.last => Err(Blame::EventUnknown),
            Some(first) if event + 1 < first => Err(Blame::EventsLost),
            None if event < self.last => Err(Blame::EventsLost),
            _ => Ok(()),
        };
        assert_eq!(self.log.rewind(event), expected, "after {event}");
        if expected.is_ok() {
            self.last = event;
        }
    }

    fn trim(&mut self, events: usize, bytes: usize) {
        let before = self.log.bytes();
        let freed = self.log.trim(events, bytes);
        assert_eq!(before - freed, self.log.bytes());
        let mut left = freed;
        let spare = usize::from(events > 0);
        while self.seen() > spare && (self.len() > events || before - (freed - left) > bytes) {
            let (_, (_, length)) = self.written.pop_first().expect("it was seen");
            assert!(left >= length, "more should have been let go");
            left -= length;
        }
        assert_eq!(left, 0, "too much was let go");
    }

    /// How many events are kept that need not be written again.
    fn seen(&self) -> usize {
        self.written.range(..=self.last).count()
    }

    fn len(&self) -> usize {
        self.written.len() + self.fresh.len()
    }

    fn compare(&self) {
        let again = self.written.range(self.last + 1..).map(|(_, it)| it);
        let waiting: Vec<_> = again.chain(&self.fresh).collect();
        let bytes = waiting.iter().map(|it| it.1).sum();
        assert_eq!(self.log.waiting(), (waiting.len(), bytes));
        assert!(self.log.iter_waiting().eq(waiting.iter().map(|it| &it.0)));
        let seen = self.written.range(..=self.last).map(|(_, it)| it.1);
        assert_eq!(self.log.bytes(), bytes + seen.sum::<usize>());
    }
}
