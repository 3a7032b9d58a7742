//! A file or directory in the making: under a name that nobody sees, in the directory where it will be, until it is whole. Then
//! it takes its name in one step. Dropped before that, nothing is left of it.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write as _},
};

use cap_std::fs::{Dir, File, Metadata};

use super::{FilesError, names, pace::Pace, slot::Slot, system};

/// Bytes written between two looks at whether to go on.
const CHUNK: usize = 256 * 1024;

/// Names that are tried before it is given up. One is only taken when it was left behind by a process that had our number.
const ATTEMPTS: usize = 64;

/// A file that is not whole yet.
#[derive(Debug)]
pub(crate) struct Fresh<'s, 'f> {
    slot: &'s Slot<'f>,
    file: File,
    draft: Draft<'s>,
}

impl<'s, 'f> Fresh<'s, 'f> {
    /// Begins. In place of `other` it will have its permissions, and until then it can be read by nobody else.
    pub(crate) fn begin(slot: &'s Slot<'f>, other: Option<&Metadata>) -> Result<Self, FilesError> {
        let options = system::making(other.is_none());
        let begun = Draft::begin(slot.dir(), |name| slot.dir().open_with(name, &options));
        let (file, draft) = begun.map_err(|error| slot.fault(error))?;
        let fresh = Self { slot, file, draft };
        if let Some(other) = other {
            system::liken(&fresh.file, other, true).map_err(|error| slot.fault(error))?;
        }
        Ok(fresh)
    }

    pub(crate) fn write(&mut self, bytes: &[u8], pace: &Pace<'_>) -> Result<(), FilesError> {
        for chunk in bytes.chunks(CHUNK) {
            pace.must_go_on(|| self.slot.shown())?;
            self.file
                .write_all(chunk)
                .map_err(|error| self.slot.fault(error))?;
        }
        pace.must_go_on(|| self.slot.shown())
    }

    /// Takes the name, over a file that has it if `replaces`. The bytes are on the disk before that, so that no crash leaves
    /// an empty file under the name.
    pub(crate) fn finish(self, replaces: bool) -> Result<Metadata, FilesError> {
        let Self { slot, file, draft } = self;
        let synced = file.sync_all();
        // Asked on the handle: whatever happens to the name from now on, this is what was written.
        let metadata = synced.and_then(|()| file.metadata());
        let metadata = metadata.map_err(|error| slot.fault(error))?;
        draft
            .finish(slot.dir(), slot.name(), replaces)
            .map_err(|error| slot.fault(error))?;
        Ok(metadata)
    }
}

/// What has one of our names for a while, and is removed when it is dropped with it.
#[derive(Debug)]
pub(crate) struct Draft<'s> {
    dir: &'s Dir,
    name: OsString,
    is_finished: bool,
}

impl<'s> Draft<'s> {
    /// Makes something under a free name.
    pub(crate) fn begin<T>(
        dir: &'s Dir,
        make: impl Fn(&OsStr) -> io::Result<T>,
    ) -> io::Result<(T, Self)> {
        let mut attempt = 0;
        loop {
            let name = names::unfinished();
            attempt += 1;
            match make(&name) {
                Ok(made) => {
                    let draft = Self {
                        dir,
                        name,
                        is_finished: false,
                    };
                    return Ok((made, draft));
                }
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Gives it its name in `to`.
    pub(crate) fn finish(mut self, to: &Dir, name: &OsStr, replaces: bool) -> io::Result<()> {
        if replaces {
            self.dir.rename(&self.name, to, name)?;
        } else {
            system::rename_new(self.dir, &self.name, to, name)?;
        }
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        let removed = match self.dir.symlink_metadata(&self.name) {
            Ok(metadata) if metadata.is_dir() => super::tree::remove(self.dir, &self.name),
            Ok(_) => self.dir.remove_file(&self.name),
            Err(error) => Err(error),
        };
        // Gone with the directory that it was in.
        if let Err(error) = removed
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(name = %self.name.display(), %error, "files: an unfinished file was left behind");
        }
    }
}
