//! `delete_file`: a file or directory into the trash of its folder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{FilesError, Folders, pace::Pace, place::Place, show, slot::Slot, trash::Trash},
    ToText,
};

/// Deletes a file, or a directory with what it holds. Whoever owns the folder finds it in a trash folder for a while.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteFile {
    /// The file or directory.
    pub path: String,
}

/// What was deleted.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteFileResult {
    /// Where it was.
    pub path: String,
    /// Where it is kept, for people; no tool reaches it.
    pub kept: String,
    /// Files, directories and links.
    pub entries: usize,
    /// Bytes in them.
    pub size: u64,
    /// Older deletions that were emptied from the trash.
    pub emptied: usize,
}

/// Deletes.
pub fn delete_file(
    folders: &Folders,
    args: &DeleteFile,
    cancelled: &dyn Fn() -> bool,
) -> Result<DeleteFileResult, FilesError> {
    let limits = folders.limits();
    let pace = Pace::new(limits, cancelled);
    pace.must_go_on(|| args.path.clone())?;
    let slot = Slot::to_take(folders, "path", &args.path)?;
    let keys = vec![slot.key(), Trash::key(&slot)];
    let _turn = folders.turns().take(keys, &pace, || slot.shown())?;
    match slot.entry()? {
        None => return Err(slot.place().missing()),
        Some(metadata) if metadata.is_dir() || metadata.is_file() || metadata.is_symlink() => {}
        Some(_) => return Err(FilesError::Special { path: slot.shown() }),
    }
    let kept = Trash::open(&slot)?.take(&slot, limits, &pace)?;
    let folder = slot.place().folder();
    let (top, _, below) = folder.top();
    let place: Place<'_> = slot.place().at(&kept.path);
    Ok(DeleteFileResult {
        path: slot.shown(),
        kept: if below.as_os_str().is_empty() {
            place.shown()
        } else {
            top.join(&kept.path).display().to_string()
        },
        entries: kept.extent.entries + kept.extent.links,
        size: kept.extent.bytes,
        emptied: kept.emptied,
    })
}

impl ToText for DeleteFileResult {
    fn to_text(&self) -> String {
        let (path, kept) = (show::one_line(&self.path), show::one_line(&self.kept));
        let size = show::size(self.size);
        let mut text = match self.entries {
            1 => format!("Deleted {path} ({size}); it is kept as {kept}."),
            many => format!("Deleted {path} ({size} in {many} entries); it is kept as {kept}."),
        };
        if self.emptied > 0 {
            let older = show::count(self.emptied, "older deletion was", "older deletions were");
            text += &format!(" To make room in the trash, {older} removed for good.");
        }
        text
    }
}
