//! `search_files`: files and directories by a glob.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        FilesError, Folders, Kind, args,
        glob::{Pattern, Patterns},
        pace::Pace,
        show,
        spot::Spot,
        walk::{Filter, Walk},
    },
    ToText, position_after, with_notes,
};

/// Finds files and directories by a glob, such as `*.md` (a name at any depth) or `src/**/*.rs` (a path).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SearchFiles {
    /// Where to search; everywhere if left out.
    #[serde(default = "args::everything")]
    pub path: String,
    /// The glob.
    pub pattern: String,
    /// Globs of what to leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_patterns: Vec<String>,
    /// Also names that begin with a dot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_hidden: bool,
    /// Also what `.gitignore` leaves out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_ignored: bool,
    /// Go on after this path, when an answer was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub after: Option<String>,
}

/// What was found.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchFilesResult {
    /// In the order of a walk: a directory before what is in it, by name.
    pub matches: Vec<FoundPath>,
    /// What is not in the answer, and how to get it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A path that matched.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundPath {
    /// The path.
    pub path: String,
    /// What is there.
    pub kind: Kind,
}

/// Finds paths.
pub fn search_files(
    folders: &Folders,
    args: &SearchFiles,
    cancelled: &dyn Fn() -> bool,
) -> Result<SearchFilesResult, FilesError> {
    let limits = folders.limits();
    let pace = Pace::new(limits, cancelled);
    let pattern = Pattern::new("pattern", &args.pattern)?;
    let filter = Filter {
        hidden: args.include_hidden || pattern.asks_hidden(),
        ignored: args.include_ignored,
        exclude: Patterns::new("excludePatterns", &args.exclude_patterns)?,
    };
    let spot = Spot::of_path(folders, &args.path)?;
    let after = position_after(folders, &spot, args.after.as_deref())?;
    let mut walk = Walk::new(folders, spot, &filter, after, &pace);
    let mut matches: Vec<FoundPath> = Vec::new();
    let mut notes = Vec::new();
    let mut room = limits.listed_bytes;
    while let Some(found) = walk.next()? {
        if !pattern.matches(&found.from_start, found.kind) {
            continue;
        }
        let path = found.place.shown();
        if matches.len() >= limits.found || !matches.is_empty() && path.len() > room {
            let last = matches
                .last()
                .map(|last| show::quoted_whole(&last.path))
                .unwrap_or_default();
            notes.push(format!("There are more: go on with after={last}."));
            break;
        }
        room = room.saturating_sub(path.len());
        matches.push(FoundPath {
            path,
            kind: found.kind,
        });
    }
    let tally = walk.tally();
    if matches.is_empty() && notes.is_empty() {
        notes.push(nothing_matched(args, &pattern, tally.skipped));
    }
    notes.extend(tally.notes(limits));
    Ok(SearchFilesResult { matches, notes })
}

fn nothing_matched(args: &SearchFiles, pattern: &Pattern, skipped: usize) -> String {
    let mut note = format!("Nothing matches {}.", show::quoted(&args.pattern));
    if !pattern.has_wildcard() {
        let _ = write!(
            note,
            " A pattern without `*` is a whole name; for a part of one use `*{}*`.",
            args.pattern
        );
    }
    if skipped > 0 {
        let entries = show::count(skipped, "entry was", "entries were");
        let _ = write!(
            note,
            " {entries} left out as hidden, ignored or excluded (includeHidden, includeIgnored)."
        );
    }
    note
}

impl ToText for SearchFilesResult {
    fn to_text(&self) -> String {
        let mut text = String::new();
        for FoundPath { path, kind } in &self.matches {
            text.push_str(path);
            text.push_str(if *kind == Kind::Directory {
                "/\n"
            } else {
                "\n"
            });
        }
        with_notes(&text, &self.notes)
    }
}
