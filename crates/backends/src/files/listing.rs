//! The entries of one directory in order of name, in bounded memory however many there are.

use std::{
    borrow::Cow,
    collections::BinaryHeap,
    ffi::{OsStr, OsString},
    ops::Bound,
};

use cap_std::fs::{FileType, Metadata};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::{FilesError, names, pace::Pace, place::Place};

/// What an entry is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// An ordinary file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Other,
}

impl Kind {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self::of_type(metadata.file_type())
    }

    fn of_type(found: FileType) -> Self {
        if found.is_dir() {
            Self::Directory
        } else if found.is_symlink() {
            Self::Link
        } else if found.is_file() {
            Self::File
        } else {
            Self::Other
        }
    }
}

impl JsonSchema for Kind {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Kind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": ["file", "directory", "link", "other"] })
    }
}

/// An entry by its name in the directory.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
}

/// The first entries of a directory, by name.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<Entry>,
    /// Entries that would have come after these.
    pub(crate) left: usize,
    /// False when the time was up before all names were read: an entry in between may be missing.
    pub(crate) whole: bool,
}

/// The first `most` entries from `from` on that `keep` wants. Reads all names and holds `most` of them, so the answer is
/// the same whatever order the disk gives.
pub(crate) fn list(
    place: &Place<'_>,
    from: Bound<&OsStr>,
    most: usize,
    keep: &dyn Fn(&Entry) -> bool,
    pace: &Pace<'_>,
) -> Result<Listing, FilesError> {
    let mut smallest = BinaryHeap::new();
    let mut listing = Listing {
        whole: true,
        ..Listing::default()
    };
    for entry in place.read_dir()? {
        if !pace.go_on()? {
            listing.whole = false;
            break;
        }
        let entry = entry.map_err(|error| place.fault(error))?;
        let name = entry.file_name();
        let is_before = match from {
            Bound::Unbounded => false,
            Bound::Included(from) => name.as_os_str() < from,
            Bound::Excluded(from) => name.as_os_str() <= from,
        };
        if is_before || names::is_ours(&name) {
            continue;
        }
        // An entry that vanished in between is one that is not there.
        let Ok(kind) = entry.file_type().map(Kind::of_type) else {
            continue;
        };
        let kind = if kind == Kind::Other {
            looked_up(place, &name).unwrap_or(kind)
        } else {
            kind
        };
        let entry = Entry { name, kind };
        if !keep(&entry) {
            continue;
        }
        smallest.push(entry);
        if smallest.len() > most {
            smallest.pop();
            listing.left += 1;
        }
    }
    listing.entries = smallest.into_sorted_vec();
    Ok(listing)
}

/// Some disks do not tell the kind with the name.
fn looked_up(place: &Place<'_>, name: &OsStr) -> Option<Kind> {
    place
        .join(name)
        .link_metadata()
        .ok()
        .map(|metadata| Kind::of(&metadata))
}
