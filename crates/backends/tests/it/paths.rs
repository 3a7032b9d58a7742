//! How paths are written, with one folder, several, and none.

use polyport_backends::files::{FolderError, FolderSpec, Folders, uri};
use serde_json::json;

use crate::support::{Fixture, fill, fixture};

#[test]
fn one_folder_takes_every_form_of_path() {
    let notes = fixture(&[
        ("sub/a.txt", "hello"),
        ("sub/ü ?#%.txt", "odd"),
        ("..a", "dots"),
    ]);
    let root = notes.root();
    let absolute = root.to_str().unwrap();
    for path in [
        "sub/a.txt".to_owned(),
        "./sub//./a.txt".into(),
        "sub/../sub/a.txt".into(),
        "sub/a.txt/".into(),
        "nothing/../sub/a.txt".into(),
        format!("{absolute}/sub/a.txt"),
        format!("{absolute}/../notes/sub/a.txt"),
        format!("{}/./notes/sub/a.txt", notes.outside.path().display()),
        uri::from_path(&root.join("sub/a.txt")),
        format!("file://localhost{absolute}/sub/a.txt"),
    ] {
        let read = notes.json("read_text_file", json!({ "path": path }));
        assert_eq!(
            (&read["content"], &read["path"]),
            (&json!("hello"), &json!("sub/a.txt")),
            "{path}"
        );
    }
    for path in [
        "sub/ü ?#%.txt".to_owned(),
        uri::from_path(&root.join("sub/ü ?#%.txt")),
    ] {
        assert_eq!(
            notes.text("read_text_file", json!({ "path": path })),
            "odd",
            "{path}"
        );
    }
    assert_eq!(
        notes.text("read_text_file", json!({ "path": "..a" })),
        "dots"
    );
    assert_eq!(notes.json("list_directory", json!({}))["path"], ".");
}

#[test]
fn several_folders_stand_first_in_paths() {
    let base = fixture(&[("a.txt", "one")]);
    let other = base.outside.path().join("other");
    fill(&other, &[("a.txt", "two"), ("b/c.txt", "needle")]);
    let folders = Folders::open([base.root(), other]).unwrap();
    let both = Fixture { folders, ..base };
    assert_eq!(both.text("list_directory", json!({})), "notes/\nother/\n");
    assert_eq!(
        both.text("read_text_file", json!({ "path": "notes/a.txt" })),
        "one"
    );
    assert_eq!(
        both.text("read_text_file", json!({ "path": "other/a.txt" })),
        "two"
    );
    let absolute = both.root().join("../other/b/c.txt");
    let read = both.json("read_text_file", json!({ "path": absolute }));
    assert_eq!(read["path"], "other/b/c.txt");
    assert_eq!(
        both.text("search_files", json!({ "pattern": "*.txt" })),
        "notes/a.txt\nother/a.txt\nother/b/c.txt\n"
    );
    assert_eq!(
        both.text("search_contents", json!({ "pattern": "needle" })),
        "other/b/c.txt\n  1: needle\n"
    );
    assert_eq!(
        both.text("directory_tree", json!({})),
        "./\n  notes/\n    a.txt\n  other/\n    b/\n      c.txt\n    a.txt\n".replace(
            "    b/\n      c.txt\n    a.txt\n",
            "    a.txt\n    b/\n      c.txt\n"
        )
    );
    for path in [
        "a.txt",
        "third/a.txt",
        "notes/../other/a.txt/x",
        "notes2/a.txt",
    ] {
        let error = both.error("read_text_file", json!({ "path": path }));
        assert!(error.is_missing(), "{path}");
        let error = error.to_string();
        assert!(
            error.contains("The working folders are notes (") && error.contains("other ("),
            "{error}"
        );
    }
    assert!(
        both.text("get_file_info", json!({ "path": "." }))
            .contains("list_allowed_directories")
    );
    assert!(
        both.text("read_text_file", json!({ "path": "" }))
            .contains("is a directory")
    );
}

#[test]
fn nested_folders_answer_with_the_inner_one() {
    let base = fixture(&[("inner/a.txt", "x")]);
    let folders = Folders::open([base.root(), base.root().join("inner")]).unwrap();
    let both = Fixture { folders, ..base };
    let read = both.json(
        "read_text_file",
        json!({ "path": both.root().join("inner/a.txt") }),
    );
    assert_eq!(read["path"], "inner/a.txt");
}

#[test]
fn d_16_without_folders_nothing_is_reachable_and_it_is_said() {
    let base = fixture(&[("a.txt", "x")]);
    let none = Fixture {
        folders: Folders::open(Vec::<FolderSpec>::new()).unwrap(),
        ..base
    };
    for path in [".", "a.txt", "/etc/passwd", "file:///etc/passwd", "../x"] {
        let error = none.error("list_directory", json!({ "path": path }));
        assert!(error.is_missing());
        assert!(
            error
                .to_string()
                .starts_with("No working folder is configured"),
            "{error}"
        );
    }
    assert!(
        none.text("list_allowed_directories", json!({}))
            .starts_with("No working folder")
    );
}

#[test]
fn names_are_unique() {
    let base = fixture(&[("a/docs/x", "1"), ("b/docs/y", "2")]);
    let docs = ["a/docs", "b/docs"].map(|path| base.root().join(path));
    let folders = Folders::open(docs.clone()).unwrap();
    assert_eq!(
        folders
            .iter()
            .map(|folder| folder.name())
            .collect::<Vec<_>>(),
        ["docs", "docs-2"]
    );
    let named = |name: &str| {
        docs.clone().map(|path| FolderSpec {
            name: Some(name.into()),
            path,
        })
    };
    let error = Folders::open(named("same")).unwrap_err();
    assert!(
        matches!(&error, FolderError::Duplicate { name } if name == "same"),
        "{error}"
    );
    for name in [
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "a:b",
        "a\nb",
        " a",
        &"x".repeat(65),
    ] {
        let error = Folders::open(named(name)).unwrap_err();
        assert!(matches!(&error, FolderError::BadName { .. }), "{error}");
    }
    let root = Folders::open(["/"]).unwrap();
    assert_eq!(root.iter().next().unwrap().name(), "root");
}

#[test]
fn d_36_a_folder_that_cannot_be_served_says_why() {
    let base = fixture(&[("a.txt", "x")]);
    let missing = Folders::open([base.root().join("nothing")]).unwrap_err();
    assert!(matches!(missing, FolderError::Missing { .. }), "{missing}");
    assert!(missing.to_string().starts_with("no such folder: "));
    let file = Folders::open([base.root().join("a.txt")]).unwrap_err();
    assert!(matches!(file, FolderError::NotAFolder { .. }), "{file}");
}
