//! How a server is used once it is reached: for how long it is waited for, which of its things are seen and under which names, and for
//! whom. As a configuration says it; who holds to it is the gateway.

use std::time::Duration;

use serde_json::{Map, Value as Json, json};

/// What is said of a server beside the way to it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Settings {
    /// How long a request may take without a word of the server. None: as always.
    pub timeout: Option<Duration>,
    /// The one era that is spoken to it. None: whichever it speaks.
    pub era: Option<Era>,
    /// Who has a session with it.
    pub sessions: Sessions,
    /// How many sessions with it there may be at once. None: as always.
    pub max_sessions: Option<usize>,
    /// Variables of our environment that it gets, if they are set.
    pub pass_env: Vec<String>,
    /// Its tools.
    pub tools: Rules,
    /// Its prompts.
    pub prompts: Rules,
    /// Its resources, by their addresses.
    pub resources: Rules,
}

/// An era.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Era {
    /// Since 2026.
    Modern,
    /// Before.
    Legacy,
}

/// Who has a session with a server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Sessions {
    /// Each client its own.
    #[default]
    PerClient,
    /// All clients one.
    Shared,
}

/// What of one kind is seen, and how.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Rules {
    /// Patterns of what alone is seen. None: all.
    pub allow: Option<Vec<String>>,
    /// Patterns of what is not seen, whatever is allowed.
    pub deny: Vec<String>,
    /// Other names, by the server's own.
    pub rename: Vec<(String, String)>,
    /// Other descriptions, likewise.
    pub describe: Vec<(String, String)>,
}

impl Settings {
    /// What is not as always, a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        if let Some(timeout) = self.timeout {
            said.push(format!(
                "A request may take {} s without a word of it.",
                timeout.as_secs_f64()
            ));
        }
        match self.era {
            None => {}
            Some(Era::Modern) => said.push("It is spoken to as since 2026 only.".to_owned()),
            Some(Era::Legacy) => said.push("It is spoken to as before 2026 only.".to_owned()),
        }
        if self.sessions == Sessions::Shared {
            said.push(
                "All clients share one session: it can ask none of them anything, and nobody subscribes to its resources."
                    .to_owned(),
            );
        }
        if let Some(most) = self.max_sessions {
            let s = if most == 1 { "" } else { "s" };
            said.push(format!("It has at most {most} session{s} at once."));
        }
        if !self.pass_env.is_empty() {
            let names = self.pass_env.join(", ");
            said.push(format!(
                "Of our environment it gets {names}, as far as they are set."
            ));
        }
        for (kind, rules) in self.rules() {
            said.extend(rules.sentences(kind));
        }
        said
    }
}

impl Settings {
    /// What is not as always, as our own file says it.
    pub fn entry(&self) -> Map<String, Json> {
        let mut entry = Map::new();
        let mut say = |key: &str, value: Json| _ = entry.insert(key.to_owned(), value);
        if let Some(timeout) = self.timeout {
            let seconds = timeout.as_secs_f64();
            let is_whole = timeout.subsec_nanos() == 0;
            say(
                "timeout",
                if is_whole {
                    json!(timeout.as_secs())
                } else {
                    json!(seconds)
                },
            );
        }
        match self.era {
            None => {}
            Some(Era::Modern) => say("era", json!("modern")),
            Some(Era::Legacy) => say("era", json!("legacy")),
        }
        if self.sessions == Sessions::Shared {
            say("sessions", json!("shared"));
        }
        if let Some(most) = self.max_sessions {
            say("max_sessions", json!(most));
        }
        if !self.pass_env.is_empty() {
            say("pass_env", json!(self.pass_env));
        }
        for (kind, rules) in self.rules() {
            let rules = rules.entry();
            if !rules.is_empty() {
                say(kind, Json::Object(rules));
            }
        }
        entry
    }

    /// The same as lines: keys with dots, and values that are those of TOML, too.
    pub fn written(&self) -> Vec<(String, Json)> {
        fn flat(before: &str, members: Map<String, Json>, lines: &mut Vec<(String, Json)>) {
            for (name, value) in members {
                let key = format!("{before}{}", toml_edit::Key::new(name));
                match value {
                    Json::Object(members) => flat(&format!("{key}."), members, lines),
                    value => lines.push((key, value)),
                }
            }
        }
        let mut lines = Vec::new();
        flat("", self.entry(), &mut lines);
        lines
    }

    fn rules(&self) -> [(&'static str, &Rules); 3] {
        [
            ("tools", &self.tools),
            ("prompts", &self.prompts),
            ("resources", &self.resources),
        ]
    }
}

impl Rules {
    fn entry(&self) -> Map<String, Json> {
        let mut entry = Map::new();
        if let Some(allow) = &self.allow {
            entry.insert("allow".to_owned(), json!(allow));
        }
        if !self.deny.is_empty() {
            entry.insert("deny".to_owned(), json!(self.deny));
        }
        for (key, pairs) in [("rename", &self.rename), ("describe", &self.describe)] {
            let pairs = pairs.iter().map(|(own, text)| (own.clone(), json!(text)));
            let pairs: Map<String, Json> = pairs.collect();
            if !pairs.is_empty() {
                entry.insert(key.to_owned(), Json::Object(pairs));
            }
        }
        entry
    }

    fn sentences(&self, kind: &str) -> Vec<String> {
        let mut said = Vec::new();
        let deny = self.deny.join(", ");
        match &self.allow {
            Some(allow) if allow.is_empty() => {
                said.push(format!("Clients see none of its {kind}."))
            }
            Some(allow) => {
                let but = if deny.is_empty() {
                    String::new()
                } else {
                    format!(", but not {deny}")
                };
                said.push(format!(
                    "Of its {kind} clients see {}{but}.",
                    allow.join(", ")
                ));
            }
            None if deny.is_empty() => {}
            None => said.push(format!("Of its {kind} clients see all but {deny}.")),
        }
        let one = kind.trim_end_matches('s');
        for (own, new) in &self.rename {
            said.push(format!("Its {one} {own} is seen as {new}."));
        }
        for (own, _) in &self.describe {
            said.push(format!("Its {one} {own} has another description."));
        }
        said
    }
}
