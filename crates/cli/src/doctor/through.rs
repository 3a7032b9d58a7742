//! What of each server reaches clients of each revision through `polyport serve`. What may be said of a pair of revisions is the
//! gateway's; here it is asked of servers that are there, and shown.

use polyport::model::ServerCapabilities;
use polyport::{Client, Raw, Revision};
use polyport_config::{Rules, Sessions, Settings};
use polyport_gateway::Stray;
use polyport_gateway::through::{Behind, Fare, Passage, through};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::limit::Limit;
use crate::reach::Manner;
use crate::server::{self, Aim};
use crate::ui;
use crate::upstream::seen;

/// A server that was looked at.
struct Seen {
    shown: String,
    settings: Settings,
    found: Result<Found, Failure>,
}

struct Found {
    about: String,
    revision: Revision,
    /// Rules for what it does not have, a sentence each.
    strays: Vec<String>,
    ways: Vec<(Vec<Revision>, Vec<Passage>)>,
}

/// What was found of all servers.
pub(crate) struct Ways(Vec<Seen>);

impl Ways {
    /// Looks at servers as they would stand behind one gateway.
    pub(crate) async fn of(aims: Vec<Aim>, manner: &Manner) -> Self {
        let mut seen = Vec::new();
        let limit = Limit::begin(manner.timeout);
        for aim in aims {
            let looking = async {
                let client = opened(&aim, manner).await?;
                let strays = strays(&client, &aim.settings).await;
                let found = found(&client, &aim.settings, strays);
                client.close().await;
                Ok(found)
            };
            let found = match limit.holds(None, looking).await {
                Ok(found) => found,
                Err(late) => Err(server::failure(&late, &aim.shown)),
            };
            let found = found.map_err(|failure: Failure| failure.at(&aim.shown));
            seen.push(Seen {
                shown: aim.shown,
                settings: aim.settings,
                found,
            });
        }
        Self(seen)
    }

    /// The first server that could not be looked at.
    pub(crate) fn failure(self) -> Option<Failure> {
        self.0.into_iter().find_map(|seen| seen.found.err())
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let blocks: Vec<String> = self.0.iter().map(Seen::text).collect();
        ui::harmless(&blocks.join("\n")).into_owned()
    }

    /// For programs.
    pub(crate) fn document(&self) -> Raw {
        let servers: Vec<Value> = self.0.iter().map(Seen::json).collect();
        Raw::trusted(json!({"servers": servers}).to_string())
    }
}

async fn opened(aim: &Aim, manner: &Manner) -> Result<Client, Failure> {
    let manner = Manner {
        era: manner.era.or_else(|| aim.settings.era.map(Into::into)),
        ..manner.clone()
    };
    let connect = manner.on(aim.reached.clone().connect()?)?;
    let connected = connect.connect().await;
    connected.map_err(|error| server::failure(&error, &aim.shown))
}

/// What is said of tools and prompts that the server does not have. A list that does not come says nothing.
async fn strays(client: &Client, settings: &Settings) -> Vec<String> {
    let mut said = Vec::new();
    for (kind, rules) in [("tools", &settings.tools), ("prompts", &settings.prompts)] {
        let seen = match seen(rules) {
            Ok(seen) if *rules != Rules::default() => seen,
            _ => continue,
        };
        let offers = &client.opened().capabilities;
        let names: Result<Vec<_>, _> = match kind {
            "tools" if offers.tools.is_none() => Ok(Vec::new()),
            "tools" => {
                let tools = client.tools().await;
                tools.map(|all| all.iter().map(|tool| tool.name.clone()).collect())
            }
            _ if offers.prompts.is_none() => Ok(Vec::new()),
            _ => {
                let prompts = client.prompts().await;
                prompts.map(|all| all.iter().map(|prompt| prompt.name.clone()).collect())
            }
        };
        let Ok(names) = names else {
            continue;
        };
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        for Stray { rule, named, near } in seen.strays(&names) {
            let one = kind.trim_end_matches('s');
            let meant = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
            said.push(format!(
                "{kind}.{rule} names {named}: it has no such {one}.{meant}"
            ));
        }
    }
    said
}

