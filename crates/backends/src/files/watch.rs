//! Which files somebody is subscribed to, and word of their changes. What the system reports is a hint only: each file is looked up
//! anew through the folders before anything is said of it (D-39).

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::{Event, EventKind};
use polyport::{Watcher, WeakServerHandle};

mod directories;
mod list;
mod way;

use self::{directories::Directories, list::ListWatch, way::paths_of};
use super::{Folders, names, spot::Spot};

/// What happens to one file within this time is said once.
const SETTLE: Duration = Duration::from_millis(50);
/// How long what was tried stays watched without a subscription.
const TRIED: Duration = Duration::from_secs(10);
/// Paths of changes that are remembered one by one; beyond it every watched file is looked at.
const REMEMBERED: usize = 10_000;

/// Watches the files that somebody is subscribed to, on a thread of its own that ends when this is dropped.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    list: ListWatch,
}

/// What a subscription may be refused with.
pub(crate) type Refused = String;

#[derive(Default)]
struct Shared {
    todo: Mutex<Todo>,
    wake: Condvar,
}

#[derive(Default)]
struct Todo {
    orders: VecDeque<Order>,
    changed: HashSet<PathBuf>,
    /// What was created, deleted or renamed.
    listed: HashSet<PathBuf>,
    /// More has changed than is remembered.
    rescan: bool,
    over: bool,
}

enum Order {
    /// Somebody is subscribed from now on, or nobody any more.
    Watch(String, bool),
    /// Could this be watched?
    Try(String, SyncSender<Result<(), Refused>>),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Todo> {
        self.todo.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Todo)) {
        change(&mut self.lock());
        self.wake.notify_one();
    }
}

impl Watch {
    /// Begins to watch, so far nothing.
    pub(crate) fn new(folders: Arc<Folders>, server: WeakServerHandle) -> Arc<Self> {
        let shared = Arc::new(Shared::default());
        let list = ListWatch::new(folders.clone(), server.clone());
        let max = folders.limits().watched_directories;
        let work = Work {
            shared: shared.clone(),
            folders,
            server,
            files: HashMap::new(),
            paths: HashMap::new(),
            directories: Directories::new(shared.clone(), max),
        };
        let thread = std::thread::Builder::new().name("polyport-watch".to_owned());
        if let Err(error) = thread.spawn(move || work.run()) {
            tracing::warn!(%error, "files are not watched: there is no thread for it");
            shared.lock().over = true;
        }
        Arc::new(Self { shared, list })
    }

    /// One of our own tools may have made or removed a file.
    pub(crate) fn list_may_have_changed(&self) {
        self.list.hint();
    }

    /// May somebody subscribe to this file? Blocks on the thread that watches.
    pub(crate) fn check(&self, uri: &str) -> Result<(), Refused> {
        let (sender, receiver) = sync_channel(1);
        self.order(Order::Try(uri.to_owned(), sender));
        receiver
            .recv()
            .unwrap_or_else(|_| Err("Files are not watched any more".to_owned()))
    }

    fn order(&self, order: Order) {
        self.shared.change(|todo| {
            if !todo.over {
                todo.orders.push_back(order);
            }
        });
    }
}

impl Watcher for Watch {
    fn watch(&self, uri: &str, on: bool) {
        self.order(Order::Watch(uri.to_owned(), on));
    }

