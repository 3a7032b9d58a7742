//! The files that a configuration is made of: the one that is named, and those with variables for its servers. What stands in them, and
//! when they are written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

/// Files, and what stood in them when they were last looked at; none: they could not be read.
#[derive(Debug)]
pub(super) struct Files {
    named: (PathBuf, Option<Vec<u8>>),
    others: Vec<(PathBuf, Option<Vec<u8>>)>,
}

impl Files {
    pub(super) fn new(named: &Path) -> Self {
        Self {
            named: (named.to_owned(), std::fs::read(named).ok()),
            others: Vec::new(),
        }
    }

    /// What stands in the one that is named, whether it could be meant or not.
    pub(super) fn text(&self) -> Option<&[u8]> {
        self.named.1.as_deref()
    }

    /// The others are these from now on.
    pub(super) fn set_others(&mut self, others: Vec<PathBuf>) {
        let read = |path: PathBuf| {
            let text = plain(&path);
            (path, text)
        };
        self.others = others.into_iter().map(read).collect();
    }

    /// Looks at all of them again; the first in which something else stands.
    pub(super) fn changed(&mut self) -> Option<PathBuf> {
        let mut changed = None;
        let (named, text) = &mut self.named;
        let now = std::fs::read(&*named).ok();
        if *text != now {
            *text = now;
            changed = Some(named.clone());
        }
        for (path, text) in &mut self.others {
            let now = plain(path);
            if *text != now {
                *text = now;
                changed.get_or_insert_with(|| path.clone());
            }
        }
        changed
    }

    /// Editors put another file in its place: the folder knows, and so does that of a file that this is a link to.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let others = self.others.iter().map(|(path, _)| path);
        let mut folders = BTreeSet::new();
        for path in others.chain([&self.named.0]) {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let real = std::fs::canonicalize(path).unwrap_or_else(|_| absolute.clone());
            let both = [absolute, real];
            folders.extend(
                both.iter()
                    .filter_map(|file| file.parent())
                    .map(Path::to_owned),
            );
        }
        folders
    }
}

/// What stands in a file. A pipe, as some keepers of secrets make them, gives it to one reader alone.
fn plain(path: &Path) -> Option<Vec<u8>> {
    let is_plain = std::fs::metadata(path).is_ok_and(|it| it.is_file());
    is_plain.then(|| std::fs::read(path).ok()).flatten()
}

/// Tells when something happens where the files are.
pub(super) struct Watching {
    watcher: RecommendedWatcher,
    folders: BTreeSet<PathBuf>,
}

impl Watching {
    /// # Errors
    /// There is nothing that would watch.
    pub(super) fn new(told: mpsc::Sender<()>) -> Result<Self, notify::Error> {
        let tell = move |event: Result<notify::Event, notify::Error>| {
            if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
                // One that waits already tells the same.
                let _ = told.try_send(());
            }
        };
        Ok(Self {
            watcher: notify::recommended_watcher(tell)?,
            folders: BTreeSet::new(),
        })
    }

    /// Watches where these files are, and nothing else. True: something is watched that was not.
    ///
    /// # Errors
    /// One of the folders cannot be watched; the others are.
    pub(super) fn follow(&mut self, files: &Files) -> Result<bool, notify::Error> {
        let wanted = files.folders();
        for gone in self.folders.difference(&wanted) {
            // It may be gone itself.
            let _ = self.watcher.unwatch(gone);
        }
        self.folders.retain(|folder| wanted.contains(folder));
        let (mut is_new, mut failed) = (false, Ok(()));
        for folder in wanted {
            if self.folders.contains(&folder) {
                continue;
            }
            match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    is_new = true;
                    self.folders.insert(folder);
                }
                Err(error) => failed = Err(error),
            }
        }
        failed.map(|()| is_new)
    }
}
