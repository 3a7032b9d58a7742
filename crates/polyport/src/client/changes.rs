//! What changes at a server, as one stream in both eras: subscriptions of the legacy one, `subscriptions/listen` of the modern one.

mod declared;
mod listening;
mod subscribing;

use std::collections::VecDeque;
use std::fmt;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use polyport_model::{
    EmptyResult, Level, LogParams, ResourceParams, SubscribeResource, UnsubscribeResource, method,
};
use polyport_proto::outcome::task::task_id;
use polyport_wire::{Limits, Message, Raw};

use listening::Again;

use super::{Client, ClientError};

/// Before a stream that broke is opened again; twice as long after each try.
const PAUSE: Duration = Duration::from_secs(1);
/// Tries in a row.
const TRIES: u32 = 5;

/// What somebody wants to hear of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// That the lists of tools, prompts and resources change.
    pub lists: bool,
    /// That these resources change.
    pub resources: Vec<String>,
    /// That these tasks change. Legacy servers tell of theirs if they like, and are not asked.
    pub tasks: Vec<String>,
    /// Log messages of this level and above. Modern servers log in calls only: there none come here.
    pub logs: Option<Level>,
    /// Whatever else the server says outside of calls, as [`Change::Other`].
    pub others: bool,
}

/// Something that happened at a server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools is another one.
    Tools,
    /// The list of prompts is another one.
    Prompts,
    /// The list of resources, or of their templates, is another one.
    Resources,
    /// This resource has changed.
    Updated(String),
    /// This task has changed; its state is in the message.
    Task(String),
    /// A log message.
    Log(Box<LogParams>),
    /// The stream had broken and is open again: what happened meanwhile is not known.
    Reopened,
    /// Something else, in the words of the message.
    Other,
}

/// A change, and the message that told it; none where no message did.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// What happened.
    pub change: Change,
    /// The notification as it came.
    pub message: Option<Raw>,
}

/// The request of a stream, which lasts as long as that.
type Listening<'a> = Pin<Box<dyn Future<Output = Result<Raw, ClientError>> + Send + 'a>>;

/// The changes of one server, as they come. One at a time of each client: two would take each other's.
pub struct Changes<'a> {
    client: &'a Client,
    wanted: Wanted,
    told: Wanted,
    listening: Option<Listening<'a>>,
    /// What came while a stream was opened; kept until the server has said what it tells on it.
    early: VecDeque<Message>,
    is_acknowledged: bool,
    /// It has broken, and is to be opened again.
    again: Option<Again>,
    /// How often the conversation had been opened again when this was subscribed to.
    reopened: u64,
}

impl Client {
    /// What changes at the server from now on, as far as it tells; [`Changes::told`] says how far that is.
    ///
    /// # Errors
    /// [`ClientError`]; in the legacy era also that one of the resources cannot be subscribed to, in the modern one
    /// [`ClientError::NotOffered`] where the server does not say that it tells of any of it. Legacy servers need not say so.
    pub async fn changes(&self, wanted: Wanted) -> Result<Changes<'_>, ClientError> {
        if self.opened.revision.profile().listens {
            let is_any = wanted.lists || !wanted.resources.is_empty() || !wanted.tasks.is_empty();
            let told = declared::filter(&wanted, &self.opened.capabilities);
            self.offers("changes of what is wanted", !is_any || told.is_some())?;
        }
        self.follow(wanted).await
    }

    /// The same where it may tell of nothing yet, and of resources later.
    pub(super) async fn follow(&self, wanted: Wanted) -> Result<Changes<'_>, ClientError> {
        let mut changes = Changes {
            client: self,
            told: Wanted::default(),
            wanted,
            listening: None,
            early: VecDeque::new(),
            is_acknowledged: false,
            again: None,
            reopened: self.caller.reopened(),
        };
        if self.opened.revision.profile().listens {
            changes.listen().await?;
        } else {
            changes.subscribe().await?;
        }
        Ok(changes)
    }
}

