//! V-901 and V-510 for every tool, those that change something included: nothing outside is read, changed, or told to be there.

use std::{collections::BTreeSet, fs, os::unix::fs::symlink};

use polyport::Server;
use polyport_backends::files::{
    resources, serve,
    serve::{Access, Roots},
    uri,
};
use serde_json::{Value, json};

use crate::support::{Fixture, never, workshop};

/// What a call is asked to do with a path, and whether something is to be there.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Asks {
    /// For what is there.
    Existing,
    /// For a place for something new, or for what is there.
    Place,
}

/// Every argument of every tool that is a path.
pub(crate) const PATHS: &[(&str, &str, Asks)] = &[
    ("copy_file", "destination", Asks::Place),
    ("copy_file", "source", Asks::Existing),
    ("create_directory", "path", Asks::Place),
    ("delete_file", "path", Asks::Existing),
    ("directory_tree", "path", Asks::Existing),
    ("edit_file", "path", Asks::Existing),
    ("get_file_info", "path", Asks::Existing),
    ("list_directory", "path", Asks::Existing),
    ("move_file", "destination", Asks::Place),
    ("move_file", "source", Asks::Existing),
    ("read_media_file", "path", Asks::Existing),
    ("read_multiple_files", "paths", Asks::Existing),
    ("read_text_file", "path", Asks::Existing),
    ("search_contents", "path", Asks::Existing),
    ("search_files", "path", Asks::Existing),
    ("write_file", "path", Asks::Place),
];

pub(crate) fn args(tool: &str, argument: &str, path: &str) -> Value {
    let mut args = match tool {
        "copy_file" | "move_file" => json!({ "source": "a.txt", "destination": "new.txt" }),
        "edit_file" => json!({ "edits": [{ "oldText": "secret", "newText": "changed" }] }),
        "search_contents" | "search_files" => json!({ "pattern": "secret" }),
        "write_file" => json!({ "content": "changed" }),
        _ => json!({}),
    };
    args[argument] = if argument == "paths" {
        json!([path])
    } else {
        path.into()
    };
    args
}

/// The error, also where it stands in the answer.
pub(crate) fn refusal(notes: &Fixture, tool: &str, argument: &str, path: &str) -> String {
    match notes.answer(tool, args(tool, argument, path), &never) {
        Err(error) => error.to_string(),
        Ok((text, _)) => match text.split_once("[Error: ") {
            Some((_, error)) => error.trim_end_matches(']').to_owned(),
            None => panic!("{tool} {argument} {path:?}: {text}"),
        },
    }
}

fn with_links() -> Fixture {
    let notes = workshop();
    let root = notes.root();
    for (link, to) in [
        ("to-file", "../secret.txt"),
        ("to-directory", "../notes2"),
        ("to-nothing", "../nothing"),
        ("to-root", "/"),
        ("to-winding", "sub/../../secret.txt"),
        ("loop-a", "loop-b"),
        ("loop-b", "loop-a"),
    ] {
        symlink(to, root.join(link)).unwrap();
    }
    let absolute = root.parent().unwrap().join("secret.txt");
    symlink(absolute, root.join("to-absolute")).unwrap();
    notes
}

/// The table names every path of every tool: a new tool has to come into it.
#[test]
fn v_901_no_tool_is_left_out() {
    let server = Server::new("files", "1");
    let server = serve::extend(server, workshop().folders, Access::Write, Roots::Legacy);
    let mut want = BTreeSet::new();
    for tool in server.tool_definitions() {
        let tool: Value = serde_json::from_slice(tool.as_bytes()).unwrap();
        let name = tool["name"].as_str().unwrap().to_owned();
        let takes = tool["inputSchema"]["properties"]
            .as_object()
            .into_iter()
            .flatten();
        for (argument, _) in takes {
            if ["path", "paths", "source", "destination"].contains(&argument.as_str()) {
                want.insert((name.clone(), argument.clone()));
            }
        }
    }
    let have = PATHS
        .iter()
        .map(|(tool, argument, _)| ((*tool).into(), (*argument).into()));
    assert_eq!(have.collect::<BTreeSet<_>>(), want);
}

