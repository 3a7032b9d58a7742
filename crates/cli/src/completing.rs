//! What may stand at the end of a command line: verbs and options as clap knows them, and servers, tools, arguments and values as they
//! were seen last. No server is asked.

use clap::Command;
use polyport_config::HOSTS;

use crate::arguments::offered::goes_beside;
use crate::seen::{Callable, Offer, Seen};
use crate::topics;

/// Proposals for one word.
const MOST: usize = 500;

/// A word that may stand there, and what it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Proposal {
    pub(crate) text: String,
    pub(crate) about: String,
}

impl Proposal {
    fn new(text: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            about: about.into(),
        }
    }
}

/// What may stand in place of the last of these words, which is the one that is being written.
pub(crate) fn proposals(program: &Command, words: &[String], seen: &Seen) -> Vec<Proposal> {
    let Some((last, before)) = words.split_last() else {
        return Vec::new();
    };
    let mut found = all(program, before, last, seen);
    found.retain(|proposal| proposal.text.starts_with(last.as_str()));
    found.truncate(MOST);
    found
}

fn all(program: &Command, before: &[String], last: &str, seen: &Seen) -> Vec<Proposal> {
    // As deep into the verbs as there are some.
    let mut verb = program;
    let mut rest = before;
    while let Some((word, after)) = rest.split_first()
        && let Some(found) = verb.find_subcommand(word)
    {
        (verb, rest) = (found, after);
    }
    let read = Read::of(verb, rest);
    if let Some(values) = read.value_of {
        return values;
    }
    if last.starts_with('-') && read.dashes == 0 {
        return match last.split_once('=') {
            Some((option, _)) => values_behind(verb, option),
            None => options(verb),
        };
    }
    if verb.has_subcommands() && rest.is_empty() {
        let verbs = verb.get_subcommands().filter(|verb| !verb.is_hide_set());
        return verbs
            .map(|verb| Proposal::new(verb.get_name(), about(verb.get_about())))
            .collect();
    }
    match verb.get_name() {
        "help" => helped(program, &read.plain),
        name => read.named(name, last, verb, seen),
    }
}

/// What there is to say more of behind these words: verbs of the verb that they name; of the program, and topics, where there are none.
fn helped(program: &Command, words: &[String]) -> Vec<Proposal> {
    let mut words = words.iter();
    let Some(of) = words.try_fold(program, |of, word| of.find_subcommand(word)) else {
        return Vec::new();
    };
    let is_whole = std::ptr::eq(of, program);
    let verbs = of.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs = verbs.map(|verb| Proposal::new(verb.get_name(), about(verb.get_about())));
    let is_verb = |name: &str| of.find_subcommand(name).is_some();
    let topics = topics::ALL.iter().filter(|_| is_whole);
    let topics = topics.filter(|topic| !is_verb(topic.name));
    let topics = topics.map(|topic| Proposal::new(topic.name, topic.about));
    verbs.chain(topics).collect()
}

/// The words after a verb.
#[derive(Default)]
struct Read {
    /// Those that are no options.
    plain: Vec<String>,
    /// The words of a command, with what stands around it.
    command: Vec<String>,
    /// How many `--` stood there.
    dashes: usize,
    /// The word belongs to an option, which takes one of these.
    value_of: Option<Vec<Proposal>>,
}

impl Read {
    fn of(verb: &Command, words: &[String]) -> Self {
        let mut read = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--" {
                read.dashes += 1;
                read.command.push(word.clone());
            } else if read.dashes == 1 {
                read.command.push(word.clone());
            } else if read.dashes == 0 && word.len() > 1 && word.starts_with('-') {
                let Some(option) = option(verb, word) else {
                    continue;
                };
                let takes_next =
                    option.get_action().takes_values() && !option.is_require_equals_set();
                if takes_next && words.next().is_none() {
                    read.value_of = Some(values(option, ""));
                }
            } else {
                read.plain.push(word.clone());
            }
        }
        read
    }

    /// What stands after the words of the verb itself.
    fn named(&self, name: &str, last: &str, verb: &Command, seen: &Seen) -> Vec<Proposal> {
        if let Some(found) = self.named_otherwise(name, last, seen) {
            return found;
        }
        if !takes_server(verb) {
            let first = verb.get_positionals().next();
            let values = first
                .map(clap::Arg::get_possible_values)
                .unwrap_or_default();
            let values = values.iter().filter(|_| self.plain.is_empty());
            return values
                .map(|value| Proposal::new(value.get_name(), about(value.get_help())))
                .collect();
        }
        let (offer, words) = match (self.dashes, self.plain.split_first()) {
            (0, None) => return servers(last, seen),
            (0, Some((server, words))) => (seen.server(std::slice::from_ref(server)), words),
            // A command is being written.
            (1, _) => return Vec::new(),
            _ => (seen.server(&self.command), &self.plain[..]),
        };
        offer.map_or_else(Vec::new, |offer| offered(name, last, offer, words))
    }
}

