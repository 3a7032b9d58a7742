//! Which era servers speak, kept from one run to the next (D-42): one small file in the user's cache folder. What a server is called
//! cannot be read out of it.

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use polyport::Revision;
use polyport::client::{MAX_VERDICTS, ServerKey, VERDICT_LIFE, VerdictStore};
use polyport::serde::{Deserialize, Serialize};

use crate::cache::Kept;

/// Bytes of the file: each verdict has about 120.
const FILE: u64 = 128 << 10;

/// The verdicts on this user's disk.
pub(crate) struct OnDisk(Mutex<Kept>);

/// Knows nothing, and forgets what was known of whoever is asked for.
pub(crate) struct Forgetting(OnDisk);

/// All verdicts, the newest last.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(crate = "polyport::serde")]
struct Verdicts {
    servers: Vec<Verdict>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(crate = "polyport::serde")]
struct Verdict {
    server: String,
    revision: String,
    /// Seconds since 1970.
    at: u64,
}

impl OnDisk {
    pub(crate) fn of_user() -> Self {
        Self(Mutex::new(Kept::at("eras.json", FILE)))
    }

    /// Those that are known and hold still.
    fn read(kept: &Kept, now: u64) -> Vec<Verdict> {
        let text = kept.read().unwrap_or_default();
        let all = serde_json::from_slice::<Verdicts>(&text).unwrap_or_default();
        let mut all = all.servers;
        // What was found out tomorrow was found out by a clock that was wrong.
        all.retain(|verdict| {
            let age = now.checked_sub(verdict.at);
            age.is_some_and(|age| age < VERDICT_LIFE.as_secs())
        });
        all
    }

    /// Puts this in place of what is known of the server.
    fn put(&self, server: &ServerKey, spoken: Option<Revision>) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now();
        let mut servers = Self::read(&kept, now);
        let before = servers.len();
        servers.retain(|verdict| verdict.server != server.as_str());
        if spoken.is_none() && servers.len() == before {
            return;
        }
        servers.extend(spoken.map(|revision| Verdict {
            server: server.as_str().to_owned(),
            revision: revision.name().to_owned(),
            at: now,
        }));
        let too_many = servers.len().saturating_sub(MAX_VERDICTS);
        servers.drain(..too_many);
        if let Ok(text) = serde_json::to_vec(&Verdicts { servers }) {
            // The next time it is asked for again.
            let _ = kept.write(&text);
        }
    }
}

impl VerdictStore for OnDisk {
    fn recall(&self, server: &ServerKey) -> Option<Revision> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = Self::read(&kept, now());
        let known = all.iter().find(|v| v.server == server.as_str())?;
        Revision::parse(&known.revision)
    }

    fn keep(&self, server: &ServerKey, spoken: Revision) {
        self.put(server, Some(spoken));
    }

    fn forget(&self, server: &ServerKey) {
        self.put(server, None);
    }
}

impl Forgetting {
    pub(crate) fn of_user() -> Self {
        Self(OnDisk::of_user())
    }
}

impl VerdictStore for Forgetting {
    fn recall(&self, server: &ServerKey) -> Option<Revision> {
        self.0.forget(server);
        None
    }

    fn keep(&self, _server: &ServerKey, _spoken: Revision) {}

    fn forget(&self, _server: &ServerKey) {}
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use polyport::Command;
    use serde_json::{Value, json};

    use super::*;
    use crate::cache::kept_in;

    const OLD: Revision = Revision::V2025_06_18;

    fn store(folder: &Path) -> OnDisk {
        OnDisk(Mutex::new(kept_in(&folder.join("polyport"), FILE)))
    }

    fn server(n: usize) -> ServerKey {
        ServerKey::of_command(&Command::new("server").args(["--key", "hush", &n.to_string()]))
    }

    // req: D-42
    #[test]
    fn d_42_verdicts_outlive_a_run_within_their_room() {
        let folder = tempfile::tempdir().unwrap();
        let verdicts = store(folder.path());
        assert_eq!(verdicts.recall(&server(0)), None);
        for n in 0..=MAX_VERDICTS {
            verdicts.keep(&server(n), OLD);
        }
        let next = store(folder.path());
        assert_eq!(next.recall(&server(0)), None, "the oldest makes room");
        assert_eq!(next.recall(&server(1)), Some(OLD));
        next.keep(&server(1), Revision::LATEST);
        assert_eq!(verdicts.recall(&server(1)), Some(Revision::LATEST));
        let forgetting = Forgetting(store(folder.path()));
        assert_eq!(forgetting.recall(&server(1)), None);
        forgetting.keep(&server(1), OLD);
        assert_eq!(verdicts.recall(&server(1)), None);
        let text = fs::read_to_string(folder.path().join("polyport/kept.json")).unwrap();
        assert!(!text.contains("hush") && !text.contains("--key"), "{text}");
        let kept: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(kept["servers"].as_array().unwrap().len(), MAX_VERDICTS - 1);
    }

    // req: D-42
    #[test]
    fn d_42_what_is_old_broken_or_of_another_kind_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let verdicts = store(folder.path());
        let put = |text: &str| {
            verdicts.keep(&server(9), OLD);
            // Into the same file: its mode stays.
            fs::write(folder.path().join("polyport/kept.json"), text).unwrap();
        };
        let day = VERDICT_LIFE.as_secs();
        for (at, revision, known) in [
            (now() - day + 60, "2025-06-18", Some(OLD)),
            (now() - day, "2025-06-18", None),
            (now() + 3600, "2025-06-18", None),
            (now(), "2031-01-01", None),
        ] {
            let one = json!({"server": server(1).as_str(), "revision": revision, "at": at});
            put(&json!({"servers": [one]}).to_string());
            assert_eq!(verdicts.recall(&server(1)), known, "{revision} {at}");
        }
        for text in [
            "",
            "{",
            "[]",
            "null",
            "{\"servers\":7}",
            "{\"servers\":[7]}",
            "\u{0}",
        ] {
            put(text);
            assert_eq!(verdicts.recall(&server(1)), None, "{text:?}");
            verdicts.forget(&server(1));
            verdicts.keep(&server(1), OLD);
            assert_eq!(verdicts.recall(&server(1)), Some(OLD), "{text:?}");
        }
    }

    // req: D-42
    #[test]
    fn d_42_many_at_once_do_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let folder = folder.path();
                scope.spawn(move || {
                    let verdicts = store(folder);
                    for n in 0..50 {
                        let server = server(thread * 50 + n);
                        verdicts.keep(&server, OLD);
                        // Another may have written without it; what is read is whole.
                        let known = verdicts.recall(&server);
                        assert!(known.is_none_or(|known| known == OLD));
                        assert!(verdicts.0.lock().unwrap().read().is_ok());
                    }
                });
            }
        });
        let left = fs::read_dir(folder.path().join("polyport")).unwrap();
        assert_eq!(left.count(), 1, "nothing is left beside the file");
    }
}
