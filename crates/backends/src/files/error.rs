//! What can go wrong, each as one sentence for the model. Not the mapping to protocol codes.

use std::{borrow::Cow, error, fmt, io, path::PathBuf};

use super::show::quoted;

/// Why an operation gave no result. `Display` is the sentence that the model reads: who erred and what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum FilesError {
    /// The caller no longer wants the answer.
    Cancelled,
    /// Somebody else changed the file in between.
    Changed {
        /// The path as shown to the model.
        path: String,
        /// When it was changed, or that it is there, or gone.
        how: String,
    },
    /// A cursor that no list gave out.
    Cursor,
    /// The file is inside, but the account of the server may not read it.
    Denied {
        /// The path as shown to the model.
        path: String,
    },
    /// Something is there already, and nothing is overwritten.
    Exists {
        /// The path as shown to the model.
        path: String,
    },
    /// The disk answered something unforeseen. The cause is in `source`, for the log only.
    Failed {
        /// The path as shown to the model.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// No room on the disk, or a file larger than it takes.
    Full {
        /// The path as shown to the model.
        path: String,
    },
    /// The working folder itself was removed from the disk.
    Gone {
        /// Its path on the disk.
        folder: String,
    },
    /// An argument that cannot be meant.
    Invalid {
        /// The argument's name.
        argument: &'static str,
        /// What is wrong with it and what to send instead.
        problem: String,
    },
    /// A folder where a file is needed.
    IsFolder {
        /// The path as shown to the model.
        path: String,
    },
    /// Nothing there, or not allowed: the two are one answer, so that nothing can be found out about what lies outside.
    Missing {
        /// The path as it was asked for.
        path: String,
        /// The sentence about the working folders.
        folders: String,
    },
    /// No folder is configured, so nothing can be reached.
    NoFolders,
    /// The roots that the client named leave nothing of what is served.
    NoRoots {
        /// The served folders.
        served: String,
    },
    /// A file where a folder is needed.
    NotAFolder {
        /// The path as shown to the model.
        path: String,
    },
    /// No directory to put something new into: none there, or none allowed, in one answer as with [`Self::Missing`].
    NoPlace {
        /// The path as it was asked for.
        path: String,
        /// The sentence about the working folders.
        folders: String,
    },
    /// Not text in UTF-8.
    NotText {
        /// The path as shown to the model.
        path: String,
        /// What it is, and what to call instead.
        found: String,
    },
    /// Something that is not changed through this server, for its own reason.
    Protected {
        /// The path as shown to the model.
        path: String,
        /// Why, and what to do instead.
        why: &'static str,
    },
    /// The account of the server may not change it.
    ReadOnly {
        /// The path as shown to the model.
        path: String,
    },
    /// A pipe, socket or device: never opened, since that can hang or have effects.
    Special {
        /// The path as shown to the model.
        path: String,
    },
    /// The time for one call ended before there was anything to answer.
    TimeUp {
        /// The path as shown to the model.
        path: String,
    },
    /// More than one call may copy, or the trash may keep.
    TooMuch {
        /// The path as shown to the model.
        path: String,
        /// What is too much, the bound, and what to do.
        problem: String,
    },
    /// More bytes than one answer may hold.
    TooLarge {
        /// The path as shown to the model.
        path: String,
        /// Bytes the file has.
        size: u64,
        /// Bytes one answer may have.
        limit: u64,
        /// What to call instead.
        instead: &'static str,
    },
}

impl FilesError {
    /// Whether the answer is "not found", in the sense of the protocol's resource-not-found error.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Self::Missing { .. } | Self::NoFolders | Self::NoRoots { .. } | Self::NoPlace { .. }
        )
    }

    pub(crate) fn invalid(argument: &'static str, problem: impl Into<String>) -> Self {
        Self::Invalid {
            argument,
            problem: problem.into(),
        }
    }
}

impl fmt::Display for FilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.about_path() {
            Some((path, rest)) => write!(f, "{} {rest}", quoted(path)),
            None => self.about_all(f),
        }
    }
}

