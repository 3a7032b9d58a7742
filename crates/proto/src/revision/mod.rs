//! The revisions of the protocol as data: one [`Profile`] each, and the two codecs that speak them.
//!
//! Nothing outside this folder compares revisions or spells their names: ask the profile for the property.

use std::fmt;

use crate::outcome::Code;

pub mod legacy;
pub mod modern;
pub mod seal;
mod tasks;
mod v2024_11_05;
mod v2025_03_26;
mod v2025_06_18;
mod v2025_11_25;
mod v2026_07_28;

/// Which codec speaks a revision.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Era {
    /// Handshake, session, requests in both directions (basic/lifecycle of each revision).
    Legacy,
    /// Self-contained requests (2026-07-28, basic/versioning).
    Modern,
}

/// A protocol revision that we speak. Revisions are names, not numbers: they have no order.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Revision {
    /// The first published revision.
    V2024_11_05,
    /// Streamable HTTP, batches, tool annotations, audio.
    V2025_03_26,
    /// Structured results, elicitation, resource links; batches removed.
    V2025_06_18,
    /// Icons, tasks, url elicitation, server-ended streams.
    V2025_11_25,
    /// No handshake, no sessions, no server-to-client requests.
    V2026_07_28,
}

/// Which shape a structured result may have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Structured {
    /// The revision has no `structuredContent`.
    Absent,
    /// Only a JSON object.
    Object,
    /// Any JSON value, `null` included.
    Any,
}

/// Which form tasks have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TaskForm {
    /// The revision has none.
    Absent,
    /// Part of the core: who asks wants one (basic/utilities/tasks).
    Core,
    /// The extension `io.modelcontextprotocol/tasks`: who answers makes one.
    Extension,
}

/// Everything the rest of the code may ask about a revision.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// The name on the wire.
    pub name: &'static str,
    /// Chooses the codec, nothing else.
    pub era: Era,
    /// Messages may come as a JSON array (basic, Batching).
    pub batches: bool,
    /// HTTP requests name the revision in `MCP-Protocol-Version`.
    pub version_header: bool,
    /// HTTP requests mirror method, name and marked arguments in headers (basic/transports/streamable-http).
    pub mirrored_headers: bool,
    /// A broken HTTP stream can be resumed by `Last-Event-ID`.
    pub resumable_streams: bool,
    /// An HTTP stream begins with an event that has an id and no data, and the server may end it early: the client comes back for
    /// the rest (basic/transports, Sending Messages to the Server).
    pub polled_streams: bool,
    /// A client that closes the response cancels the call.
    pub disconnect_cancels: bool,
    /// Results say `resultType`.
    pub result_type: bool,
    /// Results carry `_meta["io.modelcontextprotocol/serverInfo"]`.
    pub server_info_in_results: bool,
    /// Lists and reads say `ttlMs` and `cacheScope` (server/utilities/caching).
    pub cache_hints: bool,
    /// What `structuredContent` may be.
    pub structured: Structured,
    /// Content may hold `audio` blocks.
    pub audio: bool,
    /// Content may hold `resource_link` blocks.
    pub resource_links: bool,
    /// Completion is a declared capability.
    pub completions_capability: bool,
    /// The code of "no such resource".
    pub resource_missing: i32,
    /// HTTP answers an unknown method with 404 and other protocol faults with 400.
    pub http_error_status: bool,
    /// The requests a client may send. A method that is not here is answered -32601 because it is absent.
    pub requests: &'static [&'static str],
    /// The notifications a client may send.
    pub notifications: &'static [&'static str],
    /// What a server may ask in the middle of a call.
    pub questions: &'static [&'static str],
    /// A user may be sent to a page, and questions to users name their mode.
    pub elicits_url: bool,
    /// A question that sends to a page has an id of its own, and its end is told.
    pub elicitation_ids: bool,
    /// Choices of a form have titles, and several may be chosen; before, `enumNames` and one.
    pub titled_choices: bool,
    /// Tools and context in sampling are capabilities of their own.
    pub sampling_parts: bool,
    /// A client hears of changes by `subscriptions/listen` only.
    pub listens: bool,
    /// How calls go on by themselves.
    pub tasks: TaskForm,
}

