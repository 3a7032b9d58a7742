//! `delete_file` and the trash: what is kept, for how long, and that no tool reaches it.

use std::fs;

use polyport_backends::files::{FilesError, Folders, Limits, resources, uri};
use serde_json::{Value, json};

use crate::support::{BY_PATH, Entry, Fixture, at, fill, fixture, never, workshop};

fn delete(notes: &Fixture, path: &str) -> Value {
    notes.json("delete_file", json!({ "path": path }))
}

// req: D-38
#[test]
fn d_38_what_is_deleted_is_kept_under_its_path() {
    let notes = workshop();
    let around = notes.around();
    let file = delete(&notes, "a.txt");
    assert_eq!((&file["entries"], &file["size"]), (&json!(1), &json!(6)));
    let directory = delete(&notes, "sub/deep/");
    assert_eq!(
        (&directory["entries"], &directory["size"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(
        notes.trash(),
        [
            ("a.txt".to_owned(), "alpha\n".to_owned()),
            ("sub/deep/two.txt".into(), "2".into())
        ]
    );
    // The way that is told is the way to get it back.
    let kept = notes.root().join(file["kept"].as_str().unwrap());
    fs::rename(kept, notes.root().join("back.txt")).unwrap();
    let mut inside: Vec<_> = notes.inside().into_keys().collect();
    inside.sort();
    assert_eq!(inside, ["back.txt", "sub", "sub/empty", "sub/one.txt"]);
    assert_eq!(notes.around(), around);
    let rules = fs::read_to_string(notes.root().join(".polyport-trash/.gitignore"));
    assert_eq!(rules.unwrap(), "*\n");
}

#[cfg(unix)]
#[test]
fn the_trash_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let notes = workshop();
    delete(&notes, "a.txt");
    let trash = fs::metadata(notes.root().join(".polyport-trash")).unwrap();
    assert_eq!(trash.permissions().mode() & 0o777, 0o700);
}

#[cfg(unix)]
#[test]
fn a_link_is_deleted_and_not_what_it_leads_to() {
    use std::os::unix::fs::symlink;
    let notes = workshop();
    for (name, to) in [
        ("in", "a.txt"),
        ("dir", "sub"),
        ("out", "../secret.txt"),
        ("dead", "none"),
    ] {
        symlink(to, notes.root().join(name)).unwrap();
    }
    let before = (notes.inside(), notes.around());
    for name in ["in", "dir", "out", "dead"] {
        assert_eq!(delete(&notes, name)["entries"], 1);
    }
    let mut want = before.0;
    want.retain(|_, what| !matches!(what, Entry::Link(_)));
    assert_eq!((notes.inside(), notes.around()), (want, before.1));
}

#[test]
fn what_cannot_be_deleted_stays() {
    let base = workshop();
    let folders = Folders::open([base.root(), base.root().join("sub/deep")]).unwrap();
    let notes = Fixture { folders, ..base };
    let before = notes.inside();
    for (path, want) in [
        ("notes", "is not changed: it is a working folder itself"),
        ("deep", "is not changed: it is a working folder itself"),
        (
            "notes/sub/deep",
            "is not changed: it is a working folder itself, or holds one",
        ),
        (
            "notes/sub",
            "is not changed: it is a working folder itself, or holds one",
        ),
        (".", "\".\" is a directory"),
        (
            "notes/none",
            "Nothing at \"notes/none\" that can be reached",
        ),
        ("notes/../secret.txt", "Nothing at"),
        ("notes/.git", "belongs to git"),
        ("notes/.polyport-trash", "Nothing at"),
    ] {
        let said = notes.text("delete_file", json!({ "path": path }));
        assert!(
            said.starts_with("Error: ") && said.contains(want),
            "{path}: {said}"
        );
    }
    assert_eq!(notes.inside(), before);
    // Each folder has a trash of its own.
    let kept = delete(&notes, "deep/two.txt")["kept"].clone();
    assert!(
        kept.as_str().unwrap().starts_with("deep/.polyport-trash/"),
        "{kept}"
    );
}

// req: D-38
#[test]
fn d_38_the_trash_is_emptied_oldest_first() {
    let many = |limits| {
        let files: Vec<_> = (0..8)
            .map(|n| (format!("f{n}"), "x".repeat(1_000)))
            .collect();
        let files: Vec<_> = files
            .iter()
            .map(|(n, t)| (n.as_str(), t.as_str()))
            .collect();
        fixture(&files).limited(limits)
    };
    // A file of 1,000 bytes takes 5,096.
    for (limits, kept) in [
        (
            Limits {
                trash_entries: 3,
                ..Limits::default()
            },
            3,
        ),
        (
            Limits {
                trash_entries: 1,
                ..Limits::default()
            },
            1,
        ),
        (
            Limits {
                trash_bytes: 5_096 * 4,
                ..Limits::default()
            },
            4,
        ),
        (
            Limits {
                trash_bytes: 5_096 * 4 - 1,
                ..Limits::default()
            },
            3,
        ),
    ] {
        let notes = many(limits);
        fs::create_dir(notes.root().join(".polyport-trash")).unwrap();
        fs::write(notes.root().join(".polyport-trash/from-a-person"), "p").unwrap();
        for n in 0..8 {
            let emptied = delete(&notes, &format!("f{n}"))["emptied"].clone();
            assert_eq!(emptied, usize::from(n >= kept), "f{n}");
        }
        let names: Vec<_> = notes.trash().into_iter().map(|(path, _)| path).collect();
        let want: Vec<_> = (8 - kept..8).map(|n| format!("f{n}")).collect();
        assert_eq!(names, want);
        let of_a_person = notes.root().join(".polyport-trash/from-a-person");
        assert!(of_a_person.is_file());
    }
}

// req: D-38
#[test]
fn d_38_what_was_just_deleted_is_kept_whatever_the_clock_says() {
    let notes = fixture(&[("a", "x")]).limited(Limits {
        trash_entries: 1,
        ..Limits::default()
    });
    // The clock was ahead, and was set back.
    let ahead = ".polyport-trash/99991231T235959.000-00-4097";
    fs::create_dir_all(notes.root().join(ahead)).unwrap();
    assert_eq!(delete(&notes, "a")["emptied"], 1);
    assert!(!notes.root().join(ahead).exists());
    assert_eq!(notes.trash()[0].0, "a");
}

// req: D-38
#[test]
fn d_38_what_is_larger_than_the_trash_is_not_deleted() {
    for (limits, want) in [
        (
            Limits {
                trash_bytes: 20_000,
                ..Limits::default()
            },
            "does not fit into the trash",
        ),
        (
            Limits {
                trash_bytes: 1,
                ..Limits::default()
            },
            "\"sub\" holds more than 1 B",
        ),
        (
            Limits {
                trash_entries: 0,
                ..Limits::default()
            },
            "does not fit into the trash",
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
        let said = notes.text("delete_file", json!({ "path": "sub" }));
        assert!(
            said.contains(want) && said.contains("Nothing was changed"),
            "{said}"
        );
        assert_eq!(notes.inside(), before);
    }
}

#[cfg(unix)]
#[test]
fn v_901_a_trash_that_leads_elsewhere_takes_nothing() {
    use std::os::unix::fs::symlink;
    for to in ["../notes2", "sub", "nowhere"] {
        let notes = workshop();
        symlink(to, notes.root().join(".polyport-trash")).unwrap();
        let before = (notes.inside(), notes.around());
        let error = notes.error("delete_file", json!({ "path": "a.txt" }));
        assert!(matches!(error, FilesError::Protected { .. }), "{error}");
        assert_eq!((notes.inside(), notes.around()), before);
    }
    let notes = fixture(&[("a.txt", "x"), (".polyport-trash", "a file")]);
    let error = notes.error("delete_file", json!({ "path": "a.txt" }));
    assert!(matches!(error, FilesError::Protected { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn what_is_locked_is_emptied_too() {
    use std::os::unix::fs::PermissionsExt;
    let notes = workshop().limited(Limits {
        trash_entries: 1,
        ..Limits::default()
    });
    let locked = fs::Permissions::from_mode(0o500);
    fs::set_permissions(notes.root().join("sub/deep"), locked).unwrap();
    delete(&notes, "sub");
    assert_eq!(delete(&notes, "a.txt")["emptied"], 1);
    assert_eq!(notes.trash().len(), 1);
}

/// A folder with a deletion in its trash, and links to it; and the name of that deletion.
fn with_trash() -> (Fixture, String) {
    let notes = fixture(&[
        ("a.txt", "needle"),
        ("sub/secret.txt", "needle"),
        ("sub/.polyport-trash/x/secret.txt", "needle"),
        ("sub/.polyport-new-1-1", "needle"),
    ]);
    delete(&notes, "sub/secret.txt");
    let kept = fs::read_dir(notes.root().join(".polyport-trash"));
    let mut kept: Vec<_> = kept
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    kept.sort();
    let stamp = kept.last().unwrap().to_str().unwrap().to_owned();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(".polyport-trash", notes.root().join("to-trash")).unwrap();
        let file = format!(".polyport-trash/{stamp}/sub/secret.txt");
        symlink(file, notes.root().join("to-secret")).unwrap();
    }
    (notes, stamp)
}

/// Every way to ask for what is in the trash, or for a file that is not written to its end.
// req: D-38
#[test]
fn d_38_no_tool_reaches_the_trash() {
    let (notes, stamp) = with_trash();
    let mut paths = vec![
        ".polyport-trash".to_owned(),
        ".polyport-trash/.gitignore".into(),
        format!(".polyport-trash/{stamp}/sub/secret.txt"),
        format!("./sub/../.polyport-trash//{stamp}"),
        ".POLYPORT-TRASH".into(),
        "sub/.polyport-trash/x/secret.txt".into(),
        "sub/.polyport-new-1-1".into(),
        notes.root().join(".polyport-trash").display().to_string(),
        uri::from_path(&notes.root().join(".polyport-trash").join(&stamp)),
        format!("file://{}/%2Epolyport%2Dtrash", notes.root().display()),
    ];
    if cfg!(unix) {
        let through = format!("to-trash/{stamp}/sub/secret.txt");
        paths.extend(["to-trash".into(), "to-secret".into(), through]);
    }
    for path in &paths {
        for operation in BY_PATH {
            let error = notes.error(operation, at(operation, path));
            assert!(error.is_missing(), "{operation} {path}: {error}");
        }
        let several = notes.text("read_multiple_files", json!({ "paths": [path] }));
        assert!(several.contains("[Error: Nothing at"), "{several}");
        for (tool, args) in [
            ("write_file", json!({ "path": path, "content": "x" })),
            (
                "write_file",
                json!({ "path": format!("{path}/x"), "content": "x" }),
            ),
            ("create_directory", json!({ "path": format!("{path}/x") })),
            (
                "edit_file",
                json!({ "path": path, "edits": [{ "oldText": "n", "newText": "m" }] }),
            ),
            (
                "move_file",
                json!({ "source": "a.txt", "destination": format!("{path}/x") }),
            ),
            (
                "copy_file",
                json!({ "source": path, "destination": "out.txt" }),
            ),
        ] {
            let error = notes.error(tool, args);
            assert!(error.is_missing(), "{tool} {path}: {error}");
        }
        if !path.starts_with("to-") {
            let args = json!({ "source": path, "destination": "out.txt" });
            assert!(notes.error("move_file", args).is_missing(), "{path}");
            assert!(
                notes
                    .error("delete_file", json!({ "path": path }))
                    .is_missing(),
                "{path}"
            );
        }
        let asked = format!("file://{}/{path}", notes.root().display());
        assert!(
            resources::read(&notes.folders, &asked, &never).is_err(),
            "{asked}"
        );
    }
}

// req: D-38
#[test]
fn d_38_the_trash_is_in_no_list() {
    let (notes, _) = with_trash();
    let everything = json!({ "includeHidden": true, "includeIgnored": true, "pattern": "needle" });
    let found = notes.json("search_contents", everything.clone());
    assert_eq!(found["matches"], 1, "{found}");
    for (tool, mut args) in [
        ("search_files", everything),
        (
            "directory_tree",
            json!({ "includeHidden": true, "includeIgnored": true }),
        ),
        ("list_directory", json!({})),
        ("list_directory", json!({ "path": "sub" })),
    ] {
        if tool == "search_files" {
            args["pattern"] = "**".into();
        }
        let text = notes.text(tool, args);
        assert!(
            !text.contains("polyport") && !text.contains("secret.txt"),
            "{tool}: {text}"
        );
    }
    let page = resources::list(&notes.folders, None, &never).unwrap();
    assert_eq!(page.resources.len(), 1, "{page:?}");
    let template = &resources::templates(&notes.folders)[0].uri_template;
    for typed in [
        ".",
        ".poly",
        ".polyport-trash/",
        "sub/.",
        "to-trash/",
        "sub/.polyport-trash/",
    ] {
        let found = resources::complete(&notes.folders, template, typed, &never).unwrap();
        assert!(found.values.is_empty(), "{typed}: {found:?}");
    }
}

#[test]
fn a_second_deletion_of_the_same_path_is_kept_beside_the_first() {
    let notes = workshop();
    for text in ["1", "2", "3"] {
        fill(&notes.root(), &[("a.txt", text)]);
        delete(&notes, "a.txt");
    }
    let kept: Vec<_> = notes.trash().into_iter().map(|(_, text)| text).collect();
    assert_eq!(kept, ["1", "2", "3"]);
}