/// Paths that lead outside, or nowhere.
fn outside(absolute: &str, above: &str) -> Vec<String> {
    let mut paths = vec![
        "../secret.txt".to_owned(),
        "../nothing".into(),
        "../notes2/secret.txt".into(),
        "sub/../../secret.txt".into(),
        "..".into(),
        "/".into(),
        "/etc/passwd".into(),
        "/nothing".into(),
        above.into(),
        format!("{above}/secret.txt"),
        format!("{absolute}2/secret.txt"),
        format!("{absolute}/../secret.txt"),
        format!("{absolute}/../../../../../../../../../etc/passwd"),
        format!("file://{above}/secret.txt"),
        format!("file://{absolute}/%2e%2e/secret.txt"),
        format!("file://{absolute}/sub/%2E%2E/..%2Fsecret.txt"),
        format!("file://{absolute}/..%2fsecret.txt"),
        format!("file://host{absolute}/a.txt"),
        "file://host/path".into(),
        "file:///C:/..".into(),
        "file:///C:/Windows".into(),
        "file:a.txt".into(),
        "file:../secret.txt".into(),
        "to-directory/secret.txt".into(),
        "to-directory/new".into(),
        "to-nothing/new".into(),
        "to-root/etc/passwd".into(),
        "loop-a/new".into(),
        format!("{}new", "x/".repeat(20_000)),
    ];
    paths.push(uri::from_path(
        &std::path::Path::new(absolute).join("../secret.txt"),
    ));
    paths
}

// req: V-901
#[test]
fn v_901_outside_is_as_nowhere_for_every_tool() {
    let notes = with_links();
    let root = notes.root();
    let (absolute, above) = (
        root.to_str().unwrap(),
        root.parent().unwrap().to_str().unwrap(),
    );
    let before = (notes.inside(), notes.around());
    let outside = outside(absolute, above);
    for (tool, argument, asks) in PATHS {
        let shape = |error: &str| {
            let at = error
                .find("\" that can be reached")
                .unwrap_or_else(|| panic!("{tool} {argument}: {error}"));
            error[at..].to_owned()
        };
        let nowhere = if *asks == Asks::Place {
            "nothing/nowhere"
        } else {
            "nowhere"
        };
        // What is made with all that is above it has no nowhere inside.
        let nowhere = if *tool == "create_directory" {
            "to-nothing/new"
        } else {
            nowhere
        };
        let absent = shape(&refusal(&notes, tool, argument, nowhere));
        let links = [
            "to-file",
            "to-directory",
            "to-absolute",
            "to-nothing",
            "to-root",
            "to-winding",
            "loop-a",
        ];
        // A link itself can be moved and deleted, and its name is taken.
        let is_of_entry = matches!(
            (*tool, *argument),
            ("move_file" | "copy_file", "destination")
                | ("move_file", "source")
                | ("delete_file", _)
        );
        let links = links
            .iter()
            .filter(|_| !is_of_entry)
            .map(|link| (*link).to_owned());
        for path in outside.iter().cloned().chain(links) {
            let error = refusal(&notes, tool, argument, &path);
            assert_eq!(shape(&error), absent, "{tool} {argument} {path}");
            let told = error.replace(&path, "");
            assert!(
                !told.contains("secret") && !told.contains("passwd"),
                "{error}"
            );
        }
    }
    assert_eq!((notes.inside(), notes.around()), before);
}

// req: V-901
#[test]
fn v_901_names_that_hide_something_make_nothing() {
    let notes = workshop();
    let root = notes.root();
    let before = (notes.inside(), notes.around());
    for path in [
        "a.txt\0".to_owned(),
        "new\0.png".into(),
        format!("file://{}/a.txt%00", root.display()),
        format!("file://{}/new%00", root.display()),
        format!("file://{}/%zz", root.display()),
        format!("file://{}/%", root.display()),
        "a.txt ".into(),
        "a.txt.".into(),
        "new ".into(),
        " new".into(),
        "new.".into(),
        "sub/new...".into(),
        "new\n".into(),
        "new\u{202e}txt.exe".into(),
        "..\\secret.txt".into(),
        "C:\\new".into(),
        "C:/new".into(),
        "~/new".into(),
        "%2e%2e/new".into(),
        format!("file://{}/%252e%252e/new", root.display()),
        format!("file://{}/new%20", root.display()),
        format!("file://{}/caf%E9", root.display()),
        "x".repeat(256),
        format!("sub/{}", "é".repeat(200)),
        format!("{}new", "x/".repeat(3_000)),
    ] {
        for (tool, argument, _) in PATHS {
            // A percent sign is a letter like any other in a path that is no URI.
            if *tool == "create_directory" && path.contains("2e%2") {
                continue;
            }
            let error = refusal(&notes, tool, argument, &path);
            let is_argument = error.starts_with(&format!(
                "Argument `{}`: ",
                if *argument == "paths" {
                    "path"
                } else {
                    argument
                }
            ));
            let is_told = is_argument
                || error.contains("that can be reached")
                || error.contains("is longer than");
            assert!(is_told, "{tool} {argument} {path:?}: {error}");
        }
    }
    assert_eq!((notes.inside(), notes.around()), before);
}

