//! The stream on which a modern server tells of changes: opened, opened again when it breaks, and exchanged for another.

use std::time::Duration;

use polyport_model::ListenParams;
use polyport_rt::Wait;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::super::{ClientError, unreadable};
use super::{Changes, Next, PAUSE, TRIES, Wanted, declared};

const LISTEN: &str = "subscriptions/listen";
/// How long a server may take to say what of it it tells.
const ACKNOWLEDGING: Duration = Duration::from_secs(30);
/// Messages that are kept while a stream is opened.
const MAX_EARLY: usize = 256;

impl Changes<'_> {
    /// Opens a stream for what is wanted now, and ends the one before once the server has said that it tells.
    pub(super) async fn listen_anew(&mut self) -> Result<(), ClientError> {
        let (before, told) = (self.listening.take(), self.told.clone());
        let listened = self.listen().await;
        if listened.is_err() {
            self.listening = before;
            self.told = told;
        }
        listened
    }

    /// Opens the stream of a modern server, and waits until it says what of all that it tells.
    pub(super) async fn listen(&mut self) -> Result<(), ClientError> {
        if self.ask()? {
            return self.acknowledged().await;
        }
        self.told = Wanted {
            others: self.wanted.others,
            ..Wanted::default()
        };
        Ok(())
    }

    /// Asks for the stream. False: the server has nothing that there would be to ask for.
    fn ask(&mut self) -> Result<bool, ClientError> {
        let client = self.client;
        let Some(notifications) = declared::filter(&self.wanted, &client.opened.capabilities)
        else {
            return Ok(false);
        };
        let asked = ListenParams {
            notifications,
            ..ListenParams::default()
        };
        let params = serde_json::to_string(&asked).map_err(|error| unreadable(&error))?;
        self.is_acknowledged = false;
        let has_tasks = asked.notifications.task_ids.is_some();
        let wait = Wait {
            on_behalf_of: client.behalf.clone().filter(|_| has_tasks),
            ..Wait::default()
        };
        self.listening = Some(Box::pin(async move {
            client.request_raw(LISTEN, &params, Some(wait)).await
        }));
        Ok(true)
    }

    /// Waits until the server says what of all that it tells.
    async fn acknowledged(&mut self) -> Result<(), ClientError> {
        let end = Instant::now() + ACKNOWLEDGING;
        loop {
            let Ok(note) = timeout_at(end, self.note()).await else {
                return Err(ClientError::TimedOut(self.client.late(ACKNOWLEDGING)));
            };
            let message = match note? {
                Next::Note(message) => message,
                Next::Junk | Next::Forgotten => continue,
                Next::Ended => return Ok(()),
            };
            if message.method() != "notifications/subscriptions/acknowledged" {
                if self.early.len() < MAX_EARLY {
                    self.early.push_back(message);
                }
                continue;
            }
            self.is_acknowledged = true;
            let raw = message.params().raw();
            let told = raw.and_then(|raw| raw.decode::<ListenParams>().ok());
            let told = told.unwrap_or_default().notifications;
            let lists = [
                told.tools_list_changed,
                told.prompts_list_changed,
                told.resources_list_changed,
            ];
            self.told = Wanted {
                lists: lists.contains(&Some(true)),
                resources: told.resource_subscriptions.unwrap_or_default(),
                tasks: told.task_ids.unwrap_or_default(),
                logs: None,
                others: self.wanted.others,
            };
            return Ok(());
        }
    }

    /// Opens the stream again that has broken. Dropped in its midst, it goes on there.
    pub(super) async fn listen_again(&mut self) -> Result<(), ClientError> {
        while let Some(Again { at, tries, pause }) = self.again {
            if self.listening.is_none() {
                sleep_until(at).await;
                if !self.ask()? {
                    self.again = None;
                    return Ok(());
                }
            }
            match self.acknowledged().await {
                Err(ClientError::Broken(_) | ClientError::Unreachable(_)) if tries < TRIES => {
                    self.again = Some(Again::after(tries + 1, pause * 2));
                }
                done => {
                    self.again = None;
                    // What happened until it was open again is not known.
                    self.client.fresh.clear();
                    return done;
                }
            }
        }
        Ok(())
    }
}

/// The next try to open a stream again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    at: Instant,
    /// The how manieth it is, and what was waited before it.
    tries: u32,
    pause: Duration,
}

impl Again {
    pub(super) fn first() -> Self {
        Self::after(1, PAUSE)
    }

    fn after(tries: u32, pause: Duration) -> Self {
        Self {
            at: Instant::now() + pause,
            tries,
            pause,
        }
    }
}
