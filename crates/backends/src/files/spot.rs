//! What a path text means: a place in a working folder, or the top above several. All that is looked up on the disk yet is
//! whether the folder is still there, and whether links lead to what nobody is shown.

use std::path::PathBuf;

use super::{
    FilesError, Folder, Folders,
    lexical::{self, Lexical, Refused, Rules},
    names,
    place::Place,
    uri,
};

/// Longest path text that is looked at; every system's own bound lies below.
const LONGEST: usize = 32 * 1024;

/// What a path text meant.
#[derive(Debug)]
pub(crate) enum Spot<'a> {
    /// Above several folders, where nothing but their names is.
    Top(&'a Folders),
    /// In one of them.
    At(Place<'a>),
}

impl<'a> Spot<'a> {
    /// What a path means: relative to the folder, starting with a folder's name when there are several, absolute inside a
    /// folder, or a `file://` URI.
    pub(crate) fn of_path(folders: &'a Folders, text: &str) -> Result<Self, FilesError> {
        if folders.iter().len() == 0 {
            return Err(folders.missing(text));
        }
        if text.len() > LONGEST {
            return Err(folders.missing(text));
        }
        let lexical = if uri::is_file_uri(text) {
            let bytes = uri::to_bytes(text).map_err(|fault| match fault {
                uri::Fault::Encoding => {
                    FilesError::invalid("path", "a `%` in a file URI needs two hexadecimal digits.")
                }
                uri::Fault::Elsewhere => folders.missing(text),
            })?;
            lexical::parse(&bytes, Rules::HERE)
        } else {
            lexical::parse(text.as_bytes(), Rules::HERE)
        };
        let lexical = lexical.map_err(|refused| match refused {
            Refused::Nul => FilesError::invalid("path", "a path has no NUL byte."),
            Refused::Outside => folders.missing(text),
        })?;
        let spot = Self::locate(folders, lexical).ok_or_else(|| folders.missing(text))?;
        if let Self::At(place) = &spot {
            if names::has_ours(place.below()) {
                return Err(folders.missing(text));
            }
            place.expect_there()?;
            if place.expect_shown().is_err() {
                return Err(folders.missing(text));
            }
        }
        Ok(spot)
    }

    /// The same for a resource: only `file://` URIs name resources.
    pub(crate) fn of_uri(folders: &'a Folders, text: &str) -> Result<Self, FilesError> {
        if !uri::is_file_uri(text) {
            return Err(folders.missing(text));
        }
        Self::of_argument(folders, "uri", text)
    }

    /// The same as [`Spot::of_path`] for an argument of another name.
    pub(crate) fn of_argument(
        folders: &'a Folders,
        argument: &'static str,
        text: &str,
    ) -> Result<Self, FilesError> {
        Self::of_path(folders, text).map_err(|error| match error {
            FilesError::Invalid { problem, .. } => FilesError::Invalid { argument, problem },
            other => other,
        })
    }

    /// For operations on one file: the top is a directory.
    pub(crate) fn place(self) -> Result<Place<'a>, FilesError> {
        match self {
            Self::Top(_) => Err(FilesError::IsFolder { path: ".".into() }),
            Self::At(place) => Ok(place),
        }
    }

    /// For operations that walk: the top stands for all folders.
    pub(crate) fn starts(self) -> Vec<Place<'a>> {
        match self {
            Self::Top(folders) => Place::roots(folders),
            Self::At(place) => vec![place],
        }
    }

    fn locate(folders: &'a Folders, lexical: Lexical) -> Option<Self> {
        let (index, parts) = match lexical {
            Lexical::Absolute(parts) => {
                let (index, (_, below)) = (folders.iter().enumerate())
                    .filter_map(|(index, folder)| Some((index, folder.below(&parts)?)))
                    .max_by_key(|(_, (depth, _))| *depth)?;
                (index, below.to_vec())
            }
            Lexical::Relative(parts) if !folders.are_several() => (0, parts),
            Lexical::Relative(parts) => {
                let Some((first, rest)) = parts.split_first() else {
                    return Some(Self::Top(folders));
                };
                let is_first = |folder: &Folder| Rules::HERE.same(folder.name().as_bytes(), first);
                (folders.iter().position(is_first)?, rest.to_vec())
            }
        };
        let names = parts.into_iter().map(lexical::os_name);
        let below = names.collect::<Option<PathBuf>>()?;
        Some(Self::At(Place::new(folders, index, below)))
    }
}