impl Profile {
    /// The name of a request as our own text, when this revision has it.
    pub fn request(&self, method: &str) -> Option<&'static str> {
        self.requests.iter().find(|m| **m == method).copied()
    }

    /// The name of a question as our own text, when a server may ask it in this revision.
    pub fn question(&self, method: &str) -> Option<&'static str> {
        self.questions.iter().find(|m| **m == method).copied()
    }

    /// The name of a notification as our own text, when this revision has it.
    pub fn notification(&self, method: &str) -> Option<&'static str> {
        self.notifications.iter().find(|m| **m == method).copied()
    }

    /// The number on the wire of a code.
    pub fn code(&self, code: Code) -> i32 {
        match code {
            Code::ResourceMissing => self.resource_missing,
            Code::VisitFirst if !self.elicitation_ids => Code::Internal.number(),
            other => other.number(),
        }
    }
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];
    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;
    /// The newest revision that begins with `initialize`.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;
    /// What an HTTP client speaks that names no revision (2025-06-18, basic/transports, Protocol Version Header).
    pub const UNNAMED: Self = Self::V2025_03_26;

    /// What this revision is like.
    pub const fn profile(self) -> &'static Profile {
        match self {
            Self::V2024_11_05 => &v2024_11_05::PROFILE,
            Self::V2025_03_26 => &v2025_03_26::PROFILE,
            Self::V2025_06_18 => &v2025_06_18::PROFILE,
            Self::V2025_11_25 => &v2025_11_25::PROFILE,
            Self::V2026_07_28 => &v2026_07_28::PROFILE,
        }
    }

    /// The revision of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|r| r.profile().name == name)
    }

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        self.profile().name
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of revisions, such as those that an endpoint speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Revisions(u8);

impl Revisions {
    /// All five.
    pub const ALL: Self = Self(0b1_1111);

    /// None; [`with`](Self::with) adds.
    pub const NONE: Self = Self(0);

    /// Those of one era.
    pub fn of(era: Era) -> Self {
        Revision::ALL
            .into_iter()
            .filter(|r| r.profile().era == era)
            .fold(Self::NONE, Self::with)
    }

    /// This set and one more.
    #[must_use]
    pub const fn with(self, revision: Revision) -> Self {
        Self(self.0 | 1 << revision as u8)
    }

    /// Is it one of them?
    pub const fn contains(self, revision: Revision) -> bool {
        self.0 & (1 << revision as u8) != 0
    }

    /// Those of this set that are of one era.
    #[must_use]
    pub fn only(self, era: Era) -> Self {
        Self(self.0 & Self::of(era).0)
    }

    /// Those in it, newest first, as they are named to a peer.
    pub fn iter(self) -> impl Iterator<Item = Revision> {
        Revision::ALL
            .into_iter()
            .rev()
            .filter(move |r| self.contains(*r))
    }

    /// The one of that name, when it is in the set.
    pub fn find(self, name: &str) -> Option<Revision> {
        Revision::parse(name).filter(|r| self.contains(*r))
    }

    /// What `initialize` is answered with: the revision asked for, or our newest of the legacy era (basic/lifecycle).
    /// None: this endpoint speaks no legacy revision.
    pub fn negotiate(self, requested: &str) -> Option<Revision> {
        let legacy = |r: &Revision| r.profile().era == Era::Legacy;
        self.find(requested)
            .filter(legacy)
            .or_else(|| self.iter().find(legacy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_parse_back() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.name()), Some(revision));
        }
        assert_eq!(Revision::parse("zzz"), None);
        assert_eq!(Revision::parse("2026-07-28 "), None);
    }

    #[test]
    fn negotiation_never_answers_modern() {
        let all = Revisions::ALL;
        for (asked, want) in [
            ("2024-11-05", Some(Revision::V2024_11_05)),
            ("2025-06-18", Some(Revision::V2025_06_18)),
            ("2026-07-28", Some(Revision::V2025_11_25)),
            ("1.0", Some(Revision::V2025_11_25)),
        ] {
            assert_eq!(all.negotiate(asked), want, "{asked}");
        }
        assert_eq!(Revisions::of(Era::Modern).negotiate("2025-06-18"), None);
        assert_eq!(all.iter().next(), Some(Revision::LATEST));
    }

    #[test]
    fn removed_methods_are_absent() {
        for method in [
            "initialize",
            "ping",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
        ] {
            assert_eq!(Revision::LATEST.profile().request(method), None, "{method}");
            assert_eq!(
                Revision::LATEST_LEGACY.profile().request(method),
                Some(method)
            );
        }
        assert_eq!(
            Revision::LATEST_LEGACY.profile().request("server/discover"),
            None
        );
    }
}
