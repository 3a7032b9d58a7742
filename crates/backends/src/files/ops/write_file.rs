//! `write_file`: a text file, new or anew, whole or not at all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{FilesError, Folders, fresh::Fresh, pace::Pace, show, slot::Slot, system},
    ToText, modified,
};

/// How often a file may come or go between a look and the writing before it is given up.
const ATTEMPTS: usize = 8;

/// What `ifModified` says where there may be no file yet.
const NONE: &str = "none";

/// Writes a UTF-8 text file: a new one, or an existing one anew (its permissions stay). The directory has to exist.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WriteFile {
    /// The file.
    pub path: String,
    /// The whole text.
    pub content: String,
    /// Only if the file was last modified then, as get_file_info says; with `none`, only if there is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub if_modified: Option<String>,
}

/// What was written.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteFileResult {
    /// The file, at the end of links.
    pub path: String,
    /// Its bytes.
    pub size: u64,
    /// Bytes of the file that it took the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_size: Option<u64>,
    /// Other names (hard links) of that file, which still have its contents.
    #[serde(default, skip_serializing_if = "is_none")]
    pub other_names: u64,
    /// When it was modified (UTC), for `ifModified`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_none(number: &u64) -> bool {
    *number == 0
}

/// Writes text.
pub fn write_file(
    folders: &Folders,
    args: &WriteFile,
    cancelled: &dyn Fn() -> bool,
) -> Result<WriteFileResult, FilesError> {
    let pace = Pace::new(folders.limits(), cancelled);
    let most = folders.limits().write_bytes;
    if args.content.len() > most {
        return Err(FilesError::invalid(
            "content",
            format!(
                "it has {} bytes, and one file may have at most {most}.",
                args.content.len()
            ),
        ));
    }
    pace.must_go_on(|| args.path.clone())?;
    let slot = Slot::to_write(folders, "path", &args.path)?;
    let _turn = folders
        .turns()
        .take(vec![slot.key()], &pace, || slot.shown())?;
    for _ in 0..ATTEMPTS {
        let before = slot.changeable_file()?;
        args.expect(&slot, before.as_ref())?;
        let mut fresh = Fresh::begin(&slot, before.as_ref())?;
        fresh.write(args.content.as_bytes(), &pace)?;
        // Once more, as late as can be: what came in between is not overwritten unseen.
        let now = slot.changeable_file()?;
        if now.as_ref().map(system::state) != before.as_ref().map(system::state) {
            continue;
        }
        let written = match fresh.finish(before.is_some()) {
            Err(FilesError::Exists { .. }) => continue,
            finished => finished?,
        };
        return Ok(WriteFileResult {
            path: slot.shown(),
            size: written.len(),
            old_size: before.as_ref().map(|before| before.len()),
            other_names: before.as_ref().map_or(0, system::other_names),
            modified: modified(&written),
        });
    }
    Err(FilesError::Changed {
        path: slot.shown(),
        how: "is changed by somebody else again and again".into(),
    })
}

impl WriteFile {
    fn expect(
        &self,
        slot: &Slot<'_>,
        before: Option<&cap_std::fs::Metadata>,
    ) -> Result<(), FilesError> {
        let Some(wanted) = &self.if_modified else {
            return Ok(());
        };
        let how = match before.map(modified) {
            None if wanted == NONE => return Ok(()),
            None => "is no longer there".into(),
            Some(Some(found)) if found == *wanted => return Ok(()),
            Some(found) => {
                let found = found.unwrap_or_else(|| "an unknown time".into());
                let but = if wanted == NONE {
                    "is there already;"
                } else {
                    "is not as `ifModified` says:"
                };
                format!("{but} it was last modified at {found}")
            }
        };
        Err(FilesError::Changed {
            path: slot.shown(),
            how,
        })
    }
}

impl ToText for WriteFileResult {
    fn to_text(&self) -> String {
        let path = show::one_line(&self.path);
        let size = show::count(
            usize::try_from(self.size).unwrap_or(usize::MAX),
            "byte",
            "bytes",
        );
        let mut text = match self.old_size {
            None => format!("Wrote the new file {path}: {size}."),
            Some(old) => format!("Overwrote {path}: {size} in place of {old}."),
        };
        if self.other_names > 0 {
            let names = usize::try_from(self.other_names).unwrap_or(usize::MAX);
            let names = show::count(names, "other name", "other names");
            text += &format!(" The file has {names} (hard links), which keep the old text.");
        }
        if let Some(modified) = &self.modified {
            text += &format!(" Modified: {modified}");
        }
        text
    }
}
