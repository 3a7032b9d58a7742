//! Moves and copies of entries to free names. A move is one step where the disk can do it, else a copy and a removal. Not which
//! paths may be moved.

use std::{ffi::OsStr, io};

use cap_std::fs::Dir;

use super::{
    FilesError,
    fresh::Draft,
    system,
    tree::{self, Job, Links},
};

/// How something was moved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Moved {
    /// In one step.
    Renamed,
    /// From one disk to another.
    Copied {
        /// Whether the original could be removed afterwards.
        is_removed: bool,
    },
}

/// Where something goes: an open directory, a name that must be free, and how a failure there is told.
pub(crate) struct Goal<'a> {
    pub(crate) dir: &'a Dir,
    pub(crate) name: &'a OsStr,
    pub(crate) fault: &'a dyn Fn(io::Error) -> FilesError,
}

/// Moves the job's entry.
pub(crate) fn relocate(job: &mut Job<'_>, goal: &Goal<'_>) -> Result<Moved, FilesError> {
    let from = job.slot;
    job.pace.must_go_on(|| from.shown())?;
    match system::rename_new(from.dir(), from.name(), goal.dir, goal.name) {
        Ok(()) => Ok(Moved::Renamed),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => relocate_by_copy(job, goal),
        Err(_) if from.entry()?.is_none() => Err(from.place().missing()),
        // Which of the two directories refuses, the system does not say.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !from.may_be_taken() => {
            Err(from.fault(error))
        }
        Err(error) => Err((goal.fault)(error)),
    }
}

fn relocate_by_copy(job: &mut Job<'_>, goal: &Goal<'_>) -> Result<Moved, FilesError> {
    let from = job.slot;
    (job.links, job.moves) = (Links::Refuse, true);
    copy(job, goal)?;
    let is_dir = from.entry()?.is_some_and(|metadata| metadata.is_dir());
    let removed = if is_dir {
        tree::remove(from.dir(), from.name())
    } else {
        from.dir().remove_file(from.name())
    };
    if let Err(error) = &removed {
        tracing::warn!(%error, "files: the original of a moved file could not be removed");
    }
    Ok(Moved::Copied {
        is_removed: removed.is_ok(),
    })
}

/// Copies the job's entry. Under its name it is there as a whole, or not at all.
pub(crate) fn copy(job: &mut Job<'_>, goal: &Goal<'_>) -> Result<(), FilesError> {
    let from = job.slot;
    let Some(metadata) = from.entry()? else {
        return Err(from.place().missing());
    };
    if metadata.is_symlink() {
        return Err(job.too_much("is a link, which is not moved from one disk to another"));
    }
    let draft = if metadata.is_dir() {
        let begun = Draft::begin(goal.dir, |name| system::make_own_dir(goal.dir, name));
        let ((), draft) = begun.map_err(goal.fault)?;
        let opened = system::open_dir(from.dir(), from.name());
        let inner = opened.map_err(|error| from.place().fault(error))?;
        let copy = system::open_dir(goal.dir, draft.name()).map_err(goal.fault)?;
        job.extent.entries += 1;
        job.copy_into(&inner, &copy, 1)?;
        system::liken_dir(goal.dir, draft.name(), &metadata).map_err(goal.fault)?;
        draft
    } else {
        let (mut source, metadata) = from.open_file()?;
        let options = system::making(false);
        let begun = Draft::begin(goal.dir, |name| goal.dir.open_with(name, &options));
        let (mut file, draft) = begun.map_err(goal.fault)?;
        job.copy_bytes(&mut source, &mut file, &metadata)?;
        file.sync_all().map_err(goal.fault)?;
        if job.moves {
            expect_same(job, &metadata)?;
        }
        draft
    };
    draft.finish(goal.dir, goal.name, false).map_err(goal.fault)
}

/// What is removed after a copy has to be what was copied.
fn expect_same(job: &Job<'_>, copied: &cap_std::fs::Metadata) -> Result<(), FilesError> {
    let now = job.slot.entry()?;
    if now.is_some_and(|now| system::state(&now) == system::state(copied)) {
        return Ok(());
    }
    Err(FilesError::Changed {
        path: job.slot.shown(),
        how: "was changed while it was moved".into(),
    })
}
