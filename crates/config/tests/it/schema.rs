//! Our own file: its reader and its schema take and refuse the same.

use std::path::Path;

use polyport_config::{Node, Own, Value, own};
use serde_json::{Value as Json, json};

fn plain(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(truth) => json!(truth),
        Value::Number(number) => number.parse().unwrap(),
        Value::Text(text) => json!(text),
        Value::List(list) => list.iter().map(plain).collect(),
        Value::Table(table) => table
            .iter()
            .map(|(name, node)| (name.clone(), plain(node)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

/// What the document of the module shows.
const EXAMPLE: &str = include_str!("../../src/own.rs");

fn example() -> String {
    let (_, rest) = EXAMPLE.split_once("//! ```toml\n").unwrap();
    let (example, _) = rest.split_once("//! ```").unwrap();
    example
        .lines()
        .map(|line| line.trim_start_matches("//!").trim_start().to_owned() + "\n")
        .collect()
}

/// What is taken.
const GOOD: &[&str] = &[
    "",
    "[servers]",
    "[servers.a]\ncommand = 'x'",
    "[servers.a]\ncommand = 'x'\nargs = []\nenv = {}\ncwd = '.'\nenv_file = '.env'\nenabled = false",
    "[servers.a]\nurl = 'https://a.example'\nenabled = true",
    "[servers.'a.b-c_1']\ncommand = 'x'",
    "'$schema' = 'x'",
    "[servers.a]\ncommand = 'x'\nenv = { '' = '', 'A B' = '${C}' }",
    "[servers.a]\ncommand = 'x'\ntimeout = 0.5\nera = 'both'\nsessions = 'shared'\nmax_sessions = 1\npass_env = ['HTTPS_PROXY', '_a1']",
    "[servers.a]\nurl = 'http://a'\ntimeout = 3600\nera = 'modern'\nsessions = 'per-client'",
    "[servers.a]\nurl = 'http://a'\ntools = {}\nprompts = {}\nresources = {}",
    "[servers.a]\ncommand = 'x'\n[servers.a.tools]\nallow = ['a*', '{b,c}?']\ndeny = []\nrename = { 'a b' = 'a.b' }\ndescribe = { a = '' }",
    "[servers.a]\ncommand = 'x'\nprompts.rename = { a = 'b' }\nresources.allow = ['file:///**']\nresources.deny = ['*']",
];

/// What is refused.
const BAD: &[&str] = &[
    "x = 1",
    "servers = 1",
    "servers = []",
    "'$schema' = 1",
    "[servers]\na = 'x'",
    "[servers.a]",
    "[servers.a]\nargs = ['x']",
    "[servers.a]\ncommand = 'x'\nurl = 'http://a'",
    "[servers.a]\ncommand = ''",
    "[servers.a]\ncommand = ['x']",
    "[servers.a]\ncommand = { path = 'x' }",
    "[servers.a]\ncommand = 'x'\nargs = 'y'",
    "[servers.a]\ncommand = 'x'\nargs = [1]",
    "[servers.a]\ncommand = 'x'\nenv = { A = 1 }",
    "[servers.a]\ncommand = 'x'\nenv = ['A=1']",
    "[servers.a]\ncommand = 'x'\ncwd = ''",
    "[servers.a]\ncommand = 'x'\nheaders = {}",
    "[servers.a]\ncommand = 'x'\nenabled = 'yes'",
    "[servers.a]\ncommand = 'x'\ndisabled = true",
    "[servers.a]\nurl = ''",
    "[servers.a]\nurl = 'http://a'\nenv = {}",
    "[servers.a]\nurl = 'http://a'\nheaders = { A = true }",
    "[servers.'']\ncommand = 'x'",
    "[servers.'-a']\ncommand = 'x'",
    "[servers.'a b']\ncommand = 'x'",
    "[servers.'a:b']\ncommand = 'x'",
    "[servers.'é']\ncommand = 'x'",
    "[[servers.a]]\ncommand = 'x'",
    "[servers.a]\ncommand = 'x'\ntimeout = 0",
    "[servers.a]\ncommand = 'x'\ntimeout = 3601",
    "[servers.a]\ncommand = 'x'\ntimeout = '5s'",
    "[servers.a]\ncommand = 'x'\nera = '2026-07-28'",
    "[servers.a]\ncommand = 'x'\nsessions = true",
    "[servers.a]\ncommand = 'x'\nmax_sessions = 0",
    "[servers.a]\ncommand = 'x'\nmax_sessions = 1.5",
    "[servers.a]\ncommand = 'x'\nmax_sessions = 100001",
    "[servers.a]\ncommand = 'x'\nmax_sessions = '7'",
    "[servers.a]\ncommand = 'x'\nshared = true",
    "[servers.a]\ncommand = 'x'\npass_env = 'A'",
    "[servers.a]\ncommand = 'x'\npass_env = ['AWS_*']",
    "[servers.a]\nurl = 'http://a'\npass_env = ['A']",
    "[servers.a]\ncommand = 'x'\ntools = ['*']",
    "[servers.a]\ncommand = 'x'\ntools.allow = '*'",
    "[servers.a]\ncommand = 'x'\ntools.deny = ['']",
    "[servers.a]\ncommand = 'x'\ntools.dney = ['x']",
    "[servers.a]\ncommand = 'x'\ntools.rename = { a = 'a b' }",
    "[servers.a]\ncommand = 'x'\ntools.rename = { a = '' }",
    "[servers.a]\ncommand = 'x'\ntools.describe = { a = 1 }",
    "[servers.a]\ncommand = 'x'\nresources.rename = { a = 'b' }",
];

#[test]
fn reader_and_schema_agree() {
    let schema: Json = serde_json::from_str(own::SCHEMA).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let example = example();
    let file = Path::new("polyport.toml");
    let good = GOOD.iter().copied().chain([&*example]);
    let all = good.map(|text| (text, true));
    for (text, is_good) in all.chain(BAD.iter().map(|text| (*text, false))) {
        let root = Node::parse(text, polyport_config::Format::Toml).unwrap();
        assert_eq!(validator.is_valid(&plain(&root)), is_good, "schema: {text}");
        let faults = match Own::of(file, text) {
            Ok(own) => own.faults,
            Err(fault) => vec![fault],
        };
        assert_eq!(faults.is_empty(), is_good, "reader: {text}: {faults:?}");
        assert!(
            faults.iter().all(|fault| fault.line.is_some()),
            "{text}: {faults:?}"
        );
    }
    let long = format!("[servers.{}]\ncommand = 'x'", "a".repeat(65));
    let root = Node::parse(&long, polyport_config::Format::Toml).unwrap();
    assert!(!validator.is_valid(&plain(&root)));
    assert!(!Own::of(file, &long).unwrap().faults.is_empty());
}

/// What no schema says, and where a fault is.
#[test]
fn faults_name_the_line_the_key_and_what_it_could_be() {
    let file = Path::new("polyport.toml");
    for (text, want, hint) in [
        (
            "[servers.a]\ncommand = 'x'\ntools.deny = [\n  'ok*',\n  'a[',\n]",
            "polyport.toml:5: servers.a.tools.deny[1]: is no pattern: unclosed character class; missing ']'",
            None,
        ),
        (
            "[servers.a]\ncommand = 'x'\n[servers.a.tools.rename]\na = 'c'\nb = 'c'",
            "polyport.toml:5: servers.a.tools.rename.b: is the new name of a, too",
            None,
        ),
        (
            "[servers.a]\ncommand = 'x'\ntimout = 3",
            "polyport.toml:3: servers.a.timout: is not known",
            Some("did you mean timeout?"),
        ),
        (
            "[servers.a]\ncommand = 'x'\n[servers.a.tools]\ndisallow = ['x']",
            "polyport.toml:4: servers.a.tools.disallow: is not known",
            Some("known are allow, deny, rename, describe"),
        ),
        (
            "[servers.a]\ncommand = 'x'\nera = 'modren'",
            "polyport.toml:3: servers.a.era: is \"modren\", which it cannot be",
            Some("it is one of both, modern, legacy"),
        ),
    ] {
        let own = Own::of(file, text).unwrap();
        let said: Vec<String> = own.faults.iter().map(ToString::to_string).collect();
        assert_eq!(said, [want]);
        assert_eq!(own.faults[0].hint.as_deref(), hint, "{text}");
        assert!(own.get("a").is_err(), "{text}");
    }
}

/// JSON with the same keys is taken, too.
#[test]
fn json_says_the_same() {
    let text = r#"{"servers": {"a": {"command": "x", "agrs": []}}}"#;
    let own = Own::of(Path::new("polyport.json"), text).unwrap();
    assert_eq!(
        own.faults[0].to_string(),
        "polyport.json:1: servers.a.agrs: is not known"
    );
    assert_eq!(own.faults[0].hint.as_deref(), Some("did you mean args?"));
    assert!(own.get("a").is_err());
    assert_eq!(own.get("b"), Ok(None));
}
