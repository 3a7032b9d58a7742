//! Tasks of several servers. Their ids are the servers' own, so that they pass as they are: whose a task is is remembered where it was
//! made, and found out by asking where that is not known.

use polyport::{Call, Code, Context, Outcome, Raw, RpcError, cursor};
use polyport_model::method;
use polyport_wire::{Limits, Params, splice, write};

use crate::addresses::text_of;
use crate::peer::Peer;

/// In cursors, what stands for the list of tasks of the first server; those of the others follow.
const PART: usize = 4;

/// A request about a task: for the server that knows it.
pub(crate) async fn about(peer: &Peer, call: Call) -> Outcome {
    let Some(id) = call.params.text().and_then(|text| text_of(text, "taskId")) else {
        let why = format!("{}: taskId is missing or not a text", call.method);
        return Outcome::Failed(RpcError::invalid_params(why));
    };
    let servers = peer.with_tasks(&call.context).await;
    if servers.is_empty() {
        return Outcome::Failed(none(peer, &call.context, call.method));
    }
    if let Some(server) = peer.tasks.server(&id) {
        return peer.pass(server, call).await;
    }
    let mut missing = RpcError::invalid_params(format!("{}: there is no such task", call.method));
    for server in servers {
        let again = Call {
            method: call.method,
            params: call.params.clone(),
            context: call.context.clone(),
        };
        match peer.pass(server, again).await {
            Outcome::Failed(error) if error.code == Code::InvalidParams => missing = error,
            Outcome::Failed(error) if error.code == Code::Internal => {}
            known => {
                peer.tasks.note(id, server);
                return known;
            }
        }
    }
    Outcome::Failed(missing)
}

/// The error of a request about tasks where no server shares any with its client.
fn none(peer: &Peer, context: &Context, method: &str) -> RpcError {
    let relays = peer.connected().into_iter();
    let why = relays.map(|relay| relay.no_tasks(context, method));
    // One that has them, if only the client had.
    let why = why.max_by_key(|why| why.code == Code::MissingCapability);
    why.unwrap_or_else(|| RpcError::method_not_found(method))
}

/// Has servers tell of these tasks; of which of them they do. One of which is not known here whose it is may be somebody else's: nobody
/// is asked for it.
///
/// # Errors
/// The client has not declared that it knows tasks.
pub(crate) async fn listen(
    peer: &Peer,
    context: &Context,
    ids: Vec<String>,
) -> Result<Vec<String>, RpcError> {
    if ids.is_empty() {
        return Ok(ids);
    }
    let servers = peer.with_tasks(context).await;
    if servers.is_empty() {
        return match none(peer, context, method::SUBSCRIPTIONS_LISTEN) {
            undeclared if undeclared.code == Code::MissingCapability => Err(undeclared),
            _ => Ok(Vec::new()),
        };
    }
    let mut taken = Vec::new();
    for server in servers {
        let is_of = |id: &&String| peer.tasks.server(id) == Some(server);
        let theirs: Vec<_> = ids.iter().filter(is_of).cloned().collect();
        if !theirs.is_empty()
            && let Ok(relay) = peer.relay(server).await
        {
            taken.extend(relay.listen_to_tasks(theirs).await);
        }
    }
    Ok(taken)
}

/// The list of tasks: that of one server after the other, in its own pages.
pub(crate) async fn list(peer: &Peer, mut call: Call) -> Outcome {
    let servers = peer.with_tasks(&call.context).await;
    let Some(first) = servers.first() else {
        return Outcome::Failed(RpcError::method_not_found(call.method));
    };
    let (server, theirs) = match call.params.cursor() {
        None => (*first, String::new()),
        Some(text) => match cursor::decode(&text) {
            Some((part, theirs)) if part >= PART && servers.contains(&(part - PART)) => {
                (part - PART, theirs)
            }
            _ => {
                let why = "tasks/list: the cursor is not one of ours";
                return Outcome::Failed(RpcError::invalid_params(why));
            }
        },
    };
    let mut params = b"{".to_vec();
    splice::members(call.params.text().unwrap_or("{}"), |key, value| {
        if key != "cursor" {
            write::member(&mut params, key, value.as_bytes());
        }
    });
    if !theirs.is_empty() {
        let mut text = Vec::new();
        write::string(&mut text, &theirs);
        write::member(&mut params, "cursor", &text);
    }
    params.push(b'}');
    match Params::parse(params.into(), &Limits::default()) {
        Ok(params) => call.params = params,
        Err(error) => return Outcome::Failed(RpcError::invalid_params(error.to_string())),
    }
    let result = match peer.pass(server, call).await {
        Outcome::Complete(result) => result,
        // One that is down does not hide the tasks of the others.
        Outcome::Failed(error) if error.code == Code::Internal && theirs.is_empty() => {
            Raw::from_static("{\"tasks\":[]}")
        }
        other => return other,
    };
    let mut next = None;
    let mut out = b"{".to_vec();
    splice::members(result.as_str(), |key, value| {
        if key == "nextCursor" {
            next = serde_json::from_str::<String>(value).ok();
        } else {
            write::member(&mut out, key, value.as_bytes());
        }
    });
    let after = servers.iter().find(|other| **other > server);
    let next = next
        .filter(|next| !next.is_empty())
        .map(|next| cursor::encode(PART + server, &next))
        .or_else(|| Some(cursor::encode(PART + after?, "")));
    if let Some(next) = next {
        write::member(&mut out, "nextCursor", format!("\"{next}\"").as_bytes());
    }
    out.push(b'}');
    Outcome::Complete(Raw::trusted(out))
}
