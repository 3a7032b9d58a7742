//! Server-sent events (WHATWG HTML §9.2): reading them at any pace, and writing them. What an event
//! carries is not looked at.

use std::fmt;

use bytes::{Buf, BytesMut};

/// Appends one event. `data` is split at its line ends, each part a `data:` line of its own.
///
/// Line ends and NUL in `id` and `name` would end the field early and let a sender forge events, so
/// they are left out.
pub fn event(out: &mut Vec<u8>, id: Option<&str>, name: Option<&str>, data: &[u8]) {
    out.reserve(data.len() + 16);
    if let Some(id) = id {
        field(out, b"id: ", id);
    }
    if let Some(name) = name {
        field(out, b"event: ", name);
    }
    lines(out, b"data: ", data);
    out.push(b'\n');
}

/// Appends a comment, which readers pass over: it keeps the connection in use.
pub fn comment(out: &mut Vec<u8>, text: &str) {
    lines(out, b": ", text.as_bytes());
    out.push(b'\n');
}

/// Appends the wish that the reader wait `ms` milliseconds before it connects again.
pub fn retry(out: &mut Vec<u8>, ms: u64) {
    out.extend_from_slice(b"retry: ");
    out.extend_from_slice(ms.to_string().as_bytes());
    out.extend_from_slice(b"\n\n");
}

fn field(out: &mut Vec<u8>, name: &[u8], value: &str) {
    out.extend_from_slice(name);
    out.extend(
        value
            .bytes()
            .filter(|byte| !matches!(byte, b'\n' | b'\r' | 0)),
    );
    out.push(b'\n');
}

fn lines(out: &mut Vec<u8>, name: &[u8], mut text: &[u8]) {
    loop {
        out.extend_from_slice(name);
        let end = memchr::memchr2(b'\n', b'\r', text);
        out.extend_from_slice(&text[..end.unwrap_or(text.len())]);
        out.push(b'\n');
        let Some(end) = end else { return };
        let crlf = text[end..].starts_with(b"\r\n");
        text = &text[end + 1 + usize::from(crlf)..];
    }
}

/// One event.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Event {
    /// The id this event set. It holds for later events too, until one sets another; an empty one means
    /// that there is none from here on.
    pub id: Option<String>,
    /// The name; without one it is a `message`.
    pub name: Option<String>,
    /// The data, its lines joined with `\n`. Empty for an event that only sets an id or the waiting time.
    pub data: String,
    /// The milliseconds to wait before connecting again.
    pub retry: Option<u64>,
}

/// An event longer than the limit, which has been or will be skipped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TooLong {
    /// The limit, in bytes.
    pub limit: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the sender's event is longer than {} bytes; send smaller events",
            self.limit
        )
    }
}

impl std::error::Error for TooLong {}

/// Reads events out of a stream of bytes, at any pace.
///
/// Push what came in, then take events until there is none. Beside what was pushed it holds at most one
/// unfinished event of the allowed length. An event that the stream breaks off in is lost, as the
/// standard wants it.
///
/// ```
/// let mut events = polyport_wire::sse::Events::new(1024);
/// events.push(b"id: 1\ndata: {}\n\ndata: {\"a\"");
/// let event = events.next().unwrap()?;
/// assert_eq!((event.id.as_deref(), event.data.as_str()), (Some("1"), "{}"));
/// assert_eq!(events.next(), None);
/// # Ok::<(), polyport_wire::sse::TooLong>(())
/// ```
#[derive(Debug)]
pub struct Events {
    pending: BytesMut,
    /// `pending[..seen]` holds no line end.
    seen: usize,
    max: usize,
    /// The event under way, whether it has a field worth telling, and its bytes so far.
    event: Event,
    worth: bool,
    has_data: bool,
    used: usize,
    state: State,
    /// The last line ended with a carriage return, so a newline next belongs to it.
    after_return: bool,
    /// Nothing has been read yet, so a byte order mark may follow.
    first: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Reading,
    /// In a comment of which a part has been dropped.
    Comment,
    /// In an event that was too long; whether in the midst of a line.
    Skipping {
        midline: bool,
    },
}

