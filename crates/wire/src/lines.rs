//! Newline framing (transports/stdio): one message a line. It cuts the stream and looks at nothing
//! inside.

use bytes::{Buf, Bytes, BytesMut};

/// Cuts a stream of bytes into lines, at any pace.
///
/// Append what was read to [`Self::buffer`], then call [`Self::next_line`] until it returns `None`.
/// Between two calls it holds at most one unfinished line of the allowed length and what was appended
/// since.
///
/// ```
/// use polyport_wire::{Line, Lines};
///
/// let mut lines = Lines::new(1024);
/// lines.buffer().extend_from_slice(b"{}\r\n\n{\"a\":");
/// assert_eq!(lines.next_line(), Some(Line::Frame("{}".into())));
/// assert_eq!(lines.next_line(), None);
/// lines.buffer().extend_from_slice(b"1}");
/// assert_eq!(lines.finish(), Some(Line::Frame("{\"a\":1}".into())));
/// ```
#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    /// `buffer[..seen]` holds no newline.
    seen: usize,
    max: usize,
    /// Nothing has been read yet, so a byte order mark may follow.
    first: bool,
    /// The rest of a line that was too long is still to come.
    skipping: bool,
    /// A long line has grown the allocation behind the buffer.
    grown: bool,
}

/// What [`Lines`] finds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Line {
    /// One line without its end (`\n` or `\r\n`). It shares memory with its neighbours, so copy what is
    /// to be kept for long.
    Frame(Bytes),
    /// A line longer than the limit, which has been or will be skipped. It is told once.
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
}

impl Lines {
    /// Frames may be up to `max` bytes long, not counting the end of the line.
    pub fn new(max: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            seen: 0,
            max,
            first: true,
            skipping: false,
            grown: false,
        }
    }

    /// Where to append what comes in; it has room for 32 KiB at least. Memory that a long line needed is
    /// given back here once the line is through.
    pub fn buffer(&mut self) -> &mut BytesMut {
        if self.grown && self.buffer.len() <= ROOM {
            let mut small = BytesMut::with_capacity(2 * ROOM);
            small.extend_from_slice(&self.buffer);
            self.buffer = small;
            self.grown = false;
        }
        self.buffer.reserve(ROOM);
        &mut self.buffer
    }

    /// The next line that is complete. Blank lines are passed over in silence.
    pub fn next_line(&mut self) -> Option<Line> {
        loop {
            let seen = self.seen.min(self.buffer.len());
            let Some(newline) = memchr::memchr(b'\n', &self.buffer[seen..]) else {
                self.seen = self.buffer.len();
                return self.unfinished();
            };
            let line = self.buffer.split_to(seen + newline + 1).freeze();
            self.seen = 0;
            let skipped = std::mem::take(&mut self.skipping);
            let line = self.trimmed(line.slice(..line.len() - 1));
            if !skipped && let Some(line) = self.line(line) {
                return Some(line);
            }
        }
    }

    /// At the end of the stream, after [`Self::next_line`] has returned `None`: a last line without its
    /// end.
    pub fn finish(&mut self) -> Option<Line> {
        let rest = self.buffer.split().freeze();
        self.seen = 0;
        let skipped = std::mem::take(&mut self.skipping);
        let rest = self.trimmed(rest);
        if skipped { None } else { self.line(rest) }
    }

    /// Looks after the memory of a line that has no end yet.
    fn unfinished(&mut self) -> Option<Line> {
        let mark = if self.first { BOM.len() } else { 0 };
        // The last byte may still turn out to be a carriage return.
        let too_long = self.buffer.len() > self.max.saturating_add(mark + 1);
        if !self.skipping && !too_long {
            return None;
        }
        self.grown |= self.buffer.len() > GROWN;
        self.first = false;
        self.buffer.clear();
        self.seen = 0;
        if std::mem::replace(&mut self.skipping, true) {
            None
        } else {
            Some(Line::TooLong { limit: self.max })
        }
    }

    /// Without the carriage return, and without the byte order mark that some programs begin with.
    fn trimmed(&mut self, mut line: Bytes) -> Bytes {
        self.grown |= line.len() > GROWN;
        if line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
        if std::mem::take(&mut self.first) && line.starts_with(BOM) {
            line.advance(BOM.len());
        }
        line
    }

    fn line(&self, line: Bytes) -> Option<Line> {
        if line.len() > self.max {
            Some(Line::TooLong { limit: self.max })
        } else if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
            None
        } else {
            Some(Line::Frame(line))
        }
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";
/// Room for one read.
const ROOM: usize = 32 * 1024;
/// A buffer that held a line of this length is exchanged for a small one.
const GROWN: usize = 8 * ROOM;
