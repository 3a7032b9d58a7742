//! The committed figures, `bench/icount.toml`: reading, writing, and whether new ones agree. Counts nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Deserialize;

/// What a path costs, each time.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Instructions.
    pub instructions: u64,
    /// Blocks asked of the allocator; a fraction where a buffer grows once in a while.
    pub allocations: f64,
}

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// How far instructions may be off, in percent, either way.
    pub tolerance: f64,
    /// With what they were counted: a C library and a compiler have their share in them.
    pub with: BTreeMap<String, String>,
    /// By name of the path.
    pub paths: BTreeMap<String, Figure>,
}

/// How far off instructions may be unless the file says otherwise.
pub const TOLERANCE: f64 = 2.0;

const HEAD: &str = "\
# What one message costs on each path (bench/src/paths), held by `cargo xtask icount`.
# Instructions may be off by the tolerance, in percent; allocations by nothing. Better counts as off too: write it down.
# Whoever means a change runs `cargo xtask icount --write` and says in the commit why.
";

impl Figures {
    /// Where they are.
    pub fn file() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("icount.toml")
    }

    /// Reads the text of the file.
    ///
    /// # Errors
    /// What does not fit, and where.
    pub fn read(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// The text of the file; paths in the order of `names`.
    pub fn text(&self, names: &[&str]) -> String {
        let mut out = String::from(HEAD);
        let _ = writeln!(out, "tolerance = {:.1}\n\n[with]", self.tolerance);
        for (name, version) in &self.with {
            let _ = writeln!(out, "{name} = {version:?}");
        }
        let _ = writeln!(out, "\n[paths]");
        for name in names {
            if let Some(figure) = self.paths.get(*name) {
                let Figure {
                    instructions,
                    allocations,
                } = figure;
                let _ = writeln!(
                    out,
                    "{name} = {{ instructions = {instructions}, allocations = {allocations:.2} }}"
                );
            }
        }
        out
    }

    /// How far `found` is off in percent; none where nothing is committed for it.
    pub fn off(&self, name: &str, found: u64) -> Option<f64> {
        let committed = self.paths.get(name)?.instructions;
        // Counts of one message are far below 2^53.
        let (found, committed) = (found as f64, committed as f64);
        Some((found / committed - 1.0) * 100.0)
    }

    /// Do the instructions agree?
    pub fn holds(&self, name: &str, found: u64) -> bool {
        self.off(name, found)
            .is_some_and(|off| off.abs() <= self.tolerance + 1e-9)
    }

    /// Do the allocations agree, to the hundredth that is written down?
    pub fn holds_allocations(&self, name: &str, found: f64) -> bool {
        let hundredths = |n: f64| (n * 100.0).round();
        self.paths
            .get(name)
            .is_some_and(|figure| (hundredths(figure.allocations) - hundredths(found)).abs() < 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::{Figure, Figures};

    fn figures() -> Figures {
        let figure = |instructions, allocations| Figure {
            instructions,
            allocations,
        };
        Figures {
            tolerance: 2.0,
            with: [("glibc".to_owned(), "2 \"x\"".to_owned())].into(),
            paths: [
                ("b".to_owned(), figure(1_000, 3.25)),
                ("a".to_owned(), figure(7, 0.0)),
            ]
            .into(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let text = figures().text(&["b", "a"]);
        assert_eq!(Figures::read(&text).unwrap(), figures());
        assert!(text.find("\nb = ") < text.find("\na = "), "{text}");
        assert!(Figures::read("tolerance = 2.0").is_err());
    }

    #[test]
    fn the_committed_file_is_readable() {
        let text = std::fs::read_to_string(Figures::file()).unwrap();
        let figures = Figures::read(&text).unwrap();
        for path in crate::paths::PATHS {
            assert!(figures.paths.contains_key(path.name), "{}", path.name);
        }
        assert_eq!(figures.paths.len(), crate::paths::PATHS.len());
    }

    #[test]
    fn two_percent_either_way() {
        let figures = figures();
        for (found, holds) in [
            (1_000, true),
            (1_020, true),
            (1_021, false),
            (980, true),
            (979, false),
        ] {
            assert_eq!(figures.holds("b", found), holds, "{found}");
        }
        assert!(!figures.holds("unknown", 1));
        assert!(figures.holds_allocations("b", 3.25));
        assert!(!figures.holds_allocations("b", 3.26));
        assert!(!figures.holds_allocations("unknown", 0.0));
    }
}
