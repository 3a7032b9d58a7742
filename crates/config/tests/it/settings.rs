//! How a server is used: what hosts and our own file say of that beside the way to it.

use std::path::Path;

use polyport_config::{Format, Found, Means, Os, Own, Places, Servers, Way, mask};

/// What a host does not use stays unused: its words are names, ours are patterns.
#[test]
fn tools_that_hosts_switch_off_stay_so() {
    let rules = |file: &str, text: &str| {
        let file = Path::new(file);
        let servers = Servers::of(file, text, Format::of(file), Path::new("/")).unwrap();
        servers.get("a").unwrap().settings.tools
    };
    let one = |word: &str, value: &str| {
        let text = format!(r#"{{"mcpServers": {{"a": {{"command": "x", "{word}": {value}}}}}}}"#);
        rules("mcp.json", &text)
    };
    for word in ["disabledTools", "excludeTools"] {
        assert_eq!(one(word, r#"["a*b"]"#).deny, ["a[*]b"], "{word}");
    }
    assert_eq!(
        one("includeTools", r#"["one", "*"]"#).allow.unwrap(),
        ["one", "*"]
    );
    let codex = "[mcp_servers.a]\ncommand = 'x'\nenabled_tools = ['y']\ndisabled_tools = ['z']";
    let codex = rules("config.toml", codex);
    assert_eq!(
        (codex.allow.unwrap(), codex.deny),
        (vec!["y".to_owned()], vec!["z".to_owned()])
    );
    // Some host has another meaning of this one.
    assert_eq!(one("tools", r#"["*"]"#).allow, None);
}

/// A list of what may pass, and nothing of it that is not set.
#[test]
fn only_named_variables_are_passed_on() {
    let text =
        "[servers.a]\ncommand = 'x'\nenv = { B = 'own' }\npass_env = ['A_TOKEN', 'B', 'GONE']";
    let file = Path::new("/p/polyport.toml");
    let entry = Own::of(file, text).unwrap().get("a").unwrap().unwrap();
    let found = Found {
        file: file.to_owned(),
        entry,
    };
    let places = Places::of(Os::HERE, "/p".into(), |_| None);
    let means = Means {
        variable: &|name| (name != "GONE").then(|| format!("of-{name}")),
        input: &|_| Err(String::new()),
        command: None,
        files: false,
    };
    let entry = found.expanded(&places, &means).unwrap();
    let shown = mask::entry(&entry);
    let (Way::Command(start), Way::Command(shown)) = (entry.way, shown.way) else {
        panic!("no command");
    };
    let env: Vec<_> = start
        .env
        .iter()
        .map(|(name, it)| (&**name, &*it.text))
        .collect();
    assert_eq!(env, [("B", "own"), ("A_TOKEN", "of-A_TOKEN")]);
    assert_eq!(shown.env[1], ("A_TOKEN".to_owned(), "****".to_owned()));
}
