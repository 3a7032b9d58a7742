//! What every request to one server needs: the connection, the session that the server has named, and where its messages go.

use bytes::Bytes;
use http::{HeaderValue, Method, Response};
use hyper::body::Incoming;
use polyport_proto::Revision;
use polyport_rt::{CallError, Inbox};
use tokio::sync::watch;

use super::connect::Connection;
use super::head;

pub(super) struct Way {
    pub(super) connection: Connection,
    pub(super) inbox: Inbox,
    session: watch::Sender<Session>,
}

/// The session that the server has named, if it has.
#[derive(Default)]
struct Session {
    named: Option<HeaderValue>,
    /// It had, and has forgotten it.
    is_lost: bool,
}

impl Way {
    pub(super) fn new(connection: Connection, inbox: Inbox) -> Self {
        Self {
            connection,
            inbox,
            session: watch::Sender::default(),
        }
    }

    /// The session that the server has named.
    pub(super) fn session(&self) -> Option<HeaderValue> {
        self.session.borrow().named.clone()
    }

    /// The same for a request that belongs to it.
    ///
    /// # Errors
    /// The server has forgotten it: a request without it would be a stranger's.
    pub(super) fn own_session(&self) -> Result<Option<HeaderValue>, CallError> {
        let session = self.session.borrow();
        if session.is_lost {
            return Err(CallError::SessionLost);
        }
        Ok(session.named.clone())
    }

    pub(super) fn set_session(&self, named: Option<HeaderValue>) {
        let is_lost = false;
        self.session.send_replace(Session { named, is_lost });
    }

    /// Forgets that session, unless there is another one already.
    pub(super) fn forget_session(&self, session: &HeaderValue) {
        self.session.send_if_modified(|ours| {
            let is_ours = ours.named.as_ref() == Some(session);
            if is_ours {
                ours.named = None;
                ours.is_lost = true;
            }
            is_ours
        });
    }

    /// Waits until that is no longer the session.
    pub(super) async fn is_over(&self, session: Option<&HeaderValue>) {
        let mut ours = self.session.subscribe();
        // Its sender is here, so there is an end to wait for.
        let _ = ours.wait_for(|ours| ours.named.as_ref() != session).await;
    }

    /// Asks for a stream, from after an event.
    pub(super) async fn stream(
        &self,
        revision: Revision,
        after: Option<&str>,
    ) -> Result<Response<Incoming>, CallError> {
        let session = self.session();
        let headers = || head::of_stream(revision, session.as_ref(), after);
        let uri = self.connection.uri();
        self.connection
            .request(Method::GET, uri, headers, Bytes::new())
            .await
    }
}
