//! The few forms of argument that verbs take: `--flag`, `--name VALUE`, and the rest. Knows no verb.

/// Arguments not yet taken.
#[derive(Debug)]
pub(crate) struct Args {
    left: Vec<String>,
}

impl Args {
    /// Of a verb, without its name.
    pub(crate) fn new(arguments: &[String]) -> Self {
        Self {
            left: arguments.to_vec(),
        }
    }

    /// Whether `--flag` was given.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.left.len();
        self.left.retain(|argument| argument != name);
        self.left.len() != before
    }

    /// The word after `--name`.
    pub(crate) fn value(&mut self, name: &str) -> Result<Option<String>, String> {
        let Some(at) = self.left.iter().position(|argument| argument == name) else {
            return Ok(None);
        };
        if at + 1 >= self.left.len() {
            return Err(format!("{name} needs a value"));
        }
        self.left.remove(at);
        Ok(Some(self.left.remove(at)))
    }

    /// The number after `--name`.
    pub(crate) fn number(&mut self, name: &str, default: u64) -> Result<u64, String> {
        match self.value(name)? {
            None => Ok(default),
            Some(text) => text
                .parse()
                .map_err(|_| format!("{name} takes a whole number, not `{text}`")),
        }
    }

    /// What is left when no option is.
    pub(crate) fn words(self) -> Result<Vec<String>, String> {
        match self.left.iter().find(|argument| argument.starts_with('-')) {
            Some(unknown) => Err(format!("unknown option {unknown}")),
            None => Ok(self.left),
        }
    }

    /// Nothing may be left.
    pub(crate) fn none(self) -> Result<(), String> {
        match self.left.first() {
            Some(extra) => Err(format!("does not take `{extra}`")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Args;

    #[test]
    fn options_are_taken_and_the_rest_is_named() {
        let words = ["a", "--secs", "7", "--full", "b"].map(String::from);
        let mut args = Args::new(&words);
        assert!(args.flag("--full"));
        assert!(!args.flag("--full"));
        assert_eq!(args.number("--secs", 60), Ok(7));
        assert_eq!(args.number("--minutes", 5), Ok(5));
        assert_eq!(args.words(), Ok(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn what_is_unknown_is_refused() {
        let args = Args::new(&["--wat".to_owned()]);
        assert_eq!(args.words(), Err("unknown option --wat".to_owned()));
        let mut args = Args::new(&["--secs".to_owned()]);
        assert_eq!(
            args.number("--secs", 1),
            Err("--secs needs a value".to_owned())
        );
    }
}
