//! Servers of a configuration that change while they are served: the file is read anew when it is written, what differs is said, and a file
//! that cannot be meant changes nothing.

mod files;

use std::path::{Path, PathBuf};
use std::time::Duration;

use polyport_config::{Entry, Expanded, Found, Way};
use polyport_gateway::{GatewayHandle, Upstream};
use tokio::sync::mpsc;

use files::{Files, Watching};

use crate::configured;
use crate::failure::Failure;
use crate::reach::Reached;
use crate::reaching::Reaching;
use crate::upstream::{ruled, way};
use crate::{program, secrets, ui};

/// Editors write a file in several steps: what comes within this time is one change.
const SETTLE: Duration = Duration::from_millis(50);

/// A server of the file as it is served now.
#[derive(Clone, Debug)]
pub(super) struct Served {
    entry: Entry<Expanded>,
    pub(super) reached: Reached,
    upstream: Upstream,
}

/// A file, and what is served of it.
#[derive(Debug)]
pub(super) struct Reload {
    file: PathBuf,
    reaching: Reaching,
    /// It, and those with variables for its servers.
    files: Files,
    pub(super) served: Vec<Served>,
}

impl Served {
    /// A server as its entry says; the one that there is, where the way to it is the same.
    ///
    /// # Errors
    /// It cannot be reached so.
    fn of(found: &Found, reaching: &Reaching, before: &[Self]) -> Result<Self, Failure> {
        let entry = reaching.expanded(found)?;
        let reached = reaching.reached(found, entry.clone())?;
        let same = |served: &&Self| {
            served.entry.name == entry.name && is_same_connection(&served.entry, &entry)
        };
        let upstream = match before.iter().find(same) {
            Some(served) => ruled(served.upstream.clone(), &entry.settings)?,
            None => {
                let connect = way(reached.clone(), &entry.settings)?;
                let upstream = Upstream::new(program::plain(&entry.name), connect);
                ruled(upstream, &entry.settings)?
            }
        };
        Ok(Self {
            entry,
            reached,
            upstream,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.entry.name
    }
}

impl Reload {
    /// What is served of a file that may change.
    ///
    /// # Errors
    /// It cannot be meant.
    pub(super) fn new(file: &Path, reaching: &Reaching) -> Result<Self, Failure> {
        let mut reload = Self {
            file: file.to_owned(),
            reaching: reaching.clone(),
            files: Files::new(file),
            served: Vec::new(),
        };
        reload.served = reload.read()?;
        Ok(reload)
    }

    pub(super) fn upstreams(&self) -> Vec<Upstream> {
        let served = self.served.iter();
        served.map(|served| served.upstream.clone()).collect()
    }

    fn read(&mut self) -> Result<Vec<Served>, Failure> {
        // Many a program empties a file before it writes it.
        let text = self.files.text();
        if text.is_some_and(|text| text.trim_ascii().is_empty()) {
            return Err(Failure::usage("it is empty")
                .hint("[servers] alone says that none is to be served"));
        }
        let found = configured::enabled_in(&self.file)?;
        // Before they are read for what they say: what is written later is seen to be new.
        self.files.set_others(self.reaching.variable_files(&found));
        let served = found
            .iter()
            .map(|found| Served::of(found, &self.reaching, &self.served));
        served.collect()
    }

    /// Reads the file anew whenever it is written, or one with variables for its servers is, as long as the runtime runs.
    ///
    /// # Errors
    /// It cannot be watched.
    pub(super) fn watch(mut self, gateway: GatewayHandle) -> Result<(), Failure> {
        let (told, mut hears) = mpsc::channel(1);
        let failed = |error: notify::Error| {
            let file = ui::path(&self.file);
            Failure::usage(format!("{file} cannot be watched: {error}"))
                .hint("leave --reload out, and start anew after a change")
        };
        let mut watching = Watching::new(told).map_err(failed)?;
        watching.follow(&self.files).map_err(failed)?;
        tokio::spawn(async move {
            loop {
                // First what was written before it was watched.
                if let Some(changed) = self.files.changed() {
                    // Variables may run commands, and files may be slow.
                    let read = tokio::task::spawn_blocking(move || {
                        let read = self.read();
                        (self, read)
                    });
                    let Ok((this, read)) = read.await else {
                        return;
                    };
                    self = this;
                    self.take(&changed, read, &gateway);
                    match watching.follow(&self.files) {
                        Ok(true) => continue,
                        Ok(false) => {}
                        // What is not there is told of where it is read.
                        Err(error) => tracing::debug!(%error, "a folder cannot be watched"),
                    }
                }
                if hears.recv().await.is_none() {
                    return;
                }
                tokio::time::sleep(SETTLE).await;
                while hears.try_recv().is_ok() {}
            }
        });
        Ok(())
    }

    fn take(
        &mut self,
        changed: &Path,
        read: Result<Vec<Served>, Failure>,
        gateway: &GatewayHandle,
    ) {
        let file = ui::path(changed);
        match read {
            Ok(served) => {
                let changes = changes(&self.served, &served);
                self.served = served;
                if changes.is_empty() {
                    return;
                }
                ui::say(&format!("{file} has changed: {}\n", changes.join("; ")));
                gateway.replace(self.upstreams());
            }
            Err(failure) => {
                let hint = failure.remedy().map(|hint| format!(" ({hint})"));
                let why = format!("{}{}", failure.message(), hint.unwrap_or_default());
                let said = format!(
                    "{file} has changed and is not taken, what was served is served on: {why}\n"
                );
                ui::say(&secrets::hidden(&said));
            }
        }
    }
}

/// Does the connection to it stay?
fn is_same_connection(old: &Entry<Expanded>, new: &Entry<Expanded>) -> bool {
    let said = |entry: &Entry<Expanded>| {
        let it = &entry.settings;
        (it.timeout, it.era, it.sessions, it.max_sessions)
    };
    old.way == new.way && said(old) == said(new)
}

/// What differs, in words without values: these may be secrets.
fn changes(old: &[Served], new: &[Served]) -> Vec<String> {
    let find = |all: &'_ [Served], name: &str| all.iter().position(|it| it.entry.name == name);
    let mut said = Vec::new();
    for served in new {
        let name = &served.entry.name;
        let Some(before) = find(old, name).map(|at| &old[at].entry) else {
            said.push(format!("{name} is added"));
            continue;
        };
        let fields = differing(before, &served.entry);
        if fields.is_empty() {
            continue;
        }
        let anew = match (is_same_connection(before, &served.entry), &served.entry.way) {
            (true, _) => "",
            (false, Way::Command(_)) => ", and it is started anew",
            (false, Way::Url(_)) => ", and it is connected to anew",
        };
        said.push(format!("{name} has other {}{anew}", fields.join(", ")));
    }
    for served in old {
        let name = &served.entry.name;
        if find(new, name).is_none() {
            said.push(format!("{name} is gone"));
        }
    }
    if said.is_empty()
        && !old
            .iter()
            .map(|it| &it.entry.name)
            .eq(new.iter().map(|it| &it.entry.name))
    {
        said.push("the servers have another order".to_owned());
    }
    said
}

/// The fields that differ.
fn differing(old: &Entry<Expanded>, new: &Entry<Expanded>) -> Vec<String> {
    let fields = |entry: &Entry<Expanded>| {
        let mut fields: Vec<(String, String)> = Vec::new();
        let _ = entry.clone().try_map(|field, it| {
            let field = field.split('[').next().unwrap_or(field);
            fields.push((field.to_owned(), it.text));
            Ok::<_, ()>(())
        });
        let settings = entry.settings.written().into_iter();
        fields.extend(settings.map(|(field, value)| (field, value.to_string())));
        fields
    };
    let (old, new) = (fields(old), fields(new));
    let mut names: Vec<String> = Vec::new();
    for (name, _) in new.iter().chain(&old) {
        let of = |all: &[(String, String)]| -> Vec<String> {
            let its = all.iter().filter(|(known, _)| known == name);
            its.map(|(_, text)| text.clone()).collect()
        };
        if of(&old) != of(&new) && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
