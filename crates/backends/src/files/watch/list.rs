//! Whether the set of listed files changes. Its directories are watched while somebody wants to hear of that. What the system or our
//! own tools report is a hint only: the list is walked anew, and told of when it is another one.

use std::collections::{BTreeSet, BinaryHeap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use polyport::WeakServerHandle;

use super::super::pace::Pace;
use super::super::place::Place;
use super::super::spot::Spot;
use super::super::walk::{Filter, Walk};
use super::super::{FilesError, Folders, Kind};
use super::{REMEMBERED, SETTLE};

/// The rest after a walk, as a multiple of what it took, so that a large folder in which much happens costs little.
const REST: u32 = 5;
/// But never more than this.
const LONGEST_REST: Duration = Duration::from_secs(10);
/// Walks in a row, each because the last one found directories that were not watched while it looked into them.
const ROUNDS: usize = 4;

/// Watches the list on a thread of its own, which begins with the first interest and ends when this is dropped.
pub(super) struct ListWatch {
    shared: Arc<Shared>,
    work: Mutex<Option<Work>>,
}

#[derive(Default)]
struct Shared {
    todo: Mutex<Todo>,
    wake: Condvar,
}

#[derive(Default)]
struct Todo {
    /// Somebody wants to hear of changes.
    wanted: bool,
    /// Something has happened that may have changed the list.
    hinted: bool,
    /// It was one of our own tools.
    ours: bool,
    /// What has come or gone: a directory among it has to be watched anew.
    moved: HashSet<PathBuf>,
    /// More has happened than is remembered.
    rescan: bool,
    over: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Todo> {
        self.todo.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Todo)) {
        change(&mut self.lock());
        self.wake.notify_one();
    }

    fn wait<'a>(&self, todo: MutexGuard<'a, Todo>) -> MutexGuard<'a, Todo> {
        let woken = self.wake.wait(todo);
        woken.unwrap_or_else(PoisonError::into_inner)
    }
}

impl ListWatch {
    pub(super) fn new(folders: Arc<Folders>, server: WeakServerHandle) -> Self {
        let shared = Arc::new(Shared::default());
        let work = Work {
            shared: shared.clone(),
            folders,
            server,
            watcher: None,
            watched: BTreeSet::new(),
            known: None,
            is_warned: false,
        };
        Self {
            shared,
            work: Mutex::new(Some(work)),
        }
    }

    /// Somebody wants to hear of changes, or nobody any more.
    pub(super) fn want(&self, on: bool) {
        self.shared.change(|todo| todo.wanted = on);
        let work = self
            .work
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(work) = work else {
            return;
        };
        let thread = std::thread::Builder::new().name("polyport-list".to_owned());
        if let Err(error) = thread.spawn(move || work.run()) {
            tracing::warn!(%error, "changes of the list of files are not told: there is no thread for it");
        }
    }

    /// One of our own tools may have made or removed a file.
    pub(super) fn hint(&self) {
        self.shared.change(|todo| {
            todo.hinted |= todo.wanted;
            todo.ours |= todo.wanted;
        });
    }
}

impl Drop for ListWatch {
    fn drop(&mut self) {
        self.shared.change(|todo| todo.over = true);
    }
}

struct Work {
    shared: Arc<Shared>,
    folders: Arc<Folders>,
    server: WeakServerHandle,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    /// The list when it was last looked at; none while nobody wants to hear of it.
    known: Option<List>,
    /// That not all is watched was said.
    is_warned: bool,
}

/// What is remembered of a list.
#[derive(Default)]
struct List {
    /// Of the paths of its files, in order.
    hash: u64,
    /// The walk came to its end.
    whole: bool,
    /// Those to be watched, the upper ones before the deep ones where there are too many.
    directories: BTreeSet<PathBuf>,
    /// There are more.
    has_more: bool,
}

impl Work {
    fn run(mut self) {
        while self.wait() {
            let begun = Instant::now();
            let Some(changed) = self.look() else {
                continue;
            };
            if changed {
                let Some(server) = self.server.upgrade() else {
                    return;
                };
                server.resources_changed();
            }
            self.pause((begun.elapsed() * REST).min(LONGEST_REST));
        }
    }

    /// Waits until there is something to look at. False: it is over.
    fn wait(&mut self) -> bool {
        let shared = self.shared.clone();
        let mut todo = shared.lock();
        loop {
            if todo.over {
                return false;
            }
            if todo.wanted && (self.known.is_none() || todo.hinted) {
                break;
            }
            if !todo.wanted {
                *todo = Todo::default();
                (self.watcher, self.known) = (None, None);
                self.watched.clear();
            }
            todo = shared.wait(todo);
        }
        drop(todo);
        if self.known.is_some() {
            // What happens within this time is said once.
            self.pause(SETTLE);
        }
        true
    }

    fn pause(&self, time: Duration) {
        let todo = self.shared.lock();
        let _ = self
            .shared
            .wake
            .wait_timeout_while(todo, time, |todo| !todo.over);
    }

    /// Looks at the list anew. True: it is another one than before; none: nobody wants to know any more.
    fn look(&mut self) -> Option<bool> {
        let (ours, moved, rescan) = {
            let mut todo = self.shared.lock();
            todo.hinted = false;
            (
                std::mem::take(&mut todo.ours),
                std::mem::take(&mut todo.moved),
                std::mem::take(&mut todo.rescan),
            )
        };
        self.let_go(|directory| rescan || directory.ancestors().any(|above| moved.contains(above)));
        let is_first = self.known.is_none();
        // What a tool of ours did while the first look was due may be in it already.
        let mut changed = is_first && ours;
        for _ in 0..ROUNDS {
            let list = self.walk()?;
            changed |= match &self.known {
                // What lies beyond the end of the walk may be another one.
                Some(known) if !known.whole || !list.whole => !is_first,
                Some(known) => known.hash != list.hash,
                None => false,
            };
            let has_new = self.follow(&list);
            self.known = Some(list);
            if !has_new {
                return Some(changed);
            }
        }
        // Directories come faster than they are looked at.
        self.shared.change(|todo| todo.hinted = true);
        Some(changed)
    }

