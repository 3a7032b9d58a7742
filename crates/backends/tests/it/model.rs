//! Random calls against a file system in memory: both agree after every call, and nothing outside the folders changes.

use std::collections::BTreeMap;

use polyport_backends::files::FilesError;
use proptest::{collection, prelude::*, sample::select, test_runner::Config};
use serde_json::{Value, json};

use crate::support::{Disk, Entry, Fixture, disk, fixture, never};

/// One call.
#[derive(Clone, Debug)]
enum Call {
    Write(String, String),
    Edit(String, &'static str, &'static str, bool),
    Make(String),
    Move(String, String),
    Copy(String, String),
    Delete(String),
    Read(String),
}

/// Files and directories by their paths, which begin with the name of a folder.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Model {
    nodes: BTreeMap<String, Option<String>>,
    deleted: usize,
}

impl Call {
    /// Whether all paths lead to where something may be; everything else is refused whatever there is.
    fn is_plain(&self) -> bool {
        let plain = |path: &String| {
            let mut parts = path.split('/');
            matches!(parts.next(), Some("notes" | "other"))
                && parts.all(|part| ["a", "b", "c"].contains(&part))
        };
        match self {
            Self::Write(path, _)
            | Self::Edit(path, ..)
            | Self::Make(path)
            | Self::Delete(path)
            | Self::Read(path) => plain(path),
            Self::Copy(from, to) | Self::Move(from, to) => plain(from) && plain(to),
        }
    }
}

impl Model {
    fn new() -> Self {
        let folders = ["notes", "other"].map(|name| (name.to_owned(), None));
        Self {
            nodes: folders.into(),
            deleted: 0,
        }
    }

    fn is_dir(&self, path: &str) -> bool {
        self.nodes.get(path) == Some(&None)
    }

    fn has_place(&self, path: &str) -> bool {
        path.rsplit_once('/')
            .is_some_and(|(above, _)| self.is_dir(above))
    }

    /// What lies at a path and below it.
    fn below(&self, path: &str) -> Vec<(String, Option<String>)> {
        let inside = format!("{path}/");
        let found = self
            .nodes
            .iter()
            .filter(|(at, _)| **at == path || at.starts_with(&inside));
        found.map(|(at, what)| (at.clone(), what.clone())).collect()
    }

    /// Whether something may go from one path to the other.
    fn may_go(&self, from: &str, to: &str) -> bool {
        from.contains('/')
            && self.nodes.contains_key(from)
            && !self.nodes.contains_key(to)
            && self.has_place(to)
            && !to.starts_with(&format!("{from}/"))
    }

    /// Makes the call; its answer where it has one, nothing if it is refused.
    fn make(&mut self, call: &Call) -> Option<String> {
        if !call.is_plain() {
            return None;
        }
        match call {
            Call::Write(path, text) => {
                if !self.has_place(path) || self.is_dir(path) {
                    return None;
                }
                self.nodes.insert(path.clone(), Some(text.clone()));
            }
            Call::Edit(path, old, new, all) => {
                let text = self.nodes.get(path)?.clone()?;
                let starts = text.as_bytes().windows(old.len());
                let count = starts.filter(|piece| *piece == old.as_bytes()).count();
                if count == 0 || count > 1 && !all {
                    return None;
                }
                self.nodes
                    .insert(path.clone(), Some(text.replace(old, new)));
            }
            Call::Make(path) => {
                let ends = path.match_indices('/').map(|(at, _)| at);
                let all: Vec<_> = ends.chain([path.len()]).map(|end| &path[..end]).collect();
                if all
                    .iter()
                    .any(|at| matches!(self.nodes.get(*at), Some(Some(_))))
                {
                    return None;
                }
                let new = all.iter().map(|at| ((*at).to_owned(), None));
                self.nodes.extend(new);
            }
            Call::Copy(from, to) | Call::Move(from, to) => {
                if !self.may_go(from, to) {
                    return None;
                }
                for (at, what) in self.below(from) {
                    if matches!(call, Call::Move(..)) {
                        self.nodes.remove(&at);
                    }
                    self.nodes
                        .insert(format!("{to}{}", &at[from.len()..]), what);
                }
            }
            Call::Delete(path) => {
                if !path.contains('/') || !self.nodes.contains_key(path) {
                    return None;
                }
                for (at, _) in self.below(path) {
                    self.nodes.remove(&at);
                }
                self.deleted += 1;
            }
            Call::Read(path) => return self.nodes.get(path)?.clone(),
        }
        Some(String::new())
    }
}

