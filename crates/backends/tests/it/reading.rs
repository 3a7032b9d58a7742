//! Reading text by lines: pieces, cuts, encodings.

use polyport_backends::files::Limits;
use serde_json::{Value, json};

use crate::support::{Fixture, fixture};

fn numbered(lines: usize) -> String {
    (1..=lines)
        .map(|number| format!("line {number}\n"))
        .collect()
}

/// Texts for arguments.
fn check(notes: &Fixture, cases: &[(Value, &str)]) {
    for (args, want) in cases {
        assert_eq!(&notes.text("read_text_file", args.clone()), want, "{args}");
    }
}

#[test]
fn pieces_by_lines() {
    const WHOLE: &str = "line 1\nline 2\nline 3\nline 4\nline 5\n";
    let notes = fixture(&[("a", numbered(5))]);
    check(
        &notes,
        &[
            (json!({ "path": "a" }), WHOLE),
            (
                json!({ "path": "a", "head": 2 }),
                "line 1\nline 2\n[Lines 1-2 of 5. The rest: read_text_file with offset=3.]",
            ),
            (json!({ "path": "a", "head": 5 }), WHOLE),
            (json!({ "path": "a", "head": 99 }), WHOLE),
            (
                json!({ "path": "a", "tail": 2 }),
                "line 4\nline 5\n[Lines 4-5 of 5.]",
            ),
            (json!({ "path": "a", "tail": 5 }), WHOLE),
            (json!({ "path": "a", "tail": 99 }), WHOLE),
            (
                json!({ "path": "a", "offset": 4 }),
                "line 4\nline 5\n[Lines 4-5 of 5.]",
            ),
            (
                json!({ "path": "a", "offset": 5 }),
                "line 5\n[Line 5 of 5.]",
            ),
            (
                json!({ "path": "a", "offset": 2, "limit": 2 }),
                "line 2\nline 3\n[Lines 2-3 of 5. The rest: read_text_file with offset=4.]",
            ),
            (
                json!({ "path": "a", "offset": 1, "column": 3, "limit": 1 }),
                "ne 1\n[Line 1 of 5. The rest: read_text_file with offset=2.]",
            ),
        ],
    );
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let notes = fixture(&[("a", numbered(5))]);
    let message = |args: Value| notes.text("read_text_file", args);
    for (args, want) in [
        (
            json!({ "path": "a", "offset": 6 }),
            "`offset`: the file ends with line 5.",
        ),
        (
            json!({ "path": "a", "offset": 99 }),
            "`offset`: the file ends with line 5.",
        ),
        (
            json!({ "path": "a", "offset": 2, "column": 9 }),
            "`column`: line 2 has only 6 bytes.",
        ),
        (
            json!({ "path": "a", "head": 1, "tail": 1 }),
            "`tail`: send either `head` or `tail`.",
        ),
        (
            json!({ "path": "a", "head": 1, "limit": 1 }),
            "`head`: send either `head`, or `offset` with `limit`.",
        ),
        (
            json!({ "path": "a", "tail": 1, "offset": 1 }),
            "`tail`: send either `tail`, or `offset` with `limit`.",
        ),
    ] {
        assert_eq!(
            message(args.clone()),
            format!("Error: Argument {want}"),
            "{args}"
        );
    }
    let error = message(json!({ "path": "." }));
    assert_eq!(
        error,
        "Error: \".\" is a directory, not a file. Use list_directory for it."
    );
}

#[test]
fn the_last_line_counts_with_and_without_an_end() {
    let notes = fixture(&[("open", "1\n2\n3"), ("blank", "\n\n\n")]);
    check(
        &notes,
        &[
            (json!({ "path": "open" }), "1\n2\n3"),
            (json!({ "path": "open", "tail": 1 }), "3\n[Line 3 of 3.]"),
            (json!({ "path": "open", "tail": 3 }), "1\n2\n3"),
            (json!({ "path": "open", "offset": 3 }), "3\n[Line 3 of 3.]"),
            (
                json!({ "path": "open", "offset": 4 }),
                "Error: Argument `offset`: the file ends with line 3.",
            ),
            (json!({ "path": "blank" }), "\n\n\n"),
            (json!({ "path": "blank", "tail": 1 }), "\n[Line 3 of 3.]"),
            (json!({ "path": "blank", "offset": 3 }), "\n[Line 3 of 3.]"),
        ],
    );
}

