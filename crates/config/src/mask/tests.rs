//! What is shown of one text, of arguments, and of headers.

use super::*;
use crate::secret::{MASK, is_secret_name};
use crate::{Format, masked};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn secrets_are_not_shown() {
    for (text, want) in [
        ("plain", "plain"),
        ("sk-abc", "****"),
        ("eyJhbGciOi", "****"),
        ("--token=abc", "--token=****"),
        ("--level=debug", "--level=debug"),
        ("API_KEY=x", "API_KEY=****"),
        ("Authorization: Bearer x", "Authorization:****"),
        ("x=ghp_abc", "x=****"),
        ("--env=API_KEY=abc", "--env=API_KEY=****"),
        ("--env=A=b=c", "--env=A=b=c"),
        ("Server=h;Password=a,b;X=1", "Server=h;Password=****;X=1"),
        ("Server=h; Pwd=abc; X=1", "Server=h; Pwd=****; X=1"),
        ("a=1,token=abc,def,b=2", "a=1,token=****,****,b=2"),
        ("TOKEN=a,b;c", "TOKEN=****"),
        ("a,b;c", "a,b;c"),
        ("C:\\x", "C:\\x"),
        ("X-A: Basic dXNlcjpzZWNyZXQ=", "X-A: Basic ****"),
        ("X-A: basic  dXNlcjpzZWNyZXQ", "X-A: basic  ****"),
        (
            "curl -H \"X-A: Basic dXNlcjpzZWNyZXQ=\" x",
            "curl -H \"X-A: Basic ****\" x",
        ),
        ("--h=Basic dXNlcjpzZWNyZXQ=", "--h=****"),
        ("a Bearer abcdefghij0123456789 b", "a Bearer **** b"),
        (
            "Basically Basic usage of a bearer",
            "Basically Basic usage of a bearer",
        ),
        ("MAX_TOKENS=4096", "MAX_TOKENS=4096"),
        ("--auth-mode=none", "--auth-mode=none"),
        ("https://a.example/mcp", "https://a.example/mcp"),
        ("https://u:p@a.example/mcp", "https://****@a.example/mcp"),
        (
            "https://a.example/s/0123456789abcdefghij/sse?x=1&api_key=2#3",
            "https://a.example/s/****/sse?x=1&api_key=****",
        ),
        ("postgres://u:p@h/db", "postgres://****@h/db"),
    ] {
        assert_eq!(self::text(text), want, "{text}");
    }
    let shown = args(["--api-key", "abc", "--verbose", "x", "--token", "--y", "z"]);
    let want = ["--api-key", "****", "--verbose", "x", "--token", "--y", "z"];
    assert_eq!(shown, want);
    for (name, is) in [
        ("GITHUB_TOKEN", true),
        ("apiKey", true),
        ("PGPASSWORD", true),
        ("USER_PIN", true),
        ("SPINNER", false),
        ("PATH", false),
        ("LOG_LEVEL", false),
    ] {
        assert_eq!(is_secret_name(name), is, "{name}");
    }
    assert_eq!(value("TOKEN", "${TOKEN}"), "${TOKEN}");
    assert_eq!(value("TOKEN", "{env:TOKEN}"), "{env:TOKEN}");
    assert_eq!(value("TOKEN", "${TOKEN:-s3cret}"), MASK);
    assert_eq!(value("TOKEN", "{s3cret}"), MASK);
    assert_eq!(header("Accept", "x"), "x");
    assert_eq!(header("X-Tenant", "x"), MASK);
    assert_eq!(value("LEVEL", "debug"), "debug");
    for name in ["X-Api-Version", "accept-language", "Accept-Encoding"] {
        assert_eq!(header(name, "x"), "x");
    }
    // What an address says of itself is masked under harmless names, too.
    assert_eq!(
        value("TOKEN_URL", "https://u:p@h/?key=x"),
        "https://****@h/?key=****"
    );
    let harmless = ["--keyspace", "a", "--sort-key", "b", "--no-auth", "c"];
    assert_eq!(args(harmless), harmless);
}

