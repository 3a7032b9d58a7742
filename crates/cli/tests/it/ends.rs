//! How serving on stdio ends: the input ends, a signal comes, the reader is gone. Always in bounded time, with a status.

use std::io::{PipeReader, Read};
use std::process::Stdio;

use polyport::Revision;
use polyport_testkit::Program;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::Place;

fn wait(seconds: f64) -> Value {
    json!({"name": "wait", "arguments": {"seconds": seconds}})
}

// req: BR-011
#[test]
fn br_011_running_calls_finish_after_the_input() {
    let place = Place::new();
    let mut program = place.host(&["demo"]);
    for seconds in [0.5, 0.1] {
        program.begin("tools/call", wait(seconds), "");
    }
    program.close_input();
    let (rest, code) = program.end();
    let texts: Vec<_> = rest
        .iter()
        .map(|m| m["result"]["content"][0]["text"].as_str())
        .collect();
    assert_eq!(texts, [Some("waited 0.1 s"), Some("waited 0.5 s")]);
    assert_eq!(code, Some(0));
}

#[test]
fn running_calls_finish_after_a_signal() {
    let place = Place::new();
    for signal in [Signal::TERM, Signal::INT] {
        let mut program = place.host(&["demo"]);
        program.begin("tools/call", wait(0.5), "");
        program.ask("ping", json!({}));
        program.signal(signal);
        let (rest, code) = program.end();
        assert_eq!(rest[0]["result"]["content"][0]["text"], "waited 0.5 s");
        assert_eq!((rest.len(), code), (1, Some(0)));
        let said = program.stderr();
        assert!(
            said.ends_with("waiting up to 10 s for 1 running call; a second signal cuts off\n"),
            "{said}"
        );
    }
}

#[test]
fn nothing_runs_so_a_signal_ends_it_without_a_word() {
    let place = Place::new();
    let mut program = place.host(&["demo"]);
    program.signal(Signal::TERM);
    assert_eq!(program.end(), (Vec::new(), Some(0)));
    assert!(program.stderr().ends_with("}\n"), "{}", program.stderr());
}

#[test]
fn a_stream_of_changes_is_ended_at_once_without_a_word() {
    let place = Place::new();
    for behind in [&["demo"][..], &["demo", "notes"]] {
        let mut program = place.host_in(behind, Revision::V2026_07_28);
        let wanted = json!({"notifications": {"toolsListChanged": true}});
        let id = program.begin("subscriptions/listen", wanted, "");
        let first = program.message().unwrap();
        let acknowledged = "notifications/subscriptions/acknowledged";
        assert_eq!(first["method"], acknowledged, "{first}");
        program.signal(Signal::TERM);
        let (rest, code) = program.end();
        assert_eq!((&rest[0]["id"], code), (&id, Some(0)), "{rest:?}");
        assert_eq!(rest[0]["result"]["resultType"], "complete", "{rest:?}");
        assert!(program.stderr().ends_with("}\n"), "{}", program.stderr());
    }
}

#[test]
fn a_call_that_does_not_end_is_cut_off() {
    let place = Place::new();
    for by_signal in [true, false] {
        let mut program = place.host(&["demo", "--drain", "1"]);
        program.begin("tools/call", wait(600.0), "");
        program.ask("ping", json!({}));
        if by_signal {
            program.signal(Signal::TERM);
        } else {
            program.close_input();
        }
        assert_eq!(program.end(), (Vec::new(), Some(1)));
        let said = program.stderr();
        assert!(
            said.ends_with("error: 1 call did not end within 1 s and was cut off\n"),
            "{said}"
        );
    }
}

#[test]
fn a_second_signal_cuts_off() {
    let place = Place::new();
    let mut program = place.host(&["demo", "--drain", "600"]);
    program.begin("tools/call", wait(600.0), "");
    program.ask("ping", json!({}));
    program.signal(Signal::INT);
    program.until_said("a second signal cuts off");
    program.signal(Signal::INT);
    assert_eq!(program.end(), (Vec::new(), Some(1)));
    assert!(program.stderr().ends_with("error: 1 call was cut off\n"));
}

/// A client that has closed its end of our output is gone: no answer can be missed.
#[test]
fn the_reader_is_gone() {
    let place = Place::new();
    for runs in [false, true] {
        let (ours, theirs) = std::io::pipe().unwrap();
        let mut command = place.command(["serve", "demo"]);
        command.stdin(Stdio::piped()).stdout(theirs);
        let mut program = Program::spawn(&mut command, Revision::LATEST_LEGACY, |_| {
            Box::new(std::io::empty())
        });
        drop((ours, command));
        if runs {
            program.begin("tools/call", wait(600.0), "");
        }
        program.begin("ping", json!({}), "");
        assert_eq!(program.end(), (Vec::new(), Some(0)));
        assert!(program.stderr().ends_with("}\n"), "{}", program.stderr());
    }
}

/// A client that takes nothing more holds nothing up for longer than the drain, whether it ends the input or a signal comes.
#[test]
fn the_reader_is_stuck() {
    let place = Place::new();
    for by_signal in [true, false] {
        let (ours, theirs) = std::io::pipe().unwrap();
        let mut command = place.command(["serve", "demo", "--drain", "1"]);
        command.stdin(Stdio::piped()).stdout(theirs);
        let one_line = ours.try_clone().unwrap();
        let mut program = Program::spawn(&mut command, Revision::LATEST_LEGACY, |_| {
            Box::new(FirstLine(Some(one_line)))
        });
        drop(command);
        program.open();
        let big = json!({"name": "big", "arguments": {"bytes": 4_000_000}});
        program.begin("tools/call", big, "");
        // Once the first bytes of the answer are here, the rest waits for room.
        (&ours).read_exact(&mut [0; 100]).unwrap();
        if by_signal {
            program.signal(Signal::TERM);
        } else {
            program.close_input();
        }
        assert_eq!(program.end(), (Vec::new(), Some(1)));
    }
}

/// Reads one line and no byte more.
struct FirstLine(Option<PipeReader>);

impl Read for FirstLine {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(mut pipe) = self.0.take() else {
            return Ok(0);
        };
        let mut at = 0;
        while at == 0 || buffer[at - 1] != b'\n' {
            pipe.read_exact(&mut buffer[at..=at])?;
            at += 1;
        }
        Ok(at)
    }
}

/// Nobody reads what is said, and the log is full of it.
#[test]
fn standard_error_is_gone() {
    let place = Place::new();
    let (ours, theirs) = std::io::pipe().unwrap();
    drop(ours);
    let messages = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        "\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/odd\"}\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}"#,
        "\n"
    );
    place.write("messages", messages);
    let mut command = place.command(["serve", "demo", "-t", "stdio", "--log-level", "trace"]);
    command.stdin(std::fs::File::open(place.path("messages")).unwrap());
    let output = command.stderr(theirs).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).lines().count(),
        2,
        "{output:?}"
    );
}
