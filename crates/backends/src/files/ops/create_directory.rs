//! `create_directory`: a directory and those above it.

use std::{
    io,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{FilesError, Folders, pace::Pace, show, slot},
    ToText,
};

/// Makes a directory, and those above it. One that is there already stays as it is.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateDirectory {
    /// The directory.
    pub path: String,
}

/// What was made.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateDirectoryResult {
    /// The directory.
    pub path: String,
    /// How many were made: none if it was there, more than one with those above it.
    pub made: usize,
}

/// Makes directories.
pub fn create_directory(
    folders: &Folders,
    args: &CreateDirectory,
    cancelled: &dyn Fn() -> bool,
) -> Result<CreateDirectoryResult, FilesError> {
    let pace = Pace::new(folders.limits(), cancelled);
    let place = slot::place_to_make(folders, "path", &args.path)?;
    let (root, most) = (place.folder().dir(), folders.limits().depth);
    if place.below().iter().count() > most {
        return Err(FilesError::invalid(
            "path",
            format!("at most {most} levels."),
        ));
    }
    let fault = |error| slot::no_place(&args.path, place.write_fault(error));
    let not_a_folder = |below: &Path| FilesError::NotAFolder {
        path: place.at(below).shown(),
    };
    let expect_open = |below: &Path| {
        slot::expect_open(&place.at(below)).map_err(|error| slot::no_place(&args.path, error))
    };
    let mut done = PathBuf::new();
    let mut names = place.below().iter().peekable();
    while let Some(name) = names.peek() {
        pace.must_go_on(|| args.path.clone())?;
        let next = done.join(name);
        match root.metadata(&next) {
            Ok(metadata) if metadata.is_dir() => done = next,
            Ok(_) => {
                expect_open(&next)?;
                return Err(not_a_folder(&next));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(fault(error)),
        }
        names.next();
    }
    let new: Vec<_> = names.collect();
    for name in &new {
        slot::expect_fit("path", name)?;
    }
    // A path that is too long as a whole, before the first part of it is made.
    if let Err(error) = root.symlink_metadata(place.below())
        && error.kind() == io::ErrorKind::InvalidFilename
    {
        return Err(fault(error));
    }
    if !new.is_empty() {
        expect_open(&done)?;
    }
    let mut made = 0;
    for name in new {
        pace.must_go_on(|| args.path.clone())?;
        done.push(name);
        match root.create_dir(&done) {
            Ok(()) => made += 1,
            // Somebody else was faster; or it is a link that leads nowhere, or outside.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !root.metadata(&done).map_err(fault)?.is_dir() {
                    return Err(not_a_folder(&done));
                }
            }
            Err(error) => return Err(fault(error)),
        }
    }
    Ok(CreateDirectoryResult {
        path: place.shown(),
        made,
    })
}

impl ToText for CreateDirectoryResult {
    fn to_text(&self) -> String {
        let path = show::one_line(&self.path);
        match self.made {
            0 => format!("{path} is there already."),
            1 => format!("Made the directory {path}."),
            many => format!("Made the directory {path} and {} above it.", many - 1),
        }
    }
}
