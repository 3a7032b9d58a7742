//! Names and addresses in the text of what passes, exchanged for those that clients see, or servers know. Everything else stays as it
//! came.

use std::ops::Range;

use polyport_wire::splice;

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