impl Read {
    /// What stands after the words of a verb that takes a host, or servers among other things.
    fn named_otherwise(&self, name: &str, last: &str, seen: &Seen) -> Option<Vec<Proposal>> {
        let configured = || {
            seen.configured
                .iter()
                .map(|name| Proposal::new(name, "configured"))
        };
        Some(match (name, &self.plain[..]) {
            ("add" | "install" | "serve" | "uninstall", _) if self.dashes > 0 => Vec::new(),
            ("install" | "uninstall", []) => {
                let hosts = HOSTS.iter();
                hosts
                    .map(|host| Proposal::new(host.id, host.name))
                    .collect()
            }
            ("uninstall", [host]) => {
                let names = seen.of_host.iter().filter(|(of, _)| of == host);
                let names = names.flat_map(|(_, names)| names);
                names.map(|name| Proposal::new(name, host)).collect()
            }
            ("add", [_]) | ("install" | "serve", _) => servers(last, seen),
            ("disable" | "enable" | "remove", []) => configured().collect(),
            _ => return None,
        })
    }
}

/// Do its words begin with a server?
fn takes_server(verb: &Command) -> bool {
    let mut positionals = verb.get_positionals();
    positionals.any(|arg| arg.get_id() == "words")
}

fn servers(last: &str, seen: &Seen) -> Vec<Proposal> {
    if let Some((host, names)) = &seen.of_host
        && last.starts_with(&format!("{host}:"))
    {
        let names = names.iter();
        return names
            .map(|name| Proposal::new(format!("{host}:{name}"), host))
            .collect();
    }
    let mut found = vec![Proposal::new("demo", "the built-in server")];
    for name in seen.configured.iter().filter(|name| *name != "demo") {
        found.push(Proposal::new(name, "configured"));
    }
    for name in seen
        .servers
        .iter()
        .rev()
        .filter_map(|offer| offer.name.as_ref())
    {
        if name != "demo" && !seen.configured.contains(name) {
            found.push(Proposal::new(name, "used before"));
        }
    }
    found
}

/// The words after a server: what it has, then what that takes.
fn offered(verb: &str, last: &str, offer: &Offer, words: &[String]) -> Vec<Proposal> {
    let names = |lists: &[&[Callable]]| -> Vec<Proposal> {
        let all = lists.iter().copied().flatten();
        all.map(|one| Proposal::new(&one.name, &one.about))
            .collect()
    };
    let Some((name, given)) = words.split_first() else {
        return match verb {
            "call" => names(&[&offer.tools]),
            "show" => names(&[
                &offer.tools,
                &offer.prompts,
                &offer.resources,
                &offer.templates,
            ]),
            "read" | "watch" => names(&[&offer.resources]),
            "prompt" => names(&[&offer.prompts]),
            "complete" => names(&[&offer.prompts, &offer.templates]),
            _ => Vec::new(),
        };
    };
    let of = |list: &[Callable]| list.iter().find(|one| one.name == *name).cloned();
    match verb {
        "call" => of(&offer.tools).map_or_else(Vec::new, |tool| arguments(&tool, last, given)),
        "prompt" => of(&offer.prompts).map_or_else(Vec::new, |one| arguments(&one, last, given)),
        "complete" if given.is_empty() => {
            let prompt = of(&offer.prompts).unwrap_or_default();
            let arguments = prompt.arguments.iter();
            arguments
                .map(|a| Proposal::new(&a.name, &a.about))
                .collect()
        }
        "watch" => names(&[&offer.resources]),
        _ => Vec::new(),
    }
}

/// `name=` for what is not given yet, and `name=value` where the values are counted: what can stand beside the words that are given.
fn arguments(of: &Callable, last: &str, given: &[String]) -> Vec<Proposal> {
    let mut found = Vec::new();
    for argument in &of.arguments {
        let begins = format!("{}=", argument.name);
        if !goes_beside(given, &begins) {
            continue;
        }
        if last.starts_with(&begins) {
            let values = argument.values.iter();
            found.extend(values.map(|value| Proposal::new(format!("{begins}{value}"), "")));
        } else {
            found.push(Proposal::new(begins, &argument.about));
        }
    }
    let is_of = |word: &str, pattern: &str| {
        word == pattern || (pattern.ends_with('=') && word.starts_with(pattern))
    };
    let is_apart = |word: &str, (one, other): &(String, String)| {
        let is_given = |pattern: &str| given.iter().any(|word| is_of(word, pattern));
        (is_of(word, one) && is_given(other)) || (is_of(word, other) && is_given(one))
    };
    found.retain(|proposal| !of.apart.iter().any(|pair| is_apart(&proposal.text, pair)));
    found
}

