//! Everything that a served folder offers, over MCP, in both eras.

use std::fs;

use polyport::Revision;
use polyport_testkit::Program;
use serde_json::{Value, json};

use crate::support::Place;

/// The magic numbers of a PNG are enough to be told from text.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

fn served(place: &Place, revision: Revision) -> Program {
    fs::write(place.path("notes/dot.png"), PNG).unwrap();
    place.host_in(&["notes"], revision)
}

fn in_both_eras(test: impl Fn(&Place, &mut Program)) {
    for revision in [Revision::LATEST_LEGACY, Revision::LATEST] {
        let place = Place::new();
        let mut program = served(&place, revision);
        test(&place, &mut program);
        program.close_input();
        assert_eq!(program.end(), (Vec::new(), Some(0)));
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{result}"))
}

fn uri(place: &Place, name: &str) -> String {
    format!("file://{}", place.path(&format!("notes/{name}")).display())
}

#[test]
fn tools_are_listed_as_harmless() {
    in_both_eras(|_, program| {
        let listed = program.ask("tools/list", json!({}));
        let tools = listed["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 9);
        for tool in tools {
            assert_eq!(
                tool["annotations"],
                json!({"readOnlyHint": true, "openWorldHint": false}),
                "{tool}"
            );
            assert!(
                tool["title"].is_string() && tool["description"].is_string(),
                "{tool}"
            );
            assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        }
    });
}

/// A tool, its arguments, what its text says, and where its structured result holds what.
type Asked = (
    &'static str,
    Value,
    &'static str,
    Option<(&'static str, Value)>,
);

/// Each tool once: its text, and what its structured result holds where it has one, which only a record does.
#[test]
fn every_tool_answers() {
    let calls: &[Asked] = &[
        ("list_directory", json!({}), "b/", None),
        ("directory_tree", json!({"maxDepth": 2}), "c.txt", None),
        ("search_files", json!({"pattern": "*.txt"}), "b/c.txt", None),
        (
            "search_contents",
            json!({"pattern": "g.mma"}),
            "gamma",
            None,
        ),
        (
            "read_text_file",
            json!({"path": "b/c.txt", "head": 1}),
            "beta",
            None,
        ),
        (
            "read_multiple_files",
            json!({"paths": ["a.md", "none"]}),
            "alpha",
            None,
        ),
        (
            "get_file_info",
            json!({"path": "a.md"}),
            "text/markdown",
            Some(("/size", json!(10))),
        ),
        ("list_allowed_directories", json!({}), "notes", None),
    ];
    in_both_eras(|_, program| {
        for (tool, arguments, says, holds) in calls {
            let result = program.call(tool, arguments.clone());
            assert!(result.get("isError").is_none(), "{tool}: {result}");
            assert!(text(&result).contains(says), "{tool}: {result}");
            let structured = result.get("structuredContent");
            match holds {
                Some((pointer, value)) => {
                    let found = structured.and_then(|found| found.pointer(pointer));
                    assert_eq!(found, Some(value), "{tool}: {result}");
                }
                None => assert_eq!(structured, None, "{tool}"),
            }
        }
        let picture = program.call("read_media_file", json!({"path": "dot.png"}));
        assert_eq!(picture["content"][0]["type"], "image", "{picture}");
        assert_eq!(picture["content"][0]["mimeType"], "image/png");
        assert_eq!(picture["content"][0]["data"], "iVBORw0KGgoAAAANSUhEUg==");
    });
}

#[test]
fn every_file_is_a_resource() {
    in_both_eras(|place, program| {
        let listed = program.ask("resources/list", json!({}));
        let names: Vec<_> = listed["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["a.md", "b/c.txt", "dot.png"]);
        assert_eq!(listed["resources"][0]["uri"], uri(place, "a.md"));
        let read = program.ask("resources/read", json!({"uri": uri(place, "b/c.txt")}));
        assert_eq!(
            read["contents"],
            json!([{"uri": uri(place, "b/c.txt"), "mimeType": "text/plain", "text": "beta\ngamma\n"}])
        );
        let read = program.ask("resources/read", json!({"uri": uri(place, "dot.png")}));
        assert_eq!(read["contents"][0]["mimeType"], "image/png");
        assert_eq!(read["contents"][0]["blob"], "iVBORw0KGgoAAAANSUhEUg==");
        let templates = program.ask("resources/templates/list", json!({}));
        let template = &templates["resourceTemplates"][0]["uriTemplate"];
        assert_eq!(*template, uri(place, "{+path}"));
        for (typed, want) in [
            ("", json!(["a.md", "b/", "dot.png"])),
            ("b/", json!(["b/c.txt"])),
            ("../", json!([])),
        ] {
            let completed = program.ask(
                "completion/complete",
                json!({"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": "path", "value": typed}}),
            );
            assert_eq!(completed["completion"]["values"], want, "{typed}");
        }
    });
}

/// What lies outside is answered word for word like what does not exist.
// req: D-02
#[test]
fn d_02_outside_is_like_nowhere() {
    in_both_eras(|place, program| {
        std::os::unix::fs::symlink(place.path("file.txt"), place.path("notes/link.txt")).unwrap();
        let mut answers = Vec::new();
        for name in [
            "nowhere.txt",
            "../file.txt",
            "link.txt",
            "../other/notes/d.txt",
        ] {
            let result = program.call("read_text_file", json!({"path": name}));
            assert_eq!(result["isError"], true, "{result}");
            answers.push(text(&result).replace(name, "<name>"));
            let asked = format!("file://{}/{name}", place.path("notes").display());
            let refused = program.refused("resources/read", json!({"uri": asked}));
            assert_eq!(refused["data"]["uri"], asked);
            answers.push(refused.to_string().replace(&asked, "<name>"));
        }
        let folder = place.path("notes").display().to_string();
        for pair in answers.chunks(2) {
            assert_eq!(pair, &answers[..2]);
            assert!(
                pair[0].contains(&folder) && pair[1].contains(&folder),
                "{pair:?}"
            );
        }
    });
}

#[test]
fn paths_begin_with_a_name_where_there_are_several_folders() {
    let place = Place::new();
    let mut program = place.host(&["notes", "other/notes"]);
    for (path, says) in [("notes/a.md", "alpha"), ("notes-2/d.txt", "delta")] {
        assert!(text(&program.call("read_text_file", json!({"path": path}))).contains(says));
    }
    let told = program.call("read_text_file", json!({"path": "a.md"}));
    assert_eq!(told["isError"], true);
    assert!(
        text(&told).contains("start paths with one of these names"),
        "{told}"
    );
}

/// A folder inside another one: what it holds is listed once.
#[test]
fn nested_folders() {
    let place = Place::new();
    let mut program = place.host(&["notes", "notes/b"]);
    let listed = program.ask("resources/list", json!({}));
    let names: Vec<_> = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["notes/a.md", "b/c.txt"]);
}
