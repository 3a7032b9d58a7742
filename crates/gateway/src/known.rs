//! What servers called their tools and prompts when they were last there: what others offer is spelt with regard to that while one is
//! missing.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::catalogue::Kind;

/// Lists that are remembered in memory; beyond, all are forgotten. A gateway has two of each server.
const MAX_LISTS: usize = 10_000;

/// What has names that could be those of others.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Named {
    /// Prompts.
    Prompts,
    /// Tools.
    Tools,
}

/// Where names are remembered. It is asked where lists are put together: it must not wait for long, and it cannot fail. What it cannot
/// keep or find is not known.
pub trait NameStore: fmt::Debug + Send + Sync {
    /// The names that this server gave last.
    fn recall(&self, server: &str, of: Named) -> Vec<String>;

    /// The server gives these names now; the same ones come whenever they are asked for.
    fn keep(&self, server: &str, of: Named, names: &[&str]);
}

/// Names in memory, for as long as the gateway lives.
#[derive(Debug, Default)]
pub struct MemoryNames(Mutex<HashMap<(String, Named), Vec<String>>>);

impl MemoryNames {
    fn all(&self) -> MutexGuard<'_, HashMap<(String, Named), Vec<String>>> {
        // Nothing that is done under the lock leaves it half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NameStore for MemoryNames {
    fn recall(&self, server: &str, of: Named) -> Vec<String> {
        let all = self.all();
        all.get(&(server.to_owned(), of))
            .cloned()
            .unwrap_or_default()
    }

    fn keep(&self, server: &str, of: Named, names: &[&str]) {
        let key = (server.to_owned(), of);
        let mut all = self.all();
        if all.get(&key).is_some_and(|known| *known == names) {
            return;
        }
        if all.len() >= MAX_LISTS && !all.contains_key(&key) {
            all.clear();
        }
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        all.insert(key, names);
    }
}

/// Of a list: what of it is remembered.
pub(crate) fn named(kind: Kind) -> Option<Named> {
    match kind {
        Kind::Tools => Some(Named::Tools),
        Kind::Prompts => Some(Named::Prompts),
        Kind::Resources | Kind::Templates => None,
    }
}
