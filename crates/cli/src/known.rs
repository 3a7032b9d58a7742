//! What servers behind `polyport serve` called their tools and prompts, kept from one run to the next: one small file in the user's cache
//! folder. Which servers these are cannot be read out of it.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use polyport::serde::{Deserialize, Serialize};
use polyport_gateway::{NameStore, Named};

use crate::cache::Kept;

/// Servers that are kept; those that were written longest ago make room.
const SERVERS: usize = 256;
/// Names of one kind of one server, and bytes of one. What has longer ones is not called by them in any case.
const NAMES: usize = 1_000;
const NAME: usize = 128;
/// Bytes of the file.
const FILE: u64 = 1 << 20;
/// Lists in memory: servers may come and go for ever.
const LISTS: usize = 10_000;
/// Between two writes of one list: those of several clients may differ all the time.
const REST: Duration = Duration::from_secs(10);

/// The names on this user's disk.
#[derive(Debug)]
pub(crate) struct OnDisk(Mutex<State>);

#[derive(Debug)]
struct State {
    kept: Kept,
    /// What has been read or written, and when it was written; none: not by us.
    lists: HashMap<(String, Named), (Vec<String>, Option<Instant>)>,
}

/// All servers, the newest last.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(crate = "polyport::serde")]
struct Servers {
    servers: Vec<Server>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(crate = "polyport::serde", default)]
struct Server {
    server: String,
    tools: Vec<String>,
    prompts: Vec<String>,
}

impl Server {
    fn names(&mut self, of: Named) -> &mut Vec<String> {
        match of {
            Named::Tools => &mut self.tools,
            Named::Prompts => &mut self.prompts,
        }
    }
}

impl OnDisk {
    pub(crate) fn of_user() -> Self {
        Self::in_file(Kept::at("names.json", FILE))
    }

    fn in_file(kept: Kept) -> Self {
        let known = read(&kept).unwrap_or_else(|error| {
            tracing::warn!(
                error,
                "what was kept of the names of servers is broken, and begun anew"
            );
            Servers::default()
        });
        let mut lists = HashMap::new();
        for mut server in known.servers {
            for of in [Named::Tools, Named::Prompts] {
                let names = std::mem::take(server.names(of));
                lists.insert((server.server.clone(), of), (names, None));
            }
        }
        Self(Mutex::new(State { kept, lists }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock leaves it half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NameStore for OnDisk {
    fn recall(&self, server: &str, of: Named) -> Vec<String> {
        let state = self.state();
        let known = state.lists.get(&(server.to_owned(), of));
        known.map(|(names, _)| names.clone()).unwrap_or_default()
    }

    fn keep(&self, server: &str, of: Named, names: &[&str]) {
        let mut state = self.state();
        let key = (server.to_owned(), of);
        let fitting = names.iter().filter(|name| name.len() <= NAME).take(NAMES);
        let names: Vec<&str> = fitting.copied().collect();
        if let Some((known, written)) = state.lists.get(&key) {
            let is_resting = written.is_some_and(|written| written.elapsed() < REST);
            if *known == names || is_resting {
                return;
            }
        } else if names.is_empty() {
            return;
        }
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        write(&state.kept, server, of, &names);
        if state.lists.len() >= LISTS && !state.lists.contains_key(&key) {
            state.lists.clear();
        }
        state.lists.insert(key, (names, Some(Instant::now())));
    }
}

/// What another of us may have written meanwhile is kept.
fn write(kept: &Kept, server: &str, of: Named, names: &[String]) {
    let mut all = read(kept).unwrap_or_default();
    let known = all.servers.iter().position(|known| known.server == server);
    let mut one = known.map(|at| all.servers.remove(at)).unwrap_or_default();
    server.clone_into(&mut one.server);
    names.clone_into(one.names(of));
    all.servers.push(one);
    let too_many = all.servers.len().saturating_sub(SERVERS);
    all.servers.drain(..too_many);
    while let Ok(text) = serde_json::to_vec(&all) {
        if text.len() as u64 <= FILE || all.servers.is_empty() {
            if let Err(error) = kept.write(&text) {
                tracing::debug!(%error, "the names of servers are not kept");
            }
            return;
        }
        all.servers.remove(0);
    }
}

/// # Errors
/// What is there is none of ours, or broken.
fn read(kept: &Kept) -> Result<Servers, String> {
    match kept.read() {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| error.to_string()),
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(error.to_string()),
        // None yet, or none that we may have.
        Err(_) => Ok(Servers::default()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::cache::kept_in;

    fn store(folder: &Path) -> OnDisk {
        OnDisk::in_file(kept_in(&folder.join("polyport"), FILE))
    }

    // req: S-GATE-SAME-NAMES
    #[test]
    fn names_outlive_a_run_within_their_room() {
        let folder = tempfile::tempdir().unwrap();
        let names = store(folder.path());
        names.keep("one", Named::Tools, &[]);
        assert!(!folder.path().join("polyport").exists(), "nothing to keep");
        names.keep("one", Named::Tools, &["add", "echo"]);
        names.keep("one", Named::Prompts, &["greet"]);
        // At once again: it is for the next time.
        names.keep("one", Named::Tools, &["add"]);
        let next = store(folder.path());
        assert_eq!(next.recall("one", Named::Tools), ["add", "echo"]);
        assert_eq!(next.recall("one", Named::Prompts), ["greet"]);
        assert_eq!(next.recall("two", Named::Tools), [""; 0]);
        next.keep("one", Named::Tools, &[]);
        assert_eq!(store(folder.path()).recall("one", Named::Tools), [""; 0]);
        for n in 0..SERVERS {
            next.keep(&n.to_string(), Named::Tools, &["x"]);
        }
        let last = store(folder.path());
        assert_eq!(last.recall("one", Named::Prompts), [""; 0], "it made room");
        assert_eq!(last.recall("0", Named::Tools), ["x"]);
        let long = "x".repeat(NAME + 1);
        let many: Vec<String> = (0..=NAMES).map(|n| n.to_string()).collect();
        let many: Vec<&str> = [&*long]
            .into_iter()
            .chain(many.iter().map(|n| &**n))
            .collect();
        last.keep("many", Named::Tools, &many);
        assert_eq!(
            store(folder.path()).recall("many", Named::Tools),
            many[1..=NAMES]
        );
        // However many there are, the file can be read again.
        let wide = "\u{1}".repeat(NAME);
        let wide = vec![&*wide; NAMES];
        for n in 0..4 {
            last.keep(&format!("wide {n}"), Named::Tools, &wide);
        }
        let file = folder.path().join("polyport/kept.json");
        assert!(fs::metadata(file).unwrap().len() <= FILE);
        assert_eq!(store(folder.path()).recall("wide 3", Named::Tools), wide);
    }

    // req: S-GATE-SAME-NAMES
    #[test]
    fn what_is_broken_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for text in [
            "",
            "{",
            "[]",
            "null",
            "{\"servers\":7}",
            "{\"servers\":[{\"tools\":7}]}",
            "\0",
        ] {
            store(folder.path()).keep("other", Named::Tools, &["x"]);
            // Into the same file: its mode stays.
            fs::write(folder.path().join("polyport/kept.json"), text).unwrap();
            let names = store(folder.path());
            assert_eq!(names.recall("other", Named::Tools), [""; 0], "{text:?}");
            names.keep("one", Named::Tools, &["add"]);
            assert_eq!(
                store(folder.path()).recall("one", Named::Tools),
                ["add"],
                "{text:?}"
            );
        }
    }
}
