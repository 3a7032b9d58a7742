//! A folder made for one test, and short ways to call the operations on it.

use std::{
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
            "directory_tree" => both(&ops::directory_tree(folders, &parse(args), cancelled)?),
            "get_file_info" => both(&ops::get_file_info(folders, &parse(args), cancelled)?),
            "list_allowed_directories" => both(&ops::list_allowed_directories(folders)),
            "list_directory" => both(&ops::list_directory(folders, &parse(args), cancelled)?),
            "read_media_file" => both(&ops::read_media_file(folders, &parse(args), cancelled)?),
            "read_multiple_files" => {
                both(&ops::read_multiple_files(folders, &parse(args), cancelled)?)
            }
            "read_text_file" => both(&ops::read_text_file(folders, &parse(args), cancelled)?),
            "search_contents" => both(&ops::search_contents(folders, &parse(args), cancelled)?),
            "search_files" => both(&ops::search_files(folders, &parse(args), cancelled)?),
            _ => panic!("no operation {name}"),
        }
    }
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
