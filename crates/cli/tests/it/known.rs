//! `polyport servers` and `polyport config`: what is known, shown without secrets, and what is wrong with it.

use std::fmt::Write as _;

use serde_json::Value;

use crate::asking::run;
use crate::support::{BINARY, Place, golden, said};

fn place() -> Place {
    let place = Place::new();
    for (file, text) in [
        (
            "polyport.toml",
            "# ours\n[servers.github]\ncommand = 'npx'\nargs = ['-y', 'srv', '--token', '${TOKEN}']\ncwd = 'notes'\n\
             [servers.github.env]\nGITHUB_TOKEN = '${TOKEN}'\nLEVEL = '${LEVEL:-debug}'\nAPI_KEY = 's3cret'\n\n\
             [servers.far]\nurl = 'https://${HOST:-mcp.example.com}/mcp?key=s3cret'\nheaders = { Authorization = 'Bearer s3cret' }\n\n\
             [servers.notes]\ncommand = 'x'\nenabled = false\n",
        ),
        (
            ".mcp.json",
            r#"{"mcpServers": {"github": {"command": "other"}, "shop": {"command": "polyport", "args": ["serve", "my notes"]}}}"#,
        ),
        (
            "home/.config/polyport/polyport.toml",
            "[servers.user]\ncommand = 'mine'\n[servers.github]\ncommand = 'hidden'\n[servers.bad]\ncommand = 1\n",
        ),
        (
            "home/.claude.json",
            r#"{"numStartups": 3, "mcpServers": {"everywhere": {"type": "http", "url": "https://a.example/mcp", "headers": {"X": "s3cret"}}}}"#,
        ),
        ("home/.config/Code/User/mcp.json", "{\n  \"servers\": {\n"),
        (
            "home/.config/zed/settings.json",
            "// only a theme\n{\"theme\": \"One\"}",
        ),
        (
            "home/.codex/config.toml",
            "[mcp_servers.coded]\ncommand = 'npx'\nargs = ['--api-key=s3cret']\nenabled = false\n",
        ),
        (
            "home/.gemini/settings.json",
            r#"{"mcpServers": {"odd": {"settings": 1}, "near": {"httpUrl": "http://127.0.0.1:7400/mcp"}}}"#,
        ),
    ] {
        place.write(file, text);
    }
    place
}

// req: S-SHELL
#[test]
fn what_is_known_is_listed_without_secrets() {
    let place = place();
    let mut text = String::new();
    for words in [
        &["servers"][..],
        &["servers", "--discover"],
        &["servers", "--discover", "--json"],
        &["servers", "--config", "polyport.toml"],
        &["servers", "--config", "nothing.toml"],
        &["config", "path"],
        &["config", "path", "--json"],
        &["config", "show"],
        &["config", "show", "--json", "--config", "polyport.toml"],
        &["config", "check"],
        &["config", "check", "polyport.toml"],
        &["config", "check", ".mcp.json"],
        &["config", "check", "home/.gemini/settings.json"],
        &["config", "check", "home/.config/Code/User/mcp.json"],
        &["config", "check", "home/.config/zed/settings.json"],
    ] {
        let mut command = place.command(words);
        command.env("TOKEN", "s3cret").env_remove("LEVEL");
        let shown = said(&command.output().unwrap());
        assert!(!shown.contains("s3cret"), "{shown}");
        writeln!(text, "$ polyport {}\n{shown}", words.join(" ")).unwrap();
    }
    golden("known.txt", &place.plain(&text));
}

