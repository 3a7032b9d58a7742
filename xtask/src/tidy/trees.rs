//! How many crates each crate brings, and that none comes twice unseen: `cargo tree` against `tidy.toml` and `deny.toml`.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::Skip;
use super::{Findings, LINUX, Tree, short};
use crate::run;

/// Versions of each crate in a tree.
type Versions = BTreeMap<String, BTreeSet<String>>;

pub(super) fn check(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    for package in tree.members() {
        let Some(name) = package["name"].as_str() else {
            continue;
        };
        let Some(rule) = tree.rules.crates.get(short(name)) else {
            continue;
        };
        if rule.budget.is_none() && !rule.lean {
            continue;
        }
        let versions = versions(tree, &["--package", name])?;
        let count: usize = versions.values().map(BTreeSet::len).sum();
        if let Some(budget) = rule.budget
            && count > budget
        {
            findings.fail(format!(
                "{name} brings {count} crates, its budget is {budget}: cargo tree -p {name} -e normal,build"
            ));
        }
        if rule.lean {
            for (twice, found) in duplicates(&versions, &[]) {
                findings.fail(format!("{name} brings {twice} as {found}"));
            }
        }
    }
    let all = versions(tree, &["--workspace"])?;
    for (twice, found) in duplicates(&all, &tree.deny.bans.skip) {
        findings.fail(format!(
            "{twice} is there as {found}: update what forces the older one, or name it in deny.toml [bans] skip"
        ));
    }
    for skip in &tree.deny.bans.skip {
        check_skip(skip, &all, &mut findings);
    }
    Ok(findings)
}

fn versions(tree: &Tree, which: &[&str]) -> Result<Versions, String> {
    let mut command = run::cargo(&tree.root);
    command.args(["tree", "--locked", "--edges", "normal,build"]);
    command.args(["--target", LINUX, "--prefix", "none", "--no-dedupe"]);
    let text = run::output(command.args(which))?;
    Ok(parse(&text))
}

/// Lines `name vVERSION …`.
fn parse(text: &str) -> Versions {
    let mut versions = Versions::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(version)) = (words.next(), words.next()) else {
            continue;
        };
        if let Some(version) = version.strip_prefix('v') {
            let known = versions.entry(name.to_owned()).or_default();
            known.insert(version.to_owned());
        }
    }
    versions
}

/// Crates that are there in more than one version when the skipped versions are taken away.
fn duplicates(versions: &Versions, skips: &[Skip]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, versions) in versions {
        let kept: Vec<&str> = versions
            .iter()
            .map(String::as_str)
            .filter(|version| {
                let package = format!("{name}@{version}");
                !skips.iter().any(|skip| skip.package == package)
            })
            .collect();
        if kept.len() > 1 {
            found.push((name.clone(), kept.join(" and ")));
        }
    }
    found
}

fn check_skip(skip: &Skip, all: &Versions, findings: &mut Findings) {
    let (name, version) = skip.package.split_once('@').unwrap_or_default();
    let known = all.get(name);
    let is_needed = known.is_some_and(|known| known.len() > 1 && known.contains(version));
    if !is_needed {
        findings.fail(format!(
            "deny.toml skips {}, which is no duplicate any more: remove the line",
            skip.package
        ));
    }
    if skip.reason.trim().is_empty() {
        findings.fail(format!("deny.toml skips {} without a reason", skip.package));
    }
}

#[cfg(test)]
mod tests {
    use super::{check_skip, duplicates, parse};
    use crate::tidy::Findings;
    use crate::tidy::rules::Skip;

    const TEXT: &str = "a v1.0.0 (/somewhere/a)\nb v2.0.0\nb v3.0.0 (proc-macro)\n\nb v2.0.0\n[build-dependencies]\nc v1.0.0\n";

    fn skip(package: &str) -> Skip {
        Skip {
            package: package.to_owned(),
            reason: "c needs it".to_owned(),
        }
    }

    #[test]
    fn duplicates_are_found_unless_skipped() {
        let versions = parse(TEXT);
        assert_eq!(versions.len(), 3);
        let found = duplicates(&versions, &[]);
        assert_eq!(found, [("b".to_owned(), "2.0.0 and 3.0.0".to_owned())]);
        assert!(duplicates(&versions, &[skip("b@2.0.0")]).is_empty());
    }

    #[test]
    fn a_skip_that_is_not_needed_is_stale() {
        let versions = parse(TEXT);
        for (package, failures) in [("b@2.0.0", 0), ("b@1.0.0", 1), ("a@1.0.0", 1), ("x", 1)] {
            let mut findings = Findings::default();
            check_skip(&skip(package), &versions, &mut findings);
            assert_eq!(findings.failures.len(), failures, "{package}");
        }
    }
}
