//! The prompts, and the completion of an argument.

use polyport::{Completer, Content, PromptReply, Server};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::content::embedded;
use crate::media::PICTURE;

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// First text to repeat.
    arg1: String,
    /// Second text to repeat.
    arg2: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Place {
    /// URI of the resource to carry along.
    resource_uri: String,
}

/// Adds them.
pub fn add(server: Server) -> Server {
    server
        .prompt(
            "test_simple_prompt",
            "Takes no arguments.",
            |_cx, (): ()| async { Ok("Say hello.") },
        )
        .prompt(
            "test_prompt_with_arguments",
            "Repeats its two arguments.",
            |_cx, two: Two| async move { Ok(format!("First {}, then {}.", two.arg1, two.arg2)) },
        )
        .prompt(
            "test_prompt_with_embedded_resource",
            "Carries a resource along.",
            |_cx, place: Place| async move {
                let resource =
                    embedded(&place.resource_uri, "text/plain", "A text inside a prompt.");
                Ok(PromptReply::new()
                    .user(resource)
                    .user("What does the resource say?"))
            },
        )
        .prompt(
            "test_prompt_with_image",
            "Carries a picture along.",
            |_cx, (): ()| async {
                Ok(PromptReply::new()
                    .user(Content::image(PICTURE, "image/png"))
                    .user("Which colour is it?"))
            },
        )
        .completer(Completer::of_prompt(
            "test_prompt_with_arguments",
            "arg1",
            |_cx, typed, _settled| async move {
                let known = ["paris", "park", "party"];
                Ok(known
                    .into_iter()
                    .filter(|word| word.starts_with(&typed))
                    .map(str::to_owned)
                    .collect())
            },
        ))
}
