//! `list_directory`: what one directory holds, with sizes.

use std::{ffi::OsString, fmt::Write as _, ops::Bound};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        FilesError, Folders, Kind, args, listing, pace::Pace, place::Place, show, spot::Spot, uri,
    },
    ToText, with_notes,
};

/// Lists what a directory holds, hidden entries too: names in order, sizes of files; directories end with `/`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ListDirectory {
    /// The directory; everything if left out.
    #[serde(default = "args::everything")]
    pub path: String,
    /// Go on after this entry, when an answer was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub after: Option<String>,
}

/// What the directory holds.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListDirectoryResult {
    /// The directory.
    pub path: String,
    /// Its entries, by name.
    pub entries: Vec<DirectoryEntry>,
    /// What is not in the answer, and how to get it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An entry of a directory.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryEntry {
    /// Its name; a `file://` URI, to be used as a path, if the name is no plain text.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What a link leads to; left out if that is nothing that can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Kind>,
    /// Bytes of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// Lists a directory.
pub fn list_directory(
    folders: &Folders,
    args: &ListDirectory,
    cancelled: &dyn Fn() -> bool,
) -> Result<ListDirectoryResult, FilesError> {
    let pace = Pace::new(folders.limits(), cancelled);
    let place = match Spot::of_path(folders, &args.path)? {
        Spot::Top(folders) => return Ok(names_of(folders)),
        Spot::At(place) => place,
    };
    let after = args.after.as_deref().map(|after| name_of(folders, after));
    let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let listing = listing::list(&place, from, folders.limits().listed, &|_| true, &pace)?;
    let mut entries = Vec::with_capacity(listing.entries.len());
    let (mut is_whole, mut left) = (listing.whole, listing.left);
    let mut room = folders.limits().listed_bytes;
    for (number, entry) in listing.entries.iter().enumerate() {
        if !pace.go_on()? {
            is_whole = false;
            break;
        }
        let place = place.join(&entry.name);
        let length = place.shown_name().len();
        if number > 0 && length > room {
            left += listing.entries.len() - number;
            break;
        }
        room = room.saturating_sub(length);
        entries.extend(describe(&place, entry.kind));
    }
    let mut notes = Vec::new();
    if let (Some(last), true) = (entries.last(), left > 0) {
        let left = show::count(left, "more entry", "more entries");
        notes.push(format!(
            "{left}: go on with after={}.",
            show::quoted_whole(&last.name)
        ));
    }
    if !is_whole {
        notes.push(format!(
            "Not all entries were read within {} s.",
            folders.limits().time.as_secs()
        ));
    }
    Ok(ListDirectoryResult {
        path: place.shown(),
        entries,
        notes,
    })
}

fn describe(place: &Place<'_>, kind: Kind) -> Option<DirectoryEntry> {
    let name = place.shown_name();
    let metadata = match kind {
        Kind::File => place.link_metadata(),
        Kind::Link => place.target(),
        _ => {
            return Some(DirectoryEntry {
                name,
                kind,
                target: None,
                size: None,
            });
        }
    };
    match metadata {
        Ok(metadata) => Some(DirectoryEntry {
            name,
            kind,
            target: (kind == Kind::Link).then(|| Kind::of(&metadata)),
            size: metadata.is_file().then(|| metadata.len()),
        }),
        // A file that vanished since its name was read.
        Err(error) if kind == Kind::File && error.is_missing() => None,
        // A link that leads nowhere and one that leads outside look the same.
        Err(_) => Some(DirectoryEntry {
            name,
            kind,
            target: None,
            size: None,
        }),
    }
}

/// Above several folders: their names.
fn names_of(folders: &Folders) -> ListDirectoryResult {
    let entry = |folder: &super::super::Folder| DirectoryEntry {
        name: folder.name().to_owned(),
        kind: Kind::Directory,
        target: None,
        size: None,
    };
    ListDirectoryResult {
        path: ".".into(),
        entries: folders.iter().map(entry).collect(),
        notes: Vec::new(),
    }
}

/// An entry's name as it was shown: itself, or a URI of which the last part is the name.
fn name_of(folders: &Folders, shown: &str) -> OsString {
    if uri::is_file_uri(shown)
        && let Ok(Spot::At(place)) = Spot::of_path(folders, shown)
        && let Some(name) = place.below().file_name()
    {
        return name.to_owned();
    }
    shown.trim_end_matches('/').into()
}

impl ToText for ListDirectoryResult {
    fn to_text(&self) -> String {
        let mut text = String::new();
        for DirectoryEntry {
            name,
            kind,
            target,
            size,
        } in &self.entries
        {
            let size = size
                .map(|size| format!("  {}", show::size(size)))
                .unwrap_or_default();
            // Writing to a `String` cannot fail.
            let _ = match (kind, target) {
                (Kind::Directory, _) => writeln!(text, "{name}/"),
                (Kind::Link, Some(Kind::Directory)) => writeln!(text, "{name}/  (link)"),
                (Kind::Link, Some(_)) => writeln!(text, "{name}{size}  (link)"),
                (Kind::Link, None) => writeln!(text, "{name}  (link to nothing readable)"),
                (Kind::Other, _) => writeln!(text, "{name}  (not a file)"),
                (Kind::File, _) => writeln!(text, "{name}{size}"),
            };
        }
        if self.entries.is_empty() {
            text.push_str("(empty)\n");
        }
        with_notes(&text, &self.notes)
    }
}
