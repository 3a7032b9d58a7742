//! Holds results to the types of results that both sides know (basic, Results). What a result of such a type says is not known here.

use polyport_wire::{Raw, splice};
use serde::de::DeserializeOwned;

use super::{Client, ClientError, unreadable};

/// The type of a result that is one.
const COMPLETE: &str = "complete";
/// The type of a state of a task, in the words of some servers.
const TASK: &str = "task";

impl Client {
    /// Is this a result? In the modern era each says of which type it is, and one of a type that nobody has agreed on is invalid. Typed
    /// requests do this by themselves; [`request_raw`](Self::request_raw) leaves it to whoever reads the text.
    ///
    /// # Errors
    /// [`ClientError::UnknownResult`].
    pub fn check_result(&self, result: &Raw) -> Result<(), ClientError> {
        self.check_kind(result, &[COMPLETE])
    }

    /// A result in the types of the specification.
    pub(super) fn typed<T: DeserializeOwned>(&self, result: &Raw) -> Result<T, ClientError> {
        self.check_result(result)?;
        result.decode().map_err(|error| unreadable(&error))
    }

    /// Is this the state of a task, by its type?
    pub(super) fn check_state(&self, state: &Raw) -> Result<(), ClientError> {
        self.check_kind(state, &[COMPLETE, TASK])
    }

    fn check_kind(&self, result: &Raw, known: &[&str]) -> Result<(), ClientError> {
        let text = result.as_str();
        if !self.opened.revision.profile().result_type || !text.contains("resultType") {
            return Ok(());
        }
        let mut kind = None;
        splice::members(text, |name, value| {
            if name == "resultType" {
                kind = Some(value);
            }
        });
        let Some(kind) = kind else { return Ok(()) };
        let said: Option<String> = serde_json::from_str(kind).ok();
        if said.is_some_and(|said| known.contains(&&*said)) {
            return Ok(());
        }
        let shown = kind.chars().take(SHOWN).collect();
        Err(ClientError::UnknownResult(shown))
    }
}

/// Characters of a type that are shown.
const SHOWN: usize = 80;
