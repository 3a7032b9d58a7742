//! What can be served of what the command line may name: the built-in server, and folders.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use polyport_config::Word;

use crate::failure::Failure;
use crate::ui;

/// A back-end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Target {
    /// The built-in server.
    Demo,
    /// A folder.
    Folder {
        /// As it was named.
        named: PathBuf,
        /// Where it really is.
        path: PathBuf,
    },
}

impl Target {
    /// Reads one word.
    ///
    /// # Errors
    /// It is nothing that can be served.
    pub(crate) fn parse(word: &OsStr) -> Result<Self, Failure> {
        let shown = ui::path(Path::new(word));
        let only = "name a folder, or demo for the built-in server";
        match Word::read(word) {
            Ok(Word::Demo) => Ok(Self::Demo),
            Ok(Word::Folder(_) | Word::Name(_)) => Self::folder_at(word),
            Ok(Word::Kind { .. }) if Path::new(word).is_dir() => Self::folder_at(word),
            Ok(Word::Url(_) | Word::File { .. } | Word::Host { .. } | Word::Kind { .. }) => {
                Err(Failure::usage(format!("cannot serve {shown}")).hint(only))
            }
            Err(misfit) => Err(Failure::usage(misfit.why).hint(only)),
        }
    }

    /// The folder at this path.
    ///
    /// # Errors
    /// It is no folder that can be looked at.
    pub(crate) fn folder_at(path: &OsStr) -> Result<Self, Failure> {
        let named = Path::new(path);
        let shown = ui::path(named);
        match std::fs::canonicalize(named) {
            Ok(path) if path.is_dir() => Ok(Self::Folder {
                named: named.to_owned(),
                path,
            }),
            Ok(_) => {
                let is_configuration = ["json", "jsonc", "toml"]
                    .iter()
                    .any(|end| named.extension().is_some_and(|it| it == *end));
                let hint = if is_configuration {
                    format!("a server that it configures is named {shown}:NAME")
                } else {
                    let folder = ui::path(parent(named));
                    format!("name the folder that holds it: {folder}")
                };
                Err(Failure::usage(format!("{shown} is not a folder")).hint(hint))
            }
            Err(error) => Err(absent(&shown, &error)),
        }
    }

    /// Is it the same thing, however it was named?
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Folder { path, .. }, Self::Folder { path: other, .. }) => path == other,
            _ => self == other,
        }
    }

    /// The folder, if it is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder { named, .. } => Some(named),
            Self::Demo => None,
        }
    }

    /// The word that means it in whatever folder a host starts us.
    pub(crate) fn word(&self) -> String {
        match self {
            Self::Folder { path, .. } => path.display().to_string(),
            Self::Demo => "demo".to_owned(),
        }
    }

    /// A name for it; empty where it has none.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Folder { path, .. } => path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            Self::Demo => "demo".to_owned(),
        }
    }
}

fn absent(shown: &str, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::PermissionDenied => Failure::usage(format!("no permission to look at {shown}"))
            .hint("give this user the right to pass the folders above it, or name another folder"),
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            Failure::usage(format!("no such folder: {shown}"))
                .hint("name a folder, or demo for the built-in server")
        }
        _ => Failure::usage(format!("{shown} is no folder that can be opened: {error}")),
    }
}

/// A folder that is there and may not be read.
pub(crate) fn no_permission(shown: &str) -> Failure {
    Failure::usage(format!("no permission to read the folder {shown}"))
        .hint("give this user the right to read it, or name another folder")
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
