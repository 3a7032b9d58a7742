//! The trash of a working folder: what was deleted, each with the path that it had, in a directory of its own whose name says when
//! and how large. Bounded: the oldest deletions are emptied first. Nobody sees it through us.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::PathBuf,
    time::SystemTime,
};

use cap_std::fs::Dir;

use super::{
    FilesError, Limits,
    carry::{self, Goal, Moved},
    names::TRASH,
    pace::Pace,
    show,
    slot::Slot,
    system,
    tree::{self, Extent, Job},
};

/// Deletions within one millisecond.
const ATTEMPTS: usize = 100;

/// Why nothing can be deleted where the trash is no directory of ours.
const NO_TRASH: &str = "something else is in the place of the trash folder `.polyport-trash`. Whoever owns the folder has to \
                        look at it.";

/// The open trash of one folder.
#[derive(Debug)]
pub(crate) struct Trash {
    dir: Dir,
}

/// What became of a deletion.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Where it is kept, from the served folder.
    pub(crate) path: PathBuf,
    pub(crate) extent: Extent,
    /// Older deletions that were emptied for it.
    pub(crate) emptied: usize,
}

impl Trash {
    /// The path by which turns are taken.
    pub(crate) fn key(slot: &Slot<'_>) -> PathBuf {
        slot.place().folder().top().0.join(TRASH)
    }

    /// Opens the trash of the served folder in which the slot is; made if there is none.
    pub(crate) fn open(slot: &Slot<'_>) -> Result<Self, FilesError> {
        let (_, root, _) = slot.place().folder().top();
        let is_new = match system::make_own_dir(root, TRASH.as_ref()) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(slot.fault(error)),
        };
        let Ok(dir) = system::open_dir(root, TRASH.as_ref()) else {
            return Err(FilesError::Protected {
                path: slot.shown(),
                why: NO_TRASH,
            });
        };
        if is_new {
            // Only a courtesy to those who keep the folder in git.
            let _ = dir.write(".gitignore", "*\n");
        }
        Ok(Self { dir })
    }

    /// Moves the slot's entry into the trash, and empties what is beyond the bounds. If that fails, all stays as it was.
    pub(crate) fn take(
        &self,
        slot: &Slot<'_>,
        limits: &Limits,
        pace: &Pace<'_>,
    ) -> Result<Kept, FilesError> {
        let mut job = Job::new(slot, limits, pace);
        job.most_bytes = limits.trash_bytes;
        job.measure(slot.dir(), slot.name(), 0)?;
        let extent = job.extent;
        if extent.room() > limits.trash_bytes || limits.trash_entries == 0 {
            let most = show::size(limits.trash_bytes);
            return Err(job.too_much(&format!("does not fit into the trash, which takes {most}")));
        }
        let fault = |error| slot.fault(error);
        let stamp = self.stamp(extent.room()).map_err(fault)?;
        let moved = self.move_in(&mut Job::new(slot, limits, pace), &stamp);
        let emptied = moved.and_then(|parent| {
            self.empty(limits, &stamp).map_err(|error| {
                tracing::warn!(%error, "files: the trash cannot be emptied");
                let back = system::rename_new(&parent, slot.name(), slot.dir(), slot.name());
                match back {
                    Ok(()) => job.too_much("does not fit: the trash is full and cannot be emptied"),
                    Err(error) => slot.fault(error),
                }
            })
        });
        match emptied {
            Ok(emptied) => Ok(Kept {
                path: [
                    TRASH.as_ref(),
                    stamp.as_os_str(),
                    from_top(slot).as_os_str(),
                ]
                .iter()
                .collect(),
                extent,
                emptied,
            }),
            Err(error) => {
                let _ = tree::remove(&self.dir, &stamp);
                Err(error)
            }
        }
    }

    /// A new directory for one deletion.
    fn stamp(&self, room: u64) -> io::Result<OsString> {
        let now = show::stamp(SystemTime::now()).unwrap_or_else(|| "19700101T000000.000".into());
        let mut attempt = 0;
        loop {
            let name = OsString::from(format!("{now}-{attempt:02}-{room}"));
            attempt += 1;
            match system::make_own_dir(&self.dir, &name) {
                Ok(()) => return Ok(name),
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Moves the job's entry to its own path below the stamp. Gives the directory that it is in.
    fn move_in(&self, job: &mut Job<'_>, stamp: &OsStr) -> Result<Dir, FilesError> {
        let slot = job.slot;
        let fault = |error| slot.fault(error);
        let mut parent = system::open_dir(&self.dir, stamp).map_err(fault)?;
        for name in from_top(slot).parent().into_iter().flatten() {
            parent.create_dir(name).map_err(fault)?;
            parent = system::open_dir(&parent, name).map_err(fault)?;
        }
        let goal = Goal {
            dir: &parent,
            name: slot.name(),
            fault: &fault,
        };
        match carry::relocate(job, &goal)? {
            Moved::Renamed | Moved::Copied { is_removed: true } => Ok(parent),
            Moved::Copied { is_removed: false } => Err(FilesError::ReadOnly { path: slot.shown() }),
        }
    }

    /// Removes the oldest deletions beyond the bounds, but not `newest`.
    fn empty(&self, limits: &Limits, newest: &OsStr) -> io::Result<usize> {
        let mut stamps = Vec::new();
        for entry in self.dir.entries()? {
            let name = entry?.file_name();
            // What has another name was put there by a person, and is left alone.
            if let Some(room) = room_of(&name) {
                stamps.push((name, room));
            }
        }
        stamps.sort();
        let mut room: u64 = stamps
            .iter()
            .fold(0, |sum, (_, room)| sum.saturating_add(*room));
        let mut count = stamps.len();
        let mut emptied = 0;
        for (name, its_room) in stamps {
            if count <= limits.trash_entries && room <= limits.trash_bytes {
                break;
            }
            if name == newest {
                continue;
            }
            match tree::remove(&self.dir, &name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            count -= 1;
            room = room.saturating_sub(its_room);
            emptied += 1;
        }
        Ok(emptied)
    }
}

/// The slot's path from the served folder, be it narrowed or not.
fn from_top(slot: &Slot<'_>) -> PathBuf {
    let (_, _, below) = slot.place().folder().top();
    below.join(slot.place().below())
}

/// The room that the name of a deletion speaks of.
fn room_of(name: &OsStr) -> Option<u64> {
    let mut parts = name.to_str()?.split('-');
    let (time, number, room) = (parts.next()?, parts.next()?, parts.next()?);
    let is_time = time.len() == 19 && time.bytes().all(|byte| b"0123456789T.".contains(&byte));
    if !is_time || number.len() != 2 || parts.next().is_some() {
        return None;
    }
    room.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d_38_names_say_how_large_a_deletion_is() {
        for (name, want) in [
            ("20260131T120000.123-00-4108", Some(4108)),
            ("20260131T120000.123-00-0", Some(0)),
            ("20260131T120000.123-00", None),
            ("20260131T120000.123-00-1-2", None),
            ("20260131T120000.123-0-1", None),
            ("20260131T120000-00-1", None),
            (".gitignore", None),
            ("20260131T120000.123-00-x", None),
        ] {
            assert_eq!(room_of(name.as_ref()), want, "{name}");
        }
    }
}
