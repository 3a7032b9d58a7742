//! Checks of the names and schemas of tools: what hosts and models refuse, before one of them does.

use std::collections::BTreeSet;

use polyport::schema::{Validator, check_marks};
use polyport::{Era, Raw, Revision};
use serde_json::Value;

use super::report::{Check, Report, some};
use crate::failure::Failure;
use crate::ui;

/// Characters of a name that the specification allows, and that every model takes.
const LONGEST: usize = 128;
const LONG: usize = 64;

/// What is wrong with tools, each with its name.
#[derive(Default)]
struct Wrong {
    /// No name, or one that stands twice.
    names: Vec<String>,
    spelling: Vec<String>,
    descriptions: Vec<String>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    marks: Vec<String>,
}

/// Looks at tools as they came.
///
/// # Errors
/// Nobody reads.
pub(super) fn examine(
    report: &mut Report,
    tools: &[Raw],
    revision: Revision,
    has_headers: bool,
) -> Result<(), Failure> {
    if tools.is_empty() {
        return Ok(());
    }
    let mut wrong = Wrong::default();
    let mut seen = BTreeSet::new();
    for (n, tool) in tools.iter().enumerate() {
        let tool: Value = tool.decode().unwrap_or_default();
        wrong.note(&tool, n + 1, &mut seen, revision);
    }
    let all = ui::count(tools.len(), "tool");
    for (id, what, found, code, remedy) in [
        (
            "lint.names",
            "tools have names of their own",
            &wrong.names,
            6,
            "give each tool a name that no other has: a host calls it by that alone",
        ),
        (
            "lint.spelling",
            "names are spelled plainly",
            &wrong.spelling,
            0,
            "letters, digits, _ - and . only, at most 64 of them: models and hosts refuse others",
        ),
        (
            "lint.descriptions",
            "tools are described",
            &wrong.descriptions,
            0,
            "say what it does and when: the model chooses by that",
        ),
        (
            "lint.inputs",
            "input schemas are sound",
            &wrong.inputs,
            6,
            "an inputSchema is {\"type\":\"object\", …} that follows its dialect of JSON Schema",
        ),
        (
            "lint.outputs",
            "output schemas are sound",
            &wrong.outputs,
            6,
            "an outputSchema follows its dialect of JSON Schema; of the legacy era it has \"type\":\"object\"",
        ),
        (
            "lint.marks",
            "marks for headers are legal",
            &wrong.marks,
            if has_headers && revision.profile().mirrored_headers {
                6
            } else {
                0
            },
            "a unique x-mcp-header on a string, integer or boolean; else clients over HTTP leave the tool out",
        ),
    ] {
        report.add(match (found.is_empty(), code) {
            (true, _) => Check::ok(id, what, &*all),
            (false, 0) => Check::warn(id, what, some(found)).remedy(remedy),
            (false, code) => Check::fail(code, id, what, some(found)).remedy(remedy),
        })?;
    }
    Ok(())
}

impl Wrong {
    fn note(&mut self, tool: &Value, n: usize, seen: &mut BTreeSet<String>, revision: Revision) {
        let text = |name: &str| tool.get(name).and_then(Value::as_str).unwrap_or_default();
        let name = match text("name") {
            "" => {
                self.names.push(format!("tool {n} has no name"));
                format!("tool {n}")
            }
            name => {
                if !seen.insert(name.to_owned()) {
                    self.names.push(format!("{name} twice"));
                }
                if let Some(why) = misspelled(name) {
                    self.spelling.push(format!("{name} ({why})"));
                }
                name.to_owned()
            }
        };
        if text("description").trim().is_empty() {
            self.descriptions.push(name.clone());
        }
        match tool.get("inputSchema") {
            None => self.inputs.push(format!("{name} has none")),
            Some(schema) => {
                if let Some(why) = unsound(schema, true) {
                    self.inputs.push(format!("{name}: {why}"));
                }
                if let Err(why) = check_marks(schema) {
                    self.marks.push(format!("{name}: {why}"));
                }
            }
        }
        let is_legacy = revision.profile().era == Era::Legacy;
        if let Some(why) = tool
            .get("outputSchema")
            .and_then(|schema| unsound(schema, is_legacy))
        {
            self.outputs.push(format!("{name}: {why}"));
        }
    }
}

