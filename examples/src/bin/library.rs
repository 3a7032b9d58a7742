//! A shelf of books as resources, a prompt that quotes one, and completion of titles in both.

use std::collections::BTreeMap;

use polyport::{Completer, Cx, Fault, PromptReply, Resource, Server, Template, stdio};
use schemars::JsonSchema;
use serde::Deserialize;

const BOOKS: [(&str, &str); 3] = [
    (
        "emma",
        "Emma Woodhouse, handsome, clever, and rich, with a comfortable home …",
    ),
    (
        "middlemarch",
        "Miss Brooke had that kind of beauty which seems to be thrown into relief …",
    ),
    (
        "moby-dick",
        "Call me Ishmael. Some years ago, never mind how long precisely, …",
    ),
];

#[derive(Deserialize, JsonSchema)]
struct Continue {
    /// Title of the book.
    title: String,
    /// In whose manner; its own if left out.
    manner: Option<String>,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = Server::new("library", "1.0")
        .instructions("Read book://catalogue first: it names the titles.")
        .add_resource(
            Resource::new("book://catalogue", "catalogue", |_cx| async {
                Ok(catalogue())
            })
            .title("What is on the shelf")
            .mime_type("text/plain"),
        )
        .add_template(
            Template::new("book://{title}", "book", book)
                .title("A book")
                .description("How it begins.")
                .mime_type("text/plain"),
        )
        .completer(Completer::of_template("book://{title}", "title", titles))
        .prompt("continue", "Goes on with a book.", go_on)
        .completer(Completer::of_prompt("continue", "title", titles));
    stdio::serve(server).await?;
    Ok(())
}

fn catalogue() -> String {
    BOOKS.map(|(title, _)| title).join("\n")
}

fn find(title: &str) -> Option<&'static str> {
    let book = BOOKS.iter().find(|(known, _)| *known == title);
    book.map(|(_, text)| *text)
}

/// A [`Fault`] says that the request was wrong: the client is told, as every revision wants it.
async fn book(_cx: Cx, values: BTreeMap<String, String>) -> Result<String, Fault> {
    let title = values.get("title").map_or("", String::as_str);
    let text = find(title).ok_or_else(|| Fault::not_found(&format!("book://{title}")))?;
    Ok(text.to_owned())
}

/// Arguments of prompts are texts, and those that are no `Option` are required.
async fn go_on(_cx: Cx, asked: Continue) -> Result<PromptReply, Fault> {
    let text = find(&asked.title).ok_or_else(|| {
        Fault::invalid_params(format!(
            "no such book: {}; there are {}",
            asked.title,
            catalogue()
        ))
    })?;
    let manner = asked.manner.as_deref().unwrap_or("the author");
    Ok(PromptReply::new()
        .user(format!("Go on with this book in the manner of {manner}."))
        .assistant(text))
}

async fn titles(
    _cx: Cx,
    typed: String,
    _settled: BTreeMap<String, String>,
) -> Result<Vec<String>, Fault> {
    let fits = BOOKS.iter().filter(|(title, _)| title.starts_with(&typed));
    Ok(fits.map(|(title, _)| (*title).to_owned()).collect())
}
