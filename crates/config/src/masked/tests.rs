//! No secret of any form of text is shown, and nothing else is changed.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn check(format: Format, cases: &[(&str, &str)]) {
    for (text, want) in cases {
        assert_eq!(masked(text, format), *want);
    }
}

// req: S-SHOWN
#[test]
fn secrets_of_json_are_masked_on_whatever_line_they_stand() {
    check(
        Format::Json,
        &[
            (r#"  "API_KEY": "abc","#, r#"  "API_KEY": "****","#),
            (r#"  "LEVEL": "debug","#, r#"  "LEVEL": "debug","#),
            (
                r#"  "K": "x", "PIN": 1234, "KEY": true"#,
                r#"  "K": "x", "PIN": ****, "KEY": true"#,
            ),
            (
                r#"  "API_KEY": "${API_KEY}""#,
                r#"  "API_KEY": "${API_KEY}""#,
            ),
            (
                r#"  "Authorization": "Bearer x\" y""#,
                r#"  "Authorization": "****""#,
            ),
            (
                r#""args": ["--token", "abc", "x"]"#,
                r#""args": ["--token", "****", "x"]"#,
            ),
            (
                "[\n  \"--token\",\n  \"abc\",\n  \"x\"\n]",
                "[\n  \"--token\",\n  \"****\",\n  \"x\"\n]",
            ),
            ("\"API_KEY\":\n  \"abc\"", "\"API_KEY\":\n  \"****\""),
            (
                "\"API_KEY\" // why\n : /* \"x\" */\n \"abc\"",
                "\"API_KEY\" // why\n : /* \"x\" */\n \"****\"",
            ),
            (
                "\"tokens\": [\n \"abc\",\n [\"d\"]\n], \"x\": \"y\"",
                "\"tokens\": [\n \"****\",\n [\"****\"]\n], \"x\": \"y\"",
            ),
            (
                r#"{"headers": {"X-Tenant": "abc", "Accept": "x"}, "X": "y"}"#,
                r#"{"headers": {"X-Tenant": "****", "Accept": "x"}, "X": "y"}"#,
            ),
            (
                r#"{"mcpServers": {"token": {"command": "x", "token": {"value": "abc", "n": 1}}}}"#,
                r#"{"mcpServers": {"token": {"command": "x", "token": {"value": "****", "n": ****}}}}"#,
            ),
            (
                r#"[{"name": "API_KEY", "value": "abc"}, {"name": "A", "value": "b"}]"#,
                r#"[{"name": "API_KEY", "value": "****"}, {"name": "A", "value": "b"}]"#,
            ),
            (
                r#""args": ["run", "--env=API_KEY=abc", "a=1,token=abc"]"#,
                r#""args": ["run", "--env=API_KEY=****", "a=1,token=****"]"#,
            ),
            (r#"  "args": ["sk-abc"]"#, r#"  "args": ["****"]"#),
            (
                r#"  "args": ["-c", "A=1 TOKEN=abc npx \"x\" --key abc y"]"#,
                r#"  "args": ["-c", "A=1 TOKEN=**** npx \"x\" --key **** y"]"#,
            ),
            (
                r#"  "url": "https://a.example/?key=abc""#,
                r#"  "url": "https://a.example/?key=****""#,
            ),
            (
                r#"  "url": "https:\/\/u:p@a.example\/""#,
                r#"  "url": "https://****@a.example/""#,
            ),
            (r#"  "open"#, r#"  "open"#),
            (r#"  "TOKEN": "open"#, r#"  "TOKEN": "****"#),
            ("// größe = \"x\"\n{ }", "// größe = \"x\"\n{ }"),
            (
                "// it's \"API_KEY\": \"abc\"\n",
                "// it's \"API_KEY\": \"****\"\n",
            ),
            (
                "/* \"--token\",\n \"abc\" */ \"x\"",
                "/* \"--token\",\n \"****\" */ \"x\"",
            ),
            (
                "// \"API_KEY\":\n//   \"abc\"\n",
                "// \"API_KEY\":\n//   \"****\"\n",
            ),
        ],
    );
}

// req: S-SHOWN
#[test]
fn secrets_of_toml_are_masked_on_whatever_line_they_stand() {
    check(
        Format::Toml,
        &[
            (
                "env = { API_KEY = 'abc', B = 'c' }",
                "env = { API_KEY = '****', B = 'c' }",
            ),
            ("API_KEY = \"abc\"", "API_KEY = \"****\""),
            ("a.token=\"abc\"", "a.token=\"****\""),
            ("command = 'npx'", "command = 'npx'"),
            (
                "args = [\n  '--token', # 'x'\n  'abc',\n]\nx = 'y'",
                "args = [\n  '--token', # 'x'\n  '****',\n]\nx = 'y'",
            ),
            (
                "key = \"\"\"\nabc\n\"d\"\"\"\"\nx = 'y'",
                "key = \"\"\"****\n****\n****\"\"\"\nx = 'y'",
            ),
            ("key = '''abc'''\nx = 'y'", "key = '''****'''\nx = 'y'"),
            (
                "x = \"\"\"\nTOKEN=abc\nL=1\n\"\"\"",
                "x = \"\"\"\nTOKEN=****\nL=1\n\"\"\"",
            ),
            (
                "[a.http_headers]\nX-Tenant = 'abc'\n[b]\nX-Tenant = 'abc'",
                "[a.http_headers]\nX-Tenant = '****'\n[b]\nX-Tenant = 'abc'",
            ),
            (
                "[mcp_servers.token]\nx = 'y'\n[mcp_servers.a.token]\nvalue = 'abc'\n[b]\nx = 'y'",
                "[mcp_servers.token]\nx = 'y'\n[mcp_servers.a.token]\nvalue = '****'\n[b]\nx = 'y'",
            ),
            (
                "a = { auth = { x = 'abc' } }",
                "a = { auth = { x = '****' } }",
            ),
            ("[a.'b]'] # \"x\"\nb = 'c'", "[a.'b]'] # \"x\"\nb = 'c'"),
            ("# clé = \"valeur\"", "# clé = \"valeur\""),
            ("\u{feff}model = \"o\"", "\u{feff}model = \"o\""),
            (
                "# don't: api_key = abc, d\nx = 'y'",
                "# don't: api_key = ****\nx = 'y'",
            ),
            ("PIN = 1234 # PIN", "PIN = **** # PIN"),
            (
                "# a = [\n#   \"--token\",\n#   \"abc\"\n# ]",
                "# a = [\n#   \"--token\",\n#   \"****\"\n# ]",
            ),
        ],
    );
}

/// Members of JSON, of which some hold secrets where nothing but what stands around them says so, and some only look as if they did.
// req: S-SHOWN
#[test]
fn what_is_a_secret_is_told_by_what_stands_around_it() {
    check(
        Format::Json,
        &[
            // Of a secret something else is told.
            (
                r#""env": {"MAX_TOKENS": "4096", "AUTH_MODE": "none", "KEY_FILE": "/run/key", "TOKENS": 5}"#,
                r#""env": {"MAX_TOKENS": "4096", "AUTH_MODE": "none", "KEY_FILE": "/run/key", "TOKENS": ****}"#,
            ),
            (
                r#""args": ["--max-tokens", "4096", "--auth-mode", "none", "--token", "abc"]"#,
                r#""args": ["--max-tokens", "4096", "--auth-mode", "none", "--token", "****"]"#,
            ),
            // A user and a password.
            (
                r#""args": ["-H", "X-A: Basic dXNlcjpzZWNyZXQ=", "Basic usage"]"#,
                r#""args": ["-H", "X-A: Basic ****", "****"]"#,
            ),
            (
                r#""args": ["curl -H 'X-A: Basic dXNlcjpzZWNyZXQ=' --token abc"]"#,
                r#""args": ["curl -H 'X-A: Basic ****' --token ****"]"#,
            ),
            (
                "// X-A: Basic dXNlcjpzZWNyZXQ=\n// Basic usage of it\n{}",
                "// X-A: Basic ****\n// Basic usage of it\n{}",
            ),
            // What is asked for as a password, wherever that is said.
            (
                r#""inputs": [{"id": "x", "password": true, "default": "abc"}, {"id": "y", "default": "d"}]"#,
                r#""inputs": [{"id": "x", "password": true, "default": "****"}, {"id": "y", "default": "d"}]"#,
            ),
            (
                "\"inputs\": [{\"default\": \"abc\",\n \"id\": \"x\", \"password\" :\n true}, {\"default\": \"d\"}]",
                "\"inputs\": [{\"default\": \"****\",\n \"id\": \"x\", \"password\" :\n true}, {\"default\": \"d\"}]",
            ),
            (
                r#"{"inputs": [{"id": "}\"{", "default": "abc", "password": true}, {"id": "{", "default": "d"}]}"#,
                r#"{"inputs": [{"id": "}\"{", "default": "****", "password": true}, {"id": "{", "default": "d"}]}"#,
            ),
            // Headers in each form.
            (
                r#"{"headers": {"X-Tenant": ["abc", "def"], "Accept": ["a", "b"]}, "x": ["y"]}"#,
                r#"{"headers": {"X-Tenant": ["****", "****"], "Accept": ["a", "b"]}, "x": ["y"]}"#,
            ),
            (
                r#"{"headers": ["X-Tenant: abc", "Accept: x", "plain"], "x": ["y: z"]}"#,
                r#"{"headers": ["X-Tenant: ****", "Accept: x", "plain"], "x": ["y: z"]}"#,
            ),
            (
                r#"{"headers": [{"name": "X-Tenant", "value": "abc"}, {"name": "Accept", "value": "x"}, {"value": "abc", "name": "X"}]}"#,
                r#"{"headers": [{"name": "X-Tenant", "value": "****"}, {"name": "Accept", "value": "x"}, {"value": "****", "name": "X"}]}"#,
            ),
            (
                r#"{"headers": [{"X-Tenant": "abc"}, {"X-Tenant": ["abc", {"a": "b"}]}, ["X-A: b"]]}"#,
                r#"{"headers": [{"X-Tenant": "****"}, {"X-Tenant": ["****", {"a": "****"}]}, ["X-A: ****"]]}"#,
            ),
        ],
    );
    check(
        Format::Toml,
        &[
            (
                "[mcp_servers.a]\nenv_http_headers = { Authorization = 'TOKEN_VARIABLE', X = 'Y' }\nhttp_headers = { X = 'y' }",
                "[mcp_servers.a]\nenv_http_headers = { Authorization = 'TOKEN_VARIABLE', X = 'Y' }\nhttp_headers = { X = '****' }",
            ),
            (
                "[mcp_servers.a.env_http_headers]\nAuthorization = 'TOKEN_VARIABLE'\n'X-Api-Key' = 'KEY'\n[b]\ntoken = 'x'",
                "[mcp_servers.a.env_http_headers]\nAuthorization = 'TOKEN_VARIABLE'\n'X-Api-Key' = 'KEY'\n[b]\ntoken = '****'",
            ),
            (
                "[mcp_servers.a.http_headers]\nX-Tenant = ['abc', 'def']\nAccept = ['a']",
                "[mcp_servers.a.http_headers]\nX-Tenant = ['****', '****']\nAccept = ['a']",
            ),
            (
                "max_tokens = 5\nauth_mode = 'x'",
                "max_tokens = 5\nauth_mode = 'x'",
            ),
            ("# X: Basic dXNlcjpzZWNyZXQ=\n", "# X: Basic ****\n"),
        ],
    );
}

// req: S-SHOWN
#[test]
fn a_server_may_have_any_name_in_the_table_of_each_host() {
    for host in crate::hosts::HOSTS {
        for file in host.files {
            let table = file.keys.last().unwrap();
            let of = |name: &str| match host.shape.format {
                Format::Json => {
                    format!("{{\"{table}\": {{\"{name}\": {{\"command\": \"npx\"}}}}}}")
                }
                Format::Toml => format!("[{table}.{name}]\ncommand = 'npx'\n"),
            };
            let text = of("token");
            assert_eq!(masked(&text, host.shape.format), text, "{}", host.id);
            // Elsewhere all of what is called so is one.
            let text = text.replace(table, "others");
            assert!(
                !masked(&text, host.shape.format).contains("npx"),
                "{}",
                host.id
            );
        }
    }
}

/// `u:hunter2`.
const BASE64: &str = "dTpodW50ZXIy";

/// Members as hosts have them, with one secret in them, in whatever words stand around it.
fn with_secret(word: &str, kind: u8) -> Value {
    match kind % 10 {
        0 => json!({word: {"API_KEY": "hunter2", "B": word}}),
        1 => json!({"args": [word, "--token", "hunter2", word]}),
        2 => json!({"headers": {"X-A": word, "X-Any": "hunter2"}}),
        3 => json!({"url": format!("https://u:hunter2@{}.example/", word.len()), "b": [word]}),
        5 => json!({"args": [word, format!("X-A: Basic {BASE64}"), word]}),
        6 => json!({"headers": {"X-Any": [word, "hunter2"]}}),
        7 => {
            json!({"headers": [{"name": "X-Any", "value": "hunter2"}, format!("X-Any: {word}hunter2")]})
        }
        8 => json!({"inputs": [{"id": word, "default": "hunter2", "password": true}]}),
        4 => json!({"secrets": [word, ["hunter2"]], word: word}),
        _ => json!({"b": word, "password": "hunter2\n\"\\é\n", word: word}),
    }
}

proptest! {
    // req: S-SHOWN
    #[test]
    fn any_text_keeps_its_lines(text in "(\\PC|[\n\r\"'=:#/*\\\\\\[\\]{},-]){0,80}") {
        for format in [Format::Json, Format::Toml] {
            let shown = masked(&text, format);
            prop_assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
        }
    }

    // req: S-SHOWN
    #[test]
    fn no_secret_is_shown_among_any_words(word in "\\PC{0,12}|--?[a-z]{1,6}", kind: u8) {
        let value = with_secret(&word, kind);
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        let apart = pretty.replace("\": \"", "\":\n\"").replace("\",\n", "\", // it's\n");
        for text in [&value.to_string(), &pretty, &apart] {
            let shown = masked(text, Format::Json);
            prop_assert!(!shown.contains("hunter2") && !shown.contains(BASE64), "{}", shown);
        }
        // A form that no host of TOML has.
        if kind % 10 == 8 {
            return Ok(());
        }
        let mut toml = toml_edit::DocumentMut::new();
        for (name, value) in value.as_object().unwrap() {
            toml[name.as_str()] = toml_edit::Item::Value(of(value));
        }
        let shown = masked(&toml.to_string(), Format::Toml);
        prop_assert!(!shown.contains("hunter2") && !shown.contains(BASE64), "{}", shown);
    }
}

fn of(value: &Value) -> toml_edit::Value {
    match value {
        Value::Array(list) => list.iter().map(of).collect::<toml_edit::Array>().into(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.as_str(), of(value)))
            .collect::<toml_edit::InlineTable>()
            .into(),
        other => other.as_str().unwrap_or_default().into(),
    }
}
