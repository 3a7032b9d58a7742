//! Where something is put, taken from or changed: an open directory and one name in it. Links on the way are gone through once,
//! within the folder; from then on no path is looked up again. Not what is written.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

use cap_std::fs::{Dir, File, Metadata};

use super::{FilesError, Folders, names, place::Place, spot::Spot, system};

/// Why nothing in a `.git` is changed.
const GIT: &str = "it belongs to git, which runs what is written there. Use git for it, or ask whoever owns the folder.";

/// Why the folder itself stays.
const FOLDER: &str = "it is a working folder itself, or holds one. Choose something inside it.";

/// A name in an open directory.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    /// Where that is, without links but for the last component.
    place: Place<'a>,
    dir: Dir,
    name: OsString,
}

impl<'a> Slot<'a> {
    /// Of a file to be read or changed: at the end of links, where it has to be.
    pub(crate) fn of_file(
        folders: &'a Folders,
        argument: &'static str,
        text: &str,
    ) -> Result<Self, FilesError> {
        let slot = Self::open(&changeable(folders, argument, text)?, true)?;
        expect_changeable(&slot.place)?;
        Ok(slot)
    }

    /// Of a file to be written: at the end of links where there are any, else a new name.
    pub(crate) fn to_write(
        folders: &'a Folders,
        argument: &'static str,
        text: &str,
    ) -> Result<Self, FilesError> {
        Self::for_new(folders, argument, text, true)
    }

    /// Of something new.
    pub(crate) fn to_make(
        folders: &'a Folders,
        argument: &'static str,
        text: &str,
    ) -> Result<Self, FilesError> {
        Self::for_new(folders, argument, text, false)
    }

    /// Of an entry that is moved or deleted: a link is the link itself.
    pub(crate) fn to_take(
        folders: &'a Folders,
        argument: &'static str,
        text: &str,
    ) -> Result<Self, FilesError> {
        let slot = Self::open(&changeable(folders, argument, text)?, false)?;
        expect_changeable(&slot.place)?;
        let path = slot.key();
        if folders
            .iter()
            .any(|folder| folder.path().starts_with(&path))
        {
            return Err(protected(&slot.place, FOLDER));
        }
        Ok(slot)
    }

    /// Of a copy's source: at the end of links, and nothing keeps it from being read.
    pub(crate) fn to_copy(
        folders: &'a Folders,
        argument: &'static str,
        text: &str,
    ) -> Result<Self, FilesError> {
        let place = Spot::of_argument(folders, argument, text)?.place()?;
        Self::open(&place, true)
    }

    fn for_new(
        folders: &'a Folders,
        argument: &'static str,
        text: &str,
        follow: bool,
    ) -> Result<Self, FilesError> {
        let place = place_to_make(folders, argument, text)?;
        let slot = Self::open(&place, follow).map_err(|error| no_place(text, error))?;
        expect_changeable(&slot.place)?;
        if slot.entry()?.is_none() {
            expect_fit(argument, &slot.name)?;
        }
        Ok(slot)
    }

    fn open(place: &Place<'a>, follow: bool) -> Result<Self, FilesError> {
        let root = place.folder().dir();
        let fault = |error| place.write_fault(error);
        let (Some(name), Some(parent)) = (place.below().file_name(), place.below().parent()) else {
            return Err(protected(place, FOLDER));
        };
        let is_link = |metadata: Metadata| metadata.is_symlink();
        let real = if follow && root.symlink_metadata(place.below()).is_ok_and(is_link) {
            root.canonicalize(place.below()).map_err(fault)?
        } else {
            let parent = root.canonicalize(or_here(parent)).map_err(fault)?;
            clean(&parent).join(name)
        };
        let real = clean(&real);
        if names::has_ours(&real) {
            return Err(place.missing());
        }
        let (Some(name), Some(parent)) = (real.file_name(), real.parent()) else {
            return Err(FilesError::IsFolder {
                path: place.shown(),
            });
        };
        Ok(Self {
            dir: root.open_dir(or_here(parent)).map_err(fault)?,
            name: name.to_owned(),
            place: place.at(&real),
        })
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    pub(crate) fn place(&self) -> &Place<'a> {
        &self.place
    }

    pub(crate) fn shown(&self) -> String {
        self.place.shown()
    }

