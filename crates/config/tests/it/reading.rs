//! What hosts write, read: each in its own words.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use polyport_config::{
    Entry, Expanded, Format, Found, Means, Os, Places, Servers, Way, find, mask, of_host,
};
use tempfile::TempDir;

fn read(name: &str, text: &str) -> String {
    let file = Path::new(name);
    let servers = match Servers::of(file, text, Format::of(file), Path::new("/work/shop")) {
        Ok(servers) => servers,
        Err(fault) => return fault.to_string(),
    };
    let mut out = String::new();
    for (name, entry) in servers.entries {
        let said = match entry {
            Ok(entry) => said(&entry),
            Err(fault) => fault.to_string(),
        };
        writeln!(out, "{name}: {said}").unwrap();
    }
    out.trim_end().to_owned()
}

fn said(entry: &Entry) -> String {
    let mut out = match &entry.way {
        Way::Command(start) => {
            let args: Vec<&str> = start.args.iter().map(|it| it.text.as_str()).collect();
            let mut out = format!("{} [{}]", start.program.text, args.join(" "));
            for (name, value) in &start.env {
                write!(out, " {name}={}", value.text).unwrap();
            }
            if let Some(cwd) = &start.cwd {
                write!(out, " in {}", cwd.text).unwrap();
            }
            if let Some(file) = &start.env_file {
                write!(out, " with {}", file.text).unwrap();
            }
            out
        }
        Way::Url(remote) => {
            let mut out = remote.url.text.clone();
            for (name, value) in &remote.headers {
                write!(out, " {name}: {}", value.text).unwrap();
            }
            out
        }
    };
    if !entry.enabled {
        out += " (off)";
    }
    out
}

