//! Arguments that a server's tools want mirrored in headers, as the lists that passed say: for the headers that come here, and for those
//! that we send.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use polyport_proto::http::HeaderParam;
use polyport_wire::{Params, Raw, splice};
use serde_json::value::RawValue;

use super::super::Client;
use super::super::marked::marked_arguments;

/// Tools that are remembered: as many as fit a list that a client reads whole.
const MAX_TOOLS: usize = 100_000;

#[derive(Default)]
pub(super) struct Marks(Mutex<HashMap<String, Arc<[HeaderParam]>>>);

impl Marks {
    pub(super) fn of(&self, tool: &str) -> Option<Arc<[HeaderParam]>> {
        let tools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tools.get(tool).cloned()
    }

    /// Notes those of a page, which was asked for so. Some: the page without the tools that nobody can call, since their marks are wrong
    /// and we would have to send what they mark.
    pub(super) fn note(&self, params: &Params, page: &Raw, client: &Client) -> Option<Raw> {
        let text = page.as_str();
        let is_first = params.cursor().is_none();
        if !text.contains("x-mcp-header") {
            if is_first {
                self.0
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clear();
            }
            return None;
        }
        let list = splice::member(text, "tools")?;
        let entries: Vec<&RawValue> = serde_json::from_str(list).ok()?;
        let (mut kept, mut found) = (Vec::new(), Vec::new());
        for entry in &entries {
            match marked_arguments(entry.get()) {
                Err(why) if client.mirrors() => {
                    tracing::warn!(why, "a tool is left out");
                    continue;
                }
                Ok(Some((name, params))) => found.push((name, params)),
                _ => {}
            }
            kept.push(entry.get());
        }
        {
            let mut tools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if is_first {
                tools.clear();
            }
            let room = MAX_TOOLS.saturating_sub(tools.len());
            tools.extend(found.into_iter().take(room));
            if client.mirrors() {
                client.mirror(
                    tools
                        .iter()
                        .map(|(name, params)| (name.clone(), params.clone())),
                );
            }
        }
        if kept.len() == entries.len() {
            return None;
        }
        let mut out = Vec::new();
        let list_without = format!("[{}]", kept.join(","));
        let at = splice::place(text, list);
        splice::replace(text.as_bytes(), &[(at, list_without.as_bytes())], &mut out);
        Some(Raw::trusted(out))
    }
}
