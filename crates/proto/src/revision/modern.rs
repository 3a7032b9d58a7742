//! The modern codec: every request states its envelope, every result says its type (2026-07-28, basic/index).

use std::borrow::Cow;

use polyport_model::Level;
use polyport_wire::{Params, RequestId, splice, write};

use super::tasks::{self, Words};
use super::{Era, Revision, Revisions};
use crate::blame::Blame;
use crate::envelope::{ClientFacts, Envelope};
use crate::http::Mirror;
use crate::outcome::task::{Task, TaskEnd};
use crate::outcome::{Code, NeedInput, Outcome, Question, RpcError};
use crate::receipt::Receipt;
use crate::text::{kept, progress_token, string};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Does the message state its envelope? Then it is modern, whatever was said before on the connection.
pub fn speaks_modern(params: &Params) -> bool {
    params.has_protocol_version()
}

/// Lifts the envelope off a request and finds its method. The order of the checks is that of the conformance suite:
/// `_meta`, version header, version, mirrored headers, method.
///
/// # Errors
/// What is wrong with the request.
pub fn admit(
    method: &str,
    params: &Params,
    speaks: Revisions,
    mirror: Option<&Mirror<'_>>,
) -> Result<(&'static str, Envelope), Blame> {
    let requested = text(params.protocol_version(), VERSION)?;
    let capabilities = match params.client_capabilities() {
        Some(object) if object.starts_with('{') => kept(params, object),
        Some(_) => return Err(Blame::MetaInvalid(CAPABILITIES)),
        None => return Err(Blame::MetaMissing(CAPABILITIES)),
    };
    let info = match params.client_info() {
        Some(object) if object.starts_with('{') => Some(kept(params, object)),
        Some(_) => return Err(Blame::MetaInvalid(INFO)),
        None => None,
    };
    let level = params.log_level().map(level).transpose()?;
    if let Some(mirror) = mirror {
        mirror.check_version(&requested)?;
    }
    let revision = speaks
        .find(&requested)
        .filter(|r| r.profile().era == Era::Modern);
    let Some(revision) = revision else {
        return Err(Blame::UnsupportedVersion {
            supported: instead_of(&requested, speaks),
            requested: requested.into_owned(),
        });
    };
    if let Some(mirror) = mirror {
        mirror.check_body(method, params)?;
    }
    let Some(method) = revision.profile().request(method) else {
        return Err(Blame::UnknownMethod(method.to_owned()));
    };
    let client = ClientFacts { info, capabilities };
    Ok((
        method,
        Envelope::stated(revision, client, level, progress_token(params)),
    ))
}

fn text<'a>(json: Option<&'a str>, key: &'static str) -> Result<Cow<'a, str>, Blame> {
    let json = json.ok_or(Blame::MetaMissing(key))?;
    string(json).ok_or(Blame::MetaInvalid(key))
}

/// What a client may try that stated this. Who stated a revision that begins with `initialize` would only state it again; who
/// stated one that is unknown here may fall back to such a one.
fn instead_of(requested: &str, speaks: Revisions) -> Revisions {
    let modern = speaks.only(Era::Modern);
    let is_legacy = Revision::parse(requested).is_some_and(|r| r.profile().era == Era::Legacy);
    if is_legacy && modern != Revisions::NONE {
        modern
    } else {
        speaks
    }
}

fn level(json: &str) -> Result<Level, Blame> {
    let name = string(json).ok_or(Blame::MetaInvalid(LOG_LEVEL))?;
    name.parse().map_err(|_| Blame::BadLevel(name.into_owned()))
}

/// Writes the answer to a modern request: a result with its type and cache hints, or an error.
pub fn seal(receipt: &Receipt, outcome: &Outcome, speaks: Revisions, out: &mut Vec<u8>) {
    match outcome {
        Outcome::Complete(result) => {
            write::response_head(out, &receipt.id);
            seal_result(receipt, result.as_str(), speaks, out);
            out.push(b'}');
        }
        Outcome::Failed(error) => seal_error(&receipt.id, error, receipt.revision, out),
        Outcome::Passed(result) => {
            write::response_head(out, &receipt.id);
            out.extend_from_slice(result.as_bytes());
            out.push(b'}');
        }
        Outcome::NeedInput(need) => {
            write::response_head(out, &receipt.id);
            seal_need(need, out);
            out.push(b'}');
        }
        Outcome::Task(new) => {
            write::response_head(out, &receipt.id);
            out.extend_from_slice(b"{\"resultType\":\"task\",");
            task(&new.task, receipt.revision, false, out);
            if !new.meta.is_empty() {
                out.extend_from_slice(b",\"_meta\":{");
                out.extend_from_slice(new.meta.as_bytes());
                out.push(b'}');
            }
            out.extend_from_slice(b"}}");
        }
    }
}

