//! How a verb fails: a sentence, what to do about it, and the exit code that a script can rely on.

use std::fmt::Display;
use std::process::ExitCode;

use serde_json::json;

use crate::{exit, secrets, ui};

/// A verb that did not do what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    server: Option<String>,
    code: u8,
}

impl Failure {
    /// The command line or what it names is wrong (exit 2).
    pub(crate) fn usage(message: impl Display) -> Self {
        Self {
            message: message.to_string(),
            hint: None,
            server: None,
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

    /// Whoever reads what is printed has enough (`… | head`): the end, and no failure.
    pub(crate) fn nobody_reads() -> Self {
        Self::usage("nobody reads the result").code(0)
    }

    /// The same with another exit code.
    pub(crate) fn code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// What went wrong.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> u8 {
        self.code
    }

    /// What can be done about it, if that is known.
    pub(crate) fn remedy(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// What to do about it.
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// The server with which it happened, as it was named.
    pub(crate) fn at(mut self, server: &str) -> Self {
        self.server = Some(server.to_owned());
        self
    }

    /// Says it on standard error: one JSON object with `--json`, else for people.
    pub(crate) fn report(&self) -> ExitCode {
        if self.code == 0 {
            return ExitCode::SUCCESS;
        }
        if ui::is_document() {
            let message = secrets::hidden(&self.message);
            let mut error = json!({"code": exit::name(self.code), "message": message});
            for (name, text) in [("hint", &self.hint), ("server", &self.server)] {
                if let Some(text) = text {
                    error[name] = json!(secrets::hidden(text));
                }
            }
            ui::line(&json!({"error": error}).to_string());
        } else {
            self.tell();
        }
        ExitCode::from(self.code)
    }

    /// Says it for people, where it is not the end.
    pub(crate) fn tell(&self) {
        if ui::is_document() {
            return;
        }
        self.say("error");
    }

    /// Says it for people, where what there was to do is done all the same but for this.
    pub(crate) fn warn(&self) {
        self.say("warning");
    }

    fn say(&self, kind: &str) {
        let mut text = format!("{kind}: {}\n", self.message);
        if let Some(hint) = &self.hint {
            text.push_str(&format!("  hint: {hint}\n"));
        }
        ui::say(&secrets::hidden(&text));
    }
}
