//! Our own log of calls: an event when one begins and one when it has ended (D-24). Never what was asked or answered: only how
//! much, a keyed hash of it, and the values of fields that the operator named.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use polyport_proto::revision::seal;
use polyport_proto::{Code, Envelope, Outcome, RpcError};
use polyport_wire::{Params, splice, write};

use crate::clock::Clock;
use crate::context::{CancelReason, Context};
use crate::end::End;
use crate::hash::{Digest, digest};

/// Characters that are kept of a text that a client chose.
const LONGEST: usize = 64;
/// Characters that are kept of a value that may be shown.
const LONGEST_VALUE: usize = 200;
/// Under which the events are found.
const TARGET: &str = "polyport::calls";

/// Whose values may stand in the log: names of arguments, alone or behind the name of a tool or prompt and a dot.
pub(crate) type Shown = Arc<[Box<str>]>;

/// A call in the log.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Our own number; ids of clients repeat.
    number: u64,
    clock: Clock,
}

impl Entry {
    /// Writes down that a call begins. None: nobody reads it.
    pub(crate) fn open(context: &Context) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        if !tracing::enabled!(target: TARGET, tracing::Level::ERROR) {
            return None;
        }
        let entry = Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            clock: Clock::start(),
        };
        if tracing::enabled!(target: TARGET, tracing::Level::DEBUG) {
            entry.begin(context);
        }
        Some(entry)
    }

    fn begin(&self, context: &Context) {
        let asked = Asked::of(context);
        tracing::debug!(
            target: TARGET,
            call = self.number,
            id = asked.id,
            session = asked.session,
            client = asked.client,
            revision = asked.revision,
            transport = context.transport(),
            method = asked.method,
            name = asked.name,
            bytes_in = asked.bytes,
            "call begins"
        );
    }

    /// Writes down how it ended. No outcome: it was cancelled.
    pub(crate) fn close(
        self,
        context: &Context,
        end: End,
        outcome: Option<&Outcome>,
        shown: &Shown,
    ) {
        let whole = tracing::enabled!(target: TARGET, tracing::Level::INFO);
        // An internal error is read at every level; the rest is not.
        if !whole && end != End::Failed {
            return;
        }
        let asked = Asked::of(context);
        let answer = Answer::of(end, context, outcome);
        let params = context.params();
        let arguments = params.arguments().filter(|_| whole);
        macro_rules! event {
            ($level:ident) => {
                tracing::$level!(
                    target: TARGET,
                    call = self.number,
                    id = asked.id,
                    session = asked.session,
                    client = asked.client,
                    revision = asked.revision,
                    transport = context.transport(),
                    method = asked.method,
                    name = asked.name,
                    bytes_in = asked.bytes,
                    bytes_out = answer.bytes,
                    arguments = arguments.map(|text| tracing::field::display(digest(text.as_bytes()))),
                    result = answer.digest.map(tracing::field::display),
                    params = values(params, shown),
                    ms = self.clock.now().as_micros() as f64 / 1_000.0,
                    outcome = answer.word,
                    reason = answer.reason,
                    code = answer.code,
                    error_id = answer.error_id,
                    "call ended"
                )
            };
        }
        if end == End::Failed {
            event!(error);
        } else {
            event!(info);
        }
    }
}

/// What was asked, and by whom, without its words.
struct Asked {
    id: String,
    session: Option<String>,
    client: Option<String>,
    revision: &'static str,
    method: &'static str,
    /// Of the tool or prompt.
    name: Option<String>,
    bytes: usize,
}

impl Asked {
    fn of(context: &Context) -> Self {
        let (envelope, params) = (context.envelope(), context.params());
        let client = envelope.client().info();
        Self {
            id: plain(&context.request_id().to_string()),
            session: session(envelope),
            client: client.map(|client| plain(&format!("{}/{}", client.name, client.version))),
            revision: envelope.revision().name(),
            method: seal::method(context.method(), envelope.revision()),
            name: params.name().as_deref().map(plain),
            bytes: params.text().map_or(0, str::len),
        }
    }
}

/// The tag under which a session is found in the log.
pub(crate) fn session(envelope: &Envelope) -> Option<String> {
    let tag = envelope.session()?.tag()?;
    Some(Digest(tag).to_string())
}

/// What was answered, without its words.
#[derive(Default)]
struct Answer {
    word: &'static str,
    reason: Option<&'static str>,
    bytes: usize,
    digest: Option<Digest>,
    code: Option<i32>,
    error_id: Option<String>,
}

