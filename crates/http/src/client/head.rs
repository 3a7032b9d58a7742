//! The headers of a request to a server, per revision (basic/transports of each).

use http::{HeaderMap, HeaderValue, header};
use polyport_proto::Revision;
use polyport_proto::http::headers;
use polyport_proto::http::mirror::{self, encode, mirrored};
use polyport_rt::Inbox;
use polyport_wire::Message;

const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The headers of a message. `session`: the one that the server has named.
pub(super) fn of_message(
    message: &Message,
    revision: Revision,
    session: Option<&HeaderValue>,
    inbox: &Inbox,
) -> HeaderMap {
    let profile = revision.profile();
    let method = message.method();
    let mut head = HeaderMap::new();
    head.insert(header::ACCEPT, BOTH);
    head.insert(header::CONTENT_TYPE, JSON);
    if method == "initialize" {
        return head;
    }
    named(&mut head, revision, session);
    if profile.mirrored_headers {
        head.insert(headers::METHOD, encode(&method));
        let params = message.params();
        let name = mirror::name(&method, params);
        if let Some(name) = &name {
            head.insert(headers::NAME, encode(name));
        }
        if method == "tools/call"
            && let Some(name) = &name
            && let Some(tool) = inbox.mirrored(name)
        {
            head.extend(mirrored(&tool, params.arguments()));
        }
    }
    head
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
    if revision.profile().version_header
        && let Ok(name) = HeaderValue::from_str(revision.name())
    {
        head.insert(headers::PROTOCOL_VERSION, name);
    }
    if let Some(session) = session {
        head.insert(headers::SESSION_ID, session.clone());
    }
}
