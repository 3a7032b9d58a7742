//! A task: a call that goes on by itself. Where it stands, and what may become of it. Not how it is written: see the codecs; nor who
//! runs it.

use polyport_model::TaskStatus;
use polyport_wire::{Params, Raw, splice};

use super::{Question, RpcError};
use crate::text::string;

/// The id that a request about a task names.
pub fn task_id(params: &Params) -> Option<String> {
    let mut id = None;
    splice::members(params.text()?, |key, value| {
        if key == "taskId" {
            id = string(value).map(std::borrow::Cow::into_owned);
        }
    });
    id
}

/// How a task ended.
#[derive(Clone, Debug)]
pub enum TaskEnd {
    /// With the result of its call, which may tell of a failure.
    Result(Raw),
    /// With an error.
    Failed(RpcError),
    /// It was given up.
    Cancelled,
}

/// Where a task stands. Once it has ended nothing of it changes.
#[derive(Clone, Debug)]
pub struct Task {
    id: Box<str>,
    created: u64,
    updated: u64,
    ttl: u64,
    poll: u64,
    questions: Vec<Question>,
    end: Option<TaskEnd>,
}

impl Task {
    /// A task that begins to work. Times are in milliseconds, `now` since 1970: for how long it is kept, and how long to wait between
    /// two looks.
    pub fn new(id: impl Into<Box<str>>, now: u64, ttl: u64, poll: u64) -> Self {
        Self {
            id: id.into(),
            created: now,
            updated: now,
            ttl,
            poll,
            questions: Vec::new(),
            end: None,
        }
    }

    /// Names it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// When it began, in milliseconds since 1970.
    pub fn created(&self) -> u64 {
        self.created
    }

    /// When it last changed, in milliseconds since 1970.
    pub fn updated(&self) -> u64 {
        self.updated
    }

    /// How long to wait between two looks, in milliseconds.
    pub fn poll(&self) -> u64 {
        self.poll
    }

    /// For how long after its beginning it is kept, in milliseconds.
    pub fn ttl(&self) -> u64 {
        self.ttl
    }

    /// How it ended, if it has.
    pub fn end(&self) -> Option<&TaskEnd> {
        self.end.as_ref()
    }

    /// What it asks, under keys that are never used again.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Where it stands. A result that tells of a failure is one like any other; the core's form calls it failed.
    pub fn status(&self) -> TaskStatus {
        match &self.end {
            Some(TaskEnd::Result(_)) => TaskStatus::Completed,
            Some(TaskEnd::Failed(_)) => TaskStatus::Failed,
            Some(TaskEnd::Cancelled) => TaskStatus::Cancelled,
            None if self.questions.is_empty() => TaskStatus::Working,
            None => TaskStatus::InputRequired,
        }
    }

    /// It waits for answers to these, or, without any, works. False: nothing changes by that.
    pub fn asks(&mut self, questions: Vec<Question>, now: u64) -> bool {
        let keys = |questions: &[Question]| -> Vec<String> {
            questions.iter().map(|q| q.key.clone()).collect()
        };
        if self.end.is_some() || keys(&self.questions) == keys(&questions) {
            return false;
        }
        self.questions = questions;
        self.updated = now.max(self.updated);
        true
    }

    /// It ends. False: it has ended already, and stays as it is.
    pub fn ends(&mut self, end: TaskEnd, now: u64) -> bool {
        if self.end.is_some() {
            return false;
        }
        self.questions.clear();
        self.end = Some(end);
        self.updated = now.max(self.updated);
        true
    }
}
