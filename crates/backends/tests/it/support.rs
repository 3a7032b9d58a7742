//! A folder made for one test, and short ways to call the operations on it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use polyport_backends::files::{FilesError, Folders, Limits, ops, ops::ToText};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tempfile::TempDir;

/// A working folder `notes` inside a temporary one, which also holds `secret.txt` and `notes2` beside it.
pub(crate) struct Fixture {
    pub(crate) outside: TempDir,
    pub(crate) folders: Folders,
}

/// Makes files with contents; a name that ends with `/` is an empty directory.
pub(crate) fn fixture<C: AsRef<[u8]>>(files: &[(&str, C)]) -> Fixture {
    let outside = TempDir::with_prefix("polyport ü").unwrap();
    let root = outside.path().join("notes");
    fs::create_dir(&root).unwrap();
    fs::write(outside.path().join("secret.txt"), "secret").unwrap();
    fs::create_dir(outside.path().join("notes2")).unwrap();
    fs::write(outside.path().join("notes2/secret.txt"), "secret").unwrap();
    fill(&root, files);
    let folders = Folders::open([&root]).unwrap();
    Fixture { outside, folders }
}

pub(crate) fn fill<C: AsRef<[u8]>>(root: &Path, files: &[(&str, C)]) {
    for (name, content) in files {
        let path = root.join(name);
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }
}

impl Fixture {
    pub(crate) fn root(&self) -> PathBuf {
        fs::canonicalize(self.outside.path()).unwrap().join("notes")
    }

    pub(crate) fn limited(mut self, limits: Limits) -> Self {
        self.folders = self.folders.with_limits(limits);
        self
    }

    /// Another folder beside `notes`, and both of them served.
    pub(crate) fn with_other<C: AsRef<[u8]>>(mut self, files: &[(&str, C)]) -> Self {
        let other = self.outside.path().join("other");
        fs::create_dir_all(&other).unwrap();
        fill(&other, files);
        self.folders = Folders::open([self.root(), other]).unwrap();
        self
    }

    /// What is in `notes`, the trash left out.
    pub(crate) fn inside(&self) -> Disk {
        let is_trash = |path: &String| path.starts_with(".polyport-trash");
        let mut disk = disk(&self.root());
        disk.retain(|path, _| !is_trash(path));
        disk
    }

    /// What is beside `notes`.
    pub(crate) fn around(&self) -> Disk {
        let mut disk = disk(self.outside.path());
        disk.retain(|path, _| !path.starts_with("notes/"));
        disk
    }

    /// What the trash of `notes` keeps, by the paths it had, the oldest first.
    pub(crate) fn trash(&self) -> Vec<(String, String)> {
        let all = disk(&self.root().join(".polyport-trash"));
        let files = all.into_iter().filter_map(|(path, what)| match what {
            Entry::File(text) => Some((path.split_once('/')?.1.to_owned(), text)),
            _ => None,
        });
        files.collect()
    }

    /// The text answer of an operation, or its error as text.
    pub(crate) fn text(&self, name: &str, args: Value) -> String {
        match self.answer(name, args, &never) {
            Ok((text, _)) => text,
            Err(error) => format!("Error: {error}"),
        }
    }

    /// The structured answer.
    pub(crate) fn json(&self, name: &str, args: Value) -> Value {
        self.answer(name, args, &never).unwrap().1
    }

    pub(crate) fn error(&self, name: &str, args: Value) -> FilesError {
        self.answer(name, args, &never).unwrap_err()
    }

