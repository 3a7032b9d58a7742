//! The serving end of one conversation: what may be said now, what is owed, and how answers are written.
//!
//! A [`Peer`] is driven by whoever owns the transport: give it each message with [`Peer::handle`]; it either writes the reply
//! itself, or gives back a call to run. A call that is ready at once ends with [`Peer::answer`]; one that is not is
//! kept with [`Peer::track`] and ends with [`Peer::finish`]. The peer knows no time: whoever runs the calls bounds them.
//! Both eras may be spoken on one connection; the era is decided per message (basic/versioning).

use std::sync::Arc;

use polyport_wire::{Kind, Malformed, Message, Params, RequestId, write};

use crate::blame::Blame;
use crate::envelope::{Envelope, Remembered};
use crate::limits::Limits;
use crate::outcome::{Outcome, RpcError};
use crate::receipt::Receipt;
use crate::revision::seal::seal;
use crate::revision::{Revision, Revisions, legacy, modern};

mod asking;
mod batches;
mod incoming;
mod outgoing;

pub use asking::{Asking, Written};
use batches::Batches;
use incoming::Incoming;
pub use outgoing::Answer;
use outgoing::Outgoing;

/// A request that may be run.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// Its id, which is the client's own.
    pub id: RequestId,
    /// The method, as the modern era names it.
    pub method: &'static str,
    /// Its parameters.
    pub params: Params,
    /// What travels around it.
    pub envelope: Envelope,
}

/// A notification from the client that a handler may want to know of.
#[derive(Clone, Debug)]
pub struct Notice {
    /// Its method.
    pub method: &'static str,
    /// Its parameters.
    pub params: Params,
    /// The legacy session in which it came.
    pub session: Option<Arc<Remembered>>,
}

/// What to do after a message.
#[derive(Debug)]
pub enum Turn<C, Q = ()> {
    /// Run this call.
    Call(Receipt, Admitted),
    /// A reply has been written; `Some`: it says what the peer did wrong.
    Reply(Option<Blame>),
    /// Tell the handler.
    Notice(Notice),
    /// Stop this call; nothing more may be sent for it. Why, if that was said.
    Cancel(C, Option<String>),
    /// A request of ours has its answer.
    Answer(Q, Answer),
    /// A request of ours has an answer that is none.
    BadAnswer(Q, Malformed),
    /// Nothing to do; `Some`: the peer erred in something that must not be answered.
    Nothing(Option<Blame>),
}

/// The serving end of one connection, or of one legacy HTTP session. `C` is what the driver keeps of a running call, `Q` of a
/// request of ours.
#[derive(Debug)]
pub struct Peer<C, Q = ()> {
    speaks: Revisions,
    calls: usize,
    facts: usize,
    session: Option<Arc<Remembered>>,
    initialized: bool,
    alone: bool,
    incoming: Incoming<C>,
    outgoing: Outgoing<Q>,
    questions: usize,
    batches: Batches,
}

impl<C, Q> Peer<C, Q> {
    /// A connection on which nothing has been said.
    pub fn new(speaks: Revisions, limits: &Limits) -> Self {
        Self {
            speaks,
            calls: limits.calls_per_session,
            facts: limits.client_facts_bytes,
            session: None,
            initialized: false,
            alone: false,
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            questions: limits.questions_per_session,
            batches: Batches::default(),
        }
    }

    /// A conversation whose handshake is remembered elsewhere, or nowhere (a legacy request without a session).
    pub fn resumed(speaks: Revisions, limits: &Limits, session: Arc<Remembered>) -> Self {
        Self {
            session: Some(session),
            initialized: true,
            ..Self::new(speaks, limits)
        }
    }

    /// The same for one request that no other follows: what only a session could keep is neither declared nor offered (D-11).
    #[must_use]
    pub fn alone(self) -> Self {
        Self {
            alone: true,
            ..self
        }
    }

    /// What `initialize` came to.
    pub fn session(&self) -> Option<&Arc<Remembered>> {
        self.session.as_ref()
    }

    /// Has `notifications/initialized` come?
    pub fn is_initialized(&self) -> bool {
        self.initialized
    }

    /// How many calls are tracked.
    pub fn in_flight(&self) -> usize {
        self.incoming.len()
    }

