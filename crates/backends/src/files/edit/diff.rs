//! The difference of two texts as `git diff` shows it, as much of it as there is room for.

use std::{fmt::Write as _, time::Duration};

use similar::TextDiff;

/// How long the shortest difference is looked for; then a longer one will do.
const PATIENCE: Duration = Duration::from_secs(2);

/// A difference.
#[derive(Debug, Eq, PartialEq)]
pub(in super::super) struct Diff {
    pub(in super::super) text: String,
    /// Lines of it that there was no room for.
    pub(in super::super) left: usize,
}

/// The difference between two texts of one file, at most so many bytes and whole lines of it.
pub(in super::super) fn unified(path: &str, old: &str, new: &str, most: usize) -> Diff {
    let (old, new): (Vec<_>, Vec<_>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
    let diff = TextDiff::configure()
        .timeout(PATIENCE)
        .newline_terminated(true)
        .diff_slices(&old, &new);
    let mut diff_lines = Bounded {
        text: String::new(),
        most,
        left: 0,
    };
    for hunk in diff.unified_diff().iter_hunks() {
        if diff_lines.text.is_empty() {
            diff_lines.push(format_args!("--- a/{path}\n+++ b/{path}\n"));
        }
        diff_lines.push(format_args!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            diff_lines.push(format_args!("{}{}", change.tag(), change.value()));
            if !change.value().ends_with('\n') {
                diff_lines.push(format_args!("\n\\ No newline at end of file\n"));
            }
        }
    }
    Diff {
        text: diff_lines.text,
        left: diff_lines.left,
    }
}

/// A text that grows up to a bound, and counts what comes after it.
struct Bounded {
    text: String,
    most: usize,
    left: usize,
}

impl Bounded {
    fn push(&mut self, line: std::fmt::Arguments<'_>) {
        if self.left > 0 {
            self.left += 1;
            return;
        }
        let before = self.text.len();
        // Writing to a `String` cannot fail.
        let _ = self.text.write_fmt(line);
        if self.text.len() > self.most {
            self.text.truncate(before);
            self.left = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_those_of_git() {
        for (old, new, want) in [
            ("a\n", "a\n", ""),
            (
                "a\nb\nc\n",
                "a\nx\nc\n",
                "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n",
            ),
            (
                "a",
                "b",
                "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
            ),
            (
                "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
                "1\n2\n3\n4\n5\n6\n7\n8\n9\nx\r\n",
                "--- a/f\n+++ b/f\n@@ -7,3 +7,4 @@\n 7\n 8\n 9\n+x\r\n",
            ),
        ] {
            assert_eq!(unified("f", old, new, 1_000).text, want);
        }
    }

    #[test]
    fn a_long_difference_is_cut_between_lines() {
        let (old, new) = ("a\n".repeat(50), "b\n".repeat(50));
        let whole = unified("f", &old, &new, 1_000);
        assert_eq!((whole.text.lines().count(), whole.left), (103, 0));
        let cut = unified("f", &old, &new, 100);
        assert!(
            cut.text.len() <= 100 && cut.text.ends_with("-a\n"),
            "{cut:?}"
        );
        assert_eq!(cut.text.lines().count() + cut.left, 102 + 1);
    }
}
