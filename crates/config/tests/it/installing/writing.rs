//! How entries are written for each host, and which files are left as they are.

use std::fmt::Write as _;
use std::fs;

use polyport_config::{Format, HOSTS, Remote, Servers, Way, written};

use super::*;

#[test]
fn what_cannot_be_changed_alone_is_left() {
    let host = polyport_config::host("cursor").unwrap();
    for (text, want) in [
        ("[]", ":1: is a list, where a table is wanted"),
        (
            "{\"mcpServers\": []}",
            ":1: is a list, where a table is wanted",
        ),
        (
            "{\"mcpServers\": {},\n\"mcpServers\": {}}",
            ":2: mcpServers stands there twice",
        ),
        (
            "{\"mcpServers\": {\"shop\": {},\n\n\"shop\": {}}}",
            ":3: shop stands there twice",
        ),
        ("{\"mcpServers\": ", ":1: cannot be read: "),
    ] {
        let machine = Machine::new();
        let about = &host.files[0];
        let entry = written(&host.shape, &ours()).unwrap();
        let fault = there_and_back(&machine, host, about, Some(text), &entry).unwrap_err();
        assert!(fault.to_string().contains(want), "{text}: {fault}");
        let place = machine.place(host, about);
        assert!(place.uninstall().is_err(), "{text}");
        assert_eq!(fs::read_to_string(&place.file).unwrap(), text);
    }
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let host = polyport_config::host("cursor").unwrap();
    let about = &host.files[0];
    let entry = written(&host.shape, &ours()).unwrap();
    let machine = Machine::new();
    let place = machine.place(host, about);
    let real = machine.root.path().join("dotfiles.json");
    fs::create_dir_all(place.file.parent().unwrap()).unwrap();
    symlink(&real, &place.file).unwrap();
    let why = place.install(&entry).unwrap().make().unwrap_err();
    assert!(
        why.to_string().contains("a link that leads nowhere"),
        "{why}"
    );
    fs::write(&real, "{}\n").unwrap();
    let mode = |mode| fs::set_permissions(&real, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o444);
    let why = place.install(&entry).unwrap().make().unwrap_err();
    assert!(why.to_string().contains("may only be read"), "{why}");
    mode(0o640);
    place.install(&entry).unwrap().make().unwrap();
    assert!(place.file.is_symlink());
    let is = fs::metadata(&real).unwrap().permissions().mode() & 0o777;
    assert_eq!(is, 0o640);
    place.uninstall().unwrap().make().unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}\n");
    // A new file is its user's alone, unless it belongs to a project; and nothing is left beside it.
    fs::remove_file(&place.file).unwrap();
    for (about, others) in host.files.iter().zip([true, false]) {
        let place = machine.place(host, about);
        place.install(&entry).unwrap().make().unwrap();
        let is = fs::metadata(&place.file).unwrap().permissions().mode();
        assert_eq!(is & 0o004 != 0, others, "{is:o}");
        let folder = fs::read_dir(place.file.parent().unwrap()).unwrap();
        assert_eq!(folder.count(), 1);
    }
}

#[test]
fn addresses_are_written_as_each_host_writes_them() {
    let mut shown = String::new();
    for host in HOSTS {
        for (url, is_sse) in [
            ("https://a.example/mcp", Some(false)),
            ("https://a.example/sse", Some(true)),
            ("https://a.example/sse", Some(false)),
            ("https://a.example/v1/sse/?k=/mcp", None),
            ("https://a.example/mcp?k=/sse", None),
            ("WSS://a.example/mcp", Some(false)),
        ] {
            let mut entry = ours();
            entry.way = Way::Url(Remote {
                url: url.to_owned(),
                headers: vec![("X".to_owned(), "1".to_owned())],
                is_sse,
            });
            let said = match written(&host.shape, &entry) {
                Ok(value) => value.to_string(),
                Err(why) => format!("no: {why}"),
            };
            writeln!(shown, "{}: {said}", host.id).unwrap();
        }
    }
    golden("addresses.txt", &shown);
}

