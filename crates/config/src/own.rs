//! The configuration of Polyport itself: where it stands, and what may stand in it, to the letter.
//!
//! ```toml
//! [servers.github]
//! command = "npx"
//! args = ["-y", "@modelcontextprotocol/server-github"]
//! env = { GITHUB_TOKEN = "${GITHUB_TOKEN}" }
//!
//! [servers.github.tools]
//! deny = ["delete_*"]
//!
//! [servers.docs]
//! url = "https://mcp.example.com/mcp"
//! headers = { Authorization = "Bearer ${DOCS_TOKEN}" }
//! timeout = 20
//! ```

use std::path::{Path, PathBuf};

use crate::places::Places;

/// The name of the file.
pub const NAME: &str = "polyport.toml";
/// The same in JSON.
const JSON: &str = "polyport.json";

/// What may stand in it, as a JSON Schema.
pub const SCHEMA: &str = include_str!("polyport.schema.json");

/// Folders above the project that are looked into.
const UP: usize = 64;

/// Where the file may be, the nearest first: in the project and the folders above it, then where programs keep their configuration.
pub fn candidates(places: &Places) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = above(&places.project).map(|at| at.join(NAME)).collect();
    if let Some(config) = &places.config {
        all.push(config.join("polyport").join(NAME));
    }
    all
}

/// The files that are there: the nearest of the project's, then the user's.
pub fn files(places: &Places) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some(near) = above(&places.project)
        .map(|at| at.join(NAME))
        .find(|file| file.is_file())
    {
        found.push(near);
    }
    let user = places
        .config
        .as_ref()
        .map(|config| config.join("polyport").join(NAME));
    found.extend(user.filter(|file| file.is_file() && !found.contains(file)));
    found
}

/// A folder and those above it. One that somebody else could have put a file into ends the way.
pub(crate) fn above(folder: &Path) -> impl Iterator<Item = &Path> {
    folder
        .ancestors()
        .take(UP)
        .enumerate()
        .take_while(|(i, at)| *i == 0 || is_ours(at))
        .map(|(_, at)| at)
}

/// Does nobody but this user and root write to it?
#[cfg(unix)]
fn is_ours(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(about) = std::fs::metadata(folder) else {
        return false;
    };
    let user = rustix::process::geteuid().as_raw();
    (about.uid() == user || about.uid() == 0) && about.mode() & 0o002 == 0
}

#[cfg(not(unix))]
fn is_ours(_folder: &Path) -> bool {
    true
}

/// Is a file ours by its name alone?
pub(crate) fn is_named(file: &Path) -> bool {
    file.file_name()
        .is_some_and(|name| name == NAME || name == JSON)
}
