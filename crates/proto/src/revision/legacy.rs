//! The legacy codec: `initialize` once, then every request within what it said (basic/lifecycle of 2024-11-05 to 2025-11-25).

use std::borrow::Cow;
use std::sync::Arc;

use polyport_model::{Level, TaskStatus};
use polyport_wire::{Params, Raw, splice, write};

use super::tasks::{self, Words};
use super::{Revision, Revisions, TaskForm};
use crate::blame::Blame;
use crate::envelope::{ClientFacts, Envelope, Remembered};
use crate::outcome::task::{Task, TaskEnd};
use crate::outcome::{Code, Outcome, RpcError};
use crate::receipt::Receipt;
use crate::text::{progress_token, string};

/// Reads `initialize`: which revision it comes to, and who is there.
///
/// # Errors
/// A member that is missing or of the wrong type; or no legacy revision is spoken here.
pub fn open(params: &Params, speaks: Revisions, limit: usize) -> Result<Remembered, Blame> {
    let text = params
        .text()
        .ok_or(Blame::BadInitialize { member: "params" })?;
    let (mut version, mut capabilities, mut info) = (None, None, None);
    splice::members(text, |key, value| match key {
        "protocolVersion" => version = string(value).map(Cow::into_owned),
        "capabilities" => capabilities = Some(value.to_owned()),
        "clientInfo" => info = Some(value.to_owned()),
        _ => {}
    });
    let version = version.ok_or(Blame::BadInitialize {
        member: "protocolVersion",
    })?;
    let Some(revision) = speaks.negotiate(&version) else {
        return Err(Blame::UnsupportedVersion {
            requested: version,
            supported: speaks,
        });
    };
    let object = |text: String, member| {
        if text.starts_with('{') {
            Ok(Raw::trusted(text))
        } else {
            Err(Blame::BadInitialize { member })
        }
    };
    // The session outlives the message: what it keeps does not hold the frame.
    let capabilities = capabilities.map_or_else(
        || Ok(Raw::from_static("{}")),
        |text| object(text, "capabilities"),
    )?;
    let info = info.map(|text| object(text, "clientInfo")).transpose()?;
    if capabilities.as_bytes().len() + info.as_ref().map_or(0, |info| info.as_bytes().len()) > limit
    {
        return Err(Blame::ClientFactsTooLong { limit });
    }
    Ok(Remembered::new(
        revision,
        ClientFacts { info, capabilities },
    ))
}

/// Recalls the envelope for a request of a session and finds its method.
///
/// # Errors
/// The method is not one of the session's revision.
pub fn admit(
    method: &str,
    params: &Params,
    session: &Arc<Remembered>,
) -> Result<(&'static str, Envelope), Blame> {
    let Some(method) = session.revision.profile().request(method) else {
        return Err(Blame::UnknownMethod(method.to_owned()));
    };
    Ok((
        method,
        Envelope::remembered(session.clone(), progress_token(params)),
    ))
}

/// Does the method ask for something that only a session can keep?
pub fn needs_session(method: &str) -> bool {
    matches!(
        method,
        "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
    )
}

/// Reads `logging/setLevel`.
///
/// # Errors
/// The level is missing or unknown.
pub fn level(params: &Params) -> Result<Level, Blame> {
    let mut level = None;
    if let Some(text) = params.text() {
        splice::members(text, |key, value| {
            if key == "level" {
                level = Some(value.to_owned());
            }
        });
    }
    let level = level.unwrap_or_default();
    string(&level)
        .and_then(|name| name.parse().ok())
        .ok_or(Blame::BadLevel(level))
}

/// Writes the answer to a legacy request; turns what describes the server into the answer to `initialize`.
pub fn seal(receipt: &Receipt, outcome: &Outcome, out: &mut Vec<u8>) {
    match outcome {
        Outcome::Complete(result) => {
            write::response_head(out, &receipt.id);
            if receipt.opening {
                initialize_result(receipt, result.as_str(), out);
            } else {
                out.extend_from_slice(result.as_bytes());
            }
            out.push(b'}');
        }
        Outcome::Failed(error) => seal_error(receipt, error, out),
        Outcome::Task(new) if receipt.revision.profile().tasks == TaskForm::Core => {
            write::response_head(out, &receipt.id);
            out.extend_from_slice(b"{\"task\":{");
            task(&new.task, out);
            out.extend_from_slice(b"}}}");
        }
        // Who runs the call asks in this era and makes tasks only where it has them, so that no such outcome is left.
        Outcome::NeedInput(_) | Outcome::Task(_) | Outcome::Passed(_) => {
            let error = RpcError::new(Code::Internal, "Internal error");
            seal_error(receipt, &error, out);
        }
    }
}

