//! How a verb fails: a sentence, what to do about it, and the exit code that a script can rely on.

use std::fmt::Display;
use std::process::ExitCode;

use crate::ui;

/// A verb that did not do what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    code: u8,
}

impl Failure {
    /// The command line or what it names is wrong (exit 2).
    pub(crate) fn usage(message: impl Display) -> Self {
        Self {
            message: message.to_string(),
            hint: None,
            code: 2,
        }
    }

    /// Something that should not happen, or calls that did not end (exit 1).
    pub(crate) fn unexpected(message: impl Display) -> Self {
        Self {
            code: 1,
            ..Self::usage(message)
        }
    }

    /// The same with another exit code.
    pub(crate) fn code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// What went wrong.
    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// Says it on standard error.
    pub(crate) fn report(&self) -> ExitCode {
        let mut text = format!("error: {}\n", self.message);
        if let Some(hint) = &self.hint {
            text.push_str(&format!("  hint: {hint}\n"));
        }
        ui::say(&text);
        ExitCode::from(self.code)
    }
}
