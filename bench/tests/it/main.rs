//! The measuring programs themselves, run for a moment.
#![allow(clippy::unwrap_used)]

use std::process::Command;

/// How it ends, and what it says.
fn sessions(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sessions"));
    let output = command.args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), text)
}

/// Nothing is left of some hundred clients of one kind.
fn nothing_is_left(reached: &str, arguments: [&str; 4]) {
    let (code, text) = sessions(&[&arguments[..], &["--parts", "2"]].concat());
    assert_eq!(code, Some(0), "{text}");
    let readings = text.lines().filter(|line| line.starts_with(reached));
    assert_eq!(readings.count(), 3, "{text}");
}

// req: GW-06
#[test]
fn gw_06_a_gateway_keeps_nothing_of_sessions_before_a_server_over_http() {
    let few = ["--over-http", "400", "--of-commands", "0"];
    nothing_is_left("over HTTP: ", few);
}

// req: GW-06
#[test]
fn gw_06_a_gateway_keeps_nothing_of_sessions_before_a_program() {
    let few = ["--over-http", "0", "--of-commands", "40"];
    nothing_is_left("of commands: ", few);
}

// req: GW-06
#[test]
fn clients_that_stay_are_noticed() {
    let held = [
        "--over-http",
        "3",
        "--of-commands",
        "3",
        "--parts",
        "1",
        "--patience",
        "1",
        "--hold",
        "3",
    ];
    let (code, text) = sessions(&held);
    assert_eq!(code, Some(1), "{text}");
    for what in [
        "over HTTP: 3 sessions at the gateway, 0 at first",
        "over HTTP: 3 sessions at the server, 0 at first",
        "of commands: 3 sessions at the gateway, 0 at first",
        "of commands: 3 children, 0 at first",
    ] {
        assert!(text.contains(&format!("fault: {what}\n")), "{what}: {text}");
    }
    assert_eq!(text.matches(" tasks, 3 at first").count(), 2, "{text}");
    assert_eq!(text.matches(" open files, ").count(), 2, "{text}");
}
