//! `polyport help`: says more of a verb, or of a topic.

use std::process::ExitCode;

use clap::{Args, CommandFactory};

use crate::failure::Failure;
use crate::topics;
use crate::{Cli, printing};

/// Say more of a verb, or of a topic: args, config, exit-codes, server, variables
#[derive(Debug, Args)]
pub(crate) struct Help {
    /// A verb, or a topic
    #[arg(value_name = "VERB|TOPIC")]
    words: Vec<String>,
}

impl Help {
    /// Prints it.
    ///
    /// # Errors
    /// There is no such verb or topic.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let topic = match &self.words[..] {
            [word] => topics::ALL.iter().find(|topic| topic.name == word),
            _ => None,
        };
        let mut program = Cli::command();
        program.build();
        // What is a verb and a topic is both.
        let is_verb = |word: &String| program.find_subcommand(word).is_some();
        if let Some(topic) = topic.filter(|_| !self.words.iter().all(is_verb)) {
            printing::out(topic.text().as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut verb = &mut program;
        for (nth, word) in self.words.iter().enumerate() {
            let mut names: Vec<String> = verb
                .get_subcommands()
                .filter(|verb| !verb.is_hide_set())
                .map(|verb| verb.get_name().to_owned())
                .collect();
            let is_topic = topics::ALL.iter().any(|topic| topic.name == word);
            let of = match nth {
                0 => {
                    names.extend(topics::ALL.iter().map(|topic| topic.name.to_owned()));
                    None
                }
                _ => Some(verb.get_name().to_owned()),
            };
            verb = verb.find_subcommand_mut(word).ok_or_else(|| match of {
                None => Failure::usage(format!("there is no verb and no topic {word}"))
                    .hint(super::instead(word, &names)),
                Some(of) => {
                    Failure::usage(format!("{of} has no verb {word}")).hint(match is_topic {
                        true => format!("{word} is a topic by itself: polyport help {word}"),
                        false => super::instead(word, &names),
                    })
                }
            })?;
        }
        let mut text = verb.render_help().to_string();
        if let Some(topic) = topic {
            text = format!("{text}\n{}", topic.text());
        }
        printing::out(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
