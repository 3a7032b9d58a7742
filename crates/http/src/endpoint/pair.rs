//! HTTP with SSE, the transport of the first revision (2024-11-05, basic/transports): GET opens a stream and with it a session,
//! POST brings the messages of that session, and all answers go on the stream. Newer legacy revisions are spoken on it, too.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, request};
use http_body::Body as HttpBody;
use polyport_proto::http::classify::refuse_malformed;
use polyport_proto::http::{PairPath, Refusal, SessionId};
use polyport_proto::{Blame, Era, Peer, Principal};
use polyport_rt::CancelReason;
use polyport_wire::{Message, batch, sse};

use super::Endpoint;
use super::session::Session;
use super::take::Taken;
use crate::body::{Body, OnClose};
use crate::reader::Reader;
use crate::respond;

impl Endpoint {
    /// A request to one of the two paths whose head was let in.
    pub(super) async fn answer_pair<B>(
        &self,
        path: PairPath,
        head: &request::Parts,
        body: B,
        principal: Option<Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal>
    where
        B: HttpBody<Data = Bytes>,
    {
        if path == PairPath::Stream {
            return self.open_pair(head.uri.path(), principal);
        }
        let id = SessionId::in_query(&head.uri)?;
        let body = match self.read(body).await? {
            Ok(body) => body,
            Err(response) => return Ok(response),
        };
        self.post_to_pair(&id, body.bytes, principal)
    }

    /// A session begins with its stream, and ends with it.
    fn open_pair(
        &self,
        path: &str,
        principal: Option<Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        self.sweep();
        let (service, store) = (&self.0.service, &self.0.store);
        let peer = Peer::new(service.speaks.only(Era::Legacy), &service.limits);
        let (session, stream) = Session::pair(peer, store);
        let reader = Reader::new(stream);
        let Some(id) = self.open(principal, session)? else {
            return Ok(respond::empty(500));
        };
        let messages = self.0.pair.as_ref().map(|pair| pair.messages.as_str());
        let target = relative(path, messages.unwrap_or_default());
        let mut opening = Vec::new();
        let target = format!("{target}?sessionId={}", id.as_str());
        sse::event(&mut opening, None, Some("endpoint"), target.as_bytes());
        let endpoint = self.clone();
        let close = move || {
            let session = endpoint.lock_sessions().remove(&id);
            if let Some(session) = session {
                session.end(CancelReason::Disconnected);
            }
        };
        Ok(respond::events(Body::events(
            reader,
            Some(opening.into()),
            service.limits.keep_alive,
            OnClose::Do(Some(Box::new(close))),
            service.count_stream(),
        )))
    }

    /// A message of such a session: taken, and what comes of it goes on the stream. What could not be found there by its id is
    /// answered here.
    fn post_to_pair(
        &self,
        id: &SessionId,
        body: Bytes,
        principal: Option<Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        let session = self.touch(id, principal.as_ref());
        let session = session.ok_or(Blame::PairUnknown)?;
        let stream = session.only_stream().ok_or(Blame::PairUnknown)?;
        if stream.is_full() {
            return Err(Blame::TooMuchUnread.into());
        }
        let json = &self.0.service.limits.json;
        if batch::is_batch(&body) {
            let parts = batch::split(&body, json).map_err(refuse_malformed)?;
            self.begin_batch(&session, parts, true, principal.as_ref())?;
            self.note_initialized(id, &session);
            return Ok(respond::empty(202));
        }
        let message = Message::parse(body, json).map_err(|malformed| {
            session.reject(malformed.clone());
            refuse_malformed(malformed)
        })?;
        let mut text = Vec::new();
        let taken = self.take(&session, Ok(message), None, &stream, principal, &mut text);
        self.note_initialized(id, &session);
        match taken {
            // Its error names no id, for that belongs to a call that runs.
            Taken::Answered(Some(blame @ Blame::DuplicateId)) => return Err(blame.into()),
            Taken::Answered(_) => stream.end_part(text),
            Taken::Running | Taken::Accepted => {}
        }
        Ok(respond::empty(202))
    }
}

/// The path `to` as it is written relative to `from`, so that it holds behind a proxy that puts something in front of both.
fn relative(from: &str, to: &str) -> String {
    let (from, _) = from.rsplit_once('/').unwrap_or_default();
    let (to, name) = to.rsplit_once('/').unwrap_or(("", to));
    let (mut from, mut to) = (from.split('/').peekable(), to.split('/').peekable());
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    let up = from.map(|_| "..");
    let parts: Vec<_> = up.chain(to).chain([name]).collect();
    // A colon in the first part would make it a scheme.
    let here = if parts[0].contains(':') { "./" } else { "" };
    format!("{here}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn paths_are_relative_to_the_stream() {
        for (from, to, want) in [
            ("/sse", "/messages", "messages"),
            ("/sse/", "/messages", "../messages"),
            ("/a/b/sse", "/a/m", "../m"),
            ("/a/sse", "/a/m", "m"),
            ("/sse", "/a/m", "a/m"),
            ("/a/sse", "/b/m", "../b/m"),
            ("/a", "/a/m", "a/m"),
            ("/a/sse", "/a", "../a"),
            ("/sse", "/a:b", "./a:b"),
            ("/a/sse", "/a:b", "../a:b"),
            ("", "", ""),
        ] {
            assert_eq!(relative(from, to), want, "{from} {to}");
        }
    }
}
