//! Calls that change something and are cut short: cancelled, out of time, on a folder that is gone, beside others. What is there
//! afterwards is what was there before, or the whole change; never a piece of it, never an unfinished file.

use std::{cell::Cell, fs, time::Duration};

use polyport_backends::files::{FilesError, Limits};
use serde_json::{Value, json};

use crate::support::{Disk, Fixture, fixture, never, workshop, writing};

/// Everything but the trash, which may have been made ready.
fn state(notes: &Fixture) -> (Disk, Disk) {
    (notes.inside(), notes.around())
}

fn changed(tool: &str, args: &Value) -> (Disk, Disk) {
    let notes = workshop();
    notes.answer(tool, args.clone(), &never).unwrap();
    state(&notes)
}

#[test]
fn a_cancelled_change_is_no_change() {
    for (tool, args) in writing() {
        let (before, after) = (state(&workshop()).0, changed(tool, &args).0);
        assert_ne!(before, after, "{tool}");
        for cut in 0..1_000 {
            let notes = workshop();
            let asked = Cell::new(0);
            let cancelled = || {
                asked.set(asked.get() + 1);
                asked.get() > cut
            };
            let answer = notes.answer(tool, args.clone(), &cancelled);
            if asked.get() <= cut {
                assert!(cut > 0, "{tool} never asks");
                assert_eq!(notes.inside(), after, "{tool}");
                break;
            }
            assert!(
                matches!(answer, Err(FilesError::Cancelled)),
                "{tool} at {cut}: {answer:?}"
            );
            // Nothing more is done after the first yes.
            assert_eq!(asked.get(), cut + 1, "{tool}");
            let left = notes.inside();
            // As with `mkdir -p`, directories that were made already are whole, and stay.
            let is_part =
                tool == "create_directory" && left.keys().all(|path| after.contains_key(path));
            assert!(left == before || is_part, "{tool} at {cut}: {left:?}");
            assert!(
                notes.trash().iter().all(|(path, _)| path == ".gitignore"),
                "{tool} at {cut}"
            );
        }
    }
}

#[test]
fn d_23_without_time_nothing_is_changed() {
    for (tool, args) in writing() {
        let notes = workshop().limited(Limits {
            time: Duration::ZERO,
            ..Limits::default()
        });
        let before = state(&notes);
        let error = notes.error(tool, args);
        assert!(
            matches!(error, FilesError::TimeUp { .. }),
            "{tool}: {error}"
        );
        assert_eq!(state(&notes), before, "{tool}");
    }
}

/// The directory that is written into is taken away at every point of a call.
#[test]
fn a_directory_that_vanishes_takes_the_unfinished_file_along() {
    for (tool, args) in [
        ("write_file", json!({ "path": "sub/new", "content": "x" })),
        (
            "write_file",
            json!({ "path": "sub/one.txt", "content": "x" }),
        ),
        (
            "edit_file",
            json!({ "path": "sub/one.txt", "edits": [{ "oldText": "1", "newText": "2" }] }),
        ),
        (
            "copy_file",
            json!({ "source": "sub/deep", "destination": "sub/copy" }),
        ),
        (
            "move_file",
            json!({ "source": "sub/one.txt", "destination": "sub/two" }),
        ),
        ("create_directory", json!({ "path": "sub/x/y" })),
        ("delete_file", json!({ "path": "sub/deep" })),
    ] {
        for cut in 1..30 {
            let notes = workshop();
            let (sub, gone) = (notes.root().join("sub"), notes.outside.path().join("gone"));
            let asked = Cell::new(0);
            let take_away = || {
                asked.set(asked.get() + 1);
                if asked.get() == cut {
                    fs::rename(&sub, &gone).unwrap();
                }
                false
            };
            let answer = notes.answer(tool, args.clone(), &take_away);
            if let Err(error) = &answer {
                let is_plain = error.is_missing() || matches!(error, FilesError::Changed { .. });
                assert!(is_plain, "{tool} at {cut}: {error}");
            }
            let all = format!("{:?}{:?}", notes.inside(), notes.around());
            assert!(!all.contains(".polyport-new-"), "{tool} at {cut}: {all}");
            if asked.get() < cut {
                break;
            }
        }
    }
}

#[test]
fn a_working_folder_that_is_gone_says_so() {
    let notes = workshop();
    fs::remove_dir_all(notes.root()).unwrap();
    let mut calls = writing();
    calls.extend([
        ("list_directory", json!({})),
        ("directory_tree", json!({})),
        ("read_text_file", json!({ "path": "a.txt" })),
        ("search_files", json!({ "pattern": "*" })),
        ("search_contents", json!({ "pattern": "x" })),
        ("get_file_info", json!({ "path": "a.txt" })),
    ]);
    for again in [false, true] {
        // Another folder of the same name is not the one that was opened.
        if again {
            fs::create_dir(notes.root()).unwrap();
        }
        for (tool, args) in &calls {
            let error = notes.error(tool, args.clone());
            assert!(matches!(error, FilesError::Gone { .. }), "{tool}: {error}");
        }
    }
    assert!(notes.inside().is_empty());
}

