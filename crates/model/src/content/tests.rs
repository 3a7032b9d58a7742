//! Owns the tests of content blocks.
#![allow(clippy::unwrap_used)]

use super::*;

fn block(text: &str) -> Result<Content, serde_json::Error> {
    serde_json::from_str(text)
}

#[test]
fn t41_an_unknown_kind_is_kept_as_it_came() {
    let text = r#"{"z":1.0, "type":"hologram", "a":[1e400]}"#;
    let Content::Unknown(raw) = block(text).unwrap() else {
        panic!("known")
    };
    assert_eq!(raw.as_str(), text);
    assert_eq!(serde_json::to_string(&Content::Unknown(raw)).unwrap(), text);
}

#[test]
fn the_type_may_stand_anywhere_and_be_escaped() {
    assert_eq!(
        block(r#"{"text":"hi","type":"te\u0078t"}"#).unwrap(),
        Content::text("hi")
    );
}

#[test]
fn malformed_blocks_are_errors_and_say_what_is_wrong() {
    for (text, says) in [
        ("[]", "string `type`"),
        ("{}", "string `type`"),
        (r#"{"type":7}"#, "string `type`"),
        (r#"{"type":"text"}"#, "`text`"),
        (r#"{"type":"text","text":1}"#, "string"),
        (r#"{"type":"text","text":"a","text":"b"}"#, "duplicate"),
        (r#"{"type":"text","text":"a","type":"image"}"#, "`type`"),
        (r#"{"type":"image","data":""}"#, "`mimeType`"),
        (r#"{"type":"resource","resource":{"uri":"a:b"}}"#, "`text`"),
    ] {
        let error = block(text).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn t25_hints_of_an_embedded_resource_are_read_in_both_places() {
    for text in [
        r#"{"type":"resource","resource":{"uri":"a:b","text":""},"annotations":{"priority":1}}"#,
        r#"{"type":"resource","resource":{"uri":"a:b","text":"","annotations":{"priority":1}}}"#,
    ] {
        let Content::Resource(resource) = block(text).unwrap() else {
            panic!("{text}")
        };
        assert_eq!(resource.hints().unwrap().priority, Some(1.into()), "{text}");
        assert_eq!(serde_json::to_string(&resource).unwrap(), text);
    }
}

#[test]
fn t39_null_is_a_structured_value() {
    let text = r#"{"type":"tool_result","toolUseId":"1","content":[],"structuredContent":null}"#;
    let Content::ToolResult(result) = block(text).unwrap() else {
        panic!()
    };
    assert!(result.structured_content.as_ref().unwrap().is_null());
    assert_eq!(serde_json::to_string(&result).unwrap(), text);
}

#[test]
fn tool_answers_do_not_nest() {
    let text = r#"{"type":"tool_result","toolUseId":"1","content":[{"type":"tool_result","toolUseId":"2","content":[]},{"type":"text","text":""}]}"#;
    let Content::ToolResult(result) = block(text).unwrap() else {
        panic!()
    };
    assert!(matches!(
        &*result.content.0,
        [Content::Unknown(_), Content::Text(_)]
    ));
    assert_eq!(serde_json::to_string(&result).unwrap(), text);
}

#[test]
fn one_or_many_blocks_are_written_as_they_came() {
    for (text, count) in [
        (r#"{"type":"text","text":"a"}"#, 1),
        (r#"[{"type":"text","text":"a"}]"#, 1),
        ("[]", 0),
    ] {
        let blocks: Blocks = serde_json::from_str(text).unwrap();
        assert_eq!(blocks.as_slice().len(), count);
        assert_eq!(serde_json::to_string(&blocks).unwrap(), text);
    }
    assert!(serde_json::from_str::<Blocks>("7").is_err());
}

#[test]
fn a_link_has_every_member_of_a_resource() {
    let resource = Resource {
        size: Some(3),
        ..Resource::new("a:b", "b")
    };
    let link = serde_json::to_string(&ResourceLink::from(resource)).unwrap();
    assert_eq!(
        link,
        r#"{"type":"resource_link","uri":"a:b","name":"b","size":3}"#
    );
}
