//! Hands the messages of a legacy client to its session, and runs the calls that they ask for.

use std::sync::Arc;

use bytes::Bytes;
use polyport_proto::peer::wants_reply;
use polyport_proto::{Blame, Outcome, Principal, Receipt, Turn};
use polyport_rt::Call;
use polyport_rt::run::{Begun, begin};
use polyport_wire::{Malformed, Message};

use super::Endpoint;
use super::session::{Running, Session};
use crate::exchange::Exchange;

impl Endpoint {
    /// Begins all calls of a batch; one exchange gathers them. `streams`: the client takes events. None: nothing in it wants a
    /// reply.
    pub(super) fn begin_batch(
        &self,
        session: &Arc<Session>,
        parts: Vec<Bytes>,
        streams: bool,
        principal: Option<&Arc<Principal>>,
    ) -> Result<Option<Arc<Exchange>>, Blame> {
        let limits = &self.0.service.limits;
        let messages: Vec<_> = parts
            .into_iter()
            .map(|part| Message::parse(part, &limits.json))
            .collect();
        let replies = messages.iter().filter(|m| wants_reply(m)).count();
        let batch = session.peer().open_batch(replies)?;
        let exchange = session.exchange(replies, streams);
        for message in messages {
            let part = batch.filter(|_| wants_reply(&message));
            let mut text = Vec::new();
            let taken = self.take(
                session,
                message,
                part,
                &exchange,
                principal.cloned(),
                &mut text,
            );
            if matches!(taken, Taken::Answered(_)) {
                exchange.end_part(text);
            }
        }
        Ok((replies > 0).then_some(exchange))
    }

    /// Hands a message to its session and begins the call that it asks for.
    pub(super) fn take(
        &self,
        session: &Arc<Session>,
        message: Result<Message, Malformed>,
        batch: Option<u32>,
        exchange: &Arc<Exchange>,
        principal: Option<Arc<Principal>>,
        text: &mut Vec<u8>,
    ) -> Taken {
        let service = &self.0.service;
        let mut peer = session.peer();
        let was_initialized = peer.is_initialized();
        match peer.handle(message, batch, text) {
            Turn::Call(receipt, mut admitted) => {
                if session.is_passing()
                    && let Some(passing) = peer.session()
                {
                    // Where there are no sessions, nothing is kept for one.
                    passing.kept.end();
                }
                if let Err(blame) = service.check_room() {
                    peer.answer(&receipt, &Outcome::Failed(blame.error()), text);
                    return Taken::Answered(Some(blame));
                }
                admitted.envelope = admitted.envelope.with_principal(principal);
                let call = Call::new(admitted, exchange.clone());
                // Kept before it is begun: another request of the same id may be under way on another connection.
                peer.track(
                    receipt.clone(),
                    Running {
                        context: call.context.clone(),
                        exchange: exchange.clone(),
                    },
                );
                exchange.expect_call();
                drop(peer);
                self.begin(session, receipt, call, exchange);
                Taken::Running
            }
            Turn::Reply(blame) => {
                if let Some(blame) = &blame {
                    service.count_refused(blame);
                }
                Taken::Answered(blame)
            }
            Turn::Cancel(call, why) => {
                // Under the lock: whoever ends a call looks there whether it was cancelled.
                call.context.cancel_as_told(why);
                if !text.is_empty() {
                    // It was the last one of its batch, whose other answers are whole now.
                    call.exchange.put(std::mem::take(text));
                }
                Taken::Accepted
            }
            Turn::Answer(asker, answer) => {
                // Whoever asked may wait no more.
                let _ = asker.sender.send(Ok(answer));
                Taken::Accepted
            }
            Turn::BadAnswer(asker, malformed) => {
                let _ = asker.sender.send(Err(malformed.into()));
                Taken::Accepted
            }
            Turn::Notice(notice) => {
                drop(peer);
                service.notice(notice);
                Taken::Accepted
            }
            Turn::Nothing(blame) => {
                if let Some(blame) = blame {
                    tracing::debug!(%blame, "message ignored");
                }
                let may_begin = !was_initialized && peer.is_initialized();
                drop(peer);
                if may_begin {
                    session.ready();
                }
                Taken::Accepted
            }
        }
    }

    fn begin(
        &self,
        session: &Arc<Session>,
        receipt: Receipt,
        call: Call,
        exchange: &Arc<Exchange>,
    ) {
        let service = &self.0.service;
        let context = call.context.clone();
        // Elsewhere the session is made when the handshake has succeeded.
        let opened = (receipt.opening && session.is_pair()).then(|| service.clone());
        let (session, exchange) = (session.clone(), exchange.clone());
        let finish = move |outcome: Option<Outcome>| {
            let mut text = Vec::new();
            if let Some(outcome) = outcome {
                let mut peer = session.peer();
                // The id of a cancelled call may belong to another one by now.
                if !context.is_revoked() {
                    peer.finish(&receipt.id, &outcome, &mut text);
                }
                drop(peer);
                if let Some(service) = opened {
                    session.listen_to(&service);
                }
            }
            exchange.end(&context, 200, text);
        };
        match begin(service, call) {
            Begun::Ready(outcome) => finish(Some(outcome)),
            Begun::Pending(running) => running.spawn(service, finish),
        }
    }
}

/// What became of a message.
pub(super) enum Taken {
    /// A call has begun, perhaps ended; the exchange has it.
    Running,
    /// The reply is in the text; some: it says what the client did wrong.
    Answered(Option<Blame>),
    /// Nothing to say.
    Accepted,
}
