//! `write_file` and `create_directory`: what is there afterwards, and what is said.

use std::fs;

use polyport_backends::files::{FilesError, Limits};
use serde_json::json;

use crate::support::{Entry, fixture, workshop};

fn modified(text: &str) -> String {
    text.rsplit_once("Modified: ").unwrap().1.to_owned()
}

#[test]
fn a_file_is_written_new_or_anew() {
    let notes = workshop();
    for (path, content, says) in [
        ("new.txt", "é\n", "Wrote the new file new.txt: 3 bytes."),
        ("new.txt", "", "Overwrote new.txt: 0 bytes in place of 3."),
        (
            "sub/../a.txt",
            "b\r\n",
            "Overwrote a.txt: 3 bytes in place of 6.",
        ),
        (
            "sub/.hidden",
            "h",
            "Wrote the new file sub/.hidden: 1 byte.",
        ),
        (
            "sub/ü %41?.md",
            "x",
            "Wrote the new file sub/ü %41?.md: 1 byte.",
        ),
    ] {
        let said = notes.text("write_file", json!({ "path": path, "content": content }));
        assert!(said.starts_with(says), "{said}");
        let on_disk = fs::read_to_string(notes.root().join(path)).unwrap();
        assert_eq!(on_disk, content, "{path}");
    }
    let absolute = notes.root().join("new.txt");
    notes.text(
        "write_file",
        json!({ "path": absolute, "content": "by its path" }),
    );
    assert_eq!(fs::read_to_string(&absolute).unwrap(), "by its path");
    assert!(!notes.inside().keys().any(|path| path.contains("polyport")));
}

#[test]
fn what_is_no_file_is_not_written_to() {
    let notes = workshop();
    let before = notes.inside();
    for (path, want) in [
        ("sub", "\"sub\" is a directory, not a file."),
        ("sub/", "\"sub\" is a directory, not a file."),
        (".", "\".\" is not changed: it is a working folder itself"),
        ("", "\".\" is not changed: it is a working folder itself"),
        (
            "none/new.txt",
            "No directory for \"none/new.txt\" that can be reached: create_directory",
        ),
        (
            "a.txt/new.txt",
            "No directory for \"a.txt/new.txt\" that can be reached",
        ),
        (
            "new ",
            "Argument `path`: a new name neither begins nor ends with a blank",
        ),
        (
            "new\n.txt",
            "Argument `path`: a new name has no control characters",
        ),
        (
            ".git/hooks/pre-commit",
            "\".git/hooks/pre-commit\" is not changed: it belongs to git",
        ),
        (".GIT", "is not changed: it belongs to git"),
        (
            ".polyport-trash/x",
            "No directory for \".polyport-trash/x\" that can be reached",
        ),
    ] {
        let said = notes.text("write_file", json!({ "path": path, "content": "x" }));
        let said = said.strip_prefix("Error: ").unwrap();
        assert!(
            said.starts_with(want) || said.contains(want),
            "{path:?}: {said}"
        );
    }
    assert_eq!(notes.inside(), before);
}

#[test]
fn more_than_a_file_may_have_is_refused() {
    let notes = workshop().limited(Limits {
        write_bytes: 10,
        ..Limits::default()
    });
    let said = notes.text(
        "write_file",
        json!({ "path": "a.txt", "content": "x".repeat(11) }),
    );
    assert_eq!(
        said,
        "Error: Argument `content`: it has 11 bytes, and one file may have at most 10."
    );
    notes.json(
        "write_file",
        json!({ "path": "a.txt", "content": "x".repeat(10) }),
    );
}

