//! The loop of a line-framed connection: bytes in, calls begun in order, answers out. Not what the messages mean.

mod questions;

use std::sync::Arc;

use bytes::Bytes;
use polyport_proto::peer::{self, wants_reply};
use polyport_proto::{Admitted, Blame, Envelope, Outcome, Peer, Principal, Receipt, Turn};
use polyport_wire::{Line, Lines, Malformed, Message, batch, splice};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use crate::bus::{Alert, Listener};
use crate::context::{Call, CancelReason, Context, Outlet};
use crate::listen;
use crate::outbox::{Item, Outbox};
use crate::question::Asked;
use crate::run::{Begun, begin};
use crate::service::Service;
use crate::stop::Stop;
use questions::Asker;

/// Answers are written when this much has gathered, even if more messages are at hand.
const FLUSH_AT: usize = 64 << 10;

/// How a connection ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ended {
    /// Calls that were still running when the drain was over, or whose answers nobody took until then.
    pub cut: usize,
    /// The reader of our output was gone.
    pub broken: bool,
}

/// What may wake the loop.
enum Event {
    Read(std::io::Result<usize>),
    Outbox,
    Stop,
    Deadline,
}

/// Serves one connection to its end: end of input, a reader that is gone, or the stop. Running calls may finish
/// within [`Limits::drain`](polyport_proto::Limits::drain).
pub async fn drive(
    service: &Service,
    reader: &mut (dyn AsyncRead + Unpin + Send),
    writer: &mut (dyn AsyncWrite + Unpin + Send),
    stop: Stop,
) -> Ended {
    drive_over(service, "stdio", None, reader, writer, stop).await
}

/// The same over another transport, by its name in the log, and for somebody who has proven who he is.
pub async fn drive_over(
    service: &Service,
    transport: &'static str,
    principal: Option<Arc<Principal>>,
    reader: &mut (dyn AsyncRead + Unpin + Send),
    writer: &mut (dyn AsyncWrite + Unpin + Send),
    stop: Stop,
) -> Ended {
    let _counted = service.count_session();
    let mut driver = Driver {
        service,
        principal,
        peer: Peer::new(service.speaks, &service.limits),
        early: Vec::new(),
        listening: Vec::new(),
        lines: Lines::new(service.limits.message_bytes),
        outbox: Arc::new(Outbox::new(&service.limits, transport)),
        out: Vec::new(),
        open: true,
        unread: false,
        ended: false,
        stop,
        deadline: None,
    };
    let ran = driver.run(reader, writer).await;
    let cut = driver.cut().await;
    Ended {
        cut: cut.max(usize::from(matches!(ran, Err(Unwritten::Stuck)))),
        broken: matches!(ran, Err(Unwritten::Gone)),
    }
}

struct Driver<'a> {
    service: &'a Service,
    principal: Option<Arc<Principal>>,
    peer: Peer<Context, Asker>,
    /// Questions that wait for the client to say that it is ready.
    early: Vec<(Context, Asked)>,
    /// Streams of `subscriptions/listen` on this connection.
    listening: Vec<(Context, Arc<Listener>)>,
    lines: Lines,
    outbox: Arc<Outbox>,
    out: Vec<u8>,
    /// The input has not ended and we have not been told to stop.
    open: bool,
    stop: Stop,
    /// Something was read that has not been looked at.
    unread: bool,
    /// The input has ended; the last line may have no end of its own.
    ended: bool,
    /// When the drain is over.
    deadline: Option<Instant>,
}

/// Why what we had to say was not written.
enum Unwritten {
    /// The writer's other end is gone.
    Gone,
    /// It took nothing until the drain was over.
    Stuck,
}