/// The option that a word is.
fn option<'a>(verb: &'a Command, word: &str) -> Option<&'a clap::Arg> {
    verb.get_arguments().find(|arg| {
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        long.as_deref() == Some(word) || short.as_deref() == Some(word)
    })
}

/// The values of an option that are counted, each after `before`.
fn values(option: &clap::Arg, before: &str) -> Vec<Proposal> {
    let values = option.get_possible_values();
    let values = values.iter().filter(|value| !value.is_hide_set());
    values
        .map(|value| {
            Proposal::new(
                format!("{before}{}", value.get_name()),
                about(value.get_help()),
            )
        })
        .collect()
}

/// `--option=value`, where the values are counted.
fn values_behind(verb: &Command, word: &str) -> Vec<Proposal> {
    let option = option(verb, word).filter(|option| option.get_action().takes_values());
    option.map_or_else(Vec::new, |option| values(option, &format!("{word}=")))
}

fn options(verb: &Command) -> Vec<Proposal> {
    let mut found = Vec::new();
    for option in verb.get_arguments().filter(|arg| !arg.is_hide_set()) {
        if let Some(long) = option.get_long() {
            found.push(Proposal::new(format!("--{long}"), about(option.get_help())));
        }
    }
    found
}

fn about(text: Option<&clap::builder::StyledStr>) -> String {
    let text = text.map(ToString::to_string).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

/// The words of a line as a shell would read them, the last one perhaps unfinished. What it would expand stays as it is.
pub(crate) fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut begun = false;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let Some(word) = words.last_mut() else { break };
        match (letter, quote) {
            ('\'' | '"', None) => (quote, begun) = (Some(letter), true),
            (_, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => {
                word.extend(letters.next());
                begun = true;
            }
            (' ' | '\t', None) => {
                if begun {
                    words.push(String::new());
                    begun = false;
                }
            }
            _ => {
                word.push(letter);
                begun = true;
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: S-COMPLETION
    #[test]
    fn arguments_stand_beside_those_that_are_given() {
        let tool = serde_json::json!({"name": "t", "inputSchema": {
            "properties": {"at": {"properties": {"lat": {}, "lon": {}}}, "tags": {"items": {"enum": ["x", "y"]}}},
            "oneOf": [
                {"properties": {"kind": {"const": "a"}, "n": {"enum": [1]}}},
                {"properties": {"kind": {"const": "b"}, "n": {"enum": ["one"]}, "own": {}}},
            ],
        }});
        let tool: polyport::model::Tool = serde_json::from_value(tool).unwrap_or_default();
        let tool = Callable::from(&tool).read();
        for (given, last, want) in [
            (
                &[][..],
                "",
                "at= tags= kind= n= own= at.lat= at.lon= tags[]=",
            ),
            (&[], "at.", "at.lat= at.lon="),
            (&["at.lat=1"], "at", "at.lon="),
            (&["tags[]=x"], "tags[]=", "tags[]=x tags[]=y"),
            (&[], "n=", "n=1 n=one"),
            (&["kind=a"], "n=", "n=1"),
            (&["kind=b"], "n=", "n=one"),
            (&["n=one"], "kind=", "kind=b"),
            (&["kind=a"], "o", ""),
            (&["own=1"], "kind=", "kind=b"),
        ] {
            let given: Vec<String> = given.iter().map(|word| (*word).to_owned()).collect();
            let mut found = arguments(&tool, last, &given);
            found.retain(|proposal| proposal.text.starts_with(last));
            let found: Vec<String> = found.into_iter().map(|proposal| proposal.text).collect();
            assert_eq!(found.join(" "), want, "{given:?} {last}");
        }
    }

    // req: S-COMPLETION
    #[test]
    fn lines_are_split_as_a_shell_does() {
        for (line, want) in [
            ("", &[""][..]),
            ("call", &["call"]),
            ("call ", &["call", ""]),
            ("call  demo add", &["call", "demo", "add"]),
            ("read 'my notes' x", &["read", "my notes", "x"]),
            ("read 'my no", &["read", "my no"]),
            ("a \"b\\\"c\" d\\ e", &["a", "b\"c", "d e"]),
            ("a '' ", &["a", "", ""]),
        ] {
            assert_eq!(split(line), want, "{line:?}");
        }
    }
}