/// Arguments, and what is shown of them.
const ARGUMENTS: &[(&[&str], &[&str])] = &[
    (
        &["-c", "export API_KEY=hunter2; exec npx srv"],
        &["-c", "export API_KEY=****; exec npx srv"],
    ),
    (
        &["cd /x && TOKEN=hunter2 node"],
        &["cd /x && TOKEN=**** node"],
    ),
    (&["env TOKEN=hunter2 node"], &["env TOKEN=**** node"]),
    (
        &["host=h password=hunter2 user=x"],
        &["host=h password=**** user=x"],
    ),
    (
        &["https://a.example/ TOKEN=hunter2 x"],
        &["https://a.example/ TOKEN=**** x"],
    ),
    (&["a: b\napi_key: hunter2"], &["a: b\napi_key: ****"]),
    (
        &["{\"api_key\":\"hunter2\",\"keys\":[\"hunter2\"],\"a\":null}"],
        &["{\"api_key\":\"****\",\"keys\":[\"****\"],\"a\":null}"],
    ),
    (
        &["--config={\"apiKey\":\"hunter2\",\"a\":\"b\"}"],
        &["--config={\"apiKey\":\"****\",\"a\":\"b\"}"],
    ),
    (
        &["{\"a\": {\"private_key\": \"-----BEGIN PRIVATE KEY-----\\nhunter2\\n\"}}"],
        &["{\"a\": {\"private_key\": \"****\"}}"],
    ),
    (&["TOKEN=hunter2;x=\"y z\""], &["TOKEN=****"]),
    // Passwords with what is escaped in addresses otherwise.
    (&["postgres://u:hunt#er2@h/d"], &["postgres://****@h/d"]),
    (&["postgres://u:hun?ter2@h/d x"], &["postgres://****@h/d x"]),
    (&["mysql://bob:hunter2/b4@h/db"], &["mysql://****@h/db"]),
    (
        &["--db=mssql+pyodbc://sa:P@ss/hunter2@h/db"],
        &["--db=mssql+pyodbc://****@h/db"],
    ),
    (
        &["x postgres://u:hunter2,#;b@h/d y"],
        &["x postgres://****@h/d y"],
    ),
    (
        &["jdbc:sqlserver://h:1433;user=x;password=hunter2"],
        &["jdbc:sqlserver://h:1433;user=x;password=****"],
    ),
    (&["redis://:hunter2@h"], &["redis://****@h"]),
    (
        &["https://a.example/@scope/package", "mail a@b.example"],
        &["https://a.example/@scope/package", "mail a@b.example"],
    ),
    // Blocks of PEM, which are no options.
    (
        &[
            "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----",
            "x",
        ],
        &["****", "x"],
    ),
    (
        &["-----BEGIN RSA PRIVATE KEY-----hunter2", "x"],
        &["****", "x"],
    ),
    (
        &["-----BEGIN CERTIFICATE-----", "x"],
        &["-----BEGIN CERTIFICATE-----", "x"],
    ),
    // Marks in quotes part nothing.
    (
        &["x=\"a;b,c://d\"", "y='a;b', z=\"c,d://;\""],
        &["x=\"a;b,c://d\"", "y='a;b', z=\"c,d://;\""],
    ),
    (&["TOKEN=//hunter2"], &["TOKEN=****"]),
    // Users.
    (
        &["--user", "bob:hunter2", "x"],
        &["--user", "bob:****", "x"],
    ),
    (&["-u", "bob:hunter2"], &["-u", "bob:****"]),
    (&["--user=bob:hunter2"], &["--user=bob:****"]),
    (
        &["-c", "curl -u bob:hunter2 x"],
        &["-c", "curl -u bob:**** x"],
    ),
    (
        &["-c", "curl -u 'bob:hunter2' --user=a:hunter2 x"],
        &["-c", "curl -u 'bob:****' --user=a:**** x"],
    ),
    (
        &["--user", "1000:1000", "-u", "bob", "a:b"],
        &["--user", "1000:1000", "-u", "bob", "a:b"],
    ),
    // Values that begin like options.
    (
        &["--password", "-hunter2", "x"],
        &["--password", "****", "x"],
    ),
    (
        &["--password", "--hunter2", "x"],
        &["--password", "****", "x"],
    ),
    (
        &[
            "--token",
            "--verbose",
            "--token",
            "-v",
            "x",
            "--token",
            "--a=b",
        ],
        &[
            "--token",
            "--verbose",
            "--token",
            "-v",
            "x",
            "--token",
            "--a=b",
        ],
    ),
    (&["run --password -hunter2 x"], &["run --password **** x"]),
    // Values in quotes hold the marks between pairs.
    (
        &["Server=h;Password=\"a;hunter=2\";X=1"],
        &["Server=h;Password=****;X=1"],
    ),
    (
        &["a=b,password='x,hunter=2',c=d"],
        &["a=b,password=****,c=d"],
    ),
];

