//! The operations, one file each: arguments, result, and the function between them. Names and arguments are those of the
//! widely used filesystem server where the meaning is the same; what is new is optional.
//!
//! Every function blocks on the disk, calls `cancelled` in its loops and ends early when that is true. The first
//! paragraph of an argument type's documentation is the description a model chooses by.

mod copy_file;
mod create_directory;
mod delete_file;
mod directory_tree;
mod edit_file;
mod get_file_info;
mod list_allowed_directories;
mod list_directory;
mod move_file;
mod read_media_file;
mod read_multiple_files;
mod read_text_file;
mod search_contents;
mod search_files;
mod write_file;

pub use copy_file::{CopyFile, CopyFileResult, copy_file};
pub use create_directory::{CreateDirectory, CreateDirectoryResult, create_directory};
pub use delete_file::{DeleteFile, DeleteFileResult, delete_file};
pub use directory_tree::{DirectoryTree, DirectoryTreeResult, TreeNode, directory_tree};
pub use edit_file::{EditFile, EditFileResult, FileEdit, edit_file};
pub use get_file_info::{GetFileInfo, GetFileInfoResult, get_file_info};
pub use list_allowed_directories::{
    AllowedDirectory, ListAllowedDirectories, ListAllowedDirectoriesResult,
    list_allowed_directories,
};
pub use list_directory::{DirectoryEntry, ListDirectory, ListDirectoryResult, list_directory};
pub use move_file::{MoveFile, MoveFileResult, move_file};
pub use read_media_file::{Medium, ReadMediaFile, ReadMediaFileResult, read_media_file};
pub use read_multiple_files::{
    FileText, ReadMultipleFiles, ReadMultipleFilesResult, read_multiple_files,
};
pub use read_text_file::{ReadTextFile, ReadTextFileResult, read_text_file};
pub use search_contents::{
    FileMatches, MatchLine, SearchContents, SearchContentsResult, search_contents,
};
pub use search_files::{FoundPath, SearchFiles, SearchFilesResult, search_files};
pub use write_file::{WriteFile, WriteFileResult, write_file};

use cap_std::fs::Metadata;

use super::{FilesError, Folders, show, spot::Spot, walk::Position};

/// The form of a result that a model reads as text, short and complete.
pub trait ToText {
    /// The whole answer, with what was cut and how to get it.
    fn to_text(&self) -> String;
}

/// A text with the sentences about what it lacks below it.
fn with_notes(text: &str, notes: &[String]) -> String {
    let mut out = text.to_owned();
    if !out.is_empty() && !notes.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    if !notes.is_empty() {
        out.push('[');
        out.push_str(&notes.join(" "));
        out.push(']');
    }
    out
}

/// When a file was modified, to the nanosecond: what tells a file from a later one.
fn modified(metadata: &Metadata) -> Option<String> {
    let time = metadata.modified().ok()?;
    show::time_exact(time.into_std())
}

/// The place after which a cut answer is continued; it has to lie where the search starts.
fn position_after(
    folders: &Folders,
    spot: &Spot<'_>,
    after: Option<&str>,
) -> Result<Option<Position>, FilesError> {
    let Some(after) = after else {
        return Ok(None);
    };
    let refused = || {
        FilesError::invalid(
            "after",
            "send the path that the cut answer named, with the same `path`.",
        )
    };
    let Ok(Spot::At(place)) = Spot::of_path(folders, after) else {
        return Err(refused());
    };
    if let Spot::At(start) = spot
        && (start.index() != place.index() || !place.below().starts_with(start.below()))
    {
        return Err(refused());
    }
    Ok(Some((place.index(), place.below().to_owned())))
}
