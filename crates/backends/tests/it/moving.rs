//! `move_file` and `copy_file`: within a folder, between folders, between disks, and never over something.

use std::{fs, path::Path};

use polyport_backends::files::{Folders, Limits};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Disk, Entry, Fixture, disk, workshop};

fn from_to(source: &str, destination: &str) -> Value {
    json!({ "source": source, "destination": destination })
}

/// `before` with every path at or below `from` at or below `to`.
fn moved(before: &Disk, from: &str, to: &str) -> Disk {
    let renamed = before.iter().map(|(path, what)| {
        let path = match path.strip_prefix(from) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{to}{rest}"),
            _ => path.clone(),
        };
        (path, what.clone())
    });
    renamed.collect()
}

#[test]
fn files_and_directories_are_moved_and_copied() {
    for (from, to) in [
        ("a.txt", "b.txt"),
        ("a.txt", "sub/deep/b.txt"),
        ("sub/one.txt", "one.txt"),
        ("sub", "bus"),
        ("sub/deep", "deep"),
        ("sub/deep/", "sub/deeper"),
        ("sub/empty", "sub/deep/empty"),
    ] {
        let plain = from.trim_end_matches('/');
        let notes = workshop();
        let (before, around) = (notes.inside(), notes.around());
        let said = notes.text("move_file", from_to(from, to));
        assert_eq!(said, format!("Moved {plain} to {to}."));
        let after = moved(&before, plain, to);
        assert_eq!(
            (notes.inside(), notes.around()),
            (after.clone(), around.clone())
        );

        let notes = workshop();
        let said = notes.text("copy_file", from_to(from, to));
        assert!(
            said.starts_with(&format!("Copied {plain} to {to}: ")),
            "{said}"
        );
        let mut both = before;
        both.extend(after);
        assert_eq!((notes.inside(), notes.around()), (both, around));
    }
}

#[test]
fn nothing_is_overwritten_and_nothing_goes_into_itself() {
    let notes = workshop();
    let before = notes.inside();
    for (from, to, want) in [
        (
            "a.txt",
            "sub/one.txt",
            "\"sub/one.txt\" is there already, and nothing is overwritten",
        ),
        ("a.txt", "sub", "\"sub\" is there already"),
        ("a.txt", "sub/empty/", "\"sub/empty\" is there already"),
        ("a.txt", "a.txt", "\"a.txt\" is there already"),
        ("sub", "a.txt", "\"a.txt\" is there already"),
        ("sub", "sub/empty", "\"sub/empty\" is there already"),
        (
            "sub",
            "sub/inside",
            "Argument `destination`: it lies inside the source",
        ),
        (
            "sub",
            "sub/deep/inside",
            "Argument `destination`: it lies inside the source",
        ),
        ("none", "b.txt", "Nothing at \"none\" that can be reached"),
        (
            "a.txt",
            "none/b.txt",
            "No directory for \"none/b.txt\" that can be reached",
        ),
        ("a.txt", "sub/one.txt/x", "No directory for"),
        (
            "a.txt",
            "../b.txt",
            "No directory for \"../b.txt\" that can be reached",
        ),
        (
            "../secret.txt",
            "b.txt",
            "Nothing at \"../secret.txt\" that can be reached",
        ),
        ("a.txt", ".git/hooks", "belongs to git"),
        ("a.txt", "sub/.git", "belongs to git"),
        ("a.txt", "b.txt ", "Argument `destination`: a new name"),
        ("a.txt", "b.", "Argument `destination`: a new name"),
        ("a\0", "b.txt", "Argument `source`: a path has no NUL byte"),
        (
            "a.txt",
            "b\0",
            "Argument `destination`: a path has no NUL byte",
        ),
        (".", "b", "is not changed: it is a working folder itself"),
    ] {
        for tool in ["move_file", "copy_file"] {
            let said = notes.text(tool, from_to(from, to));
            assert!(
                said.starts_with("Error: ") && said.contains(want),
                "{tool} {from} {to}: {said}"
            );
        }
    }
    assert_eq!(notes.inside(), before);
    let said = notes.text("move_file", from_to(".git", "git"));
    assert!(said.contains("belongs to git"), "{said}");
}

