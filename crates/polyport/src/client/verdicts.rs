//! Remembers which era servers speak, for a day at most (D-42). Not how that is found out, and not on which disk it is kept: that is
//! the business of whoever implements [`VerdictStore`].

use std::collections::HashMap;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polyport_proto::{Revision, Revisions};
use polyport_rt::{Caller, Command, Offer, Opened, hash};
use tokio::time::Instant;

use super::ClientError;

/// For how long a verdict holds: a server that has learned the modern era goes on answering the handshake of the legacy one.
pub const VERDICT_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// Servers that are remembered; those that were met longest ago make room.
pub const MAX_VERDICTS: usize = 256;

/// Which server it is: a SHA-256 of its program, arguments and folder, or of its origin and path. Neither can be read out of it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ServerKey(String);

/// Where verdicts are kept. It is asked where a connection is made: it must not wait for long, and it cannot fail: what it cannot
/// keep or find is not known.
pub trait VerdictStore: Send + Sync {
    /// The revision that this server has spoken, unless that was more than [`VERDICT_LIFE`] ago.
    fn recall(&self, server: &ServerKey) -> Option<Revision>;

    /// The server speaks this revision.
    fn keep(&self, server: &ServerKey, spoken: Revision);

    /// What was known of the server does not hold.
    fn forget(&self, server: &ServerKey);
}

/// Verdicts in memory: [`MAX_VERDICTS`], each for [`VERDICT_LIFE`].
#[derive(Debug, Default)]
pub struct MemoryVerdicts(Mutex<HashMap<ServerKey, (Revision, Instant)>>);

impl ServerKey {
    /// The program that this command starts.
    pub fn of_command(command: &Command) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        let folder = match command.works_in() {
            Some(folder) => here.join(folder),
            None => here,
        };
        let words = [&b"command"[..], folder.as_os_str().as_bytes()];
        let program = [command.program().as_bytes()];
        let arguments = command.arguments().iter().map(|word| word.as_bytes());
        let all = words.into_iter().chain(program).chain(arguments);
        Self(hash::fingerprint(all))
    }

    /// The server at this address; its query says nothing of it, for that may be a key that changes.
    #[cfg(feature = "http-client")]
    pub fn of_address(target: &polyport_http::client::Target) -> Self {
        Self(hash::fingerprint([
            &b"address"[..],
            target.place().as_bytes(),
        ]))
    }

    /// As a text of 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl MemoryVerdicts {
    fn lock(&self) -> MutexGuard<'_, HashMap<ServerKey, (Revision, Instant)>> {
        // Nothing that is done under the lock leaves it half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VerdictStore for MemoryVerdicts {
    fn recall(&self, server: &ServerKey) -> Option<Revision> {
        let all = self.lock();
        let (spoken, at) = all.get(server)?;
        (at.elapsed() < VERDICT_LIFE).then_some(*spoken)
    }

    fn keep(&self, server: &ServerKey, spoken: Revision) {
        let mut all = self.lock();
        if all.len() >= MAX_VERDICTS && !all.contains_key(server) {
            let oldest = all.iter().min_by_key(|(_, (_, at))| *at);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                all.remove(&oldest);
            }
        }
        all.insert(server.clone(), (spoken, Instant::now()));
    }

    fn forget(&self, server: &ServerKey) {
        self.lock().remove(server);
    }
}

/// Where a client remembers verdicts, if it does.
#[derive(Clone)]
pub(super) struct Remembering(Option<Arc<dyn VerdictStore>>);

impl Remembering {
    /// In the memory of this process.
    pub(super) fn in_process() -> Self {
        static OURS: LazyLock<Arc<MemoryVerdicts>> = LazyLock::new(Arc::default);
        Self(Some(OURS.clone()))
    }

    pub(super) fn by(store: Arc<dyn VerdictStore>) -> Self {
        Self(Some(store))
    }

    pub(super) fn nowhere() -> Self {
        Self(None)
    }