    /// Takes in one message. A reply, where one is due at once, is appended to `out`.
    pub fn handle(
        &mut self,
        message: Result<Message, Malformed>,
        batch: Option<u32>,
        out: &mut Vec<u8>,
    ) -> Turn<C, Q> {
        let message = match message {
            Ok(message) => message,
            Err(malformed) if malformed.notification => return self.reject(malformed),
            // Each part of a batch that is due a reply gets one.
            Err(malformed) if batch.is_none() && self.outgoing.is_answered_by(&malformed) => {
                return self.reject(malformed);
            }
            Err(malformed) => {
                // A reply under the id of a call that runs would end that call.
                let id = malformed.id.as_ref();
                let id = id.filter(|id| !self.incoming.contains(id));
                return self.refuse(id, Blame::from(&malformed), batch, out);
            }
        };
        match message.kind() {
            Kind::Request => self.handle_request(message, batch, out),
            Kind::Notification => self.handle_notification(message, out),
            Kind::Response | Kind::Failure => match self.outgoing.take(message) {
                Some((asker, answer)) => Turn::Answer(asker, answer),
                None => Turn::Nothing(Some(Blame::UnexpectedResponse)),
            },
        }
    }

    /// An answer that cannot be read ends the request of ours that it answers: no other one will come.
    pub fn reject(&mut self, malformed: Malformed) -> Turn<C, Q> {
        match self.outgoing.take_answered_by(&malformed) {
            Some(asker) => Turn::BadAnswer(asker, malformed),
            None => Turn::Nothing(Some(Blame::from(&malformed))),
        }
    }

    /// Begins a batch, if the session's revision has them. Each of its messages is then handled with the number given back.
    ///
    /// # Errors
    /// The revision has no batches, or none was negotiated.
    pub fn open_batch(&mut self, requests: usize) -> Result<Option<u32>, Blame> {
        match &self.session {
            Some(session) if session.revision.profile().batches => Ok(self.batches.open(requests)),
            _ => Err(Blame::BatchNotSpoken),
        }
    }

    fn handle_request(
        &mut self,
        mut message: Message,
        batch: Option<u32>,
        out: &mut Vec<u8>,
    ) -> Turn<C, Q> {
        let Some(id) = message.take_id() else {
            return Turn::Nothing(None);
        };
        let start = out.len();
        match self.admit(&message, &id, batch.is_some(), out) {
            Ok(None) => {
                self.close_part(batch, start, out);
                Turn::Reply(None)
            }
            Ok(Some((method, envelope, opening))) => {
                let receipt = Receipt {
                    id: id.clone(),
                    method,
                    revision: envelope.revision(),
                    opening,
                    alone: self.alone,
                    batch,
                };
                Turn::Call(
                    receipt,
                    Admitted {
                        id,
                        method,
                        params: message.into_params(),
                        envelope,
                    },
                )
            }
            // A reply under that id would end the call that runs under it.
            Err(Blame::DuplicateId) => self.refuse(None, Blame::DuplicateId, batch, out),
            Err(blame) => self.refuse(Some(&id), blame, batch, out),
        }
    }

    /// None: the reply has been written to `out`.
    fn admit(
        &mut self,
        message: &Message,
        id: &RequestId,
        in_batch: bool,
        out: &mut Vec<u8>,
    ) -> Result<Option<(&'static str, Envelope, bool)>, Blame> {
        if self.incoming.contains(id) {
            return Err(Blame::DuplicateId);
        }
        let method = message.method();
        let params = message.params();
        let admitted = if modern::speaks_modern(params) {
            if in_batch {
                return Err(Blame::ModernInBatch);
            }
            let (method, envelope) = modern::admit(&method, params, self.speaks, None)?;
            (method, envelope, false)
        } else if method == "initialize" {
            if in_batch {
                return Err(Blame::InitializeInBatch);
            }
            if self.session.is_some() {
                return Err(Blame::AlreadyInitialized);
            }
            self.check_room()?;
            let session = Arc::new(legacy::open(params, self.speaks, self.facts)?);
            let envelope = Envelope::remembered(session.clone(), None);
            self.session = Some(session);
            ("server/discover", envelope, true)
        } else if method == "ping" {
            write::response_head(out, id);
            out.extend_from_slice(b"{}}");
            return Ok(None);
        } else {
            let session = self.session.as_ref().ok_or(Blame::NotInitialized)?;
            let (method, envelope) = legacy::admit(&method, params, session)?;
            if self.alone && legacy::needs_session(method) {
                return Err(Blame::UnknownMethod(method.to_owned()));
            }
            if method == "logging/setLevel" {
                session.set_level(legacy::level(params)?);
                write::response_head(out, id);
                out.extend_from_slice(b"{}}");
                return Ok(None);
            }
            (method, envelope, false)
        };
        self.check_room()?;
        Ok(Some(admitted))
    }

    fn check_room(&self) -> Result<(), Blame> {
        let limit = self.calls;
        if self.incoming.len() >= limit {
            Err(Blame::TooManyCalls { limit })
        } else {
            Ok(())
        }
    }

