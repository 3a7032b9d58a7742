//! What people read: everything but results goes to standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use serde_json::json;

use crate::limit::Person;
use crate::paint;

/// Whether standard error carries JSON objects, one on each line.
static JSON: AtomicBool = AtomicBool::new(false);
/// Whether standard output carries one JSON document, and standard error nothing but how that failed.
static DOCUMENT: AtomicBool = AtomicBool::new(false);
/// Whether a line of status stands on the terminal.
static STATUS: AtomicBool = AtomicBool::new(false);
/// Whether somebody is asked something.
static ASKING: AtomicBool = AtomicBool::new(false);
/// Whether nothing is said but results and failures.
static QUIET: AtomicBool = AtomicBool::new(false);
/// How much more than usual is said.
static VERBOSE: AtomicU8 = AtomicU8::new(0);

/// From now on what is said is a JSON object, as the lines of the log are.
pub(crate) fn say_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// From now on standard error says only how it failed, as a JSON object.
pub(crate) fn say_document() {
    DOCUMENT.store(true, Ordering::Relaxed);
}

/// Is that so?
pub(crate) fn is_document() -> bool {
    DOCUMENT.load(Ordering::Relaxed)
}

/// From now on nothing is said but results and failures.
pub(crate) fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Is that so?
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// From now on this much more is said.
pub(crate) fn set_verbose(times: u8) {
    VERBOSE.store(times, Ordering::Relaxed);
}

/// How much more is said.
pub(crate) fn verbose() -> u8 {
    VERBOSE.load(Ordering::Relaxed)
}

/// A text in which nothing moves the cursor, colours a terminal or turns its words round: servers write some of what is said.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    // What joins letters and signs may stay.
    let harmful = |c: char| is_hidden(c) && !matches!(c, '\u{200c}' | '\u{200d}');
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if harmful(c) { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// A text of somebody else on the line on which it is shown: a name that goes on below would say something of its own there.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\r', '\t']) {
        return Cow::Borrowed(text);
    }
    let text = text.replace('\n', "\\n").replace('\r', "\\r");
    Cow::Owned(text.replace('\t', "\\t"))
}

/// Does a terminal do something about it instead of showing it?
fn is_hidden(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// A text in which what cannot be seen is written out: what somebody agrees to must be what they read.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        if is_hidden(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Writes to standard error. A reader that is gone is no failure.
pub(crate) fn say(text: &str) {
    let text = &*harmless(text);
    let _ = if JSON.load(Ordering::Relaxed) {
        let line =
            json!({"level": "INFO", "fields": {"message": text.trim_end()}, "target": "polyport"});
        Stderr.write_all(format!("{line}\n").as_bytes())
    } else {
        Stderr.write_all(paint::said(text).as_bytes())
    };
}

/// Says something that a program which reads a document from us has no use for, and who wants quiet neither.
pub(crate) fn note(text: &str) {
    if !is_document() && !is_quiet() {
        say(text);
    }
}

/// Writes one line to standard error.
pub(crate) fn line(text: &str) {
    let _ = Stderr.write_all(format!("{}\n", harmless(text)).as_bytes());
}

/// Columns of the terminal that standard output is; none: it is none.
pub(crate) fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(match size.ws_col {
        0 => 80,
        columns => columns.into(),
    })
}

/// Can standard error show a line in place of the one before?
pub(crate) fn has_status() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// No status is shown as long as somebody is asked something, and no time of a server's goes by.
#[derive(Debug)]
pub(crate) struct Asking {
    _person: Person,
}

