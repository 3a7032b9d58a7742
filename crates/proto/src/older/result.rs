//! Results that say what a revision lacks.

use std::ops::Range;

use polyport_wire::{Raw, splice, write};
use serde_json::Value;
use serde_json::value::RawValue;

use super::block;
use crate::revision::{Profile, Structured};

/// The result of a method in words of the revision; none: it has all of it as it is.
///
/// A structured result of a kind that the revision lacks is left out, and stands in the content as JSON, where it did not already.
pub fn result(method: &str, result: &Raw, profile: &Profile) -> Option<Raw> {
    if profile.structured == Structured::Any && profile.audio && profile.resource_links {
        return None;
    }
    let text = result.as_str();
    match method {
        "tools/call" => called(text, profile),
        "prompts/get" => messages(text, profile),
        "tools/list" => tools(text, profile),
        _ => None,
    }
    .map(Raw::trusted)
}

/// A tool as it is listed in the revision; none: as it is. The schema of results of a kind that the revision lacks is left out.
pub fn tool(tool: &str, profile: &Profile) -> Option<Vec<u8>> {
    if profile.structured == Structured::Any || !tool.contains("\"outputSchema\"") {
        return None;
    }
    let schema = splice::member(tool, "outputSchema")?;
    let is_of_objects = || splice::member(schema, "type") == Some("\"object\"");
    if profile.structured == Structured::Object && schema.starts_with('{') && is_of_objects() {
        return None;
    }
    Some(without(tool, "outputSchema"))
}

fn tools(text: &str, profile: &Profile) -> Option<Vec<u8>> {
    each(text, splice::member(text, "tools")?, |_, item| {
        tool(item, profile)
    })
}

fn called(text: &str, profile: &Profile) -> Option<Vec<u8>> {
    // A long result is not read again for a client that knows every block.
    let lacks_blocks = !(profile.audio && profile.resource_links);
    let content = lacks_blocks.then(|| splice::member(text, "content"));
    let said = content
        .flatten()
        .and_then(|content| each(text, content, |n, it| block(it, n, profile)));
    let structured = Some(text)
        .filter(|text| text.contains("\"structuredContent\""))
        .and_then(|text| splice::member(text, "structuredContent"));
    let lacks = |value: &str| match profile.structured {
        Structured::Any => false,
        Structured::Object => !value.starts_with('{'),
        Structured::Absent => true,
    };
    let Some(structured) = structured.filter(|value| lacks(value)) else {
        return said;
    };
    let said = said.map(|said| String::from_utf8_lossy(&said).into_owned());
    Some(as_text(said.as_deref().unwrap_or(text), structured))
}

/// The result with its structured part as a text.
fn as_text(text: &str, structured: &str) -> Vec<u8> {
    let content = splice::member(text, "content").unwrap_or("[]");
    let items: Vec<&RawValue> = serde_json::from_str(content).unwrap_or_default();
    let is_said = items.iter().any(|item| says(item.get(), structured));
    let mut blocks = b"[".to_vec();
    for item in &items {
        if blocks.len() > 1 {
            blocks.push(b',');
        }
        blocks.extend_from_slice(item.get().as_bytes());
    }
    if !is_said {
        if blocks.len() > 1 {
            blocks.push(b',');
        }
        blocks.extend_from_slice(b"{\"type\":\"text\",\"text\":");
        write::string(&mut blocks, structured);
        blocks.push(b'}');
    }
    blocks.push(b']');
    let mut out = b"{".to_vec();
    write::member(&mut out, "content", &blocks);
    splice::members(text, |key, value| {
        if !matches!(key, "content" | "structuredContent") {
            write::member(&mut out, key, value.as_bytes());
        }
    });
    out.push(b'}');
    out
}

/// Does a block hold this JSON as its text?
fn says(block: &str, json: &str) -> bool {
    let text = block
        .starts_with('{')
        .then(|| splice::member(block, "text"));
    let text = text.flatten().and_then(crate::text::string);
    text.is_some_and(|text| {
        let said = serde_json::from_str::<Value>(&text);
        said.is_ok() && said.ok() == serde_json::from_str(json).ok()
    })
}

fn messages(text: &str, profile: &Profile) -> Option<Vec<u8>> {
    each(text, splice::member(text, "messages")?, |nth, message| {
        let content = splice::member(message, "content").filter(|_| message.starts_with('{'))?;
        let said = block(content, nth, profile)?;
        Some(exchange(
            message,
            &[(splice::place(message, content), &said)],
        ))
    })
}

/// The text with the items of a list in it exchanged for which `other` has another.
fn each(text: &str, list: &str, other: impl Fn(usize, &str) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let items: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    let mut edits = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let item = item.get();
        if item.starts_with('{')
            && let Some(other) = other(n + 1, item)
        {
            edits.push((splice::place(text, item), other));
        }
    }
    let edits: Vec<_> = edits.iter().map(|(at, new)| (at.clone(), &**new)).collect();
    (!edits.is_empty()).then(|| exchange(text, &edits))
}

