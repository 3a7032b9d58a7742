//! Arguments of tools that are mirrored in headers, where the connection has headers (2026-07-28, basic/transports/streamable-http,
//! Custom Headers). A tool that marks them wrongly cannot be called there, and is left out.

use std::sync::Arc;

use polyport_model::Tool;
use polyport_proto::http::HeaderParam;
use polyport_wire::{Raw, splice};

use super::Client;
use crate::schema::mirrored;

/// The name of a tool, and its arguments that are mirrored.
pub type Marked = (String, Arc<[HeaderParam]>);

/// The name of a tool as it is listed, and which of its arguments are mirrored; none where none are.
///
/// # Errors
/// What is wrong with the first mark that makes the tool unusable over HTTP.
pub fn marked_arguments(tool: &str) -> Result<Option<Marked>, String> {
    if !tool.contains("x-mcp-header") || !tool.starts_with('{') {
        return Ok(None);
    }
    let schema = splice::member(tool, "inputSchema").unwrap_or("{}");
    let name = splice::member(tool, "name").and_then(|name| serde_json::from_str(name).ok());
    let schema = serde_json::from_str(schema).map_err(|error| error.to_string())?;
    let found = mirrored::header_params(&schema)?;
    Ok(name
        .filter(|_| !found.is_empty())
        .map(|name| (name, found.into())))
}

impl Client {
    /// Does it mirror arguments in headers?
    pub(super) fn mirrors(&self) -> bool {
        self.opened.revision.profile().mirrored_headers && self.has_headers
    }

    pub(super) fn mirror(&self, tools: impl IntoIterator<Item = Marked>) {
        self.caller.mirror(tools);
    }

    /// Notes which arguments are mirrored. What cannot be called is left out.
    pub(super) fn mirroring(&self, mut tools: Vec<Tool>) -> Vec<Tool> {
        if !self.mirrors() {
            return tools;
        }
        let mut found = Vec::new();
        tools.retain(|tool| {
            let schema = serde_json::to_value(&tool.input_schema).unwrap_or_default();
            let params = mirrored::header_params(&schema);
            let params = params.map(|params| (!params.is_empty()).then_some(params));
            is_usable(&tool.name, params, |params| {
                found.push((tool.name.clone(), params.into()));
            })
        });
        self.mirror(found);
        tools
    }

    /// The same of tools as they came.
    pub(super) fn mirroring_raw(&self, mut tools: Vec<Raw>) -> Vec<Raw> {
        if !self.mirrors() {
            return tools;
        }
        let mut found = Vec::new();
        tools.retain(|tool| is_usable("", marked_arguments(tool.as_str()), |it| found.push(it)));
        self.mirror(found);
        tools
    }
}

fn is_usable<T>(name: &str, marked: Result<Option<T>, String>, mut on: impl FnMut(T)) -> bool {
    match marked {
        Ok(marked) => {
            marked.into_iter().for_each(&mut on);
            true
        }
        Err(why) => {
            tracing::warn!(tool = name, why, "a tool is left out");
            false
        }
    }
}
