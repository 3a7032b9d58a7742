//! Serving folders that may be changed, over MCP, in both eras; and disks that refuse.

use std::fs;
use std::process::Command;

use polyport::Revision;
use polyport_testkit::Program;
use serde_json::{Value, json};

use crate::support::{BINARY, Place};

fn said(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{result}"))
}

fn read(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path(name)).unwrap()
}

/// Names in a folder, hidden ones too.
fn names(place: &Place, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(place.path(folder)).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn every_tool_that_writes_does() {
    for revision in [Revision::LATEST_LEGACY, Revision::LATEST] {
        let place = Place::new();
        let mut program = place.host_in(&["notes", "--write"], revision);
        for (tool, arguments, says) in [
            (
                "write_file",
                json!({"path": "n.txt", "content": "one\n"}),
                "Wrote the new file n.txt: 4 bytes.",
            ),
            (
                "edit_file",
                json!({"path": "n.txt", "edits": [{"oldText": "one", "newText": "two"}]}),
                "-one\n+two\n",
            ),
            (
                "create_directory",
                json!({"path": "x/y"}),
                "Made the directory x/y and 1 above it.",
            ),
            (
                "copy_file",
                json!({"source": "n.txt", "destination": "x/y/n.txt"}),
                "Copied n.txt to x/y/n.txt: 4 B.",
            ),
            (
                "move_file",
                json!({"source": "x", "destination": "z"}),
                "Moved x to z.",
            ),
            (
                "delete_file",
                json!({"path": "n.txt"}),
                "Deleted n.txt (4 B); it is kept as .polyport-trash/",
            ),
        ] {
            let result = program.call(tool, arguments);
            assert!(
                result.get("isError").is_none() && said(&result).contains(says),
                "{tool}: {result}"
            );
            assert_eq!(result.get("structuredContent"), None, "{tool}");
        }
        let told = program.call("write_file", json!({"path": "../n.txt", "content": "x"}));
        assert!(
            told["isError"] == true && said(&told).starts_with("No directory for"),
            "{told}"
        );
        let told = program.call(
            "edit_file",
            json!({"path": "a.md", "edits": [{"oldText": "alpha"}]}),
        );
        assert!(
            told["isError"] == true && said(&told).contains("newText"),
            "{told}"
        );
        let listed = program.ask("resources/list", json!({}));
        let listed = listed["resources"].as_array().unwrap();
        let listed: Vec<_> = listed.iter().map(|r| r["name"].as_str().unwrap()).collect();
        assert_eq!(listed, ["a.md", "b/c.txt", "z/y/n.txt"]);
        program.close_input();
        let (rest, code) = program.end();
        assert_eq!(code, Some(0));
        // The system may tell of the last files after the last answer.
        let is_told = |note: &Value| note["method"] == "notifications/resources/list_changed";
        assert!(rest.iter().all(is_told), "{rest:?}");
        assert_eq!(read(&place, "notes/z/y/n.txt"), "two\n");
        assert_eq!(names(&place, ""), ["file.txt", "notes", "other"]);
    }
}

#[test]
fn without_the_flag_nothing_can_be_changed() {
    for revision in [Revision::LATEST_LEGACY, Revision::LATEST] {
        let place = Place::new();
        let mut program = place.host_in(&["notes"], revision);
        for tool in [
            "write_file",
            "edit_file",
            "create_directory",
            "move_file",
            "copy_file",
            "delete_file",
        ] {
            let arguments =
                json!({"path": "a.md", "content": "x", "source": "a.md", "destination": "b.md"});
            let params = json!({"name": tool, "arguments": arguments});
            let refused = program.refused("tools/call", params);
            assert_eq!(refused["code"], -32602, "{refused}");
        }
        assert_eq!(read(&place, "notes/a.md"), "# A\nalpha\n");
        assert_eq!(names(&place, "notes"), ["a.md", "b"]);
    }
}

/// A disk that takes no more: the kernel cuts every file of the program at 8 KiB.
#[test]
fn a_full_disk_leaves_the_old_file_and_no_piece_of_the_new() {
    let place = Place::new();
    place.write("notes/big.txt", &"x\n".repeat(20_000));
    let mut command = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" serve notes --write";
    command
        .args(["-c", script, BINARY])
        .current_dir(place.path(""));
    let mut program = Program::start(&mut command);
    let before = names(&place, "notes");
    for (tool, arguments) in [
        (
            "write_file",
            json!({"path": "a.md", "content": "y".repeat(20_000)}),
        ),
        (
            "write_file",
            json!({"path": "new.txt", "content": "y".repeat(20_000)}),
        ),
        (
            "edit_file",
            json!({"path": "a.md", "edits": [{"oldText": "alpha", "newText": "y".repeat(20_000)}]}),
        ),
        (
            "copy_file",
            json!({"source": "big.txt", "destination": "copy.txt"}),
        ),
        ("copy_file", json!({"source": "b", "destination": "b2"})),
    ] {
        if tool == "copy_file" {
            let _ = fs::copy(place.path("notes/big.txt"), place.path("notes/b/big.txt"));
        }
        let told = program.call(tool, arguments);
        assert_eq!(told["isError"], true, "{tool}: {told}");
        assert!(
            said(&told).starts_with("The disk has no room for"),
            "{tool}: {told}"
        );
    }
    assert_eq!(read(&place, "notes/a.md"), "# A\nalpha\n");
    assert_eq!(names(&place, "notes"), before);
    let told = program.call("write_file", json!({"path": "a.md", "content": "y"}));
    assert!(told.get("isError").is_none(), "{told}");
}

/// What the account may not change stays, and the answer says why.
#[test]
fn a_folder_that_is_read_only_on_the_disk() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let set = |name: &str, mode| {
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    place.write("notes/open/x", "x");
    fs::write(place.path("notes/open/locked"), "l").unwrap();
    set("notes/open/locked", 0o444);
    set("notes/b", 0o555);
    set("notes", 0o555);
    // The super-user may write everywhere, unless it gives that right up.
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-dac_override,-dac_read_search", BINARY]);
        command
    } else {
        Command::new(BINARY)
    };
    command
        .args(["serve", "notes", "--write"])
        .current_dir(place.path(""));
    if Command::new("setpriv").arg("--version").output().is_err() {
        println!("skipped: setpriv is not installed");
        return;
    }
    let mut program = Program::start(&mut command);
    for (tool, arguments) in [
        ("write_file", json!({"path": "new.txt", "content": "x"})),
        ("write_file", json!({"path": "a.md", "content": "x"})),
        ("write_file", json!({"path": "open/locked", "content": "x"})),
        (
            "edit_file",
            json!({"path": "b/c.txt", "edits": [{"oldText": "beta", "newText": "x"}]}),
        ),
        ("create_directory", json!({"path": "b/new"})),
        (
            "move_file",
            json!({"source": "a.md", "destination": "open/a.md"}),
        ),
        (
            "move_file",
            json!({"source": "open/x", "destination": "b/x"}),
        ),
        (
            "copy_file",
            json!({"source": "a.md", "destination": "b/a.md"}),
        ),
        ("delete_file", json!({"path": "open/x"})),
    ] {
        let told = program.call(tool, arguments.clone());
        assert_eq!(told["isError"], true, "{tool} {arguments}: {told}");
        let want = "cannot be changed: it is read-only, or the account that runs this server may not write there.";
        assert!(said(&told).contains(want), "{tool} {arguments}: {told}");
    }
    let moved = program.call(
        "move_file",
        json!({"source": "a.md", "destination": "open/a.md"}),
    );
    assert!(
        said(&moved).starts_with("\"a.md\" cannot"),
        "it is the source that cannot be taken: {moved}"
    );
    let written = program.call("write_file", json!({"path": "open/x", "content": "y"}));
    assert!(said(&written).starts_with("Overwrote open/x"), "{written}");
    set("notes", 0o755);
    set("notes/b", 0o755);
    assert_eq!(names(&place, "notes"), ["a.md", "b", "open"]);
    assert_eq!(names(&place, "notes/open"), ["locked", "x"]);
}
