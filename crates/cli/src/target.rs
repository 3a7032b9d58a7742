//! What may stand for a back-end on the command line, read in one place.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::ui;

/// A back-end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Target {
    /// The built-in server.
    Demo,
    /// A folder, as it was named.
    Folder(PathBuf),
}

impl Target {
    /// Reads one word.
    pub(crate) fn parse(word: &str) -> Result<Self, Failure> {
        if word == "demo" {
            if Path::new(word).is_dir() {
                ui::say(
                    "note: demo is the built-in server; for the folder of that name say ./demo\n",
                );
            }
            return Ok(Self::Demo);
        }
        let path = Path::new(word);
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Ok(Self::Folder(path.to_owned())),
            Ok(_) => {
                Err(Failure::usage(format!("{word} is a file, not a folder"))
                    .hint(parent_hint(path)))
            }
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                Err(Failure::usage(format!("no permission to look at {word}"))
                    .hint("run as a user who may, or choose another folder"))
            }
            Err(_) => Err(Failure::usage(format!("no such folder: {word}"))
                .hint("name a folder, or demo for the built-in server")),
        }
    }

    /// The folder, if it is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(path) => Some(path),
            Self::Demo => None,
        }
    }
}

fn parent_hint(path: &Path) -> String {
    match path.parent().filter(|p| !p.as_os_str().is_empty()) {
        Some(parent) => format!(
            "serve the folder that holds it: polyport serve {}",
            parent.display()
        ),
        None => "serve the folder that holds it: polyport serve .".to_owned(),
    }
}
