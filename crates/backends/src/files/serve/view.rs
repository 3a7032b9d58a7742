//! Which folders a client sees: those that are served, or what its roots leave of them (D-16, D-40). Asks the client; opens nothing but
//! what lies in the folders.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use polyport::model::Root;
use polyport::{Answer, Cx, Fault, Notice, Server, roots};
use tokio::sync::Mutex;

use super::super::Folders;

/// How long a legacy client may take to say its roots; then it sees all that is served.
const PATIENCE: Duration = Duration::from_secs(5);
/// The notification that ends what is known of a session.
const CHANGED: &str = "notifications/roots/list_changed";

/// Whose roots are asked for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Roots {
    /// Those of legacy clients, once a session.
    #[default]
    Legacy,
    /// Those of modern clients, too, at each call: that costs a round.
    All,
}

/// The folders, and what each client sees of them.
#[derive(Clone)]
pub(super) struct Views {
    pub(super) ceiling: Arc<Folders>,
    roots: Roots,
}

/// What is known of the roots of one legacy session.
#[derive(Default)]
struct Session {
    /// With the number of changes that had been told when it was asked for. Held while it is asked for, so that calls at once ask once.
    known: Mutex<Option<(u64, Arc<Folders>)>>,
    changes: AtomicU64,
}

impl Views {
    pub(super) fn new(ceiling: Arc<Folders>, roots: Roots) -> Self {
        Self { ceiling, roots }
    }

    /// Lets the server remember what its sessions said.
    pub(super) fn remember(server: Server) -> Server {
        server
            .session(|_cx| async { Ok(Session::default()) }, |_session| async {})
            .on_notice(|notice: &Notice| {
                let session = notice.session.as_ref().filter(|_| notice.method == CHANGED);
                if let Some(session) = session.and_then(|s| s.kept.get::<Session>()) {
                    session.changes.fetch_add(1, Ordering::AcqRel);
                }
            })
    }

    /// What the client of this call sees.
    pub(super) async fn of(&self, cx: &Cx) -> Result<Arc<Folders>, Fault> {
        if !cx.capabilities().has_roots() {
            return Ok(self.ceiling.clone());
        }
        if let Some(session) = cx.session::<Session>() {
            let mut known = session.known.lock().await;
            let changes = session.changes.load(Ordering::Acquire);
            if let Some((at, folders)) = known.as_ref()
                && *at == changes
            {
                return Ok(folders.clone());
            }
            let answer = tokio::time::timeout(PATIENCE, cx.roots(KEY).answer()).await;
            let folders = match answer {
                Ok(Ok(Answer::Given(roots))) => self.narrow(&roots),
                // An error, a time-out, no roots after all.
                _ => self.ceiling.clone(),
            };
            // What it had subscribed to and sees no more is not told, until it sees it again.
            cx.hide_updates(|uri| uri.starts_with("file:") && !folders.covers(uri));
            *known = Some((changes, folders.clone()));
            return Ok(folders);
        }
        if self.roots == Roots::All && cx.may_ask() {
            return Ok(match cx.roots(KEY).answer().await? {
                Answer::Given(roots) => self.narrow(&roots),
                _ => self.ceiling.clone(),
            });
        }
        Ok(self.ceiling.clone())
    }

    fn narrow(&self, named: &[Root]) -> Arc<Folders> {
        let ceiling: Vec<_> = self.ceiling.iter().map(|folder| folder.path()).collect();
        let narrowed = roots::narrow(&ceiling, named);
        for left_out in &narrowed.left_out {
            tracing::info!(root = ?left_out.uri, why = ?left_out.why, "a root of the client leaves nothing");
        }
        match self.ceiling.narrowed(&narrowed.allowed) {
            Some(folders) => Arc::new(folders),
            None => self.ceiling.clone(),
        }
    }
}

/// The key of the question.
const KEY: &str = "polyport/roots";
