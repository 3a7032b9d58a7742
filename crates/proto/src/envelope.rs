//! What travels around a request: revision, client, principal, log level. The same in both eras: a modern client says
//! it with each request, a legacy session remembers it. Not the request's own parameters.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use polyport_model::method::ELICITATION_CREATE;
use polyport_model::{ClientCapabilities, Implementation, Level, Object};
use polyport_wire::Raw;

use crate::kept::Kept;
use crate::revision::{Profile, Revision};

/// Who asks: what an authorization layer proved. Two requests of one principal may share state, others never.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Principal {
    /// Who vouches: the issuer of the token.
    pub issuer: Box<str>,
    /// The program that asks, as the issuer names it.
    pub client: Box<str>,
    /// The person for whom it asks, as the issuer names them.
    pub subject: Box<str>,
}

/// What a client says of itself. Kept as text and read on demand.
#[derive(Clone)]
pub struct ClientFacts {
    /// `clientInfo`, if it was said.
    pub info: Option<Raw>,
    /// The capabilities object.
    pub capabilities: Raw,
}

impl ClientFacts {
    /// Name, version and more of the client, when it said so in a form we can read.
    pub fn info(&self) -> Option<Implementation> {
        self.info.as_ref()?.decode().ok()
    }

    /// What the client can do. What we cannot read counts as nothing.
    pub fn capabilities(&self) -> ClientCapabilities {
        self.capabilities.decode().unwrap_or_default()
    }

    /// The same for a server of another revision: without what a client of its own revision cannot be asked, whatever it says.
    #[must_use]
    pub fn passed_on(&self, from: &Profile) -> Self {
        if from.elicits_url {
            return self.clone();
        }
        let Ok(mut all) = self.capabilities.decode::<Object>() else {
            return self.clone();
        };
        if all.remove("elicitation").is_some() && from.question(ELICITATION_CREATE).is_some() {
            // It has no modes yet, and means forms.
            all.insert("elicitation", Raw::from_static(r#"{"form":{}}"#));
        }
        Self {
            info: self.info.clone(),
            capabilities: Raw::encode(&all).unwrap_or_else(|_| self.capabilities.clone()),
        }
    }
}

impl fmt::Debug for ClientFacts {
    /// A client may say anything of itself: only how much it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = |raw: &Raw| raw.as_bytes().len();
        f.debug_struct("ClientFacts")
            .field("info_bytes", &self.info.as_ref().map(len))
            .field("capabilities_bytes", &len(&self.capabilities))
            .finish()
    }
}

/// What a legacy session has been told once: `initialize`, then `logging/setLevel`.
#[derive(Debug)]
pub struct Remembered {
    /// The negotiated revision.
    pub revision: Revision,
    /// Who is at the other end.
    pub client: ClientFacts,
    /// What those who serve it keep for it.
    pub kept: Kept,
    /// The lowest level of log messages the client asked for; [`NO_LEVEL`] until then.
    level: AtomicU8,
    tag: OnceLock<u64>,
}

const NO_LEVEL: u8 = u8::MAX;

impl Remembered {
    /// A session that has just been negotiated.
    pub fn new(revision: Revision, client: ClientFacts) -> Self {
        Self {
            revision,
            client,
            kept: Kept::default(),
            level: AtomicU8::new(NO_LEVEL),
            tag: OnceLock::new(),
        }
    }

    /// Says under which tag it is found in our log; the first one stays. Never the id of the session, which opens it.
    pub fn set_tag(&self, tag: u64) {
        self.tag.get_or_init(|| tag);
    }

    /// Its tag in our log, where its transport gives sessions ids.
    pub fn tag(&self) -> Option<u64> {
        self.tag.get().copied()
    }

    /// What `logging/setLevel` asked for last.
    pub fn level(&self) -> Option<Level> {
        Level::from_u8(self.level.load(Ordering::Relaxed))
    }

    /// Keeps what `logging/setLevel` asks for.
    pub fn set_level(&self, level: Level) {
        self.level.store(level.as_u8(), Ordering::Relaxed);
    }
}

/// Where the facts about the client come from.
#[derive(Clone)]
enum Source {
    Session(Arc<Remembered>),
    Request {
        revision: Revision,
        client: ClientFacts,
        level: Option<Level>,
    },
}

/// What travels around one request.
#[derive(Clone)]
pub struct Envelope {
    source: Source,
    principal: Option<Arc<Principal>>,
    /// `_meta.progressToken` as JSON text.
    progress_token: Option<Raw>,
}

impl Envelope {
    /// The envelope of a request within a legacy session.
    pub fn remembered(session: Arc<Remembered>, progress_token: Option<Raw>) -> Self {
        Self {
            source: Source::Session(session),
            principal: None,
            progress_token,
        }
    }

    /// The envelope that a modern request brings along.
    pub fn stated(
        revision: Revision,
        client: ClientFacts,
        level: Option<Level>,
        progress_token: Option<Raw>,
    ) -> Self {
        Self {
            source: Source::Request {
                revision,
                client,
                level,
            },
            principal: None,
            progress_token,
        }
    }

    /// The same, asked by somebody known.
    #[must_use]
    pub fn with_principal(mut self, principal: Option<Arc<Principal>>) -> Self {
        self.principal = principal;
        self
    }

    /// The legacy session that it belongs to; none: it stands alone, as every modern request does.
    pub fn session(&self) -> Option<&Arc<Remembered>> {
        match &self.source {
            Source::Session(session) => Some(session),
            Source::Request { .. } => None,
        }
    }

    /// The revision that this request is in.
    pub fn revision(&self) -> Revision {
        match &self.source {
            Source::Session(s) => s.revision,
            Source::Request { revision, .. } => *revision,
        }
    }

    /// What that revision is like.
    pub fn profile(&self) -> &'static Profile {
        self.revision().profile()
    }

    /// Who asks, as it says itself. Never a reason to grant anything.
    pub fn client(&self) -> &ClientFacts {
        match &self.source {
            Source::Session(s) => &s.client,
            Source::Request { client, .. } => client,
        }
    }

    /// Who asks, as an authorization layer proved.
    pub fn principal(&self) -> Option<&Arc<Principal>> {
        self.principal.as_ref()
    }

    /// The lowest level of log messages wanted; none: send no log messages.
    pub fn log_level(&self) -> Option<Level> {
        match &self.source {
            Source::Session(s) => s.level(),
            Source::Request { level, .. } => *level,
        }
    }

    /// The token under which progress is wanted, as JSON text.
    pub fn progress_token(&self) -> Option<&Raw> {
        self.progress_token.as_ref()
    }
}

impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope")
            .field("revision", &self.revision().name())
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: S-SQUARE-GATE
    #[test]
    fn a_client_is_passed_on_as_its_revision_lets_it_be_asked() {
        let says = r#"{"roots":{},"elicitation":{"form":{},"url":{}},"x":1}"#;
        let facts = ClientFacts {
            info: None,
            capabilities: Raw::from_static(says),
        };
        for revision in Revision::ALL {
            let want = match revision {
                Revision::V2024_11_05 | Revision::V2025_03_26 => r#"{"roots":{},"x":1}"#,
                Revision::V2025_06_18 => r#"{"roots":{},"x":1,"elicitation":{"form":{}}}"#,
                _ => says,
            };
            let passed = facts.passed_on(revision.profile());
            assert_eq!(passed.capabilities.as_str(), want, "{revision}");
        }
    }
}
