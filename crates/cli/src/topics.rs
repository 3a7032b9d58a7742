//! What `polyport help` says beside the verbs: one text for each topic. Every command in them is run by a test.

use crate::exit;

/// A topic.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    text: &'static str,
}

/// All of them.
pub(crate) const ALL: &[Topic] = &[
    Topic {
        name: "args",
        about: "How arguments of tools are written",
        text: include_str!("topics/args.txt"),
    },
    Topic {
        name: "config",
        about: "How servers get names",
        text: include_str!("topics/config.txt"),
    },
    Topic {
        name: "exit-codes",
        about: "What the exit codes mean",
        text: include_str!("topics/exit-codes.txt"),
    },
    Topic {
        name: "server",
        about: "What may stand for a server",
        text: include_str!("topics/server.txt"),
    },
    Topic {
        name: "variables",
        about: "What ${NAME} and its like stand for in a configuration",
        text: include_str!("topics/variables.txt"),
    },
];

impl Topic {
    /// The whole text.
    pub(crate) fn text(&self) -> String {
        let codes: Vec<String> = exit::ALL
            .iter()
            .map(|exit| format!("  {:>3}  {:<14}  {}", exit.code, exit.name, exit.meaning))
            .collect();
        self.text.replace("{exit-codes}", &codes.join("\n"))
    }
}
