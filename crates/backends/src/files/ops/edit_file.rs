//! `edit_file`: pieces of a text file replaced, all of them or none.

use std::io::Read as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        FilesError, Folders,
        edit::{self, Diff, Text},
        fresh::Fresh,
        pace::Pace,
        show,
        slot::Slot,
        system,
    },
    ToText, modified, with_notes,
};

/// Bytes asked from the disk between two looks at whether to go on.
const CHUNK: u64 = 256 * 1024;

/// Replaces pieces of a UTF-8 text file and shows the change as a diff. If one edit fails, nothing is written.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct EditFile {
    /// The file.
    pub path: String,
    /// Made in this order.
    #[schemars(length(min = 1))]
    pub edits: Vec<FileEdit>,
    /// Only show the diff.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// One replacement.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline, description = "")]
pub struct FileEdit {
    /// Exactly as it is in the file, and there once.
    pub old_text: String,
    /// What comes in its place.
    pub new_text: String,
    /// Wherever it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace_all: bool,
}

/// What was changed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EditFileResult {
    /// The file, at the end of links.
    pub path: String,
    /// The change as `git diff` shows it, or its beginning.
    pub diff: String,
    /// Lines of the diff that are left out.
    pub left_out: usize,
    /// Pieces replaced.
    pub replaced: usize,
    /// Whether it was written.
    pub written: bool,
    /// When it was modified (UTC), for `ifModified`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

/// Edits text.
pub fn edit_file(
    folders: &Folders,
    args: &EditFile,
    cancelled: &dyn Fn() -> bool,
) -> Result<EditFileResult, FilesError> {
    let limits = folders.limits();
    let pace = Pace::new(limits, cancelled);
    if args.edits.is_empty() || args.edits.len() > limits.edits {
        let most = limits.edits;
        return Err(FilesError::invalid("edits", format!("send 1 to {most}.")));
    }
    pace.must_go_on(|| args.path.clone())?;
    let slot = Slot::of_file(folders, "path", &args.path)?;
    let _turn = folders
        .turns()
        .take(vec![slot.key()], &pace, || slot.shown())?;
    let (bytes, read) = read(&slot, limits.write_bytes as u64, &pace)?;
    let not_text = |found| FilesError::NotText {
        path: slot.shown(),
        found,
    };
    let mut text = Text::parse(bytes).map_err(not_text)?;
    let before = text.body().to_owned();
    let edits: Vec<_> = args.edits.iter().map(FileEdit::as_edit).collect();
    let shown = || slot.shown();
    let replaced = edit::apply(&mut text, &edits, limits.write_bytes, &pace, &shown)?;
    let Diff { text: diff, left } =
        edit::unified(&slot.shown(), &before, text.body(), limits.diff_bytes);
    let mut result = EditFileResult {
        path: slot.shown(),
        diff,
        left_out: left,
        replaced,
        written: false,
        modified: None,
    };
    let Some(now) = slot.changeable_file()? else {
        return Err(slot.place().missing());
    };
    if args.dry_run || before == text.body() {
        return Ok(result);
    }
    let mut fresh = Fresh::begin(&slot, Some(&now))?;
    fresh.write(&text.to_bytes(), &pace)?;
    let is_same = |now: &cap_std::fs::Metadata| system::state(now) == system::state(&read);
    if !slot.file()?.as_ref().is_some_and(is_same) {
        return Err(FilesError::Changed {
            path: slot.shown(),
            how: "was changed by somebody else in the meantime".into(),
        });
    }
    let written = fresh.finish(true)?;
    result.written = true;
    result.modified = modified(&written);
    Ok(result)
}

/// The bytes of the file, and what tells this state of it from another.
fn read(
    slot: &Slot<'_>,
    limit: u64,
    pace: &Pace<'_>,
) -> Result<(Vec<u8>, cap_std::fs::Metadata), FilesError> {
    let (mut file, metadata) = slot.open_file()?;
    let mut bytes = Vec::new();
    let mut size = metadata.len();
    while size <= limit {
        pace.must_go_on(|| slot.shown())?;
        let read = (&mut file).take(CHUNK).read_to_end(&mut bytes);
        if read.map_err(|error| slot.place().fault(error))? == 0 {
            return Ok((bytes, metadata));
        }
        // It may grow while it is read.
        size = bytes.len() as u64;
    }
    Err(FilesError::TooLarge {
        path: slot.shown(),
        size,
        limit,
        instead: "Larger files are not edited.",
    })
}

impl FileEdit {
    fn as_edit(&self) -> edit::Edit<'_> {
        edit::Edit {
            old: &self.old_text,
            new: &self.new_text,
            all: self.replace_all,
        }
    }
}

impl ToText for EditFileResult {
    fn to_text(&self) -> String {
        let mut notes = Vec::new();
        if self.left_out > 0 {
            let lines = show::count(self.left_out, "more line", "more lines");
            notes.push(format!("{lines} of the diff left out."));
        }
        let replaced = show::count(self.replaced, "replacement", "replacements");
        notes.push(match (self.written, self.diff.is_empty()) {
            (true, _) => format!("{replaced}, written."),
            (false, false) => format!("{replaced}. A dry run: nothing was written."),
            (false, true) => format!("{replaced} that change nothing: nothing was written."),
        });
        if let Some(modified) = &self.modified {
            notes.push(format!("Modified: {modified}"));
        }
        with_notes(&self.diff, &notes)
    }
}
