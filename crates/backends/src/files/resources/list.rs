//! All files as resources, page by page, in the order of a walk.

use super::{
    super::{
        FilesError, Folders, Kind, mime,
        pace::Pace,
        place::Place,
        spot::Spot,
        walk::{Filter, Found, Walk},
    },
    cursor,
};

/// One page of the list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Page {
    /// The resources; a page may be empty and yet not be the last.
    pub resources: Vec<Resource>,
    /// Where the next page starts; nothing on the last.
    pub next_cursor: Option<String>,
}

/// A file as a resource.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Resource {
    /// The `file://` URI.
    pub uri: String,
    /// The path as the tools show it.
    pub name: String,
    /// The media type that the name suggests.
    pub mime_type: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
}

/// Lists files, but for hidden ones and those that `.gitignore` leaves out. (They can be read all the same.) A file in
/// a folder that lies in another one is listed once, below the inner folder.
pub fn list(
    folders: &Folders,
    cursor: Option<&str>,
    cancelled: &dyn Fn() -> bool,
) -> Result<Page, FilesError> {
    let limits = folders.limits();
    let pace = Pace::new(limits, cancelled);
    let after = cursor
        .map(|cursor| cursor::decode(folders, cursor))
        .transpose()?;
    let spot = match Place::roots(folders).as_slice() {
        [] => {
            return Ok(Page {
                resources: Vec::new(),
                next_cursor: None,
            });
        }
        [only] => Spot::At(only.clone()),
        _ => Spot::Top(folders),
    };
    let filter = Filter::default();
    let mut walk = Walk::new(folders, spot, &filter, after, &pace);
    let mut resources = Vec::new();
    let (mut last, mut room) = (None, limits.listed_bytes);
    while let Some(found) = walk.next()? {
        if found.kind != Kind::File || found.place.is_in_inner_folder() {
            continue;
        }
        if resources.len() >= limits.page.max(1) || !resources.is_empty() && room == 0 {
            let next_cursor = last.map(|last| cursor::encode(folders, &last));
            return Ok(Page {
                resources,
                next_cursor,
            });
        }
        last = Some((found.place.index(), found.place.below().to_owned()));
        let described = describe(&found);
        let length = |r: &Resource| r.uri.len() + r.name.len();
        room = room.saturating_sub(described.as_ref().map_or(0, length));
        resources.extend(described);
    }
    let tally = walk.tally();
    let next_cursor = match (tally.stopped, tally.last) {
        (None, _) => None,
        (Some(_), Some(last)) => Some(cursor::encode(folders, &last)),
        // A cursor for the same page again would never come to an end.
        (Some(_), None) => return Err(FilesError::TimeUp { path: ".".into() }),
    };
    Ok(Page {
        resources,
        next_cursor,
    })
}

/// Nothing for a file that vanished since its name was read.
fn describe(found: &Found<'_>) -> Option<Resource> {
    let metadata = found.place.link_metadata().ok()?;
    Some(Resource {
        uri: found.place.uri(),
        name: found.place.shown(),
        mime_type: mime::guess(found.place.below()).map(str::to_owned),
        size: Some(metadata.len()),
    })
}