    fn handle_notification(&mut self, message: Message, out: &mut Vec<u8>) -> Turn<C, Q> {
        match &*message.method() {
            "notifications/initialized" => {
                self.initialized = self.session.is_some();
                Turn::Nothing(None)
            }
            "notifications/cancelled" => {
                let (id, reason) = incoming::cancelled(message.params());
                id.and_then(|id| self.incoming.cancel(&id)).map_or(
                    Turn::Nothing(None),
                    |(receipt, tag)| {
                        self.close_part(receipt.batch, out.len(), out);
                        Turn::Cancel(tag, reason)
                    },
                )
            }
            method => {
                let profile = self
                    .session
                    .as_ref()
                    .map_or(Revision::LATEST, |s| s.revision)
                    .profile();
                match profile.notification(method) {
                    Some(method) => Turn::Notice(Notice {
                        method,
                        params: message.into_params(),
                        session: self.session.clone(),
                    }),
                    None => Turn::Nothing(Some(Blame::UnknownMethod(method.to_owned()))),
                }
            }
        }
    }

    fn refuse(
        &mut self,
        id: Option<&RequestId>,
        blame: Blame,
        batch: Option<u32>,
        out: &mut Vec<u8>,
    ) -> Turn<C, Q> {
        let start = out.len();
        refusal(id, &blame.error(), out);
        self.close_part(batch, start, out);
        Turn::Reply(Some(blame))
    }

    /// The call was ready at once: writes its answer.
    pub fn answer(&mut self, receipt: &Receipt, outcome: &Outcome, out: &mut Vec<u8>) {
        if receipt.opening && matches!(outcome, Outcome::Failed(_)) {
            self.session = None;
            self.initialized = false;
        }
        let start = out.len();
        seal(receipt, outcome, self.speaks, out);
        self.close_part(receipt.batch, start, out);
    }

    /// The call goes on: keeps what is needed to cancel and to answer it.
    pub fn track(&mut self, receipt: Receipt, tag: C) {
        self.incoming.insert(receipt, tag);
    }

    /// A tracked call has ended. A call that [`Turn::Cancel`] gave back has no end any more: its id may be in use again.
    /// None: no such call, and nothing is written.
    pub fn finish(
        &mut self,
        id: &RequestId,
        outcome: &Outcome,
        out: &mut Vec<u8>,
    ) -> Option<Receipt> {
        let (receipt, _) = self.incoming.remove(id)?;
        self.answer(&receipt, outcome, out);
        Some(receipt)
    }

    /// Writes a request to a legacy client; [`Turn::Answer`] brings what it comes to.
    ///
    /// Whether the client declared that it can answer is for the asker to know.
    ///
    /// # Errors
    /// The session has as many of them waiting as it may, or there is none: the asker comes back, and nothing is written.
    pub fn ask(
        &mut self,
        method: &str,
        params: Option<&str>,
        asker: Q,
        out: &mut Vec<u8>,
    ) -> Result<(), Q> {
        if self.session.is_none() || self.outgoing.len() >= self.questions {
            return Err(asker);
        }
        self.outgoing.ask(method, params, asker, out);
        Ok(())
    }

    /// How many requests of ours wait for their answer.
    pub fn asked(&self) -> usize {
        self.outgoing.len()
    }

    /// Lets go of the requests whose asker no longer waits; `on` gets the cancellation of those of which the client is told.
    pub fn forget(
        &mut self,
        unwanted: impl Fn(&Q) -> bool,
        told: impl Fn(&Q) -> bool,
        on: impl FnMut(Q, Vec<u8>),
    ) {
        self.outgoing.forget(unwanted, told, on);
    }

    /// The conversation is over: its session ends, and all tracked calls are let go of, to be stopped, and all that we asked.
    pub fn abandon(&mut self) -> Vec<C> {
        if let Some(session) = &self.session {
            session.kept.end();
        }
        self.outgoing.clear();
        self.incoming.drain()
    }

    /// A reply of a batch waits in its batch for the others; the last one brings them all out.
    fn close_part(&mut self, batch: Option<u32>, start: usize, out: &mut Vec<u8>) {
        if let Some(batch) = batch {
            self.batches.close_part(batch, start, out);
        }
    }
}

/// Writes an error reply.
pub fn refusal(id: Option<&RequestId>, error: &RpcError, out: &mut Vec<u8>) {
    let data = error.data.as_ref().map(polyport_wire::Raw::as_str);
    write::failure(out, id, error.code.number(), &error.message, data);
}

/// Does a message of a batch get a reply? The batch is whole when all of those are there.
pub fn wants_reply(message: &Result<Message, Malformed>) -> bool {
    match message {
        Ok(message) => message.kind() == Kind::Request,
        Err(malformed) => !malformed.notification,
    }
}
