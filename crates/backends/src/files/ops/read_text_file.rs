//! `read_text_file`: a text file, or a piece of it by lines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        Count, FilesError, Folders,
        excerpt::{self, Excerpt, Want},
        pace::Pace,
        place::Place,
        spot::Spot,
    },
    ToText, with_notes,
};

/// Reads a UTF-8 text file, or some of its lines. A long file is cut, and the answer says how to get the rest.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReadTextFile {
    /// The file.
    pub path: String,
    /// Only the first lines, so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Count")]
    pub head: Option<Count>,
    /// Only the last lines, so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Count")]
    pub tail: Option<Count>,
    /// Line to start with, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Count")]
    pub offset: Option<Count>,
    /// Most lines to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Count")]
    pub limit: Option<Count>,
    /// Byte of the line to start with, from 1: for the rest of a very long line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Count")]
    pub column: Option<Count>,
}

/// The text that was read.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadTextFileResult {
    /// The file.
    pub path: String,
    /// The text as it stands in the file, without a byte order mark.
    pub content: String,
    /// Number of the first line in it, unless the file is too large to count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u64>,
    /// Lines of the whole file, unless it is too large to count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    /// What is not in the text, and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Reads text.
pub fn read_text_file(
    folders: &Folders,
    args: &ReadTextFile,
    cancelled: &dyn Fn() -> bool,
) -> Result<ReadTextFileResult, FilesError> {
    let pace = Pace::new(folders.limits(), cancelled);
    let want = args.want()?;
    let place = Spot::of_path(folders, &args.path)?.place()?;
    read(&place, want, folders.limits().text_bytes, folders, &pace)
}

/// The same for a part of the room that several files share.
pub(super) fn read(
    place: &Place<'_>,
    want: Want,
    room: usize,
    folders: &Folders,
    pace: &Pace<'_>,
) -> Result<ReadTextFileResult, FilesError> {
    let excerpt = excerpt::read(place, want, room, folders.limits(), pace)?;
    let note = excerpt.note();
    let Excerpt {
        text, first, total, ..
    } = excerpt;
    Ok(ReadTextFileResult {
        path: place.shown(),
        content: text,
        first_line: first,
        total_lines: total,
        note,
    })
}

impl ReadTextFile {
    fn want(&self) -> Result<Want, FilesError> {
        let by_place = self.offset.is_some() || self.limit.is_some() || self.column.is_some();
        match (self.head, self.tail) {
            (Some(_), Some(_)) => Err(FilesError::invalid("tail", "send either `head` or `tail`.")),
            (Some(_), None) if by_place => Err(FilesError::invalid(
                "head",
                "send either `head`, or `offset` with `limit`.",
            )),
            (None, Some(_)) if by_place => Err(FilesError::invalid(
                "tail",
                "send either `tail`, or `offset` with `limit`.",
            )),
            (Some(Count(lines)), None) => Ok(Want::From {
                line: 1,
                column: 1,
                lines,
            }),
            (None, Some(Count(lines))) => Ok(Want::Tail(lines)),
            (None, None) => Ok(Want::From {
                line: self.offset.map_or(1, |Count(line)| line),
                column: self.column.map_or(1, |Count(column)| column),
                lines: self.limit.map_or(u64::MAX, |Count(lines)| lines),
            }),
        }
    }
}

impl ToText for ReadTextFileResult {
    fn to_text(&self) -> String {
        with_notes(&self.content, self.note.as_slice())
    }
}