    fn walk(&self) -> Option<List> {
        let shared = &self.shared;
        let is_unwanted = || {
            let todo = shared.lock();
            todo.over || !todo.wanted
        };
        match list(&self.folders, &is_unwanted) {
            Ok(list) => Some(list),
            Err(FilesError::Cancelled) => None,
            // The only folder is gone or cannot be read: nothing is listed.
            Err(_) => Some(List {
                whole: true,
                ..List::default()
            }),
        }
    }

    /// Watches the directories of the list, and no others. True: there were new ones.
    fn follow(&mut self, list: &List) -> bool {
        if list.has_more {
            let limit = self.folders.limits().watched_directories;
            self.warn(&format!("there are more than {limit} directories"));
        }
        self.let_go(|directory| !list.directories.contains(directory));
        let mut has_new = false;
        for directory in &list.directories {
            if self.watched.contains(directory) {
                continue;
            }
            match self.watch(directory) {
                Ok(true) => {
                    has_new = true;
                    self.watched.insert(directory.clone());
                }
                // It went at this moment, which is reported above it.
                Ok(false) => {}
                Err(error) => {
                    self.warn(&error.to_string());
                    break;
                }
            }
        }
        has_new
    }

    fn watch(&mut self, directory: &Path) -> notify::Result<bool> {
        // Not where a link leads that was put in its place.
        if !directory.canonicalize().is_ok_and(|real| real == directory) {
            return Ok(false);
        }
        if self.watcher.is_none() {
            let shared = self.shared.clone();
            let heard = move |event| hear(&shared, event);
            self.watcher = Some(notify::recommended_watcher(heard)?);
        }
        let Some(watcher) = &mut self.watcher else {
            return Ok(false);
        };
        match watcher.watch(directory, RecursiveMode::NonRecursive) {
            Ok(()) => Ok(true),
            Err(_) if !directory.is_dir() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn let_go(&mut self, is_over: impl Fn(&Path) -> bool) {
        let Self {
            watcher, watched, ..
        } = self;
        watched.retain(|directory| {
            let is_over = is_over(directory);
            if is_over && let Some(watcher) = watcher {
                // One that is gone is not watched any more.
                let _ = watcher.unwatch(directory);
            }
            !is_over
        });
    }

    fn warn(&mut self, why: &str) {
        if !std::mem::replace(&mut self.is_warned, true) {
            tracing::warn!(
                why,
                "not every directory is watched: what other programs add or remove there is not told as a change of the list of \
                 files until something else changes"
            );
        }
    }
}

/// The list that a client would be given, page after page.
fn list(folders: &Folders, is_unwanted: &dyn Fn() -> bool) -> Result<List, FilesError> {
    let pace = Pace::new(folders.limits(), is_unwanted);
    let roots = Place::roots(folders);
    let most = folders.limits().watched_directories;
    let mut list = List::default();
    let mut directories = BinaryHeap::new();
    let mut add = |place: &Place<'_>| {
        let path = place.folder().path().join(place.below());
        directories.push((place.below().iter().count(), path));
        if directories.len() > most {
            directories.pop();
            list.has_more = true;
        }
    };
    roots.iter().for_each(&mut add);
    let spot = match roots.as_slice() {
        [] => None,
        [only] => Some(Spot::At(only.clone())),
        _ => Some(Spot::Top(folders)),
    };
    let mut hasher = DefaultHasher::new();
    list.whole = true;
    if let Some(spot) = spot {
        let filter = Filter::default();
        let mut walk = Walk::new(folders, spot, &filter, None, &pace);
        while let Some(found) = walk.next()? {
            match found.kind {
                Kind::Directory => add(&found.place),
                Kind::File if !found.place.is_in_inner_folder() => {
                    (found.place.index(), found.place.below()).hash(&mut hasher);
                }
                _ => {}
            }
        }
        list.whole = walk.tally().stopped.is_none();
    }
    list.hash = hasher.finish();
    list.directories = directories.into_iter().map(|(_, path)| path).collect();
    Ok(list)
}

/// Notes what the system reports, on its thread.
fn hear(shared: &Shared, event: notify::Result<Event>) {
    let Ok(event) = event else {
        return shared.change(|todo| {
            todo.hinted = true;
            todo.rescan = true;
        });
    };
    let is_name = matches!(
        event.kind,
        EventKind::Any
            | EventKind::Other
            | EventKind::Create(_)
            | EventKind::Remove(_)
            | EventKind::Modify(ModifyKind::Name(_) | ModifyKind::Any)
    );
    let is_read = matches!(event.kind, EventKind::Access(_));
    // Hidden files are in no list; what this one says decides what is.
    let counts = |path: &PathBuf| match path.file_name() {
        Some(name) if name == ".gitignore" => !is_read,
        Some(name) => is_name && !name.as_encoded_bytes().starts_with(b"."),
        None => is_name,
    };
    let need_rescan = event.need_rescan();
    let paths: Vec<_> = event.paths.into_iter().filter(counts).collect();
    if paths.is_empty() && !need_rescan {
        return;
    }
    shared.change(|todo| {
        todo.hinted = true;
        todo.rescan |= need_rescan || todo.moved.len() + paths.len() > REMEMBERED;
        if todo.rescan {
            todo.moved.clear();
        } else {
            todo.moved.extend(paths);
        }
    });
}
