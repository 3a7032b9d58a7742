//! `cargo xtask tidy`: rules of the tree that the compiler does not know. Owns the list of checks; each check is a file below.
//!
//! Names and numbers come from `xtask/tidy.toml`, so that a rule is read in one place and changed in one line.

mod corpora;
mod crates;
mod cycles;
mod knobs;
mod layout;
mod licences;
mod paths;
mod requirements;
mod revisions;
mod rules;
mod secrets;
mod trees;
mod words;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::args::Args;
use crate::lexer::Source;
use crate::run;
use crate::tally::{Outcome, Tally};
use crate::tree;
use rules::{Deny, Rules};

/// What one check found.
#[derive(Debug, Default)]
struct Findings {
    failures: Vec<String>,
    warnings: Vec<String>,
}

impl Findings {
    fn fail(&mut self, message: impl Into<String>) {
        self.failures.push(message.into());
    }

    fn warn(&mut self, message: impl Into<String>) {
        self.warnings.push(message.into());
    }
}

/// A Rust file.
#[derive(Debug)]
struct RustFile {
    path: String,
    source: Source,
}

impl RustFile {
    /// The whole file is test code.
    fn is_test(&self) -> bool {
        is_test_path(&self.path)
    }
}

/// A text file of any other kind.
#[derive(Debug)]
struct TextFile {
    path: String,
    text: String,
}

/// Everything the checks look at, read once.
#[derive(Debug)]
struct Tree {
    root: PathBuf,
    rules: Rules,
    deny: Deny,
    rust: Vec<RustFile>,
    texts: Vec<TextFile>,
    metadata: Value,
}

/// A check: its name in the report, and what it does.
type Check = (&'static str, fn(&Tree) -> Result<Findings, String>);

const CHECKS: &[Check] = &[
    ("crates use only what they may", crates::check),
    ("trees stay within budget", trees::check),
    ("licences are allowed", licences::check),
    ("revisions are named in their room", revisions::check),
    ("files open with what they own", layout::first_lines),
    ("files are short", layout::lengths),
    ("files are modules", layout::orphans),
    ("modules have no cycles", cycles::check),
    ("requirements have tests", requirements::check),
    ("paths stay inside", paths::check),
    ("nothing is unfinished", words::check),
    ("knobs say their default", knobs::check),
    ("secrets derive nothing", secrets::check),
    ("corpora are small", corpora::check),
];

/// Runs every check and counts them.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if let Err(error) = Args::new(arguments).none() {
        return Outcome::Broken(error);
    }
    let tree = match Tree::read() {
        Ok(tree) => tree,
        Err(error) => return Outcome::Broken(error),
    };
    let mut tally = Tally::default();
    for (name, check) in CHECKS {
        let findings = check(&tree).unwrap_or_else(|error| {
            let mut findings = Findings::default();
            findings.fail(error);
            findings
        });
        for warning in &findings.warnings {
            println!("  warning: {warning}");
        }
        for failure in &findings.failures {
            println!("  {name}: {failure}");
        }
        tally += Tally::one(findings.failures.is_empty());
    }
    println!("tidy: {tally}");
    Outcome::Done(tally)
}

impl Tree {
    fn read() -> Result<Self, String> {
        let root = tree::root();
        let rules = Rules::read(&root.join("xtask/tidy.toml"))?;
        let deny = Deny::read(&root.join("deny.toml"))?;
        let mut rust = Vec::new();
        let mut texts = Vec::new();
        for path in tree::files(&root) {
            let name = tree::relative(&root, &path);
            let bytes = fs::read(&path).map_err(|error| format!("cannot read {name}: {error}"))?;
            let Ok(text) = String::from_utf8(bytes) else {
                continue;
            };
            if name.ends_with(".rs") {
                let source = Source::new(&text);
                rust.push(RustFile { path: name, source });
            } else {
                texts.push(TextFile { path: name, text });
            }
        }
        let json = run::output(run::cargo(&root).args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--filter-platform",
            LINUX,
        ]))?;
        let metadata = serde_json::from_str(&json)
            .map_err(|error| format!("cannot read cargo metadata: {error}"))?;
        Ok(Self {
            root,
            rules,
            deny,
            rust,
            texts,
            metadata,
        })
    }

    /// The workspace's packages as `cargo metadata` has them.
    fn members(&self) -> impl Iterator<Item = &Value> {
        let members = self.metadata["workspace_members"].as_array();
        let packages = self.metadata["packages"].as_array();
        packages
            .into_iter()
            .flatten()
            .filter(move |package| members.is_some_and(|members| members.contains(&package["id"])))
    }
}

/// Budgets are counted for this target: trees differ between platforms.
const LINUX: &str = "x86_64-unknown-linux-gnu";

/// `polyport-wire` is called `wire` in the rules; the face keeps its name.
fn short(package: &str) -> &str {
    package.strip_prefix("polyport-").unwrap_or(package)
}

fn is_test_path(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let file = parts.next().unwrap_or_default();
    file.ends_with("tests.rs") || parts.any(|folder| folder == "tests")
}

#[cfg(test)]
mod tests {
    use super::run;
    use crate::tally::Outcome;

    #[test]
    fn the_tree_is_tidy() {
        let Outcome::Done(tally) = run(&[]) else {
            panic!("tidy could not run");
        };
        assert_eq!(tally.failed, 0, "see the lines above");
    }
}
