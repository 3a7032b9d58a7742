//! The headers of a request to a server, per revision (basic/transports of each).

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use polyport_proto::Revision;
use polyport_proto::http::headers;
use polyport_proto::http::mirror::{self, encode, mirrored};
use polyport_rt::{Inbox, Request};
use polyport_wire::{Limits, Message, Params};

const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Room for all headers of a request: no table of them grows.
const ROOM: usize = 16;

/// The headers of a message. `session`: the one that the server has named.
pub(super) fn of_message(
    message: &Message,
    revision: Revision,
    session: Option<&HeaderValue>,
    inbox: &Inbox,
) -> HeaderMap {
    let (method, params) = (message.method(), message.params());
    let mut head = plain(&method, revision, session);
    if revision.profile().mirrored_headers {
        let name = mirror::name(&method, params);
        mirroring(&mut head, &method, name.as_deref(), inbox, || {
            params.clone()
        });
    }
    head
}

/// The same for a request of which all that is in them is known but the arguments.
pub(super) fn of_request(
    request: &Request,
    text: &Bytes,
    revision: Revision,
    session: Option<&HeaderValue>,
    inbox: &Inbox,
) -> HeaderMap {
    let method = &*request.method;
    let mut head = plain(method, revision, session);
    if revision.profile().mirrored_headers {
        mirroring(&mut head, method, request.name.as_deref(), inbox, || {
            let params = text.slice(request.params.clone());
            // What is no object has no arguments.
            Params::parse(params, &Limits::default()).unwrap_or_default()
        });
    }
    head
}

fn plain(method: &str, revision: Revision, session: Option<&HeaderValue>) -> HeaderMap {
    let mut head = HeaderMap::with_capacity(ROOM);
    head.insert(header::ACCEPT, BOTH);
    head.insert(header::CONTENT_TYPE, JSON);
    if method != "initialize" {
        named(&mut head, revision, session);
    }
    head
}

/// Repeats in headers what the body says.
fn mirroring(
    head: &mut HeaderMap,
    method: &str,
    name: Option<&str>,
    inbox: &Inbox,
    params: impl FnOnce() -> Params,
) {
    head.insert(headers::METHOD, encode(method));
    let Some(name) = name else { return };
    head.insert(headers::NAME, encode(name));
    if method == "tools/call"
        && let Some(tool) = inbox.mirrored(name)
    {
        head.extend(mirrored(&tool, params().arguments()));
    }
}

/// The headers of a request for a stream; `after`: the last event that has come.
pub(super) fn of_stream(
    revision: Revision,
    session: Option<&HeaderValue>,
    after: Option<&str>,
) -> HeaderMap {
    let mut head = HeaderMap::new();
    head.insert(header::ACCEPT, EVENTS);
    named(&mut head, revision, session);
    if let Some(after) = after.and_then(|id| HeaderValue::from_str(id).ok()) {
        head.insert("last-event-id", after);
    }
    head
}

/// The headers of what ends a session.
pub(super) fn of_end(revision: Revision, session: &HeaderValue) -> HeaderMap {
    let mut head = HeaderMap::new();
    named(&mut head, revision, Some(session));
    head
}

fn named(head: &mut HeaderMap, revision: Revision, session: Option<&HeaderValue>) {
    if revision.profile().version_header {
        let name = HeaderValue::from_static(revision.name());
        head.insert(headers::PROTOCOL_VERSION, name);
    }
    if let Some(session) = session {
        head.insert(headers::SESSION_ID, session.clone());
    }
}