impl Asking {
    /// Begins to ask.
    pub(crate) fn begin() -> Self {
        ASKING.store(true, Ordering::Relaxed);
        clear_status();
        Self {
            _person: Person::begin(),
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        ASKING.store(false, Ordering::Relaxed);
    }
}

/// Shows one line of status on a terminal, in place of the one before. A line that is wider than it would stay there.
pub(crate) fn status(line: &str) {
    if ASKING.load(Ordering::Relaxed) {
        return;
    }
    let size = rustix::termios::tcgetwinsize(io::stderr());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    let most = if columns == 0 { 79 } else { columns - 1 };
    let line: String = harmless(line).chars().filter(|c| !c.is_control()).collect();
    let line: String = line.chars().take(most.min(120)).collect();
    STATUS.store(true, Ordering::Relaxed);
    let _ = Stderr.write_all(format!("\r\x1b[2K{line}").as_bytes());
}

/// Takes that line away, if there is one.
pub(crate) fn clear_status() {
    if STATUS.swap(false, Ordering::Relaxed) {
        let _ = Stderr.write_all(b"\r\x1b[2K");
    }
}

/// Standard error as a writer that never fails: nobody may be reading, and that ends no call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().lock().write_all(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A path on one line, so that it can be pasted into a shell where its characters allow it.
pub(crate) fn path(path: &Path) -> String {
    let text = path.display().to_string();
    if text.chars().any(char::is_control) {
        return format!("{text:?}");
    }
    word(&text)
}

/// A text as one word of a shell.
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    // What begins with = is the path of a command to zsh.
    if !text.is_empty() && !text.starts_with('=') && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The beginning of a text that is too wide.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let beginning = text.chars().take(width.saturating_sub(1));
    let beginning: String = beginning.collect();
    format!("{}…", beginning.trim_end())
}

/// The end of a text that is too wide, which in a path says more than its beginning.
pub(crate) fn tail(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let end: String = text.chars().skip(length + 1 - width).collect();
    format!("…{end}")
}

/// `1 tool`, `1,098 tools`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{} {what}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// A number with its thousands apart, as in 1,098.
pub(crate) fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        for (n, want) in [
            (0, "0 tools"),
            (1, "1 tool"),
            (999, "999 tools"),
            (1000, "1,000 tools"),
            (1_234_567, "1,234,567 tools"),
        ] {
            assert_eq!(count(n, "tool"), want);
        }
    }

    // req: S-SHELL
    #[test]
    fn what_is_said_moves_no_cursor() {
        for (text, want) in [
            ("plain\n\ttext é", "plain\n\ttext é"),
            ("a\u{1b}[2J\u{7}\r", "a\u{fffd}[2J\u{fffd}\u{fffd}"),
            ("\u{9b}31m", "\u{fffd}31m"),
        ] {
            assert_eq!(harmless(text), want);
        }
    }

    // req: V-508
    #[test]
    fn v_508_a_name_stays_on_its_line() {
        for (text, want) in [("plain é", "plain é"), ("a\nb\r\n\tc", "a\\nb\\r\\n\\tc")] {
            assert_eq!(one_line(text), want);
        }
    }

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        for (text, want) in [
            ("plain é\t\n", "plain é\t\n"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("\u{1b}[2J\u{200b}", "\\u{1b}[2J\\u{200b}"),
            ("\u{e0041}", "\\u{e0041}"),
        ] {
            assert_eq!(visible(text), want);
        }
    }

    #[test]
    fn paths_can_be_pasted() {
        for (text, want) in [
            ("./notes", "./notes"),
            ("", "''"),
            ("my notes", "'my notes'"),
            ("it's", "'it'\\''s'"),
            ("~/notes", "'~/notes'"),
            ("a=~", "'a=~'"),
            ("=ls", "'=ls'"),
            ("é", "é"),
            ("a\u{1b}[2J", "\"a\\u{1b}[2J\""),
        ] {
            assert_eq!(path(Path::new(text)), want);
        }
    }

    #[test]
    fn wide_texts_keep_their_end() {
        for (text, width, want) in [("abc", 3, "abc"), ("abcd", 3, "…cd"), ("äöüß", 2, "…ß")]
        {
            assert_eq!(tail(text, width), want);
        }
    }
}
