//! `get_file_info`: what the disk knows about one file or directory.

use std::fmt::Write as _;

use cap_std::fs::Metadata;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{FilesError, Folders, Kind, excerpt, mime, pace::Pace, place::Place, show, spot::Spot},
    ToText,
};

/// Largest text whose lines are counted on the way.
const COUNTED: u64 = 1024 * 1024;

/// Tells about a file or directory: kind, size, times, permissions, media type, number of lines.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GetFileInfo {
    /// The file or directory.
    pub path: String,
}

/// What is known.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetFileInfoResult {
    /// The path.
    pub path: String,
    /// Its URI.
    pub uri: String,
    /// What it is; of a link, what it leads to.
    pub kind: Kind,
    /// Whether the path itself is a link.
    pub is_link: bool,
    /// Bytes of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub size: Option<u64>,
    /// When it was last changed (UTC), to the nanosecond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub modified: Option<String>,
    /// When it was made (UTC), where the disk keeps that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub created: Option<String>,
    /// When it was last read (UTC), where the disk keeps that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub accessed: Option<String>,
    /// Permissions: octal on Unix, elsewhere `read-only` or `read-write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub permissions: Option<String>,
    /// Media type, as the name suggests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub mime_type: Option<String>,
    /// Lines of a text up to 1 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub lines: Option<u64>,
}

/// Tells about a path.
pub fn get_file_info(
    folders: &Folders,
    args: &GetFileInfo,
    cancelled: &dyn Fn() -> bool,
) -> Result<GetFileInfoResult, FilesError> {
    let pace = Pace::new(folders.limits(), cancelled);
    pace.go_on()?;
    match Spot::of_path(folders, &args.path)? {
        Spot::Top(_) => Err(FilesError::invalid(
            "path",
            "\".\" stands for all working folders; list_allowed_directories tells about them.",
        )),
        Spot::At(place) => inform(&place, &pace),
    }
}

fn inform(place: &Place<'_>, pace: &Pace<'_>) -> Result<GetFileInfoResult, FilesError> {
    let is_link = place.link_metadata()?.is_symlink();
    let metadata = place.metadata()?;
    let is_file = metadata.is_file();
    let lines = match excerpt_lines(place, &metadata, pace) {
        Err(FilesError::Cancelled) => return Err(FilesError::Cancelled),
        // A file that may not be read still has the rest told about it.
        lines => lines.unwrap_or_default(),
    };
    let time = |time: std::io::Result<cap_std::time::SystemTime>| {
        time.ok().and_then(|time| show::time(time.into_std()))
    };
    Ok(GetFileInfoResult {
        path: place.shown(),
        uri: place.uri(),
        kind: Kind::of(&metadata),
        is_link,
        size: is_file.then(|| metadata.len()),
        modified: super::modified(&metadata),
        created: time(metadata.created()),
        accessed: time(metadata.accessed()),
        permissions: Some(permissions(&metadata)),
        mime_type: mime::guess(place.below())
            .filter(|_| is_file)
            .map(str::to_owned),
        lines,
    })
}

fn excerpt_lines(
    place: &Place<'_>,
    metadata: &Metadata,
    pace: &Pace<'_>,
) -> Result<Option<u64>, FilesError> {
    if !metadata.is_file() || metadata.len() > COUNTED {
        return Ok(None);
    }
    excerpt::count(place, COUNTED, pace)
}

fn permissions(metadata: &Metadata) -> String {
    #[cfg(unix)]
    {
        use cap_std::fs::PermissionsExt as _;
        format!("{:o}", metadata.permissions().mode() & 0o7777)
    }
    #[cfg(not(unix))]
    {
        if metadata.permissions().readonly() {
            "read-only".into()
        } else {
            "read-write".into()
        }
    }
}

impl ToText for GetFileInfoResult {
    fn to_text(&self) -> String {
        let kind = match self.kind {
            Kind::File => "file",
            Kind::Directory => "directory",
            Kind::Link => "link",
            Kind::Other => "pipe, socket or device",
        };
        let mut text = format!(
            "path: {}\nkind: {kind}{}\n",
            self.path,
            if self.is_link { " (by a link)" } else { "" }
        );
        let lines = self.lines.map(|lines| lines.to_string());
        let size = self.size.map(|size| format!("{size} bytes"));
        for (name, value) in [
            ("size", &size),
            ("lines", &lines),
            ("type", &self.mime_type),
            ("modified", &self.modified),
            ("created", &self.created),
            ("accessed", &self.accessed),
            ("permissions", &self.permissions),
        ] {
            if let Some(value) = value {
                // Writing to a `String` cannot fail.
                let _ = writeln!(text, "{name}: {value}");
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}