// req: S-SHOWN
#[test]
fn arguments_are_shown_alike_by_themselves_and_in_files() {
    for (given, want) in ARGUMENTS {
        assert_eq!(args(given.iter().copied()), *want);
        let list = |words: &[&str]| json!({"args": words}).to_string();
        assert_eq!(masked(&list(given), Format::Json), list(want));
        let list = |words: &[&str]| {
            let words: toml_edit::Array =
                words.iter().map(|word| word.replace('\n', " ")).collect();
            format!("args = {words}\n")
        };
        let shown = masked(&list(given), Format::Toml);
        assert!(!shown.contains("hunter"), "{shown}");
    }
}

/// However often names, marks and quotes stand behind each other.
// req: S-SHOWN
#[test]
fn long_texts_take_no_more_of_the_stack() {
    for part in [
        "=", "://", "a=", "a=b ", "='", "; ", "x ", "{", "\"", ":", "-u a:b ",
    ] {
        let long = part.repeat(20_000) + " x@y TOKEN=hunter2";
        assert!(!text(&long).contains("hunter2"), "{part}");
    }
}

/// Variables and what is shown of them: their values hold more than their names say.
// req: S-SHOWN
#[test]
fn variables_are_shown_alike_by_themselves_and_in_files() {
    for (name, text, want) in [
        ("K", "a: b\napi_key: hunter2", "a: b\napi_key: ****"),
        (
            "CONFIG",
            "{\"private_key\":\"hunter2\"}",
            "{\"private_key\":\"****\"}",
        ),
        ("CERT", "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n", MASK),
        (
            "DATABASE_URL",
            "postgres://u:hunt#er2@h/d",
            "postgres://****@h/d",
        ),
        ("DBPASS", "hunter2", MASK),
        ("RUN", "curl -u bob:hunter2 x", "curl -u bob:**** x"),
        ("A", "--token", "--token"),
        ("PLAIN", "two words", "two words"),
    ] {
        assert_eq!(value(name, text), want);
        // What stands before it is nothing of it.
        let of = |text: &str| json!({"env": {"B": "--token", name: text, "C": "d"}}).to_string();
        assert_eq!(masked(&of(text), Format::Json), of(want));
    }
}

proptest! {
    // req: S-SHOWN
    #[test]
    fn any_text_can_be_shown(text in "(\\PC|[ \n\"'=:;,@/#\\\\{}\\[\\]-]|://|-u |key|PRIVATE){0,60}") {
        for shown in [self::text(&text), value("K", &text)] {
            // Masks are longer than what they hide by no more than this.
            prop_assert!(shown.len() <= text.len() * 8 + 8, "{}", shown);
        }
        args(text.split(' '));
    }
}
