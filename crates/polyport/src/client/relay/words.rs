//! Parameters, results and errors on their way through a relay: what belongs to one connection stays there, everything else passes as it
//! came.

use std::borrow::Cow;

use polyport_model::{CODE_RESOURCE_NOT_FOUND, Object, RpcError as Refusal};
use polyport_proto::{Code, Era, Outcome, RpcError, older};
use polyport_rt::Context;
use polyport_wire::{Params, Raw, splice, write};

use super::super::ClientError;

/// Members of `_meta` that belong to one connection, and not to what is asked.
const PROTOCOL: &str = "io.modelcontextprotocol/";
/// Of those, what belongs to what is asked all the same.
const PASSED: [&str; 2] = [
    polyport_model::META_RELATED_TASK,
    "io.modelcontextprotocol/model-immediate-response",
];

/// The parameters without what belongs to the connection that they came over, for a server of an era.
pub(super) fn own<'a>(params: &'a Params, context: &Context, to: Era) -> Cow<'a, str> {
    let Some(text) = params.text() else {
        return Cow::Borrowed("{}");
    };
    let is_round = context.may_ask() && context.envelope().profile().era == Era::Modern;
    let has_answers = params.input_responses().is_some() || params.request_state().is_some();
    if params.meta().is_none() && !(is_round && has_answers) {
        return Cow::Borrowed(text);
    }
    // Before it is asked, a client may know what will be.
    let is_foreseen = to == Era::Modern && context.state().is_none();
    let mut out = Vec::with_capacity(text.len());
    object(text, &mut out, |key, value, out| match key {
        "inputResponses" if is_round && !is_foreseen => {}
        "requestState" if is_round => {}
        "_meta" if value.starts_with('{') => meta(key, value, out),
        _ => write::member(out, key, value.as_bytes()),
    });
    Cow::Owned(String::from_utf8(out).unwrap_or_else(|_| "{}".to_owned()))
}

fn meta(key: &str, value: &str, out: &mut Vec<u8>) {
    let mut kept = Vec::new();
    object(value, &mut kept, |key, value, out| {
        let is_hop = key.starts_with(PROTOCOL) && !PASSED.contains(&key);
        if !is_hop && key != "progressToken" {
            write::member(out, key, value.as_bytes());
        }
    });
    if kept != b"{}" {
        write::member(out, key, &kept);
    }
}

/// A result without what its revision alone wants of it, in words of that of whoever asked.
pub(super) fn complete(result: &Raw, context: &Context) -> Outcome {
    match own_result(result, context) {
        Outcome::Complete(result) => {
            let profile = context.envelope().profile();
            let older = older::result(context.method(), &result, profile);
            Outcome::Complete(older.unwrap_or(result))
        }
        other => other,
    }
}

fn own_result(result: &Raw, context: &Context) -> Outcome {
    let text = result.as_str();
    if !result.is_object() {
        return Outcome::Failed(broken("gave a result that is no object"));
    }
    if !text.contains("\"resultType\"") {
        return Outcome::Complete(result.clone());
    }
    let is_modern = context.envelope().profile().era == Era::Modern;
    let (mut kind, mut out) = (None, Vec::with_capacity(text.len()));
    object(text, &mut out, |key, value, out| match key {
        "resultType" => kind = Some(value),
        "ttlMs" | "cacheScope" if !is_modern => {}
        _ => write::member(out, key, value.as_bytes()),
    });
    match kind {
        None => Outcome::Complete(result.clone()),
        Some("\"complete\"") => Outcome::Complete(Raw::trusted(out)),
        Some("\"task\"") if is_modern => Outcome::Passed(result.clone()),
        Some(_) => Outcome::Failed(broken("gave a result of a type that is not known")),
    }
}

/// Appends an object again, of the members that are written.
fn object<'a>(
    text: &'a str,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&str, &'a str, &mut Vec<u8>),
) {
    out.push(b'{');
    splice::members(text, |key, value| write(key, value, out));
    out.push(b'}');
}

/// The server behind us does what it must not.
pub(super) fn broken(what: &str) -> RpcError {
    tracing::warn!(what, "the server behind this one breaks the protocol");
    let message = format!("The server behind this one {what}.");
    RpcError::new(Code::Internal, message)
}

/// The error of a server behind us, or what happened to it; `name` is under which whoever asks knows it.
pub(super) fn failed(error: ClientError, name: Option<&str>) -> RpcError {
    let who = match name {
        Some(name) => format!("The server {name:?} behind this gateway"),
        None => "The server behind this one".to_owned(),
    };
    let refused = match error {
        ClientError::Refused(refused) => refused,
        ClientError::NeedsInput(_) => {
            let why = format!("{who} asks something that nobody here answers.");
            return RpcError::new(Code::Internal, why);
        }
        other => {
            tracing::warn!(server = name, error = %other, "the server behind this one does not answer");
            let what = match other {
                ClientError::TimedOut(_) => "did not answer in time".into(),
                ClientError::Gone { .. } | ClientError::Closed | ClientError::Broken(_) => {
                    "has ended before it answered; whether it has done what was asked is not known"
                        .into()
                }
                ClientError::Unreachable(_) | ClientError::NotStarted { .. } => {
                    "cannot be reached".into()
                }
                ClientError::Status(status) => answered(status.code),
                _ => "does not answer as it should; the log has more".into(),
            };
            return RpcError::new(Code::Internal, format!("{who} {what}."));
        }
    };
    let error = RpcError::new(code(&refused), refused.message);
    match refused.data {
        Some(data) => error.with_data(data),
        None => error,
    }
}

/// Of an HTTP status instead of a message: the credentials of a client are never those that a server behind us sees, so that logging in
/// anew would be of no use to it.
fn answered(status: u16) -> Cow<'static, str> {
    match status {
        401 | 403 => format!(
            "does not let in who asks here (HTTP {status}); whoever runs this can give other credentials for it"
        )
        .into(),
        _ => format!("answers with HTTP {status} and no message; the log has more").into(),
    }
}

fn code(refused: &Refusal) -> Code {
    let names_uri = || {
        let data = refused.data.as_ref();
        let data = data.and_then(|data| data.decode::<Object>().ok());
        data.is_some_and(|data| data.contains("uri"))
    };
    let known = [
        Code::InvalidRequest,
        Code::MethodNotFound,
        Code::Internal,
        Code::MissingCapability,
        Code::VisitFirst,
    ];
    match refused.code {
        CODE_RESOURCE_NOT_FOUND => Code::ResourceMissing,
        code if code == Code::InvalidParams.number() => {
            // D-01.
            if names_uri() {
                Code::ResourceMissing
            } else {
                Code::InvalidParams
            }
        }
        // What is between two servers alone is no news for a client; the rest is the server's to say.
        number => {
            let known = known.into_iter().find(|code| code.number() == number);
            known.unwrap_or(Code::Passed(number))
        }
    }
}
