//! What changes at a server, as one stream in both eras: subscriptions of the legacy one, `subscriptions/listen` of the modern one.

use std::collections::VecDeque;
use std::fmt;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use polyport_model::{
    EmptyResult, Level, ListenParams, LogParams, ResourceParams, SetLevel, SetLevelParams,
    SubscribeResource, SubscriptionFilter, UnsubscribeResource,
};
use polyport_proto::Code;
use polyport_rt::Wait;
use polyport_wire::{Limits, Message, Raw};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::{Client, ClientError, unreadable};

const LISTEN: &str = "subscriptions/listen";
/// How long a server may take to say what of it it tells.
const ACKNOWLEDGING: Duration = Duration::from_secs(30);
/// Before a stream that broke is opened again; twice as long after each try.
const PAUSE: Duration = Duration::from_secs(1);
/// Tries in a row.
const TRIES: u32 = 5;
/// Messages that are kept while a stream is opened.
const MAX_EARLY: usize = 256;

/// What somebody wants to hear of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// That the lists of tools, prompts and resources change.
    pub lists: bool,
    /// That these resources change.
    pub resources: Vec<String>,
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
    /// [`ClientError`]; in the legacy era also that one of the resources cannot be subscribed to.
    pub async fn changes(&self, wanted: Wanted) -> Result<Changes<'_>, ClientError> {
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
                    self.again = Some(Again::after(1, PAUSE));
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

    /// Opens a stream for what is wanted now, and ends the one before once the server has said that it tells.
    async fn listen_anew(&mut self) -> Result<(), ClientError> {
        let (before, told) = (self.listening.take(), self.told.clone());
        let listened = self.listen().await;
        if listened.is_err() {
            self.listening = before;
            self.told = told;
        }
        listened
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

    /// Opens the stream of a modern server, and waits until it says what of all that it tells.
    async fn listen(&mut self) -> Result<(), ClientError> {
        self.ask()?;
        self.acknowledged().await
    }

    /// Asks for the stream.
    fn ask(&mut self) -> Result<(), ClientError> {
        let lists = self.wanted.lists.then_some(true);
        let asked = ListenParams {
            notifications: SubscriptionFilter {
                tools_list_changed: lists,
                prompts_list_changed: lists,
                resources_list_changed: lists,
                resource_subscriptions: Some(self.wanted.resources.clone())
                    .filter(|uris| !uris.is_empty()),
                ..SubscriptionFilter::default()
            },
            ..ListenParams::default()
        };
        let params = serde_json::to_string(&asked).map_err(|error| unreadable(&error))?;
        let client = self.client;
        self.is_acknowledged = false;
        self.listening = Some(Box::pin(async move {
            let wait = Wait::default();
            client.request_raw(LISTEN, &params, Some(wait)).await
        }));
        Ok(())
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
                logs: None,
                others: self.wanted.others,
            };
            return Ok(());
        }
    }

    /// Opens the stream again that has broken. Dropped in its midst, it goes on there.
    async fn listen_again(&mut self) -> Result<(), ClientError> {
        while let Some(Again { at, tries, pause }) = self.again {
            if self.listening.is_none() {
                sleep_until(at).await;
                self.ask()?;
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

    /// Opens the conversation with a legacy server again, and subscribes anew.
    async fn subscribe_again(&mut self) -> Result<(), ClientError> {
        let client = self.client;
        let mut pause = PAUSE;
        for tries in 1.. {
            // The question is answered with what the server has forgotten, and that opens it again.
            match client.ping().await {
                Err(ClientError::Broken(_) | ClientError::Unreachable(_)) if tries < TRIES => {
                    sleep(pause).await;
                    pause *= 2;
                }
                // The stream is gone, and so is the session, by a word that says neither. There is no harm in asking this again.
                Err(ClientError::Refused(error)) if error.code != Code::MethodNotFound.number() => {
                    client.caller.renew(self.reopened).await?;
                    break;
                }
                Err(ClientError::Status(status)) if status.code == 400 => {
                    client.caller.renew(self.reopened).await?;
                    break;
                }
                Err(ClientError::Refused(_)) => break,
                other => {
                    other?;
                    break;
                }
            }
        }
        client.caller.remembered();
        self.reopened = client.caller.reopened();
        self.told = Wanted::default();
        self.subscribe().await
    }

    /// Subscribes at a legacy server.
    async fn subscribe(&mut self) -> Result<(), ClientError> {
        let (client, offered) = (self.client, &self.client.opened.capabilities);
        let resources = offered.resources.as_ref();
        let tells = |told: Option<bool>| told == Some(true);
        let lists = [
            offered.tools.as_ref().and_then(|tools| tools.list_changed),
            offered
                .prompts
                .as_ref()
                .and_then(|prompts| prompts.list_changed),
            resources.and_then(|resources| resources.list_changed),
        ];
        self.told.lists = self.wanted.lists && lists.into_iter().any(tells);
        if tells(resources.and_then(|resources| resources.subscribe)) {
            for uri in &self.wanted.resources {
                let params = resource(uri.clone());
                let _: EmptyResult = client.request::<SubscribeResource>(&params).await?;
                self.told.resources.push(uri.clone());
            }
        }
        if let Some(level) = self.wanted.logs.filter(|_| offered.logging.is_some()) {
            let params = SetLevelParams::new(level);
            let _: EmptyResult = client.request::<SetLevel>(&params).await?;
            self.told.logs = Some(level);
        }
        Ok(())
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

/// The next try to open a stream again.
#[derive(Clone, Copy, Debug)]
struct Again {
    at: Instant,
    /// The how manieth it is, and what was waited before it.
    tries: u32,
    pause: Duration,
}

impl Again {
    fn after(tries: u32, pause: Duration) -> Self {
        Self {
            at: Instant::now() + pause,
            tries,
            pause,
        }
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