#[test]
fn if_modified_lets_nobody_overwrite_what_they_have_not_seen() {
    let notes = workshop();
    let write = |content: &str, if_modified: &str| {
        let args = json!({ "path": "a.txt", "content": content, "ifModified": if_modified });
        notes.text("write_file", args)
    };
    let info = notes.json("get_file_info", json!({ "path": "a.txt" }));
    let seen = info["modified"].as_str().unwrap();
    let first = write("first", seen);
    assert!(first.starts_with("Overwrote a.txt"), "{first}");
    // The time that a write tells is the one for the next.
    let second = write("second", &modified(&first));
    assert!(second.starts_with("Overwrote a.txt"), "{second}");
    for stale in [seen, &modified(&first), "", "2026-01-01T00:00:00Z"] {
        let said = write("stale", stale);
        let want = format!(
            "Error: \"a.txt\" is not as `ifModified` says: it was last modified at {}. Read it again before you write; \
             nothing was changed.",
            modified(&second)
        );
        assert_eq!(said, want);
    }
    assert!(write("x", "none").contains("\"a.txt\" is there already; it was last modified at"));
    assert_eq!(
        notes.text("read_text_file", json!({ "path": "a.txt" })),
        "second"
    );
    fs::remove_file(notes.root().join("a.txt")).unwrap();
    assert!(write("x", seen).contains("\"a.txt\" is no longer there"));
    assert!(write("born", "none").starts_with("Wrote the new file a.txt"));
}

#[test]
fn times_are_told_to_the_nanosecond() {
    let notes = fixture(&[("a.txt", "x")]);
    let file = fs::File::options()
        .write(true)
        .open(notes.root().join("a.txt"))
        .unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::new(1_709_210_096, 123_456_789);
    file.set_modified(time).unwrap();
    let info = notes.json("get_file_info", json!({ "path": "a.txt" }));
    assert_eq!(info["modified"], "2024-02-29T12:34:56.123456789Z");
}

#[cfg(unix)]
#[test]
fn permissions_stay_and_new_files_have_the_usual_ones() {
    use std::os::unix::fs::PermissionsExt;
    let notes = workshop();
    let mode = |name: &str| {
        fs::metadata(notes.root().join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o7777
    };
    fs::write(notes.root().join("usual"), "").unwrap();
    for (number, bits) in [0o600, 0o644, 0o755, 0o666, 0o200].into_iter().enumerate() {
        let name = format!("f{number}");
        fs::write(notes.root().join(&name), "x").unwrap();
        let permissions = fs::Permissions::from_mode(bits);
        fs::set_permissions(notes.root().join(&name), permissions).unwrap();
        notes.json("write_file", json!({ "path": name, "content": "y" }));
        assert_eq!(mode(&name), bits);
    }
    let run = notes.root().join("a.txt");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o750)).unwrap();
    let edits = json!([{ "oldText": "alpha", "newText": "beta" }]);
    notes.json("edit_file", json!({ "path": "a.txt", "edits": edits }));
    assert_eq!(mode("a.txt"), 0o750);
    notes.json("write_file", json!({ "path": "fresh", "content": "y" }));
    assert_eq!(mode("fresh"), mode("usual"));
    // What nobody may write stays as it is, though its directory could be changed.
    fs::set_permissions(&run, fs::Permissions::from_mode(0o444)).unwrap();
    for (tool, args) in [
        ("write_file", json!({ "path": "a.txt", "content": "x" })),
        (
            "edit_file",
            json!({ "path": "a.txt", "edits": [{ "oldText": "beta", "newText": "x" }] }),
        ),
    ] {
        let error = notes.error(tool, args);
        assert!(matches!(error, FilesError::ReadOnly { .. }), "{error}");
    }
    assert_eq!(fs::read_to_string(&run).unwrap(), "beta\n");
}

