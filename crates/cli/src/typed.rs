//! How a server was named, so that other command lines for it can be shown.

use crate::ui;

/// The options and the words of a command line that reach one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Typed {
    /// Quoted for a shell already.
    pub(crate) options: Vec<String>,
    pub(crate) server: Vec<String>,
}

impl Typed {
    /// The line that shows what the server has.
    pub(crate) fn lists(&self) -> String {
        format!("{} lists what there is", self.line("ls", &[], &[]))
    }

    /// A line for a shell with another verb; its options and words are quoted already.
    pub(crate) fn line(&self, verb: &str, options: &[String], words: &[String]) -> String {
        let server: Vec<String> = self.server.iter().map(|word| ui::word(word)).collect();
        let verb = ["polyport".to_owned(), verb.to_owned()];
        [&verb[..], &self.options, options, &server, words]
            .concat()
            .join(" ")
    }
}
