//! Entries put into the file of every host, in every state it may be in, and taken out again, to the byte.

use std::fmt::Write as _;
use std::fs;

use polyport_config::{Format, written};

use super::*;

/// The states a file may be in; nothing: there is none.
fn states(format: Format, keys: &[String], same: &str) -> Vec<(&'static str, Option<String>)> {
    let other = match format {
        Format::Json => r#"{"command": "old", "args": [], "disabled": true}"#,
        Format::Toml => "command = 'old'\nenabled = false\n[mcp_servers.shop.env]\nA = '1'",
    };
    let broken = match format {
        Format::Json => "{\n  \"theme\": \"dark\"\n  \"x\": 1\n}\n",
        Format::Toml => "model = \n",
    };
    vec![
        ("no file", None),
        ("an empty file", Some(String::new())),
        ("others", Some(furnished(format, keys, None))),
        ("the same entry", Some(furnished(format, keys, Some(same)))),
        (
            "another entry of that name",
            Some(furnished(format, keys, Some(other))),
        ),
        ("a broken file", Some(broken.to_owned())),
    ]
}

#[test]
fn every_host_in_every_state() {
    let mut shown = String::new();
    for (host, about) in files() {
        let entry = written(&host.shape, &ours()).unwrap();
        let machine = Machine::new();
        let keys = about.keys(&machine.places);
        let same = match host.shape.format {
            Format::Json => entry.to_string(),
            Format::Toml => "command = '/opt/polyport'\nargs = ['serve', '/work/my \"notes\"']\nenv.LEVEL = 'debug'".to_owned(),
        };
        for (state, text) in states(host.shape.format, &keys, &same) {
            let machine = Machine::new();
            let keys = about.keys(&machine.places);
            let text = text.map(|_| {
                let states = states(host.shape.format, &keys, &same);
                states
                    .into_iter()
                    .find(|(name, _)| *name == state)
                    .unwrap()
                    .1
                    .unwrap()
            });
            let said = match there_and_back(&machine, host, about, text.as_deref(), &entry) {
                Ok(Some(after)) => after,
                Ok(None) => "nothing to change\n".to_owned(),
                Err(fault) => format!("refused: {fault}\n"),
            };
            let file = machine.place(host, about).file;
            let file = file.display();
            let said = machine.shown(&format!("{file}\n{said}"));
            writeln!(shown, "== {} {}: {state}: {said}", host.id, about.scope).unwrap();
        }
    }
    golden("install.txt", &shown);
}