impl FilesError {
    /// The path that the sentence begins with, and its rest.
    fn about_path(&self) -> Option<(&str, Cow<'static, str>)> {
        let (path, rest): (_, Cow<'static, str>) = match self {
            Self::Changed { path, how } => (
                path,
                format!("{how}. Read it again before you write; nothing was changed.").into(),
            ),
            Self::Denied { path } => (
                path,
                "exists, but the account that runs this server has no permission to read it.".into(),
            ),
            Self::Exists { path } => (
                path,
                "is there already, and nothing is overwritten. Choose another path.".into(),
            ),
            Self::IsFolder { path } => (
                path,
                "is a directory, not a file. Use list_directory for it.".into(),
            ),
            Self::NotAFolder { path } => (
                path,
                "is a file, not a directory. Use get_file_info or read_text_file.".into(),
            ),
            Self::NotText { path, found } => (path, format!("is not UTF-8 text: {found}").into()),
            Self::Protected { path, why } => (path, format!("is not changed: {why}").into()),
            Self::ReadOnly { path } => (
                path,
                "cannot be changed: it is read-only, or the account that runs this server may not write there.".into(),
            ),
            Self::Special { path } => (
                path,
                "is a pipe, socket or device. Only ordinary files and directories are touched.".into(),
            ),
            Self::TooLarge {
                path,
                size,
                limit,
                instead,
            } => (
                path,
                format!("has {size} bytes, and one call takes at most {limit}. {instead}").into(),
            ),
            Self::TooMuch { path, problem } => (path, problem.clone().into()),
            _ => return None,
        };
        Some((path, rest))
    }

    fn about_all(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => write!(f, "The call was cancelled."),
            Self::Cursor => write!(
                f,
                "This cursor was not given out by this list. Start again without a cursor."
            ),
            Self::Failed { path, .. } => write!(
                f,
                "The server failed at {}; the cause is in its log. It may help to try again.",
                quoted(path)
            ),
            Self::Full { path } => write!(
                f,
                "The disk has no room for {}. Nothing was changed.",
                quoted(path)
            ),
            Self::Gone { folder } => write!(
                f,
                "The working folder {} was removed from the disk while it was served. Whoever runs this server has to make \
                 it again and start anew.",
                quoted(folder)
            ),
            Self::Invalid { argument, problem } => write!(f, "Argument `{argument}`: {problem}"),
            Self::Missing { path, folders } => {
                let path = quoted(path);
                write!(f, "Nothing at {path} that can be reached. {folders}")
            }
            Self::NoRoots { served } => write!(
                f,
                "The roots that the client named leave nothing of what is served ({served}), so no file can be reached. The \
                 client has to name a root in there, or none."
            ),
            Self::NoPlace { path, folders } => write!(
                f,
                "No directory for {} that can be reached: create_directory makes one inside a working folder. {folders}",
                quoted(path)
            ),
            Self::TimeUp { path } => write!(
                f,
                "The time for one call ended at {}, before it was done. Ask for less, or try again.",
                quoted(path)
            ),
            _ => write!(
                f,
                "No working folder is configured, so no file can be reached. Whoever runs this server has to name one."
            ),
        }
    }
}

impl error::Error for FilesError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Failed { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Why a folder cannot be served; for the person who starts the server.
#[derive(Debug)]
#[non_exhaustive]
pub enum FolderError {
    /// A name that could not be the first part of a path.
    BadName {
        /// The name as given.
        name: String,
    },
    /// Two folders with one name.
    Duplicate {
        /// The name that was given twice.
        name: String,
    },
    /// There is no such folder.
    Missing {
        /// The folder as given.
        path: PathBuf,
    },
    /// There is something, but not a folder.
    NotAFolder {
        /// The folder as given.
        path: PathBuf,
    },
    /// The system refused for another reason.
    Refused {
        /// The folder as given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl FolderError {
    pub(crate) fn from_io(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            io::ErrorKind::NotADirectory => Self::NotAFolder { path },
            _ => Self::Refused { path, source },
        }
    }
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName { name } => write!(
                f,
                "{} cannot name a folder: a name is 1 to 64 characters without slashes, colons or control characters",
                quoted(name)
            ),
            Self::Duplicate { name } => {
                write!(
                    f,
                    "two folders are named {}: give one of them another name",
                    quoted(name)
                )
            }
            Self::Missing { path } => write!(f, "no such folder: {}", path.display()),
            Self::NotAFolder { path } => {
                write!(
                    f,
                    "{} is not a folder: give the folder that holds it",
                    path.display()
                )
            }
            Self::Refused { path, source } => {
                write!(
                    f,
                    "the folder {} cannot be opened: {source}",
                    path.display()
                )
            }
        }
    }
}

impl error::Error for FolderError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Refused { source, .. } => Some(source),
            _ => None,
        }
    }
}