fn send(notes: &Fixture, call: &Call) -> Result<Value, FilesError> {
    let (tool, args) = match call {
        Call::Write(path, text) => ("write_file", json!({ "path": path, "content": text })),
        Call::Edit(path, old, new, all) => (
            "edit_file",
            json!({ "path": path, "edits": [{ "oldText": old, "newText": new, "replaceAll": all }] }),
        ),
        Call::Make(path) => ("create_directory", json!({ "path": path })),
        Call::Move(from, to) => ("move_file", json!({ "source": from, "destination": to })),
        Call::Copy(from, to) => ("copy_file", json!({ "source": from, "destination": to })),
        Call::Delete(path) => ("delete_file", json!({ "path": path })),
        Call::Read(path) => ("read_text_file", json!({ "path": path })),
    };
    notes.answer(tool, args, &never).map(|(_, value)| value)
}

/// Both folders as the model has them, and how many deletions their trashes keep.
fn on_disk(notes: &Fixture) -> Model {
    let mut model = Model::new();
    for (path, what) in disk(notes.outside.path()) {
        let Some((folder, below)) = path.split_once('/') else {
            continue;
        };
        if folder == "notes2" {
            continue;
        }
        match below.strip_prefix(".polyport-trash") {
            Some(rest) => {
                let is_deletion = rest.matches('/').count() == 1 && what == Entry::Directory;
                model.deleted += usize::from(is_deletion);
            }
            None => {
                let text = match what {
                    Entry::File(text) => Some(text),
                    Entry::Directory => None,
                    // The trap.
                    Entry::Link(_) | Entry::Other => continue,
                };
                model.nodes.insert(path, text);
            }
        }
    }
    model
}

fn outside(notes: &Fixture) -> Disk {
    let mut all = disk(notes.outside.path());
    all.retain(|path, _| !path.starts_with("notes/") && !path.starts_with("other/"));
    all
}

fn path() -> impl Strategy<Value = String> {
    let name = || select(vec!["a", "b", "c"]);
    let below = collection::vec(name(), 0..4);
    let plain = (select(vec!["notes", "other"]), below).prop_map(|(folder, below)| {
        let parts: Vec<_> = [folder].into_iter().chain(below).collect();
        parts.join("/")
    });
    let evil = select(vec![
        "notes/../secret.txt",
        "notes/a/../../notes2/secret.txt",
        "notes/trap/secret.txt",
        "other/trap/new",
        "notes/.git/config",
        "notes/a/.git",
        "other/.polyport-trash/a",
        "notes/.polyport-new-1-1",
        "secret.txt",
        "notes2/secret.txt",
        "../x",
        "/etc/hostname",
        "notes/a\0",
        "notes/ ",
        "",
    ]);
    prop_oneof![12 => plain, 1 => evil.prop_map(str::to_owned)]
}

fn call() -> impl Strategy<Value = Call> {
    let text = collection::vec(select(vec!["x", "y", "z\n", "é"]), 0..6);
    let piece = || select(vec!["x", "y", "xy", "z\n", "é", "xx"]);
    prop_oneof![
        4 => (path(), text).prop_map(|(path, text)| Call::Write(path, text.concat())),
        2 => (path(), piece(), piece(), any::<bool>())
            .prop_filter("an edit that is one", |(_, old, new, _)| old != new)
            .prop_map(|(path, old, new, all)| Call::Edit(path, old, new, all)),
        4 => path().prop_map(Call::Make),
        3 => (path(), path()).prop_map(|(from, to)| Call::Move(from, to)),
        2 => (path(), path()).prop_map(|(from, to)| Call::Copy(from, to)),
        2 => path().prop_map(Call::Delete),
        1 => path().prop_map(Call::Read),
    ]
}

proptest! {
    #![proptest_config(Config { cases: 64, failure_persistence: None, ..Config::default() })]

    #[test]
    fn random_calls_do_what_a_file_system_in_memory_does(calls in collection::vec(call(), 1..40)) {
        let notes = fixture::<&str>(&[]).with_other::<&str>(&[]);
        #[cfg(unix)]
        for folder in ["notes", "other"] {
            let trap = notes.outside.path().join(folder).join("trap");
            std::os::unix::fs::symlink("../notes2", trap).unwrap();
        }
        let before = outside(&notes);
        let mut model = Model::new();
        for call in &calls {
            let want = model.make(call);
            let got = send(&notes, call);
            prop_assert_eq!(want.is_some(), got.is_ok(), "{:?}: {:?}", call, got);
            if let (Call::Read(_), Some(want), Ok(got)) = (call, want, &got) {
                prop_assert_eq!(&got["content"], &json!(want));
            }
            let is_plain = !matches!(got, Err(FilesError::Failed { .. }));
            prop_assert!(is_plain, "{:?}: {:?}", call, got);
            prop_assert_eq!(&on_disk(&notes), &model, "{:?}", call);
        }
        prop_assert_eq!(outside(&notes), before);
    }
}
