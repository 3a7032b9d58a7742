//! Patterns for paths, as `.gitignore` reads them: without a slash for names at any depth, with one for paths.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::{FilesError, Kind};

/// Longest pattern; a globset grows with it.
const LONGEST: usize = 1_000;

/// Most patterns in one list.
const MOST: usize = 64;

/// One glob.
#[derive(Debug)]
pub(crate) struct Pattern {
    matcher: GlobMatcher,
    by_name: bool,
    directories_only: bool,
    asks_hidden: bool,
    has_wildcard: bool,
}

impl Pattern {
    pub(crate) fn new(argument: &'static str, text: &str) -> Result<Self, FilesError> {
        if text.is_empty() || text.len() > LONGEST {
            return Err(FilesError::invalid(
                argument,
                format!("a glob has 1 to {LONGEST} bytes, such as `**/*.md`."),
            ));
        }
        let directories_only = text.ends_with('/');
        let trimmed = text.trim_end_matches('/');
        let trimmed = trimmed.strip_prefix("./").unwrap_or(trimmed);
        let by_name = !trimmed.contains('/');
        let glob = GlobBuilder::new(trimmed.trim_start_matches('/'))
            .literal_separator(true)
            .build();
        let glob = glob.map_err(|error| {
            FilesError::invalid(
                argument,
                format!(
                    "not a glob: {}. `*`, `**`, `?`, `[a-z]` and `{{a,b}}` are known.",
                    error.kind()
                ),
            )
        })?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            by_name,
            directories_only,
            asks_hidden: trimmed.split('/').any(|part| part.starts_with('.')),
            has_wildcard: trimmed.contains(['*', '?', '[', '{']),
        })
    }

    /// Whether the pattern names something hidden itself.
    pub(crate) fn asks_hidden(&self) -> bool {
        self.asks_hidden
    }

    pub(crate) fn has_wildcard(&self) -> bool {
        self.has_wildcard
    }

    /// `path` is relative to where the search starts.
    pub(crate) fn matches(&self, path: &Path, kind: Kind) -> bool {
        if self.directories_only && kind != Kind::Directory {
            return false;
        }
        let subject = if self.by_name {
            path.file_name().map(Path::new)
        } else {
            Some(path)
        };
        subject.is_some_and(|subject| self.matcher.is_match(subject))
    }
}

/// Globs of which one is enough.
#[derive(Debug, Default)]
pub(crate) struct Patterns(Vec<Pattern>);

impl Patterns {
    pub(crate) fn new(argument: &'static str, texts: &[String]) -> Result<Self, FilesError> {
        if texts.len() > MOST {
            return Err(FilesError::invalid(
                argument,
                format!("at most {MOST} patterns."),
            ));
        }
        texts
            .iter()
            .map(|text| Pattern::new(argument, text))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(crate) fn any_matches(&self, path: &Path, kind: Kind) -> bool {
        self.0.iter().any(|pattern| pattern.matches(path, kind))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_decides_what_is_matched() {
        for (glob, path, want) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/deep/a.rs", true),
            ("/*.rs", "a.rs", true),
            ("/*.rs", "src/a.rs", false),
            ("./*.rs", "src/a.rs", true),
            ("**/*.rs", "a.rs", true),
            ("**/*.rs", "src/deep/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/**", "src/deep/a.rs", true),
            ("*.{md,txt}", "x/a.txt", true),
            ("[!a]*", "b", true),
            ("a?c", "abc", true),
            ("A.rs", "a.rs", false),
            ("deep/", "src/deep", false),
        ] {
            assert_eq!(
                Pattern::new("pattern", glob)
                    .unwrap()
                    .matches(Path::new(path), Kind::File),
                want,
                "{glob} {path}"
            );
        }
        assert!(
            Pattern::new("pattern", "deep/")
                .unwrap()
                .matches(Path::new("src/deep"), Kind::Directory)
        );
    }

    #[test]
    fn bad_globs_are_refused_with_the_argument() {
        for glob in ["", "[", "{a", &"a".repeat(LONGEST + 1)] {
            let error = Pattern::new("pattern", glob).unwrap_err().to_string();
            assert!(error.starts_with("Argument `pattern`: "), "{error}");
        }
        assert!(Patterns::new("excludePatterns", &vec!["a".to_owned(); MOST + 1]).is_err());
    }

    #[test]
    fn v_410_no_glob_is_slow() {
        let started = std::time::Instant::now();
        let nasty = Pattern::new("pattern", &"*a".repeat(400)).unwrap();
        assert!(!nasty.matches(Path::new(&"a".repeat(300)), Kind::File));
        let nested = "{a,".repeat(200) + &"}".repeat(200);
        let _ = Pattern::new("pattern", &nested)
            .map(|glob| glob.matches(Path::new(&"a".repeat(200)), Kind::File));
        assert!(started.elapsed() < std::time::Duration::from_secs(5));
    }
}
