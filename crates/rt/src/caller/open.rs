//! Finds out which era a server speaks, and opens the conversation in it. A verdict costs one question, and a silent server all the
//! time it is given; whoever remembers it says so in what he offers.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use polyport_model::{
    DiscoverResult, INITIALIZE, Implementation, InitializeResult, RpcError, SERVER_DISCOVER,
    ServerCapabilities, UnsupportedVersionData,
};
use polyport_proto::era::{Verdict, judge};
use polyport_proto::{Asking, ClientFacts, Era, Revision, Revisions};
use polyport_wire::Raw;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::{CallError, Caller, Carrier, Inbox, Offer, Reopening, Shared, Wait, line};

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// How many times as long a server that is known to be modern may take for the question about its era: it is slow, not old.
const SLOW: u32 = 5;

/// How long the steps of an opening may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the answer to the question about the era; a server that knows none may not answer at all. Default: 3 seconds.
    pub probe: Duration,
    /// For the handshake, in which many a server installs itself first. Default: 60 seconds.
    pub handshake: Duration,
    /// For each request after that, where nothing else is said. Default: 60 seconds.
    pub request: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            probe: Duration::from_secs(3),
            handshake: Duration::from_secs(60),
            request: Duration::from_secs(60),
        }
    }
}

/// What a server has said of itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Opened {
    /// The revision that is spoken.
    pub revision: Revision,
    /// Who it is, if it said so.
    pub server: Option<Implementation>,
    /// What it offers.
    pub capabilities: ServerCapabilities,
    /// How to use it, for the model.
    pub instructions: Option<String>,
    /// What is worth knowing of it the next time, for [`Offer::knowing`]: the revision that it speaks. None: one era alone was
    /// offered, which says nothing of the other.
    pub verdict: Option<Revision>,
}

impl Opened {
    fn discovered(revision: Revision, found: DiscoverResult) -> Self {
        let info = found.meta.as_ref().and_then(|meta| meta.get(SERVER_INFO));
        Self {
            revision,
            server: info.and_then(|info| info.decode().ok()),
            capabilities: found.capabilities,
            instructions: found.instructions,
            verdict: None,
        }
    }
}

impl Caller {
    /// Connects over a stream in the newest revision that both speak, of those that are offered.
    ///
    /// # Errors
    /// [`CallError`]. [`CallError::Closed`] although both eras were offered: the server may have died of the question about its
    /// era, as some do; a fresh one that is offered the legacy era only will not.
    pub async fn open(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        client: ClientFacts,
        offer: impl Into<Offer>,
        patience: Patience,
    ) -> Result<(Self, Opened), CallError> {
        let carrier = |inbox| line::carry(inbox, reader, writer);
        Self::open_over(carrier, client, offer, patience).await
    }