/// Whatever a file is called that somebody names, all verbs read the same in it.
// req: S-SHELL
#[test]
fn a_named_file_is_the_same_to_all_verbs() {
    let place = Place::new();
    for (file, text, is_well) in [
        ("polyport.toml", "[servers.a]\ncommand = 'true'\n", true),
        ("mine.toml", "[servers.a]\ncommand = 'true'\n", true),
        (
            "mine.json",
            r#"{"servers": {"a": {"command": "true"}}}"#,
            true,
        ),
        (
            "hosts.json",
            r#"{"mcpServers": {"a": {"command": "true"}}}"#,
            true,
        ),
        (
            "codex.toml",
            "model = 'x'\n[mcp_servers.a]\ncommand = 'true'\n",
            true,
        ),
        (
            "polyport.toml",
            "[servers.a]\ncommand = 'true'\nodd = 1\n",
            false,
        ),
        (
            "mine.toml",
            "[servers.a]\ncommand = 'true'\nodd = 1\n",
            false,
        ),
        (
            "mine.toml",
            "[servers.a]\ncommand = 'true'\nargs = 'x'\n",
            false,
        ),
        ("mine.toml", "[server.a]\ncommand = 'true'\n", false),
        ("mine.toml", "[servers.a\n", false),
        ("mine.toml", "", false),
        ("mine.toml", "[servers]\n", false),
        ("codex.toml", "[mcp_servers.a]\nargs = ['x']\n", false),
        (
            "hosts.json",
            r#"{"mcpServers": {"a": {"args": ["x"]}}}"#,
            false,
        ),
        ("hosts.json", "{}", false),
        ("gone.toml", "", false),
    ] {
        if file != "gone.toml" {
            place.write(file, text);
        }
        let named = format!("{file}:a");
        for words in [
            &["config", "check", file][..],
            &["config", "check", "--config", file],
            &["config", "show", "--config", file],
            &["config", "check", "--json", file],
            &["servers", "--config", file],
            &["servers", "--json", "--config", file],
            &["ls", "--config", file, "a"],
            &["ls", &named],
            &["serve", "-t", "stdio", "--config", file],
        ] {
            let output = place.command(words).output().unwrap();
            let is_refused = output.status.code() == Some(2);
            assert_eq!(is_refused, !is_well, "{words:?}, {text}: {output:?}");
            let err = String::from_utf8_lossy(&output.stderr);
            assert!(is_well || err.contains(file), "{words:?}, {text}: {err}");
        }
    }
}

#[test]
fn nothing_is_known() {
    let place = Place::new();
    for (words, code, out) in [
        (&["servers"][..], 0, ""),
        (
            &["servers", "--json"],
            0,
            "{\"servers\":[],\"problems\":[]}\n",
        ),
        (&["config", "path"], 1, ""),
        (&["config", "path", "--json"], 1, "{\"files\":[]}\n"),
        (&["config", "show"], 1, ""),
        (
            &["config", "show", "--json"],
            0,
            "{\"files\":[],\"problems\":[]}\n",
        ),
        (&["config", "check"], 1, ""),
    ] {
        let output = place.command(words).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            (output.status.code(), &*text),
            (Some(code), out),
            "{words:?}"
        );
    }
}

/// Every word that is listed names its server.
#[test]
fn what_is_listed_can_be_named() {
    let place = place();
    let output = place
        .command(["servers", "--discover", "--json"])
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let servers = listed["servers"].as_array().unwrap();
    assert!(servers.len() > 6);
    for server in servers.iter().filter(|server| server.get("url").is_none()) {
        let word = server["server"].as_str().unwrap();
        let mut command = place.command(["ls", word]);
        // No program of any of them is there.
        let output = command
            .env("PATH", "/nowhere")
            .env("TOKEN", "x")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let started = format!("cannot start {}", server["command"].as_str().unwrap());
        assert!(said.contains(&started), "{word}: {said}");
    }
}

/// Names that a configuration has are proposed, except those that a shell would take for more.
#[test]
fn names_are_completed() {
    let place = place();
    place.write(
        ".vscode/mcp.json",
        r#"{"servers": {"plain-1": {"command": "x"}, "a;b": {"command": "x"}, "$(x)": {"command": "x"}}}"#,
    );
    let output = place
        .command(["__complete", "zsh", "call", ""])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    let want = [
        "demo", "github", "far", "notes", "user", "bad", "shop", "plain-1",
    ];
    assert_eq!(names, want);
}

