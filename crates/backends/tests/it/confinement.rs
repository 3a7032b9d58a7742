//! Nothing outside the folders can be read, and nothing tells whether it is there.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink, net::UnixListener},
    sync::atomic::{AtomicBool, Ordering},
};

use polyport_backends::files::{FilesError, Folders, resources, uri};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use crate::support::{BY_PATH, Fixture, at, fixture, never};

fn with_links() -> Fixture {
    let notes = fixture(&[("sub/a.txt", "inside")]);
    let root = notes.root();
    symlink("../secret.txt", root.join("to-file")).unwrap();
    symlink("../notes2", root.join("to-directory")).unwrap();
    symlink(
        root.parent().unwrap().join("secret.txt"),
        root.join("to-absolute"),
    )
    .unwrap();
    symlink("../nothing", root.join("to-nothing")).unwrap();
    symlink("loop-b", root.join("loop-a")).unwrap();
    symlink("loop-a", root.join("loop-b")).unwrap();
    symlink(".", root.join("sub/self")).unwrap();
    symlink("sub/../../secret.txt", root.join("to-winding")).unwrap();
    symlink("sub/a.txt", root.join("inner-file")).unwrap();
    symlink("sub", root.join("inner-directory")).unwrap();
    notes
}

#[test]
fn v_901_what_lies_outside_is_as_what_is_not_there() {
    let notes = with_links();
    let root = notes.root();
    let absolute = root.to_str().unwrap();
    let above = root.parent().unwrap().to_str().unwrap();
    let paths = [
        "../secret.txt".to_owned(),
        "../notes2/secret.txt".into(),
        "sub/../../secret.txt".into(),
        "..".into(),
        "/".into(),
        "/etc/passwd".into(),
        above.into(),
        format!("{above}/secret.txt"),
        format!("{absolute}2/secret.txt"),
        format!("{absolute}/../secret.txt"),
        format!("{absolute}/../../../../../../../../../etc/passwd"),
        uri::from_path(&root.join("../secret.txt")),
        format!("file://{above}/secret.txt"),
        format!("file://{absolute}/%2e%2e/secret.txt"),
        format!("file://{absolute}/sub/%2E%2E/..%2Fsecret.txt"),
        format!("file://{absolute}/..%2fsecret.txt"),
        format!("file://host{absolute}/sub/a.txt"),
        format!("file://{absolute}/%252e%252e/secret.txt"),
        "file:../secret.txt".into(),
        "%2e%2e/secret.txt".into(),
        "..\\secret.txt".into(),
        "~/secret.txt".into(),
        "to-file".into(),
        "to-directory".into(),
        "to-directory/secret.txt".into(),
        "to-absolute".into(),
        "to-nothing".into(),
        "to-winding".into(),
        "loop-a".into(),
        "loop-a/x".into(),
        "sub/a.txt/x".into(),
        "sub/a.txt ".into(),
        "sub/a.txt.".into(),
        "SUB/a.txt".into(),
        "x".repeat(300),
        "x/".repeat(3_000),
        "x/".repeat(20_000),
    ];
    for operation in BY_PATH {
        let absent = notes.error(operation, at(operation, "nothing")).to_string();
        for path in &paths {
            let error = notes.error(operation, at(operation, path));
            assert!(error.is_missing(), "{operation} {path}: {error:?}");
            let FilesError::Missing { path: echoed, .. } = &error else {
                panic!("{operation} {path}");
            };
            // The same sentence, but for the path.
            let shape = |error: &str| error.split_once("\" that").map(|(_, rest)| rest.to_owned());
            assert_eq!(
                shape(&error.to_string()),
                shape(&absent),
                "{operation} {path}"
            );
            assert!(
                !error.to_string().contains("secret.txt")
                    || path.contains("secret.txt")
                    || echoed.contains("secret.txt")
            );
        }
    }
    assert!(
        notes
            .error("read_text_file", json!({ "path": "x" }))
            .to_string()
            .contains(absolute)
    );
}

#[test]
fn v_901_nul_and_broken_encoding_are_refused() {
    let notes = with_links();
    let root = notes.root();
    for (path, want) in [
        ("a\0b".to_owned(), "NUL"),
        ("sub/a.txt\0.png".into(), "NUL"),
        (format!("file://{}/sub/a.txt%00", root.display()), "NUL"),
        (format!("file://{}/%zz", root.display()), "hexadecimal"),
        (format!("file://{}/%", root.display()), "hexadecimal"),
    ] {
        for operation in BY_PATH {
            let error = notes.error(operation, at(operation, &path)).to_string();
            assert!(
                error.starts_with("Argument `path`: ") && error.contains(want),
                "{operation} {path:?}: {error}"
            );
        }
    }
}