#[cfg(unix)]
#[test]
fn links_that_stay_inside_are_written_through() {
    use std::os::unix::fs::symlink;
    let notes = workshop();
    symlink("../a.txt", notes.root().join("sub/link")).unwrap();
    symlink("sub", notes.root().join("to-sub")).unwrap();
    symlink("sub/link", notes.root().join("far")).unwrap();
    for (path, text) in [("sub/link", "1"), ("far", "2"), ("to-sub/link", "3")] {
        let said = notes.text("write_file", json!({ "path": path, "content": text }));
        assert!(
            said.starts_with("Overwrote a.txt: 1 byte"),
            "{path}: {said}"
        );
        assert_eq!(
            fs::read_to_string(notes.root().join("a.txt")).unwrap(),
            text
        );
    }
    let edits = json!([{ "oldText": "3", "newText": "4" }]);
    notes.json("edit_file", json!({ "path": "far", "edits": edits }));
    notes.json(
        "write_file",
        json!({ "path": "to-sub/new", "content": "n" }),
    );
    let inside = notes.inside();
    assert_eq!(inside["a.txt"], Entry::File("4".into()));
    assert_eq!(inside["far"], Entry::Link("sub/link".into()));
    assert_eq!(inside["sub/link"], Entry::Link("../a.txt".into()));
    assert_eq!(inside["sub/new"], Entry::File("n".into()));
}

#[cfg(unix)]
#[test]
fn v_901_a_hard_link_to_the_outside_keeps_its_contents() {
    let notes = workshop();
    let secret = notes.outside.path().join("secret.txt");
    fs::hard_link(&secret, notes.root().join("hard")).unwrap();
    let said = notes.text("write_file", json!({ "path": "hard", "content": "mine" }));
    assert!(
        said.contains("The file has 1 other name (hard links), which keep the old text."),
        "{said}"
    );
    fs::remove_file(notes.root().join("hard")).unwrap();
    fs::hard_link(&secret, notes.root().join("hard")).unwrap();
    let edits = json!([{ "oldText": "secret", "newText": "mine" }]);
    notes.json("edit_file", json!({ "path": "hard", "edits": edits }));
    let (copy, moved) = (
        json!({ "source": "hard", "destination": "copy" }),
        json!({ "source": "hard", "destination": "moved" }),
    );
    notes.json("copy_file", copy);
    notes.json("write_file", json!({ "path": "copy", "content": "mine" }));
    fs::remove_file(notes.root().join("hard")).unwrap();
    fs::hard_link(&secret, notes.root().join("hard")).unwrap();
    notes.json("move_file", moved);
    notes.json("delete_file", json!({ "path": "moved" }));
    notes.json("write_file", json!({ "path": "hard", "content": "mine" }));
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(
        notes.text("read_text_file", json!({ "path": "hard" })),
        "mine"
    );
}

#[test]
fn directories_are_made_with_those_above_them() {
    let notes = workshop();
    for (path, says) in [
        ("x/y/z", "Made the directory x/y/z and 2 above it."),
        ("x/y/z", "x/y/z is there already."),
        ("x/y/w/", "Made the directory x/y/w."),
        ("sub/../x/./v", "Made the directory x/v."),
        (".", ". is there already."),
    ] {
        assert_eq!(
            notes.text("create_directory", json!({ "path": path })),
            says
        );
    }
    let before = notes.inside();
    for (path, want) in [
        ("a.txt", "\"a.txt\" is a file, not a directory."),
        ("a.txt/x", "\"a.txt\" is a file, not a directory."),
        (
            "new/bad /x",
            "a new name neither begins nor ends with a blank",
        ),
        (".git/x", "belongs to git"),
        ("q/.git", "belongs to git"),
        (
            ".polyport-trash",
            "No directory for \".polyport-trash\" that can be reached",
        ),
        (".polyport-trash/x", "No directory for"),
        (".polyport-new-1-1", "No directory for"),
        ("../x", "No directory for \"../x\" that can be reached"),
        (&"x/".repeat(129), "Argument `path`: at most 128 levels."),
        (
            &format!("{}/", "x".repeat(100)).repeat(60),
            "is longer than a name, or a path as a whole, may be.",
        ),
        (
            &format!("q/{}", "y".repeat(256)),
            "a new name is longer than 255 bytes",
        ),
    ] {
        let said = notes.text("create_directory", json!({ "path": path }));
        assert!(
            said.starts_with("Error: ") && said.contains(want),
            "{path}: {said}"
        );
    }
    assert_eq!(notes.inside(), before);
}