/// Ends of lines, byte order marks, one line, no last end of line, `null`, and tables inside values.
#[test]
fn odd_files_come_back_to_the_byte() {
    let json = polyport_config::host("cursor").unwrap();
    let toml = polyport_config::host("codex").unwrap();
    let mut shown = String::new();
    for (host, text) in [
        (
            json,
            "{\r\n  \"mcpServers\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
        ),
        (json, "\u{feff}{\"mcpServers\": {}}"),
        (json, "{\"mcpServers\":{\"a\":{\"command\":\"x\"}},\"b\":1}"),
        (json, "{\"mcpServers\": null}\n"),
        (json, "{}"),
        (json, "\n\n{ }\n\n"),
        (json, "// only this\n"),
        (
            json,
            "{\n    \"mcpServers\": {\n\n        // none yet\n\n    }\n}",
        ),
        (
            json,
            "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"b\": {}, // last\n    // \"off\": {}\n  }\n}\n",
        ),
        (toml, "a = 1\r\n\r\n[mcp_servers.b]\r\ncommand = 'x'\r\n"),
        (toml, "a = 1"),
        (toml, "mcp_servers = { b = { command = 'x' } }\n"),
        (
            toml,
            "[mcp_servers]\nb = { command = 'x' }\nshop = { command = 'y' } # old\n",
        ),
        (toml, "mcp_servers.b.command = 'x'\n"),
        (
            toml,
            "[mcp_servers.shop.env]\nA = '1'\n[mcp_servers.b]\ncommand = 'x'\n[mcp_servers.shop]\ncommand = 'y'\n",
        ),
        (
            toml,
            "[mcp_servers.'a b']\ncommand = '''\n[mcp_servers.shop]\n'''\n\n\n",
        ),
    ] {
        let machine = Machine::new();
        let about = &host.files[0];
        let entry = written(&host.shape, &ours()).unwrap();
        let said = match there_and_back(&machine, host, about, Some(text), &entry) {
            Ok(after) => after.unwrap_or_default(),
            Err(fault) => format!("refused: {fault}\n"),
        };
        // Without the record the entry alone goes, and everything else stays.
        let place = machine.place(host, about);
        if place.install(&entry).is_ok_and(|plan| plan.make().is_ok()) {
            fs::remove_dir_all(machine.places.state.as_ref().unwrap()).unwrap();
            place.uninstall().unwrap().make().unwrap();
            assert_eq!(place.get().unwrap(), None);
        }
        let left = fs::read_to_string(&place.file).unwrap();
        let said = machine.shown(&format!(
            "{text}\n-- becomes\n{said}\n-- and without a record\n{left}"
        ));
        writeln!(
            shown,
            "== {}\n{}\n",
            host.id,
            said.replace('\r', "␍").replace('\u{feff}', "<mark>")
        )
        .unwrap();
    }
    golden("odd.txt", &shown);
}

#[test]
fn others_may_write_in_between() {
    let host = polyport_config::host("cursor").unwrap();
    let about = &host.files[0];
    let entry = written(&host.shape, &ours()).unwrap();
    let machine = Machine::new();
    let place = machine.place(host, about);
    fs::create_dir_all(place.file.parent().unwrap()).unwrap();
    fs::write(&place.file, "{\n  \"a\": 1\n}\n").unwrap();
    let plan = place.install(&entry).unwrap();
    fs::write(&place.file, "{\n  \"a\": 2\n}\n").unwrap();
    let why = plan.make().unwrap_err();
    assert!(why.to_string().contains("was changed meanwhile"), "{why}");
    assert_eq!(
        fs::read_to_string(&place.file).unwrap(),
        "{\n  \"a\": 2\n}\n"
    );
    // What others have added since stays, and what was there is there again.
    place.install(&entry).unwrap().make().unwrap();
    let text = fs::read_to_string(&place.file).unwrap();
    fs::write(&place.file, text.replace("\"a\": 2", "\"a\": 2, \"b\": 3")).unwrap();
    place.uninstall().unwrap().make().unwrap();
    let text = fs::read_to_string(&place.file).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["b"], 3);
    assert_eq!(value.get("mcpServers"), None);
}

/// A second install of that name, and one undo for both.
#[test]
fn what_was_there_first_comes_back() {
    let host = polyport_config::host("cursor").unwrap();
    let about = &host.files[0];
    let machine = Machine::new();
    let place = machine.place(host, about);
    fs::create_dir_all(place.file.parent().unwrap()).unwrap();
    let text = "{\"mcpServers\": {\"shop\": {\"command\": \"theirs\"}}}";
    fs::write(&place.file, text).unwrap();
    let mut entry = written(&host.shape, &ours()).unwrap();
    place.install(&entry).unwrap().make().unwrap();
    entry["args"] = Value::from(vec!["serve", "demo"]);
    place.install(&entry).unwrap().make().unwrap();
    let plan = place.uninstall().unwrap();
    assert_eq!(plan.is.as_ref().unwrap()["command"], "theirs");
    plan.make().unwrap();
    assert_eq!(fs::read_to_string(&place.file).unwrap(), text);
    // What is there now is not ours, and goes when it is named again.
    place.uninstall().unwrap().make().unwrap();
    assert_eq!(place.get().unwrap(), None);
    assert!(!place.uninstall().unwrap().is_change());
}