#[test]
fn links_that_stay_inside_are_followed() {
    let notes = with_links();
    assert_eq!(
        notes.text("read_text_file", json!({ "path": "inner-file" })),
        "inside"
    );
    assert_eq!(
        notes.text("read_text_file", json!({ "path": "inner-directory/a.txt" })),
        "inside"
    );
    assert_eq!(
        notes.text(
            "read_text_file",
            json!({ "path": "sub/self/self/self/a.txt" })
        ),
        "inside"
    );
    let info = notes.json("get_file_info", json!({ "path": "inner-file" }));
    assert_eq!(
        (&info["kind"], &info["isLink"], &info["size"]),
        (&json!("file"), &json!(true), &json!(6))
    );
}

#[test]
fn lists_show_links_without_telling_what_is_outside() {
    let notes = with_links();
    let want = "inner-directory/  (link)\ninner-file  6 B  (link)\nloop-a  (link to nothing readable)\n\
                loop-b  (link to nothing readable)\nsub/\nto-absolute  (link to nothing readable)\n\
                to-directory  (link to nothing readable)\nto-file  (link to nothing readable)\n\
                to-nothing  (link to nothing readable)\nto-winding  (link to nothing readable)\n";
    assert_eq!(notes.text("list_directory", json!({})), want);
}

#[test]
fn walks_do_not_follow_links() {
    let notes = with_links();
    let found = notes.text("search_files", json!({ "pattern": "**", "path": "sub" }));
    assert_eq!(found, "sub/a.txt\nsub/self\n");
    assert!(
        notes
            .text("search_contents", json!({ "pattern": "secret" }))
            .starts_with("[No line matches")
    );
    assert!(
        notes
            .text("directory_tree", json!({ "path": "sub" }))
            .starts_with("sub/\n  a.txt\n  self (link)\n")
    );
    let page = resources::list(&notes.folders, None, &never).unwrap();
    assert_eq!(
        page.resources
            .iter()
            .map(|resource| resource.name.as_str())
            .collect::<Vec<_>>(),
        ["sub/a.txt"]
    );
}

#[test]
fn a_folder_given_by_a_link_takes_both_paths() {
    let notes = fixture(&[("a.txt", "x")]);
    let link = notes.outside.path().join("link");
    symlink("notes", &link).unwrap();
    let folders = Folders::open([&link]).unwrap();
    assert_eq!(folders.iter().next().unwrap().path(), notes.root());
    let by_link = Fixture { folders, ..notes };
    for path in [link.join("a.txt"), by_link.root().join("a.txt")] {
        assert_eq!(by_link.text("read_text_file", json!({ "path": path })), "x");
    }
}

#[test]
fn a_directory_swapped_for_a_link_leads_nowhere() {
    let notes = fixture(&[("sub/secret.txt", "inside")]);
    let root = notes.root();
    assert_eq!(
        notes.text("read_text_file", json!({ "path": "sub/secret.txt" })),
        "inside"
    );
    fs::rename(root.join("sub"), root.join("old")).unwrap();
    symlink("../notes2", root.join("sub")).unwrap();
    assert!(
        notes
            .error("read_text_file", json!({ "path": "sub/secret.txt" }))
            .is_missing()
    );
}

#[test]
fn v_901_what_is_swapped_while_it_is_read_never_leads_outside() {
    let notes = fixture(&[("x", "inside")]);
    let (name, next) = (notes.root().join("x"), notes.root().join("next"));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                symlink("../secret.txt", &next).unwrap();
                fs::rename(&next, &name).unwrap();
                mknodat(CWD, &next, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
                fs::rename(&next, &name).unwrap();
                fs::write(&next, "inside").unwrap();
                fs::rename(&next, &name).unwrap();
            }
        });
        let is_wrong = |answer: &Result<_, FilesError>| match answer {
            Ok((text, _)) => text != "inside",
            Err(error) => !matches!(
                error,
                FilesError::Missing { .. } | FilesError::Special { .. }
            ),
        };
        let read = |_| notes.answer("read_text_file", json!({ "path": "x" }), &never);
        let wrong = (0..3_000).map(read).find(is_wrong);
        // Before any assertion, as the thread would go on for ever.
        is_over.store(true, Ordering::Relaxed);
        assert!(wrong.is_none(), "{wrong:?}");
    });
}

#[test]
fn a_moved_folder_stays_the_one_that_was_opened() {
    let notes = fixture(&[("a.txt", "mine")]);
    let root = notes.root();
    fs::rename(&root, root.with_file_name("moved")).unwrap();
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a.txt"), "another").unwrap();
    assert_eq!(
        notes.text("read_text_file", json!({ "path": "a.txt" })),
        "mine"
    );
}