impl Events {
    /// The lines of one event may have up to `max_event_bytes` bytes together, comments and line ends
    /// not counted.
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            pending: BytesMut::new(),
            seen: 0,
            max: max_event_bytes,
            event: Event::default(),
            worth: false,
            has_data: false,
            used: 0,
            state: State::Reading,
            after_return: false,
            first: true,
        }
    }

    /// Takes in what the stream brought.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.pending.is_empty() && self.pending.capacity() > KEPT {
            self.pending = BytesMut::new();
        }
        self.pending.extend_from_slice(bytes);
    }

    /// Passes over a byte order mark and the second half of a line end; `false` when too little is there
    /// to decide.
    fn settle(&mut self) -> bool {
        if self.first {
            let mark = self.pending.len().min(BOM.len());
            if self.pending[..mark] == BOM[..mark] {
                if mark < BOM.len() {
                    return false;
                }
                self.pending.advance(mark);
            }
            self.first = false;
        }
        if self.after_return && !self.pending.is_empty() {
            self.pending.advance(usize::from(self.pending[0] == b'\n'));
            self.after_return = false;
        }
        true
    }

    /// A line whose end has come.
    fn line(&mut self, line: &[u8]) -> Option<Result<Event, TooLong>> {
        match self.state {
            State::Comment => self.state = State::Reading,
            State::Skipping { midline } => {
                let end = line.is_empty() && !midline;
                self.state = if end {
                    State::Reading
                } else {
                    State::Skipping { midline: false }
                };
            }
            State::Reading if line.is_empty() => {
                let worth = self.worth;
                let event = self.take();
                return worth.then_some(Ok(event));
            }
            State::Reading if line.starts_with(b":") => {}
            State::Reading if self.used.saturating_add(line.len()) > self.max => {
                return Some(Err(self.skip(false)));
            }
            State::Reading => {
                self.used += line.len();
                self.field(line);
            }
        }
        None
    }

    /// The part of a line that is there, when its end is not: what need not be kept goes.
    fn unfinished(&mut self) -> Option<Result<Event, TooLong>> {
        if self.pending.is_empty() {
            return None;
        }
        let mut told = None;
        match self.state {
            State::Comment => {}
            State::Skipping { .. } => self.state = State::Skipping { midline: true },
            State::Reading if self.pending[0] == b':' => self.state = State::Comment,
            State::Reading if self.used.saturating_add(self.pending.len()) > self.max => {
                told = Some(Err(self.skip(true)));
            }
            State::Reading => return None,
        }
        self.pending.clear();
        self.seen = 0;
        told
    }

    fn skip(&mut self, midline: bool) -> TooLong {
        self.take();
        self.state = State::Skipping { midline };
        TooLong { limit: self.max }
    }

    /// Ends the event under way.
    fn take(&mut self) -> Event {
        self.worth = false;
        self.has_data = false;
        self.used = 0;
        std::mem::take(&mut self.event)
    }

    fn field(&mut self, line: &[u8]) {
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match &line[..colon] {
            b"data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(&value);
                self.has_data = true;
                self.worth = true;
            }
            b"event" => self.event.name = Some(value.into_owned()).filter(|name| !name.is_empty()),
            b"id" if !value.contains('\0') => {
                self.event.id = Some(value.into_owned());
                self.worth = true;
            }
            b"retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                if let Ok(ms) = value.parse() {
                    self.event.retry = Some(ms);
                    self.worth = true;
                }
            }
            _ => {}
        }
    }
}

impl Iterator for Events {
    type Item = Result<Event, TooLong>;

    /// The next event that is complete; after `None` there may be more once more is pushed.
    fn next(&mut self) -> Option<Self::Item> {
        while self.settle() {
            let Some(end) = memchr::memchr2(b'\n', b'\r', &self.pending[self.seen..]) else {
                self.seen = self.pending.len();
                return self.unfinished();
            };
            let end = self.seen + end;
            let mut pending = std::mem::take(&mut self.pending);
            let told = self.line(&pending[..end]);
            self.after_return = pending[end] == b'\r';
            pending.advance(end + 1);
            self.pending = pending;
            self.seen = 0;
            if told.is_some() {
                return told;
            }
        }
        None
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";
/// An idle reader keeps this much memory at most.
const KEPT: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    // req: V-406
    #[test]
    fn v_406_a_stream_without_an_end_is_held_within_bounds() {
        const MAX: usize = 4_096;
        const PUSHED: usize = 1_024;
        // What comes again and again, and how often an event is told to be too long.
        for (begin, again, told) in [
            ("data: ", "x", 1),
            ("", "data: x\n", 1),
            ("", "data\n", 1),
            (": ", "x", 0),
            ("", ":\n", 0),
            ("id: ", "7", 1),
            ("retry: ", "1", 1),
            ("event: ", "x", 1),
            ("", "x", 1),
            ("", "id: 7\n", 1),
            ("", "\r", 0),
        ] {
            let mut events = Events::new(MAX);
            let mut told_of = 0;
            events.push(begin.as_bytes());
            let part = again.repeat(PUSHED / again.len());
            for _ in 0..300 {
                events.push(part.as_bytes());
                told_of += events.by_ref().filter(Result::is_err).count();
                let held = events.pending.capacity()
                    + events.event.data.capacity()
                    + events.event.id.as_ref().map_or(0, String::capacity)
                    + events.event.name.as_ref().map_or(0, String::capacity);
                assert!(held <= 4 * (MAX + PUSHED), "{begin}{again:?}: {held}");
            }
            assert_eq!(told_of, told, "{begin}{again:?}");
            // And it goes on as soon as there is an end.
            events.push(b"\n\ndata: after\n\n");
            let after = events.find_map(|event| event.ok().filter(|event| !event.data.is_empty()));
            assert_eq!(after.unwrap().data, "after", "{begin}{again:?}");
        }
    }
}