// req: V-901
#[test]
fn v_901_composed_and_decomposed_names_stay_two_names() {
    let notes = workshop();
    for (name, text) in [("\u{e9}.txt", "composed"), ("e\u{301}.txt", "decomposed")] {
        let said = notes.text("write_file", json!({ "path": name, "content": text }));
        assert!(said.starts_with("Wrote the new file"), "{said}");
    }
    let edits = json!([{ "oldText": "decomposed", "newText": "changed" }]);
    notes.json(
        "edit_file",
        json!({ "path": "e\u{301}.txt", "edits": edits }),
    );
    notes.json(
        "move_file",
        json!({ "source": "\u{e9}.txt", "destination": "n\u{e9}.txt" }),
    );
    let inside = notes.inside();
    assert!(!inside.contains_key("\u{e9}.txt"));
    for (name, text) in [("n\u{e9}.txt", "composed"), ("e\u{301}.txt", "changed")] {
        assert_eq!(notes.text("read_text_file", json!({ "path": name })), text);
    }
}

// req: V-510
#[test]
fn v_510_a_uri_is_decoded_once_for_every_tool() {
    let notes = workshop();
    let root = notes.root();
    let base = format!("file://{}", root.display());
    let (inside, around) = (notes.inside(), notes.around());
    for uri in [
        format!("{base}/..%2F..%2Fetc%2Fpasswd"),
        format!("{base}/%2e%2e%2fsecret.txt"),
        format!("{base}/%2e%2e/secret.txt"),
        format!("{base}/sub%2Fone.txt"),
        "file://..%2F..%2Fetc%2Fpasswd".into(),
        "file:///%2e%2e/%2e%2e/etc/passwd".into(),
    ] {
        for (tool, argument, _) in PATHS {
            let error = refusal(&notes, tool, argument, &uri);
            assert!(
                error.contains("that can be reached"),
                "{tool} {argument} {uri}: {error}"
            );
        }
        let error = resources::read(&notes.folders, &uri, &never).unwrap_err();
        assert!(error.is_missing(), "{uri}: {error}");
    }
    // A backslash, a line feed, a second encoding and bytes that are no UTF-8 are letters of a name that is not there.
    for name in [
        "..%5C..%5Csecret.txt",
        "a.txt%0A",
        "%252e%252e%252fsecret.txt",
        "%C0%AE%C0%AE",
        "a.txt%20",
    ] {
        let uri = format!("{base}/{name}");
        for (tool, argument, asks) in PATHS {
            if *asks == Asks::Place && name.contains("%25") {
                continue;
            }
            let error = refusal(&notes, tool, argument, &uri);
            let want = if *asks == Asks::Place {
                "a new name"
            } else {
                "that can be reached"
            };
            assert!(error.contains(want), "{tool} {argument} {uri}: {error}");
        }
        assert!(
            resources::read(&notes.folders, &uri, &never)
                .unwrap_err()
                .is_missing(),
            "{uri}"
        );
    }
    let template = &resources::templates(&notes.folders)[0].uri_template;
    for typed in [
        "..%2F",
        "%2e%2e/",
        "%2E%2E%2F",
        "..%2F..%2Fetc/",
        "sub/%2e%2e/../",
        "%252e%252e/",
        "a.txt%00",
    ] {
        let found = resources::complete(&notes.folders, template, typed, &never).unwrap();
        assert!(found.values.is_empty(), "{typed}: {found:?}");
    }
    assert_eq!((notes.inside(), notes.around()), (inside, around));
    // What is encoded twice names a file of that name, and only that.
    let uri = format!("{base}/%252e%252e%252fsecret.txt");
    notes.json("write_file", json!({ "path": uri, "content": "literal" }));
    let literal = root.join("%2e%2e%2fsecret.txt");
    assert_eq!(fs::read_to_string(literal).unwrap(), "literal");
    let read = resources::read(&notes.folders, &uri, &never).unwrap();
    assert_eq!(read.body, resources::Body::Text("literal".into()));
}