#[test]
fn pipes_sockets_and_devices_are_never_waited_for() {
    let notes = fixture(&[("a.txt", "x")]);
    let root = notes.root();
    mknodat(
        CWD,
        root.join("pipe"),
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    let _socket = UnixListener::bind(root.join("socket"));
    symlink("pipe", root.join("to-pipe")).unwrap();
    for operation in [
        "read_text_file",
        "read_media_file",
        "list_directory",
        "directory_tree",
        "search_files",
    ] {
        for path in ["pipe", "to-pipe"] {
            let error = notes.error(operation, at(operation, path));
            assert!(
                matches!(error, FilesError::Special { .. }),
                "{operation} {path}: {error}"
            );
        }
    }
    assert_eq!(
        notes.json("get_file_info", json!({ "path": "pipe" }))["kind"],
        "other"
    );
    assert!(
        notes
            .text("list_directory", json!({}))
            .contains("pipe  (not a file)\n")
    );
    assert!(
        notes
            .text("search_contents", json!({ "pattern": "x" }))
            .starts_with("a.txt\n")
    );
    let several = notes.text("read_multiple_files", json!({ "paths": ["pipe", "a.txt"] }));
    assert!(several.contains("Only ordinary files"), "{several}");
    assert!(several.ends_with("==> a.txt <==\nx"), "{several}");
}

#[test]
fn devices_are_refused() {
    let devices = Fixture {
        folders: Folders::open(["/dev"]).unwrap(),
        ..fixture(&[("a", "x")])
    };
    for path in ["zero", "null"] {
        let error = devices.error("read_text_file", json!({ "path": path }));
        assert!(matches!(error, FilesError::Special { .. }), "{error}");
    }
}

#[test]
fn names_that_are_no_text_go_round_as_uris() {
    let notes = fixture(&[("plain.txt", "x")]);
    let names: [&[u8]; 4] = [
        b"caf\xe9.txt",
        b"two\nlines.txt",
        " lead.txt".as_bytes(),
        "bidi\u{202e}txt.exe".as_bytes(),
    ];
    for name in names {
        fs::write(notes.root().join(OsStr::from_bytes(name)), "needle").unwrap();
    }
    let listed = notes.json("list_directory", json!({}));
    assert_eq!(listed["entries"].as_array().unwrap().len(), 5);
    for entry in listed["entries"].as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        assert_eq!(name != "plain.txt", name.starts_with("file:///"), "{name}");
        assert_eq!(
            notes.json("get_file_info", json!({ "path": name }))["kind"],
            "file",
            "{name}"
        );
    }
    let found = notes.json("search_contents", json!({ "pattern": "needle" }));
    assert_eq!(found["files"].as_array().unwrap().len(), 4);
    for file in found["files"].as_array().unwrap() {
        assert_eq!(
            notes.text("read_text_file", json!({ "path": file["path"] })),
            "needle"
        );
    }
    for resource in resources::list(&notes.folders, None, &never)
        .unwrap()
        .resources
    {
        assert!(
            resources::read(&notes.folders, &resource.uri, &never).is_ok(),
            "{resource:?}"
        );
    }
}

#[test]
fn v_901_composed_and_decomposed_names_are_two_names() {
    let notes = fixture(&[("\u{e9}.txt", "composed"), ("e\u{301}.txt", "decomposed")]);
    assert_eq!(
        notes.text("read_text_file", json!({ "path": "\u{e9}.txt" })),
        "composed"
    );
    assert_eq!(
        notes.text("read_text_file", json!({ "path": "e\u{301}.txt" })),
        "decomposed"
    );
}

#[test]
fn a_file_without_permission_is_said_to_be_there() {
    use std::os::unix::fs::PermissionsExt;
    let notes = fixture(&[("locked.txt", "x"), ("shut/a.txt", "y"), ("open.txt", "x")]);
    for name in ["locked.txt", "shut"] {
        fs::set_permissions(notes.root().join(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    if fs::read(notes.root().join("locked.txt")).is_ok() {
        return; // root may read everything
    }
    let error = notes.error("read_text_file", json!({ "path": "locked.txt" }));
    assert!(matches!(error, FilesError::Denied { .. }), "{error}");
    assert!(matches!(
        notes.error("list_directory", json!({ "path": "shut" })),
        FilesError::Denied { .. }
    ));
    assert_eq!(
        notes.json("get_file_info", json!({ "path": "locked.txt" }))["size"],
        1
    );
    assert!(
        notes
            .text("search_files", json!({ "pattern": "*.txt" }))
            .contains("1 directory could not be read")
    );
    let found = notes.text("search_contents", json!({ "pattern": "x" }));
    assert!(
        found.starts_with("open.txt\n  1: x\n") && found.contains("1 file could not be read"),
        "{found}"
    );
    fs::set_permissions(notes.root().join("shut"), fs::Permissions::from_mode(0o700)).unwrap();
}
