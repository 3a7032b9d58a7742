//! `list_allowed_directories`: which folders there are and how to write paths.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{Folders, uri},
    ToText,
};

/// Lists the working folders: the only places whose files can be reached.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAllowedDirectories {}

/// The working folders.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListAllowedDirectoriesResult {
    /// The folders, in the operator's order.
    pub directories: Vec<AllowedDirectory>,
    /// How paths are written.
    pub usage: String,
}

/// One working folder.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AllowedDirectory {
    /// Its name, with which paths start when there are several folders.
    pub name: String,
    /// Its absolute path.
    pub path: String,
    /// Its `file://` URI.
    pub uri: String,
}

/// Lists the working folders.
pub fn list_allowed_directories(folders: &Folders) -> ListAllowedDirectoriesResult {
    let describe = |folder: &super::super::Folder| AllowedDirectory {
        name: folder.name().to_owned(),
        path: folder.path().display().to_string(),
        uri: uri::from_path(folder.path()),
    };
    let usage = match folders.iter().len() {
        0 => folders.missing(".").to_string(),
        1 => "Paths are relative to the folder, absolute inside it, or file:// URIs.".into(),
        _ => "Paths start with the name of a folder, are absolute inside one, or are file:// URIs."
            .into(),
    };
    ListAllowedDirectoriesResult {
        directories: folders.iter().map(describe).collect(),
        usage,
    }
}

impl ToText for ListAllowedDirectoriesResult {
    fn to_text(&self) -> String {
        let mut text = String::new();
        for directory in &self.directories {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{}  {}", directory.name, directory.path);
        }
        text + &self.usage
    }
}
