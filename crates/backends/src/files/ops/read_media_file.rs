//! `read_media_file`: the bytes of an image, a sound or another binary file, with their type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{FilesError, Folders, resources, spot::Spot},
    ToText,
};

/// Reads an image or sound; other binary files come as a resource. Text is refused: use read_text_file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReadMediaFile {
    /// The file.
    pub path: String,
}

/// What kind of content block carries the bytes.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    /// Sound that the bytes prove to be one.
    Audio,
    /// An image that the bytes prove to be one.
    Image,
    /// Anything else: an embedded resource.
    Resource,
}

/// A binary file.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadMediaFileResult {
    /// The file.
    pub path: String,
    /// Its URI, for an embedded resource.
    pub uri: String,
    /// How its bytes are carried.
    pub medium: Medium,
    /// Its type: what the bytes prove, or else what the name says.
    pub mime_type: String,
    /// Number of bytes.
    pub size: u64,
    /// The bytes themselves, for a content block and not for the structured result.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// Reads a binary file.
pub fn read_media_file(
    folders: &Folders,
    args: &ReadMediaFile,
    cancelled: &dyn Fn() -> bool,
) -> Result<ReadMediaFileResult, FilesError> {
    let place = Spot::of_path(folders, &args.path)?.place()?;
    let contents = resources::contents(folders, &place, cancelled)?;
    let bytes = match contents.body {
        resources::Body::Blob(bytes) => bytes,
        resources::Body::Text(_) => {
            let problem = format!(
                "{} is text. Use read_text_file.",
                super::super::show::quoted(&place.shown())
            );
            return Err(FilesError::invalid("path", problem));
        }
    };
    let mime_type = contents
        .mime_type
        .unwrap_or_else(|| "application/octet-stream".into());
    let medium = match mime_type.split_once('/') {
        Some(("image", _)) => Medium::Image,
        Some(("audio", _)) => Medium::Audio,
        _ => Medium::Resource,
    };
    Ok(ReadMediaFileResult {
        path: place.shown(),
        uri: contents.uri,
        medium,
        mime_type,
        size: bytes.len() as u64,
        bytes,
    })
}

impl ToText for ReadMediaFileResult {
    fn to_text(&self) -> String {
        format!("{}: {}, {} bytes", self.path, self.mime_type, self.size)
    }
}
