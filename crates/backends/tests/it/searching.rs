//! Finding paths by a glob: what matches, what is left out, pages.

use polyport_backends::files::Limits;
use serde_json::{Value, json};

use crate::support::{Fixture, fixture};

fn project() -> Fixture {
    fixture(&[
        (".gitignore", "/build\n*.tmp\n!keep.tmp\n"),
        (".env", ""),
        (".github/workflows/ci.yml", ""),
        ("README.md", ""),
        ("a.tmp", ""),
        ("build/out.md", ""),
        ("docs/build/in.md", ""),
        ("docs/guide.md", ""),
        ("docs/keep.tmp", ""),
        ("node_modules/.gitignore", "*\n"),
        ("node_modules/x/README.md", ""),
        ("src/.gitignore", "!local.tmp\ngen.rs\n"),
        ("src/gen.rs", ""),
        ("src/lib.rs", ""),
        ("src/local.tmp", ""),
        ("src/sub/gen.rs", ""),
    ])
}

fn paths(notes: &Fixture, args: Value) -> Vec<String> {
    let found = notes.json("search_files", args);
    found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn globs_find_names_and_paths() {
    let notes = project();
    for (args, want) in [
        (
            json!({ "pattern": "*.md" }),
            &["README.md", "docs/build/in.md", "docs/guide.md"][..],
        ),
        (json!({ "pattern": "/*.md" }), &["README.md"]),
        (
            json!({ "pattern": "docs/*" }),
            &["docs/build", "docs/guide.md", "docs/keep.tmp"],
        ),
        (
            json!({ "pattern": "*.md", "path": "docs" }),
            &["docs/build/in.md", "docs/guide.md"],
        ),
        (
            json!({ "pattern": "build/*", "path": "docs" }),
            &["docs/build/in.md"],
        ),
        (
            json!({ "pattern": "*.{rs,tmp}" }),
            &["docs/keep.tmp", "src/lib.rs", "src/local.tmp"],
        ),
        (json!({ "pattern": "build/" }), &["docs/build"]),
        (
            json!({ "pattern": "*.md", "excludePatterns": ["docs"] }),
            &["README.md"],
        ),
        (
            json!({ "pattern": "*.md", "excludePatterns": ["docs/**"] }),
            &["README.md"],
        ),
        (
            json!({ "pattern": "*.md", "excludePatterns": ["**/in.md", "README*"] }),
            &["docs/guide.md"],
        ),
        (
            json!({ "pattern": "guide.md", "path": "docs/guide.md" }),
            &["docs/guide.md"],
        ),
    ] {
        assert_eq!(paths(&notes, args.clone()), want, "{args}");
    }
}

#[test]
fn hidden_and_ignored_come_when_asked_for() {
    let notes = project();
    for (args, want) in [
        (json!({ "pattern": ".env" }), &[".env"][..]),
        (json!({ "pattern": "*.yml" }), &[]),
        (
            json!({ "pattern": "*.yml", "includeHidden": true }),
            &[".github/workflows/ci.yml"],
        ),
        (
            json!({ "pattern": ".github/**/*.yml" }),
            &[".github/workflows/ci.yml"],
        ),
        (
            json!({ "pattern": "*.yml", "path": ".github" }),
            &[".github/workflows/ci.yml"],
        ),
        (
            json!({ "pattern": "*.tmp", "includeIgnored": true }),
            &["a.tmp", "docs/keep.tmp", "src/local.tmp"],
        ),
        (json!({ "pattern": "out.md" }), &[]),
        (
            json!({ "pattern": "out.md", "path": "build" }),
            &["build/out.md"],
        ),
        (json!({ "pattern": "gen.rs", "path": "src/sub" }), &[]),
        (
            json!({ "pattern": "README.md", "path": "node_modules/x" }),
            &[],
        ),
        (
            json!({ "pattern": "README.md", "path": "node_modules/x", "includeIgnored": true }),
            &["node_modules/x/README.md"],
        ),
    ] {
        assert_eq!(paths(&notes, args.clone()), want, "{args}");
    }
}

#[test]
fn nothing_found_says_what_to_try() {
    let notes = project();
    let text = notes.text("search_files", json!({ "pattern": "guide" }));
    assert!(text.starts_with("[Nothing matches \"guide\". A pattern without `*` is a whole name; for a part of one use `*guide*`."), "{text}");
    assert!(
        text.contains("entries were left out as hidden, ignored or excluded"),
        "{text}"
    );
    assert!(
        notes
            .text("search_files", json!({ "pattern": "[" }))
            .starts_with("Error: Argument `pattern`: not a glob")
    );
}

#[test]
fn pages_meet_every_path_once() {
    let notes = project();
    let all = paths(
        &notes,
        json!({ "pattern": "**", "includeHidden": true, "includeIgnored": true }),
    );
    assert_eq!(all.len(), 25);
    for found in [1, 2, 3, 7, 24, 25, 26] {
        let notes = project().limited(Limits {
            found,
            ..Limits::default()
        });
        let mut args = json!({ "pattern": "**", "includeHidden": true, "includeIgnored": true });
        let mut got: Vec<String> = Vec::new();
        loop {
            got.extend(paths(&notes, args.clone()));
            let notes = notes.json("search_files", args.clone())["notes"].clone();
            let Some(note) = notes[0].as_str() else { break };
            assert_eq!(
                note,
                format!(
                    "There are more: go on with after={:?}.",
                    got.last().unwrap()
                )
            );
            args["after"] = json!(got.last().unwrap());
        }
        assert_eq!(got, all, "{found}");
    }
}

#[test]
fn a_page_goes_on_where_a_path_was_removed() {
    let notes = project();
    let args = json!({ "pattern": "*.md", "after": "docs/build/gone.md" });
    assert_eq!(paths(&notes, args), ["docs/build/in.md", "docs/guide.md"]);
    for after in ["../x", "src/lib.rs", "/etc"] {
        let args = json!({ "pattern": "*.md", "path": "docs", "after": after });
        assert!(
            notes
                .text("search_files", args)
                .starts_with("Error: Argument `after`"),
            "{after}"
        );
    }
}

#[test]
fn odd_ignore_files_do_no_harm() {
    let notes = fixture(&[
        ("a/.gitignore", &b"[\n\\\n{a,\n***\n!!\n#\n \nx.txt\n"[..]),
        ("a/x.txt", b""),
        ("a/y.txt", b""),
        ("b/.gitignore", &[0xff; 100]),
        ("b/x.txt", b""),
        ("c/.gitignore/inner", b""),
        ("c/x.txt", b""),
        ("d/.gitignore", &b"*\n".repeat(100_000)),
        ("d/x.txt", b""),
        ("e/.gitignore", b"\xef\xbb\xbfx.txt\r\n"),
        ("e/x.txt", b""),
    ]);
    assert_eq!(
        paths(&notes, json!({ "pattern": "x.txt" })),
        ["b/x.txt", "c/x.txt", "d/x.txt"]
    );
}

#[test]
fn order_is_that_of_components() {
    let notes = fixture(&[("a/x", ""), ("a-b", ""), ("a.c", ""), ("ab", "")]);
    assert_eq!(
        paths(&notes, json!({ "pattern": "**" })),
        ["a", "a/x", "a-b", "a.c", "ab"]
    );
}
