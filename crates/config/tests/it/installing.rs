//! Entries put into the file of every host, in every state it may be in, and taken out again.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use polyport_config::{
    Entry, Fault, Format, HOSTS, Host, HostFile, Os, Place, Places, Remote, Servers, Settings,
    Start, Way, written,
};
use serde_json::Value;
use tempfile::TempDir;

struct Machine {
    root: TempDir,
    places: Places,
}

impl Machine {
    fn new() -> Self {
        let root = TempDir::with_prefix("polyport-install").unwrap();
        let project = root.path().join("shop");
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(root.path().join("home")).unwrap();
        let home = root.path().join("home").into_os_string();
        let places = Places::of(Os::Linux, project, |name| {
            (name == "HOME").then(|| home.clone())
        });
        Self { root, places }
    }

    fn place(&self, host: &Host, about: &HostFile) -> Place {
        Place::new(host, about, "shop", &self.places)
            .unwrap()
            .unwrap()
    }

    fn shown(&self, text: &str) -> String {
        text.replace(self.root.path().to_str().unwrap(), "<here>")
    }

    /// All files and folders, with what they hold.
    fn all(&self) -> Vec<(PathBuf, Option<String>)> {
        fn walk(at: &Path, found: &mut Vec<(PathBuf, Option<String>)>) {
            for entry in fs::read_dir(at).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with(".local") {
                    continue;
                }
                if path.is_dir() {
                    found.push((path.clone(), None));
                    walk(&path, found);
                } else {
                    found.push((path.clone(), fs::read_to_string(&path).ok()));
                }
            }
        }
        let mut found = Vec::new();
        walk(self.root.path(), &mut found);
        found.sort();
        found
    }
}

fn ours() -> Entry<String> {
    Entry {
        name: "shop".to_owned(),
        line: 0,
        enabled: true,
        bare: false,
        way: Way::Command(Start {
            program: "/opt/polyport".to_owned(),
            args: vec!["serve".to_owned(), "/work/my \"notes\"".to_owned()],
            env: vec![("LEVEL".to_owned(), "debug".to_owned())],
            cwd: None,
            env_file: None,
        }),
        settings: Settings::default(),
        doubts: Vec::new(),
    }
}

/// A file with comments, other members and another entry.
fn furnished(format: Format, keys: &[String], entry: Option<&str>) -> String {
    if format == Format::Toml {
        let entry = entry.map(|it| format!("# mine\n[{}.shop]\n{it}\n\n", keys.join(".")));
        return format!(
            "# a comment\nmodel = \"x\"   # kept\n\n{}[{}.other]\ncommand = 'npx' # single quotes\n\n[tui]\ntheme = \"dark\"\n# the end\n",
            entry.unwrap_or_default(),
            keys.join(".")
        );
    }
    let mut text = String::from("// a comment\n{\n\t\"theme\": \"dark\", // kept\n");
    let mut tabs = String::from("\t");
    for key in keys {
        let key = Value::from(key.as_str());
        writeln!(text, "{tabs}{key}: {{").unwrap();
        tabs.push('\t');
    }
    if let Some(entry) = entry {
        writeln!(text, "{tabs}/* mine */ \"shop\": {entry},").unwrap();
    }
    writeln!(
        text,
        "{tabs}\"other\": {{\"command\": \"npx\", \"args\": [\"-y\"]}} // one line"
    )
    .unwrap();
    while tabs.len() > 1 {
        tabs.pop();
        writeln!(text, "{tabs}}},").unwrap();
    }
    text + "\t\"last\": [1.0, 2e3]\n}\n"
}

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

fn files() -> impl Iterator<Item = (&'static Host, &'static HostFile)> {
    let on_linux = |file: &&HostFile| file.on.is_empty() || file.on.contains(&Os::Linux);
    HOSTS
        .iter()
        .flat_map(move |host| host.files.iter().filter(on_linux).map(move |it| (host, it)))
}

/// What the file becomes, and back to the byte.
fn there_and_back(
    machine: &Machine,
    host: &Host,
    about: &HostFile,
    text: Option<&str>,
    entry: &Value,
) -> Result<Option<String>, Fault> {
    let place = machine.place(host, about);
    if let Some(text) = text {
        fs::create_dir_all(place.file.parent().unwrap()).unwrap();
        fs::write(&place.file, text).unwrap();
    }
    let before = machine.all();
    let plan = machine.place(host, about).install(entry)?;
    assert_eq!(machine.all(), before, "a plan writes nothing");
    if !plan.is_change() {
        return Ok(None);
    }
    plan.make()?;
    let after = fs::read_to_string(&place.file).unwrap();
    assert_eq!(Some(&after), plan.after.as_ref());
    assert_eq!(place.get().unwrap().as_ref(), Some(entry));
    let servers = Servers::of_host(about, &place.file, &machine.places).unwrap();
    assert!(servers.get("shop").is_ok());
    let again = machine.place(host, about).install(entry)?;
    assert!(!again.is_change(), "a second time changes nothing");
    machine.place(host, about).uninstall()?.make()?;
    assert_eq!(machine.all(), before, "{} {}", host.id, about.scope);
    Ok(Some(after))
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
            ("https://a.example/mcp", false),
            ("https://a.example/sse", true),
            ("WSS://a.example/mcp", false),
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

/// What a host says of an address is what is read there, and what another host is told of it.
#[test]
fn the_older_http_stays_what_it_is_from_host_to_host() {
    for (host, entry, want) in [
        (
            "claude-code",
            r#"{"type": "sse", "url": "http://a/"}"#,
            true,
        ),
        (
            "claude-code",
            r#"{"type": "http", "url": "http://a/"}"#,
            false,
        ),
        ("vscode", r#"{"type": "sse", "url": "http://a/"}"#, true),
        ("cursor", r#"{"url": "http://a/"}"#, false),
        ("gemini", r#"{"url": "http://a/"}"#, true),
        ("gemini", r#"{"httpUrl": "http://a/"}"#, false),
        ("gemini", r#"{"type": "http", "url": "http://a/"}"#, false),
    ] {
        let machine = Machine::new();
        let host = polyport_config::host(host).unwrap();
        let about = &host.files[0];
        let file = machine.place(host, about).file;
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let keys = about.keys(&machine.places);
        fs::write(&file, format!("{{{:?}: {{\"shop\": {entry}}}}}", keys[0])).unwrap();
        let read = Servers::of_host(about, &file, &machine.places).unwrap();
        let Way::Url(remote) = read.get("shop").unwrap().way else {
            panic!("{entry} is an address");
        };
        assert_eq!(remote.is_sse, want, "{}: {entry}", host.id);
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

fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    let want = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == want,
        "{} is not what was made (UPDATE_GOLDEN=1 writes it anew):\n{text}",
        path.display()
    );
}