#[test]
fn empty_files_and_other_line_ends() {
    let notes = fixture(&[
        ("empty", &b""[..]),
        ("crlf", b"a\r\nb\r\nc"),
        ("cr", b"a\rb"),
        ("bom", b"\xef\xbb\xbfa\nb\n"),
        ("only-bom", b"\xef\xbb\xbf"),
    ]);
    for (args, want) in [
        (json!({ "path": "empty" }), "[The file is empty.]"),
        (
            json!({ "path": "empty", "tail": 3 }),
            "[The file is empty.]",
        ),
        (
            json!({ "path": "empty", "head": 3 }),
            "[The file is empty.]",
        ),
        (
            json!({ "path": "empty", "offset": 2 }),
            "Error: Argument `offset`: the file ends with line 0.",
        ),
        (json!({ "path": "crlf" }), "a\r\nb\r\nc"),
        (
            json!({ "path": "crlf", "offset": 2, "limit": 1 }),
            "b\r\n[Line 2 of 3. The rest: read_text_file with offset=3.]",
        ),
        (
            json!({ "path": "crlf", "tail": 2 }),
            "b\r\nc\n[Lines 2-3 of 3.]",
        ),
        (json!({ "path": "cr" }), "a\rb"),
        (json!({ "path": "bom" }), "a\nb\n"),
        (json!({ "path": "bom", "tail": 2 }), "a\nb\n"),
        (json!({ "path": "bom", "offset": 1, "column": 2 }), "\nb\n"),
        (json!({ "path": "only-bom" }), ""),
    ] {
        assert_eq!(notes.text("read_text_file", args.clone()), want, "{args}");
    }
    assert_eq!(
        notes.json("read_text_file", json!({ "path": "empty" }))["totalLines"],
        0
    );
}

#[test]
fn other_encodings_are_refused_clearly() {
    let mut late = b"fine\n".repeat(3_000);
    late.extend(b"caf\xe9\n");
    let notes = fixture(&[
        ("utf16", &b"\xff\xfea\0"[..]),
        ("latin1", b"one\ncaf\xe9\n"),
        ("late", &late),
        ("binary", b"a\0b"),
        ("pdf", b"%PDF-1.7 x"),
        ("cut", b"\xe2\x82"),
    ]);
    for (path, want) in [
        ("utf16", "it is UTF-16, and only UTF-8 is read"),
        ("latin1", "byte 0xE9 in line 2 belongs to another encoding"),
        ("late", "byte 0xE9 in line 3001 belongs"),
        (
            "binary",
            "it has NUL bytes, so it is binary. read_media_file",
        ),
        ("pdf", "its bytes are application/pdf. read_media_file"),
        ("cut", "byte 0xE2 in line 1 belongs"),
    ] {
        let error = notes.text("read_text_file", json!({ "path": path }));
        assert!(
            error.starts_with(&format!("Error: \"{path}\" is not UTF-8 text: "))
                && error.contains(want),
            "{error}"
        );
    }
    assert_eq!(
        notes.json("read_text_file", json!({ "path": "latin1", "head": 1 }))["content"],
        "one\n"
    );
    assert!(
        notes
            .text("read_text_file", json!({ "path": "latin1", "tail": 1 }))
            .contains("byte 0xE9 belongs")
    );
}

/// Reads a file piece by piece, doing what each note says.
fn follow(notes: &Fixture, path: &str) -> String {
    let mut whole = String::new();
    let mut args = json!({ "path": path });
    for _ in 0..100_000 {
        let piece = notes.json("read_text_file", args.clone());
        whole.push_str(piece["content"].as_str().unwrap());
        let note = piece["note"].as_str().unwrap_or_default();
        let number = |name: &str| -> Option<u64> {
            let rest = &note[note.rfind(&format!("{name}="))? + name.len() + 1..];
            rest.split(|c: char| !c.is_ascii_digit())
                .next()?
                .parse()
                .ok()
        };
        let Some(offset) = number("offset") else {
            return whole;
        };
        args = json!({ "path": path, "offset": offset });
        if let Some(column) = number("column") {
            args["column"] = column.into();
        }
    }
    panic!("reading on does not end");
}

#[test]
fn the_notes_lead_through_every_file() {
    let long_lines = format!("short\n{}\n\nend\n{}", "€".repeat(5_000), "x".repeat(1_000));
    let files = [
        ("lines.txt", numbered(2_000)),
        ("long.txt", long_lines),
        ("crlf.txt", "some words\r\n".repeat(700)),
        ("one.txt", "é".repeat(4_001)),
        ("small.txt", "a".into()),
    ];
    for text_bytes in [1, 64, 100, 101, 1_000, 4_096] {
        let notes = fixture(&files).limited(Limits {
            text_bytes,
            ..Limits::default()
        });
        for (path, want) in &files {
            assert_eq!(&follow(&notes, path), want, "{path} by {text_bytes}");
        }
    }
}

