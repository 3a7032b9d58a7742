//! The merged lists, page by page.

use polyport::{Call, Outcome, Raw, RpcError, cursor};
use polyport_proto::older;
use serde_json::json;

use crate::catalogue::Kind;
use crate::peer::Peer;

/// Entries of a page.
const PAGE: usize = 1_000;

/// A page of one of the lists.
pub(crate) async fn page(peer: &Peer, kind: Kind, call: &Call) -> Outcome {
    let profile = call.context.envelope().profile();
    let start = match call.params.cursor() {
        None => 0,
        Some(text) => match cursor::decode(&text) {
            Some((part, from)) if part == kind as usize => match from.parse::<usize>() {
                Ok(from) => from,
                Err(_) => return Outcome::Failed(unknown(kind)),
            },
            _ => return Outcome::Failed(unknown(kind)),
        },
    };
    let fetched = peer.list(kind, start > 0).await;
    let entries = &fetched.merged.entries;
    let from = start.min(entries.len());
    let to = (from + PAGE).min(entries.len());
    let size: usize = entries[from..to]
        .iter()
        .map(|e| e.as_bytes().len() + 1)
        .sum();
    let mut out = Vec::with_capacity(size + 128);
    out.extend_from_slice(b"{\"");
    out.extend_from_slice(kind.member().as_bytes());
    out.extend_from_slice(b"\":[");
    for (n, entry) in entries[from..to].iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        let older = (kind == Kind::Tools)
            .then(|| older::tool(entry.as_str(), profile))
            .flatten();
        out.extend_from_slice(older.as_deref().unwrap_or(entry.as_bytes()));
    }
    out.push(b']');
    if to < entries.len() {
        let next = cursor::encode(kind as usize, &to.to_string());
        out.extend_from_slice(format!(",\"nextCursor\":\"{next}\"").as_bytes());
    }
    if profile.cache_hints {
        let (ttl, scope) = fetched.hints();
        let (ttl, scope) = (ttl.as_millis(), scope.as_str());
        out.extend_from_slice(format!(",\"ttlMs\":{ttl},\"cacheScope\":\"{scope}\"").as_bytes());
    }
    if !fetched.missing.is_empty() {
        let meta = json!({"polyport/unavailable": fetched.missing});
        out.extend_from_slice(format!(",\"_meta\":{meta}").as_bytes());
    }
    out.push(b'}');
    Outcome::Complete(Raw::trusted(out))
}

fn unknown(kind: Kind) -> RpcError {
    let list = kind.member();
    RpcError::invalid_params(format!("{list}: the cursor is not one of ours"))
}