/// Addresses as hosts write them, and whether HTTP with SSE is spoken there.
const ADDRESSES: &[(&str, &str, Option<bool>)] = &[
    (
        "claude-code",
        r#"{"type": "sse", "url": "http://a/"}"#,
        Some(true),
    ),
    (
        "claude-code",
        r#"{"type": "http", "url": "http://a/"}"#,
        Some(false),
    ),
    (
        "vscode",
        r#"{"type": "sse", "url": "http://a/"}"#,
        Some(true),
    ),
    ("cursor", r#"{"url": "http://a/"}"#, None),
    ("windsurf", r#"{"serverUrl": "http://a/"}"#, None),
    (
        "opencode",
        r#"{"type": "remote", "url": "http://a/"}"#,
        None,
    ),
    (
        "claude-code",
        r#"{"type": "SSE", "url": "http://a/"}"#,
        Some(true),
    ),
    (
        "cursor",
        r#"{"transport": "sse", "url": "http://a/"}"#,
        Some(true),
    ),
    (
        "windsurf",
        r#"{"transportType": "sse", "serverUrl": "http://a/"}"#,
        Some(true),
    ),
    (
        "cursor",
        r#"{"transport": "streamable-http", "url": "http://a/sse"}"#,
        Some(false),
    ),
    (
        "opencode",
        r#"{"type": "remote", "transport": "sse", "url": "http://a/"}"#,
        Some(true),
    ),
    // Those speak no SSE, whatever the address looks like.
    ("zed", r#"{"url": "http://a/sse"}"#, Some(false)),
    ("codex", r#"{ url = "http://a/sse" }"#, Some(false)),
    ("gemini", r#"{"url": "http://a/"}"#, Some(true)),
    ("gemini", r#"{"httpUrl": "http://a/"}"#, Some(false)),
    (
        "gemini",
        r#"{"type": "http", "url": "http://a/"}"#,
        Some(false),
    ),
];

/// What a host says of an address is what is read there, and what another host is told of it.
#[test]
fn the_older_http_stays_what_it_is_from_host_to_host() {
    for (host, entry, want) in ADDRESSES.iter().copied() {
        let machine = Machine::new();
        let host = polyport_config::host(host).unwrap();
        let about = &host.files[0];
        let file = machine.place(host, about).file;
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let keys = about.keys(&machine.places);
        let text = match host.shape.format {
            Format::Json => format!("{{{:?}: {{\"shop\": {entry}}}}}", keys[0]),
            Format::Toml => format!("[{}]\nshop = {entry}", keys[0]),
        };
        fs::write(&file, text).unwrap();
        let read = Servers::of_host(about, &file, &machine.places).unwrap();
        let Way::Url(remote) = read.get("shop").unwrap().way else {
            panic!("{entry} is an address");
        };
        assert_eq!(remote.is_sse, want, "{}: {entry}", host.id);
        // Nor is it another one in a plain file.
        let plain = polyport_config::host("mcp-json").unwrap();
        let mut given = ours();
        given.way = Way::Url(Remote {
            url: remote.url.text,
            headers: Vec::new(),
            is_sse: remote.is_sse,
        });
        let is = written(&plain.shape, &given).unwrap();
        let kind = is.get("type").and_then(|kind| kind.as_str());
        assert_eq!(kind == Some("sse"), want == Some(true), "{}: {is}", host.id);
        let is_named = entry.contains("/sse");
        assert_eq!(kind == Some("http"), is_named, "{}: {is}", host.id);
    }
}

#[test]
fn the_second_version_of_opencode_is_followed() {
    let host = polyport_config::host("opencode").unwrap();
    let about = &host.files[0];
    let entry = written(&host.shape, &ours()).unwrap();
    for (text, keys) in [
        (
            "{\"mcp\": {\"servers\": {\"a\": {\"type\": \"local\", \"command\": [\"x\"]}}}}",
            2,
        ),
        (
            "{\"mcp\": {\"servers\": {\"type\": \"local\", \"command\": [\"x\"]}}}",
            1,
        ),
        ("{\"mcp\": {}}", 1),
    ] {
        let machine = Machine::new();
        let file = machine.place(host, about).file;
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        assert_eq!(machine.place(host, about).spot.keys.len(), keys, "{text}");
        there_and_back(&machine, host, about, Some(text), &entry).unwrap();
    }
}