fn exchange(text: &str, edits: &[(Range<usize>, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    splice::replace(text.as_bytes(), edits, &mut out);
    out
}

/// An object without one of its members.
fn without(object: &str, member: &str) -> Vec<u8> {
    let mut out = b"{".to_vec();
    splice::members(object, |key, value| {
        if key != member {
            write::member(&mut out, key, value.as_bytes());
        }
    });
    out.push(b'}');
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::revision::Revision;

    const AUDIO: &str = r#"{"type":"audio","data":"aQ==","mimeType":"a/b"}"#;
    const EMBEDDED: &str = r#"{"type":"resource","resource":{"uri":"polyport:audio/1","mimeType":"a/b","blob":"aQ=="}}"#;

    /// What each revision hears, where it is not what came.
    fn holds(method: &str, came: &str, old: [Option<&str>; 4]) {
        let came = Raw::from_static(Box::leak(came.to_owned().into_boxed_str()));
        let want = old.into_iter().chain([None]);
        for (revision, want) in Revision::ALL.into_iter().zip(want) {
            let said = result(method, &came, revision.profile());
            assert_eq!(
                said.as_ref().map(Raw::as_str),
                want,
                "{revision} {method} {came:?}"
            );
            if let Some(said) = said {
                assert!(
                    result(method, &said, revision.profile()).is_none(),
                    "{said:?}"
                );
            }
        }
    }

    // req: S-OLDER
    #[test]
    fn content_is_said_in_words_that_are_known() {
        let link = r#"{"type":"resource_link","uri":"x:y","name":"n"}"#;
        let text = r#"{"type":"text","text":"n: x:y"}"#;
        let other = r#"{"type":"x"}"#;
        for method in ["tools/call", "prompts/get"] {
            let of = |first: &str, second: &str| match method {
                "tools/call" => format!(r#"{{"content": [{first} , {second},{other}],"x-v":1e2}}"#),
                _ => format!(
                    r#"{{"messages":[{{"role":"user","content":{first}}},{{"content":{second},"role":"user"}},{other}],"x-v":1e2}}"#
                ),
            };
            let oldest = of(EMBEDDED, text);
            let older = of(AUDIO, text);
            holds(
                method,
                &of(AUDIO, link),
                [Some(&*oldest), Some(&*older), None, None],
            );
        }
        // What is no content is the server's own.
        for method in ["resources/read", "completion/complete"] {
            holds(method, &format!(r#"{{"content":[{AUDIO}]}}"#), [None; 4]);
        }
        for odd in [r#"{"content":7}"#, r#"{"content":[7]}"#, "{}"] {
            holds("tools/call", odd, [None; 4]);
        }
    }

    // req: S-OLDER
    #[test]
    fn structured_results_are_said_as_text() {
        let rows = [
            (
                r#"{"content":[],"structuredContent":{"a":9007199254740993}}"#,
                Some(r#"{"content":[{"type":"text","text":"{\"a\":9007199254740993}"}]}"#),
                None,
            ),
            (
                r#"{"structuredContent":[1,2],"isError":false}"#,
                Some(r#"{"content":[{"type":"text","text":"[1,2]"}],"isError":false}"#),
                Some(r#"{"content":[{"type":"text","text":"[1,2]"}],"isError":false}"#),
            ),
            // It is there already.
            (
                r#"{"content":[{"type":"text","text":"[ 1 , 2 ]"}],"structuredContent":[1,2]}"#,
                Some(r#"{"content":[{"type":"text","text":"[ 1 , 2 ]"}]}"#),
                Some(r#"{"content":[{"type":"text","text":"[ 1 , 2 ]"}]}"#),
            ),
            (
                r#"{"content":[{"type":"text","text":"two of them"}],"structuredContent":null}"#,
                Some(
                    r#"{"content":[{"type":"text","text":"two of them"},{"type":"text","text":"null"}]}"#,
                ),
                Some(
                    r#"{"content":[{"type":"text","text":"two of them"},{"type":"text","text":"null"}]}"#,
                ),
            ),
            // Somewhere else it is data.
            (
                r#"{"content":[],"x":{"structuredContent":[1]}}"#,
                None,
                None,
            ),
        ];
        for (came, absent, object) in rows {
            holds("tools/call", came, [absent, absent, object, object]);
        }
    }

    // req: S-OLDER
    #[test]
    fn schemas_of_results_are_listed_where_they_can_be() {
        let of = |schema: &str| {
            format!(r#"{{"tools":[{{"name":"a"{schema}}},{{"name":"b","x":1.0}}],"ttlMs":1}}"#)
        };
        let bare = of("");
        for (schema, is_of_objects) in [
            (r#"{"type":"object"}"#, true),
            (r#"{"properties":{},"type":"object"}"#, true),
            (r#"{"type":"array"}"#, false),
            (r#"{"type":["object","null"]}"#, false),
            (r#"{"anyOf":[{"type":"object"}]}"#, false),
            ("true", false),
        ] {
            let object = (!is_of_objects).then_some(&*bare);
            let listed = of(&format!(r#","outputSchema":{schema}"#));
            holds(
                "tools/list",
                &listed,
                [Some(&*bare), Some(&*bare), object, object],
            );
        }
    }

    // req: S-OLDER
    #[test]
    fn each_audio_has_an_address_of_its_own() {
        let came = format!(r#"{{"content":[{AUDIO},{AUDIO}]}}"#);
        let came = Raw::trusted(came);
        let said = result("tools/call", &came, Revision::V2024_11_05.profile()).unwrap();
        let second = EMBEDDED.replace("audio/1", "audio/2");
        assert_eq!(
            said.as_str(),
            format!(r#"{{"content":[{EMBEDDED},{second}]}}"#)
        );
    }
}
