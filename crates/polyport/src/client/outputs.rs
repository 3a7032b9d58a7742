//! Holds results of tools to the output schemas that the list of tools has for them (server/tools, Output Schema).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use polyport_model::{CallToolResult, Tool};
use serde_json::Value;

use super::{Client, ClientError};
use crate::schema::lazy::Lazy;

/// Tools whose schema is known; the rest of a longer list is not held to theirs.
const MAX_TOOLS: usize = 1_000;

/// The output schemas of the tools that were listed last.
pub(super) struct Outputs {
    is_on: bool,
    known: Mutex<HashMap<String, Arc<Lazy>>>,
}

impl Outputs {
    /// Off, nothing is known.
    pub(super) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            known: Mutex::default(),
        }
    }

    pub(super) fn note(&self, tools: &[Tool]) {
        if !self.is_on {
            return;
        }
        let promised = |tool: &Tool| {
            let schema: Value = serde_json::to_value(tool.output_schema.as_ref()?).ok()?;
            Some((tool.name.clone(), Arc::new(Lazy::new(&schema))))
        };
        let known = tools.iter().filter_map(promised).take(MAX_TOOLS);
        *self.known() = known.collect();
    }

    /// Why this is not what the tool says that it answers.
    fn misfit(&self, tool: &str, result: &CallToolResult) -> Option<String> {
        // An error is told in words.
        if result.is_error == Some(true) {
            return None;
        }
        let schema = self.known().get(tool).cloned()?;
        let Some(structured) = &result.structured_content else {
            return Some("there is no structured result".to_owned());
        };
        // What cannot be read is no judge.
        let validator = schema.validator().ok()?;
        let invalid = validator.check(structured.as_str()).err()?;
        if invalid.undecided {
            return None;
        }
        let places = invalid.violations.iter();
        let places = places.map(|violation| match &*violation.pointer {
            "" => violation.message.clone(),
            pointer => format!("{pointer}: {}", violation.message),
        });
        Some(places.collect::<Vec<_>>().join("; "))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Arc<Lazy>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// The same result, if it is what the tool says that it answers; [`call_tool`](Self::call_tool) does this by itself. What tools say
    /// is known once they have been [listed](Self::tools): until then everything fits, and so does a result that says that the
    /// tool failed.
    ///
    /// # Errors
    /// [`ClientError::Misfit`], with the result in it.
    pub fn check_output(
        &self,
        tool: &str,
        result: CallToolResult,
    ) -> Result<CallToolResult, ClientError> {
        match self.outputs.misfit(tool, &result) {
            None => Ok(result),
            Some(why) => Err(ClientError::Misfit {
                tool: tool.to_owned(),
                why,
                result: Box::new(result),
            }),
        }
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outputs")
            .field("is_on", &self.is_on)
            .field("known", &self.known().len())
            .finish()
    }
}
