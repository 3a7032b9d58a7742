//! What a tool has promised of its structured value, and whether a value keeps it. Not what becomes of one that does not.

use std::fmt::Write as _;

use polyport_wire::Raw;
use serde_json::Value;

use crate::schema::lazy::Lazy;

/// The output schema of a tool.
pub(crate) struct Output {
    tool: String,
    schema: Lazy,
}

impl Output {
    pub(crate) fn new(tool: &str, schema: &Value) -> Self {
        Self {
            tool: tool.to_owned(),
            schema: Lazy::new(schema),
        }
    }

    /// Is this what was promised? What is there is looked into only if `closely`.
    ///
    /// # Errors
    /// It is not: the tool, where in the value, and which rule of the schema. No value is shown, for it goes to our log.
    pub(crate) fn check(&self, structured: Option<&Raw>, closely: bool) -> Result<(), String> {
        let tool = &self.tool;
        let Some(structured) = structured else {
            return Err(format!(
                "the tool {tool:?} declares an output schema but gave no structured value"
            ));
        };
        if !closely {
            return Ok(());
        }
        let validator = self
            .schema
            .validator()
            .map_err(|error| format!("the output schema of the tool {tool:?}: {error}"))?;
        match validator.check(structured.as_str()) {
            Ok(()) => Ok(()),
            // Too much to tell is no fault of the tool.
            Err(invalid) if invalid.undecided => Ok(()),
            Err(_) => {
                let mut cause =
                    format!("the tool {tool:?} gave what its output schema does not allow");
                for (place, rule) in validator.places(structured.as_str()) {
                    let (place, rule) = (place.escape_debug(), rule.escape_debug());
                    let _ = write!(cause, "; at #{place} by #{rule}");
                }
                Err(cause)
            }
        }
    }
}
