//! The search in one file after another, with the bounds they share. Not which files are searched.

use std::collections::VecDeque;

use super::{
    super::super::{FilesError, Limits, lines::Source, pace::Pace, place::Place, show, text},
    FileMatches, MatchLine, SearchContentsResult,
    pattern::Matcher,
};

/// Where in a shown piece of a long line its match begins.
const LEAD: usize = 80;

/// Room that a line takes besides its text.
const PER_LINE: usize = 8;

/// Whether there is room for more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum End {
    /// The next file can be searched.
    Open,
    /// Another match does not fit.
    Full,
    /// The time is up.
    Time,
}

pub(super) struct Grep<'a> {
    matcher: Matcher,
    context: usize,
    most: usize,
    limits: &'a Limits,
    pace: &'a Pace<'a>,
    files: Vec<FileMatches>,
    matches: usize,
    bytes: usize,
    searched: usize,
    binary: usize,
    unread: usize,
    /// The file and number of the last matching line.
    last: Option<(String, u64)>,
}

impl<'a> Grep<'a> {
    pub(super) fn new(
        matcher: Matcher,
        context: usize,
        most: usize,
        limits: &'a Limits,
        pace: &'a Pace<'a>,
    ) -> Self {
        Self {
            matcher,
            context,
            most,
            limits,
            pace,
            files: Vec::new(),
            matches: 0,
            bytes: 0,
            searched: 0,
            binary: 0,
            unread: 0,
            last: None,
        }
    }

    /// Searches one file behind line `after`.
    pub(super) fn search(&mut self, place: &Place<'_>, after: u64) -> Result<End, FilesError> {
        let mut hits = Hits {
            lines: Vec::new(),
            before: VecDeque::new(),
            following: 0,
            last: 0,
        };
        let end = self.lines_of(place, after, &mut hits);
        if hits.lines.iter().any(|line| line.matched) {
            self.files.push(FileMatches {
                path: place.shown(),
                lines: hits.lines,
            });
        }
        match end {
            Ok(end) => {
                self.searched += 1;
                return Ok(end);
            }
            Err(FilesError::Cancelled) => return Err(FilesError::Cancelled),
            Err(FilesError::TimeUp { .. }) => return Ok(End::Time),
            Err(FilesError::NotText { .. }) => self.binary += 1,
            // Gone since its name was read.
            Err(error) if error.is_missing() => {}
            Err(_) => self.unread += 1,
        }
        Ok(End::Open)
    }

    pub(super) fn finish(self, end: End) -> SearchContentsResult {
        let mut notes = Vec::new();
        match (end, &self.last) {
            (End::Full, Some((path, line))) => {
                let after = show::quoted_whole(&format!("{path}:{line}"));
                notes.push(format!(
                    "There are more matches: go on with after={after}, or narrow `path` or `glob`."
                ));
            }
            (End::Time, _) => notes.push(format!(
                "Stopped after {} s, before everything was searched: narrow `path` or `glob`.",
                self.limits.time.as_secs()
            )),
            _ => {}
        }
        if self.binary > 0 {
            notes.push(format!(
                "{} left out.",
                show::count(
                    self.binary,
                    "file that is not UTF-8 text was",
                    "files that are not UTF-8 text were"
                )
            ));
        }
        if self.unread > 0 {
            notes.push(format!(
                "{} could not be read.",
                show::count(self.unread, "file", "files")
            ));
        }
        SearchContentsResult {
            files: self.files,
            matches: self.matches,
            files_searched: self.searched,
            notes,
        }
    }

    fn lines_of(
        &mut self,
        place: &Place<'_>,
        after: u64,
        hits: &mut Hits,
    ) -> Result<End, FilesError> {
        let (file, _) = place.open_file()?;
        let mut source = Source::open(place, file, self.pace)?;
        while let Some(line) = source.next_line()? {
            if line.bytes.contains(&0) {
                let found = text::bad_byte(0, Some(line.number));
                return Err(FilesError::NotText {
                    path: place.shown(),
                    found,
                });
            }
            if line.number <= after {
                continue;
            }
            let Some(found) = self
                .matcher
                .find(line.bytes, self.pace, &|| place.shown())?
            else {
                hits.pass(line.number, line.bytes, self);
                continue;
            };
            if hits.is_last_match(line.number) {
                continue;
            }
            let shown = clip(line.bytes, found, self.limits.match_line);
            // The first match of a file brings its path along.
            let path = if hits.last == 0 {
                place.shown().len()
            } else {
                0
            };
            let is_full = self.matches >= self.most
                || self.matches > 0 && self.bytes + path + shown.len() > self.limits.match_bytes;
            if is_full {
                return Ok(End::Full);
            }
            self.matches += 1;
            self.bytes += path;
            self.last = Some((place.shown(), line.number));
            hits.add_match(line.number, shown, self);
        }
        Ok(End::Open)
    }
}

/// The lines of one file that go into the answer.
struct Hits {
    lines: Vec<MatchLine>,
    /// The last lines that did not match, in case the next one does.
    before: VecDeque<(u64, String)>,
    /// Lines still to show after a match.
    following: usize,
    /// The last line that matched.
    last: u64,
}

impl Hits {
    /// A very long line comes in pieces, and counts once.
    fn is_last_match(&self, number: u64) -> bool {
        self.last == number
    }

    fn pass(&mut self, number: u64, bytes: &[u8], grep: &mut Grep<'_>) {
        if grep.context == 0 || self.is_last_match(number) {
            return;
        }
        let shown = clip(bytes, 0, grep.limits.match_line);
        if self.following > 0 {
            self.following -= 1;
            self.push(number, shown, false, grep);
            return;
        }
        if self.before.back().is_some_and(|(last, _)| *last == number) {
            return;
        }
        if self.before.len() == grep.context {
            self.before.pop_front();
        }
        self.before.push_back((number, shown));
    }

    fn add_match(&mut self, number: u64, shown: String, grep: &mut Grep<'_>) {
        while let Some((before, shown)) = self.before.pop_front() {
            if before != number {
                self.push(before, shown, false, grep);
            }
        }
        self.push(number, shown, true, grep);
        self.following = grep.context;
        self.last = number;
    }

    fn push(&mut self, line: u64, text: String, matched: bool, grep: &mut Grep<'_>) {
        grep.bytes += text.len() + PER_LINE;
        self.lines.push(MatchLine {
            line,
            text,
            matched,
        });
    }
}

/// At most `most` bytes of a line around `at`, with `…` where it was cut.
fn clip(line: &[u8], at: usize, most: usize) -> String {
    if line.len() <= most {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = text::boundary(
        line,
        at.saturating_sub(LEAD.min(most / 4)).min(line.len() - most),
    );
    let end = start + text::boundary(&line[start..], most);
    let head = if start > 0 { "…" } else { "" };
    let tail = if end < line.len() { "…" } else { "" };
    format!("{head}{}{tail}", String::from_utf8_lossy(&line[start..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_around_the_match() {
        let line = format!("{}needle{}", "é".repeat(500), "x".repeat(500));
        let shown = clip(line.as_bytes(), 1_000, 100);
        assert!(
            shown.starts_with("…é") && shown.contains("needle") && shown.ends_with("x…"),
            "{shown}"
        );
        assert!(shown.len() <= 100 + 2 * "…".len());
        assert_eq!(clip(b"short", 3, 100), "short");
        assert_eq!(clip(&[b'a'; 10], 9, 4), "…aaaa");
        assert_eq!(clip(&[0xe9; 3], 0, 100), "\u{fffd}\u{fffd}\u{fffd}");
    }
}