    /// The same over a carrier that is made for it.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn open_over(
        carrier: impl FnOnce(Inbox) -> Arc<dyn Carrier>,
        client: ClientFacts,
        offer: impl Into<Offer>,
        patience: Patience,
    ) -> Result<(Self, Opened), CallError> {
        let offer = offer.into();
        let ours = offer.ours();
        let newest = |era| ours.only(era).iter().next();
        let (modern, legacy) = (newest(Era::Modern), newest(Era::Legacy));
        let Some(first) = modern.or(legacy) else {
            return Err(CallError::NoCommonRevision(
                "nothing was offered".to_owned(),
            ));
        };
        let asking = Asking::new(first, client);
        let caller = Self::over(carrier, asking, patience.request);
        caller.set_answerer(Arc::new(|method, _| {
            let answer = without_answers(method);
            Box::pin(async { answer })
        }));
        let opened = match (modern, legacy) {
            (None, _) => caller.initialize(ours, patience.handshake).await?,
            (Some(_), None) => caller.find_modern(ours, patience).await?,
            (Some(modern), Some(legacy)) => {
                let both = Both { modern, legacy };
                match offer.known() {
                    Some(known) if known.profile().era == Era::Legacy => {
                        caller.greet(ours, both, patience).await?
                    }
                    Some(known) => {
                        let slow = Patience {
                            probe: (patience.probe * SLOW).min(patience.handshake),
                            ..patience
                        };
                        let both = Both {
                            modern: known,
                            legacy,
                        };
                        caller.find_out(ours, both, slow).await?
                    }
                    None => caller.find_out(ours, both, patience).await?,
                }
            }
        };
        *caller.reopening.lock().await = Some(Reopening {
            ours,
            patience: patience.handshake,
        });
        Ok((caller, opened))
    }

    /// Opens the conversation again, which the server has forgotten, unless somebody has meanwhile; `seen` is how often it had been
    /// opened again when the request was sent.
    pub(super) async fn reopen(&self, seen: u64) -> Result<(), CallError> {
        let reopening = self.reopening.lock().await;
        let Some(Reopening { ours, patience }) = *reopening else {
            return Err(CallError::SessionLost);
        };
        if self.shared.lock().reopened != seen {
            return Ok(());
        }
        let _reopening = Reopens::begin(&self.shared);
        self.initialize(ours, patience).await?;
        let mut state = self.shared.lock();
        state.reopened += 1;
        state.is_reopening = false;
        state.is_forgotten = false;
        drop(state);
        self.shared.forgotten.notify_waiters();
        Ok(())
    }

    /// Opens the conversation of a server that has been a legacy one; what contradicts that is asked about its era after all.
    async fn greet(
        &self,
        ours: Revisions,
        both: Both,
        patience: Patience,
    ) -> Result<Opened, CallError> {
        self.shared.lock().asking.set_revision(both.legacy);
        match self.initialize(ours, patience.handshake).await {
            Ok(opened) => Ok(Opened {
                verdict: Some(opened.revision),
                ..opened
            }),
            Err(error) if is_contradiction(&error, ours) => {
                tracing::debug!(%error, "the server is no longer the legacy one that it was");
                self.find_out(ours, both, patience).await
            }
            Err(error) => Err(error),
        }
    }

    /// Asks about the era and goes on in it.
    async fn find_out(
        &self,
        ours: Revisions,
        both: Both,
        patience: Patience,
    ) -> Result<Opened, CallError> {
        // Neither is cancelled: a server that did not understand the question would not understand that either.
        let (id, message) = {
            let mut state = self.shared.lock();
            state.asking.set_revision(both.modern);
            state.asking.probe()
        };
        let silence = {
            let state = self.shared.lock();
            let carrier = state.carrier.as_ref().ok_or(CallError::Closed)?;
            carrier.silence(patience.probe)
        };
        let wait = at_most(patience.handshake);
        let mut probing = pin!(self.ask(SERVER_DISCOVER, id, message, &wait));
        let early = timeout(silence.unwrap_or(Duration::MAX), &mut probing).await;
        let is_answered = early.is_ok();
        if let Ok(answer) = early
            && let Some(opened) = self.go_on(answer, ours, patience).await?
        {
            return Ok(opened);
        }
        self.shared.lock().asking.set_revision(both.legacy);
        match self.initialize(ours, patience.handshake).await {
            // It was only slow, and has answered the question before; some then name that revision in the handshake, too.
            Err(error @ (CallError::Refused(_) | CallError::NoCommonRevision(_)))
                if !is_answered =>
            {
                match timeout(patience.probe, probing).await {
                    Ok(answer) => self.go_on(answer, ours, patience).await?.ok_or(error),
                    Err(_) => Err(error),
                }
            }
            Err(error) => Err(error),
            Ok(opened) => {
                // What has come of the question by now says that it was only slow: next time it is worth waiting for.
                let late = match is_answered {
                    true => None,
                    false => timeout(Duration::ZERO, probing).await.ok(),
                };
                let verdict = late.and_then(|answer| modern(&answer, ours));
                Ok(Opened {
                    verdict: verdict.or(Some(opened.revision)),
                    ..opened
                })
            }
        }
    }

    /// Asks what the server speaks, of the modern era only.
    async fn find_modern(&self, ours: Revisions, patience: Patience) -> Result<Opened, CallError> {
        let (id, message) = self.shared.lock().asking.probe();
        let wait = at_most(patience.handshake);
        let answer = self.ask(SERVER_DISCOVER, id, message, &wait).await;
        let refused = match answer {
            Err(CallError::Status(status)) if status.error.is_none() => {
                return Err(CallError::Status(status));
            }
            Err(CallError::Refused(ref error)) => Some(error.clone()),
            _ => None,
        };
        let opened = self.go_on(answer, ours, patience).await?;
        opened.ok_or_else(|| match refused {
            Some(error) => CallError::Refused(error),
            None => CallError::NoCommonRevision("those of the legacy era".to_owned()),
        })
    }

    /// Goes on in the modern era, if the answer to the question says so.
    async fn go_on(
        &self,
        answer: Result<Raw, CallError>,
        ours: Revisions,
        patience: Patience,
    ) -> Result<Option<Opened>, CallError> {
        let verdict = match answer {
            Ok(result) => judge(Ok(&result), ours),
            Err(CallError::Refused(error)) => judge(Err(&error), ours),
            Err(CallError::Status(status)) if status.is_refusal() => match &status.error {
                Some(error) => judge(Err(error), ours),
                None => Verdict::Legacy,
            },
            Err(error) => return Err(error),
        };
        match verdict {
            Verdict::Legacy => Ok(None),
            Verdict::Stranger(theirs) => Err(CallError::NoCommonRevision(theirs.join(", "))),
            Verdict::Modern(revision, found) => {
                self.shared.lock().asking.set_revision(revision);
                let opened = match found {
                    Some(found) => Opened::discovered(revision, *found),
                    None => self.discover(revision, patience.handshake).await?,
                };
                Ok(Some(Opened {
                    verdict: Offer::from(ours).is_both().then_some(revision),
                    ..opened
                }))
            }
        }
    }

    async fn discover(&self, revision: Revision, patience: Duration) -> Result<Opened, CallError> {
        let (id, message) = self.shared.lock().asking.probe();
        let wait = at_most(patience);
        let found = self.ask(SERVER_DISCOVER, id, message, &wait).await?;
        let found = found.decode().map_err(|error| unreadable(&error))?;
        Ok(Opened::discovered(revision, found))
    }

    async fn initialize(&self, ours: Revisions, patience: Duration) -> Result<Opened, CallError> {
        let opening = self.shared.lock().asking.opening();
        let Some((id, message)) = opening else {
            return Err(CallError::NoCommonRevision(
                "no revision with a handshake".to_owned(),
            ));
        };
        let wait = at_most(patience);
        let result = self.ask(INITIALIZE, id, message, &wait).await;
        let result = result.map_err(|error| match supported(&error) {
            Some(theirs) => CallError::NoCommonRevision(theirs),
            None => error,
        })?;
        let result = result
            .decode::<InitializeResult>()
            .map_err(|error| unreadable(&error))?;
        let named = ours.only(Era::Legacy).find(&result.protocol_version);
        let Some(revision) = named else {
            return Err(CallError::NoCommonRevision(result.protocol_version));
        };
        let initialized = {
            let mut state = self.shared.lock();
            state.asking.set_revision(revision);
            state.asking.initialized()
        };
        let sent = timeout(patience, self.send(initialized)).await;
        sent.map_err(|_| CallError::TimedOut(self.late(patience)))??;
        Ok(Opened {
            revision,
            server: Some(result.server_info),
            capabilities: result.capabilities,
            instructions: result.instructions,
            verdict: None,
        })
    }
}

