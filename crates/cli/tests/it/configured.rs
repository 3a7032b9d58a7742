//! Servers by their names: in our own file, in those of hosts, and what is said of names that are wrong.

use std::fmt::Write as _;

use rustix::process::Signal;

use crate::support::{BINARY, Place, golden, said, terminal};

/// A server that starts ours, as some host writes it.
fn entry() -> String {
    format!(r#"{{"command": "{BINARY}", "args": ["serve", "demo"]}}"#)
}

fn place() -> Place {
    let place = Place::new();
    let own = format!(
        "[servers.mine]\ncommand = '{BINARY}'\nargs = ['serve', '${{WHAT:-demo}}']\n\
         [servers.unset]\ncommand = '{BINARY}'\nargs = [\n  'serve',\n  '${{GONE}}',\n]\n\
         [servers.far]\nurl = 'https://mcp.example.com/mcp'\nheaders = {{ Authorization = 'Bearer ${{TOKEN:-s3cret}}' }}\n\
         [servers.odd]\nurl = 'mcp.example.com'\n\
         [servers.notes]\ncommand = 'never'\n\
         [servers.wrong]\ncommand = 'x'\nagrs = ['y']\n"
    );
    place.write("polyport.toml", &own);
    let entry = entry();
    for (file, text) in [
        (
            ".mcp.json",
            format!(r#"{{"mcpServers": {{"theirs": {entry}}}}}"#),
        ),
        (
            "home/.codex/config.toml",
            format!("[mcp_servers.codexed]\ncommand = '{BINARY}'\nargs = ['serve', 'demo']\n"),
        ),
        (
            "zed.json",
            format!(r#"{{"context_servers": {{"zedded": {entry}}}}}"#),
        ),
        (
            "opencode.json",
            format!(
                r#"{{"mcp": {{"opened": {{"type": "local", "command": ["{BINARY}", "serve", "demo"]}}}}}}"#
            ),
        ),
        (
            "code.json",
            format!(r#"{{/* a comment */ "inputs": [], "servers": {{"coded": {entry},}}}}"#),
        ),
    ] {
        place.write(file, &text);
    }
    place
}

// req: S-SHELL
#[test]
fn a_server_is_called_by_any_name_it_has() {
    let place = place();
    for server in [
        "mine",
        "theirs",
        "./.mcp.json:theirs",
        "polyport.toml:mine",
        "codex:codexed",
        "claude-code:theirs",
        "zed.json:zedded",
        "opencode.json:opened",
        "code.json:coded",
    ] {
        let output = place
            .command(["call", server, "add", "a=2", "b=3"])
            .output()
            .unwrap();
        let said = (
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        );
        assert_eq!(
            said,
            ("{\"sum\":5.0}\n".to_owned(), String::new()),
            "{server}"
        );
    }
    let output = place
        .command(["call", "mine", "list_allowed_directories"])
        .env("WHAT", "notes")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("notes"), "{text}");
}

// req: S-SHELL
#[test]
fn names_that_are_wrong_say_what_would_be_right() {
    let place = place();
    place.write("broken.json", "{\n  \"mcpServers\": {\n");
    let mut text = String::new();
    for words in [
        &["ls", "mnie"][..],
        &["ls", "nothing"],
        &["ls", "notes"],
        &["ls", "file.txt"],
        &["ls", "./nothing"],
        &["ls", "zed.json"],
        &["serve", "zed.json"],
        &["ls", "unset"],
        &["ls", "wrong"],
        &["ls", "odd"],
        &["ls", "ws://127.0.0.1:1/?token=s3cret"],
        &["ls", "https://u:p@example.com"],
        &["ls", "http://127.0.0.1:1/mcp?token=s3cret"],
        &["ls", ":1"],
        &["ls", ":74000"],
        &["ls", "sqlite:shop.db"],
        &["ls", "cursr:theirs"],
        &["ls", ".mcp.json:thiers"],
        &["ls", "nothing.json:x"],
        &["ls", "broken.json:x"],
        &["ls", "file.txt:x"],
        &["ls", "codex:nothing"],
        &["ls", "cursor:nothing"],
        &["ls", "mine", "--config", "nothing.toml"],
        &["ls", "theirs", "--config", "polyport.toml"],
        &["ls", "demo", "--header", "no colon"],
        &["ls"],
    ] {
        let mut command = place.command(words);
        command.env_remove("GONE").env_remove("TOKEN");
        let output = command.output().unwrap();
        let shown = said(&output);
        assert!(!shown.contains("s3cret"), "{shown}");
        // What a folder lists is another test's.
        let shown = match shown.split_once("-- stderr") {
            Some((listed, rest)) if !listed.is_empty() => format!("-- stderr{rest}"),
            _ => shown,
        };
        writeln!(text, "$ polyport {}\n{shown}", words.join(" ")).unwrap();
    }
    golden("names.txt", &place.plain(&text));
}

// req: D-36
#[test]
fn d_36_the_built_in_server_and_a_folder_of_its_name() {
    let place = Place::new();
    place.write("demo/a.txt", "x");
    for (word, want, note) in [("demo", "sum", true), ("./demo", "no tool add", false)] {
        let output = place
            .command(["call", word, "add", "a=1", "b=1"])
            .output()
            .unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(said.contains(want), "{said}");
        assert_eq!(said.contains("say ./demo"), note, "{said}");
    }
}

/// A server at an address is one like any other, under each of its names.
// req: S-SHELL
#[test]
fn servers_at_an_address_are_called() {
    let place = Place::new();
    let (_ours, theirs) = terminal();
    let mut program = place.listener(&["demo", "--listen", "0"], theirs);
    program.until_said("\"url\":");
    let said = program.stderr();
    let (_, rest) = said.split_once("http://127.0.0.1:").unwrap();
    let port = rest.split('/').next().unwrap();
    place.write(
        "polyport.toml",
        &format!("[servers.near]\nurl = 'http://127.0.0.1:{port}/mcp'\nheaders = {{ X-Who = '${{WHO:-me}}' }}\n"),
    );
    for server in [
        &*format!(":{port}"),
        &format!("http://127.0.0.1:{port}/mcp"),
        &format!("ws://127.0.0.1:{port}/ws"),
        "near",
        "polyport.toml:near",
    ] {
        let output = place
            .command(["call", server, "add", "a=2", "b=3", "--header", "X-More: 1"])
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"{\"sum\":5.0}\n", "{server}: {output:?}");
    }
    for (words, code, want) in [
        (
            &["ls", "near", "--header", "Accept: x"][..],
            2,
            "a header that the protocol sets",
        ),
        (&["ls", &format!(":{port}/elsewhere")], 6, "most have /mcp"),
    ] {
        let output = place.command(words).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(want), "{said}");
    }
    program.signal(Signal::INT);
    assert_eq!(program.end().1, Some(0));
}

/// The child has what its entry names, and none of what we have besides.
// req: V-1101
#[test]
fn v_1101_a_child_gets_what_is_named_and_no_more() {
    let place = Place::new();
    let script = "printf '%s|' \"$GIVEN\" \"$SECRET\" \"$EXTRA\" >&2; pwd >&2";
    place.write(
        "polyport.toml",
        &format!(
            "[servers.s]\ncommand = 'sh'\nargs = ['-c', '''{script}''']\ncwd = 'notes'\nenv = {{ GIVEN = '${{SECRET}}' }}\n"
        ),
    );
    let folder = place.path("notes");
    for (option, want) in [
        (&[][..], "s||"),
        (&["-e", "EXTRA=more"], "s||more"),
        (&["-e", "GIVEN=told"], "told||"),
        (&["--inherit-env"], "s|s|"),
    ] {
        let mut command = place.command(["ls", "s"]);
        let output = command.args(option).env("SECRET", "s").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let want = format!("{want}|{}", folder.display());
        assert!(said.contains(&want), "{option:?}: {said}");
        assert_eq!(output.status.code(), Some(4));
    }
}

/// Command lines can be read by everybody on a machine; what a configuration holds stands in none.
// req: V-1103
#[cfg(target_os = "linux")]
#[test]
fn v_1103_secrets_of_a_configuration_stand_in_no_command_line() {
    let place = Place::new();
    // What it says of the secret is masked, what it does with it is not.
    let script =
        "cat /proc/self/cmdline /proc/$PPID/cmdline >&2; printf '|%s|' \"$KEY\" | tr 3 x >&2";
    place.write(
        "polyport.toml",
        &format!("[servers.s]\ncommand = 'sh'\nargs = ['-c', '''{script}''']\nenv = {{ KEY = '${{SECRET}}' }}\n"),
    );
    let output = place
        .command(["ls", "s"])
        .env("SECRET", "s3cret")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("ls\u{fffd}s") && said.contains("|sxcret|"),
        "{said}"
    );
    // Neither as it is nor by its mask.
    assert!(!said.contains("s3cret") && !said.contains("****"), "{said}");
}

