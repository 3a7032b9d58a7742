//! Which crate of the workspace may use which: the table of `tidy.toml` against `cargo metadata`. Knows nothing of modules.

use std::collections::BTreeSet;

use serde_json::Value;

use super::rules::CrateRule;
use super::{Findings, Tree, short};

/// Tests of every crate may use it.
const TESTKIT: &str = "testkit";

pub(super) fn check(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let members: BTreeSet<&str> = tree.members().filter_map(name).collect();
    for package in tree.members() {
        let Some(owner) = name(package) else { continue };
        let Some(rule) = tree.rules.crates.get(short(owner)) else {
            findings.fail(format!(
                "{owner} has no line in xtask/tidy.toml [crates]; say there what it may use"
            ));
            continue;
        };
        let dependencies = package["dependencies"].as_array();
        for dependency in dependencies.into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            let is_dev = dependency["kind"] == "dev";
            if members.contains(used) && !may_use(rule, owner, used, is_dev) {
                let kind = if is_dev { "in its tests " } else { "" };
                findings.fail(format!(
                    "{owner} may not {kind}use {used} (xtask/tidy.toml [crates])"
                ));
            }
        }
        if !inherits_lints(tree, package) {
            findings.fail(format!("{owner} does not say `[lints] workspace = true`"));
        }
    }
    Ok(findings)
}

fn name(package: &Value) -> Option<&str> {
    package["name"].as_str()
}

fn may_use(rule: &CrateRule, owner: &str, used: &str, is_dev: bool) -> bool {
    let used = short(used);
    let named = |list: &[String]| list.iter().any(|name| name == used);
    // A crate's own name appears among its dev-dependencies when its tests switch a feature on.
    named(&rule.uses) || is_dev && (used == TESTKIT || used == short(owner) || named(&rule.dev))
}

/// `cargo metadata` does not tell, so the manifest's text does.
fn inherits_lints(tree: &Tree, package: &Value) -> bool {
    let manifest = package["manifest_path"].as_str().unwrap_or_default();
    let manifest = super::tree::relative(&tree.root, manifest.as_ref());
    let text = tree.texts.iter().find(|file| file.path == manifest);
    let parsed = text.and_then(|file| file.text.parse::<toml::Table>().ok());
    parsed.is_some_and(|table| {
        let lints = table.get("lints").and_then(|lints| lints.get("workspace"));
        lints.and_then(toml::Value::as_bool) == Some(true)
    })
}

#[cfg(test)]
mod tests {
    use super::may_use;
    use crate::tidy::rules::CrateRule;

    #[test]
    fn only_what_the_line_names_may_be_used() {
        let rule = CrateRule {
            uses: vec!["wire".to_owned()],
            dev: vec!["rt".to_owned()],
            budget: None,
            lean: true,
        };
        let cases = [
            ("polyport-wire", false, true),
            ("polyport-rt", false, false),
            ("polyport-rt", true, true),
            ("polyport-testkit", false, false),
            ("polyport-testkit", true, true),
            ("polyport", true, false),
        ];
        for (used, is_dev, expect) in cases {
            let found = may_use(&rule, "polyport-model", used, is_dev);
            assert_eq!(found, expect, "{used} {is_dev}");
        }
    }
}
