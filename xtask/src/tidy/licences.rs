//! Every package of the tree under a licence that `deny.toml` allows. Reads the few forms of SPDX expression that crates use.

use super::{Findings, Tree};

pub(super) fn check(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let allow = &tree.deny.licenses.allow;
    let packages = tree.metadata["packages"].as_array();
    for package in packages.into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(licence) = package["license"].as_str() else {
            findings.fail(format!("{name} names no licence"));
            continue;
        };
        if !holds(licence, &|name| allow.iter().any(|allowed| allowed == name)) {
            findings.fail(format!(
                "{name} is under `{licence}`, which deny.toml does not allow"
            ));
        }
    }
    Ok(findings)
}

/// Whether an expression can be met with the licences that `allowed` accepts.
fn holds(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    any(&words, &mut at, allowed) && at == words.len()
}

fn any(words: &[&str], at: &mut usize, allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut holds = all(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        holds |= all(words, at, allowed);
    }
    holds
}

fn all(words: &[&str], at: &mut usize, allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut holds = one(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        holds &= one(words, at, allowed);
    }
    holds
}

fn one(words: &[&str], at: &mut usize, allowed: &dyn Fn(&str) -> bool) -> bool {
    let Some(word) = words.get(*at) else {
        return false;
    };
    *at += 1;
    if *word == "(" {
        let holds = any(words, at, allowed);
        let closed = words.get(*at) == Some(&")");
        *at += 1;
        return holds && closed;
    }
    if words.get(*at) == Some(&"WITH") {
        let exception = words.get(*at + 1).unwrap_or(&"");
        *at += 2;
        return allowed(&format!("{word} WITH {exception}"));
    }
    allowed(word)
}

#[cfg(test)]
mod tests {
    use super::holds;

    #[test]
    fn expressions_are_met_by_what_is_allowed() {
        let allowed =
            |name: &str| ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].contains(&name);
        let cases = [
            ("MIT", true),
            ("MIT OR GPL-3.0", true),
            ("Apache-2.0/MIT", true),
            ("Apache-2.0", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("MIT AND GPL-3.0", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
            ("(MIT", false),
            ("", false),
        ];
        for (expression, expect) in cases {
            assert_eq!(holds(expression, &allowed), expect, "{expression}");
        }
    }
}
