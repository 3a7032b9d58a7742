//! Cancelling, the time limit, and what is too much by itself, in every operation.

use std::{cell::Cell, time::Duration};

use polyport_backends::files::{FilesError, Limits, resources};
use serde_json::{Value, json};

use crate::support::{BY_PATH, Fixture, at, fixture};

fn busy() -> Fixture {
    let files: Vec<_> = (0..50)
        .map(|number| format!("d{number}/f{number}.txt"))
        .collect();
    let files: Vec<_> = files.iter().map(|name| (name.as_str(), "text\n")).collect();
    fixture(&files)
}

fn args_of(operation: &str) -> Value {
    match operation {
        "read_text_file" | "read_media_file" | "get_file_info" => json!({ "path": "d1/f1.txt" }),
        _ => at(operation, "."),
    }
}

#[test]
fn a_cancelled_call_ends_at_every_point() {
    let notes = busy();
    for operation in BY_PATH {
        for after in 0..5_000 {
            let questions = Cell::new(0);
            let cancelled = || {
                questions.set(questions.get() + 1);
                questions.get() > after
            };
            let answer = notes.answer(operation, args_of(operation), &cancelled);
            if questions.get() <= after {
                break;
            }
            assert!(
                matches!(answer, Err(FilesError::Cancelled)),
                "{operation} at {after}: {answer:?}"
            );
            // Nothing more is done after the first yes.
            assert_eq!(questions.get(), after + 1, "{operation}");
        }
    }
    let cancelled = || true;
    assert!(matches!(
        resources::list(&notes.folders, None, &cancelled),
        Err(FilesError::Cancelled)
    ));
    let template = &resources::templates(&notes.folders)[0].uri_template;
    assert!(matches!(
        resources::complete(&notes.folders, template, "", &cancelled),
        Err(FilesError::Cancelled)
    ));
}

#[test]
fn d_23_when_the_time_is_up_the_answer_says_so() {
    let notes = busy().limited(Limits {
        time: Duration::ZERO,
        ..Limits::default()
    });
    for (operation, want) in [
        ("list_directory", "Not all entries were read within 0 s."),
        (
            "directory_tree",
            "Stopped after 0 s: give a narrower `path`.",
        ),
        (
            "search_files",
            "Stopped after 0 s, before everything was looked at: give a narrower `path`.",
        ),
        (
            "search_contents",
            "Stopped after 0 s, before everything was looked at: give a narrower `path`.",
        ),
    ] {
        let text = notes.text(operation, args_of(operation));
        assert!(text.contains(want), "{operation}: {text}");
    }
    for operation in ["read_text_file", "read_media_file"] {
        let error = notes.error(operation, args_of(operation));
        assert!(
            matches!(error, FilesError::TimeUp { .. }),
            "{operation}: {error}"
        );
    }
    assert!(matches!(
        resources::list(&notes.folders, None, &|| false),
        Err(FilesError::TimeUp { .. })
    ));
}

#[test]
fn a_walk_looks_at_so_many_entries_and_says_so() {
    let notes = busy().limited(Limits {
        visited: 30,
        ..Limits::default()
    });
    let text = notes.text("search_files", json!({ "pattern": "*.txt" }));
    assert_eq!(text.matches(".txt\n").count(), 15);
    assert!(
        text.contains("Stopped after 30 entries, before everything was looked at"),
        "{text}"
    );
}

#[test]
fn a_walk_meets_100_000_entries_in_one_directory() {
    let notes = fixture(&[("many/", "")]);
    for number in 0..40_000 {
        std::fs::File::create(notes.root().join(format!("many/{number}"))).unwrap();
    }
    let notes = notes.limited(Limits {
        found: 50_000,
        listed_bytes: usize::MAX,
        ..Limits::default()
    });
    let found = notes.json("search_files", json!({ "pattern": "many/*" }));
    let paths: Vec<_> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths.len(), 40_000);
    assert!(paths.is_sorted_by(|a, b| a < b));
}

