//! How things stood when an answer did not come in time: what was open, how far it had come, and what was heard and said last.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use polyport_model::{NOTIFICATIONS, REQUESTS};
use polyport_wire::{Kind, Message, RequestId};
use tokio::time::Instant;

use super::State;
use crate::child::Running;

/// OpenRequest requests that are named; the rest is counted.
const NAMED: usize = 8;

/// How long no answer came, and what is known of why.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Late {
    /// How long it was waited for.
    pub after: Duration,
    /// What the server answered meanwhile that fits no request, in words.
    pub odd: Option<String>,
    /// How the connection stood then. None: there was none yet.
    pub standing: Option<Box<Standing>>,
    /// The program that was started for it, where that has not answered at all.
    pub program: Option<Box<Running>>,
}

/// How a connection stood when an answer was given up. It names methods and kinds of messages, and says nothing of what is in them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Standing {
    /// The requests without an answer: the one that is given up, if it was one, then the oldest; eight at most.
    pub open: Vec<OpenRequest>,
    /// How many there are of them all.
    pub open_count: usize,
    /// Questions of the server's that have no answer of ours yet.
    pub owed: usize,
    /// The last message from the server. None: there was none.
    pub heard: Option<LastMessage>,
    /// The last message to it.
    pub said: Option<LastMessage>,
}

/// A request without an answer.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct OpenRequest {
    /// Its method.
    pub method: Arc<str>,
    /// How long ago it was made.
    pub ago: Duration,
    /// How far it has come.
    pub stage: Stage,
}

/// How far a request without an answer has come.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Stage {
    /// The server has not taken it.
    Unsent,
    /// It was sent; where all messages share one stream, no more is known.
    #[default]
    Sent,
    /// It was sent by HTTP, and no response has begun.
    Unanswered,
    /// The head of its response has come, and not all of its body.
    Begun,
    /// Its response is a stream of events, which is open.
    Streaming,
    /// That stream has broken off, and is not there again.
    Broken,
}

/// The last message in one direction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct LastMessage {
    /// Its method, if the protocol has one of that name; else its kind, such as `an answer`.
    pub what: &'static str,
    /// How long ago it was.
    pub ago: Duration,
}

/// When there was a message last, and what it was.
pub(super) type Noticed = (Instant, &'static str);

/// A message of this kind, just now.
pub(super) fn now(of: Kind) -> Noticed {
    (Instant::now(), kind(of))
}

/// What a message of this kind is called.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Request => "a request",
        Kind::Notification => "a notification",
        Kind::Response => "an answer",
        Kind::Failure => "an error",
    }
}

/// What a message of the server is called: no words of its own.
pub(super) fn what(message: &Message) -> &'static str {
    let names = match message.kind() {
        Kind::Request => REQUESTS,
        Kind::Notification => NOTIFICATIONS,
        Kind::Response | Kind::Failure => &[],
    };
    let method = message.method();
    let known = names.iter().find(|name| **name == method);
    known.copied().unwrap_or_else(|| kind(message.kind()))
}

impl State {
    /// Nothing has come for so long: `first` is what was waited for, if it is one request.
    pub(super) fn late(&self, after: Duration, first: Option<&RequestId>) -> Late {
        let odd = self.odd.as_ref();
        let odd = odd.filter(|(when, _)| when.elapsed() <= after);
        let last = |noticed: Option<Noticed>| {
            noticed.map(|(when, what)| LastMessage {
                what,
                ago: when.elapsed(),
            })
        };
        let rest = self.waiting.keys().filter(|id| Some(*id) != first);
        let open = first.into_iter().chain(rest).filter_map(|id| {
            let waiting = self.waiting.get(id)?;
            let carrier = self.carrier.as_ref();
            Some(OpenRequest {
                method: waiting.method.clone(),
                ago: waiting.begun.elapsed(),
                stage: carrier.map_or(Stage::Sent, |carrier| carrier.stage(id)),
            })
        });
        Late {
            after,
            odd: odd.map(|(_, odd)| odd.clone()),
            standing: Some(Box::new(Standing {
                open: open.take(NAMED).collect(),
                open_count: self.waiting.len(),
                owed: self.asked.len(),
                heard: last(self.heard),
                said: last(self.said),
            })),
            program: None,
        }
    }
}

impl Late {
    /// What is known of the program that was to answer.
    #[must_use]
    pub fn of(mut self, program: Running) -> Self {
        self.program = Some(Box::new(program));
        self
    }

    /// What was given up had not even been taken.
    pub(super) fn unsent(mut self) -> Self {
        let standing = self.standing.as_mut();
        if let Some(open) = standing.and_then(|standing| standing.open.first_mut()) {
            open.stage = Stage::Unsent;
        }
        self
    }
}

impl From<Duration> for Late {
    fn from(after: Duration) -> Self {
        Self {
            after,
            ..Self::default()
        }
    }
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let standing = self.standing.as_deref();
        let first = standing.and_then(|standing| standing.open.first());
        f.write_str("no answer")?;
        if let Some(open) = first {
            write!(f, " to {}", open.method)?;
        }
        write!(f, " after {}", Spelled(self.after))?;
        if let Some(odd) = &self.odd {
            write!(f, "; {odd}")?;
        }
        if let Some(standing) = standing {
            standing.fmt(f)?;
        }
        match &self.program {
            Some(program) => write!(f, "; it has run for {}", Spelled(program.time)),
            None => Ok(()),
        }
    }
}

/// What follows "no answer after so long".
impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.open.first();
        match first.map(|open| open.stage) {
            None | Some(Stage::Sent) => {}
            Some(Stage::Unsent) => f.write_str("; the server has not taken it")?,
            Some(Stage::Unanswered) => f.write_str("; no response has begun")?,
            Some(Stage::Begun) => f.write_str("; its response has begun and not ended")?,
            Some(Stage::Streaming) => f.write_str("; its stream is open")?,
            Some(Stage::Broken) => f.write_str("; its stream has broken off")?,
        }
        match &self.heard {
            None => f.write_str("; the server has said nothing")?,
            Some(LastMessage { what, ago }) => {
                write!(f, "; last heard: {what}, {} ago", Spelled(*ago))?
            }
        }
        // What was waited for was said itself.
        if let Some(said) = &self.said
            && first.is_none_or(|open| said.ago < open.ago)
            && self.heard.is_none_or(|heard| said.ago < heard.ago)
        {
            write!(f, "; last said: {}, {} ago", said.what, Spelled(said.ago))?;
        }
        if self.owed > 0 {
            let questions = if self.owed == 1 {
                "question"
            } else {
                "questions"
            };
            write!(f, "; {} {questions} of its own unanswered", self.owed)?;
        }
        for (i, open) in self.open.iter().enumerate().skip(1) {
            let before = if i == 1 { "; also open: " } else { ", " };
            write!(f, "{before}{}", open.method)?;
        }
        match self.open_count.saturating_sub(self.open.len()) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// A time as people say it.
struct Spelled(Duration);

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_millis() {
            millis @ 0..100 => write!(f, "{millis} ms"),
            _ => write!(f, "{:.1} s", self.0.as_secs_f64()),
        }
    }
}
