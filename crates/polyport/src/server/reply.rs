//! Results of tools: from what an author's function returns to the text that is sent, within what the client's revision knows.

use std::borrow::Cow;

use polyport_model::{Content, Object};
use polyport_proto::revision::{Profile, Structured};
use polyport_proto::{Outcome, older};
use polyport_rt::fault::internal;
use polyport_wire::{Raw, write};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Facts;
use super::output::Output;
use super::result::{Blocks, ToolResult};
use crate::error::{Fault, FaultKind, ToolError, ToolErrorKind};
use crate::schema::output_schema;

/// What a tool's function may return.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not the result of a tool",
    note = "return a text, `Json(value)`, `Content`, a `ToolResult`, or a `Result` of these whose error is a `ToolError`, a `Fault` or any `std::error::Error`"
)]
pub trait IntoToolResult {
    /// The schema of its structured value, as it is listed.
    fn output_schema() -> Option<Value> {
        None
    }

    /// The result.
    fn into_tool_result(self) -> Result<ToolResult, ToolError>;
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(self))
    }
}

impl IntoToolResult for &'static str {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(self))
    }
}

impl IntoToolResult for Cow<'static, str> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(self))
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::content(vec![self]))
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::content(self))
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::default())
    }
}

/// For functions that fail in their own way.
#[diagnostic::do_not_recommend]
impl<T: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn output_schema() -> Option<Value> {
        T::output_schema()
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        self.map_err(Into::into)?.into_tool_result()
    }
}

/// A structured result: `structuredContent`, its schema in the list, and the JSON as text for clients that read only that.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn output_schema() -> Option<Value> {
        Some(output_schema(
            schemars::SchemaGenerator::new(
                schemars::generate::SchemaSettings::draft2020_12().for_serialize(),
            )
            .into_root_schema_for::<T>(),
        ))
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::structured(&self.0).map_err(Fault::internal)?)
    }
}

/// Ends a tool call.
pub(crate) fn tool_outcome(
    result: Result<ToolResult, ToolError>,
    output: Option<&Output>,
    profile: &Profile,
    facts: &Facts,
) -> Outcome {
    let result = match result {
        Ok(result) => result,
        Err(ToolError(ToolErrorKind::Told(result))) => result.as_error(),
        Err(ToolError(ToolErrorKind::Fault(fault))) => return fault_outcome("tools/call", fault),
    };
    // server/tools, Output Schema: who declares one must give what it describes.
    if let Some(output) = output.filter(|_| !result.is_error)
        && let Err(cause) = output.check(result.structured.as_ref(), facts.checks_output)
    {
        return internal("tools/call", &cause);
    }
    Outcome::Complete(render(&result, profile, &facts.info))
}

/// Ends a call that failed.
pub(crate) fn fault_outcome(method: &'static str, fault: Fault) -> Outcome {
    match fault.0 {
        FaultKind::Rpc(error) => Outcome::Failed(error),
        FaultKind::Internal(cause) => internal(method, &cause),
        FaultKind::NeedInput(need) => Outcome::NeedInput(need),
    }
}

fn render(result: &ToolResult, profile: &Profile, info: &str) -> Raw {
    let size = match &result.content {
        Blocks::Text(text) => text.len() + text.len() / 16,
        Blocks::Many(_) => 256,
    };
    let mut out = Vec::with_capacity(size + info.len() + 160);
    out.extend_from_slice(b"{\"content\":[");
    match &result.content {
        Blocks::Text(text) => text_block(&mut out, text),
        Blocks::Many(blocks) => {
            for (i, block) in blocks.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                content_block(&mut out, block, i + 1, profile);
            }
        }
    }
    out.push(b']');
    if let Some(structured) = result.structured.as_ref().filter(|s| fits(s, profile)) {
        out.extend_from_slice(b",\"structuredContent\":");
        out.extend_from_slice(structured.as_bytes());
    }
    if result.is_error {
        out.extend_from_slice(b",\"isError\":true");
    }
    meta(&mut out, result.meta.as_ref(), profile, info);
    out.push(b'}');
    Raw::trusted(out)
}

/// May this value be the `structuredContent` of the revision? Where not, its text is there.
fn fits(structured: &Raw, profile: &Profile) -> bool {
    match profile.structured {
        Structured::Absent => false,
        Structured::Object => structured.is_object(),
        Structured::Any => true,
    }
}

pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Adds `,"_meta":{…}` with the server's name where the revision wants it.
pub(crate) fn meta(out: &mut Vec<u8>, meta: Option<&Object>, profile: &Profile, info: &str) {
    let named = profile.server_info_in_results;
    if !named && meta.is_none() {
        return;
    }
    out.extend_from_slice(b",\"_meta\":{");
    if named {
        write::string(out, SERVER_INFO);
        out.push(b':');
        out.extend_from_slice(info.as_bytes());
    }
    let theirs = meta.into_iter().flat_map(Object::iter);
    // Who the server is, is ours to say.
    let theirs = theirs.filter(|(key, _)| !named || *key != SERVER_INFO);
    for (i, (key, value)) in theirs.enumerate() {
        if named || i > 0 {
            out.push(b',');
        }
        write::string(out, key);
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
    }
    out.push(b'}');
}

fn text_block(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
    write::string(out, text);
    out.push(b'}');
}

/// A block as the revision knows it; `nth` tells those of one result apart.
pub(crate) fn content_block(out: &mut Vec<u8>, block: &Content, nth: usize, profile: &Profile) {
    if matches!(block, Content::ToolUse(_) | Content::ToolResult(_)) {
        return text_block(out, "[a block that only a model's own messages may hold]");
    }
    match serde_json::to_string(block) {
        Ok(text) => match older::block(&text, nth, profile) {
            Some(said) => out.extend_from_slice(&said),
            None => out.extend_from_slice(text.as_bytes()),
        },
        Err(error) => text_block(
            out,
            &format!("[content that could not be written: {error}]"),
        ),
    }
}
