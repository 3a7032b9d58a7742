//! Cancelling and the time limit, in every operation.

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
