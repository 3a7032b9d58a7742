//! A piece of a text file by lines, with what it takes to get the next one. Shared by the operations that read text.

use std::io::{Read as _, Seek as _, SeekFrom};

use cap_std::fs::File;

use super::{
    FilesError, Limits, lines::Source, lines::count_newlines, pace::Pace, place::Place, text,
};

/// Smallest room for text, so that every answer has at least one character and reading on comes to an end.
const LEAST: usize = 64;

/// Which piece is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Want {
    /// From a byte in a line, both counted from 1, for so many lines.
    From { line: u64, column: u64, lines: u64 },
    /// So many lines at the end.
    Tail(u64),
}

/// The piece.
#[derive(Debug)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Number of the first line; unknown at the end of a file that is too large to count.
    pub(crate) first: Option<u64>,
    /// Lines in the text, also begun ones.
    pub(crate) lines: u64,
    /// Lines in the file, unless that is too large to count.
    pub(crate) total: Option<u64>,
    pub(crate) size: u64,
    pub(crate) cut: Cut,
}

/// Where the piece ended, and so how to go on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Cut {
    /// Nothing is left.
    Nowhere,
    /// More lines follow.
    Before { line: u64 },
    /// The rest of one very long line follows.
    Inside { line: u64, column: u64 },
    /// Lines at the end were asked for, and not all of them fit.
    Early,
}

impl Excerpt {
    /// What was left out and how to get it; nothing when the text is the whole file.
    pub(crate) fn note(&self) -> Option<String> {
        if self.size == 0 && self.text.is_empty() {
            return Some("The file is empty.".into());
        }
        let is_whole = self.cut == Cut::Nowhere && self.first == Some(1);
        if is_whole && self.total.is_none_or(|total| total <= self.lines) {
            return None;
        }
        let shown = self.shown();
        Some(match (self.cut, self.first) {
            (Cut::Before { line }, _) => {
                format!("{shown} The rest: read_text_file with offset={line}.")
            }
            (Cut::Inside { line, column }, _) => {
                format!(
                    "{shown} Line {line} is too long for one answer; its rest: read_text_file with offset={line}, column={column}."
                )
            }
            (Cut::Early, Some(first)) => format!(
                "{shown} Not all the lines asked for fit; earlier ones: read_text_file with offset up to {}.",
                first - 1
            ),
            (Cut::Early, None) => {
                format!(
                    "{shown} Not all the lines asked for fit; search_contents finds earlier ones."
                )
            }
            (Cut::Nowhere, _) => shown,
        })
    }

    fn shown(&self) -> String {
        let Some(first) = self.first else {
            let lines = usize::try_from(self.lines).unwrap_or(usize::MAX);
            return format!(
                "The last {} of a file too large to count its lines.",
                super::show::count(lines, "line", "lines")
            );
        };
        let last = first + self.lines.max(1) - 1;
        let range = if first == last {
            format!("Line {first}")
        } else {
            format!("Lines {first}-{last}")
        };
        match self.total {
            Some(total) => format!("{range} of {total}."),
            None => format!("{range}."),
        }
    }
}

/// Reads the piece with at most `room` bytes of text.
pub(crate) fn read(
    place: &Place<'_>,
    want: Want,
    room: usize,
    limits: &Limits,
    pace: &Pace<'_>,
) -> Result<Excerpt, FilesError> {
    let (file, metadata) = place.open_file()?;
    let size = metadata.len();
    let room = room.max(LEAST);
    let reader = Reader {
        place,
        pace,
        limits,
        size,
        room,
    };
    match want {
        Want::From {
            line,
            column,
            lines,
        } => reader.forward(file, line, column, lines),
        Want::Tail(lines) => reader.tail(file, lines),
    }
}

