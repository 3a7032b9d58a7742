//! Requirements and tests name each other: `crates/testkit/requirements.toml` both ways against the tests.
//!
//! A test names a requirement by a comment `// req: V-101` (several with commas) or by its own name: `fn v_101_…`. A name that
//! begins like an id names one.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::rules::toml_file;
use super::{Findings, Tree};
use crate::lexer::{is_name, line};

const FILE: &str = "crates/testkit/requirements.toml";
/// In front of the number of an id.
const PREFIXES: &[&str] = &["br", "c", "d", "g", "r", "v"];
const ROLES: &[&str] = &["server", "client", "gateway"];
const TRANSPORTS: &[&str] = &["memory", "stdio", "http", "sse", "ws"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    #[serde(default)]
    requirement: Vec<Requirement>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    id: String,
    sentence: String,
    source: String,
    roles: Vec<String>,
    transports: Vec<String>,
}

/// What the tests name.
#[derive(Debug, Default)]
struct Named {
    /// Ids in comments, with the place of one of them.
    comments: BTreeMap<String, String>,
    /// Names of functions, with their place.
    functions: BTreeMap<String, String>,
}

pub(super) fn check(tree: &Tree) -> Result<Findings, String> {
    let manifest: Manifest = toml_file(&tree.root.join(FILE))?;
    let mut named = Named::default();
    for file in &tree.rust {
        // This file's own examples name no requirement.
        if file.path.starts_with("xtask/") {
            continue;
        }
        collect_comments(&file.path, &file.source.text, &mut named);
        let tested = if file.is_test() {
            file.source.bare.clone()
        } else {
            file.source.tested(&file.source.bare)
        };
        collect_functions(&file.path, &tested, &mut named);
    }
    let mut findings = Findings::default();
    compare(&manifest, &named, &mut findings);
    Ok(findings)
}

fn collect_comments(path: &str, text: &str, named: &mut Named) {
    for (at, mark) in text.match_indices("// req:") {
        let rest = text[at + mark.len()..].lines().next().unwrap_or_default();
        for id in rest.split(',').map(str::trim) {
            let place = format!("{path}:{}", line(text, at));
            named.comments.entry(id.to_owned()).or_insert(place);
        }
    }
}

fn collect_functions(path: &str, bare: &str, named: &mut Named) {
    for (at, mark) in bare.match_indices("fn ") {
        let rest = &bare[at + mark.len()..];
        let end = rest.bytes().position(|byte| !is_name(byte));
        let name = rest[..end.unwrap_or(0)].to_owned();
        let place = format!("{path}:{}", line(bare, at));
        named.functions.entry(name).or_insert(place);
    }
}

fn compare(manifest: &Manifest, named: &Named, findings: &mut Findings) {
    let mut known = BTreeSet::new();
    for requirement in &manifest.requirement {
        let id = requirement.id.as_str();
        if !known.insert(id) {
            findings.fail(format!("{FILE}: {id} stands there twice"));
        }
        for fault in faults(requirement) {
            findings.fail(format!("{FILE}: {id}: {fault}"));
        }
        if !named.comments.contains_key(id) && !is_in_a_name(id, &named.functions) {
            findings.fail(format!(
                "{id} has no test: name it in one by `// req: {id}`"
            ));
        }
    }
    let mut unknown = named.comments.clone();
    for (function, place) in &named.functions {
        if let Some(id) = id_in_front(function) {
            unknown.entry(id).or_insert_with(|| place.clone());
        }
    }
    unknown.retain(|id, _| !known.contains(id.as_str()));
    for (id, place) in unknown {
        findings.fail(format!("{place}: `{id}` is not in {FILE}"));
    }
}

/// `v_101_host_is_checked` begins with `V-101`.
fn id_in_front(function: &str) -> Option<String> {
    let mut parts = function.split('_');
    let (prefix, number) = (parts.next()?, parts.next()?);
    let is_id = PREFIXES.contains(&prefix)
        && (2..=4).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit());
    is_id.then(|| format!("{}-{number}", prefix.to_ascii_uppercase()))
}

fn faults(requirement: &Requirement) -> Vec<String> {
    let mut faults = Vec::new();
    let sentence = requirement.sentence.trim();
    if !sentence.ends_with('.') || sentence.len() < 10 {
        faults.push("`sentence` is not a sentence".to_owned());
    }
    if requirement.source.trim().is_empty() {
        faults.push("`source` is empty".to_owned());
    }
    let lists = [
        ("roles", &requirement.roles, ROLES),
        ("transports", &requirement.transports, TRANSPORTS),
    ];
    for (name, found, known) in lists {
        if found.is_empty() {
            faults.push(format!("`{name}` is empty"));
        }
        for word in found.iter().filter(|word| !known.contains(&word.as_str())) {
            faults.push(format!("`{word}` is none of {name}: {}", known.join(", ")));
        }
    }
    faults
}

/// `V-101` is in `v_101_host_is_checked` and in `refuses_v_101`, not in `v_1011_x`.
fn is_in_a_name(id: &str, functions: &BTreeMap<String, String>) -> bool {
    let wanted = format!("_{}_", id.to_ascii_lowercase().replace('-', "_"));
    functions
        .keys()
        .any(|function| format!("_{function}_").contains(&wanted))
}

#[cfg(test)]
mod tests {
    use super::{Findings, Manifest, Named, collect_comments, collect_functions, compare};

    fn check(manifest: &str, test: &str, expect: &[&str]) {
        let manifest: Manifest = toml::from_str(manifest).unwrap_or_else(|error| panic!("{error}"));
        let mut named = Named::default();
        collect_comments("t.rs", test, &mut named);
        collect_functions("t.rs", test, &mut named);
        let mut findings = Findings::default();
        compare(&manifest, &named, &mut findings);
        assert_eq!(findings.failures, expect);
    }

    const ONE: &str = "[[requirement]]\nid = \"V-101\"\nsentence = \"The host is checked.\"\nsource = \"s\"\nroles = [\"server\"]\ntransports = [\"http\"]\n";

    #[test]
    fn requirements_and_tests_name_each_other() {
        check(ONE, "fn v_101_host() {}", &[]);
        check(ONE, "// req: V-101\nfn host() {}", &[]);
        check(
            ONE,
            "fn v_1011() {}",
            &[
                "V-101 has no test: name it in one by `// req: V-101`",
                "t.rs:1: `V-1011` is not in crates/testkit/requirements.toml",
            ],
        );
        check(
            ONE,
            "// req: V-101, V-9\n",
            &["t.rs:1: `V-9` is not in crates/testkit/requirements.toml"],
        );
    }

    #[test]
    fn fields_are_checked() {
        let bad = ONE.replace("http", "pigeon").replace("checked.", "checked");
        check(
            &bad,
            "fn v_101() {}",
            &[
                "crates/testkit/requirements.toml: V-101: `sentence` is not a sentence",
                "crates/testkit/requirements.toml: V-101: `pigeon` is none of transports: memory, stdio, http, sse, ws",
            ],
        );
    }
}
