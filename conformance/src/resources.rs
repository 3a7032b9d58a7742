//! The resources and the template.

use std::collections::BTreeMap;

use polyport::model::ResourceContents;
use polyport::serde_json::json;
use polyport::{Resource, Server, Template};

use crate::media::PICTURE;

const BINARY: &str = "test://static-binary";

/// Adds them.
pub fn add(server: Server) -> Server {
    server
        .add_resource(
            Resource::new("test://static-text", "static-text", |_cx| async {
                Ok("Always the same text.")
            })
            .description("A text that stays the same.")
            .mime_type("text/plain"),
        )
        .add_resource(
            Resource::new(BINARY, "static-binary", |_cx| async {
                Ok(ResourceContents::blob(BINARY, PICTURE))
            })
            .description("A picture that stays the same.")
            .mime_type("image/png"),
        )
        .add_template(
            Template::new(
                "test://template/{id}/data",
                "template-data",
                |_cx, values: BTreeMap<String, String>| async move {
                    let id = values.get("id").map_or("", String::as_str);
                    Ok(json!({ "id": id, "data": format!("about {id}") }).to_string())
                },
            )
            .description("Data by id.")
            .mime_type("application/json"),
        )
}
