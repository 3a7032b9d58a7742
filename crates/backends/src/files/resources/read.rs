//! The contents of one resource: text where it is UTF-8, else bytes.

use std::io::Read as _;

use super::super::{FilesError, Folders, mime, pace::Pace, place::Place, spot::Spot, text};

/// Bytes asked from the disk between two looks at whether to go on.
const CHUNK: u64 = 256 * 1024;

/// A resource's contents.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Contents {
    /// The URI.
    pub uri: String,
    /// The media type.
    pub mime_type: Option<String>,
    /// What it holds.
    pub body: Body,
}

/// Text or bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Body {
    /// Bytes that are no UTF-8 text.
    Blob(Vec<u8>),
    /// UTF-8 text without a byte order mark.
    Text(String),
}

/// Reads the resource `uri`, which the contents repeat letter by letter.
pub fn read(
    folders: &Folders,
    uri: &str,
    cancelled: &dyn Fn() -> bool,
) -> Result<Contents, FilesError> {
    let found = Spot::of_uri(folders, uri)
        .and_then(Spot::place)
        .and_then(|place| contents(folders, &place, cancelled));
    match found {
        Ok(found) => Ok(Contents {
            uri: uri.to_owned(),
            ..found
        }),
        // Under the URI as it was asked for, wherever that leads.
        Err(FilesError::Missing { .. }) => Err(folders.missing(uri)),
        Err(error) => Err(error),
    }
}

/// Can the resource `uri` be read now? Else the error with which [`read`] would answer.
pub fn check(folders: &Folders, uri: &str) -> Result<(), FilesError> {
    let place = Spot::of_uri(folders, uri).and_then(Spot::place);
    match place.and_then(|place| place.open_file().map(drop)) {
        Err(FilesError::Missing { .. }) => Err(folders.missing(uri)),
        checked => checked,
    }
}

pub(in super::super) fn contents(
    folders: &Folders,
    place: &Place<'_>,
    cancelled: &dyn Fn() -> bool,
) -> Result<Contents, FilesError> {
    let pace = Pace::new(folders.limits(), cancelled);
    let bytes = bytes_of(place, folders.limits().media_bytes, &pace)?;
    let name = place.below();
    let uri = place.uri();
    Ok(match as_text(bytes) {
        Ok(text) => {
            let mime = mime::guess(name)
                .filter(|mime| is_textual(mime))
                .unwrap_or("text/plain");
            Contents {
                uri,
                mime_type: Some(mime.into()),
                body: Body::Text(text),
            }
        }
        Err(bytes) => {
            let mime = mime::of_binary(name, &bytes);
            Contents {
                uri,
                mime_type: Some(mime.into()),
                body: Body::Blob(bytes),
            }
        }
    })
}

fn bytes_of(place: &Place<'_>, limit: u64, pace: &Pace<'_>) -> Result<Vec<u8>, FilesError> {
    let (mut file, metadata) = place.open_file()?;
    let too_large = |size| FilesError::TooLarge {
        path: place.shown(),
        size,
        limit,
        instead: "Of a text, read_text_file reads one part after another.",
    };
    if metadata.len() > limit {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::new();
    loop {
        pace.must_go_on(|| place.shown())?;
        let read = (&mut file)
            .take(CHUNK)
            .read_to_end(&mut bytes)
            .map_err(|error| place.fault(error))?;
        if read == 0 {
            return Ok(bytes);
        }
        // It may grow while it is read.
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
    }
}

fn as_text(mut bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    let Ok(bom) = text::probe(&bytes) else {
        return Err(bytes);
    };
    if bytes.contains(&0) || std::str::from_utf8(&bytes).is_err() {
        return Err(bytes);
    }
    bytes.drain(..bom);
    String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes)
}

/// Types that text may be labelled with.
fn is_textual(mime: &str) -> bool {
    let sub = mime.split_once('/').map_or("", |(_, sub)| sub);
    mime.starts_with("text/")
        || ["json", "xml", "toml", "yaml", "sql"]
            .iter()
            .any(|form| sub.ends_with(form))
        || sub.ends_with("jsonl")
        || sub == "rtf"
}