/// The conversation is being opened again until this is dropped, however that ends.
struct Reopens<'a>(&'a Shared);

impl<'a> Reopens<'a> {
    fn begin(shared: &'a Shared) -> Self {
        shared.lock().is_reopening = true;
        Self(shared)
    }
}

impl Drop for Reopens<'_> {
    fn drop(&mut self) {
        self.0.lock().is_reopening = false;
    }
}

/// The revision of each era that is tried first.
#[derive(Clone, Copy)]
struct Both {
    modern: Revision,
    legacy: Revision,
}

/// The revision of the modern era that the answer to the question about the era leads to.
fn modern(answer: &Result<Raw, CallError>, ours: Revisions) -> Option<Revision> {
    let verdict = match answer {
        Ok(result) => judge(Ok(result), ours),
        Err(CallError::Refused(error)) => judge(Err(error), ours),
        Err(_) => return None,
    };
    match verdict {
        Verdict::Modern(revision, _) => Some(revision),
        Verdict::Legacy | Verdict::Stranger(_) => None,
    }
}

/// Does the answer to a handshake say that the server speaks the modern era, or that nothing of what was known of it holds?
fn is_contradiction(error: &CallError, ours: Revisions) -> bool {
    match error {
        CallError::Refused(_) | CallError::NoCommonRevision(_) => true,
        // Without such a sign it is the status of another legacy transport.
        CallError::Status(status) => status
            .error
            .as_ref()
            .is_some_and(|error| !matches!(judge(Err(error), ours), Verdict::Legacy)),
        _ => false,
    }
}

/// What a server hears that asks a client which declares nothing: it is there, and that is all.
fn without_answers(method: &str) -> Result<Raw, Raw> {
    if method == "ping" {
        return Ok(Raw::from_static("{}"));
    }
    Err(Raw::from_static(
        "{\"code\":-32601,\"message\":\"This client answers no questions: it has declared none that it could.\"}",
    ))
}

/// The revisions that a server names in its error: it speaks none that was offered.
fn supported(error: &CallError) -> Option<String> {
    let error = match error {
        CallError::Refused(error) => error,
        CallError::Status(status) => status.error.as_ref()?,
        _ => return None,
    };
    let error = error.decode::<RpcError>().ok()?;
    let data = error.data?.decode::<UnsupportedVersionData>().ok()?;
    (!data.supported.is_empty()).then(|| data.supported.join(", "))
}

fn at_most(total: Duration) -> Wait {
    Wait {
        total: Some(total),
        ..Wait::default()
    }
}

fn unreadable(error: &serde_json::Error) -> CallError {
    CallError::Unreadable(error.to_string())
}