/// Counts the lines of a text file; nothing if it is too large or not text.
pub(crate) fn count(
    place: &Place<'_>,
    most: u64,
    pace: &Pace<'_>,
) -> Result<Option<u64>, FilesError> {
    let (file, metadata) = place.open_file()?;
    if metadata.len() > most {
        return Ok(None);
    }
    match Source::open(place, file, pace) {
        Ok(mut source) => source.count_rest().map(Some),
        Err(FilesError::NotText { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

struct Reader<'a> {
    place: &'a Place<'a>,
    pace: &'a Pace<'a>,
    limits: &'a Limits,
    size: u64,
    room: usize,
}

impl Reader<'_> {
    fn forward(
        &self,
        file: File,
        line: u64,
        column: u64,
        lines: u64,
    ) -> Result<Excerpt, FilesError> {
        let mut source = Source::open(self.place, file, self.pace)?;
        self.skip_to_line(&mut source, line)?;
        self.skip_to_column(&mut source, line, column)?;
        let (mut bytes, is_full) = self.take(&mut source, lines)?;
        let mut cut = Cut::Nowhere;
        if is_full {
            let kept = match bytes[..self.room].iter().rposition(|byte| *byte == b'\n') {
                Some(end) => end + 1,
                None => text::boundary(&bytes, self.room),
            };
            bytes.truncate(kept);
            let next = line + count_newlines(&bytes);
            cut = if next == line {
                Cut::Inside {
                    line,
                    column: column + kept as u64,
                }
            } else {
                Cut::Before { line: next }
            };
        } else if !source.peek().is_empty() || source.more()? {
            cut = Cut::Before {
                line: source.line(),
            };
        }
        let total = if self.size <= self.limits.count_bytes {
            Some(source.count_rest()?)
        } else {
            None
        };
        let text = self.text(bytes, Some(line))?;
        Ok(Excerpt {
            lines: lines_in(&text),
            text,
            first: Some(line),
            total,
            size: self.size,
            cut,
        })
    }

    fn skip_to_line(&self, source: &mut Source<'_>, line: u64) -> Result<(), FilesError> {
        let mut skipped: u64 = 0;
        while source.line() < line {
            let unread = source.peek();
            if unread.is_empty() {
                if !source.more()? {
                    return Err(beyond_end(source));
                }
                continue;
            }
            let missing = usize::try_from(line - source.line()).unwrap_or(usize::MAX);
            let length = length_of_lines(unread, missing);
            source.consume(length);
            skipped += length as u64;
            if skipped > self.limits.scan_bytes {
                let problem = format!(
                    "line {line} lies more than {} into the file. `tail` reads its end, search_contents finds text in it.",
                    super::show::size(self.limits.scan_bytes)
                );
                return Err(FilesError::invalid("offset", problem));
            }
        }
        // The line after the last newline is only one if it has a character; in an empty file it is the first all the same.
        if line > 1 && source.peek().is_empty() && !source.more()? {
            return Err(beyond_end(source));
        }
        Ok(())
    }

    fn skip_to_column(
        &self,
        source: &mut Source<'_>,
        line: u64,
        column: u64,
    ) -> Result<(), FilesError> {
        let mut missing = column - 1;
        while missing > 0 {
            let unread = source.peek();
            if unread.is_empty() {
                if source.more()? {
                    continue;
                }
            } else if unread[0] != b'\n' {
                let line_end = unread
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .unwrap_or(unread.len());
                let length = line_end.min(usize::try_from(missing).unwrap_or(usize::MAX));
                source.consume(length);
                missing -= length as u64;
                continue;
            }
            let length = column - 1 - missing;
            return Err(FilesError::invalid(
                "column",
                format!("line {line} has only {length} bytes."),
            ));
        }
        if column > 1 {
            // Into the middle of a character: go to the next one.
            while source.peek().is_empty() && source.more()? {}
            source.consume(rest_of_character(source.peek()));
        }
        Ok(())
    }

    /// Bytes of up to `lines` lines, and whether there were more than there is room for.
    fn take(&self, source: &mut Source<'_>, lines: u64) -> Result<(Vec<u8>, bool), FilesError> {
        let mut bytes = Vec::new();
        let mut missing = usize::try_from(lines).unwrap_or(usize::MAX);
        while missing > 0 {
            let unread = source.peek();
            if unread.is_empty() {
                if source.more()? {
                    continue;
                }
                break;
            }
            let length = length_of_lines(unread, missing).min(self.room + 1 - bytes.len());
            let taken = &unread[..length];
            bytes.extend_from_slice(taken);
            missing -= usize::try_from(count_newlines(taken)).unwrap_or(usize::MAX);
            source.consume(length);
            if bytes.len() > self.room {
                return Ok((bytes, true));
            }
        }
        Ok((bytes, false))
    }

    fn tail(&self, mut file: File, lines: u64) -> Result<Excerpt, FilesError> {
        let fault = |error| self.place.fault(error);
        let mut source = Source::open(self.place, file.try_clone().map_err(fault)?, self.pace)?;
        let total = if self.size <= self.limits.count_bytes {
            Some(source.count_rest()?)
        } else {
            None
        };
        // The two handles share one position, so the end is read after the count.
        let bom = if source.has_bom() { 3 } else { 0 };
        drop(source);
        let room = self.room as u64;
        let from = self.size.saturating_sub(room).max(bom);
        file.seek(SeekFrom::Start(from)).map_err(fault)?;
        let mut window = Vec::new();
        file.take(room).read_to_end(&mut window).map_err(fault)?;
        let wanted = usize::try_from(lines).unwrap_or(usize::MAX);
        let (start, fits) = start_of_last_lines(&window, wanted);
        let is_cut = !fits && from > bom;
        let start = if is_cut {
            first_whole_line(&window)
        } else {
            start
        };
        let text = self.text(window.split_off(start), None)?;
        let lines = lines_in(&text);
        let first = total.map(|total| (total + 1).saturating_sub(lines).max(1));
        let cut = if is_cut { Cut::Early } else { Cut::Nowhere };
        Ok(Excerpt {
            text,
            first,
            lines,
            total,
            size: self.size,
            cut,
        })
    }

    fn text(&self, bytes: Vec<u8>, first: Option<u64>) -> Result<String, FilesError> {
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            let line = first.map(|first| first + count_newlines(&bytes[..valid]));
            let found = text::bad_byte(bytes[valid], line);
            FilesError::NotText {
                path: self.place.shown(),
                found,
            }
        })
    }
}

