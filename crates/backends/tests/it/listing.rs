//! Directories: contents, order, pages.

use std::fs;

use polyport_backends::files::{Limits, uri};
use serde_json::json;

use crate::support::{fixture, never};

#[test]
fn entries_are_in_order_with_sizes_and_hidden_ones() {
    let notes = fixture(&[
        ("b.txt", "1234"),
        ("a/x", ""),
        (".hidden", ""),
        ("B.txt", ""),
        ("big", &"x".repeat(1_234)),
    ]);
    assert_eq!(
        notes.text("list_directory", json!({})),
        ".hidden  0 B\nB.txt  0 B\na/\nb.txt  4 B\nbig  1.2 kB\n"
    );
    assert_eq!(
        notes.json("list_directory", json!({ "path": "a" })),
        json!({ "path": "a", "entries": [{ "name": "x", "kind": "file", "size": 0 }] })
    );
    fs::remove_file(notes.root().join("a/x")).unwrap();
    assert_eq!(
        notes.text("list_directory", json!({ "path": "a" })),
        "(empty)\n"
    );
    assert!(
        notes
            .text("list_directory", json!({ "path": "b.txt" }))
            .contains("is a file, not a directory")
    );
}

#[test]
fn pages_of_20_000_entries_meet_every_entry_once() {
    let notes = fixture(&[("many/", "")]);
    for number in 0..20_000 {
        fs::write(notes.root().join(format!("many/{number}")), "").unwrap();
    }
    let mut want: Vec<_> = (0..20_000).map(|number| number.to_string()).collect();
    want.sort();
    let mut got: Vec<String> = Vec::new();
    let mut args = json!({ "path": "many" });
    loop {
        let page = notes.json("list_directory", args.clone());
        let names = page["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["name"].as_str().unwrap().to_owned());
        got.extend(names);
        let Some(note) = page["notes"][0].as_str() else {
            break;
        };
        let last = got.last().unwrap();
        assert_eq!(
            note,
            format!(
                "{} more entries: go on with after=\"{last}\".",
                20_000 - got.len()
            )
        );
        args["after"] = json!(last);
    }
    assert_eq!(got, want);
}

#[test]
fn pages_go_on_after_odd_names() {
    let notes = fixture(&[("a", ""), (" b", ""), ("c", "")]).limited(Limits {
        listed: 1,
        ..Limits::default()
    });
    let mut names = Vec::new();
    let mut args = json!({});
    while names.len() < 4 {
        let page = notes.json("list_directory", args.clone());
        names.push(page["entries"][0]["name"].clone());
        if page.get("notes").is_none() {
            break;
        }
        args["after"] = names[names.len() - 1].clone();
    }
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names[0].as_str().unwrap().ends_with("/%20b"));
}

#[test]
fn an_entry_that_vanishes_is_left_out() {
    let notes = fixture(&[("a.txt", ""), ("b.txt", "")]);
    let vanishing = notes.root().join("a.txt");
    let calls = std::cell::Cell::new(0);
    // The third question comes when both names are read and the first is about to be looked up.
    let remove = || {
        calls.set(calls.get() + 1);
        if calls.get() == 3 {
            fs::remove_file(&vanishing).unwrap();
        }
        false
    };
    let (text, _) = notes.answer("list_directory", json!({}), &remove).unwrap();
    assert_eq!(text, "b.txt  0 B\n");
    assert!(notes.answer("list_directory", json!({}), &never).is_ok());
}

#[test]
fn the_working_folders_are_named() {
    let notes = fixture(&[("a", "")]);
    let root = notes.root();
    let listed = notes.json("list_allowed_directories", json!({}));
    assert_eq!(listed["directories"][0]["name"], "notes");
    assert_eq!(listed["directories"][0]["uri"], uri::from_path(&root));
    assert_eq!(listed["directories"][0]["path"], root.to_str().unwrap());
    let text = notes.text("list_allowed_directories", json!({}));
    assert_eq!(
        text,
        format!(
            "notes  {}\nPaths are relative to the folder, absolute inside it, or file:// URIs.",
            root.display()
        )
    );
}
