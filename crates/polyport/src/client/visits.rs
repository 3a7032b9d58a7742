//! Pages that a user has to visit before a request is served: the user is sent there, and the request is sent once more, when the
//! server or the user says that all is done there. Not how the user is asked: see `answers`.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polyport_model::method::{ELICITATION_CREATE, NOTIFICATIONS_ELICITATION_COMPLETE};
use polyport_model::{
    CODE_URL_ELICITATION_REQUIRED, ElicitAction, ElicitParams, ElicitResult, ElicitUrlParams,
    ElicitationCompleteParams, RpcError, UrlElicitationData,
};
use polyport_wire::Raw;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::{Client, ClientError};

/// How long it is waited for what the user does at the pages, unless told otherwise.
pub(super) const VISITING: Duration = Duration::from_secs(5 * 60);
/// Pages that one error may send the user to.
pub(super) const MAX_PAGES: usize = 16;
/// Words that all is done at a page which are remembered; the newest stay.
const MAX_DONE: usize = 64;

/// The pages of which the server has told that all is done there.
#[derive(Debug, Default)]
pub(super) struct Done {
    words: Mutex<VecDeque<(u64, String)>>,
    told: Notify,
}

/// A moment between the words of a server: those that came after it count.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) struct Moment(u64);

impl Done {
    pub(super) fn hear(&self, method: &str, params: Option<&Raw>) {
        if method != NOTIFICATIONS_ELICITATION_COMPLETE {
            return;
        }
        let params = params.and_then(|params| params.decode::<ElicitationCompleteParams>().ok());
        let Some(params) = params else { return };
        let mut words = self.words();
        let number = words.back().map_or(0, |(last, _)| last + 1);
        if words.len() >= MAX_DONE {
            words.pop_front();
        }
        words.push_back((number, params.elicitation_id));
        drop(words);
        self.told.notify_waiters();
    }

    pub(super) fn now(&self) -> Moment {
        Moment(self.words().back().map_or(0, |(last, _)| last + 1))
    }

    /// Is all done at these pages, by what the server has said since?
    pub(super) fn has_all(&self, since: Moment, pages: &[ElicitUrlParams]) -> bool {
        let words = self.words();
        pages.iter().all(|page| {
            let id = page.elicitation_id.as_ref();
            let mut later = words.iter().filter(|(number, _)| *number >= since.0);
            later.any(|(_, done)| Some(done) == id)
        })
    }

    /// Waits for that. The word may have come before the error that names the pages.
    pub(super) async fn all(&self, since: Moment, pages: &[ElicitUrlParams]) {
        loop {
            let told = self.told.notified();
            if self.has_all(since, pages) {
                return;
            }
            told.await;
        }
    }

    fn words(&self) -> MutexGuard<'_, VecDeque<(u64, String)>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientError {
    /// The pages that the user has to visit before the request is served, if that is why it was refused.
    pub fn pages(&self) -> Vec<ElicitUrlParams> {
        match self {
            Self::Refused(error) => pages(error),
            _ => Vec::new(),
        }
    }
}

impl Client {
    /// Sends the user to the pages that an error names, and waits for what he does there. True: the request, which was sent at that
    /// moment, may be sent once more.
    pub(super) async fn has_visited(&self, error: &RpcError, sent: Moment) -> bool {
        let pages = match self.opened.revision.profile().elicitation_ids {
            true => pages(error),
            false => Vec::new(),
        };
        let Some(ask) = self.answers.page.as_ref().filter(|_| !pages.is_empty()) else {
            return false;
        };
        for page in &pages {
            if ask(page.clone()).await.action != ElicitAction::Accept {
                return false;
            }
        }
        self.visiting(pages, Some(sent)).await;
        true
    }

    /// Sends the user to pages that a round of questions names before the answers go back: where nobody says that all is done there,
    /// they go at once, since nothing else tells.
    pub(super) async fn visit_in_round(&self, pages: Vec<ElicitUrlParams>) {
        if !pages.is_empty() && self.answers.visited.is_some() {
            self.visiting(pages, None).await;
        }
    }

    /// Waits for the server where it tells, for the user, or for the end of the connection. That the user has agreed says neither that
    /// all is done there nor that anybody tells of it: what the server answers then decides.
    async fn visiting(&self, pages: Vec<ElicitUrlParams>, tells: Option<Moment>) {
        let wait = self.answers.visiting.unwrap_or(VISITING);
        let told = async {
            match tells {
                Some(since) => self.done.all(since, &pages).await,
                None => pending().await,
            }
        };
        let said = async {
            match &self.answers.visited {
                Some(visited) => visited(pages.clone()).await,
                None => pending().await,
            }
        };
        let over = async {
            tokio::select! {
                biased;
                () = told => {}
                () = self.caller.closed() => {}
                () = said => {}
            }
        };
        let _ = timeout(wait, over).await;
    }
}

/// A page that a user has agreed to visit, if a question and its answer are that.
pub(super) fn agreed(method: &str, params: Option<&Raw>, answer: &Raw) -> Option<ElicitUrlParams> {
    if method != ELICITATION_CREATE {
        return None;
    }
    let ElicitParams::Url(page) = params?.decode().ok()? else {
        return None;
    };
    let answer = answer.decode::<ElicitResult>().ok()?;
    (answer.action == ElicitAction::Accept).then_some(page)
}

pub(super) fn pages(error: &RpcError) -> Vec<ElicitUrlParams> {
    if error.code != CODE_URL_ELICITATION_REQUIRED {
        return Vec::new();
    }
    let data = error.data.as_ref();
    let data = data.and_then(|data| data.decode::<UrlElicitationData>().ok());
    let mut pages = data.unwrap_or_default().elicitations;
    pages.truncate(MAX_PAGES);
    pages
}