fn beyond_end(source: &Source<'_>) -> FilesError {
    let lines = source.lines_passed();
    FilesError::invalid("offset", format!("the file ends with line {lines}."))
}

/// Bytes of the next `lines` lines (at least one) with their ends; of all there are if they are fewer.
fn length_of_lines(unread: &[u8], lines: usize) -> usize {
    let ends = unread
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n');
    ends.map(|(at, _)| at + 1)
        .nth(lines - 1)
        .unwrap_or(unread.len())
}

/// Bytes at the head that belong to a character that began before.
fn rest_of_character(bytes: &[u8]) -> usize {
    let inside = bytes.iter().take(3);
    inside
        .take_while(|byte| text::is_continuation(**byte))
        .count()
}

/// Where the last `wanted` lines start, and whether the window has that many.
fn start_of_last_lines(window: &[u8], wanted: usize) -> (usize, bool) {
    let body = window.strip_suffix(b"\n").unwrap_or(window);
    let newlines = body
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, byte)| **byte == b'\n');
    match newlines.map(|(at, _)| at + 1).nth(wanted - 1) {
        Some(start) => (start, true),
        None => (0, false),
    }
}

/// Behind the line that the window begins inside of; if it has no other, behind a cut character.
fn first_whole_line(window: &[u8]) -> usize {
    let newline = window
        .iter()
        .position(|byte| *byte == b'\n')
        .map(|at| at + 1);
    match newline.filter(|start| *start < window.len()) {
        Some(start) => start,
        None => rest_of_character(window),
    }
}

fn lines_in(text: &str) -> u64 {
    count_newlines(text.as_bytes()) + u64::from(!text.is_empty() && !text.ends_with('\n'))
}
