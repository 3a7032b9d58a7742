//! V-901 where it is a race, or the thing itself is the danger: what is swapped during a call, and what is no file.

use std::{
    fs,
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
};

use polyport_backends::files::{FilesError, Folders};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use crate::escapes::{PATHS, args, refusal};
use crate::support::{Disk, Fixture, disk, never, workshop};

// req: V-901
#[test]
fn v_901_pipes_sockets_and_devices_are_never_written_to() {
    let notes = workshop();
    let pipe = notes.root().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(notes.root().join("socket")).unwrap();
    symlink("pipe", notes.root().join("to-pipe")).unwrap();
    let before = notes.inside();
    for path in ["pipe", "socket", "to-pipe"] {
        for (tool, argument, _) in PATHS {
            let is_link_itself = path == "to-pipe"
                && (matches!(*tool, "delete_file")
                    || (*tool, *argument) == ("move_file", "source"));
            if is_link_itself || matches!(*tool, "get_file_info" | "search_contents") {
                continue;
            }
            let error = refusal(&notes, tool, argument, path);
            let want = match (*tool, *argument) {
                (_, "destination") => "is there already",
                ("create_directory", _) => "is a file, not a directory",
                _ => "is a pipe, socket or device",
            };
            assert!(error.contains(want), "{tool} {argument} {path}: {error}");
        }
    }
    // Nor are they taken along.
    let said = notes.text(
        "copy_file",
        json!({ "source": "sub", "destination": "copy" }),
    );
    assert!(said.starts_with("Copied sub"), "{said}");
    let inner = notes.root().join("sub/pipe");
    mknodat(CWD, &inner, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let said = notes.text(
        "copy_file",
        json!({ "source": "sub", "destination": "again" }),
    );
    assert!(
        said.contains("holds a pipe, socket or device. Nothing was changed"),
        "{said}"
    );
    assert!(before.keys().all(|path| notes.inside().contains_key(path)));
    let devices = Fixture {
        folders: Folders::open(["/dev"]).unwrap(),
        ..workshop()
    };
    for tool in ["write_file", "edit_file", "delete_file"] {
        let error = devices.error(tool, args(tool, "path", "null"));
        assert!(
            matches!(error, FilesError::Special { .. }),
            "{tool}: {error}"
        );
    }
}

/// A directory and a file are swapped for links to the outside and back, while every tool that changes something works on
/// them. Whatever a call answers, nothing outside changes.
// req: V-901
#[test]
fn v_901_what_is_swapped_while_it_is_changed_never_leads_outside() {
    let notes = workshop();
    let root = notes.root();
    let (dir, file) = (root.join("swap"), root.join("f"));
    fs::create_dir(&dir).unwrap();
    fs::create_dir(root.join("real")).unwrap();
    symlink("../notes2", root.join("trap")).unwrap();
    let around = notes.around();
    let is_over = AtomicBool::new(false);
    let exchange = |a: &std::path::Path, b: &std::path::Path| {
        let _ = rustix::fs::renameat_with(CWD, a, CWD, b, rustix::fs::RenameFlags::EXCHANGE);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                exchange(&dir, &root.join("trap"));
                let next = root.join("next");
                let _ = symlink("../secret.txt", &next);
                let _ = fs::rename(&next, &file);
                let _ = mknodat(CWD, &next, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0);
                let _ = fs::rename(&next, &file);
                let _ = fs::write(&next, "secret");
                let _ = fs::rename(&next, &file);
            }
        });
        let calls = [
            (
                "write_file",
                json!({ "path": "swap/secret.txt", "content": "changed" }),
            ),
            ("write_file", json!({ "path": "f", "content": "changed" })),
            (
                "edit_file",
                json!({ "path": "f", "edits": [{ "oldText": "secret", "newText": "changed" }] }),
            ),
            (
                "edit_file",
                json!({ "path": "swap/secret.txt", "edits": [{ "oldText": "secret", "newText": "changed" }] }),
            ),
            ("create_directory", json!({ "path": "swap/made/here" })),
            (
                "copy_file",
                json!({ "source": "a.txt", "destination": "swap/copy" }),
            ),
            (
                "copy_file",
                json!({ "source": "swap", "destination": "real/copy" }),
            ),
            (
                "move_file",
                json!({ "source": "real/copy", "destination": "swap/moved" }),
            ),
            ("delete_file", json!({ "path": "swap/secret.txt" })),
            ("delete_file", json!({ "path": "swap/copy" })),
            ("delete_file", json!({ "path": "swap/moved" })),
        ];
        let mut wrong = None;
        for _ in 0..200 {
            for (tool, args) in &calls {
                let answer = notes.answer(tool, args.clone(), &never);
                if matches!(answer, Err(FilesError::Failed { .. })) {
                    wrong = Some(format!("{tool}: {answer:?}"));
                }
            }
        }
        // Before any assertion, as the thread would go on for ever.
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(wrong, None);
    });
    assert_eq!(notes.around(), around);
    let left: Disk = disk(&root);
    assert!(
        !left.keys().any(|path| path.contains(".polyport-new-")),
        "{left:?}"
    );
}
