//! Searching in contents: what matches, context, bounds, what is left out.

use std::time::{Duration, Instant};

use polyport_backends::files::Limits;
use serde_json::json;

use crate::support::fixture;

#[test]
fn lines_are_found_with_numbers() {
    let notes = fixture(&[
        ("a.rs", "fn main() {\r\n    let needle = 1;\r\n}\r\n"),
        ("b/c.md", "# Needle\nno\nneedle at the end"),
        ("d.txt", "a.b\naxb\n"),
    ]);
    for (args, want) in [
        (
            json!({ "pattern": "needle" }),
            "a.rs\n  2:     let needle = 1;\nb/c.md\n  3: needle at the end\n",
        ),
        (
            json!({ "pattern": "NEEDLE", "ignoreCase": true, "glob": "*.md" }),
            "b/c.md\n  1: # Needle\n  3: needle at the end\n",
        ),
        (
            json!({ "pattern": "a.b", "literal": true }),
            "d.txt\n  1: a.b\n",
        ),
        (json!({ "pattern": "a.b" }), "d.txt\n  1: a.b\n  2: axb\n"),
        (
            json!({ "pattern": "^needle.*end$" }),
            "b/c.md\n  3: needle at the end\n",
        ),
        (
            json!({ "pattern": "1;$", "path": "a.rs" }),
            "a.rs\n  2:     let needle = 1;\n",
        ),
        (
            json!({ "pattern": "needle", "excludePatterns": ["b"] }),
            "a.rs\n  2:     let needle = 1;\n",
        ),
        (
            json!({ "pattern": "needle", "path": "b" }),
            "b/c.md\n  3: needle at the end\n",
        ),
        (
            json!({ "pattern": "needle", "path": "b", "glob": "b/*.md" }),
            "[No line matches \"needle\" in 0 text files.]",
        ),
    ] {
        assert_eq!(notes.text("search_contents", args.clone()), want, "{args}");
    }
}

#[test]
fn context_is_shown_once() {
    let text: String = (1..=20).map(|number| format!("line {number}\n")).collect();
    let notes = fixture(&[("a.txt", text)]);
    let want = "a.txt\n  3- line 3\n  4: line 4\n  5- line 5\n  6: line 6\n  7- line 7\n  --\n  19- line 19\n  20: line 20\n";
    assert_eq!(notes.text("search_contents", json!({ "pattern": "4$|6$|20", "contextLines": 1 })),
        want.replace("  --\n  19", "  --\n  13- line 13\n  14: line 14\n  15- line 15\n  16: line 16\n  17- line 17\n  --\n  19"));
    let first = notes.json(
        "search_contents",
        json!({ "pattern": "1$", "contextLines": 2, "maxMatches": 1 }),
    );
    assert_eq!(
        first["files"][0]["lines"][0],
        json!({ "line": 1, "text": "line 1", "matched": true })
    );
    assert_eq!(first["files"][0]["lines"].as_array().unwrap().len(), 3);
    assert!(
        notes
            .text(
                "search_contents",
                json!({ "pattern": "x", "contextLines": 1000 })
            )
            .contains("`contextLines`: at most 20")
    );
}

#[test]
fn a_cut_search_goes_on_where_it_ended() {
    let text = |prefix: &str| {
        (1..=30)
            .map(|number| format!("{prefix} {number}\n"))
            .collect::<String>()
    };
    let files = [
        ("a.txt", text("hit")),
        ("b/c.txt", text("hit")),
        ("d.txt", text("miss")),
        ("e:7.txt", text("hit")),
    ];
    for most in [1, 7, 30, 89, 90, 91] {
        let notes = fixture(&files);
        let mut args = json!({ "pattern": "hit", "maxMatches": most });
        let mut got = Vec::new();
        loop {
            let found = notes.json("search_contents", args.clone());
            assert!(found["matches"].as_u64().unwrap() <= most);
            for file in found["files"].as_array().unwrap() {
                for line in file["lines"].as_array().unwrap() {
                    got.push(format!(
                        "{}:{}",
                        file["path"].as_str().unwrap(),
                        line["line"]
                    ));
                }
            }
            let Some(note) = found["notes"][0].as_str() else {
                break;
            };
            let after = note.split('"').nth(1).unwrap();
            assert_eq!(after, got.last().unwrap());
            args["after"] = json!(after);
        }
        let want: Vec<_> = ["a.txt", "b/c.txt", "e:7.txt"]
            .iter()
            .flat_map(|name| (1..=30).map(move |line| format!("{name}:{line}")))
            .collect();
        assert_eq!(got, want, "{most}");
    }
    let notes = fixture(&files);
    for after in [
        "a.txt",
        "a.txt:x",
        "../secret.txt:1",
        ":1",
        "b:1",
        "nothing",
    ] {
        let error = notes.text("search_contents", json!({ "pattern": "x", "after": after }));
        assert!(error.starts_with("Error: "), "{after}: {error}");
    }
    let in_one = notes.text(
        "search_contents",
        json!({ "pattern": "hit", "path": "a.txt", "after": "a.txt:29" }),
    );
    assert_eq!(in_one, "a.txt\n  30: hit 30\n");
}