#[test]
fn a_directory_that_vanishes_during_a_walk_is_passed_over() {
    let notes = busy();
    let doomed = notes.root().join("d9");
    let questions = Cell::new(0);
    let remove = || {
        questions.set(questions.get() + 1);
        if questions.get() == 60 {
            std::fs::remove_dir_all(&doomed).unwrap();
        }
        false
    };
    let (text, _) = notes
        .answer("search_files", json!({ "pattern": "f*.txt" }), &remove)
        .unwrap();
    assert_eq!(text.lines().count(), 49, "{text}");
}

/// Where there are more or longer names than fit, each answer says how to go on, and going on meets every name once.
#[test]
fn answers_of_long_names_are_cut_and_go_on() {
    let names: Vec<_> = (0..40)
        .map(|n| format!("{n:02}{}", "x".repeat(240)))
        .collect();
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), "needle\n"))
        .collect();
    let notes = fixture(&files).limited(Limits {
        listed_bytes: 1_000,
        match_bytes: 1_000,
        ..Limits::default()
    });
    for (tool, args, pointer, name) in [
        ("list_directory", json!({}), "/entries", "/name"),
        (
            "search_files",
            json!({ "pattern": "*" }),
            "/matches",
            "/path",
        ),
        (
            "search_contents",
            json!({ "pattern": "needle" }),
            "/files",
            "/path",
        ),
    ] {
        let (mut met, mut args, mut calls) = (Vec::new(), args, 0);
        loop {
            let (text, answer) = notes.answer(tool, args.clone(), &|| false).unwrap();
            assert!(text.len() < 2_000, "{tool}: {}", text.len());
            let items = answer.pointer(pointer).and_then(Value::as_array).unwrap();
            met.extend(
                items
                    .iter()
                    .map(|item| item.pointer(name).unwrap().as_str().unwrap().to_owned()),
            );
            calls += 1;
            let Some((_, after)) = text.split_once("after=\"") else {
                break;
            };
            args["after"] = after.split('"').next().unwrap().into();
        }
        assert_eq!(met, names, "{tool}");
        assert!(calls >= 5, "{tool}: {calls}");
    }
    let tree = notes.text("directory_tree", json!({}));
    assert!(
        tree.len() < 2_000 && tree.contains("  … 36 more\n"),
        "{tree}"
    );
    assert!(
        tree.ends_with("[list_directory shows all entries of one directory.]"),
        "{tree}"
    );
    let (mut met, mut cursor) = (0, None::<String>);
    loop {
        let page = resources::list(&notes.folders, cursor.as_deref(), &|| false).unwrap();
        assert!(page.resources.len() < 10);
        met += page.resources.len();
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(met, names.len());
}

// req: D-38
#[test]
fn d_38_what_is_too_much_by_itself_is_refused_with_what_can_be_done() {
    let limits = Limits {
        trash_bytes: 20_000,
        copy_bytes: 20_000,
        ..Limits::default()
    };
    let large = "x".repeat(20_001);
    let notes = fixture(&[
        ("large.txt", &*large),
        ("sub/large.txt", &*large),
        ("sub/small.txt", "1"),
    ])
    .limited(limits);
    let before = notes.inside();
    for (tool, path, want) in [
        (
            "delete_file",
            "large.txt",
            "holds more than 20.0 kB. Nothing was changed: it is left to whoever owns the folder.",
        ),
        (
            "delete_file",
            "sub/large.txt",
            "it is left to whoever owns the folder.",
        ),
        (
            "delete_file",
            "sub",
            "holds more than 20.0 kB. Nothing was changed: take one part of it after another.",
        ),
        (
            "copy_file",
            "large.txt",
            "it is left to whoever owns the folder.",
        ),
        ("copy_file", "sub", "take one part of it after another."),
    ] {
        let args = match tool {
            "delete_file" => json!({ "path": path }),
            _ => json!({ "source": path, "destination": "copy" }),
        };
        let said = notes.text(tool, args);
        assert!(said.contains(want), "{tool} {path}: {said}");
        assert_eq!(notes.inside(), before, "{tool} {path}");
    }
    // Part by part, as it was said.
    assert!(
        notes
            .text("delete_file", json!({ "path": "sub/small.txt" }))
            .starts_with("Deleted")
    );
}
