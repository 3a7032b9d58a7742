//! What every request to one server needs: the connection, the session that the server has named, and where its messages go.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Method, Response};
use hyper::body::Incoming;
use polyport_proto::Revision;
use polyport_rt::{CallError, Inbox};

use super::connect::Connection;
use super::head;

pub(super) struct Way {
    pub(super) connection: Connection,
    pub(super) inbox: Inbox,
    session: Mutex<Option<HeaderValue>>,
}

impl Way {
    pub(super) fn new(connection: Connection, inbox: Inbox) -> Self {
        Self {
            connection,
            inbox,
            session: Mutex::new(None),
        }
    }

    /// The session that the server has named.
    pub(super) fn session(&self) -> Option<HeaderValue> {
        let session = self.session.lock();
        session.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_session(&self, session: Option<HeaderValue>) {
        let mut ours = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        *ours = session;
    }

    /// Forgets that session, unless there is another one already.
    pub(super) fn forget_session(&self, session: &HeaderValue) {
        let mut ours = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if ours.as_ref() == Some(session) {
            *ours = None;
        }
    }

    /// Asks for a stream, from after an event.
    pub(super) async fn stream(
        &self,
        revision: Revision,
        after: Option<&str>,
    ) -> Result<Response<Incoming>, CallError> {
        let headers = head::of_stream(revision, self.session().as_ref(), after);
        let uri = self.connection.uri();
        self.connection
            .request(Method::GET, uri, headers, Bytes::new())
            .await
    }
}
