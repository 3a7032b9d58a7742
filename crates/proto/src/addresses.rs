//! Addresses of resources in results, said as others see them. Everything else stays as it came.

use std::borrow::Cow;
use std::ops::Range;

use polyport_wire::{Raw, splice, write};
use serde_json::value::RawValue;

/// Members of results in which resources are named: contents, content of tools, messages of prompts, a resource in the midst of these, and the
/// result of a task.
const PARTS: [&str; 5] = ["contents", "content", "messages", "resource", "result"];

/// A result with other addresses, by what `shown` says for those of the server.
pub fn shown(result: Raw, shown: impl Fn(&str) -> Option<String>) -> Raw {
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
}
