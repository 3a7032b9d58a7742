//! The search in one file after another, with the bounds they share. Not which files are searched.

use std::collections::VecDeque;
use std::fmt;

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
    /// The last file that was looked into, and how far.
    reached: Option<(String, Mark)>,
}

/// A line, and where in the file it ends, as far as that is known: from there a search goes on without reading all before it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Mark {
    line: u64,
    end: Option<u64>,
}

impl Mark {
    /// As it stands behind the path: a line, or a line and a byte.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (line, end) = match text.split_once('@') {
            Some((line, end)) => (line, Some(end.parse().ok()?)),
            None => (text, None),
        };
        let line = line.parse().ok()?;
        Some(Self { line, end })
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.line)?;
        self.end.map_or(Ok(()), |end| write!(f, "@{end}"))
    }
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
            reached: None,
        }
    }

    /// Searches one file behind the line `after`.
    pub(super) fn search(&mut self, place: &Place<'_>, after: Mark) -> Result<End, FilesError> {
        let mut hits = Hits {
            lines: Vec::new(),
            before: VecDeque::new(),
            following: 0,
            last: 0,
            mark: after,
        };
        let end = self.lines_of(place, after, &mut hits);
        let is_late = matches!(end, Err(FilesError::TimeUp { .. }));
        // A file in which nothing was read is not reached: the search goes on behind the one before it.
        if !is_late || hits.mark != after {
            self.reached = Some((place.shown(), hits.mark));
        }
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

    /// What to send as `after` to go on where the time ended; none where that would be the same again.
    pub(super) fn to_go_on(&self, sent: Option<&str>) -> Option<String> {
        let (path, mark) = self.reached.as_ref()?;
        let after = format!("{path}:{mark}");
        (sent != Some(&*after)).then(|| show::quoted_whole(&after))
    }

    pub(super) fn finish(self, end: End, sent: Option<&str>) -> SearchContentsResult {
        let mut notes = Vec::new();
        match (end, &self.last) {
            (End::Full, Some((path, line))) => {
                let after = show::quoted_whole(&format!("{path}:{line}"));
                notes.push(format!(
                    "There are more matches: go on with after={after}, or narrow `path` or `glob`."
                ));
            }
            (End::Time, _) => {
                let seconds = self.limits.time.as_secs();
                let go_on = self
                    .to_go_on(sent)
                    .map(|after| format!("go on with after={after}, or "));
                notes.push(format!(
                    "Stopped after {seconds} s, before everything was searched: {}narrow `path` or `glob`.",
                    go_on.unwrap_or_default()
                ));
            }
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
        after: Mark,
        hits: &mut Hits,
    ) -> Result<End, FilesError> {
        let (file, _) = place.open_file()?;
        let mut source = Source::open(place, file, self.pace)?;
        if let Some(end) = after.end {
            // Where no line ends, the file is another one, and its lines are counted.
            source.skip_to(after.line, end)?;
        }
        while let Some(line) = source.next_line()? {
            if line.bytes.contains(&0) {
                let found = text::bad_byte(0, Some(line.number));
                return Err(FilesError::NotText {
                    path: place.shown(),
                    found,
                });
            }
            if line.number <= after.line {
                continue;
            }
            let mark = line.end.map(|end| Mark {
                line: line.number,
                end: Some(end),
            });
            let Some(found) = self
                .matcher
                .find(line.bytes, self.pace, &|| place.shown())?
            else {
                hits.pass(line.number, line.bytes, self);
                hits.mark = mark.unwrap_or(hits.mark);
                continue;
            };
            if hits.is_last_match(line.number) {
                hits.mark = mark.unwrap_or(hits.mark);
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
            hits.mark = mark.unwrap_or(hits.mark);
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
    /// The last line that was looked at to its end.
    mark: Mark,
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
