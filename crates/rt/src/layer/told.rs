//! What a layer answers in a handler's place: a sentence that the model reads where a tool was called, else an error.

use std::time::Duration;

use polyport_proto::outcome::shorten;
use polyport_proto::{Outcome, RpcError};
use polyport_wire::{Raw, write};

use super::Next;
use crate::context::Context;
use crate::handler::DynHandler;

/// The sentence as a result with `isError` where a tool was called; else the error.
pub(super) fn outcome(
    next: &Next,
    context: &Context,
    method: &str,
    sentence: &str,
    error: impl FnOnce() -> RpcError,
) -> Outcome {
    told(&*next.0, context, method, sentence, error)
}

/// The same for who has the handler itself.
pub(crate) fn told(
    handler: &dyn DynHandler,
    context: &Context,
    method: &str,
    sentence: &str,
    error: impl FnOnce() -> RpcError,
) -> Outcome {
    if method != "tools/call" {
        return Outcome::Failed(error());
    }
    let mut out = b"{\"content\":[{\"type\":\"text\",\"text\":".to_vec();
    write::string(&mut out, sentence);
    out.extend_from_slice(b"}],\"isError\":true");
    let named = context.envelope().profile().server_info_in_results;
    let meta = handler.result_meta_dyn();
    if named && !meta.is_empty() {
        out.extend_from_slice(b",\"_meta\":{");
        out.extend_from_slice(meta.as_bytes());
        out.push(b'}');
    }
    out.push(b'}');
    Outcome::Complete(Raw::trusted(out))
}

/// What a call is for, as a sentence begins with it.
pub(super) fn subject(method: &str, name: Option<&str>) -> String {
    match (method, name) {
        ("tools/call", Some(name)) => format!("The tool {}", shorten(name)),
        ("prompts/get", Some(name)) => format!("The prompt {}", shorten(name)),
        _ => method.to_owned(),
    }
}

/// A time as a person says it.
pub(super) fn seconds(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{} ms", time.as_millis())
    }
}
