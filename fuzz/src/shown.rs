//! The check of what is shown on a terminal of what servers say.

use polyport_cli::fuzzing::{harmless, visible, word};

/// Reads `data` as a text.
///
/// - Nothing in what is shown of it moves a cursor or turns words round. A text without such things is shown as it is.
/// - What cannot be seen is written out where somebody has to agree.
/// - As a word of a shell it is one word to the shell, and that word is the text.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let shown = harmless(&text);
    assert!(!shown.contains(acts), "{shown:?}");
    assert_eq!(shown.chars().count(), text.chars().count());
    for (shown, said) in shown.chars().zip(text.chars()) {
        assert!(shown == said || shown == '\u{fffd}', "{said:?}");
    }
    if text.is_ascii() && !text.contains(acts) {
        assert_eq!(shown, text);
    }
    let written = visible(&text);
    assert!(!written.contains(acts), "{written:?}");
    if !text.contains(acts) && text.is_ascii() {
        assert_eq!(written, text);
    }
    assert_eq!(read(&word(&text)).as_deref(), Some(&*text));
}

/// Is it more to a terminal than a sign?
fn acts(c: char) -> bool {
    let turns =
        matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    turns || c.is_control() && !matches!(c, '\n' | '\t')
}

/// A word as the POSIX shell reads it. None: it is not one word, or more than a word.
fn read(word: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = word;
    // In zsh the path of a command.
    if word.is_empty() || word.starts_with('=') {
        return None;
    }
    while let Some(c) = rest.chars().next() {
        if let Some(quoted) = rest.strip_prefix('\'') {
            let (inner, after) = quoted.split_once('\'')?;
            text.push_str(inner);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("\\'") {
            text.push('\'');
            rest = after;
        } else if c.is_alphanumeric() || "/._-+,:@%=".contains(c) {
            text.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            return None;
        }
    }
    Some(text)
}
