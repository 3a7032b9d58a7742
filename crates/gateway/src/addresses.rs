//! Names and addresses in the text of what passes, exchanged for those that clients see, or servers know. Everything else stays as it
//! came.

use std::borrow::Cow;
use std::ops::Range;

use polyport::Raw;
use polyport_wire::{splice, write};
use serde_json::value::RawValue;

/// Members of results in which resources are named: contents, content of tools, messages of prompts, a resource in the midst of these.
const PARTS: [&str; 4] = ["contents", "content", "messages", "resource"];

/// A result with other addresses, by what `shown` says for those of the server.
pub(crate) fn shown(result: Raw, shown: impl Fn(&str) -> Option<String>) -> Raw {
    let text = result.as_str();
    let mut edits = Vec::new();
    let mut look = |at: Range<usize>, uri: &str| {
        if let Some(uri) = shown(uri) {
            let mut value = Vec::new();
            write::string(&mut value, &uri);
            edits.push((at, value));
        }
    };
    part(text, text, &mut look);
    if edits.is_empty() {
        return result;
    }
    let borrowed: Vec<_> = edits.iter().map(|(at, new)| (at.clone(), &**new)).collect();
    let mut out = Vec::new();
    splice::replace(text.as_bytes(), &borrowed, &mut out);
    Raw::trusted(out)
}

/// Looks at each address in a part of a text.
fn part(whole: &str, object: &str, look: &mut impl FnMut(Range<usize>, &str)) {
    splice::members(object, |key, value| {
        if key == "uri" && value.starts_with('"') {
            if let Ok(uri) = serde_json::from_str::<Cow<'_, str>>(value) {
                look(splice::place(whole, value), &uri);
            }
        } else if PARTS.contains(&key) && value.starts_with('{') {
            part(whole, value, look);
        } else if PARTS.contains(&key)
            && let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value)
        {
            for item in items.iter().filter(|item| item.get().starts_with('{')) {
                part(whole, item.get(), look);
            }
        }
    });
}

/// An object with another value as one of its members; none: it has no such member.
pub(crate) fn exchanged(object: &str, member: &str, value: &[u8]) -> Option<Vec<u8>> {
    let mut at = None;
    splice::members(object, |key, value| {
        if key == member {
            at = Some(splice::place(object, value));
        }
    });
    let mut out = Vec::new();
    splice::replace(object.as_bytes(), &[(at?, value)], &mut out);
    Some(out)
}

/// A member of an object that is a text.
pub(crate) fn text_of(object: &str, member: &str) -> Option<String> {
    let mut found = None;
    splice::members(object, |key, value| {
        if key == member {
            found = serde_json::from_str(value).ok();
        }
    });
    found
}

/// The page that a tool has hosts show (`_meta.ui.resourceUri`, and the older `_meta["ui/resourceUri"]`): where its address stands.
pub(crate) fn page(tool: &str) -> Option<(Range<usize>, String)> {
    let mut found = None;
    let mut link = |value: &str| {
        if let Ok(uri) = serde_json::from_str::<String>(value) {
            found.get_or_insert_with(|| (splice::place(tool, value), uri));
        }
    };
    splice::members(tool, |key, value| {
        if key != "_meta" || !value.starts_with('{') {
            return;
        }
        splice::members(value, |key, value| match key {
            "ui/resourceUri" => link(value),
            "ui" if value.starts_with('{') => splice::members(value, |key, value| {
                if key == "resourceUri" {
                    link(value);
                }
            }),
            _ => {}
        });
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: S-GATE-NAMES
    #[test]
    fn addresses_are_said_as_they_are_seen() {
        let rows = [
            (
                r#"{"contents":[{"uri":"x:a","text":"x:a"}, {"uri":"x:b"}]}"#,
                r#"{"contents":[{"uri":"s+x:a","text":"x:a"}, {"uri":"x:b"}]}"#,
            ),
            (
                r#"{"content":[{"type":"resource_link","uri":"x:a","name":"x:a"},{"type":"resource","resource":{"uri":"x:\u0061"}},7]}"#,
                r#"{"content":[{"type":"resource_link","uri":"s+x:a","name":"x:a"},{"type":"resource","resource":{"uri":"s+x:a"}},7]}"#,
            ),
            (
                r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"x:a"}}}]}"#,
                r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"s+x:a"}}}]}"#,
            ),
            // Data of tools are their own.
            (
                r#"{"structuredContent":{"uri":"x:a"},"content":"x:a","_meta":{"uri":"x:a"}}"#,
                r#"{"structuredContent":{"uri":"x:a"},"content":"x:a","_meta":{"uri":"x:a"}}"#,
            ),
        ];
        for (came, want) in rows {
            let said = shown(Raw::from_static(came), |uri| {
                (uri == "x:a").then(|| "s+x:a".to_owned())
            });
            assert_eq!(said.as_str(), want);
        }
    }

    // req: S-GATE-NAMES
    #[test]
    fn pages_of_tools_are_found_where_hosts_look() {
        for (tool, want) in [
            (
                r#"{"_meta":{"ui":{"resourceUri":"ui://a"}}}"#,
                Some("ui://a"),
            ),
            (r#"{"_meta":{"ui/resourceUri":"ui://a"}}"#, Some("ui://a")),
            (r#"{"_meta":{"ui":"ui://a","resourceUri":"ui://a"}}"#, None),
            (r#"{"ui":{"resourceUri":"ui://a"}}"#, None),
        ] {
            let found = page(tool);
            assert_eq!(found.as_ref().map(|(_, uri)| &**uri), want, "{tool}");
            if let Some((at, _)) = found {
                assert_eq!(&tool[at], "\"ui://a\"");
            }
        }
    }
}