fn seal_error(receipt: &Receipt, error: &RpcError, out: &mut Vec<u8>) {
    let Some(code) = code(error.code, receipt.method, receipt.revision) else {
        write::response_head(out, &receipt.id);
        out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":");
        write::string(out, &error.message);
        return out.extend_from_slice(b"}],\"isError\":true}}");
    };
    write::failure(
        out,
        Some(&receipt.id),
        code,
        &error.message,
        error.data.as_ref().map(Raw::as_str),
    );
}

/// Appends the members of a task, without braces. A result that tells of a failure is a task that failed here.
pub(super) fn task(task: &Task, out: &mut Vec<u8>) {
    let words = Words {
        ttl: "ttl",
        poll: "pollInterval",
    };
    let status = match task.end() {
        Some(TaskEnd::Result(result)) if tells_failure(result) => TaskStatus::Failed,
        _ => task.status(),
    };
    tasks::write(task, status, &words, out);
}

/// Does the result itself, and not something in it, say `isError`?
fn tells_failure(result: &Raw) -> bool {
    let mut tells = false;
    splice::members(result.as_str(), |key, value| {
        tells |= key == "isError" && value == "true";
    });
    tells
}

/// The code on the wire; none: it is told as the result of a tool.
pub(super) fn code(code: Code, method: &str, revision: Revision) -> Option<i32> {
    Some(match code {
        // -32021 is not known here: a tool says it to the model, anything else is a wrong request (D-29).
        Code::MissingCapability if method == "tools/call" => return None,
        Code::MissingCapability => Code::InvalidParams.number(),
        // Authors' codes lie outside the reserved range; -32000..-32019 was free in this era (D-07).
        Code::Other(n) | Code::Passed(n) if (-32768..=-32020).contains(&n) => {
            Code::Internal.number()
        }
        code => revision.profile().code(code),
    })
}

/// `server/discover` in the words of `initialize`.
fn initialize_result(receipt: &Receipt, discovered: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"protocolVersion\":\"");
    out.extend_from_slice(receipt.revision.name().as_bytes());
    out.extend_from_slice(b"\",\"capabilities\":");
    let mut info = None;
    let (mut capabilities, mut instructions) = ("{}".to_owned(), None);
    splice::members(discovered, |key, value| match key {
        "capabilities" => capabilities = legacy_capabilities(receipt, value),
        "instructions" => instructions = Some(value.to_owned()),
        "_meta" => splice::members(value, |key, value| {
            if key == "io.modelcontextprotocol/serverInfo" {
                info = Some(value.to_owned());
            }
        }),
        _ => {}
    });
    out.extend_from_slice(capabilities.as_bytes());
    out.extend_from_slice(b",\"serverInfo\":");
    out.extend_from_slice(
        info.as_deref()
            .unwrap_or("{\"name\":\"unnamed\",\"version\":\"0\"}")
            .as_bytes(),
    );
    if let Some(instructions) = instructions {
        out.extend_from_slice(b",\"instructions\":");
        out.extend_from_slice(instructions.as_bytes());
    }
    out.push(b'}');
}

fn legacy_capabilities(receipt: &Receipt, capabilities: &str) -> String {
    let knows_completions = receipt.revision.profile().completions_capability;
    if knows_completions && !receipt.alone {
        return capabilities.to_owned();
    }
    let is_kept = |key: &str| match key {
        "completions" => knows_completions,
        "logging" | "tasks" => !receipt.alone,
        _ => true,
    };
    members_of(capabilities, |key, value| {
        is_kept(key).then(|| match receipt.alone && value.starts_with('{') {
            true => members_of(value, |key, value| {
                (!matches!(key, "subscribe" | "listChanged")).then(|| value.to_owned())
            }),
            false => value.to_owned(),
        })
    })
}

/// An object again, with what becomes of each of its members.
fn members_of(object: &str, mut becomes: impl FnMut(&str, &str) -> Option<String>) -> String {
    let mut out = b"{".to_vec();
    splice::members(object, |key, value| {
        let Some(value) = becomes(key, value) else {
            return;
        };
        if out.len() > 1 {
            out.push(b',');
        }
        write::string(&mut out, key);
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
    });
    out.push(b'}');
    String::from_utf8(out).unwrap_or_else(|_| "{}".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: T-CORE
    #[test]
    fn a_client_that_cannot_come_back_is_promised_no_tasks() {
        let receipt = |alone| Receipt {
            id: 1.into(),
            method: "server/discover",
            revision: Revision::V2025_11_25,
            opening: true,
            alone,
            batch: None,
        };
        let declared = r#"{"tools":{},"tasks":{"list":{}}}"#;
        assert_eq!(legacy_capabilities(&receipt(false), declared), declared);
        assert_eq!(
            legacy_capabilities(&receipt(true), declared),
            r#"{"tools":{}}"#
        );
    }
}
