//! What results hold, as parts for people: texts, tables, and what is no text.

use polyport::Raw;
use polyport::model::{
    CallToolResult, Content, LogParams, PromptMessage, ResourceBody, ResourceContents,
};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::table::Table;
use crate::ui;

/// Columns of one table.
const COLUMNS: usize = 64;

/// A piece of a result.
#[derive(Debug, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Bytes { kind: String, bytes: Vec<u8> },
}

/// What a tool answered: a table where that is what it is, else its blocks, else its structured result. With it the rows of the
/// table.
///
/// # Errors
/// What should be base64 is none.
pub(crate) fn tool_result(result: &CallToolResult) -> Result<(Vec<Part>, Option<usize>), Failure> {
    if let Some((table, others)) = table_of(result) {
        let text = match ui::width() {
            None if others.is_empty() => Some(table.tabbed()),
            // A program would miss what stands beside the rows.
            None => None,
            Some(width) => Some(table.fitted(width) + &others),
        };
        if let Some(text) = text {
            return Ok((vec![Part::Text(text)], Some(table.len())));
        }
    }
    let mut parts = Vec::new();
    for block in &result.content {
        parts.extend(part(block)?);
    }
    if parts.is_empty()
        && let Some(structured) = &result.structured_content
    {
        parts.push(Part::Text(structured.as_str().to_owned()));
    }
    Ok((parts, None))
}

/// Messages by their roles.
///
/// # Errors
/// What should be base64 is none.
pub(crate) fn messages(messages: &[PromptMessage]) -> Result<Vec<Part>, Failure> {
    let mut parts = Vec::new();
    for (nth, message) in messages.iter().enumerate() {
        let gap = if nth > 0 { "\n" } else { "" };
        parts.push(Part::Text(format!("{gap}[{}]", message.role.as_str())));
        parts.extend(part(&message.content)?);
    }
    Ok(parts)
}

/// What a resource holds, one after the other: text as it is, bytes as bytes.
///
/// # Errors
/// What should be base64 is none.
pub(crate) fn contents(contents: &[ResourceContents]) -> Result<Vec<u8>, Failure> {
    let mut all = Vec::new();
    for part in contents {
        match &part.body {
            ResourceBody::Text(text) => all.extend_from_slice(text.as_bytes()),
            ResourceBody::Blob(blob) => all.extend(bytes(blob, &part.uri)?),
        }
    }
    Ok(all)
}

fn part(block: &Content) -> Result<Option<Part>, Failure> {
    let text = |text: &str| Part::Text(text.to_owned());
    Ok(Some(match block {
        Content::Text(block) => text(&block.text),
        Content::ResourceLink(link) => text(&link.uri),
        Content::Resource(embedded) => match &embedded.resource.body {
            ResourceBody::Text(body) => text(body),
            ResourceBody::Blob(blob) => Part::Bytes {
                bytes: bytes(blob, &embedded.resource.uri)?,
                kind: embedded
                    .resource
                    .mime_type
                    .clone()
                    .unwrap_or_else(|| "bytes".to_owned()),
            },
        },
        Content::Image(image) => Part::Bytes {
            kind: image.mime_type.clone(),
            bytes: bytes(&image.data, &image.mime_type)?,
        },
        Content::Audio(audio) => Part::Bytes {
            kind: audio.mime_type.clone(),
            bytes: bytes(&audio.data, &audio.mime_type)?,
        },
        Content::Unknown(raw) => text(raw.as_str()),
        _ => return Ok(None),
    }))
}

fn bytes(base64: &str, what: &str) -> Result<Vec<u8>, Failure> {
    let bytes = data_encoding::BASE64.decode(base64.as_bytes());
    bytes.map_err(|error| {
        Failure::unexpected(format!("{what}: the server sent no base64: {error}"))
            .code(6)
            .hint("--json prints what it sent")
    })
}

