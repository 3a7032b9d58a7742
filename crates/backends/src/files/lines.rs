//! A file as a stream of text: bounded chunks, byte order mark skipped, lines numbered. Asks the pace at each chunk.

use std::io::{Read as _, Seek as _, SeekFrom};

use cap_std::fs::File;

use super::{FilesError, pace::Pace, place::Place, text};

/// Bytes asked from the disk at a time.
const CHUNK: usize = 64 * 1024;

/// Longest line that is held in one piece; what is longer comes in several with the same number.
const LONGEST: usize = 1024 * 1024;

/// A text file, read forward.
pub(crate) struct Source<'a> {
    place: &'a Place<'a>,
    pace: &'a Pace<'a>,
    file: File,
    buffer: Vec<u8>,
    start: usize,
    /// Unread bytes that are known to hold no newline.
    scanned: usize,
    /// Length of the line piece handed out last, to be consumed at the next call.
    handed: usize,
    newlines: u64,
    /// Bytes of the file up to what comes next.
    passed: u64,
    ends_open: bool,
    has_bom: bool,
}

/// One line without its end, or a piece of a very long one.
pub(crate) struct Line<'s> {
    /// Counted from 1.
    pub(crate) number: u64,
    pub(crate) bytes: &'s [u8],
    /// Bytes of the file up to its end; none for a piece that has no end of a line.
    pub(crate) end: Option<u64>,
}

impl<'a> Source<'a> {
    /// The file at its first character; refused if its first bytes are no UTF-8 text.
    pub(crate) fn open(
        place: &'a Place<'a>,
        file: File,
        pace: &'a Pace<'a>,
    ) -> Result<Self, FilesError> {
        let mut source = Self {
            place,
            pace,
            file,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            handed: 0,
            newlines: 0,
            passed: 0,
            ends_open: false,
            has_bom: false,
        };
        while source.peek().len() < text::PROBE && source.more()? {}
        let bom = text::probe(source.peek()).map_err(|found| FilesError::NotText {
            path: place.shown(),
            found,
        })?;
        source.start += bom;
        source.passed = bom as u64;
        source.has_bom = bom > 0;
        Ok(source)
    }

    /// Goes on behind a line that ends at this byte. False: no line ends there, and nothing has changed.
    pub(crate) fn skip_to(&mut self, line: u64, end: u64) -> Result<bool, FilesError> {
        let metadata = self.file.metadata();
        let length = metadata.map_err(|error| self.place.fault(error))?.len();
        let Some(last) = end.checked_sub(1).filter(|last| *last < length) else {
            return Ok(false);
        };
        let mut byte = [0];
        let here = self.file.stream_position();
        let here = here.map_err(|error| self.place.fault(error))?;
        let read = self
            .file
            .seek(SeekFrom::Start(last))
            .and_then(|_| self.file.read(&mut byte));
        if read.map_err(|error| self.place.fault(error))? == 0 || byte != *b"\n" {
            let back = self.file.seek(SeekFrom::Start(here));
            back.map_err(|error| self.place.fault(error))?;
            return Ok(false);
        }
        self.buffer.clear();
        (self.start, self.scanned, self.handed) = (0, 0, 0);
        (self.newlines, self.passed, self.ends_open) = (line, end, false);
        Ok(true)
    }

    /// Whether a byte order mark was left out.
    pub(crate) fn has_bom(&self) -> bool {
        self.has_bom
    }

    /// What is in memory and not consumed; ask for [`Source::more`] when it is empty.
    pub(crate) fn peek(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Reads on; false at the end of the file.
    pub(crate) fn more(&mut self) -> Result<bool, FilesError> {
        self.pace.must_go_on(|| self.place.shown())?;
        self.buffer.drain(..self.start);
        self.start = 0;
        let before = self.buffer.len();
        // `take` and not a sized buffer: the file may be shorter than a chunk, and memory is only filled with what is there.
        let read = (&mut self.file)
            .take(CHUNK as u64)
            .read_to_end(&mut self.buffer);
        read.map_err(|error| self.place.fault(error))?;
        Ok(self.buffer.len() > before)
    }

    /// Moves on by `length` bytes of what was peeked at.
    pub(crate) fn consume(&mut self, length: usize) {
        let passed = &self.buffer[self.start..self.start + length];
        self.newlines += count_newlines(passed);
        if let Some(last) = passed.last() {
            self.ends_open = *last != b'\n';
        }
        self.start += length;
        self.passed += length as u64;
        self.scanned = self.scanned.saturating_sub(length);
    }

    /// Number of the line that comes next.
    pub(crate) fn line(&self) -> u64 {
        self.newlines + 1
    }

    /// Lines consumed so far; at the end of the file, all it has.
    pub(crate) fn lines_passed(&self) -> u64 {
        self.newlines + u64::from(self.ends_open)
    }

    /// Goes on to the end of the file and counts its lines.
    pub(crate) fn count_rest(&mut self) -> Result<u64, FilesError> {
        loop {
            self.consume(self.peek().len());
            if !self.more()? {
                return Ok(self.lines_passed());
            }
        }
    }

    /// The next line, without `\n` or `\r\n`.
    pub(crate) fn next_line(&mut self) -> Result<Option<Line<'_>>, FilesError> {
        self.consume(self.handed);
        self.handed = 0;
        loop {
            let unread = self.peek();
            if let Some(at) = unread[self.scanned..]
                .iter()
                .position(|byte| *byte == b'\n')
            {
                self.handed = self.scanned + at + 1;
                break;
            }
            if unread.len() >= LONGEST {
                self.handed = text::boundary(unread, LONGEST);
                break;
            }
            self.scanned = unread.len();
            if !self.more()? {
                self.handed = self.peek().len();
                break;
            }
        }
        if self.handed == 0 {
            return Ok(None);
        }
        let bytes = &self.peek()[..self.handed];
        let end = bytes
            .ends_with(b"\n")
            .then(|| self.passed + bytes.len() as u64);
        let bytes = bytes
            .strip_suffix(b"\n")
            .map_or(bytes, |line| line.strip_suffix(b"\r").unwrap_or(line));
        Ok(Some(Line {
            number: self.line(),
            bytes,
            end,
        }))
    }
}

pub(crate) fn count_newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}
