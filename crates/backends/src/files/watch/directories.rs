//! The directories of which the system reports changes: those of watched files and all above them in their folder, so that one that is
//! taken away and made again, or renamed, is found again.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use super::{Refused, Shared, hear};

/// Watched directories, and how many paths need each.
pub(super) struct Directories {
    shared: Arc<Shared>,
    max: usize,
    watcher: Option<RecommendedWatcher>,
    needed: BTreeMap<PathBuf, usize>,
}

impl Directories {
    /// None so far, and never more than `max`.
    pub(super) fn new(shared: Arc<Shared>, max: usize) -> Self {
        Self {
            shared,
            max,
            watcher: None,
            needed: BTreeMap::new(),
        }
    }

    /// Watches what a path in a folder needs. What is not there now is watched when it comes.
    pub(super) fn need(&mut self, root: &Path, path: &Path) -> Result<(), Refused> {
        let chain = chain(root, path);
        let new = chain.iter().filter(|dir| !self.needed.contains_key(**dir));
        let max = self.max;
        if self.needed.len() + new.count() > max {
            return Err(format!(
                "Too many directories are watched (limit {max}): unsubscribe from files elsewhere first"
            ));
        }
        for (n, directory) in chain.iter().enumerate() {
            if !self.needed.contains_key(*directory)
                && let Err(error) = self.watch(root, directory)
            {
                self.let_go(&chain[..n]);
                return Err(format!(
                    "The system cannot watch this file ({error}): on Linux, fs.inotify.max_user_watches and \
                     max_user_instances are its bounds"
                ));
            }
            *self.needed.entry((*directory).to_owned()).or_default() += 1;
        }
        Ok(())
    }

    /// A path needs them no more.
    pub(super) fn release(&mut self, root: &Path, path: &Path) {
        self.let_go(&chain(root, path));
    }

    fn let_go(&mut self, chain: &[&Path]) {
        for directory in chain {
            let Some(count) = self.needed.get_mut(*directory) else {
                continue;
            };
            *count -= 1;
            if *count == 0 {
                self.needed.remove(*directory);
                self.unwatch(directory);
            }
        }
    }

    /// Watches anew what has come or gone, and all below it. Those directories are the answer: what happened in them meanwhile was not
    /// seen.
    pub(super) fn renew(
        &mut self,
        root: &Path,
        is_new: impl Fn(&Path) -> bool,
    ) -> HashSet<PathBuf> {
        let mut renewed = HashSet::new();
        // Upper ones first: what comes in them after that is reported.
        let here = self.needed.keys().filter(|dir| dir.starts_with(root));
        let here: Vec<_> = here.cloned().collect();
        for directory in here {
            let above = directory.parent().is_some_and(|up| renewed.contains(up));
            if !above && !is_new(&directory) {
                continue;
            }
            self.unwatch(&directory);
            if let Err(error) = self.watch(root, &directory) {
                tracing::warn!(%error, "a directory that has come back is not watched");
            }
            renewed.insert(directory);
        }
        renewed
    }

    /// One that is not there, or to which a link leads, waits until it comes: where links lead is watched by its own path, and the
    /// system knows a directory under one path only.
    fn watch(&mut self, root: &Path, directory: &Path) -> notify::Result<()> {
        let is_itself = |real: PathBuf| {
            let below = directory.strip_prefix(root);
            below.is_ok_and(|below| {
                root.canonicalize()
                    .is_ok_and(|root| real == root.join(below))
            })
        };
        if !directory.canonicalize().is_ok_and(is_itself) {
            return Ok(());
        }
        let watched = self
            .watcher()?
            .watch(directory, RecursiveMode::NonRecursive);
        match watched {
            // It went at this moment.
            Err(_) if !directory.is_dir() => Ok(()),
            other => other,
        }
    }

    fn unwatch(&mut self, directory: &Path) {
        if let Some(watcher) = &mut self.watcher {
            // One that is gone is not watched any more.
            let _ = watcher.unwatch(directory);
        }
    }

    fn watcher(&mut self) -> notify::Result<&mut RecommendedWatcher> {
        if self.watcher.is_none() {
            let shared = self.shared.clone();
            let heard = move |event| hear(&shared, event);
            self.watcher = Some(notify::recommended_watcher(heard)?);
        }
        self.watcher
            .as_mut()
            .ok_or_else(|| notify::Error::generic("there is no watcher"))
    }
}

/// The directories from a folder down to where a path is.
fn chain<'a>(root: &Path, path: &'a Path) -> Vec<&'a Path> {
    let above = path.ancestors().skip(1);
    let mut chain: Vec<_> = above.take_while(|dir| dir.starts_with(root)).collect();
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_begins_at_the_folder() {
        for (root, path, want) in [
            ("/w", "/w/a", vec!["/w"]),
            ("/w", "/w/a/b/c", vec!["/w", "/w/a", "/w/a/b"]),
            ("/w", "/wide/a", vec![]),
            ("/", "/a/b", vec!["/", "/a"]),
        ] {
            let want: Vec<_> = want.into_iter().map(Path::new).collect();
            assert_eq!(chain(Path::new(root), Path::new(path)), want, "{path}");
        }
    }
}
