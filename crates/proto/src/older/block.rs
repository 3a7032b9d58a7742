//! Blocks of content that a revision lacks.

use polyport_wire::{splice, write};

use crate::revision::Profile;
use crate::text::string;

/// A block in words of the revision; none: it has it as it is.
///
/// Audio becomes an embedded resource that holds the same bytes, at an address made of `nth`, which tells those of one result apart. A
/// link to a resource becomes a text: its name, its address and what it is.
///
/// ```
/// use polyport_proto::{Revision, older};
///
/// let link = r#"{"type":"resource_link","uri":"file:///a.md","name":"a.md","description":"Notes"}"#;
/// let said = older::block(link, 1, Revision::V2025_03_26.profile()).unwrap();
/// assert_eq!(said, br#"{"type":"text","text":"a.md: file:///a.md (Notes)"}"#);
/// assert_eq!(older::block(link, 1, Revision::LATEST.profile()), None);
/// ```
pub fn block(block: &str, nth: usize, profile: &Profile) -> Option<Vec<u8>> {
    if (profile.audio && profile.resource_links) || !block.starts_with('{') {
        return None;
    }
    match splice::member(block, "type")? {
        "\"audio\"" if !profile.audio => audio(block, nth),
        "\"resource_link\"" if !profile.resource_links => link(block),
        _ => None,
    }
}

fn audio(block: &str, nth: usize) -> Option<Vec<u8>> {
    let (mut data, mut kind) = (None, None);
    let mut out = b"{\"type\":\"resource\"".to_vec();
    splice::members(block, |key, value| match key {
        "type" => {}
        "data" => data = Some(value),
        "mimeType" => kind = Some(value),
        _ => write::member(&mut out, key, value.as_bytes()),
    });
    let mut resource = b"{".to_vec();
    write::member(
        &mut resource,
        "uri",
        format!("\"polyport:audio/{nth}\"").as_bytes(),
    );
    if let Some(kind) = kind {
        write::member(&mut resource, "mimeType", kind.as_bytes());
    }
    write::member(&mut resource, "blob", data?.as_bytes());
    resource.push(b'}');
    write::member(&mut out, "resource", &resource);
    out.push(b'}');
    Some(out)
}

fn link(block: &str) -> Option<Vec<u8>> {
    let (mut name, mut uri, mut what) = (None, None, None);
    let mut out = b"{\"type\":\"text\"".to_vec();
    let mut kept = Vec::new();
    splice::members(block, |key, value| match key {
        "name" => name = string(value),
        "uri" => uri = string(value),
        "description" => what = string(value),
        "annotations" | "_meta" => kept.push((key.to_owned(), value)),
        _ => {}
    });
    let mut said = format!("{}: {}", name.unwrap_or_default(), uri?);
    if let Some(what) = what {
        said.push_str(&format!(" ({what})"));
    }
    let mut text = Vec::new();
    write::string(&mut text, &said);
    write::member(&mut out, "text", &text);
    for (key, value) in kept {
        write::member(&mut out, &key, value.as_bytes());
    }
    out.push(b'}');
    Some(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::revision::Revision;

    // req: S-OLDER
    #[test]
    fn a_revision_hears_in_its_own_words_what_it_lacks() {
        let rows = [
            (
                r#"{"type":"audio","data":"aQ==","mimeType":"audio/wav","annotations":{"priority":1.0}}"#,
                [
                    Some(
                        r#"{"type":"resource","annotations":{"priority":1.0},"resource":{"uri":"polyport:audio/3","mimeType":"audio/wav","blob":"aQ=="}}"#,
                    ),
                    None,
                ],
            ),
            (
                r#"{"name":"é","uri":"x:\"y","type":"resource_link","size":9007199254740993,"_meta":{"k":1}}"#,
                [Some(r#"{"type":"text","text":"é: x:\"y","_meta":{"k":1}}"#); 2],
            ),
            (r#"{"type":"text","text":"audio"}"#, [None; 2]),
            (r#"{"type":"x-vendor","data":1}"#, [None; 2]),
            // What is none by its own revision is not for us to mend.
            (r#"{"type":"audio"}"#, [None; 2]),
            (r#"{"type":"resource_link"}"#, [None; 2]),
            ("7", [None; 2]),
        ];
        for (came, old) in rows {
            let want = [old[0], old[1], None, None, None];
            for (revision, want) in Revision::ALL.into_iter().zip(want) {
                let said = block(came, 3, revision.profile());
                let said = said.map(|said| String::from_utf8(said).unwrap());
                assert_eq!(said.as_deref(), want, "{revision} {came}");
            }
        }
    }
}
