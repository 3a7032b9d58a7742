//! Changes to the text of a file: pieces replaced, line ends and byte order mark kept, the change shown as a diff. Pure: bytes in,
//! bytes out; no disk.

mod diff;
mod nearest;
mod text;

pub(super) use diff::{Diff, unified};
pub(super) use text::Text;

use super::{FilesError, pace::Pace, show};

/// Matches that are told apart by their lines.
const NAMED: usize = 5;

/// Matches that are counted.
const COUNTED: usize = 1_000;

/// One replacement, as it was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edit<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    /// Every match; else there has to be exactly one.
    pub(super) all: bool,
}

/// Makes the edits one after another, each on what the one before left. Gives the number of replacements, or the sentence
/// about the first edit that cannot be made; then the text is worth nothing.
pub(super) fn apply(
    text: &mut Text,
    edits: &[Edit<'_>],
    most: usize,
    pace: &Pace<'_>,
    path: &dyn Fn() -> String,
) -> Result<usize, FilesError> {
    let mut replaced = 0;
    for (number, edit) in edits.iter().enumerate() {
        pace.must_go_on(path)?;
        let done = one(text, *edit, most);
        replaced += done.map_err(|problem| {
            let which = match edits.len() {
                1 => String::new(),
                many => format!("number {} of {many}: ", number + 1),
            };
            FilesError::invalid("edits", format!("{which}{problem} Nothing was written."))
        })?;
    }
    Ok(replaced)
}

fn one(text: &mut Text, edit: Edit<'_>, most: usize) -> Result<usize, String> {
    let (old, new) = (text::unix(edit.old), text::unix(edit.new));
    if old.is_empty() {
        return Err(
            "`oldText` is empty. Send the text to replace; write_file writes a file anew.".into(),
        );
    }
    if old == new {
        return Err("`oldText` and `newText` are the same.".into());
    }
    let found = matches(text.body(), &old, edit.all);
    match found.len() {
        0 => return Err(not_found(text.body(), &old)),
        1 => {}
        _ if edit.all => {}
        many => return Err(ambiguous(text.body(), &found, many)),
    }
    let grown = new
        .len()
        .saturating_sub(old.len())
        .saturating_mul(found.len());
    if text.body().len().saturating_add(grown) > most {
        return Err(format!("the text would have more than {most} bytes."));
    }
    text.replace(&found, old.len(), &new);
    Ok(found.len())
}

/// Where `old` stands. For a replacement of every match they may not overlap; to tell whether there is only one, also those
/// that overlap count, up to a bound.
fn matches(body: &str, old: &str, all: bool) -> Vec<usize> {
    if all {
        return body.match_indices(old).map(|(at, _)| at).collect();
    }
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = body[from..].find(old) {
        found.push(from + at);
        from += at + step;
        if found.len() == COUNTED {
            break;
        }
    }
    found
}

fn ambiguous(body: &str, found: &[usize], many: usize) -> String {
    let lines: Vec<_> = text::lines_of(body, found.iter().take(NAMED).copied())
        .iter()
        .map(u64::to_string)
        .collect();
    let more = if many > NAMED { ", …" } else { "" };
    let or_more = if many == COUNTED { " or more" } else { "" };
    format!(
        "`oldText` is there {many}{or_more} times (lines {}{more}), not once. Send more of the text around the one that is \
         meant, or `replaceAll`.",
        lines.join(", ")
    )
}

fn not_found(body: &str, old: &str) -> String {
    let hint = match nearest::find(body, old) {
        Some(nearest) => nearest.sentence(),
        None => "No line is like it.".into(),
    };
    let begins = show::quoted(
        old.lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or(old),
    );
    format!("`oldText` (it begins {begins}) is there 0 times, not once. {hint}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{super::Limits, *};

    fn edited(before: &str, edits: &[(&str, &str, bool)]) -> Result<String, String> {
        let edits: Vec<_> = edits
            .iter()
            .map(|(old, new, all)| Edit {
                old,
                new,
                all: *all,
            })
            .collect();
        let (limits, never) = (Limits::default(), || false);
        let pace = Pace::new(&limits, &never);
        let mut text = Text::parse(before.as_bytes().to_vec()).unwrap();
        apply(&mut text, &edits, 1_000, &pace, &String::new)
            .map(|_| String::from_utf8(text.to_bytes()).unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn pieces_are_replaced_in_order() {
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str, bool)], &'a str);
        let cases: &[Case<'_>] = &[
            ("a b c", &[("b", "x", false)], "a x c"),
            ("a b c", &[("b", "", false)], "a  c"),
            ("a b c", &[("a b c", "", false)], ""),
            ("aXbXc", &[("X", "-", true)], "a-b-c"),
            ("aaaa", &[("aa", "b", true)], "bb"),
            (
                "one",
                &[("one", "two", false), ("two", "three", false)],
                "three",
            ),
            ("é€", &[("€", "é", false)], "éé"),
            ("a\nb\nc\n", &[("a\nb\n", "x\n", false)], "x\nc\n"),
            ("a\nb\n", &[("b\n", "b\nc\n", false)], "a\nb\nc\n"),
            ("$1 \\1 &", &[("$1", "$0&\\1", false)], "$0&\\1 \\1 &"),
        ];
        for (before, edits, want) in cases {
            assert_eq!(edited(before, edits).as_deref(), Ok(*want), "{before:?}");
        }
    }

    #[test]
    fn line_ends_and_the_mark_are_kept() {
        for (before, old, new, want) in [
            ("a\r\nb\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\n"),
            ("a\r\nb\r\n", "a\r\nb", "a\r\nx", "a\r\nx\r\n"),
            ("a\nb\n", "a\r\nb", "a\r\nx", "a\nx\n"),
            ("a\r\nb\nc\r\n", "b", "b\nx", "a\r\nb\nx\nc\r\n"),
            ("a\r\nb\nc\r\n", "c", "c\nx", "a\r\nb\nc\r\nx\r\n"),
            ("a\r\nb\nc\r\n", "a\nb\nc", "x\ny\nz", "x\r\ny\nz\r\n"),
            ("a\r\nb", "b", "b\nc\n", "a\r\nb\r\nc\r\n"),
            ("\u{feff}a\r\n", "a", "b", "\u{feff}b\r\n"),
            ("a\r\r\nb", "a\r\nb", "x", "a\r\r\nb"),
            ("a\r\r\nb", "a\r", "x", "x\r\nb"),
            ("a\rb", "a", "x\ny", "x\ny\rb"),
        ] {
            let got = edited(before, &[(old, new, false)]);
            match got {
                Ok(got) => assert_eq!(got, want, "{before:?}"),
                Err(error) => assert!(before == want, "{before:?}: {error}"),
            }
        }
    }

    #[test]
    fn what_cannot_be_made_is_told() {
        for (before, old, new, says) in [
            ("a", "", "x", "`oldText` is empty"),
            ("a", "a", "a", "are the same"),
            ("a\r\n", "a\n", "a\r\n", "are the same"),
            (
                "b b\nb",
                "b",
                "x",
                "is there 3 times (lines 1, 1, 2), not once",
            ),
            ("aaa", "aa", "x", "is there 2 times (lines 1, 1), not once"),
            ("éé é", "é", "x", "is there 3 times"),
            (
                "x\ny\n",
                "q",
                "z",
                "is there 0 times, not once. No line is like it.",
            ),
            ("a", "a", &"b".repeat(2_000), "more than 1000 bytes"),
        ] {
            let error = edited(before, &[(old, new, false)]).unwrap_err();
            assert!(
                error.starts_with("Argument `edits`: ") && error.contains(says),
                "{before:?}: {error}"
            );
            assert!(error.ends_with("Nothing was written."), "{error}");
        }
        let many = edited(&"b".repeat(5_000), &[("b", "c", false)]).unwrap_err();
        assert!(
            many.contains("1000 or more times (lines 1, 1, 1, 1, 1, …)"),
            "{many}"
        );
        let second = edited("a", &[("a", "b", false), ("a", "c", false)]).unwrap_err();
        assert!(second.contains("`edits`: number 2 of 2: "), "{second}");
        let growing = edited(&"b".repeat(900), &[("b", "cccc", true)]).unwrap_err();
        assert!(growing.contains("more than 1000 bytes"), "{growing}");
    }

    #[test]
    fn v_410_no_edit_is_slow() {
        let begun = std::time::Instant::now();
        let body = "a".repeat(500_000);
        assert!(edited(&body, &[(&"a".repeat(1_000), "b", false)]).is_err());
        assert!(edited(&body, &[(&format!("{}b", "a".repeat(1_000)), "b", false)]).is_err());
        let lines = "same line here\n".repeat(60_000);
        let other = "same line her\n".repeat(2_000);
        assert!(edited(&lines, &[(&other, "b", false)]).is_err());
        let all = "same line here\n".repeat(2_000) + "x";
        assert!(edited(&lines, &[(&all, "b", false)]).is_err());
        assert!(begun.elapsed() < std::time::Duration::from_secs(20));
    }
}
