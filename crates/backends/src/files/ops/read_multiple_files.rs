//! `read_multiple_files`: several text files in one answer; one that fails does not spoil the rest.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{FilesError, Folders, excerpt::Want, pace::Pace, show, spot::Spot},
    ToText, read_text_file,
};

/// Reads several UTF-8 text files at once. Each has its own text or error; long ones are cut to share the room.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReadMultipleFiles {
    /// The files.
    #[schemars(length(min = 1))]
    pub paths: Vec<String>,
}

/// The files, in the order asked for.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadMultipleFilesResult {
    /// One for each path.
    pub files: Vec<FileText>,
}

/// A file's text, or why there is none.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileText {
    /// The path as it was asked for.
    pub path: String,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// What is not in the text, and how `read_text_file` gets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why there is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Reads several files.
pub fn read_multiple_files(
    folders: &Folders,
    args: &ReadMultipleFiles,
    cancelled: &dyn Fn() -> bool,
) -> Result<ReadMultipleFilesResult, FilesError> {
    let limits = folders.limits();
    let pace = Pace::new(limits, cancelled);
    let most = limits.paths;
    if args.paths.is_empty() || args.paths.len() > most {
        return Err(FilesError::invalid(
            "paths",
            format!("send 1 to {most} paths."),
        ));
    }
    let mut room = limits.text_bytes;
    let mut files = Vec::with_capacity(args.paths.len());
    for (done, path) in args.paths.iter().enumerate() {
        // What short files leave is shared by the files after them.
        let share = room / (args.paths.len() - done);
        let whole = Want::From {
            line: 1,
            column: 1,
            lines: u64::MAX,
        };
        let read = (Spot::of_path(folders, path).and_then(|spot| spot.place()))
            .and_then(|place| read_text_file::read(&place, whole, share, folders, &pace));
        files.push(match read {
            Ok(read) => {
                room = room.saturating_sub(read.content.len());
                FileText {
                    path: path.clone(),
                    content: Some(read.content),
                    note: read.note,
                    error: None,
                }
            }
            Err(FilesError::Cancelled) => return Err(FilesError::Cancelled),
            Err(error) => FileText {
                path: path.clone(),
                content: None,
                note: None,
                error: Some(error.to_string()),
            },
        });
    }
    Ok(ReadMultipleFilesResult { files })
}

impl ToText for ReadMultipleFilesResult {
    fn to_text(&self) -> String {
        let mut text = String::new();
        for FileText {
            path,
            content,
            note,
            error,
        } in &self.files
        {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "==> {} <==", show::one_line(path));
            if let Some(content) = content {
                text.push_str(content);
                if !content.is_empty() && !content.ends_with('\n') {
                    text.push('\n');
                }
            }
            if let Some(note) = note {
                let _ = writeln!(text, "[{note}]");
            }
            if let Some(error) = error {
                let _ = writeln!(text, "[Error: {error}]");
            }
            text.push('\n');
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }
}