impl Answer {
    fn of(end: End, context: &Context, outcome: Option<&Outcome>) -> Self {
        let mut answer = Self {
            word: match end {
                End::Ok => "ok",
                End::Refused => "refused",
                End::Failed => "failed",
                End::Cancelled => "cancelled",
                End::TimedOut => "timed out",
                End::TurnedAway => "turned away",
            },
            ..Self::default()
        };
        match outcome {
            _ if end == End::Cancelled => {
                answer.reason = context.cancel_reason().map(reason);
                return answer;
            }
            Some(Outcome::Complete(result)) => {
                answer.bytes = result.as_bytes().len();
                answer.digest = Some(digest(result.as_bytes()));
                if end == End::Ok && is_tool_error(result.as_str()) {
                    answer.word = "tool error";
                }
            }
            Some(Outcome::NeedInput(_)) => answer.word = "asks",
            Some(Outcome::Task(_)) => answer.word = "a task",
            Some(Outcome::Failed(error)) => {
                answer.bytes = error.message.len();
                answer.code =
                    seal::code(error.code, context.method(), context.envelope().revision());
                if answer.code.is_none() {
                    answer.word = "tool error";
                }
                answer.error_id = error_id(error);
            }
            _ => {}
        }
        answer
    }
}

fn reason(reason: CancelReason) -> &'static str {
    match reason {
        CancelReason::Client => "client",
        CancelReason::Disconnected => "disconnected",
        CancelReason::Shutdown => "shutdown",
        CancelReason::TimedOut => "timed out",
    }
}

/// Does the result itself, and not something in it, say `isError`?
pub(crate) fn is_tool_error(result: &str) -> bool {
    // Most results do not have the word at all, and inside a text its quotes are escaped.
    if !result.contains("\"isError\"") {
        return false;
    }
    let mut failed = false;
    splice::members(result, |key, value| {
        failed |= key == "isError" && value == "true";
    });
    failed
}

/// The id under which the log has the cause of an internal error.
fn error_id(error: &RpcError) -> Option<String> {
    let data = error
        .data
        .as_ref()
        .filter(|_| error.code == Code::Internal)?;
    let mut id = None;
    splice::members(data.as_str(), |key, value| {
        if key == "errorId" {
            id = Some(plain(value.trim_matches('"')));
        }
    });
    id
}

/// The values that may be shown, as a JSON object: texts, numbers and truth values of fields that were named, and `uri`.
fn values(params: &Params, shown: &Shown) -> Option<String> {
    if shown.is_empty() {
        return None;
    }
    let name = params.name().unwrap_or_default();
    let is_shown = |field: &str| {
        shown.iter().any(|entry| {
            let of_this = entry.strip_prefix(&*name).and_then(|e| e.strip_prefix('.'));
            **entry == *field || of_this == Some(field)
        })
    };
    let mut out = Vec::new();
    let mut show = |field: &str, value: &str| {
        if !is_shown(field) {
            return;
        }
        out.push(if out.is_empty() { b'{' } else { b',' });
        write::string(&mut out, &plain(field));
        out.push(b':');
        match value.as_bytes().first() {
            // What is inside was not named.
            Some(b'{' | b'[') => out.extend_from_slice(b"\"\xe2\x80\xa6\""),
            Some(b'"') => {
                let text = text_of(value);
                write::string(&mut out, &cut(&text, LONGEST_VALUE));
            }
            _ => out.extend_from_slice(cut(value, LONGEST_VALUE).as_bytes()),
        }
    };
    if let Some(uri) = params.member(polyport_wire::Member::Uri) {
        show("uri", uri.as_str());
    }
    if let Some(arguments) = params.arguments() {
        splice::members(arguments, |field, value| show(field, value));
    }
    if out.is_empty() {
        return None;
    }
    out.push(b'}');
    String::from_utf8(out).ok()
}

fn text_of(json: &str) -> String {
    polyport_wire::Raw::trusted(json.to_owned())
        .decode()
        .unwrap_or_default()
}

/// A text as it may stand in a log: one line, not long.
pub(crate) fn plain(text: &str) -> String {
    cut(text, LONGEST)
}

fn cut(text: &str, longest: usize) -> String {
    let visible = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(longest).map(visible).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // req: D-24
    #[test]
    fn d_24_only_fields_that_were_named_are_shown() {
        let params = r#"{"name":"read","uri":"x://y","arguments":{"path":"a\nb","token":"s3cret","n":7,"deep":{"path":"s3cret"},"path.":"x"}}"#;
        let params =
            Params::parse(params.to_owned().into(), &polyport_wire::Limits::default()).unwrap();
        for (named, want) in [
            (&[][..], None),
            (&["other"], None),
            (&["path"], Some(r#"{"path":"a�b"}"#)),
            (&["read.path", "n"], Some(r#"{"path":"a�b","n":7}"#)),
            (&["write.path", "write.n"], None),
            (&["deep", "uri"], Some(r#"{"uri":"x://y","deep":"…"}"#)),
        ] {
            let shown: Shown = named.iter().map(|name| (*name).into()).collect();
            assert_eq!(values(&params, &shown).as_deref(), want, "{named:?}");
        }
    }

    #[test]
    fn a_failure_is_told_by_the_result_itself() {
        for (result, want) in [
            (r#"{"content":[],"isError":true}"#, true),
            (r#"{"content":[],"isError" : true}"#, true),
            (r#"{"content":[],"isError":false}"#, false),
            (r#"{"structuredContent":{"isError":true}}"#, false),
            (r#"{"content":[{"text":"\"isError\":true"}]}"#, false),
        ] {
            assert_eq!(is_tool_error(result), want, "{result}");
        }
    }
}
