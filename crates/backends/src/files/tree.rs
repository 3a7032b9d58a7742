//! Whole directories by their handles: how much is in one, a copy of it, its removal. Bounded in entries, bytes, depth and time;
//! no link is followed. Not which directories, and not what is said about it.

use std::{
    ffi::{OsStr, OsString},
    io,
};

use cap_std::fs::{Dir, File, FileType, Metadata};

use super::{FilesError, Limits, names, pace::Pace, show, slot::Slot, system};

/// Bytes copied between two looks at whether to go on.
const CHUNK: u64 = 4 * 1024 * 1024;

/// What a file or directory takes on the disk beside its bytes, about.
const ENTRY: u64 = 4 * 1024;

/// How much something is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Extent {
    /// Files and directories, itself included.
    pub(crate) entries: usize,
    /// Bytes in files.
    pub(crate) bytes: u64,
    /// Links in it.
    pub(crate) links: usize,
}

impl Extent {
    /// Room on the disk, about.
    pub(crate) fn room(self) -> u64 {
        let entries = (self.entries + self.links) as u64;
        self.bytes.saturating_add(entries.saturating_mul(ENTRY))
    }
}

/// What links are to a copy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Links {
    /// Left out and counted.
    LeaveOut,
    /// A reason not to copy.
    Refuse,
}

/// Something that is looked through as a whole.
pub(crate) struct Job<'a> {
    /// What the errors are about.
    pub(crate) slot: &'a Slot<'a>,
    pub(crate) limits: &'a Limits,
    pub(crate) pace: &'a Pace<'a>,
    pub(crate) links: Links,
    /// Whether the copy is to take the place of the original: then its bytes are brought to the disk, and times are kept.
    pub(crate) moves: bool,
    pub(crate) most_bytes: u64,
    pub(crate) extent: Extent,
}

impl<'a> Job<'a> {
    pub(crate) fn new(slot: &'a Slot<'a>, limits: &'a Limits, pace: &'a Pace<'a>) -> Self {
        Self {
            slot,
            limits,
            pace,
            links: Links::LeaveOut,
            moves: false,
            most_bytes: limits.copy_bytes,
            extent: Extent::default(),
        }
    }