#[test]
fn a_ten_megabyte_file_is_cut_and_numbered() {
    let notes = fixture(&[("big.txt", numbered(1_000_000))]);
    let read = notes.json("read_text_file", json!({ "path": "big.txt" }));
    assert!(read["content"].as_str().unwrap().len() <= Limits::default().text_bytes);
    assert_eq!(read["totalLines"], 1_000_000);
    let tail = notes.text("read_text_file", json!({ "path": "big.txt", "tail": 2 }));
    assert_eq!(
        tail,
        "line 999999\nline 1000000\n[Lines 999999-1000000 of 1000000.]"
    );
    let middle = notes.text(
        "read_text_file",
        json!({ "path": "big.txt", "offset": 500_000, "limit": 1 }),
    );
    assert_eq!(
        middle,
        "line 500000\n[Line 500000 of 1000000. The rest: read_text_file with offset=500001.]"
    );
}

#[test]
fn files_too_large_to_count_are_read_without_a_total() {
    let limits = Limits {
        count_bytes: 100,
        scan_bytes: 1_000,
        text_bytes: 64,
        ..Limits::default()
    };
    let notes = fixture(&[
        ("big.txt", numbered(200_000)),
        ("line.txt", "é".repeat(5_000)),
    ])
    .limited(limits);
    let text = |args: Value| notes.text("read_text_file", args);
    assert_eq!(
        text(json!({ "path": "big.txt", "head": 1 })),
        "line 1\n[Line 1. The rest: read_text_file with offset=2.]"
    );
    assert_eq!(
        text(json!({ "path": "big.txt", "tail": 1 })),
        "line 200000\n[The last 1 line of a file too large to count its lines.]"
    );
    let early = text(json!({ "path": "big.txt", "tail": 50 }));
    assert!(early.ends_with("line 200000\n[The last 5 lines of a file too large to count its lines. Not all the lines asked for fit; search_contents finds earlier ones.]"), "{early}");
    let far = text(json!({ "path": "big.txt", "offset": 100_000 }));
    assert!(
        far.starts_with(
            "Error: Argument `offset`: line 100000 lies more than 1.0 kB into the file."
        ),
        "{far}"
    );
    let huge = notes.json("read_text_file", json!({ "path": "line.txt", "tail": 1 }));
    assert_eq!(huge["content"], "é".repeat(32));
}

#[test]
fn a_tail_that_does_not_fit_is_numbered() {
    let notes = fixture(&[("a.txt", numbered(100))]).limited(Limits {
        text_bytes: 64,
        ..Limits::default()
    });
    let text = notes.text("read_text_file", json!({ "path": "a.txt", "tail": 50 }));
    assert!(text.ends_with("line 100\n[Lines 94-100 of 100. Not all the lines asked for fit; earlier ones: read_text_file with offset up to 93.]"), "{text}");
}

#[test]
fn several_files_share_the_room() {
    let notes = fixture(&[
        ("a.txt", "one".to_owned()),
        ("b.txt", numbered(100)),
        ("c.txt", numbered(100)),
    ])
    .limited(Limits {
        text_bytes: 400,
        paths: 4,
        ..Limits::default()
    });
    let read = notes.json(
        "read_multiple_files",
        json!({ "paths": ["a.txt", "nothing", "b.txt", "c.txt"] }),
    );
    let files = read["files"].as_array().unwrap();
    assert_eq!(files[0], json!({ "path": "a.txt", "content": "one" }));
    assert!(
        files[1]["error"]
            .as_str()
            .unwrap()
            .starts_with("Nothing at \"nothing\" that can be reached. The working folder is ")
    );
    for file in &files[2..] {
        let content = file["content"].as_str().unwrap();
        assert!(content.len() > 150 && content.len() <= 200, "{content}");
        assert!(
            file["note"]
                .as_str()
                .unwrap()
                .contains("read_text_file with offset="),
            "{file}"
        );
    }
    let text = notes.text(
        "read_multiple_files",
        json!({ "paths": ["a.txt", "nothing"] }),
    );
    assert!(
        text.starts_with("==> a.txt <==\none\n\n==> nothing <==\n[Error: Nothing at "),
        "{text}"
    );
    for paths in [json!([]), json!(["a", "a", "a", "a", "a"])] {
        assert_eq!(
            notes.text("read_multiple_files", json!({ "paths": paths })),
            "Error: Argument `paths`: send 1 to 4 paths."
        );
    }
}