    /// Calls an operation by its name.
    pub(crate) fn answer(
        &self,
        name: &str,
        args: Value,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(String, Value), FilesError> {
        let folders = &self.folders;
        match name {
            "copy_file" => both(&ops::copy_file(folders, &parse(args), cancelled)?),
            "create_directory" => both(&ops::create_directory(folders, &parse(args), cancelled)?),
            "delete_file" => both(&ops::delete_file(folders, &parse(args), cancelled)?),
            "directory_tree" => both(&ops::directory_tree(folders, &parse(args), cancelled)?),
            "edit_file" => both(&ops::edit_file(folders, &parse(args), cancelled)?),
            "get_file_info" => both(&ops::get_file_info(folders, &parse(args), cancelled)?),
            "list_allowed_directories" => both(&ops::list_allowed_directories(folders)),
            "list_directory" => both(&ops::list_directory(folders, &parse(args), cancelled)?),
            "move_file" => both(&ops::move_file(folders, &parse(args), cancelled)?),
            "read_media_file" => both(&ops::read_media_file(folders, &parse(args), cancelled)?),
            "read_multiple_files" => {
                both(&ops::read_multiple_files(folders, &parse(args), cancelled)?)
            }
            "read_text_file" => both(&ops::read_text_file(folders, &parse(args), cancelled)?),
            "search_contents" => both(&ops::search_contents(folders, &parse(args), cancelled)?),
            "search_files" => both(&ops::search_files(folders, &parse(args), cancelled)?),
            "write_file" => both(&ops::write_file(folders, &parse(args), cancelled)?),
            _ => panic!("no operation {name}"),
        }
    }
}

/// Files, directories and links by their paths from some directory.
pub(crate) type Disk = BTreeMap<String, Entry>;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Entry {
    Directory,
    File(String),
    /// What it points to.
    Link(String),
    Other,
}

/// All that is below a directory.
pub(crate) fn disk(root: &Path) -> Disk {
    let mut found = Disk::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap().file_type();
            let what = if kind.is_dir() {
                open.push(path.clone());
                Entry::Directory
            } else if kind.is_symlink() {
                Entry::Link(fs::read_link(&path).unwrap().display().to_string())
            } else if kind.is_file() {
                Entry::File(String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned())
            } else {
                Entry::Other
            };
            let below = path.strip_prefix(root).unwrap().display().to_string();
            found.insert(below, what);
        }
    }
    found
}

/// Operations that change something, each with arguments that work on the files of [`workshop`].
pub(crate) fn writing() -> Vec<(&'static str, Value)> {
    use serde_json::json;
    vec![
        ("write_file", json!({ "path": "new.txt", "content": "new" })),
        ("write_file", json!({ "path": "a.txt", "content": "anew" })),
        (
            "edit_file",
            json!({ "path": "a.txt", "edits": [{ "oldText": "alpha", "newText": "beta" }] }),
        ),
        ("create_directory", json!({ "path": "x/y/z" })),
        (
            "move_file",
            json!({ "source": "a.txt", "destination": "b.txt" }),
        ),
        (
            "move_file",
            json!({ "source": "sub", "destination": "moved" }),
        ),
        (
            "copy_file",
            json!({ "source": "a.txt", "destination": "b.txt" }),
        ),
        (
            "copy_file",
            json!({ "source": "sub", "destination": "copy" }),
        ),
        ("delete_file", json!({ "path": "a.txt" })),
        ("delete_file", json!({ "path": "sub" })),
    ]
}

/// A few files to be changed.
pub(crate) fn workshop() -> Fixture {
    fixture(&[
        ("a.txt", "alpha\n"),
        ("sub/one.txt", "1"),
        ("sub/deep/two.txt", "2"),
        ("sub/empty/", ""),
    ])
}

/// Operations that take one path to a file or directory.
pub(crate) const BY_PATH: &[&str] = &[
    "directory_tree",
    "get_file_info",
    "list_directory",
    "read_media_file",
    "read_text_file",
    "search_contents",
    "search_files",
];

/// Arguments for an operation of [`BY_PATH`].
pub(crate) fn at(operation: &str, path: &str) -> Value {
    let mut args = serde_json::json!({ "path": path });
    if operation.starts_with("search") {
        args["pattern"] = "secret".into();
    }
    args
}

pub(crate) fn never() -> bool {
    false
}

fn parse<T: DeserializeOwned>(args: Value) -> T {
    serde_json::from_value(args).unwrap()
}

fn both<T: ToText + serde::Serialize>(result: &T) -> Result<(String, Value), FilesError> {
    Ok((result.to_text(), serde_json::to_value(result).unwrap()))
}
