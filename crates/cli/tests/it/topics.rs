//! The topics of `polyport help`: each command in them prints what stands below it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::asking::run;
use crate::support::{BINARY, Place};

fn topics(place: &Place) -> Vec<String> {
    let (_, out, _) = run(place, &["__complete", "zsh", "help", ""]);
    let names = out
        .lines()
        .map(|line| line.split('\t').next().unwrap().to_owned());
    let (_, help, _) = run(place, &["--help"]);
    // Verbs stand in the list of them.
    let verbs = help.split("Commands:").nth(1).unwrap();
    let verbs = verbs.split("Options:").next().unwrap();
    let is_verb = |name: &str| {
        verbs
            .lines()
            .any(|l| l.split_whitespace().next() == Some(name))
    };
    // One is both.
    names
        .filter(|name| !is_verb(name) || name == "config")
        .collect()
}

/// What a shell prints for a command: its output, what it says, and how it ends.
fn printed(place: &Place, line: &str) -> String {
    let binary = Path::new(BINARY).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(place.path(""));
    shell
        .env("PATH", path)
        .env("XDG_CACHE_HOME", place.path("cache"));
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let mut text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    match output.status.code() {
        Some(0) => {}
        code => writeln!(text, "(exit {})", code.unwrap()).unwrap(),
    }
    text
}

// req: S-HELP
#[test]
fn commands_print_what_the_topics_show() {
    let place = Place::new();
    let topics = topics(&place);
    assert!(topics.len() >= 5, "{topics:?}");
    let (_, help, _) = run(&place, &["--help"]);
    for topic in topics {
        assert!(help.contains(&topic), "--help does not name {topic}");
        let (code, text, _) = run(&place, &["help", &topic]);
        assert_eq!(code, 0);
        assert!(
            text.lines().all(|line| line.chars().count() <= 120),
            "{text}"
        );
        let blocks: Vec<String> = text
            .lines()
            .filter_map(|line| line.strip_prefix("    "))
            .filter(|line| !line.is_empty())
            .fold(Vec::new(), |mut blocks: Vec<String>, line| {
                match (line.strip_prefix("$ "), blocks.last_mut()) {
                    (Some(command), _) => blocks.push(format!("{command}\n")),
                    (None, Some(block)) => *block += &format!("{line}\n"),
                    (None, None) => {}
                }
                blocks
            });
        assert!(!blocks.is_empty(), "{topic}");
        for block in blocks {
            let (line, want) = block.split_once('\n').unwrap();
            assert_eq!(printed(&place, line), want, "{topic}: {line}");
        }
    }
}

// req: S-HELP
#[test]
fn exit_codes_are_those_of_the_table() {
    let place = Place::new();
    let (_, text, _) = run(&place, &["help", "exit-codes"]);
    for (words, code) in [
        (&["call", "demo", "add", "a=1", "b=2"][..], 0),
        (&["call", "demo", "add", "a=x"], 2),
        (&["call", "--", "/nowhere/server", "--", "x"], 4),
        (&["call", "demo", "fail", "message=no"], 5),
        (
            &["call", "--timeout", "0.1", "demo", "wait", "seconds=9"],
            7,
        ),
        (&["call", "demo", "order"], 8),
    ] {
        let (status, _, err) = run(&place, &[&words[..1], &["--json"], &words[1..]].concat());
        assert_eq!(status, code);
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(&format!("{code} ")));
        let name = line.unwrap().split_whitespace().nth(1).unwrap();
        assert!(
            code == 0 || err.contains(&format!("{{\"code\":\"{name}\"")),
            "{err}"
        );
    }
}
