//! `edit_file` on the disk: what is written, what is shown, and that nothing is written when something is wrong.

use std::fs;

use polyport_backends::files::{FilesError, Limits};
use serde_json::{Value, json};

use crate::support::{Fixture, fixture};

fn edit(notes: &Fixture, edits: &[(&str, &str)], dry_run: bool) -> String {
    let edits: Vec<_> = edits
        .iter()
        .map(|(old, new)| json!({ "oldText": old, "newText": new }))
        .collect();
    let args = json!({ "path": "a.txt", "edits": edits, "dryRun": dry_run });
    notes.text("edit_file", args)
}

fn on_disk(notes: &Fixture) -> Vec<u8> {
    fs::read(notes.root().join("a.txt")).unwrap()
}

/// The answer without the time, which is another one each time.
fn timeless(text: &str) -> String {
    match text.rsplit_once(" Modified: ") {
        Some((text, _)) => format!("{text}]"),
        None => text.to_owned(),
    }
}

#[test]
fn the_diff_is_shown_and_the_file_written() {
    let notes = fixture(&[("a.txt", "one\ntwo\nthree\n")]);
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    let dry = edit(&notes, &[("two", "2")], true);
    assert_eq!(
        dry,
        format!("{diff}[1 replacement. A dry run: nothing was written.]")
    );
    assert_eq!(on_disk(&notes), b"one\ntwo\nthree\n");
    let written = edit(&notes, &[("two", "2")], false);
    assert_eq!(
        timeless(&written),
        format!("{diff}[1 replacement, written.]")
    );
    assert_eq!(on_disk(&notes), b"one\n2\nthree\n");
    let nothing = edit(&notes, &[("2", "3"), ("3", "2")], false);
    assert_eq!(
        nothing,
        "[2 replacements that change nothing: nothing was written.]"
    );
}

#[test]
fn line_ends_and_mark_are_kept_on_the_disk() {
    for (before, after) in [
        ("\u{feff}one\r\ntwo\r\n", "\u{feff}one\r\n2\r\n3\r\n"),
        ("one\ntwo\n", "one\n2\n3\n"),
        ("one\r\ntwo", "one\r\n2\r\n3"),
        ("\u{feff}two", "\u{feff}2\n3"),
    ] {
        let notes = fixture(&[("a.txt", before)]);
        edit(&notes, &[("two", "2\n3")], false);
        assert_eq!(on_disk(&notes), after.as_bytes(), "{before:?}");
        // What was not touched reads as before.
        let text = notes.text("read_text_file", json!({ "path": "a.txt" }));
        assert!(
            text.starts_with(after.trim_start_matches('\u{feff}')),
            "{text:?}"
        );
    }
}

#[test]
fn nothing_is_written_when_one_edit_fails() {
    let text = "fn main() {\n    run();\n}\nfn run() {\n    run();\n}\n";
    let notes = fixture(&[("a.txt", text)]);
    for (edits, want) in [
        (
            &[("fn main", "fn start"), ("run();", "go();")][..],
            "number 2 of 2: `oldText` is there 2 times (lines 2, 5), not once.",
        ),
        (
            &[("fn run() {\n    run()\n", "x")],
            "The nearest is line 5: \"    run();\", where `oldText` has \"    run()\"; 1 line above it fits.",
        ),
        (
            &[("fn mains", "x")],
            "`oldText` (it begins \"fn mains\") is there 0 times, not once. The nearest is line 1: \"fn main() {\".",
        ),
        (&[("fn main", "")], ""),
    ] {
        let dry = edit(&notes, edits, true);
        assert!(dry.contains(want), "{dry}");
        if want.is_empty() {
            continue;
        }
        let said = edit(&notes, edits, false);
        assert!(said.starts_with("Error: Argument `edits`: "), "{said}");
        assert_eq!(said, dry);
        assert_eq!(on_disk(&notes), text.as_bytes());
    }
    let all = json!([{ "oldText": "run()", "newText": "go()", "replaceAll": true }]);
    let said = notes.text("edit_file", json!({ "path": "a.txt", "edits": all }));
    assert!(said.contains("[3 replacements, written."), "{said}");
    assert_eq!(on_disk(&notes), text.replace("run()", "go()").as_bytes());
}

