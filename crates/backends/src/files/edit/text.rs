//! A text whose lines may end in two ways: edited as if they all ended in `\n`, written back as they were.

use std::borrow::Cow;

use super::super::{lines::count_newlines, text};

/// The text of a file.
#[derive(Clone, Debug)]
pub(in super::super) struct Text {
    has_mark: bool,
    /// With `\n` at the end of every line.
    body: String,
    /// Of each `\n`, whether it is `\r\n` in the file.
    ends: Vec<bool>,
}

impl Text {
    /// The text of UTF-8 bytes, or what they are instead.
    pub(in super::super) fn parse(bytes: Vec<u8>) -> Result<Self, String> {
        let mark = text::probe(&bytes)?;
        if bytes.contains(&0) {
            return Err("it has NUL bytes, so it is binary. write_file writes a text anew.".into());
        }
        let whole = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = count_newlines(&error.as_bytes()[..at]) + 1;
            text::bad_byte(error.as_bytes()[at], Some(line))
        })?;
        let shown = &whole[mark..];
        let newlines = shown.match_indices('\n');
        let ends = newlines
            .map(|(at, _)| shown[..at].ends_with('\r'))
            .collect();
        Ok(Self {
            has_mark: mark > 0,
            body: unix(shown).into_owned(),
            ends,
        })
    }

    /// The text with `\n` at the end of every line.
    pub(in super::super) fn body(&self) -> &str {
        &self.body
    }

    /// As it is in a file.
    pub(in super::super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.body.len() + self.ends.len() + 3);
        if self.has_mark {
            bytes.extend_from_slice("\u{feff}".as_bytes());
        }
        let mut ends = self.ends.iter();
        for line in self.body.split_inclusive('\n') {
            match line.strip_suffix('\n') {
                Some(line) => {
                    bytes.extend_from_slice(line.as_bytes());
                    let is_long = ends.next().copied().unwrap_or_default();
                    bytes.extend_from_slice(if is_long { b"\r\n" } else { b"\n" });
                }
                None => bytes.extend_from_slice(line.as_bytes()),
            }
        }
        bytes
    }

    /// Puts `new` in place of the `length` bytes at each position. Its lines end as those that they replace; more lines end as
    /// the last of these, or as the line that they are put into.
    pub(super) fn replace(&mut self, at: &[usize], length: usize, new: &str) {
        let mut body = String::with_capacity(self.body.len());
        let mut ends = Vec::with_capacity(self.ends.len());
        let fresh = new.matches('\n').count();
        let (mut done, mut line) = (0, 0);
        for &at in at {
            let before = &self.body[done..at];
            let passed = before.matches('\n').count();
            body.push_str(before);
            ends.extend_from_slice(&self.ends[line..line + passed]);
            line += passed;
            let replaced = self.body[at..at + length].matches('\n').count();
            let old = &self.ends[line..line + replaced];
            let beside = || self.ends.get(line).or_else(|| self.ends.last());
            let usual = old.last().or_else(beside).copied().unwrap_or_default();
            body.push_str(new);
            ends.extend((0..fresh).map(|n| old.get(n).copied().unwrap_or(usual)));
            line += replaced;
            done = at + length;
        }
        body.push_str(&self.body[done..]);
        ends.extend_from_slice(&self.ends[line..]);
        self.body = body;
        self.ends = ends;
    }
}

/// The text with `\n` for each `\r\n`.
pub(super) fn unix(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") {
        text.replace("\r\n", "\n").into()
    } else {
        text.into()
    }
}

/// The numbers of the lines in which the positions, which ascend, lie.
pub(super) fn lines_of(body: &str, at: impl Iterator<Item = usize>) -> Vec<u64> {
    let (mut done, mut line) = (0, 1);
    at.map(|at| {
        line += count_newlines(&body.as_bytes()[done..at]);
        done = at;
        line
    })
    .collect()
}