/// A result that asks (basic/patterns/mrtr). It says nothing of how long it may be kept.
fn seal_need(need: &NeedInput, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"resultType\":\"input_required\"");
    seal_questions(&need.questions, out);
    if let Some(state) = &need.state {
        out.extend_from_slice(b",\"requestState\":");
        write::string(out, state);
    }
    if !need.meta.is_empty() {
        out.extend_from_slice(b",\"_meta\":{");
        out.extend_from_slice(need.meta.as_bytes());
        out.push(b'}');
    }
    out.push(b'}');
}

fn seal_questions(questions: &[Question], out: &mut Vec<u8>) {
    for (i, question) in questions.iter().enumerate() {
        out.extend_from_slice(if i == 0 {
            b",\"inputRequests\":{"
        } else {
            b","
        });
        question.write(out);
    }
    if !questions.is_empty() {
        out.push(b'}');
    }
}

fn seal_result(receipt: &Receipt, result: &str, speaks: Revisions, out: &mut Vec<u8>) {
    const COMPLETE: &str = "\"resultType\":\"complete\"";
    if !is_cacheable(receipt.method) {
        return splice::stamp(result, COMPLETE, out);
    }
    let mut members = String::from(COMPLETE);
    let (mut ttl, mut scope) = (false, false);
    splice::members(result, |key, _| {
        ttl |= key == "ttlMs";
        scope |= key == "cacheScope";
    });
    if !ttl {
        members.push_str(",\"ttlMs\":0");
    }
    if !scope {
        members.push_str(",\"cacheScope\":\"private\"");
    }
    if receipt.method == "server/discover" {
        let names: Vec<_> = speaks.iter().map(|r| format!("\"{}\"", r.name())).collect();
        members.push_str(",\"supportedVersions\":[");
        members.push_str(&names.join(","));
        members.push(']');
    }
    splice::stamp(result, &members, out);
}

/// The six operations whose results say how long they may be kept (server/utilities/caching).
fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}

fn seal_error(id: &RequestId, error: &RpcError, revision: Revision, out: &mut Vec<u8>) {
    write::failure(
        out,
        Some(id),
        code(error.code, revision),
        &error.message,
        error.data.as_ref().map(polyport_wire::Raw::as_str),
    );
}

/// The code on the wire.
pub(super) fn code(code: Code, revision: Revision) -> i32 {
    match code {
        // server/tools, Error Codes: authors' codes lie outside the reserved range (D-07).
        Code::Other(n) if (-32768..=-32000).contains(&n) => Code::Internal.number(),
        // -32000..-32019 was free in the legacy era; what lies below would be taken for an error of this hop.
        Code::Passed(n) if (-32768..=-32020).contains(&n) => Code::Internal.number(),
        code => revision.profile().code(code),
    }
}

/// Appends the members of a task, without braces; `whole`: with what it asks and how it ended.
pub(super) fn task(task: &Task, revision: Revision, whole: bool, out: &mut Vec<u8>) {
    let words = Words {
        ttl: "ttlMs",
        poll: "pollIntervalMs",
    };
    tasks::write(task, task.status(), &words, out);
    if !whole {
        return;
    }
    seal_questions(task.questions(), out);
    match task.end() {
        Some(TaskEnd::Result(result)) => {
            out.extend_from_slice(b",\"result\":");
            out.extend_from_slice(result.as_bytes());
        }
        Some(TaskEnd::Failed(error)) => {
            out.extend_from_slice(b",\"error\":{\"code\":");
            write::integer(out, code(error.code, revision).into());
            out.extend_from_slice(b",\"message\":");
            write::string(out, &error.message);
            if let Some(data) = &error.data {
                out.extend_from_slice(b",\"data\":");
                out.extend_from_slice(data.as_bytes());
            }
            out.push(b'}');
        }
        Some(TaskEnd::Cancelled) | None => {}
    }
}

/// The HTTP status of an answer that has not begun to stream (basic/transports/streamable-http).
pub fn status(outcome: &Outcome) -> u16 {
    let Outcome::Failed(error) = outcome else {
        return 200;
    };
    match error.code {
        Code::MethodNotFound => 404,
        Code::HeaderMismatch | Code::MissingCapability | Code::UnsupportedVersion => 400,
        _ => 200,
    }
}