    fn watch_list(&self, on: bool) {
        self.list.want(on);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.change(|todo| {
            todo.over = true;
            todo.orders.clear();
        });
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// A file that somebody is subscribed to.
struct Watched {
    /// Where a change of it is seen: the links on its way, and the file to which they lead.
    paths: Vec<PathBuf>,
    /// The folder in which they are.
    root: PathBuf,
    /// Was it there when it was last looked at?
    there: bool,
    /// Somebody is subscribed; until then it was only tried, at this time.
    claimed: bool,
    tried: Instant,
}

struct Work {
    shared: Arc<Shared>,
    folders: Arc<Folders>,
    server: WeakServerHandle,
    files: HashMap<String, Watched>,
    paths: HashMap<PathBuf, HashSet<String>>,
    directories: Directories,
}

impl Work {
    fn run(mut self) {
        loop {
            let mut todo = self.shared.lock();
            while todo.orders.is_empty() && todo.changed.is_empty() && !todo.rescan && !todo.over {
                todo = self
                    .shared
                    .wake
                    .wait(todo)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if todo.over {
                return;
            }
            let orders = std::mem::take(&mut todo.orders);
            let has_changes = !todo.changed.is_empty() || todo.rescan;
            drop(todo);
            for order in orders {
                self.carry_out(order);
            }
            if has_changes && !self.settle() {
                return;
            }
        }
    }

    fn carry_out(&mut self, order: Order) {
        self.drop_tried();
        match order {
            Order::Watch(uri, true) => {
                if let Err(refused) = self.add(&uri) {
                    tracing::warn!(
                        refused,
                        "a file that somebody is subscribed to is not watched"
                    );
                }
                if let Some(file) = self.files.get_mut(&uri) {
                    file.claimed = true;
                }
            }
            Order::Watch(uri, false) => self.remove(&uri),
            Order::Try(uri, sender) => {
                // It stays watched for a moment: the subscription follows at once.
                let tried = self.add(&uri);
                // Whoever asked may be gone.
                let _ = sender.send(tried);
            }
        }
    }

    /// Lets go of what was tried and then not subscribed to.
    fn drop_tried(&mut self) {
        let over = |file: &Watched| !file.claimed && file.tried.elapsed() > TRIED;
        let files = self.files.iter().filter(|(_, file)| over(file));
        let uris: Vec<_> = files.map(|(uri, _)| uri.clone()).collect();
        uris.iter().for_each(|uri| self.remove(uri));
    }

    /// Waits until what is happening has happened, then says what has changed. False: the server is gone.
    fn settle(&mut self) -> bool {
        std::thread::sleep(SETTLE);
        let (changed, listed, rescan) = {
            let mut todo = self.shared.lock();
            (
                std::mem::take(&mut todo.changed),
                std::mem::take(&mut todo.listed),
                std::mem::take(&mut todo.rescan),
            )
        };
        let Some(server) = self.server.upgrade() else {
            return false;
        };
        let renewed = self.renew(&listed, rescan);
        let uris: HashSet<String> = if rescan {
            self.files.keys().cloned().collect()
        } else {
            let unseen = self.paths.keys().filter(|path| {
                let directory = path.parent();
                directory.is_some_and(|directory| renewed.contains(directory))
            });
            let seen = changed.iter().chain(unseen);
            let seen = seen.filter_map(|path| self.paths.get(path));
            seen.flatten().cloned().collect()
        };
        for uri in uris {
            if self.look(&uri) {
                server.resource_updated(&uri);
            }
        }
        true
    }

    /// Watches directories anew that have come back. What happened in them meanwhile was not seen.
    fn renew(&mut self, listed: &HashSet<PathBuf>, rescan: bool) -> HashSet<PathBuf> {
        let roots: HashSet<_> = self.files.values().map(|file| file.root.clone()).collect();
        let is_new = |directory: &Path| rescan || listed.contains(directory);
        let renewed = roots
            .iter()
            .map(|root| self.directories.renew(root, is_new));
        renewed.flatten().collect()
    }

    /// Looks a file up anew. True: whoever is subscribed is to be told.
    fn look(&mut self, uri: &str) -> bool {
        let folders = self.folders.clone();
        let now = state(&folders, uri);
        let Some(file) = self.files.get_mut(uri) else {
            return false;
        };
        let was_there = std::mem::replace(&mut file.there, matches!(now, State::There));
        let place = Spot::of_uri(&folders, uri).and_then(Spot::place);
        if let Ok(paths) = place.map(|place| paths_of(&place))
            && paths != file.paths
        {
            // A link leads elsewhere now.
            let claimed = file.claimed;
            self.remove(uri);
            if let Err(refused) = self.add(uri) {
                tracing::warn!(
                    refused,
                    "a file that somebody is subscribed to is not watched"
                );
            }
            if let Some(file) = self.files.get_mut(uri) {
                file.claimed = claimed;
            }
        }
        match now {
            State::There => true,
            State::Gone => was_there,
            State::Outside => false,
        }
    }

    fn add(&mut self, uri: &str) -> Result<(), Refused> {
        if self.files.contains_key(uri) {
            return Ok(());
        }
        let folders = self.folders.clone();
        let place = Spot::of_uri(&folders, uri)
            .and_then(Spot::place)
            .map_err(|error| error.to_string())?;
        let paths = paths_of(&place);
        let file = Watched {
            there: matches!(state(&folders, uri), State::There),
            paths: Vec::new(),
            root: place.folder().path().to_owned(),
            claimed: false,
            tried: Instant::now(),
        };
        self.files.insert(uri.to_owned(), file);
        for path in paths {
            if let Err(refused) = self.add_path(uri, &path) {
                self.remove(uri);
                return Err(refused);
            }
        }
        Ok(())
    }

    fn add_path(&mut self, uri: &str, path: &Path) -> Result<(), Refused> {
        let Some(root) = self.files.get(uri).map(|file| file.root.clone()) else {
            return Ok(());
        };
        self.directories.need(&root, path)?;
        let uris = self.paths.entry(path.to_owned()).or_default();
        uris.insert(uri.to_owned());
        if let Some(file) = self.files.get_mut(uri) {
            file.paths.push(path.to_owned());
        }
        Ok(())
    }

    fn remove(&mut self, uri: &str) {
        let Some(file) = self.files.remove(uri) else {
            return;
        };
        for path in file.paths {
            if let Some(uris) = self.paths.get_mut(&path) {
                uris.remove(uri);
                if uris.is_empty() {
                    self.paths.remove(&path);
                }
            }
            self.directories.release(&file.root, &path);
        }
    }
}

/// Notes what the system reports, on its thread.
fn hear(shared: &Shared, event: notify::Result<Event>) {
    let event = match event {
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
        Ok(event) => event,
        Err(error) => {
            tracing::debug!(%error, "the system reports a fault of watching");
            return shared.change(|todo| todo.rescan = true);
        }
    };
    let is_ours = |path: &PathBuf| path.file_name().is_some_and(names::is_ours);
    let paths: Vec<_> = event.paths.iter().filter(|path| !is_ours(path)).collect();
    let listed = matches!(
        event.kind,
        EventKind::Create(_)
            | EventKind::Remove(_)
            | EventKind::Modify(notify::event::ModifyKind::Name(_))
    );
    shared.change(|todo| {
        todo.rescan |= event.need_rescan() || todo.changed.len() + paths.len() > REMEMBERED;
        if todo.rescan {
            todo.listed.clear();
            return todo.changed.clear();
        }
        if listed {
            todo.listed.extend(paths.iter().copied().cloned());
        }
        todo.changed.extend(paths.into_iter().cloned());
    });
}

enum State {
    There,
    Gone,
    /// Something is there that nobody is shown.
    Outside,
}

fn state(folders: &Folders, uri: &str) -> State {
    let Ok(place) = Spot::of_uri(folders, uri).and_then(Spot::place) else {
        return State::Outside;
    };
    if place.open_file().is_ok() {
        State::There
    } else if place.link_metadata().is_err() {
        State::Gone
    } else {
        State::Outside
    }
}
