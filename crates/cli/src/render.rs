//! Results on standard output, and nothing else there. A reader that is gone ends the program quietly.

use std::io::{self, ErrorKind, Write};

use polyport::Raw;
use polyport::model::{CallToolResult, Content, ResourceBody, ResourceContents};

use crate::failure::Failure;
use crate::ui;

/// Writes to standard output.
///
/// # Errors
/// It cannot be written; not that nobody reads any more.
pub(crate) fn out(text: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::unexpected(format!(
            "cannot write the result: {error}"
        ))),
        _ => Ok(()),
    }
}

/// One JSON document, as it came, on one line.
///
/// # Errors
/// [`out`]
pub(crate) fn json(result: &Raw) -> Result<(), Failure> {
    let mut text = result.as_bytes().to_vec();
    text.push(b'\n');
    out(&text)
}

/// What a tool answered, as text: its blocks, or else its structured result.
///
/// # Errors
/// [`out`]
pub(crate) fn tool_result(result: &CallToolResult) -> Result<(), Failure> {
    let mut text = String::new();
    for block in &result.content {
        match block {
            Content::Text(block) => line(&mut text, &block.text),
            Content::ResourceLink(link) => line(&mut text, &link.uri),
            Content::Resource(embedded) => contents_line(&mut text, &embedded.resource),
            Content::Image(image) => left_out(&image.mime_type, image.data.len()),
            Content::Audio(audio) => left_out(&audio.mime_type, audio.data.len()),
            Content::Unknown(raw) => line(&mut text, raw.as_str()),
            _ => {}
        }
    }
    if text.is_empty()
        && let Some(structured) = &result.structured_content
    {
        line(&mut text, structured.as_str());
    }
    out(text.as_bytes())
}

/// What a resource holds: text as it is, bytes as bytes.
///
/// # Errors
/// [`out`], and bytes that are none.
pub(crate) fn contents(contents: &[ResourceContents]) -> Result<(), Failure> {
    for part in contents {
        match &part.body {
            ResourceBody::Text(text) => out(text.as_bytes())?,
            ResourceBody::Blob(blob) => {
                let bytes = data_encoding::BASE64
                    .decode(blob.as_bytes())
                    .map_err(|error| {
                        Failure::unexpected(format!(
                            "{}: the server sent no base64: {error}",
                            part.uri
                        ))
                        .code(6)
                    })?;
                out(&bytes)?;
            }
        }
    }
    Ok(())
}

fn contents_line(text: &mut String, part: &ResourceContents) {
    match &part.body {
        ResourceBody::Text(body) => line(text, body),
        ResourceBody::Blob(blob) => {
            left_out(part.mime_type.as_deref().unwrap_or("bytes"), blob.len())
        }
    }
}

fn line(text: &mut String, block: &str) {
    text.push_str(block);
    if !block.ends_with('\n') {
        text.push('\n');
    }
}

/// What no terminal shows.
fn left_out(mime_type: &str, base64: usize) {
    let bytes = ui::count(base64 / 4 * 3, "byte");
    ui::say(&format!(
        "note: {mime_type}, {bytes}, is not shown; --json has all of it\n"
    ));
}
