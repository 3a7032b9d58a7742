//! A signal at each step of each verb: its server hears that its input has ended, and has time to end.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::Place;

/// A server that opens `reached` when it is asked for `$STEP`, answers no more, and writes down that its input has ended.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in *"\"$STEP\""*) echo > reached; while read -r line; do :; done; sleep 0.2; echo > ended; exit ;; esac
  case "$line" in
    *'"server/discover"'*) say '"error":{"code":-32601,"message":"no"}' ;;
    *'"initialize"'*) say '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) say '"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
    *'"id"'*) say '"error":{"code":-32601,"message":"no"}' ;;
  esac
done
"#;

// req: S-SHELL
#[test]
fn a_signal_gives_the_server_time_at_every_step() {
    let rows = [
        (
            &["ls"][..],
            &["server/discover", "initialize", "tools/list"][..],
        ),
        (
            &["call"],
            &["server/discover", "initialize", "tools/list", "tools/call"],
        ),
        (&["ping"], &["server/discover", "initialize", "ping"]),
        (
            &["doctor"],
            &["server/discover", "initialize", "tools/list"],
        ),
    ];
    for (verb, steps) in rows {
        for (step, signal) in steps
            .iter()
            .zip([Signal::INT, Signal::TERM, Signal::HUP].iter().cycle())
        {
            let place = Place::new();
            let made = Command::new("mkfifo").arg(place.path("reached")).status();
            assert!(made.unwrap().success());
            let named = format!("STEP={step}");
            let mut words = verb.to_vec();
            words.extend(["-e", &named, "--", "sh", "-c", SERVER]);
            if *verb == ["call"] {
                words.extend(["--", "t"]);
            }
            let mut command = place.command(&words);
            let piped = command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            let program = piped.spawn().unwrap();
            std::fs::read(place.path("reached")).unwrap();
            let pid = Pid::from_raw(i32::try_from(program.id()).unwrap()).unwrap();
            kill_process(pid, *signal).unwrap();
            let output = program.wait_with_output().unwrap();
            let code = if *signal == Signal::INT { 130 } else { 143 };
            assert_eq!(
                output.status.code(),
                Some(code),
                "{verb:?} {step}: {output:?}"
            );
            assert!(place.path("ended").exists(), "{verb:?} {step}: {output:?}");
        }
    }
}