/// A folder that is moved is still the one that was opened.
#[test]
fn a_working_folder_that_is_moved_is_written_where_it_is() {
    let notes = workshop();
    let there = notes.outside.path().join("there");
    fs::rename(notes.root(), &there).unwrap();
    notes.json("write_file", json!({ "path": "a.txt", "content": "moved" }));
    assert_eq!(fs::read_to_string(there.join("a.txt")).unwrap(), "moved");
    assert!(!notes.root().exists());
}

/// The disk refuses: the system's own folders are the only ones that are read-only for everybody.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_to_says_so() {
    use polyport_backends::files::Folders;
    let notes = Fixture {
        folders: Folders::open(["/sys/kernel"]).unwrap(),
        ..workshop()
    };
    for (tool, args) in [
        ("write_file", json!({ "path": "new.txt", "content": "x" })),
        ("create_directory", json!({ "path": "new" })),
        ("delete_file", json!({ "path": "mm" })),
        (
            "copy_file",
            json!({ "source": "mm", "destination": "copy" }),
        ),
    ] {
        let error = notes.error(tool, args);
        assert!(
            matches!(error, FilesError::ReadOnly { .. }),
            "{tool}: {error}"
        );
    }
}

/// An unfinished file of a process that was killed is in nobody's way.
#[test]
fn what_a_killed_process_left_is_not_seen_and_not_reused() {
    let names: Vec<_> = (0..200)
        .map(|n| format!(".polyport-new-{}-{n}", std::process::id()))
        .collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "left")).collect();
    let notes = fixture(&files);
    for n in 0..20 {
        let said = notes.text(
            "write_file",
            json!({ "path": format!("f{n}"), "content": "x" }),
        );
        assert!(
            said.starts_with("Wrote the new file") || said.contains("is there already"),
            "{said}"
        );
    }
    assert!(!notes.text("list_directory", json!({})).contains("polyport"));
    assert!(
        names
            .iter()
            .all(|name| fs::read_to_string(notes.root().join(name)).unwrap() == "left")
    );
}

#[test]
fn writers_of_one_file_leave_the_text_of_one() {
    let notes = workshop();
    let texts: Vec<_> = (0..4).map(|n| n.to_string().repeat(100_000)).collect();
    std::thread::scope(|scope| {
        for text in &texts {
            let notes = &notes;
            scope.spawn(move || {
                for _ in 0..10 {
                    let args = json!({ "path": "a.txt", "content": text });
                    notes.answer("write_file", args, &never).unwrap();
                    let read = fs::read_to_string(notes.root().join("a.txt")).unwrap();
                    assert!(read.len() == 100_000 && read.chars().all(|c| read.starts_with(c)));
                }
            });
        }
    });
    assert_eq!(notes.inside().len(), workshop().inside().len());
}

/// Somebody else takes the name at every point of a call that may only take a free one.
#[test]
fn what_comes_in_between_is_not_overwritten() {
    for (tool, args) in [
        (
            "move_file",
            json!({ "source": "a.txt", "destination": "b" }),
        ),
        ("move_file", json!({ "source": "sub", "destination": "b" })),
        (
            "copy_file",
            json!({ "source": "a.txt", "destination": "b" }),
        ),
        ("copy_file", json!({ "source": "sub", "destination": "b" })),
        (
            "write_file",
            json!({ "path": "b", "content": "ours", "ifModified": "none" }),
        ),
    ] {
        let mut refused = 0;
        for cut in 1..40 {
            let notes = workshop();
            let asked = Cell::new(0);
            let theirs = || {
                asked.set(asked.get() + 1);
                if asked.get() == cut {
                    fs::write(notes.root().join("b"), "theirs").unwrap();
                }
                false
            };
            let answer = notes.answer(tool, args.clone(), &theirs);
            if asked.get() < cut {
                break;
            }
            let error = answer.unwrap_err();
            let is_told = matches!(
                error,
                FilesError::Exists { .. } | FilesError::Changed { .. }
            );
            assert!(is_told, "{tool} at {cut}: {error}");
            let mut want = workshop().inside();
            want.insert("b".into(), crate::support::Entry::File("theirs".into()));
            assert_eq!(notes.inside(), want, "{tool} at {cut}");
            refused += 1;
        }
        assert!(refused >= 2, "{tool}: {refused}");
    }
}
