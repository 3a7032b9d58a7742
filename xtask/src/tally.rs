//! Counts of what passed, failed and was skipped, and how they are read out of other tools' output. Owns no running of tools.

use std::fmt;
use std::ops::AddAssign;

/// Counted results of one stage or of the whole gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Held.
    pub(crate) passed: usize,
    /// Did not hold.
    pub(crate) failed: usize,
    /// Not tried.
    pub(crate) skipped: usize,
}

/// How a verb ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It ran to its end; the counts say how well.
    Done(Tally),
    /// It cannot run here or has nothing to run, and why.
    Skipped(String),
    /// It could not do its work, and why. Counts as one failure.
    Broken(String),
}

impl Tally {
    /// One thing that held or did not.
    pub(crate) fn one(held: bool) -> Self {
        Self {
            passed: usize::from(held),
            failed: usize::from(!held),
            skipped: 0,
        }
    }

    /// What `cargo nextest` closes with, or else the sum of every closing line of `cargo test`; `None` when there is neither.
    /// A test that prints a line `skipped: WHY` and passes counts as skipped (the runners are told to show output).
    pub(crate) fn from_test_output(text: &str) -> Option<Self> {
        let mut sum: Option<Self> = None;
        let mut summary = None;
        let mut notes = 0;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("test result: ") {
                let counts = rest.split_once(". ").map_or(rest, |(_, counts)| counts);
                *sum.get_or_insert_default() += Self::from_counts(counts);
            }
            let line = line.trim_start();
            if line.starts_with("Summary [") {
                let counts = line.split_once(": ").map_or("", |(_, counts)| counts);
                summary = Some(Self::from_counts(counts));
            } else if line.starts_with("skipped: ") {
                notes += 1;
            }
        }
        let mut tally = summary.or(sum)?;
        let notes = notes.min(tally.passed);
        tally.passed -= notes;
        tally.skipped += notes;
        Some(tally)
    }

    /// The last line of a tool that closes with `NAME: N passed, M failed, K skipped`.
    pub(crate) fn from_last_line(text: &str, name: &str) -> Option<Self> {
        let prefix = format!("{name}: ");
        let line = text.lines().rev().find(|line| line.starts_with(&prefix))?;
        let counts = &line[prefix.len()..];
        counts
            .contains(" passed")
            .then(|| Self::from_counts(counts))
    }

    /// `N passed; M failed; K ignored; …` with either separator.
    fn from_counts(counts: &str) -> Self {
        let mut tally = Self::default();
        for part in counts.split([';', ',']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(word)) = (words.next(), words.next()) else {
                continue;
            };
            let Ok(number) = number.parse::<usize>() else {
                continue;
            };
            match word {
                "passed" => tally.passed += number,
                "failed" | "timed" | "exec" => tally.failed += number,
                "ignored" | "skipped" => tally.skipped += number,
                _ => {}
            }
        }
        tally
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn check(text: &str, expect: &str) {
        let found = Tally::from_test_output(text).map(|tally| tally.to_string());
        assert_eq!(found.as_deref().unwrap_or("none"), expect, "{text}");
    }

    #[test]
    fn test_output_is_summed() {
        check("running 0 tests", "none");
        check(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.00s",
            "5 passed, 1 failed, 1 skipped",
        );
        check(
            "    test result: ok. 1 passed; 0 failed\n     Summary [   0.012s] 5 tests run: 4 passed (1 slow), 1 failed, 2 skipped",
            "4 passed, 1 failed, 2 skipped",
        );
        check(
            "skipped: MCP_SPEC_DIR is not set\ntest result: ok. 3 passed; 0 failed; 0 ignored",
            "2 passed, 0 failed, 1 skipped",
        );
    }

    #[test]
    fn the_last_line_of_a_tool_is_read() {
        let text =
            "peers: 1 passed, 0 failed, 0 skipped\nnoise\npeers: 7 passed, 2 failed, 3 skipped\n";
        let tally = Tally::from_last_line(text, "peers").map(|tally| tally.to_string());
        assert_eq!(tally.as_deref(), Some("7 passed, 2 failed, 3 skipped"));
        assert_eq!(Tally::from_last_line("peers: broken", "peers"), None);
    }
}
