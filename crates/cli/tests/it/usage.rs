//! Command lines that ask for help or cannot be meant.

use std::fmt::Write as _;
use std::fs::File;
use std::process::Command;

use crate::replicas::write_keys;
use crate::support::{BINARY, Place, golden, said};

fn all(place: &Place, lines: &[&[&str]]) -> String {
    let mut text = String::new();
    for words in lines {
        let output = place.command(*words).output().unwrap();
        let line: String = words.iter().map(|word| format!(" {word}")).collect();
        writeln!(text, "$ polyport{line}\n{}", said(&output)).unwrap();
    }
    place.plain(&text)
}

#[test]
fn the_whole_help() {
    let lines: &[&[&str]] = &[
        &[],
        &["--help"],
        &["-h"],
        &["help"],
        &["--version"],
        &["serve", "--help"],
        &["help", "serve"],
        &["ls", "--help"],
        &["show", "--help"],
        &["call", "--help"],
        &["read", "--help"],
        &["prompt", "--help"],
        &["complete", "--help"],
        &["watch", "--help"],
        &["ping", "--help"],
        &["doctor", "--help"],
        &["completion", "--help"],
        &["man", "--help"],
        &["help", "--help"],
        &["help", "exit-code"],
        &["help", "config", "exit-codes"],
        &["help", "config", "shew"],
        &["help", "call", "x"],
        &["completion"],
        &["completion", "tcsh"],
        &["servers", "--help"],
        &["config", "--help"],
        &["config", "show", "--help"],
        &["config", "check", "--help"],
        &["install", "--help"],
        &["uninstall", "--help"],
    ];
    golden("help.txt", &all(&Place::new(), lines));
}

#[test]
fn help_fits_a_screen() {
    for words in [
        &["--help"][..],
        &["serve", "--help"],
        &["serve", "-h"],
        &["call", "--help"],
        &["ls", "--help"],
        &["show", "--help"],
        &["read", "--help"],
        &["prompt", "--help"],
        &["complete", "--help"],
        &["watch", "--help"],
        &["ping", "--help"],
        &["doctor", "--help"],
    ] {
        let output = Place::new().command(words).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.lines().count() <= 50, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        assert!(text.contains("Examples:\n"), "{text}");
    }
}

// req: D-36
#[test]
fn d_36_faults_at_start_are_exit_2_and_a_sentence() {
    let place = Place::new();
    write_keys(&place, "open.keys", &"00".repeat(32), 0o644);
    write_keys(&place, "empty.keys", "# none yet\n\n", 0o600);
    write_keys(
        &place,
        "short.keys",
        &format!("{}\nc2VjcmV0\n", "00".repeat(32)),
        0o600,
    );
    write_keys(&place, "bytes.keys", &"ä".repeat(30), 0o600);
    write_keys(&place, "long.keys", &"#\n".repeat(40_000), 0o600);
    let lines: &[&[&str]] = &[
        &["serve"],
        &["serve", "nothing"],
        &["serve", ""],
        &["serve", "two words"],
        &["serve", "notes", "nothing"],
        &["serve", "file.txt"],
        &["serve", "notes/a.md"],
        &["serve", "notes/a.md/x"],
        &["serve", "ftp://example.com/mcp"],
        &["serve", "--config", "nothing.json"],
        &["serve", "notes", "--header", "A: b"],
        &["serve", ":1", ":2", "--header", "A: b"],
        &["serve", ":1", "-e", "A=b"],
        &["serve", "notes", "--", ""],
        &["serve", "x:=demo", "notes"],
        &["serve", "sqlite:shop.db"],
        &["serve", "notes", "--bogus"],
        &["serve", "notes", "--listne", "1"],
        &["serve", "notes", "--listen", "here"],
        &["serve", "notes", "--listen", "127.0.0.1"],
        &["serve", "notes", "--listen", "192.0.2.1:7400"],
        &["serve", "notes", "--listen", "0.0.0.0:7400"],
        &["serve", "notes", "-t", "stdio", "--listen", "7400"],
        &["serve", "notes", "-t", "pigeon"],
        &["serve", "notes", "--era", "stone"],
        &["serve", "notes", "--drain", "long"],
        &["serve", "notes", "--path", "/a b"],
        &["serve", "notes", "--allow-host", "http://box"],
        &["serve", "notes", "--allow-origin", "app.example"],
        &["serve", "notes", "--log-level", "loud"],
        &["srve", "notes"],
        &["notes"],
        &["demo"],
        &["serve", "demo", "--listen", "0", "--sse", "mcp"],
        &["serve", "demo", "--listen", "0", "--messages-path", "/sse/"],
        &["serve", "demo", "--seal-keys", "nothing"],
        &["serve", "demo", "--seal-keys", "notes"],
        &["serve", "demo", "--seal-keys", "open.keys"],
        &["serve", "demo", "--seal-keys", "empty.keys"],
        &["serve", "demo", "--seal-keys", "short.keys"],
        &["serve", "demo", "--seal-keys", "bytes.keys"],
        &["serve", "demo", "--seal-keys", "long.keys"],
    ];
    golden("errors.txt", &all(&place, lines));
    for words in lines {
        let output = place.command(*words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty(), "{words:?}");
    }
}

/// A folder that may not be read is found when it starts, not at the first call.
// req: D-36
#[test]
fn d_36_no_permission() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.write("locked/inner/x", "");
    let locked = place.path("locked");
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o000)).unwrap();
    let mut text = String::new();
    for folder in ["locked", "locked/inner"] {
        // The super-user may read everything, unless it gives that right up.
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--bounding-set=-dac_override,-dac_read_search", BINARY]);
            command
        } else {
            Command::new(BINARY)
        };
        command
            .args(["serve", folder, "-t", "stdio"])
            .current_dir(place.path(""));
        let Ok(output) = command.output() else {
            println!("skipped: setpriv is not installed");
            return;
        };
        writeln!(text, "$ polyport serve {folder}\n{}", said(&output)).unwrap();
    }
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o700)).unwrap();
    golden("no-permission.txt", &text);
}

#[test]
fn names_that_are_not_text_are_served() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    std::fs::create_dir(place.path("").join(name)).unwrap();
    let mut command = place.command(["serve", "-t", "stdio"]);
    let output = command.arg(name).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// `polyport --help | head -1`
#[test]
fn nobody_reads_the_help() {
    let place = Place::new();
    for words in [&["--help"][..], &["serve", "--help"], &["--version"]] {
        let (ours, theirs) = std::io::pipe().unwrap();
        drop(ours);
        let output = place.command(words).stdout(theirs).output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
        // A disk that is full is.
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = place.command(words).stdout(full).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {err}");
        assert!(err.starts_with("error: cannot write the help: "), "{err}");
    }
}
