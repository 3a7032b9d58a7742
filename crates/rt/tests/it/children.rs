//! Servers that run as children: what they get of us, what is kept of them, and how they end.

use std::time::Duration;

use polyport_rt::child::Output;
use polyport_rt::{Child, Command};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::ChildStdin;

const GRACE: Duration = Duration::from_millis(200);

fn sh(script: &str) -> (Child, BufReader<Output>, ChildStdin) {
    let (child, output, input) = Command::new("sh").args(["-c", script]).start().unwrap();
    (child, BufReader::new(output), input)
}

fn is_there(pid: &str) -> bool {
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    test_kill_process(pid).is_ok()
}

// req: S-CHILD
#[tokio::test]
async fn a_child_gets_little_of_our_environment() {
    let script = "env; pwd";
    let command = Command::new("/bin/sh")
        .args(["-c", script])
        .env("TOKEN", "t")
        .folder("/");
    let (_child, mut output, _input) = command.start().unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).await.unwrap();
    let ours = ["PATH=", "HOME="];
    assert!(ours.iter().all(|name| text.contains(name)), "{text}");
    assert!(
        text.contains("TOKEN=t\n") && text.ends_with("/\n"),
        "{text}"
    );
    // Cargo sets these for every test.
    assert!(!text.contains("CARGO_PKG_NAME"), "{text}");
    assert!(!format!("{command:?}").contains("TOKEN"));
}

// req: S-CHILD
#[tokio::test]
async fn what_a_child_says_last_is_kept() {
    let script = "i=0; while [ $i -lt 500 ]; do echo line $i >&2; i=$((i+1)); done; head -c 300000 /dev/zero | tr '\\0' x >&2; echo >&2; echo end >&2; exit 3";
    let (mut child, _output, _input) = sh(script);
    let status = child.wait().await.unwrap();
    let said = child.said();
    assert_eq!(status.code(), Some(3));
    assert_eq!(
        (said.len(), said[18].len(), said[19].as_str()),
        (20, 1_024, "end")
    );
    assert_eq!(said[17], "line 499");
}

// req: S-CHILD
#[tokio::test]
async fn a_child_that_has_been_waited_for_can_be_ended() {
    let (mut child, _output, _input) = sh("echo last >&2; exit 3");
    assert_eq!(child.wait().await.unwrap().code(), Some(3));
    assert_eq!(child.end().await.unwrap().code(), Some(3));
}

// req: S-CHILD
#[tokio::test]
async fn the_output_of_a_child_ends_with_it_whoever_holds_it_open() {
    // More than a pipe holds, read slowly; and nothing at all.
    for (script, bytes) in [
        ("head -c 300000 /dev/zero", 300_000),
        ("printf last", 4),
        (":", 0),
    ] {
        let left = "setsid sh -c 'echo $$; exec sleep 1000' &";
        let (mut child, mut output, mut input) = sh(&format!("{left} read go; {script}; exit 3"));
        let mut pid = String::new();
        output.read_line(&mut pid).await.unwrap();
        // It has left the group.
        input.write_all(b"go\n").await.unwrap();
        let mut said = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(20), output.read_to_end(&mut said));
        read.await.expect("the output has no end").unwrap();
        assert_eq!(said.len(), bytes, "{script}");
        assert_eq!(child.wait().await.unwrap().code(), Some(3));
        // It is nobody's any more.
        assert!(is_there(&pid), "{script}");
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }
}

// req: S-CHILD
#[tokio::test]
async fn a_child_ends_by_itself_by_term_or_by_force() {
    use std::os::unix::process::ExitStatusExt;
    // It hears the end of its input; it hears only SIGTERM; it hears nothing.
    for (script, signal) in [
        ("echo up; read line; exit 0", None),
        ("echo up; exec sleep 1000", Some(15)),
        (
            "trap '' TERM; echo up; while :; do sleep 1000; done",
            Some(9),
        ),
    ] {
        let (child, mut output, input) = sh(script);
        let mut line = String::new();
        output.read_line(&mut line).await.unwrap();
        drop(input);
        let status = child.end_within(GRACE).await.unwrap();
        assert_eq!(status.signal(), signal, "{script}");
    }
}