#[test]
fn the_schema_is_printed_as_it_is() {
    let output = Place::new().command(["config", "schema"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["title"], "polyport.toml");
}

/// What a host makes of an entry is said by whoever uses it, by the doctor and by the check of the file.
// req: S-CONFIG
#[test]
fn what_a_host_refuses_is_said() {
    let place = Place::new();
    place.write(
        ".mcp.json",
        &format!(
            "{{\"mcpServers\": {{\n\"off\": {{\"command\": \"{BINARY}\", \"args\": [\"serve\", \"demo\"], \"disabled\": true, \"env\": {{\"N\": 1}}}},\n\
             \"both\": {{\"command\": \"x\", \"url\": \"https://a.example\"}}\n}}}}"
        ),
    );
    let (code, out, err) = run(&place, &["call", ".mcp.json:off", "echo", "text=hi"]);
    assert_eq!((code, &*out), (0, "hi\n"), "{err}");
    let file = ".mcp.json:2: mcpServers.off.env.N";
    assert_eq!(
        err,
        format!(
            "note: off is switched off in .mcp.json; its host does not start it\n\
             warning: {file}: is a number, where many hosts take only a text; write it in quotes\n"
        )
    );
    let (code, _, err) = run(&place, &["ls", ".mcp.json:both"]);
    assert_eq!(
        (code, &*err),
        (
            2,
            "error: .mcp.json:3: mcpServers.both: says both a command and a url\n  hint: leave out the one that is not meant\n"
        )
    );
    let (_, out, _) = run(&place, &["doctor", "claude-code:off"]);
    assert!(
        out.contains(" warn  Claude Code has it") && out.contains("switched off"),
        "{out}"
    );
    assert!(
        out.contains(" warn  Claude Code takes it")
            && out.contains("mcpServers.off.env.N: is a number"),
        "{out}"
    );
    let (code, out, err) = run(&place, &["config", "check", ".mcp.json", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    let problems = document["files"][0]["problems"].as_array().unwrap();
    let fields: Vec<&str> = problems
        .iter()
        .map(|it| it["field"].as_str().unwrap())
        .collect();
    assert_eq!((code, document["ok"].as_bool()), (2, Some(false)));
    assert_eq!(fields, ["mcpServers.both", "mcpServers.off.env.N"]);
    let error: Value = serde_json::from_str(&err).unwrap();
    assert_eq!(error["error"]["code"], "usage");
}

// req: S-CONFIG
#[test]
fn a_check_is_one_document() {
    let place = Place::new();
    place.write(
        "polyport.toml",
        "[servers.a]\ncommand = 'x'\n[servers.b]\ncommand = 'y'\nenabled = false\n",
    );
    place.write("broken.json", "{");
    for (words, code, ok) in [
        (&["config", "check", "--json"][..], 0, true),
        (&["config", "check", "--json", "broken.json"], 2, false),
        (&["config", "check", "--json", "nowhere.json"], 2, false),
    ] {
        let (got, out, err) = run(&place, words);
        let document: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((got, document["ok"].as_bool()), (code, Some(ok)), "{out}");
        assert_eq!(err.lines().count(), usize::from(!ok), "{err}");
    }
    let (_, out, _) = run(&place, &["config", "check", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["files"][0]["servers"][1]["enabled"], false);
    let (code, out, err) = run(&Place::new(), &["config", "check", "--json"]);
    let error: Value = serde_json::from_str(&err).unwrap();
    assert_eq!(
        (code, &*out, error["error"]["code"].as_str()),
        (1, "", Some("failed"))
    );
}

/// Variables of a file: for a command and in a configuration, after what the command line and the environment say.
// req: S-CONFIG
#[test]
fn variables_come_from_a_file() {
    let place = Place::new();
    place.write("vars", "A=file\nB=\"two words\"\n");
    place.write("bad", "A=1\nnonsense\n");
    place.write("polyport.toml", "[servers.s]\ncommand = 'sh'\nargs = ['-c', 'echo \"$A|$B|$0\" >&2', '${B}']\nenv = { A = 'entry' }\n");
    let command = ["--", "sh", "-c", "echo \"$A|$B|$0\" >&2", "none"];
    for (words, want) in [
        (
            &["ls", "--env-file", "vars", "s"][..],
            "entry|two words|two words",
        ),
        (
            &[&["ls", "--env-file", "vars"], &command[..]].concat(),
            "file|two words|none",
        ),
        (
            &[&["ls", "--env-file", "vars", "-e", "A=told"], &command[..]].concat(),
            "told|two words|none",
        ),
        (
            &["ls", "--env-file", "bad", "s"],
            "bad:2: is not NAME=value",
        ),
        (
            &["ls", "--env-file", "nowhere", "s"],
            "nowhere: is not there",
        ),
        (
            &["ls", "--env-file", "vars", "demo"],
            "--env-file does nothing for what Polyport serves itself",
        ),
        (
            &["ls", "--env-file", "vars", ":1"],
            "--env-file does nothing for a URL",
        ),
    ] {
        let (_, _, err) = run(&place, words);
        assert!(err.contains(want), "{words:?}: {err}");
    }
    let mut set = place.command(["config", "show", "--env-file", "vars"]);
    let out = String::from_utf8(set.env("B", "set").output().unwrap().stdout).unwrap();
    assert!(out.contains("\"set\""), "{out}");
}

/// A host or a file without a name behind its colon: what could stand there is named, by every verb.
// req: S-CONFIG
#[test]
fn what_could_stand_behind_a_colon_is_named() {
    let place = place();
    for (word, hint) in [
        (
            "claude-code:",
            "it has claude-code:github, claude-code:shop, claude-code:everywhere",
        ),
        ("codex:", "it has codex:coded"),
        (".mcp.json:", "it has .mcp.json:github, .mcp.json:shop"),
        (
            "claude-desktop:",
            "it has none; polyport servers --discover lists those of all hosts",
        ),
    ] {
        for verb in [
            &["ls"][..],
            &["serve"],
            &["add", "x"],
            &["install", "cursor", "--print"],
            &["doctor"],
        ] {
            let (code, out, err) = run(&place, &[verb, &[word]].concat());
            let said = format!("{out}{err}");
            assert_eq!(code, 2, "{verb:?} {word}: {said}");
            assert!(
                said.contains(&format!("{word} names no server")) && said.contains(hint),
                "{verb:?} {word}: {said}"
            );
        }
    }
    let (code, _, err) = run(&place, &["ls", "claude-destop:"]);
    assert_eq!(code, 2);
    assert!(err.contains("did you mean claude-desktop:NAME?"), "{err}");
}

/// What a hint proposes begins as what was typed does, and could be typed.
// req: S-CONFIG
#[test]
fn hints_about_hosts_fit_their_verb() {
    let place = place();
    for (words, hint) in [
        (
            &["uninstall"][..],
            "polyport uninstall claude-code NAME; hosts are claude-code,",
        ),
        (
            &["install"],
            "polyport install claude-code ./notes; hosts are claude-code,",
        ),
        (
            &["uninstall", "codx", "coded"],
            "did you mean codex? polyport uninstall codex NAME",
        ),
        (
            &["install", "codx", "notes"],
            "did you mean codex? polyport install codex ./notes",
        ),
        (
            &["uninstall", "codex:coded"],
            "the host stands alone: polyport uninstall codex coded",
        ),
        (
            &["install", "codex:coded", "notes"],
            "the host stands alone: polyport install codex ./notes",
        ),
        (&["uninstall", "codex"], "it has coded"),
        (&["uninstall", "codex", "other"], "it has coded"),
        (
            &["uninstall", "mcp-json", "x"],
            "mcp-json is only printed: there is nothing to take out",
        ),
        (
            &["install", "cursor", "githib"],
            "did you mean github? polyport install HOST github",
        ),
        (&["install", "cursor"], "polyport install HOST ./notes"),
        (
            &["install", "cursor", "codex"],
            "a host's server is named HOST:NAME; it has codex:coded",
        ),
        (
            &["ls", "codex"],
            "a host's server is named HOST:NAME; it has codex:coded",
        ),
        (
            &["add", "x", "githib"],
            "did you mean github? polyport add NAME github",
        ),
        (&["ls", "githib"], "did you mean github? polyport ls github"),
    ] {
        let (code, _, err) = run(&place, words);
        assert_eq!(code, 2, "{words:?}: {err}");
        assert!(err.contains(hint), "{words:?}: {err}");
    }
}