    /// What is known of one server, by a client that speaks this.
    pub(super) fn of<'a>(&'a self, server: &'a ServerKey, speaks: Revisions) -> Verdicts<'a> {
        let offer = Offer::from(speaks);
        let store = self.0.as_deref().filter(|_| offer.is_both());
        let known = store.and_then(|store| store.recall(server));
        Verdicts {
            store,
            server,
            offer: offer.knowing(known),
        }
    }
}

impl fmt::Debug for Remembering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.is_some().fmt(f)
    }
}

/// What is known of one server.
pub(super) struct Verdicts<'a> {
    store: Option<&'a dyn VerdictStore>,
    server: &'a ServerKey,
    offer: Offer,
}

impl Verdicts<'_> {
    /// What it is offered, with what is known of it.
    pub(super) fn offer(&self) -> Offer {
        self.offer
    }

    /// Remembers what the opening has shown. What was known already is as old as it was: only so it ends at all.
    pub(super) fn learn(
        &self,
        opened: Result<(Caller, Opened), ClientError>,
    ) -> Result<(Caller, Opened), ClientError> {
        let (caller, opened) = opened.map_err(|error| self.failed(error))?;
        let news = opened
            .verdict
            .filter(|_| opened.verdict != self.offer.known());
        if let (Some(store), Some(verdict)) = (self.store, news) {
            store.keep(self.server, verdict);
        }
        Ok((caller, opened))
    }

    /// Forgets what has led to no conversation. A server that is not there, is busy or wants to know who asks has said nothing of what
    /// it speaks.
    pub(super) fn failed(&self, error: ClientError) -> ClientError {
        let is_silent = matches!(
            error,
            ClientError::NotStarted { .. }
                | ClientError::Unreachable(_)
                | ClientError::Broken(_)
                | ClientError::Status(_)
        );
        if let Some(store) = self.store.filter(|_| !is_silent)
            && self.offer.known().is_some()
        {
            store.forget(self.server);
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(n: usize) -> ServerKey {
        ServerKey::of_command(&Command::new("server").arg(n.to_string()))
    }

    // req: D-42
    #[tokio::test(start_paused = true)]
    async fn d_42_memory_ends_with_the_day_and_with_its_room() {
        let verdicts = MemoryVerdicts::default();
        let spoken = Revision::V2025_06_18;
        for n in 0..=MAX_VERDICTS {
            verdicts.keep(&server(n), spoken);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(verdicts.lock().len(), MAX_VERDICTS);
        assert_eq!(verdicts.recall(&server(0)), None);
        assert_eq!(verdicts.recall(&server(1)), Some(spoken));
        verdicts.forget(&server(1));
        assert_eq!(verdicts.recall(&server(1)), None);
        let last = server(MAX_VERDICTS);
        let left = VERDICT_LIFE - Duration::from_secs(2);
        tokio::time::advance(left).await;
        assert_eq!(verdicts.recall(&last), Some(spoken));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(verdicts.recall(&last), None);
    }

    // req: D-42
    #[test]
    fn d_42_servers_are_told_apart_and_cannot_be_read_out() {
        let command = || Command::new("server").args(["--key", "hush"]);
        let key = ServerKey::of_command(&command());
        assert_eq!(key, ServerKey::of_command(&command()));
        let here = std::env::current_dir().unwrap_or_default();
        assert_eq!(key, ServerKey::of_command(&command().folder(here)));
        for other in [
            command().arg("--more"),
            command().folder("/"),
            Command::new("server").args(["--keyhush"]),
            Command::new("other").args(["--key", "hush"]),
        ] {
            assert_ne!(key, ServerKey::of_command(&other), "{other:?}");
        }
        assert!(!format!("{key:?}").contains("hush"));
        #[cfg(feature = "http-client")]
        {
            let of = |url: &str| {
                let target = polyport_http::client::Target::new(url);
                target.ok().map(|target| ServerKey::of_address(&target))
            };
            let plain = of("https://example.com/mcp");
            assert_eq!(plain, of("HTTPS://EXAMPLE.com:443/mcp?key=hush"));
            assert_ne!(plain, of("https://example.com/hush"));
            assert_ne!(plain, of("http://example.com/mcp"));
        }
    }
}
