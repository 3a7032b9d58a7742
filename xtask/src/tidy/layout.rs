//! Each Rust file says what it owns, is short, and is a module of its crate.

use std::collections::BTreeMap;

use super::{Findings, RustFile, Tree};

/// Folders whose files are crate roots of their own.
const ROOT_FOLDERS: &[&str] = &["bin", "examples", "benches", "fuzz_targets", "ui"];

pub(super) fn first_lines(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    for file in &tree.rust {
        let first = file.source.text.lines().next().unwrap_or_default();
        let says = first
            .strip_prefix("//! ")
            .is_some_and(|text| text.len() > 8);
        if !says {
            findings.fail(format!(
                "{}: line 1 is not `//! ` and what the file owns",
                file.path
            ));
        }
    }
    Ok(findings)
}

pub(super) fn lengths(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    for file in &tree.rust {
        let lines = file.source.text.lines().count();
        if lines > tree.rules.lines.fail {
            findings.fail(format!(
                "{}: {lines} lines, at most {}",
                file.path, tree.rules.lines.fail
            ));
        } else if lines > tree.rules.lines.warn {
            findings.warn(format!(
                "{}: {lines} lines, is it one idea? (over {})",
                file.path, tree.rules.lines.warn
            ));
        }
    }
    Ok(findings)
}

/// A file that no `mod` names is compiled by nobody, and its tests never run.
pub(super) fn orphans(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let by_path: BTreeMap<&str, &RustFile> = tree
        .rust
        .iter()
        .map(|file| (file.path.as_str(), file))
        .collect();
    for file in &tree.rust {
        let Some((name, parents)) = parents(&file.path) else {
            continue;
        };
        let declared = parents
            .iter()
            .filter_map(|parent| by_path.get(parent.as_str()))
            .any(|parent| declares(&parent.source.bare, &name));
        if !declared && !is_named_by_path(tree, &file.path) {
            findings.fail(format!(
                "{}: no file says `mod {name};`, so nobody compiles it",
                file.path
            ));
        }
    }
    Ok(findings)
}

/// The module's name, and the files that may declare it; `None` for a crate root.
fn parents(path: &str) -> Option<(String, Vec<String>)> {
    let (folder, file) = path.rsplit_once('/')?;
    let stem = file.strip_suffix(".rs")?;
    let is_root = matches!(stem, "lib" | "main" | "build");
    let last = folder.rsplit('/').next().unwrap_or_default();
    if is_root || ROOT_FOLDERS.contains(&last) {
        return None;
    }
    let (name, home) = if stem == "mod" {
        let (above, name) = folder.rsplit_once('/')?;
        (name.to_owned(), above.to_owned())
    } else {
        (stem.to_owned(), folder.to_owned())
    };
    let mut parents = vec![format!("{home}.rs")];
    parents.extend(["mod.rs", "lib.rs", "main.rs"].map(|root| format!("{home}/{root}")));
    Some((name, parents))
}

/// Whether a neighbour says `#[path = "FILE"]`.
fn is_named_by_path(tree: &Tree, path: &str) -> bool {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let attribute = format!("#[path = \"{file}\"]");
    tree.rust
        .iter()
        .filter(|other| {
            other
                .path
                .rsplit_once('/')
                .is_some_and(|(home, _)| home == folder)
        })
        .any(|other| other.source.uncommented.contains(&attribute))
}

fn declares(bare: &str, name: &str) -> bool {
    let mut words = bare.split_whitespace();
    let exact = format!("{name};");
    while let Some(word) = words.next() {
        if word == "mod" && words.clone().next() == Some(exact.as_str()) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{declares, parents};

    fn check(path: &str, expect: Option<&str>) {
        let found = parents(path).map(|(name, parents)| format!("{name}: {}", parents.join(" ")));
        assert_eq!(found.as_deref(), expect, "{path}");
    }

    #[test]
    fn a_module_knows_who_may_declare_it() {
        check("crates/a/src/lib.rs", None);
        check("bench/src/bin/soak.rs", None);
        check(
            "crates/a/src/b.rs",
            Some("b: crates/a/src.rs crates/a/src/mod.rs crates/a/src/lib.rs crates/a/src/main.rs"),
        );
        check(
            "a/src/b/mod.rs",
            Some("b: a/src.rs a/src/mod.rs a/src/lib.rs a/src/main.rs"),
        );
        check(
            "a/src/b/tests.rs",
            Some("tests: a/src/b.rs a/src/b/mod.rs a/src/b/lib.rs a/src/b/main.rs"),
        );
    }

    #[test]
    fn declarations_are_found() {
        assert!(declares("#[cfg(test)]\nmod tests;", "tests"));
        assert!(declares("pub(crate) mod a;", "a"));
        assert!(!declares("mod ab; use a;", "a"));
    }
}
