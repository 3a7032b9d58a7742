//! What results hold, as parts for people: texts, tables, and what is no text.

use polyport::Raw;
use polyport::model::{
    CallToolResult, Content, LogParams, Object, PromptMessage, ResourceBody, ResourceContents,
};
use serde_json::Value;

use crate::failure::Failure;
use crate::pieces;
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
/// Numbers are shown as they came: some are longer than any type of numbers.
fn table_of(result: &CallToolResult) -> Option<(Table, String)> {
    let structured = result.structured_content.as_ref()?;
    let value: Value = structured.decode().ok()?;
    let says_the_same =
        |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|said| said == value);
    match &result.content[..] {
        [] => {}
        [Content::Text(block)] if says_the_same(&block.text) => {}
        _ => return None,
    }
    match pieces::kind(structured) {
        "array" => Some((table(structured)?, String::new())),
        "object" => {
            let members: Object = structured.decode().ok()?;
            let (lists, others): (Vec<_>, Vec<_>) = members
                .iter()
                .partition(|(_, value)| pieces::kind(value) == "array");
            let [(_, rows)] = lists[..] else {
                return None;
            };
            let mut beside = String::new();
            for (name, value) in others {
                if pieces::kind(value) == "object" {
                    return None;
                }
                beside.push_str(&format!("{name}: {}\n", cell(value)));
            }
            Some((table(rows)?, beside))
        }
        _ => None,
    }
}

fn table(rows: &Raw) -> Option<Table> {
    let rows: Vec<Object> = rows.decode().ok()?;
    let mut names: Vec<&str> = Vec::new();
    for name in rows.iter().flat_map(Object::names) {
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
    let mut table = Table::new(names.iter().copied());
    let mut is_number = vec![true; names.len()];
    for row in &rows {
        let cells = names.iter().map(|name| row.get(name));
        for (nth, value) in cells.clone().enumerate() {
            match value.map_or("null", pieces::kind) {
                "array" | "object" => return None,
                kind => is_number[nth] &= matches!(kind, "integer" | "null" | "number"),
            }
        }
        table.row(cells.map(|value| value.map(cell).unwrap_or_default()));
    }
    for (column, _) in is_number.iter().enumerate().filter(|(_, number)| **number) {
        table.right(column);
    }
    Some(table)
}

fn cell(value: &Raw) -> String {
    match pieces::kind(value) {
        "null" => String::new(),
        "string" => value.decode().unwrap_or_default(),
        _ => value.as_str().to_owned(),
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

    fn answered(result: &str) -> String {
        let result: CallToolResult = serde_json::from_str(result).unwrap();
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
            assert_eq!(answered(&result.to_string()), want, "{result}");
        }
    }

    // req: S-EXACT
    #[test]
    fn a_table_shows_numbers_as_they_came() {
        let long = "123456789012345678901234567890";
        let rows = format!(r#"[{{"a":{long},"b":1.50}},{{"a":-0,"b":1e2}}]"#);
        assert_eq!(
            answered(&format!(r#"{{"content":[],"structuredContent":{rows}}}"#)),
            format!("a\tb\n{long}\t1.50\n-0\t1e2\n")
        );
    }
}