/// A file, what stands in it, and what is read.
const WORDS: &[(&str, &str, &str)] = &[
    (
        "claude_desktop_config.json",
        r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {"K": "v", "N": 1}}}}"#,
        "a: npx [-y x] K=v N=1",
    ),
    (
        ".mcp.json",
        r#"{"mcpServers": {"a": {"type": "stdio", "command": "x", "args": null}, "b": {"type": "http", "url": "https://b.example/mcp", "headers": {"H": "${T}"}}}}"#,
        "a: x []\nb: https://b.example/mcp H: ${T}",
    ),
    (
        ".claude.json",
        r#"{"mcpServers": {"a": {"command": "user"}, "b": {"command": "user"}},
                "projects": {"/work/shop": {"mcpServers": {"a": {"command": "local"}}}, "/else": {"mcpServers": {"c": {"command": "c"}}}}}"#,
        "a: local []\nb: user []",
    ),
    (
        "mcp.json",
        "{\n  // VS Code\n  \"inputs\": [],\n  \"servers\": {\"a\": {\"type\": \"stdio\", \"command\": \"x\", \"envFile\": \"${workspaceFolder}/.env\", \"cwd\": \"sub\"},},\n}",
        "a: x [] in sub with ${workspaceFolder}/.env",
    ),
    (
        "config.toml",
        "model = 'x'\n[mcp_servers.a]\ncommand = 'npx'\nargs = ['y']\nenv_vars = ['HOME', { name = 'X' }]\nenabled = false\n[mcp_servers.a.env]\nK = 'v'\n[mcp_servers.b]\nurl = 'https://b.example'\nbearer_token_env_var = 'TOKEN'\nhttp_headers = { H = '1' }\nenv_http_headers = { I = 'J' }",
        "a: npx [y] K=v HOME=${HOME} X=${X} (off)\nb: https://b.example H: 1 I: ${J} Authorization: Bearer ${TOKEN}",
    ),
    (
        "settings.json",
        r#"{"mcpServers": {"a": {"httpUrl": "https://a.example"}, "b": {"url": "https://b.example/sse"}}}"#,
        "a: https://a.example\nb: https://b.example/sse",
    ),
    (
        "mcp_config.json",
        r#"{"mcpServers": {"a": {"serverUrl": "https://a.example", "disabled": true}}}"#,
        "a: https://a.example (off)",
    ),
    (
        "zed.json",
        r#"{"context_servers": {"a": {"command": "x", "args": ["y"]}, "b": {"command": {"path": "p", "args": ["q"], "env": {"K": "v"}}, "settings": {}}, "c": {"source": "extension", "settings": {}}}}"#,
        "a: x [y]\nb: p [q] K=v\nc: zed.json:1: context_servers.c: says neither a command nor a url",
    ),
    (
        "opencode.json",
        r#"{"mcp": {"a": {"type": "local", "command": ["bun", "x"], "environment": {"K": "{env:V}"}, "enabled": false}, "b": {"type": "remote", "url": "https://b.example"}}}"#,
        "a: bun [x] K={env:V} (off)\nb: https://b.example",
    ),
    (
        "opencode.json",
        r#"{"mcp": {"servers": {"a": {"type": "local", "command": ["bun"], "disabled": true}}}}"#,
        "a: bun [] (off)",
    ),
    (
        "opencode.json",
        r#"{"mcp": {"servers": {"type": "local", "command": ["bun"]}}}"#,
        "servers: bun []",
    ),
    ("polyport.toml", "[servers.a]\ncommand = 'x'", "a: x []"),
    ("x.json", "{}", "x.json: holds no servers"),
    ("x.json", "[1]", "x.json: holds no servers"),
    (
        "x.json",
        "{\n\"a\" 1}",
        "x.json:2: cannot be read: expected colon after the string or word in object property",
    ),
    (
        "x.json",
        r#"{"mcpServers": []}"#,
        "x.json: holds no servers",
    ),
    (
        "x.json",
        "{\"mcpServers\": {\n\"a\": {},\n\"b\": 1,\n\"c\": {\"command\": []},\n\"d\": {\"command\": \"x\", \"args\": \"y\"},\n\"e\": {\"command\": \"x\", \"args\": [[]]},\n\"f\": {\"command\": \"x\", \"env\": {\"A\": {}}},\n\"g\": {\"command\": \"\"}}}",
        "a: x.json:2: mcpServers.a: says neither a command nor a url\n\
             b: x.json:3: mcpServers.b: is a number, where a table is wanted\n\
             c: x.json:4: mcpServers.c.command: is empty\n\
             d: x.json:5: mcpServers.d.args: is a text, where a list of texts is wanted\n\
             e: x.json:6: mcpServers.e.args[0]: is a list, where a text is wanted\n\
             f: x.json:7: mcpServers.f.env.A: is a table, where a text is wanted\n\
             g: x.json:8: mcpServers.g.command: is empty",
    ),
    (
        "x.json",
        "{\"mcpServers\": {\n\"a\": {\"command\": \"x\", \"url\": \"https://a.example\"},\n\"b\": {\"type\": \"http\", \"command\": \"x\", \"url\": \"https://b.example\"},\n\"c\": {\"type\": \"stdio\", \"command\": \"x\", \"url\": \"https://c.example\"},\n\"d\": {\"command\": \"\", \"url\": \"https://d.example\"},\n\"e\": {\"command\": \"x\", \"url\": \"\"},\n\"f\": {\"command\": \"x\", \"disabled\": \"true\"},\n\"g\": {\"command\": null, \"url\": \"https://g.example\"}}}",
        "a: x.json:2: mcpServers.a: says both a command and a url\n\
             b: https://b.example\n\
             c: x []\n\
             d: https://d.example\n\
             e: x []\n\
             f: x.json:7: mcpServers.f.disabled: is a text, where true or false is wanted\n\
             g: https://g.example",
    ),
    (
        "x.json",
        r#"{"mcpServers": {"a": {"command": "x", "env": {"A": "1", "A": "2"}}}}"#,
        "a: x.json:1: mcpServers.a.env.A: stands there twice",
    ),
];

#[test]
fn the_words_of_each_host() {
    for (name, text, want) in WORDS {
        assert_eq!(read(name, text), *want, "{name}: {text}");
    }
}

#[test]
fn a_server_that_is_there_twice_is_neither() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#;
    let servers = Servers::of(Path::new("f"), text, Format::Json, Path::new("")).unwrap();
    let why = servers.get("a").unwrap_err();
    assert_eq!(why.to_string(), "f:1: mcpServers.a: stands there twice");
}

#[test]
fn unknown_names_get_the_nearest() {
    let text = r#"{"mcpServers": {"github": {"command": "x"}, "files": {"command": "y"}}}"#;
    let servers = Servers::of(Path::new("f"), text, Format::Json, Path::new("")).unwrap();
    for (name, hint) in [
        ("gihtub", "did you mean github?"),
        ("slack", "it has github, files"),
    ] {
        let fault = servers.get(name).unwrap_err();
        assert_eq!(fault.hint.as_deref(), Some(hint));
    }
}

struct Machine {
    root: TempDir,
    places: Places,
}