    /// The path by which turns are taken: the same for every way to write it.
    pub(crate) fn key(&self) -> PathBuf {
        self.place.folder().path().join(self.place.below())
    }

    /// What is there itself, be it a link; nothing if the name is free.
    pub(crate) fn entry(&self) -> Result<Option<Metadata>, FilesError> {
        match self.dir.symlink_metadata(&self.name) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.fault(error)),
        }
    }

    /// The ordinary file that is there, and nothing else.
    pub(crate) fn file(&self) -> Result<Option<Metadata>, FilesError> {
        let Some(metadata) = self.entry()? else {
            return Ok(None);
        };
        if metadata.is_dir() {
            return Err(FilesError::IsFolder { path: self.shown() });
        }
        if !metadata.is_file() {
            return Err(FilesError::Special { path: self.shown() });
        }
        Ok(Some(metadata))
    }

    /// The same for changing it.
    pub(crate) fn changeable_file(&self) -> Result<Option<Metadata>, FilesError> {
        let found = self.file()?;
        match &found {
            Some(metadata) if !system::may_write(&self.dir, &self.name, metadata) => {
                Err(FilesError::ReadOnly { path: self.shown() })
            }
            _ => Ok(found),
        }
    }

    /// Whether the account may take it out of its directory.
    pub(crate) fn may_be_taken(&self) -> bool {
        system::may_change_entries(&self.dir)
    }

    /// Opens the ordinary file that is there.
    pub(crate) fn open_file(&self) -> Result<(File, Metadata), FilesError> {
        if self.file()?.is_none() {
            return Err(self.place.missing());
        }
        let opened = self.dir.open_with(&self.name, &system::reading(false));
        let file = opened.map_err(|error| self.place.fault(error))?;
        let metadata = file.metadata().map_err(|error| self.fault(error))?;
        if !metadata.is_file() {
            return Err(FilesError::Special { path: self.shown() });
        }
        Ok((file, metadata))
    }

    pub(crate) fn fault(&self, error: io::Error) -> FilesError {
        self.place.write_fault(error)
    }
}

/// Where a text leads by its letters, for something new.
pub(crate) fn place_to_make<'a>(
    folders: &'a Folders,
    argument: &'static str,
    text: &str,
) -> Result<Place<'a>, FilesError> {
    changeable(folders, argument, text).map_err(|error| no_place(text, error))
}

/// One answer for every place where nothing can be put, whatever is or is not there.
pub(crate) fn no_place(text: &str, error: FilesError) -> FilesError {
    match error {
        FilesError::Missing { folders, .. } => FilesError::NoPlace {
            path: text.into(),
            folders,
        },
        other => other,
    }
}

/// Refuses a directory that links lead to, out of what is shown or into what is git's.
pub(crate) fn expect_open(place: &Place<'_>) -> Result<(), FilesError> {
    let root = place.folder().dir();
    let real = root.canonicalize(or_here(place.below()));
    let real = place.at(&clean(&real.map_err(|error| place.write_fault(error))?));
    if names::has_ours(real.below()) {
        return Err(place.missing());
    }
    expect_changeable(&real)
}

/// Refuses new names that hide something.
pub(crate) fn expect_fit(argument: &'static str, name: &OsStr) -> Result<(), FilesError> {
    match names::unfit(name) {
        Some(problem) => Err(FilesError::invalid(argument, problem)),
        None => Ok(()),
    }
}

/// Where a text leads by its letters, for a change. That it is git's is said before anything is looked up.
fn changeable<'a>(
    folders: &'a Folders,
    argument: &'static str,
    text: &str,
) -> Result<Place<'a>, FilesError> {
    let place = Spot::of_argument(folders, argument, text)?.place()?;
    expect_changeable(&place)?;
    Ok(place)
}

fn expect_changeable(place: &Place<'_>) -> Result<(), FilesError> {
    if names::is_git(place.below()) {
        return Err(protected(place, GIT));
    }
    Ok(())
}

fn protected(place: &Place<'_>, why: &'static str) -> FilesError {
    FilesError::Protected {
        path: place.shown(),
        why,
    }
}

/// Canonical paths begin with a `.` where nothing else is in them.
fn clean(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| !matches!(part, std::path::Component::CurDir))
        .collect()
}

fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}