fn misspelled(name: &str) -> Option<String> {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if let Some(odd) = name.chars().find(|c| !is_plain(c)) {
        return Some(format!("{odd:?}"));
    }
    let length = name.len();
    if length > LONGEST {
        return Some(format!("{length} characters, {LONGEST} are allowed"));
    }
    (length > LONG).then(|| format!("{length} characters"))
}

fn unsound(schema: &Value, is_object: bool) -> Option<String> {
    if !schema.is_object() {
        return Some("it is no object".to_owned());
    }
    let kind = schema.get("type");
    if is_object && kind.and_then(Value::as_str) != Some("object") {
        let kind = kind.map_or_else(|| "none".to_owned(), Value::to_string);
        return Some(format!("its type is {kind}, not \"object\""));
    }
    let validator = match Validator::new(schema) {
        Ok(validator) => validator,
        Err(error) => return Some(error.to_string()),
    };
    // What is compiled on first need says so when it is asked.
    let refused = validator.check("{}").err()?.to_string();
    refused
        .contains("does not compile")
        .then_some("it does not compile".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // req: S-DOCTOR
    #[test]
    fn what_is_wrong_with_tools_is_found() {
        let plain = json!({"type": "object"});
        for (tool, want) in [
            (
                json!({"name": "a.b-c_1", "description": "x", "inputSchema": plain}),
                [0, 0, 0, 0, 0, 0],
            ),
            (
                json!({"description": "x", "inputSchema": plain}),
                [1, 0, 0, 0, 0, 0],
            ),
            (
                json!({"name": "twice", "description": "x", "inputSchema": plain}),
                [1, 0, 0, 0, 0, 0],
            ),
            (
                json!({"name": "a b", "description": "x", "inputSchema": plain}),
                [0, 1, 0, 0, 0, 0],
            ),
            (
                json!({"name": "x".repeat(65), "description": "x", "inputSchema": plain}),
                [0, 1, 0, 0, 0, 0],
            ),
            (
                json!({"name": "a", "description": " ", "inputSchema": plain}),
                [0, 0, 1, 0, 0, 0],
            ),
            (json!({"name": "a", "description": "x"}), [0, 0, 0, 1, 0, 0]),
            (
                json!({"name": "a", "description": "x", "inputSchema": {"type": "string"}}),
                [0, 0, 0, 1, 0, 0],
            ),
            (
                json!({"name": "a", "description": "x", "inputSchema": [1]}),
                [0, 0, 0, 1, 0, 0],
            ),
            (
                json!({"name": "a", "description": "x", "inputSchema": {"type": "object", "properties": {"p": {"type": "nothing"}}}}),
                [0, 0, 0, 1, 0, 0],
            ),
            (
                json!({"name": "a", "description": "x", "inputSchema": {"type": "object", "properties": {"p": {"type": "string", "pattern": "("}}}}),
                [0, 0, 0, 1, 0, 0],
            ),
            (
                json!({"name": "a", "description": "x", "inputSchema": plain, "outputSchema": {"type": "array"}}),
                [0, 0, 0, 0, 1, 0],
            ),
            (
                json!({"name": "a", "description": "x", "inputSchema": {"type": "object", "properties": {"p": {"type": "array", "x-mcp-header": "P"}}}}),
                [0, 0, 0, 0, 0, 1],
            ),
        ] {
            let mut wrong = Wrong::default();
            let mut seen = BTreeSet::from(["twice".to_owned()]);
            wrong.note(&tool, 1, &mut seen, Revision::LATEST_LEGACY);
            let found = [
                &wrong.names,
                &wrong.spelling,
                &wrong.descriptions,
                &wrong.inputs,
                &wrong.outputs,
                &wrong.marks,
            ];
            assert_eq!(found.map(Vec::len), want, "{tool} {found:?}");
        }
    }

    #[test]
    fn results_of_any_kind_are_sound_in_the_modern_era() {
        let array = json!({"type": "array"});
        assert!(unsound(&array, false).is_none());
        assert!(unsound(&array, true).is_some());
    }
}
