//! What a call knows between its rounds: answers given, steps done, questions open. Not how it travels: see `state`.

use std::collections::{HashMap, HashSet};
use std::task::Waker;

use polyport_proto::Question;
use polyport_wire::Raw;

/// Questions, answers and steps of one call.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// Answers by the key of their question.
    pub(crate) answers: HashMap<String, Raw>,
    /// Answers to questions that nobody asked yet: a client may know what will be asked.
    pub(crate) offered: HashMap<String, Raw>,
    /// What steps came to that run once.
    pub(crate) steps: HashMap<String, Raw>,
    /// The text that a handler gave along with its own questions.
    pub(crate) state: Option<String>,
    /// Keys that this run has used.
    used: HashSet<String>,
    /// Questions that wait for the client to come back.
    open: Vec<Open>,
    /// Steps that run now.
    pub(crate) stepping: HashSet<String>,
    /// Those of them that are being polled, the outermost first.
    pub(crate) within: Vec<String>,
    /// The round is over: nothing may be asked any more.
    over: bool,
}

#[derive(Debug)]
struct Open {
    question: Question,
    waker: Waker,
    /// The steps that wait for it.
    within: Vec<String>,
}

impl Rounds {
    /// Notes that this run uses a key; false: it has already.
    pub(crate) fn claim(&mut self, key: &str) -> bool {
        self.used.insert(key.to_owned())
    }

    /// Opens a question, or notes who waits for it now. False: the round is over.
    pub(crate) fn open(&mut self, question: &Question, waker: &Waker) -> bool {
        if self.over {
            return false;
        }
        match self
            .open
            .iter_mut()
            .find(|o| o.question.key == question.key)
        {
            Some(open) => open.waker.clone_from(waker),
            None => self.open.push(Open {
                question: question.clone(),
                waker: waker.clone(),
                within: self.within.clone(),
            }),
        }
        true
    }

    /// Nobody waits for this question any more.
    pub(crate) fn close(&mut self, key: &str) {
        self.open.retain(|o| o.question.key != key);
    }

    /// How many questions are open.
    pub(crate) fn asking(&self) -> usize {
        self.open.len()
    }

    /// Does a step run that waits for no question of its own? It should not be cut off.
    pub(crate) fn is_stepping(&self) -> bool {
        let waits = |step: &String| self.open.iter().any(|open| open.within.contains(step));
        self.stepping.iter().any(|step| !waits(step))
    }

    /// How many of those who wait for them hold this waker.
    pub(crate) fn holders(&self, waker: &Waker) -> usize {
        self.open
            .iter()
            .filter(|o| o.waker.will_wake(waker))
            .count()
    }

    /// Ends the round: the questions that are open. Whoever still waits for one, on another thread, hears that it is over.
    pub(crate) fn end(&mut self) -> Vec<Question> {
        self.over = true;
        let ended = self.open.drain(..).map(|open| {
            open.waker.wake();
            open.question
        });
        ended.collect()
    }

    /// Begins the handler anew: what it asked is to be asked again, what was answered stays.
    pub(crate) fn rerun(&mut self) {
        self.used.clear();
        self.over = false;
    }
}