#[test]
fn between_two_folders() {
    let notes = workshop().with_other(&[("o.txt", "other")]);
    for (tool, from, to, want) in [
        (
            "move_file",
            "notes/a.txt",
            "other/a.txt",
            "Moved notes/a.txt to other/a.txt.",
        ),
        (
            "move_file",
            "other/o.txt",
            "notes/sub/o.txt",
            "Moved other/o.txt to notes/sub/o.txt.",
        ),
        (
            "move_file",
            "notes/sub",
            "other/sub",
            "Moved notes/sub to other/sub.",
        ),
        (
            "copy_file",
            "other/sub/deep",
            "notes/deep",
            "Copied other/sub/deep to notes/deep: 1 B in 2 entries.",
        ),
        (
            "copy_file",
            "other/a.txt",
            "notes/a.txt",
            "Copied other/a.txt to notes/a.txt: 6 B.",
        ),
    ] {
        assert_eq!(notes.text(tool, from_to(from, to)), want);
    }
    let names = |disk: Disk| disk.into_keys().collect::<Vec<_>>();
    assert_eq!(names(notes.inside()), ["a.txt", "deep", "deep/two.txt"]);
    let other = disk(&notes.outside.path().join("other"));
    assert_eq!(
        names(other),
        [
            "a.txt",
            "sub",
            "sub/deep",
            "sub/deep/two.txt",
            "sub/empty",
            "sub/o.txt",
            "sub/one.txt"
        ]
    );
    for (from, to, want) in [
        ("notes", "other/x", "it is a working folder itself"),
        ("notes/a.txt", "other", "it is a working folder itself"),
        (".", "other/x", "\".\" is a directory"),
        ("notes/a.txt", ".", "\".\" is a directory"),
        (
            "notes/a.txt",
            "third/x",
            "No directory for \"third/x\" that can be reached",
        ),
    ] {
        let said = notes.text("move_file", from_to(from, to));
        assert!(said.contains(want), "{from} {to}: {said}");
    }
}

