//! A place below a working folder, and the few ways to touch the disk there. Not what is done with the bytes.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use cap_std::fs::{Dir, File, Metadata, ReadDir};

use super::{FilesError, Folder, Folders, names, show, system, uri};

/// A path inside one folder. That something is there is not said.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    folders: &'a Folders,
    index: usize,
    below: PathBuf,
}

impl<'a> Place<'a> {
    /// `below` has ordinary components only, none at all for the folder itself.
    pub(crate) fn new(folders: &'a Folders, index: usize, below: PathBuf) -> Self {
        Self {
            folders,
            index,
            below,
        }
    }

    /// The folders themselves.
    pub(crate) fn roots(folders: &'a Folders) -> Vec<Self> {
        (0..folders.iter().len())
            .map(|index| Self::new(folders, index, PathBuf::new()))
            .collect()
    }

    pub(crate) fn folder(&self) -> &'a Folder {
        self.folders.folder(self.index)
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Whether another folder, inside this place's one, holds it too: one file is listed once.
    pub(crate) fn is_in_inner_folder(&self) -> bool {
        let own = self.folder().path();
        self.folders.iter().enumerate().any(|(index, other)| {
            let is_inner =
                other.path().starts_with(own) && (other.path() != own || index < self.index);
            index != self.index && is_inner && own.join(&self.below).starts_with(other.path())
        })
    }

    /// The path below the folder, empty for the folder itself.
    pub(crate) fn below(&self) -> &Path {
        &self.below
    }

    pub(crate) fn join(&self, name: &OsStr) -> Self {
        self.at(&self.below.join(name))
    }

    /// Another place in the same folder.
    pub(crate) fn at(&self, below: &Path) -> Self {
        Self {
            below: below.to_owned(),
            ..*self
        }
    }

    /// The path as the model reads it and gives it back. A name that is no plain text is shown as its URI, which is a
    /// path argument too.
    pub(crate) fn shown(&self) -> String {
        let Some(below) = plain(&self.below) else {
            return self.uri();
        };
        let below = if cfg!(windows) {
            below.replace('\\', "/")
        } else {
            below.to_owned()
        };
        match (self.folders.are_several(), below.is_empty()) {
            (true, true) => self.folder().name().to_owned(),
            (true, false) => format!("{}/{below}", self.folder().name()),
            (false, true) => ".".into(),
            (false, false) if uri::is_file_uri(&below) => format!("./{below}"),
            (false, false) => below,
        }
    }

    /// The last component as the model reads it; the whole URI where the name is no plain text.
    pub(crate) fn shown_name(&self) -> String {
        match self.below.file_name() {
            None => self.shown(),
            Some(name) => match plain(Path::new(name)) {
                Some(name) => name.to_owned(),
                None => self.uri(),
            },
        }
    }

    pub(crate) fn uri(&self) -> String {
        uri::from_path(&self.folder().path().join(&self.below))
    }

    /// What is there, at the end of links that stay inside.
    pub(crate) fn metadata(&self) -> Result<Metadata, FilesError> {
        self.dir()
            .metadata(self.on_disk())
            .map_err(|error| self.fault(error))
    }

    /// What is there itself, be it a link.
    pub(crate) fn link_metadata(&self) -> Result<Metadata, FilesError> {
        self.dir()
            .symlink_metadata(self.on_disk())
            .map_err(|error| self.fault(error))
    }

    /// Opens an ordinary file for reading, and nothing else.
    pub(crate) fn open_file(&self) -> Result<(File, Metadata), FilesError> {
        // Looked at before it is opened, as opening a device can have effects, and again after, as it may have been
        // swapped in between; the flags keep that second case from waiting for a pipe's writer.
        self.expect_file(&self.metadata()?)?;
        let file = self
            .dir()
            .open_with(self.on_disk(), &system::reading(true))
            .map_err(|error| self.fault(error))?;
        let metadata = file.metadata().map_err(|error| self.fault(error))?;
        self.expect_file(&metadata)?;
        Ok((file, metadata))
    }

    pub(crate) fn read_dir(&self) -> Result<ReadDir, FilesError> {
        let metadata = self.metadata()?;
        if metadata.is_file() {
            return Err(FilesError::NotAFolder { path: self.shown() });
        }
        if !metadata.is_dir() {
            return Err(FilesError::Special { path: self.shown() });
        }
        self.dir()
            .read_dir(self.on_disk())
            .map_err(|error| self.fault(error))
    }

    /// What a link in a list leads to.
    pub(crate) fn target(&self) -> Result<Metadata, FilesError> {
        self.expect_shown()?;
        self.metadata()
    }

    /// Refuses a path that links lead to where nothing is shown.
    pub(crate) fn expect_shown(&self) -> Result<(), FilesError> {
        match self.dir().canonicalize(self.on_disk()) {
            Ok(real) if names::has_ours(&real) => Err(self.missing()),
            _ => Ok(()),
        }
    }

    /// The error of the system as ours. A path that leads out of the folder, by whatever link, is one that is not there.
    pub(crate) fn fault(&self, error: io::Error) -> FilesError {
        if is_outside_or_absent(&error) {
            self.missing()
        } else if error.kind() == io::ErrorKind::PermissionDenied {
            FilesError::Denied { path: self.shown() }
        } else {
            FilesError::Failed {
                path: self.shown(),
                source: error,
            }
        }
    }

    /// The same for a change.
    pub(crate) fn write_fault(&self, error: io::Error) -> FilesError {
        let path = self.shown();
        match error.kind() {
            io::ErrorKind::InvalidFilename => FilesError::TooMuch {
                path,
                problem: "is longer than a name, or a path as a whole, may be.".into(),
            },
            _ if is_outside_or_absent(&error) => self.missing(),
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
                FilesError::Exists { path }
            }
            io::ErrorKind::IsADirectory => FilesError::IsFolder { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                FilesError::ReadOnly { path }
            }
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => FilesError::Full { path },
            _ => FilesError::Failed {
                path,
                source: error,
            },
        }
    }

    /// The answer for what is not there, or for a folder that is no more.
    pub(crate) fn missing(&self) -> FilesError {
        let gone = self.expect_there();
        gone.err()
            .unwrap_or_else(|| self.folders.missing(&self.shown()))
    }

    /// Refuses a working folder that was removed.
    pub(crate) fn expect_there(&self) -> Result<(), FilesError> {
        if self.folder().is_gone() {
            return Err(FilesError::Gone {
                folder: self.folder().path().display().to_string(),
            });
        }
        Ok(())
    }

    fn expect_file(&self, metadata: &Metadata) -> Result<(), FilesError> {
        if metadata.is_file() {
            Ok(())
        } else if metadata.is_dir() {
            Err(FilesError::IsFolder { path: self.shown() })
        } else {
            Err(FilesError::Special { path: self.shown() })
        }
    }

    fn dir(&self) -> &'a Dir {
        self.folder().dir()
    }

    fn on_disk(&self) -> &Path {
        if self.below.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.below
        }
    }
}

/// Nothing there, or a refusal of what would lead outside.
fn is_outside_or_absent(error: &io::Error) -> bool {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
            true
        }
        // cap-std's own refusal carries no number of the system, which a refused permission does.
        io::ErrorKind::PermissionDenied => error.raw_os_error().is_none(),
        _ => is_loop(error),
    }
}

/// Links that go round in circles; the standard library has no stable name for it.
fn is_loop(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// The path as text if it can be read on one line, as it is, without anything hidden.
fn plain(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    (text.chars().all(show::is_visible) && text.trim() == text).then_some(text)
}
