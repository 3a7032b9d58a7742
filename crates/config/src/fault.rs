//! What is wrong with a configuration file: where, in which field, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// What is wrong, and where.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// The field, as in `servers.github.env.TOKEN`; empty where it is the whole file.
    pub field: String,
    /// What is wrong.
    pub why: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Fault {
    /// One about a whole file.
    pub fn of(file: &Path, why: impl fmt::Display) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            field: String::new(),
            why: why.to_string(),
            hint: None,
        }
    }

    /// The same at this line.
    #[must_use]
    pub fn at(self, line: usize) -> Self {
        Self {
            line: Some(line),
            ..self
        }
    }

    /// The same of this field.
    #[must_use]
    pub fn field(self, field: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            ..self
        }
    }

    /// The same with something to do.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        write!(f, ": {}", self.why)
    }
}

impl std::error::Error for Fault {}

/// The known word that is nearest to one that is not known, if one is near.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(1);
    let scored = known
        .into_iter()
        .map(|name| (distance(word, name), name))
        .filter(|(far, _)| *far <= allowed);
    scored.min_by_key(|(far, _)| *far).map(|(_, name)| name)
}

/// How many letters must be changed, added, left out or swapped with the next one.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let swap = usize::from(!x.eq_ignore_ascii_case(y));
            let mut best = (last[j] + swap).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found() {
        let known = ["github", "gitlab", "notes"];
        for (word, want) in [
            ("githbu", Some("github")),
            ("GitHub", Some("github")),
            ("note", Some("notes")),
            ("n", None),
            ("slack", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), want, "{word}");
        }
    }
}