#[test]
fn the_same_folder_twice_and_one_in_another() {
    let base = workshop();
    let (root, sub) = (base.root(), base.root().join("sub"));
    let folders = Folders::open([&root, &root, &sub]).unwrap();
    let notes = Fixture { folders, ..base };
    for (tool, args, want) in [
        (
            "write_file",
            json!({ "path": "notes-2/a.txt", "content": "2" }),
            "Overwrote notes-2/a.txt",
        ),
        (
            "move_file",
            from_to("notes/a.txt", "notes-2/b.txt"),
            "Moved notes/a.txt to notes-2/b.txt.",
        ),
        (
            "copy_file",
            from_to("notes/b.txt", "notes-2/b.txt"),
            "Error: \"notes-2/b.txt\" is there already",
        ),
        (
            "move_file",
            from_to("notes/b.txt", "sub/b.txt"),
            "Moved notes/b.txt to sub/b.txt.",
        ),
        (
            "copy_file",
            from_to("notes-2/sub", "sub/deep/in"),
            "Error: Argument `destination`: it lies inside the source.",
        ),
        (
            "move_file",
            from_to("notes/sub", "notes/bus"),
            "Error: \"notes/sub\" is not changed: it is a working folder itself, or",
        ),
        (
            "delete_file",
            json!({ "path": "notes-2/sub/b.txt" }),
            "Deleted notes-2/sub/b.txt",
        ),
    ] {
        let said = notes.text(tool, args);
        assert!(said.starts_with(want), "{tool}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_moved_themselves_and_copied_as_what_they_lead_to() {
    use std::os::unix::fs::symlink;
    let notes = workshop();
    symlink("a.txt", notes.root().join("link")).unwrap();
    symlink("../secret.txt", notes.root().join("out")).unwrap();
    symlink("../one.txt", notes.root().join("sub/deep/up")).unwrap();
    let around = notes.around();
    assert_eq!(
        notes.text("copy_file", from_to("link", "c.txt")),
        "Copied a.txt to c.txt: 6 B."
    );
    assert_eq!(
        notes.text("move_file", from_to("link", "sub/link")),
        "Moved link to sub/link."
    );
    assert_eq!(
        notes.text("move_file", from_to("out", "sub/out")),
        "Moved out to sub/out."
    );
    let said = notes.text("copy_file", from_to("sub", "copy"));
    assert_eq!(
        said,
        "Copied sub to copy: 2 B in 5 entries. 3 links were left out."
    );
    assert!(
        notes
            .text("copy_file", from_to("sub/out", "x"))
            .contains("Nothing at \"sub/out\"")
    );
    assert!(
        notes
            .text("copy_file", from_to("a.txt", "sub/out"))
            .contains("\"sub/out\" is there already")
    );
    let inside = notes.inside();
    assert_eq!(inside["c.txt"], Entry::File("alpha\n".into()));
    assert_eq!(inside["sub/link"], Entry::Link("a.txt".into()));
    assert_eq!(inside["sub/out"], Entry::Link("../secret.txt".into()));
    assert!(!inside.contains_key("copy/out"));
    assert_eq!(notes.around(), around);
}

#[test]
fn what_is_too_much_is_not_copied_and_leaves_nothing() {
    for (limits, want) in [
        (
            Limits {
                copy_bytes: 1,
                ..Limits::default()
            },
            "\"sub\" holds more than 1 B. Nothing was changed",
        ),
        (
            Limits {
                copy_entries: 4,
                ..Limits::default()
            },
            "\"sub\" holds more than 4 entries",
        ),
        (
            Limits {
                depth: 1,
                ..Limits::default()
            },
            "holds directories more than 1 levels deep",
        ),
    ] {
        let notes = workshop().limited(limits);
        let before = notes.inside();
        let said = notes.text("copy_file", from_to("sub", "copy"));
        assert!(said.contains(want), "{said}");
        assert_eq!(notes.inside(), before);
    }
}

#[cfg(unix)]
#[test]
fn copies_have_the_permissions_of_the_original() {
    use std::os::unix::fs::PermissionsExt;
    let notes = workshop();
    let mode = |name: &str| {
        fs::metadata(notes.root().join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    let set = |name: &str, bits| {
        fs::set_permissions(notes.root().join(name), fs::Permissions::from_mode(bits)).unwrap();
    };
    set("sub/one.txt", 0o740);
    set("sub/deep", 0o550);
    notes.json("copy_file", from_to("sub", "copy"));
    notes.json("copy_file", from_to("sub/one.txt", "one.txt"));
    assert_eq!(
        (mode("copy/one.txt"), mode("copy/deep"), mode("one.txt")),
        (0o740, 0o550, 0o740)
    );
    set("sub/deep", 0o750);
    set("copy/deep", 0o750);
}

/// Another disk than that of the temporary folder, if there is one.
#[cfg(target_os = "linux")]
fn other_disk() -> Option<TempDir> {
    use std::os::unix::fs::MetadataExt;
    let here = TempDir::new().unwrap();
    let there = TempDir::new_in("/dev/shm").ok()?;
    let disk = |at: &Path| fs::metadata(at).unwrap().dev();
    (disk(here.path()) != disk(there.path())).then_some(there)
}

#[cfg(target_os = "linux")]
#[test]
fn from_one_disk_to_another() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let Some(shm) = other_disk() else {
        println!("skipped: /dev/shm is on no other disk than the temporary folder");
        return;
    };
    let base = workshop();
    let root = base.root();
    let folders = Folders::open([root.clone(), shm.path().to_owned()]).unwrap();
    let name = folders.iter().nth(1).unwrap().name().to_owned();
    let notes = Fixture { folders, ..base };
    fs::set_permissions(root.join("sub/one.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let one = fs::File::options()
        .write(true)
        .open(root.join("sub/one.txt"))
        .unwrap();
    one.set_modified(time).unwrap();
    let before = notes.inside();
    for (from, to) in [("notes/a.txt", "a.txt"), ("notes/sub", "sub")] {
        let to = format!("{name}/{to}");
        let want = format!(
            "Moved {from} to {to}: they are on different disks, so it was copied and then removed."
        );
        assert_eq!(notes.text("move_file", from_to(from, &to)), want);
    }
    assert_eq!((notes.inside(), disk(shm.path())), (Disk::new(), before));
    let metadata = fs::metadata(shm.path().join("sub/one.txt")).unwrap();
    assert_eq!(
        (
            metadata.permissions().mode() & 0o777,
            metadata.modified().unwrap()
        ),
        (0o640, time)
    );
    // What cannot be taken along as it is stays where it is.
    symlink("one.txt", shm.path().join("sub/link")).unwrap();
    let there = disk(shm.path());
    for (from, want) in [
        ("sub", "holds links, which are not moved from one disk"),
        ("sub/link", "is a link, which is not moved"),
    ] {
        let said = notes.text(
            "move_file",
            from_to(&format!("{name}/{from}"), "notes/back"),
        );
        assert!(said.contains(want), "{said}");
    }
    assert_eq!((notes.inside(), disk(shm.path())), (Disk::new(), there));
    fs::write(root.join("taken"), "").unwrap();
    let said = notes.text(
        "move_file",
        from_to(&format!("{name}/a.txt"), "notes/taken"),
    );
    assert!(said.contains("\"notes/taken\" is there already"), "{said}");
}
