//! How a change is taken back to the byte: what was put where, and what stood there before. Kept beside our other state, one
//! file for each entry that was installed.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::edit::Spot;
use crate::write::Change;

/// A shorter piece may stand anywhere.
const PIECE: usize = 12;

/// What was changed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Record {
    /// The file.
    file: String,
    /// Was there no file?
    created: bool,
    /// The folders that were made for it, the innermost first.
    pub(crate) folders: Vec<PathBuf>,
    /// Where.
    at: usize,
    /// What stood there.
    removed: String,
    /// What stands there.
    inserted: String,
    /// How long the whole text is.
    length: usize,
}

impl Record {
    /// The change from one text to another.
    pub fn of(file: &Path, before: Option<&str>, after: &str) -> Self {
        let old = before.unwrap_or_default();
        let mut at = old
            .bytes()
            .zip(after.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        while !old.is_char_boundary(at) || !after.is_char_boundary(at) {
            at -= 1;
        }
        let mut same = old[at..]
            .bytes()
            .rev()
            .zip(after[at..].bytes().rev())
            .take_while(|(a, b)| a == b)
            .count();
        while !old.is_char_boundary(old.len() - same) || !after.is_char_boundary(after.len() - same)
        {
            same -= 1;
        }
        Self {
            file: file.display().to_string(),
            created: before.is_none(),
            folders: Vec::new(),
            at,
            removed: old[at..old.len() - same].to_owned(),
            inserted: after[at..after.len() - same].to_owned(),
            length: after.len(),
        }
    }

    /// The text as it was, if what was put there can still be found. `None` inside: there was no file.
    pub fn back(&self, text: &str, spot: &Spot) -> Option<Option<String>> {
        let is_here = text.len() == self.length
            && text
                .get(self.at..)
                .is_some_and(|rest| rest.starts_with(&self.inserted));
        let at = if is_here {
            self.at
        } else {
            if self.inserted.len() < PIECE {
                return None;
            }
            let mut found = text.match_indices(&self.inserted).map(|(at, _)| at);
            let only = found.next()?;
            if found.next().is_some() {
                return None;
            }
            only
        };
        let mut back = text.to_owned();
        back.replace_range(at..at + self.inserted.len(), &self.removed);
        if self.created && back.trim().is_empty() {
            return Some(None);
        }
        // Nothing but the entry may change.
        let (was, is) = (spot.value(text)?, spot.value(&back)?);
        let is_gone = spot.get(&back).ok()? != spot.get(text).ok()?;
        (is_gone && spot.without(was) == spot.without(is)).then_some(Some(back))
    }

    fn json(&self) -> Json {
        let folders: Vec<String> = self
            .folders
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        json!({
            "file": self.file, "created": self.created, "folders": folders, "at": self.at,
            "removed": self.removed, "inserted": self.inserted, "length": self.length,
        })
    }

    fn read(text: &str) -> Option<Self> {
        let json: Json = serde_json::from_str(text).ok()?;
        let string = |name: &str| json[name].as_str().map(str::to_owned);
        let number = |name: &str| usize::try_from(json[name].as_u64()?).ok();
        Some(Self {
            file: string("file")?,
            created: json["created"].as_bool()?,
            folders: json["folders"]
                .as_array()?
                .iter()
                .filter_map(|folder| folder.as_str().map(PathBuf::from))
                .collect(),
            at: number("at")?,
            removed: string("removed")?,
            inserted: string("inserted")?,
            length: number("length")?,
        })
    }
}

/// Where records are kept.
#[derive(Clone, Debug)]
pub(crate) struct Records(PathBuf);

impl Records {
    pub(crate) fn in_folder(state: &Path) -> Self {
        Self(state.join("installed"))
    }

    /// The record of an entry, if there is one.
    pub(crate) fn find(&self, file: &Path, spot: &Spot) -> Option<Record> {
        let text = fs::read_to_string(self.path(file, spot)).ok()?;
        Record::read(&text).filter(|record| record.file == file.display().to_string())
    }

    /// Keeps one. What cannot be kept costs no more than the last byte of an undo.
    pub(crate) fn keep(&self, file: &Path, spot: &Spot, record: &Record) {
        let path = self.path(file, spot);
        let before = fs::read_to_string(&path).ok();
        let text = record.json().to_string();
        let change = Change {
            file: &path,
            before: before.as_deref(),
            after: Some(&text),
            private: true,
        };
        let _ = change.make();
    }

    pub(crate) fn forget(&self, file: &Path, spot: &Spot) {
        let _ = fs::remove_file(self.path(file, spot));
    }

    fn path(&self, file: &Path, spot: &Spot) -> PathBuf {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let file = file.display().to_string();
        let texts = [&file].into_iter().chain(&spot.keys).chain([&spot.name]);
        // FNV-1a, with a zero after each text.
        for text in texts {
            for byte in text.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        self.0.join(format!("{hash:016x}.json"))
    }
}