impl Driver<'_> {
    async fn run(
        &mut self,
        reader: &mut (dyn AsyncRead + Unpin + Send),
        writer: &mut (dyn AsyncWrite + Unpin + Send),
    ) -> Result<(), Unwritten> {
        loop {
            match self.next_event(reader).await {
                Event::Read(read) => self.handle_read(&read),
                Event::Outbox => self.handle_outbox(),
                Event::Stop => self.close(),
                Event::Deadline => return Ok(()),
            }
            self.handle_lines(reader, writer).await?;
            if !self.open && self.peer.in_flight() == 0 {
                return Ok(());
            }
        }
    }

    /// Tells the calls that still run that nobody waits, and lets them tidy up for their grace. How many there were.
    async fn cut(&mut self) -> usize {
        let cut = self.peer.abandon();
        let reason = if self.stop.is_stopped() {
            CancelReason::Shutdown
        } else {
            CancelReason::Disconnected
        };
        for context in &cut {
            context.cancel(reason);
        }
        let mut left = cut.len();
        let ends = async {
            while left > 0 {
                self.outbox.filled().await;
                let ended = |item: &Item| matches!(item, Item::Done(context, ..) if cut.iter().any(|c| c.is(context)));
                left -= self
                    .outbox
                    .take()
                    .unwrap_or_default()
                    .iter()
                    .filter(|item| ended(item))
                    .count();
            }
        };
        // A call that does not end in its grace is dropped, and says so at once.
        let _ = tokio::time::timeout(self.service.limits.cancel_grace * 2, ends).await;
        cut.len()
    }

    async fn next_event(&mut self, reader: &mut (dyn AsyncRead + Unpin + Send)) -> Event {
        let deadline = self.deadline;
        tokio::select! {
            biased;
            read = reader.read_buf(self.lines.buffer()), if self.open => Event::Read(read),
            () = self.outbox.filled() => Event::Outbox,
            () = self.stop.wait(), if self.open => Event::Stop,
            () = sleep_until(deadline) => Event::Deadline,
        }
    }

    /// Takes in all that was read; what is read while an answer is written comes at once after it.
    async fn handle_lines(
        &mut self,
        reader: &mut (dyn AsyncRead + Unpin + Send),
        writer: &mut (dyn AsyncWrite + Unpin + Send),
    ) -> Result<(), Unwritten> {
        loop {
            while let Some(line) = self.lines.next_line() {
                self.handle_line(line);
                if self.out.len() > FLUSH_AT {
                    self.flush(reader, writer).await?;
                }
            }
            if std::mem::take(&mut self.ended) {
                if let Some(line) = self.lines.finish() {
                    self.handle_line(line);
                }
                self.give_up_questions();
            }
            self.unread = false;
            self.flush(reader, writer).await?;
            if !self.unread {
                return Ok(());
            }
        }
    }

    fn handle_line(&mut self, line: Line) {
        match line {
            Line::Frame(frame) if batch::is_batch(&frame) => self.handle_batch(&frame),
            Line::Frame(frame) => {
                self.handle_message(Message::parse(frame, &self.service.limits.json), None)
            }
            Line::TooLong { limit } => self.refuse(&Blame::TooLong { limit }),
        }
    }

    fn handle_read(&mut self, read: &std::io::Result<usize>) {
        self.unread = true;
        if !matches!(read, Ok(n) if *n > 0) {
            self.ended = true;
            self.close();
        }
        // Whoever only says no more may still read; whose connection is gone does not.
        if read.is_err() {
            self.deadline = Some(Instant::now());
        }
    }

    fn close(&mut self) {
        self.open = false;
        for (_, listener) in &self.listening {
            listener.end();
        }
        self.deadline = Some(Instant::now() + self.service.limits.drain);
    }

    fn handle_batch(&mut self, frame: &Bytes) {
        let limits = &self.service.limits.json;
        let parts = match batch::split(frame, limits) {
            Ok(parts) => parts,
            Err(malformed) => return self.refuse(&Blame::from(&malformed)),
        };
        let messages: Vec<_> = parts
            .into_iter()
            .map(|part| Message::parse(part, limits))
            .collect();
        match self
            .peer
            .open_batch(messages.iter().filter(|m| wants_reply(m)).count())
        {
            Ok(batch) => {
                for message in messages {
                    let batch = batch.filter(|_| wants_reply(&message));
                    self.handle_message(message, batch);
                }
            }
            Err(blame) => self.refuse(&blame),
        }
    }

    fn handle_message(&mut self, message: Result<Message, Malformed>, batch: Option<u32>) {
        let start = self.out.len();
        let was_initialized = self.peer.is_initialized();
        match self.peer.handle(message, batch, &mut self.out) {
            Turn::Call(receipt, admitted) => self.begin(receipt, admitted),
            Turn::Reply(blame) => {
                if let Some(blame) = blame {
                    self.service.count_refused(&blame);
                }
                self.end_line(start);
            }
            Turn::Cancel(context, why) => {
                context.cancel_as_told(why);
                self.end_line(start);
            }
            Turn::Answer(asker, answer) => {
                // Whoever asked may wait no more.
                let _ = asker.sender.send(Ok(answer));
            }
            Turn::BadAnswer(asker, malformed) => {
                tracing::debug!(%malformed, "a question got no answer");
                let _ = asker.sender.send(Err(malformed.into()));
            }
            Turn::Notice(notice) => self.service.notice(notice),
            Turn::Nothing(blame) => {
                if let Some(blame) = blame {
                    tracing::debug!(%blame, "message ignored");
                }
                if !was_initialized && self.peer.is_initialized() {
                    self.handle_changes();
                    for (context, asked) in std::mem::take(&mut self.early) {
                        self.ask(context, asked);
                    }
                }
            }
        }
    }

    fn begin(&mut self, receipt: Receipt, mut admitted: Admitted) {
        if self.principal.is_some() {
            admitted.envelope = admitted.envelope.with_principal(self.principal.clone());
        }
        if let Err(blame) = self.service.check_room() {
            return self.answer(&receipt, &Outcome::Failed(blame.error()));
        }
        let call = Call::new(admitted, self.outbox.clone());
        let context = call.context.clone();
        match begin(self.service, call) {
            Begun::Ready(outcome) => {
                let held = context.finish();
                self.handle_outbox();
                for note in held {
                    self.line(&note);
                }
                self.answer(&receipt, &outcome);
            }
            Begun::Pending(running) => {
                let (id, outbox) = (receipt.id.clone(), self.outbox.clone());
                self.peer.track(receipt, context.clone());
                running.spawn(self.service, move |outcome| {
                    outbox.done(context, id, outcome)
                });
            }
        }
    }

    fn answer(&mut self, receipt: &Receipt, outcome: &Outcome) {
        let start = self.out.len();
        self.peer.answer(receipt, outcome, &mut self.out);
        self.end_line(start);
        if receipt.opening {
            self.listen_for_session();
        }
    }

    /// The handshake has succeeded: the session hears of changes.
    fn listen_for_session(&self) {
        if let Some(session) = self.peer.session() {
            let alert: Arc<dyn Alert> = self.outbox.clone();
            let limits = &self.service.limits;
            let envelope = Envelope::remembered(session.clone(), None);
            let (bus, alert) = (self.service.bus_of(&envelope), Arc::downgrade(&alert));
            let listener = bus.listen_session(session.clone(), alert, limits);
            self.outbox.set_listener(listener);
        }
    }

    fn handle_outbox(&mut self) {
        // Taken out first: who stops waiting after that wakes us again.
        let Some(items) = self.outbox.take() else {
            return;
        };
        self.forget_questions();
        for item in items {
            match item {
                // Its id may belong to another call by now.
                Item::Note(context, _)
                | Item::Done(context, ..)
                | Item::Ask(context, _)
                | Item::Attach(context, _)
                    if context.is_revoked() => {}
                Item::Ask(_, asked) if asked.asker.is_closed() => {}
                Item::Note(_, note) => self.line(&note),
                Item::Done(context, id, Some(outcome)) => {
                    let start = self.out.len();
                    let ended = self.peer.finish(&id, &outcome, &mut self.out);
                    self.end_line(start);
                    if ended.is_some_and(|receipt| receipt.opening) {
                        self.listen_for_session();
                    }
                    if self.stop_listening(&context) {
                        self.line(&listen::ended(&id));
                    }
                }
                Item::Done(_, _, None) => {}
                Item::Ask(context, asked) => self.ask(context, asked),
                Item::Attach(context, listener) => {
                    if !self.open {
                        listener.end();
                    }
                    self.listening.push((context, listener));
                }
            }
        }
        self.handle_changes();
    }

    /// Writes what has changed outside of calls.
    fn handle_changes(&mut self) {
        self.listening.retain(|(context, _)| !context.is_revoked());
        let mut changes = Vec::new();
        if self.peer.is_initialized()
            && let Some(listener) = self.outbox.listener()
        {
            changes.extend(listener.take());
        }
        for (_, listener) in &self.listening {
            changes.extend(listener.take());
        }
        for change in changes {
            self.line(&change);
        }
    }

    /// Was it a stream of changes? It is none any more.
    fn stop_listening(&mut self, context: &Context) -> bool {
        let before = self.listening.len();
        self.listening
            .retain(|(listening, _)| !listening.is(context));
        self.listening.len() < before
    }

    fn refuse(&mut self, blame: &Blame) {
        let start = self.out.len();
        peer::refusal(None, &blame.error(), &mut self.out);
        self.end_line(start);
    }

    fn line(&mut self, message: &[u8]) {
        let start = self.out.len();
        self.out.extend_from_slice(message);
        self.end_line(start);
    }

    /// Ends the message that begins at `start`, if there is one. A line feed between its tokens would end it too early (D-15).
    fn end_line(&mut self, start: usize) {
        if self.out.len() == start {
            return;
        }
        if splice::spans_lines(&self.out[start..]) {
            let text =
                String::from_utf8(self.out.split_off(start)).expect("messages are JSON text");
            splice::squeeze(&text, &mut self.out);
        }
        self.out.push(b'\n');
    }

    /// Writes what has gathered. The input is read meanwhile, within the bound of a message: its end, too, must be heard.
    async fn flush(
        &mut self,
        reader: &mut (dyn AsyncRead + Unpin + Send),
        writer: &mut (dyn AsyncWrite + Unpin + Send),
    ) -> Result<(), Unwritten> {
        let mut written = 0;
        while written < self.out.len() {
            let deadline = self.deadline;
            let room = self.open && self.lines.buffer().len() < self.service.limits.message_bytes;
            tokio::select! {
                biased;
                wrote = writer.write(&self.out[written..]) => match wrote {
                    Ok(n) if n > 0 => written += n,
                    _ => return Err(Unwritten::Gone),
                },
                read = reader.read_buf(self.lines.buffer()), if room => self.handle_read(&read),
                () = self.stop.wait(), if self.open => self.close(),
                () = sleep_until(deadline) => return Err(Unwritten::Stuck),
            }
        }
        self.out.clear();
        self.out.shrink_to(FLUSH_AT);
        writer.flush().await.map_err(|_| Unwritten::Gone)
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