#[test]
fn answers_are_bounded_in_bytes_and_lines_in_length() {
    let line = format!("{}needle{}\n", "x".repeat(100_000), "y".repeat(100_000));
    let notes = fixture(&[("long.txt", line.repeat(20))]).limited(Limits {
        match_bytes: 2_000,
        ..Limits::default()
    });
    let found = notes.json("search_contents", json!({ "pattern": "needle" }));
    let lines = found["files"][0]["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 4);
    for line in lines {
        let text = line["text"].as_str().unwrap();
        assert!(
            text.contains("needle")
                && text.starts_with("…x")
                && text.ends_with("y…")
                && text.len() < 410,
            "{text}"
        );
    }
    assert!(
        found["notes"][0]
            .as_str()
            .unwrap()
            .contains("after=\"long.txt:4\""),
        "{}",
        found["notes"]
    );
}

#[test]
fn a_line_of_many_megabytes_is_searched_in_pieces_and_counted_once() {
    let mut text = "a".repeat(3 * 1024 * 1024);
    text.push_str("needle");
    text.push_str(&"needle ".repeat(400_000));
    text.push_str("\nlast needle");
    let notes = fixture(&[("huge.txt", text)]);
    let found = notes.json(
        "search_contents",
        json!({ "pattern": "needle", "contextLines": 1 }),
    );
    let numbers: Vec<_> = found["files"][0]["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["line"].clone())
        .collect();
    assert_eq!(numbers, [1, 2]);
}

#[test]
fn what_is_not_text_is_left_out_and_counted() {
    let mut late = vec![b'a'; 100_000];
    late.extend(b"\nneedle\n\0");
    let notes = fixture(&[
        ("a.bin", &b"needle\0"[..]),
        ("b.utf16", b"\xff\xfen\0e\0"),
        ("c.png", b"\x89PNG\r\n\x1a\nneedle"),
        ("d.late", &late),
        ("e.latin1", b"needle caf\xe9\n"),
        ("f.bom", b"\xef\xbb\xbfneedle\n"),
        ("g.empty", b""),
    ]);
    let text = notes.text("search_contents", json!({ "pattern": "^needle" }));
    assert_eq!(
        text,
        "d.late\n  2: needle\ne.latin1\n  1: needle caf\u{fffd}\nf.bom\n  1: needle\n\
         [4 files that are not UTF-8 text were left out.]"
    );
}

#[test]
fn bad_patterns_are_refused_with_the_reason() {
    let notes = fixture(&[("a", "x")]);
    for (pattern, want) in [
        ("(", "unclosed group"),
        ("(?=x)", "look-around"),
        (r"(a)\1", "backreferences"),
        ("", "1 to 4000 bytes"),
        ("a\nb", "line end"),
        (r"\w{1000}{1000}", "too large once compiled"),
        (&("(".repeat(1_000) + &")".repeat(1_000)), "nest"),
        (&"a".repeat(4_001), "1 to 4000 bytes"),
    ] {
        let error = notes.text("search_contents", json!({ "pattern": pattern }));
        assert!(
            error.starts_with("Error: Argument `pattern`: ")
                && error.contains(want)
                && error.len() < 300,
            "{pattern:.40}: {error}"
        );
        assert!(error.lines().count() == 1, "{error}");
    }
    assert!(
        notes
            .text(
                "search_contents",
                json!({ "pattern": "(((", "literal": true })
            )
            .starts_with("[No line")
    );
}

#[test]
fn v_410_no_pattern_takes_exponential_time() {
    let notes = fixture(&[("a.txt", "a".repeat(100_000) + "!")]);
    for pattern in [
        "(a+)+$",
        "(a|a)*$",
        "(a*)*b",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(.*)*x{3}",
    ] {
        let started = Instant::now();
        notes.json("search_contents", json!({ "pattern": pattern }));
        // Far below what backtracking takes, far above what a slow machine needs without optimisation.
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "{pattern}: {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn ten_megabytes_are_searched_to_the_end() {
    let mut text = "some line of text\n".repeat(600_000);
    text.push_str("needle\n");
    let notes = fixture(&[("big.txt", text)]);
    assert_eq!(
        notes.text("search_contents", json!({ "pattern": "needle" })),
        "big.txt\n  600001: needle\n"
    );
}

// req: D-23
#[test]
fn d_23_a_file_that_takes_longer_than_one_call_is_searched_to_its_end() {
    use std::fmt::Write as _;
    let (mut text, mut want) = (String::new(), Vec::new());
    for line in 1..=120_000_u64 {
        let found = line % 10_000 == 1;
        want.extend(found.then_some(line));
        let _ = writeln!(text, "{} {line}", if found { "needle" } else { "straw" });
    }
    let mut notes = fixture(&[
        ("a.txt", "needle\n"),
        ("big.txt", &*text),
        ("c.txt", "needle\n"),
    ]);
    let mut time = Duration::from_millis(4);
    let (mut after, mut found, mut stops) = (None::<String>, Vec::new(), 0);
    loop {
        notes = notes.limited(Limits {
            time,
            ..Limits::default()
        });
        let mut args = json!({ "pattern": "needle" });
        if let Some(after) = &after {
            args["after"] = after.clone().into();
        }
        let answer = notes.json("search_contents", args);
        for file in answer["files"].as_array().unwrap() {
            let lines = file["lines"].as_array().unwrap().iter();
            found.extend(lines.map(|line| (file["path"].clone(), line["line"].as_u64().unwrap())));
        }
        let said = answer["notes"].to_string();
        if !said.contains("Stopped after") {
            break;
        }
        stops += 1;
        match said.split_once("after=\\\"") {
            Some((_, rest)) => after = Some(rest.split_once("\\\"").unwrap().0.to_owned()),
            // Nothing was looked at in that time on this machine.
            None => time *= 2,
        }
    }
    let of_big = want.iter().map(|line| (json!("big.txt"), *line));
    let mut want: Vec<_> = of_big.collect();
    want.insert(0, (json!("a.txt"), 1));
    want.push((json!("c.txt"), 1));
    assert_eq!(found, want);
    assert!(stops > 0, "there was nothing to go on with");
}

#[test]
fn a_search_goes_on_behind_a_line_wherever_that_is_now() {
    let notes = fixture(&[("a.txt", "\u{feff}x 1\nx 2\r\nx 3\nx 4")]);
    let lines = |after: &str| {
        let answer = notes.json("search_contents", json!({ "pattern": "x", "after": after }));
        let files = answer["files"].as_array().unwrap();
        let lines = files
            .iter()
            .flat_map(|file| file["lines"].as_array().unwrap());
        lines
            .map(|line| line["text"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for (after, want) in [
        ("a.txt:2", &["x 3", "x 4"][..]),
        // Where that line ends: after the mark, two lines and their ends.
        ("a.txt:2@12", &["x 3", "x 4"]),
        // Where no line ends it is looked for.
        ("a.txt:2@13", &["x 3", "x 4"]),
        ("a.txt:2@0", &["x 3", "x 4"]),
        ("a.txt:2@1000000", &["x 3", "x 4"]),
        ("a.txt:2@18446744073709551615", &["x 3", "x 4"]),
        ("a.txt:0", &["x 1", "x 2", "x 3", "x 4"]),
        ("a.txt:4", &[]),
    ] {
        assert_eq!(lines(after), want, "{after}");
    }
    for after in ["a.txt:2@", "a.txt:@12", "a.txt:2@x", "a.txt:2@1@2"] {
        let error = notes.error("search_contents", json!({ "pattern": "x", "after": after }));
        assert!(error.to_string().contains("`after`"), "{after}: {error}");
    }
}