#[test]
fn only_texts_of_bounded_size_are_edited() {
    let one = json!([{ "oldText": "x", "newText": "y" }]);
    let cases: &[(&[u8], Value, &str)] = &[
        (
            b"caf\xe9 x",
            one.clone(),
            "is not UTF-8 text: byte 0xE9 in line 1",
        ),
        (b"x\0", one.clone(), "is not UTF-8 text: it has NUL bytes"),
        (b"\xff\xfex\0", one.clone(), "it is UTF-16"),
        (
            b"x23456789012345678901",
            one.clone(),
            "has 21 bytes, and one call takes at most 20. Larger files are not edited.",
        ),
        (
            b"x",
            json!([{ "oldText": "x", "newText": "y".repeat(21) }]),
            "more than 20 bytes",
        ),
        (b"x", json!([]), "Argument `edits`: send 1 to 3."),
        (
            b"x",
            json!([{ "oldText": "x", "newText": "y" }, { "oldText": "", "newText": "" }, { "oldText": "y", "newText": "x" }, { "oldText": "x", "newText": "z" }]),
            "Argument `edits`: send 1 to 3.",
        ),
    ];
    for (bytes, edits, want) in cases {
        let notes = fixture(&[("a.txt", bytes)]).limited(Limits {
            write_bytes: 20,
            edits: 3,
            ..Limits::default()
        });
        let said = notes.text("edit_file", json!({ "path": "a.txt", "edits": edits }));
        assert!(said.starts_with("Error: ") && said.contains(want), "{said}");
        assert_eq!(&on_disk(&notes), bytes);
    }
    let notes = fixture(&[("sub/", "")]);
    for (path, want) in [
        ("sub", "is a directory"),
        ("none", "Nothing at \"none\""),
        (".git/config", "belongs to git"),
    ] {
        let said = notes.text("edit_file", json!({ "path": path, "edits": one }));
        assert!(said.contains(want), "{said}");
    }
}

#[test]
fn a_long_diff_is_cut_and_says_so() {
    let text: String = (0..1_000).map(|n| format!("line {n}\n")).collect();
    let notes = fixture(&[("a.txt", text)]).limited(Limits {
        diff_bytes: 500,
        ..Limits::default()
    });
    let all = json!([{ "oldText": "line ", "newText": "row ", "replaceAll": true }]);
    let said = notes.text("edit_file", json!({ "path": "a.txt", "edits": all }));
    let (diff, note) = said.split_once('[').unwrap();
    assert!(diff.len() <= 500 && diff.ends_with('\n'), "{}", diff.len());
    let left = 2_003 - diff.lines().count();
    assert!(
        note.starts_with(&format!(
            "{left} more lines of the diff left out. 1000 replacements, written."
        )),
        "{note}"
    );
    assert!(
        String::from_utf8(on_disk(&notes))
            .unwrap()
            .starts_with("row 0\nrow 1\n")
    );
}

/// Whoever saves the file between our reading and our writing keeps what they saved.
#[test]
fn what_somebody_else_saved_in_the_meantime_is_not_lost() {
    for at in 0..20 {
        let notes = fixture(&[("a.txt", "one\ntwo\n")]);
        let path = notes.root().join("a.txt");
        let asked = std::cell::Cell::new(0);
        let saved = || {
            asked.set(asked.get() + 1);
            if asked.get() == at {
                let beside = path.with_file_name("theirs");
                fs::write(&beside, "one\nTWO\n").unwrap();
                fs::rename(beside, &path).unwrap();
            }
            false
        };
        let args = json!({ "path": "a.txt", "edits": [{ "oldText": "one", "newText": "1" }] });
        let answer = notes.answer("edit_file", args, &saved);
        let text = String::from_utf8(on_disk(&notes)).unwrap();
        if at == 0 || asked.get() < at {
            assert_eq!(text, "1\ntwo\n", "{at}");
            continue;
        }
        match answer {
            // Theirs came before ours was read.
            Ok(_) => assert_eq!(text, "1\nTWO\n", "{at}"),
            Err(error) => {
                assert!(matches!(error, FilesError::Changed { .. }), "{at}: {error}");
                assert_eq!(text, "one\nTWO\n", "{at}");
            }
        }
    }
}

/// Calls of one server that edit one file at once do not undo each other.
#[test]
fn edits_at_once_are_all_made() {
    let lines: String = (0..40).map(|n| format!("line <{n}>\n")).collect();
    let notes = fixture(&[("a.txt", &lines)]);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let notes = &notes;
            scope.spawn(move || {
                for n in (thread..40).step_by(4) {
                    let (old, new) = (format!("<{n}>"), format!("({n})"));
                    let said = edit(notes, &[(&old, &new)], false);
                    assert!(said.contains("1 replacement, written"), "{said}");
                }
            });
        }
    });
    let want = lines.replace('<', "(").replace('>', ")");
    assert_eq!(String::from_utf8(on_disk(&notes)).unwrap(), want);
}