// req: BR-205
#[test]
fn br_205_a_variable_may_hold_anything() {
    let place = Place::new();
    let script = "printf '%s|' \"$A\" \"${EMPTY-unset}\" \"$LINES_OF\" >&2";
    let output = place
        .command(["ls", "-e", "A=b=c==", "-e", "EMPTY=", "-e", "LINES_OF=1\n2"])
        .args(["--", "sh", "-c", script])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("b=c==||1\n"), "{said}");
    assert!(said.contains("2|"), "{said}");
}

#[test]
fn secrets_of_inputs_files_and_commands() {
    let place = Place::new();
    place.write("secret", "demo\n");
    for (value, leave, want) in [
        ("${input:what it-is}", None, "INPUT_WHAT_IT_IS"),
        ("${file:secret}", None, "--expand file allows it"),
        ("${cmd:echo demo}", None, "--expand cmd allows it"),
        ("${file:secret}", Some("file"), "sum"),
        ("${file:gone}", Some("file"), "No such file"),
        ("${cmd:echo demo}", Some("cmd"), "sum"),
        (
            "${cmd:echo demo; exit 3}",
            Some("cmd"),
            "failed: exit status: 3",
        ),
        ("${cmd:yes}", Some("cmd"), "more than 64 KiB"),
    ] {
        place.write(
            "polyport.toml",
            &format!("[servers.s]\ncommand = '{BINARY}'\nargs = ['serve', '{value}']\n"),
        );
        let mut command = place.command(["call", "s", "add", "a=1", "b=1"]);
        if let Some(leave) = leave {
            command.args(["--expand", leave]);
        }
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains(want), "{value}: {said}");
    }
    place.write(
        "polyport.toml",
        &format!("[servers.s]\ncommand = '{BINARY}'\nargs = ['serve', '${{input:what}}']\n"),
    );
    let mut command = place.command(["call", "s", "add", "a=1", "b=1"]);
    let output = command.env("INPUT_WHAT", "demo").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}
