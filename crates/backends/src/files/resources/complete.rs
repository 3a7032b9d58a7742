//! Templates for file URIs, and completion of the path in them.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fmt::Write as _,
    ops::Bound,
    path::{Path, PathBuf},
};

use polyport::percent::decode_broken;

use super::super::{
    FilesError, Folders, Kind,
    lexical::{self, Lexical, Rules},
    listing, names,
    pace::Pace,
    place::Place,
    uri,
};

/// Values in one answer; completion/complete allows no more.
const MOST: usize = 100;

/// Longest text that is completed.
const LONGEST: usize = 8 * 1024;

/// A template of URIs: one for each folder.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Template {
    /// By RFC 6570, with the variable `path`.
    pub uri_template: String,
    /// The folder's name.
    pub name: String,
}

/// What a started path can become.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Completion {
    /// Values for the variable, at most 100; directories end with `/`.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: usize,
}

impl Completion {
    /// Whether there are more values than these.
    pub fn has_more(&self) -> bool {
        self.total > self.values.len()
    }
}

/// The templates. A value for `path` may hold `/`, which is why it is `{+path}`.
pub fn templates(folders: &Folders) -> Vec<Template> {
    let template = |folder: &super::super::Folder| Template {
        uri_template: template_of(&uri::from_path(folder.path())),
        name: folder.name().to_owned(),
    };
    folders.iter().map(template).collect()
}

/// Completes `typed` as the value of `path` in one of [`templates`]. What is unknown or lies outside has no completions:
/// no error tells the two apart.
pub fn complete(
    folders: &Folders,
    uri_template: &str,
    typed: &str,
    cancelled: &dyn Fn() -> bool,
) -> Result<Completion, FilesError> {
    complete_seen(folders, folders, uri_template, typed, cancelled)
}

/// The same for who sees only some of the folders, or parts of them: in the templates of what is served, with the ways to what it sees.
pub(crate) fn complete_seen(
    served: &Folders,
    seen: &Folders,
    uri_template: &str,
    typed: &str,
    cancelled: &dyn Fn() -> bool,
) -> Result<Completion, FilesError> {
    let pace = Pace::new(served.limits(), cancelled);
    let root = served
        .iter()
        .find(|root| template_of(&uri::from_path(root.path())) == uri_template);
    let Some(root) = root.filter(|_| typed.len() <= LONGEST) else {
        return Ok(Completion::default());
    };
    let (directory, start) = typed.split_at(typed.rfind('/').map_or(0, |slash| slash + 1));
    let start = decode_broken(start);
    let Some(path) = below(directory).map(|below| root.path().join(below)) else {
        return Ok(Completion::default());
    };
    let Some(place) = place_in(seen, &path) else {
        let names = ways_down(seen, &path, &start);
        let values: Vec<_> = names
            .iter()
            .map(|name| format!("{directory}{}/", escape(name)))
            .collect();
        let total = values.len();
        return Ok(Completion {
            values: values.into_iter().take(MOST).collect(),
            total,
        });
    };
    let is_shown = !names::has_ours(place.below()) && place.expect_shown().is_ok();
    if !is_shown {
        return Ok(Completion::default());
    }
    let keep = |entry: &listing::Entry| is_wanted(&place, entry, &start);
    let listing = match listing::list(&place, Bound::Unbounded, MOST, &keep, &pace) {
        Ok(listing) => listing,
        Err(FilesError::Cancelled) => return Err(FilesError::Cancelled),
        Err(_) => return Ok(Completion::default()),
    };
    let total = listing.entries.len() + listing.left;
    let value = |entry: &listing::Entry| {
        let slash = if is_directory(&place, entry) { "/" } else { "" };
        format!("{directory}{}{slash}", escape(&entry.name))
    };
    Ok(Completion {
        values: listing.entries.iter().map(value).collect(),
        total,
    })
}

fn template_of(uri: &str) -> String {
    format!("{}/{{+path}}", uri.trim_end_matches('/'))
}

/// A typed directory as a path below the folder.
fn below(typed: &str) -> Option<PathBuf> {
    let Ok(Lexical::Relative(parts)) = lexical::parse(&decode_broken(typed), Rules::HERE) else {
        return None;
    };
    let names = parts.into_iter().map(lexical::os_name);
    names.collect()
}

/// The directory in what is seen; none where it lies above all of that, or beside it.
fn place_in<'a>(seen: &'a Folders, path: &Path) -> Option<Place<'a>> {
    let roots = Place::roots(seen).into_iter();
    let places = roots.filter_map(|root| {
        let below = path.strip_prefix(root.folder().path()).ok()?;
        Some(root.at(below))
    });
    places.min_by_key(|place| place.below().iter().count())
}

/// The names in a directory that lead to what is seen.
fn ways_down(seen: &Folders, path: &Path, start: &[u8]) -> BTreeSet<OsString> {
    let ways = seen.iter().filter_map(|folder| {
        let below = folder.path().strip_prefix(path).ok()?;
        below.iter().next().map(OsStr::to_owned)
    });
    let is_wanted = |name: &OsString| {
        let name = name.as_encoded_bytes();
        name.starts_with(start) && (start.starts_with(b".") || !name.starts_with(b"."))
    };
    ways.filter(is_wanted).collect()
}

fn is_wanted(place: &Place<'_>, entry: &listing::Entry, start: &[u8]) -> bool {
    let name = entry.name.as_encoded_bytes();
    let asks_hidden = start.starts_with(b".");
    name.starts_with(start)
        && (asks_hidden || !name.starts_with(b"."))
        && match entry.kind {
            Kind::Directory | Kind::File => true,
            Kind::Link => place.join(&entry.name).target().is_ok(),
            Kind::Other => false,
        }
}

fn is_directory(place: &Place<'_>, entry: &listing::Entry) -> bool {
    entry.kind == Kind::Directory
        || entry.kind == Kind::Link
            && place
                .join(&entry.name)
                .metadata()
                .is_ok_and(|metadata| metadata.is_dir())
}

/// RFC 6570 section 3.2.3: an expansion of `{+path}` encodes what no URI may have and leaves the rest, also what is already
/// encoded. So only what would be misread then is encoded here, and a person can read the value.
fn escape(name: &OsStr) -> String {
    let mut out = String::new();
    let Some(name) = name.to_str() else {
        uri::encode(name.as_encoded_bytes(), uri::is_path_byte, &mut out);
        return out;
    };
    for character in name.chars() {
        match character {
            '%' | '?' | '#' | '\0'..='\u{1f}' | '\u{7f}' => {
                // Writing to a `String` cannot fail.
                let _ = write!(out, "%{:02X}", u32::from(character));
            }
            plain => out.push(plain),
        }
    }
    out
}