impl Changes<'_> {
    /// What of it the server tells.
    pub fn told(&self) -> &Wanted {
        &self.told
    }

    /// The next change. None: the server tells no more. May be dropped and called again.
    ///
    /// # Errors
    /// The connection ended, or broke and could not be mended.
    pub async fn next(&mut self) -> Result<Option<Heard>, ClientError> {
        loop {
            if self.again.is_some() {
                self.listen_again().await?;
                return Ok(Some(Heard {
                    change: Change::Reopened,
                    message: None,
                }));
            }
            match self.note().await {
                Ok(Next::Note(note)) => {
                    if let Some(heard) = self.read(&note) {
                        return Ok(Some(heard));
                    }
                }
                Ok(Next::Junk) => {}
                Ok(Next::Ended) => return Ok(None),
                Ok(Next::Forgotten) => {
                    self.subscribe_again().await?;
                    return Ok(Some(Heard {
                        change: Change::Reopened,
                        message: None,
                    }));
                }
                Err(ClientError::Broken(_)) if self.client.opened.revision.profile().listens => {
                    self.again = Some(Again::first());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Wants to hear of one more resource. Twice is once. What comes meanwhile is not lost.
    ///
    /// # Errors
    /// The server does not take the subscription.
    pub async fn add(&mut self, uri: String) -> Result<(), ClientError> {
        if self.told.resources.contains(&uri) {
            return Ok(());
        }
        let client = self.client;
        client.offers(
            "subscriptions to resources",
            client.opened.capabilities.has_resource_subscriptions(),
        )?;
        if !client.opened.revision.profile().listens {
            let params = resource(uri.clone());
            let _: EmptyResult = client.request::<SubscribeResource>(&params).await?;
            self.wanted.resources.push(uri.clone());
            self.told.resources.push(uri);
            return Ok(());
        }
        self.wanted.resources.push(uri.clone());
        let listened = self.listen_anew().await;
        if listened.is_ok() && self.told.resources.contains(&uri) {
            return Ok(());
        }
        self.wanted.resources.retain(|wanted| *wanted != uri);
        listened?;
        Err(ClientError::NotOffered("a subscription to this resource"))
    }

    /// Wants to hear of more tasks: those of which a modern server now tells.
    ///
    /// # Errors
    /// [`ClientError`]; none of them is heard of.
    pub(super) async fn add_tasks(&mut self, ids: &[String]) -> Result<Vec<String>, ClientError> {
        let before = self.wanted.tasks.clone();
        let new = ids.iter().filter(|id| !before.contains(id));
        self.wanted.tasks.extend(new.cloned());
        if self.wanted.tasks.len() > before.len()
            && let Err(error) = self.listen_anew().await
        {
            self.wanted.tasks = before;
            return Err(error);
        }
        let told = &self.told.tasks;
        self.wanted.tasks.retain(|id| told.contains(id));
        Ok(ids.iter().filter(|id| told.contains(id)).cloned().collect())
    }

    /// Wants to hear of a task no more.
    ///
    /// # Errors
    /// [`ClientError`]; it is not heard of all the same.
    pub(super) async fn leave_task(&mut self, id: &str) -> Result<(), ClientError> {
        let before = self.wanted.tasks.len();
        self.wanted.tasks.retain(|wanted| wanted != id);
        self.told.tasks.retain(|told| told != id);
        if self.wanted.tasks.len() == before {
            return Ok(());
        }
        self.listen_anew().await
    }

    /// Wants to hear of a resource no more.
    ///
    /// # Errors
    /// [`ClientError`]; it is not heard of all the same.
    pub async fn leave(&mut self, uri: &str) -> Result<(), ClientError> {
        self.wanted.resources.retain(|wanted| wanted != uri);
        if !self.told.resources.iter().any(|told| told == uri) {
            return Ok(());
        }
        self.told.resources.retain(|told| told != uri);
        if self.client.opened.revision.profile().listens {
            return self.listen_anew().await;
        }
        let params = resource(uri.to_owned());
        let _: EmptyResult = self.client.request::<UnsubscribeResource>(&params).await?;
        Ok(())
    }

    /// Hears log messages of this level from now on; the server has been asked for them.
    pub(super) fn hear_logs(&mut self, level: Level) {
        self.wanted.logs = Some(level);
    }

    /// What is wanted now.
    pub(super) fn into_wanted(self) -> Wanted {
        self.wanted
    }

    /// Ends it: the server is told, where telling is more than leaving.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn end(self) -> Result<(), ClientError> {
        if self.client.opened.revision.profile().listens {
            return Ok(());
        }
        for uri in self.told.resources {
            let params = resource(uri);
            let _: EmptyResult = self.client.request::<UnsubscribeResource>(&params).await?;
        }
        Ok(())
    }

    async fn note(&mut self) -> Result<Next, ClientError> {
        if (self.listening.is_none() || self.is_acknowledged)
            && let Some(note) = self.early.pop_front()
        {
            return Ok(Next::Note(note));
        }
        let client = self.client;
        let mut note = pin!(client.caller.notification());
        let mut forgotten = pin!(client.caller.forgotten(self.reopened));
        let next = std::future::poll_fn(|cx| {
            // What came before the end is heard before it.
            if let Poll::Ready(note) = note.as_mut().poll(cx) {
                return Poll::Ready(Ok(Some(note)));
            }
            if forgotten.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(None));
            }
            match &mut self.listening {
                Some(listening) => listening.as_mut().poll(cx).map(Err),
                None => Poll::Pending,
            }
        });
        match next.await {
            Ok(Some(Some(note))) => {
                Ok(Message::parse(note, &Limits::default()).map_or(Next::Junk, Next::Note))
            }
            Ok(Some(None)) => Err(client.gone().await),
            Ok(None) => Ok(Next::Forgotten),
            Err(ended) => {
                self.listening = None;
                ended.map(|_| Next::Ended)
            }
        }
    }

    /// What a notification says, if it is one that is wanted.
    fn read(&self, message: &Message) -> Option<Heard> {
        let params = || message.params().raw();
        let is_list = self.wanted.lists;
        let change = match &*message.method() {
            "notifications/tools/list_changed" if is_list => Change::Tools,
            "notifications/prompts/list_changed" if is_list => Change::Prompts,
            "notifications/resources/list_changed" if is_list => Change::Resources,
            "notifications/resources/updated" => {
                let params = params()?.decode::<ResourceParams>().ok()?;
                Change::Updated(params.uri)
            }
            method::NOTIFICATIONS_TASKS | method::NOTIFICATIONS_TASKS_STATUS
                if !self.wanted.tasks.is_empty() =>
            {
                let id = task_id(message.params())?;
                if !self.wanted.tasks.contains(&id) {
                    return None;
                }
                Change::Task(id)
            }
            "notifications/message" => {
                let params = params()?.decode::<LogParams>().ok()?;
                let least = self.wanted.logs?;
                // Some servers send what nobody asked for.
                if params.level < least {
                    return None;
                }
                Change::Log(Box::new(params))
            }
            _ if self.wanted.others => Change::Other,
            _ => return None,
        };
        Some(Heard {
            change,
            message: Some(Raw::trusted(message.frame().clone())),
        })
    }
}

enum Next {
    Note(Message),
    /// What is no message.
    Junk,
    /// The server ended the stream.
    Ended,
    /// A legacy server has forgotten who subscribed.
    Forgotten,
}

impl fmt::Debug for Changes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes")
            .field("wanted", &self.wanted)
            .field("told", &self.told)
            .finish_non_exhaustive()
    }
}

fn resource(uri: String) -> ResourceParams {
    ResourceParams {
        uri,
        meta: None,
        extra: polyport_model::Object::new(),
    }
}