/// A structured result that is a list of flat objects, if its text says nothing else; and what stands beside the list, a line each.
fn table_of(result: &CallToolResult) -> Option<(Table, String)> {
    let structured: Value = result.structured_content.as_ref()?.decode().ok()?;
    let says_the_same =
        |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value == structured);
    match &result.content[..] {
        [] => {}
        [Content::Text(block)] if says_the_same(&block.text) => {}
        _ => return None,
    }
    match &structured {
        Value::Array(rows) => Some((table(rows)?, String::new())),
        Value::Object(members) => {
            let is_list = |value: &&Value| value.is_array();
            let mut lists = members.values().filter(is_list);
            let (Some(Value::Array(rows)), None) = (lists.next(), lists.next()) else {
                return None;
            };
            let mut others = String::new();
            for (name, value) in members.iter().filter(|(_, value)| !value.is_array()) {
                if value.is_object() {
                    return None;
                }
                others.push_str(&format!("{name}: {}\n", cell(value)));
            }
            Some((table(rows)?, others))
        }
        _ => None,
    }
}

fn table(rows: &[Value]) -> Option<Table> {
    let rows: Vec<&Map<String, Value>> =
        rows.iter().map(Value::as_object).collect::<Option<_>>()?;
    let mut names: Vec<&String> = Vec::new();
    for name in rows.iter().flat_map(|row| row.keys()) {
        if !names.contains(&name) {
            names.push(name);
        }
        if names.len() > COLUMNS {
            return None;
        }
    }
    if names.is_empty() {
        return None;
    }
    let mut table = Table::new(names.iter().map(|name| name.as_str()));
    let mut is_number = vec![true; names.len()];
    for row in rows {
        if row
            .values()
            .any(|value| value.is_object() || value.is_array())
        {
            return None;
        }
        let cells = names.iter().map(|name| row.get(*name));
        for (nth, value) in cells.clone().enumerate() {
            is_number[nth] &= value.is_none_or(|value| value.is_number() || value.is_null());
        }
        table.row(cells.map(|value| value.map(cell).unwrap_or_default()));
    }
    for (column, _) in is_number.iter().enumerate().filter(|(_, number)| **number) {
        table.right(column);
    }
    Some(table)
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A log message on one line.
pub(crate) fn log(log: &LogParams) -> String {
    let logger = log.logger.as_ref().map(|logger| format!(" [{logger}]"));
    let data: Option<Value> = log.data.decode().ok();
    let text = match &data {
        Some(Value::String(text)) => text.replace('\n', " "),
        _ => log.data.as_str().to_owned(),
    };
    format!("{}{}: {text}", log.level, logger.unwrap_or_default())
}

/// The same as a document of ours, where the protocol has none.
pub(crate) fn document(value: &Value) -> Raw {
    Raw::trusted(value.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answered(result: Value) -> String {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        let (parts, _) = tool_result(&result).unwrap();
        let texts = parts.into_iter().map(|part| match part {
            Part::Text(text) => text,
            Part::Bytes { kind, bytes } => format!("<{kind} {}>", bytes.len()),
        });
        texts.collect::<Vec<_>>().join("|")
    }

    // req: S-TABLE
    #[test]
    fn a_list_of_flat_objects_is_a_table() {
        let rows = json!([{"a": 1, "b": "x"}, {"a": null, "c": true}]);
        let table = "a\tb\tc\n1\tx\t\n\t\ttrue\n";
        for (content, structured, want) in [
            (json!([]), rows.clone(), table),
            (json!([]), json!({"rows": rows}), table),
            (
                json!([{"type": "text", "text": rows.to_string()}]),
                rows.clone(),
                table,
            ),
            // Its text says something else.
            (json!([{"type": "text", "text": "two"}]), rows, "two"),
            // A program would miss the total.
            (
                json!([]),
                json!({"rows": [{"a": 1}], "total": 7}),
                "{\"rows\":[{\"a\":1}],\"total\":7}",
            ),
            (
                json!([]),
                json!({"rows": [{"a": {}}]}),
                "{\"rows\":[{\"a\":{}}]}",
            ),
            (json!([]), json!([1, 2]), "[1,2]"),
            (json!([]), json!([]), "[]"),
            (
                json!([{"type": "image", "data": "AAAA", "mimeType": "image/png"}]),
                json!({}),
                "<image/png 3>",
            ),
        ] {
            let result = json!({"content": content, "structuredContent": structured});
            assert_eq!(answered(result.clone()), want, "{result}");
        }
    }
}
