//! `move_file`: another path for a file or directory, never over something.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        FilesError, Folders,
        carry::{self, Goal, Moved},
        pace::Pace,
        show,
        slot::Slot,
        tree::Job,
    },
    ToText,
};

/// Moves or renames a file or directory. Nothing is overwritten: the destination must not exist.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveFile {
    /// The file or directory.
    pub source: String,
    /// Its new path.
    pub destination: String,
}

/// What was moved.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveFileResult {
    /// Where it was.
    pub source: String,
    /// Where it is.
    pub destination: String,
    /// Whether it had to be copied from one disk to another.
    pub copied: bool,
    /// Whether it is no longer at the source.
    pub removed: bool,
}

/// Moves.
pub fn move_file(
    folders: &Folders,
    args: &MoveFile,
    cancelled: &dyn Fn() -> bool,
) -> Result<MoveFileResult, FilesError> {
    let limits = folders.limits();
    let pace = Pace::new(limits, cancelled);
    pace.must_go_on(|| args.source.clone())?;
    let from = Slot::to_take(folders, "source", &args.source)?;
    let to = Slot::to_make(folders, "destination", &args.destination)?;
    let keys = vec![from.key(), to.key()];
    let _turn = folders.turns().take(keys, &pace, || from.shown())?;
    expect_movable(&from, &to)?;
    let goal = Goal {
        dir: to.dir(),
        name: to.name(),
        fault: &|error| to.fault(error),
    };
    let moved = carry::relocate(&mut Job::new(&from, limits, &pace), &goal)?;
    Ok(MoveFileResult {
        source: from.shown(),
        destination: to.shown(),
        copied: moved != Moved::Renamed,
        removed: moved != Moved::Copied { is_removed: false },
    })
}

/// What there is to move, and a place for it that is not inside itself.
pub(super) fn expect_movable(from: &Slot<'_>, to: &Slot<'_>) -> Result<(), FilesError> {
    let Some(metadata) = from.entry()? else {
        return Err(from.place().missing());
    };
    if !metadata.is_dir() && !metadata.is_file() && !metadata.is_symlink() {
        return Err(FilesError::Special { path: from.shown() });
    }
    if to.entry()?.is_some() {
        return Err(FilesError::Exists { path: to.shown() });
    }
    if to.key().starts_with(from.key()) {
        return Err(FilesError::invalid(
            "destination",
            "it lies inside the source.",
        ));
    }
    Ok(())
}

impl ToText for MoveFileResult {
    fn to_text(&self) -> String {
        let (from, to) = (
            show::one_line(&self.source),
            show::one_line(&self.destination),
        );
        match (self.copied, self.removed) {
            (false, _) => format!("Moved {from} to {to}."),
            (true, true) => format!(
                "Moved {from} to {to}: they are on different disks, so it was copied and then removed."
            ),
            (true, false) => format!(
                "Copied {from} to {to}, which is on another disk, but the original could not be removed: now both are there."
            ),
        }
    }
}