// req: S-CHILD
#[tokio::test]
async fn a_child_that_is_dropped_is_told_as_well() {
    for (script, said) in [
        (
            "echo up; read line; echo its input ended",
            "its input ended\n",
        ),
        (
            "trap 'echo SIGTERM; exit' TERM; echo up; while :; do sleep 0.1; done",
            "SIGTERM\n",
        ),
    ] {
        let (child, mut output, input) = sh(script);
        let mut line = String::new();
        output.read_line(&mut line).await.unwrap();
        drop((child, input));
        let mut last = String::new();
        let read = tokio::time::timeout(Duration::from_secs(20), output.read_to_string(&mut last));
        read.await.expect("it goes on").unwrap();
        assert_eq!(last, said, "{script}");
    }
    polyport_rt::child::none_left().await;
}

// req: S-CHILD
#[tokio::test]
async fn the_children_of_a_child_end_with_it() {
    for kind in ["ended", "dropped", "ended by itself"] {
        let wait = if kind == "ended by itself" {
            "exit 0"
        } else {
            "wait"
        };
        let (child, mut output, input) =
            sh(&format!("sleep 1000 >/dev/null 2>&1 & echo $!; {wait}"));
        let mut pid = String::new();
        output.read_line(&mut pid).await.unwrap();
        if kind == "dropped" {
            drop(child);
        } else {
            drop(input);
            child.end_within(GRACE).await.unwrap();
        }
        // Its parent is gone; whoever adopted it needs a moment to take it away.
        let gone = async {
            while is_there(&pid) && !is_zombie(&pid) {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), gone).await;
        assert!(waited.is_ok(), "{kind}: {pid} is still there");
    }
}

fn is_zombie(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| stat.contains(") Z "))
}

/// Says what it holds open, as the system calls it.
#[cfg(target_os = "linux")]
const OPEN: &str = "for fd in /proc/self/fd/*; do readlink $fd; done; echo end; read line";

// req: V-1102
#[cfg(target_os = "linux")]
#[tokio::test]
async fn v_1102_a_child_holds_nothing_that_we_have_open() {
    // What somebody has left open for this program itself is not ours.
    let left = opened();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let far = listener.accept().unwrap().0;
    let file = std::fs::File::open("Cargo.toml").unwrap();
    let (reads, writes) = std::io::pipe().unwrap();
    // Whoever else held the pipes of an earlier child would keep it from hearing its end.
    let (first, mut hears, first_input) = sh("echo up; read line; echo over");
    let mut line = String::new();
    hears.read_line(&mut line).await.unwrap();
    let mut ours = opened();
    ours.retain(|one| !left.contains(one));
    assert!(ours.len() >= 9, "{ours:?}");
    let (_child, mut output, _input) = sh(OPEN);
    let mut theirs = Vec::new();
    loop {
        line.clear();
        output.read_line(&mut line).await.unwrap();
        match line.trim_end() {
            "end" => break,
            one => theirs.push(one.to_owned()),
        }
    }
    let pipes = theirs.iter().filter(|one| one.starts_with("pipe:"));
    assert!(pipes.count() >= 3, "{theirs:?}");
    for one in &theirs {
        assert!(!ours.contains(one), "{one} of {theirs:?}");
    }
    drop(first_input);
    line.clear();
    hears.read_line(&mut line).await.unwrap();
    assert_eq!(line, "over\n");
    first.end_within(GRACE).await.unwrap();
    drop((listener, near, far, file, reads, writes));
}

/// What is open in this program, as the system calls it.
#[cfg(target_os = "linux")]
fn opened() -> Vec<String> {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    links
        .filter_map(|link| std::fs::read_link(link.path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .collect()
}