impl Machine {
    fn new() -> Self {
        let root = TempDir::with_prefix("polyport-config").unwrap();
        let project = root.path().join("home/work/shop");
        fs::create_dir_all(&project).unwrap();
        let home = root.path().join("home").into_os_string();
        let places = Places::of(Os::Linux, project, |name| {
            (name == "HOME").then(|| home.clone())
        });
        Self { root, places }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.root.path().join("home").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    fn find(&self, name: &str) -> Option<String> {
        let found = find(name, &self.places, None).unwrap()?;
        Some(said(&found.entry))
    }
}

fn own(program: &str) -> String {
    format!("[servers.a]\ncommand = '{program}'\n")
}

fn theirs(key: &str, program: &str) -> String {
    format!(r#"{{"{key}": {{"a": {{"command": "{program}"}}}}}}"#)
}

#[test]
fn the_nearest_file_wins_and_our_own_comes_first() {
    let machine = Machine::new();
    assert_eq!(machine.find("a"), None);
    for (file, text, want) in [
        (
            "work/.cursor/mcp.json",
            theirs("mcpServers", "above"),
            "above []",
        ),
        (
            "work/shop/.cursor/mcp.json",
            theirs("mcpServers", "cursor"),
            "cursor []",
        ),
        (
            "work/shop/.vscode/mcp.json",
            theirs("servers", "code"),
            "code []",
        ),
        ("work/shop/.mcp.json", theirs("mcpServers", "mcp"), "mcp []"),
        (".config/polyport/polyport.toml", own("user"), "user []"),
        ("polyport.toml", own("home"), "home []"),
        ("work/polyport.toml", own("work"), "work []"),
        ("work/shop/polyport.toml", own("shop"), "shop []"),
    ] {
        machine.write(file, &text);
        assert_eq!(machine.find("a").as_deref(), Some(want), "{file}");
    }
    // A near file that does not know the name leaves the user's own.
    machine.write("work/shop/polyport.toml", "");
    assert_eq!(machine.find("a").as_deref(), Some("user []"));
    machine.write("work/shop/polyport.toml", "[servers.a]\ncommand = 1\n");
    let why = find("a", &machine.places, None).unwrap_err();
    assert!(
        why.to_string()
            .ends_with("polyport.toml:2: servers.a.command: is a number, where a text is wanted")
    );
    machine.write("work/shop/polyport.toml", "[servers.b]\ncommand = 1\n");
    assert_eq!(machine.find("a").as_deref(), Some("user []"));
}

/// Whoever may write to a folder above could otherwise say what a name starts.
#[cfg(unix)]
#[test]
fn folders_that_others_write_to_are_not_looked_into() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    machine.write("work/polyport.toml", &own("trap"));
    assert_eq!(machine.find("a").as_deref(), Some("trap []"));
    let work = machine.root.path().join("home/work");
    fs::set_permissions(&work, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(machine.find("a"), None);
}

#[test]
fn a_host_is_asked_for_its_own() {
    let machine = Machine::new();
    let host = polyport_config::host("claude-code").unwrap();
    let why = of_host(host, "a", &machine.places).unwrap_err();
    assert!(why.to_string().ends_with("so Claude Code has no servers"));
    let project = machine.places.project.display();
    for (file, text, want) in [
        (".claude.json", theirs("mcpServers", "user"), "user []"),
        (
            "work/shop/.mcp.json",
            theirs("mcpServers", "project"),
            "project []",
        ),
        (
            ".claude.json",
            format!(
                r#"{{"projects": {{"{project}": {}}}}}"#,
                theirs("mcpServers", "local")
            ),
            "local []",
        ),
    ] {
        machine.write(file, &text);
        let found = of_host(host, "a", &machine.places).unwrap();
        assert_eq!(said(&found.entry), want);
    }
}

fn expanded(found: &Found, machine: &Machine) -> Result<Entry<Expanded>, String> {
    let means = Means {
        variable: &|name| (name == "TOKEN").then(|| "s3cret".to_owned()),
        input: &|id| Err(format!("nobody is asked for {id}")),
        command: None,
        files: false,
    };
    found
        .expanded(&machine.places, &means)
        .map_err(|fault| format!("{fault} ({})", fault.hint.clone().unwrap_or_default()))
}

#[test]
fn every_field_is_expanded_once_and_shown_without_secrets() {
    let machine = Machine::new();
    machine.write(
        "work/shop/.env",
        "# comment\nexport A='1 2'\nB = \"x=y\"\nFROM=file\n",
    );
    machine.write(
        "work/shop/polyport.toml",
        "[servers.a]\ncommand = '${X:-run}'\nargs = ['--token', '${TOKEN}', '$$HOME']\ncwd = 'sub'\nenv_file = '.env'\n[servers.a.env]\nAPI_KEY = '${TOKEN}'\nLEVEL = 'debug'\nFROM = 'entry'\n\
         [servers.b]\nurl = 'https://${HOST:-b.example}/mcp?key=${TOKEN}'\nheaders = { Authorization = 'Bearer ${TOKEN}', Accept = 'x' }\n\
         [servers.c]\ncommand = 'x'\nargs = [\n  'a',\n  '${GONE}',\n]\n",
    );
    let find = |name| find(name, &machine.places, None).unwrap().unwrap();
    let entry = expanded(&find("a"), &machine).unwrap();
    let Way::Command(start) = &entry.way else {
        panic!()
    };
    let pair = |(name, value): &(String, Expanded)| format!("{name}={}", value.text);
    let env: Vec<String> = start.env.iter().map(pair).collect();
    assert_eq!(
        env,
        [
            "API_KEY=s3cret",
            "LEVEL=debug",
            "FROM=entry",
            "A=1 2",
            "B=x=y"
        ]
    );
    assert_eq!(start.args[1].text, "s3cret");
    assert_eq!(start.args[2].text, "$HOME");
    assert_eq!(
        Path::new(&start.cwd.as_ref().unwrap().text),
        machine.places.project.join("sub")
    );
    let shown = format!(
        "{:?} {:?}",
        mask::entry(&entry),
        mask::entry(&expanded(&find("b"), &machine).unwrap())
    );
    assert!(
        !shown.contains("s3cret") && !shown.contains("1 2"),
        "{shown}"
    );
    assert!(
        shown.contains("debug") && shown.contains("b.example/mcp"),
        "{shown}"
    );
    let why = expanded(&find("c"), &machine).unwrap_err();
    assert!(
        why.ends_with("polyport.toml:17: c.args[1]: the variable GONE is not set (set it, or write a default: ${NAME:-default})"),
        "{why}"
    );
}

/// What is no file is not opened: a pipe would wait for whoever writes into it, a device may have no end.
// req: S-CONFIG
#[cfg(unix)]
#[test]
fn only_files_of_a_bounded_size_are_read() {
    let place = TempDir::new().unwrap();
    let pipe = place.path().join("pipe.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let huge = place.path().join("huge.json");
    fs::File::create(&huge).unwrap().set_len(1 << 40).unwrap();
    let device = place.path().join("device.json");
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    let folder = place.path().join("folder.json");
    fs::create_dir(&folder).unwrap();
    for (file, why) in [
        (&pipe, "is no file"),
        (&device, "is no file"),
        (&folder, "is no file"),
        (&huge, "is larger than 64 MiB"),
    ] {
        let fault = Servers::read(file, place.path()).unwrap_err();
        assert_eq!(fault.why, why, "{}", file.display());
    }
    let there = place.path().join("config.json");
    fs::write(
        &there,
        r#"{"mcpServers": {"s": {"command": "${file:pipe.json}"}}}"#,
    )
    .unwrap();
    let entry = Servers::read(&there, place.path())
        .unwrap()
        .get("s")
        .unwrap();
    let places = Places::of(Os::HERE, place.path().to_owned(), |_| None);
    let means = Means {
        variable: &|_| None,
        input: &|_| Err(String::new()),
        command: None,
        files: true,
    };
    let found = Found { file: there, entry };
    let fault = found.expanded(&places, &means).unwrap_err();
    assert!(fault.why.ends_with("pipe.json: is no file"), "{fault}");
}

/// What is understood here, and what many hosts refuse an entry for.
// req: S-CONFIG
#[test]
fn what_hosts_do_not_take_is_doubted() {
    let doubts = |text: &str| -> Vec<String> {
        let text = format!("{{\"mcpServers\": {{\n\"a\": {text}}}}}");
        let servers = Servers::of(Path::new("f"), &text, Format::Json, Path::new("")).unwrap();
        let entry = servers.get("a").unwrap();
        entry.doubts.iter().map(ToString::to_string).collect()
    };
    let not_a_text = "where many hosts take only a text";
    for (text, want) in [
        (
            r#"{"command": "x", "args": ["1"], "env": {"A": "1"}}"#,
            vec![],
        ),
        (
            r#"{"command": "x", "args": ["a", 1], "env": {"A": 1, "B": true}}"#,
            vec![
                format!("f:2: mcpServers.a.args[1]: is a number, {not_a_text}"),
                format!("f:2: mcpServers.a.env.A: is a number, {not_a_text}"),
                format!("f:2: mcpServers.a.env.B: is true or false, {not_a_text}"),
            ],
        ),
        (
            r#"{"url": "https://a.example", "headers": {"X": 1}}"#,
            vec![format!(
                "f:2: mcpServers.a.headers.X: is a number, {not_a_text}"
            )],
        ),
        (
            r#"{"type": "http", "command": "x", "url": "https://a.example"}"#,
            vec!["f:2: mcpServers.a: says both a command and a url".to_owned()],
        ),
    ] {
        assert_eq!(doubts(text), want, "{text}");
    }
}
