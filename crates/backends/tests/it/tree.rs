//! Trees: shape, bounds, what is left out.

use std::fs;

use polyport_backends::files::Limits;
use serde_json::json;

use crate::support::fixture;

#[test]
fn a_tree_leaves_out_hidden_and_ignored_and_says_so() {
    let notes = fixture(&[
        (".gitignore", "target/\n*.log\n"),
        ("src/main.rs", ""),
        ("src/deep/er/x.rs", ""),
        ("target/debug/big", ""),
        ("a.log", ""),
        (".git/config", ""),
    ]);
    let tree = "./\n  src/\n    deep/\n      er/\n        x.rs\n    main.rs\n";
    assert_eq!(
        notes.text("directory_tree", json!({})),
        format!(
            "{tree}[4 entries were left out as hidden, ignored or excluded (includeHidden, includeIgnored).]"
        )
    );
    assert_eq!(
        notes.text(
            "directory_tree",
            json!({ "path": "src", "excludePatterns": ["deep/er"] })
        ),
        "src/\n  deep/\n  main.rs\n[1 entry was left out as hidden, ignored or excluded (includeHidden, includeIgnored).]"
    );
    let all = notes.text(
        "directory_tree",
        json!({ "includeHidden": true, "includeIgnored": true }),
    );
    for name in [".git/", ".gitignore", "a.log", "debug/", "big"] {
        assert!(all.contains(name), "{name} in {all}");
    }
    let hidden = notes.text("directory_tree", json!({ "includeHidden": true }));
    assert!(
        hidden.contains(".gitignore") && !hidden.contains(".git/") && !hidden.contains("target"),
        "{hidden}"
    );
}

#[test]
fn depth_is_bounded_and_what_is_below_is_marked() {
    let notes = fixture(&[("a/b/c/d.txt", ""), ("e/", "")]);
    let note = "[2 directories were not looked into (marked …): ask for each by its `path`.]";
    assert_eq!(
        notes.text("directory_tree", json!({ "maxDepth": 1 })),
        format!("./\n  a/ …\n  e/ …\n{note}")
    );
    let tree = notes.json("directory_tree", json!({ "maxDepth": 2 }));
    assert_eq!(
        tree["children"][0]["children"],
        json!([{ "name": "b", "kind": "directory" }])
    );
    assert_eq!(
        tree["children"][1],
        json!({ "name": "e", "kind": "directory", "children": [] })
    );
}

#[test]
fn a_deep_tree_ends() {
    let notes = fixture(&[("x", "")]);
    let mut path = notes.root();
    for _ in 0..400 {
        path.push("d");
        fs::create_dir(&path).unwrap();
    }
    let text = notes.text("directory_tree", json!({ "maxDepth": 1_000_000 }));
    assert_eq!(
        text.matches("d/").count(),
        Limits::default().tree_depth,
        "{text}"
    );
    let found = notes.text("search_files", json!({ "pattern": "d" }));
    assert_eq!(found.matches("d/\n").count(), Limits::default().depth);
    assert!(
        found.contains("1 directory could not be read (no permission, or too deep)."),
        "{found}"
    );
}

#[test]
fn entries_are_bounded_and_upper_levels_come_first() {
    let limits = Limits {
        tree_entries: 8,
        ..Limits::default()
    };
    let mut files: Vec<_> = (0..5)
        .map(|number| (format!("a/{number}.txt"), ""))
        .collect();
    files.push(("b/c/d.txt".into(), ""));
    let files: Vec<_> = files
        .iter()
        .map(|(name, content)| (name.as_str(), *content))
        .collect();
    let notes = fixture(&files).limited(limits);
    let text = notes.text("directory_tree", json!({}));
    assert!(
        text.starts_with(
            "./\n  a/\n    0.txt\n    1.txt\n    … 3 more\n  b/\n    c/\n      d.txt\n"
        ),
        "{text}"
    );
    assert!(text.contains("list_directory shows all entries"), "{text}");
    let one = notes
        .limited(Limits {
            tree_entries: 1,
            ..Limits::default()
        })
        .text("directory_tree", json!({}));
    assert!(one.starts_with("./\n  a/ …\n  … 1 more\n"), "{one}");
}

#[test]
fn a_tree_of_a_file_is_refused() {
    let notes = fixture(&[("a.txt", "")]);
    assert!(
        notes
            .text("directory_tree", json!({ "path": "a.txt" }))
            .contains("is a file, not a directory")
    );
}