fn found(client: &Client, settings: &Settings, strays: Vec<String>) -> Found {
    let opened = client.opened();
    let name = opened.server.as_ref().map_or_else(
        || "a server without a name".to_owned(),
        |server| format!("{} {}", server.display_name(), server.version),
    );
    let offers: &ServerCapabilities = &opened.capabilities;
    let behind = Behind {
        revision: opened.revision,
        offers,
        is_common: settings.sessions == Sessions::Shared,
    };
    let mut ways: Vec<(Vec<Revision>, Vec<Passage>)> = Vec::new();
    // The newest first.
    for client in Revision::ALL.into_iter().rev() {
        let way = through(behind, client);
        match ways.last_mut() {
            Some((revisions, last)) if *last == way => revisions.push(client),
            _ => ways.push((vec![client], way)),
        }
    }
    Found {
        about: name,
        revision: opened.revision,
        strays,
        ways,
    }
}

fn names(revisions: &[Revision]) -> Vec<&'static str> {
    revisions.iter().map(|revision| revision.name()).collect()
}

/// Several things after a word, on lines that a terminal holds.
fn wrapped(word: &str, whats: &[&str]) -> String {
    let mut lines = vec![format!("    {word:<9} ")];
    for (i, what) in whats.iter().enumerate() {
        let what = format!(" {what}{}", if i + 1 < whats.len() { "," } else { "" });
        let last = lines.len() - 1;
        if lines[last].len() + what.len() > WIDTH {
            lines.push(format!("    {:<9} {what}", ""));
        } else {
            lines[last] += &what;
        }
    }
    lines.join("\n") + "\n"
}

/// Columns of a line.
const WIDTH: usize = 100;
const FARES: [(Fare, &str); 3] = [
    (Fare::Passes, "passes"),
    (Fare::Converted, "converted"),
    (Fare::Cannot, "cannot"),
];

impl Seen {
    fn text(&self) -> String {
        let found = match &self.found {
            Ok(found) => found,
            Err(failure) => return format!("{}\n", failure.message()),
        };
        let Found {
            about, revision, ..
        } = found;
        let mut text = format!("{}  {about}, {}\n", self.shown, revision.name()).replace('\n', " ");
        text = text.trim_end().to_owned() + "\n";
        for sentence in self.settings.sentences() {
            text += &format!("  {}\n", sentence.replace('\n', " "));
        }
        for stray in &found.strays {
            text += &format!("  warning: {}\n", stray.replace('\n', " "));
        }
        for (revisions, passages) in &found.ways {
            text += &format!("  clients of {}\n", names(revisions).join(", "));
            for (fare, word) in FARES {
                let its: Vec<_> = passages.iter().filter(|it| it.fare == fare).collect();
                if fare == Fare::Passes {
                    let whats: Vec<_> = its.iter().map(|passage| passage.what).collect();
                    text += &wrapped(word, &whats);
                    continue;
                }
                for (i, passage) in its.iter().enumerate() {
                    let word = if i == 0 { word } else { "" };
                    text += &format!("    {word:<9}  {}: {}\n", passage.what, passage.how);
                }
            }
        }
        text
    }

    fn json(&self) -> Value {
        let found = match &self.found {
            Ok(found) => found,
            Err(failure) => return json!({"server": self.shown, "error": failure.message()}),
        };
        let clients = found.ways.iter().map(|(revisions, passages)| {
            let mut client = json!({"revisions": names(revisions)});
            for (fare, word) in FARES {
                let its = passages.iter().filter(|passage| passage.fare == fare);
                let its = its.map(|passage| json!({"what": passage.what, "how": passage.how}));
                client[word] = its.collect();
            }
            client
        });
        json!({
            "server": self.shown,
            "name": found.about,
            "revision": found.revision.name(),
            "says": self.settings.sentences(),
            "warnings": found.strays,
            "clients": clients.collect::<Vec<_>>(),
        })
    }
}
