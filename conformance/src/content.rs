//! Tools that answer at once, with each kind of content.

use polyport::model::{EmbeddedResource, ResourceContents};
use polyport::{Content, Server};

use crate::media::{PICTURE, SOUND};

/// Adds them.
pub fn add(server: Server) -> Server {
    server
        .tool(
            "test_simple_text",
            "Answers with a text.",
            |_cx, (): ()| async { Ok("One plain text.") },
        )
        .tool(
            "test_image_content",
            "Answers with a picture.",
            |_cx, (): ()| async { Ok(Content::image(PICTURE, "image/png")) },
        )
        .tool(
            "test_audio_content",
            "Answers with a sound.",
            |_cx, (): ()| async { Ok(Content::audio(SOUND, "audio/wav")) },
        )
        .tool(
            "test_embedded_resource",
            "Answers with a resource.",
            |_cx, (): ()| async {
                Ok(embedded(
                    "test://embedded",
                    "text/plain",
                    "A text inside a result.",
                ))
            },
        )
        .tool(
            "test_multiple_content_types",
            "Answers with a text, a picture and a resource.",
            |_cx, (): ()| async {
                Ok(vec![
                    Content::text("A picture and a resource follow."),
                    Content::image(PICTURE, "image/png"),
                    embedded("test://mixed", "application/json", r#"{"blocks":3}"#),
                ])
            },
        )
}

/// A text resource as a block.
pub fn embedded(uri: &str, mime_type: &str, text: &str) -> Content {
    let contents = ResourceContents {
        mime_type: Some(mime_type.to_owned()),
        ..ResourceContents::text(uri, text)
    };
    Content::Resource(EmbeddedResource::new(contents))
}