    /// How much there is at a name.
    pub(crate) fn measure(
        &mut self,
        dir: &Dir,
        name: &OsStr,
        depth: usize,
    ) -> Result<(), FilesError> {
        let metadata = dir
            .symlink_metadata(name)
            .map_err(|error| self.fault(error))?;
        if metadata.is_symlink() {
            self.extent.links += 1;
            return self.pass(0);
        }
        self.extent.entries += 1;
        if !metadata.is_dir() {
            return self.pass(metadata.len());
        }
        self.pass(0)?;
        let inner = self.descend(dir, name, depth)?;
        for (name, _) in self.names(&inner)? {
            match self.measure(&inner, &name, depth + 1) {
                // Gone since its name was read.
                Err(error) if error.is_missing() => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Copies a directory's contents into an empty one.
    pub(crate) fn copy_into(
        &mut self,
        from: &Dir,
        to: &Dir,
        depth: usize,
    ) -> Result<(), FilesError> {
        for (name, kind) in self.names(from)? {
            if names::is_ours(&name) {
                continue;
            }
            if kind.is_symlink() {
                self.extent.links += 1;
                if self.links == Links::Refuse {
                    return Err(
                        self.too_much("holds links, which are not moved from one disk to another")
                    );
                }
                self.pass(0)?;
            } else if kind.is_dir() {
                self.extent.entries += 1;
                self.pass(0)?;
                let metadata = from
                    .symlink_metadata(&name)
                    .map_err(|error| self.fault(error))?;
                let inner = self.descend(from, &name, depth)?;
                system::make_own_dir(to, &name).map_err(|error| self.fault(error))?;
                let copy = system::open_dir(to, &name).map_err(|error| self.fault(error))?;
                self.copy_into(&inner, &copy, depth + 1)?;
                system::liken_dir(to, &name, &metadata).map_err(|error| self.fault(error))?;
            } else {
                self.copy_one(from, to, &name)?;
            }
        }
        Ok(())
    }

    fn copy_one(&mut self, from: &Dir, to: &Dir, name: &OsStr) -> Result<(), FilesError> {
        let looked = from
            .symlink_metadata(name)
            .map_err(|error| self.fault(error))?;
        let opened = if looked.is_file() {
            from.open_with(name, &system::reading(false))
        } else {
            return Err(self.too_much("holds a pipe, socket or device"));
        };
        let mut source = opened.map_err(|error| self.slot.place().fault(error))?;
        let metadata = source.metadata().map_err(|error| self.fault(error))?;
        if !metadata.is_file() {
            return Err(self.too_much("holds a pipe, socket or device"));
        }
        let made = to.open_with(name, &system::making(false));
        let mut file = made.map_err(|error| self.fault(error))?;
        self.copy_bytes(&mut source, &mut file, &metadata)?;
        if self.moves {
            file.sync_all().map_err(|error| self.fault(error))?;
        }
        Ok(())
    }

    /// Copies one file's bytes, permissions, and for a move its time.
    pub(crate) fn copy_bytes(
        &mut self,
        source: &mut File,
        file: &mut File,
        metadata: &Metadata,
    ) -> Result<(), FilesError> {
        use std::io::Read as _;
        self.extent.entries += 1;
        self.pass(0)?;
        loop {
            let copied = io::copy(&mut source.take(CHUNK), file);
            let copied = copied.map_err(|error| self.fault(error))?;
            if copied == 0 {
                break;
            }
            self.pass(copied)?;
        }
        system::liken(file, metadata, self.moves).map_err(|error| self.fault(error))?;
        if self.moves {
            system::date(file, metadata);
        }
        Ok(())
    }

    /// Counts bytes and asks whether to go on.
    fn pass(&mut self, bytes: u64) -> Result<(), FilesError> {
        self.pace.must_go_on(|| self.slot.shown())?;
        self.extent.bytes = self.extent.bytes.saturating_add(bytes);
        let (entries, links) = (self.extent.entries, self.extent.links);
        if entries + links > self.limits.copy_entries {
            let most = self.limits.copy_entries;
            return Err(self.too_much(&format!("holds more than {most} entries")));
        }
        if self.extent.bytes > self.most_bytes {
            let most = show::size(self.most_bytes);
            return Err(self.too_much(&format!("holds more than {most}")));
        }
        Ok(())
    }

    fn descend(&self, dir: &Dir, name: &OsStr, depth: usize) -> Result<Dir, FilesError> {
        if depth >= self.limits.depth {
            let most = self.limits.depth;
            return Err(self.too_much(&format!("holds directories more than {most} levels deep")));
        }
        system::open_dir(dir, name).map_err(|error| self.slot.place().fault(error))
    }

    fn names(&self, dir: &Dir) -> Result<Vec<(OsString, FileType)>, FilesError> {
        let mut found = Vec::new();
        for entry in dir.entries().map_err(|error| self.fault(error))? {
            let entry = entry.map_err(|error| self.fault(error))?;
            let kind = entry.file_type().map_err(|error| self.fault(error))?;
            found.push((entry.file_name(), kind));
            if found.len() > self.limits.copy_entries {
                break;
            }
        }
        Ok(found)
    }

    fn fault(&self, error: io::Error) -> FilesError {
        self.slot.fault(error)
    }

    pub(crate) fn too_much(&self, what: &str) -> FilesError {
        let has_parts = matches!(self.slot.entry(), Ok(Some(entry)) if entry.is_dir());
        let remedy = if has_parts {
            "take one part of it after another."
        } else {
            "it is left to whoever owns the folder."
        };
        FilesError::TooMuch {
            path: self.slot.shown(),
            problem: format!("{what}. Nothing was changed: {remedy}"),
        }
    }
}

/// Removes a directory with all that is in it, also where its permissions lock it.
pub(crate) fn remove(dir: &Dir, name: &OsStr) -> io::Result<()> {
    let inner = match system::open_dir(dir, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            system::unlock_dir(dir, name)?;
            system::open_dir(dir, name)?
        }
        opened => opened?,
    };
    if !is_owners(&inner.dir_metadata()?) {
        system::unlock_dir(dir, name)?;
    }
    for entry in inner.entries()? {
        let entry = entry?;
        let gone = if entry.file_type()?.is_dir() {
            remove(&inner, &entry.file_name())
        } else {
            inner.remove_file(entry.file_name())
        };
        gone.or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
    }
    dir.remove_dir(name)
}

/// Whether its owner may look into a directory and change it.
fn is_owners(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use cap_std::fs::PermissionsExt as _;
        metadata.permissions().mode() & 0o700 == 0o700
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        true
    }
}
