//! What is looked for in a line, in time that is bounded whatever the pattern and the line. Not where lines come from.

use regex_automata::{
    Input,
    meta::{Config, Regex},
    util::syntax,
};

use super::{
    super::super::{FilesError, pace::Pace},
    SearchContents,
};

/// Longest pattern.
const LONGEST: usize = 4_000;

/// Bytes a compiled pattern may take. Patterns with long counted repetitions of Unicode classes lie above it.
const COMPILED: usize = 1024 * 1024;

/// Bytes of the pattern in memory times bytes of a line that are searched in one go. The slowest patterns that were found
/// take 0.25 ns for each, such as `(a?){3000}a{3000}` on a row of `a`; so one go takes about a second at most.
const GO: usize = 4_000_000_000;

/// Least bytes searched in one go.
const LEAST: usize = 4 * 1024;

/// A compiled pattern.
pub(super) struct Matcher {
    regex: Regex,
    /// Bytes searched in one go, and at most so many between two looks at whether to go on.
    go: usize,
    since: usize,
}

impl Matcher {
    pub(super) fn new(args: &SearchContents) -> Result<Self, FilesError> {
        let pattern = &args.pattern;
        if pattern.is_empty() || pattern.len() > LONGEST {
            return Err(refused(&format!("send 1 to {LONGEST} bytes.")));
        }
        if pattern.contains('\n') {
            return Err(refused(
                "lines are searched one by one, so it cannot contain a line end.",
            ));
        }
        let pattern = if args.literal {
            escape(pattern)
        } else {
            pattern.clone()
        };
        // Lines may be in another encoding, so neither patterns nor matches have to be whole characters.
        let syntax = syntax::Config::new()
            .case_insensitive(args.ignore_case)
            .utf8(false)
            .nest_limit(100);
        let config = Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(COMPILED))
            .onepass_size_limit(Some(COMPILED));
        let regex = Regex::builder()
            .syntax(syntax)
            .configure(config)
            .build(&pattern)
            .map_err(|error| {
                let reason = match error.syntax_error() {
                    // The first lines of a syntax error draw a picture; the last one says it.
                    Some(error) => error
                        .to_string()
                        .lines()
                        .last()
                        .unwrap_or_default()
                        .replace("error: ", ""),
                    None => "it is too large once compiled; shorten its repetitions".into(),
                };
                refused(&format!(
                    "{reason}. With literal=true it is searched for as it is."
                ))
            })?;
        let go = (GO / regex.memory_usage().max(1)).max(LEAST);
        Ok(Self {
            regex,
            go,
            since: 0,
        })
    }

    /// Where in the line the first match begins. A line longer than one go is searched in overlapping spans: a match of
    /// more than a quarter of a span may then be missed.
    pub(super) fn find(
        &mut self,
        line: &[u8],
        pace: &Pace<'_>,
        path: &dyn Fn() -> String,
    ) -> Result<Option<usize>, FilesError> {
        let mut start = 0;
        loop {
            let end = line.len().min(start + self.go);
            self.since += end - start;
            if self.since >= self.go {
                pace.must_go_on(path)?;
                self.since = 0;
            }
            // Anchors and word borders look at the whole line, not at the span.
            let found = self.regex.search(&Input::new(line).range(start..end));
            if found.is_some() || end == line.len() {
                return Ok(found.map(|found| found.start()));
            }
            start += self.go / 4 * 3;
        }
    }
}

fn refused(problem: &str) -> FilesError {
    FilesError::invalid("pattern", problem)
}

/// The text as a pattern that matches it and nothing else.
fn escape(text: &str) -> String {
    let mut pattern = String::new();
    for character in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::files::Limits;

    fn find(pattern: &str, literal: bool, go: usize, line: &str) -> Option<usize> {
        let args = SearchContents {
            pattern: pattern.into(),
            literal,
            ..SearchContents::default()
        };
        let mut matcher = Matcher {
            go,
            ..Matcher::new(&args).unwrap()
        };
        let pace = Pace::new(&Limits::default(), &|| false);
        matcher.find(line.as_bytes(), &pace, &String::new).unwrap()
    }

    #[test]
    fn literal_text_is_found_as_it_is() {
        let every: String = (' '..='~').collect();
        assert_eq!(
            find(&every, true, usize::MAX / 2, &format!("x{every}")),
            Some(1)
        );
        assert_eq!(find("a.c", true, usize::MAX / 2, "abc a.c"), Some(4));
    }

    #[test]
    fn spans_see_what_the_line_sees() {
        let line = format!("{}needle{}", "x".repeat(1_000), " y".repeat(500));
        for go in [40, 41, 64, 100, 999, 1_003, 5_000] {
            for (pattern, want) in [
                ("needle", Some(1_000)),
                ("^needle", None),
                ("^x", Some(0)),
                ("^y", None),
                ("y$", Some(line.len() - 1)),
                ("x$", None),
                (r"\by\b", Some(1_007)),
                (r"x\b", None),
            ] {
                assert_eq!(find(pattern, false, go, &line), want, "{pattern} by {go}");
            }
        }
    }

    #[test]
    fn v_410_one_go_is_short_for_large_patterns() {
        let go = |pattern: &str| {
            let args = SearchContents {
                pattern: pattern.into(),
                ..SearchContents::default()
            };
            Matcher::new(&args).unwrap().go
        };
        assert!(go("needle") > 1024 * 1024);
        assert!(go("(a?){3000}a{3000}") < 20_000);
    }
}
