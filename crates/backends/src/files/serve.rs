//! The files back-end as a part of an MCP server: the operations as tools, the files as resources. What is done with the disk
//! stands elsewhere.

use std::sync::Arc;
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use polyport::model::{
    Completion, Content, EmbeddedResource, Resource as Listed, ResourceContents,
};
use polyport::schemars::{JsonSchema, SchemaGenerator};
use polyport::serde::Serialize;
use polyport::serde::de::DeserializeOwned;
use polyport::serde_json::Value;
use polyport::{
    BoxFuture, Completer, Cx, Fault, IntoToolResult, Json, Page, ResourceSource, Server, Template,
    Tool, ToolError, ToolResult,
};

use super::ops::{self, Medium, ReadMediaFileResult, ToText};
use super::resources::{self, Body, Contents};
use super::{FilesError, Folders};

/// How a model should use it.
pub const INSTRUCTIONS: &str = "files: paths are relative to a served folder, or absolute inside one. Find names with search_files, \
text with search_contents, then read with read_text_file. Nothing can be changed.";

/// How long files are counted.
const COUNTING: Duration = Duration::from_millis(250);

/// How many resources there are, and whether there are more: those of the first page. None where it would take long.
pub fn count_resources(folders: &Folders) -> Option<(usize, bool)> {
    let begun = Instant::now();
    let page = resources::list(folders, None, &|| begun.elapsed() > COUNTING).ok()?;
    Some((page.resources.len(), page.next_cursor.is_some()))
}

/// Adds the tools, the resources and the completion of paths to a server.
pub fn extend(server: Server, folders: Folders) -> Server {
    let folders = Arc::new(folders);
    let mut server = tools(server, &folders);
    for template in resources::templates(&folders) {
        let listed = Template::of_source(&template.uri_template, template.name)
            .title("A file")
            .description("Any file below the folder, by its path.");
        server = server
            .add_template(listed)
            .completer(paths(&folders, template.uri_template));
    }
    server.resource_source(Files(folders))
}

/// Completion of the path in one of the templates.
fn paths(folders: &Arc<Folders>, uri_template: String) -> Completer {
    let (folders, template) = (folders.clone(), uri_template.clone());
    Completer::of_template_counted(uri_template, "path", move |cx, typed, _settled| {
        let (folders, template) = (folders.clone(), template.clone());
        off_thread(move || {
            let found = resources::complete(&folders, &template, &typed, &|| cx.is_cancelled())?;
            Ok(Completion {
                has_more: Some(found.has_more()),
                total: i64::try_from(found.total).ok(),
                values: found.values,
                ..Completion::default()
            })
        })
    })
}

fn tools(server: Server, folders: &Arc<Folders>) -> Server {
    let all = folders.clone();
    server
        .add_tool(tool(
            "list_directory",
            "List a directory",
            folders,
            ops::list_directory,
            shown,
        ))
        .add_tool(tool(
            "directory_tree",
            "Show a tree",
            folders,
            ops::directory_tree,
            shown,
        ))
        .add_tool(tool(
            "search_files",
            "Find files by name",
            folders,
            ops::search_files,
            shown,
        ))
        .add_tool(tool(
            "search_contents",
            "Search in files",
            folders,
            ops::search_contents,
            shown,
        ))
        .add_tool(tool(
            "read_text_file",
            "Read a text",
            folders,
            ops::read_text_file,
            text,
        ))
        .add_tool(tool(
            "read_multiple_files",
            "Read several texts",
            folders,
            ops::read_multiple_files,
            text,
        ))
        .add_tool(tool(
            "read_media_file",
            "Read a picture or sound",
            folders,
            ops::read_media_file,
            medium,
        ))
        .add_tool(tool(
            "get_file_info",
            "Describe a file",
            folders,
            ops::get_file_info,
            shown,
        ))
        .add_tool(
            Tool::new(
                "list_allowed_directories",
                description::<ops::ListAllowedDirectories>(),
                move |_cx, _args: ops::ListAllowedDirectories| {
                    let result = ops::list_allowed_directories(&all);
                    async move { Ok(Shown(result)) }
                },
            )
            .title("List the served folders")
            .read_only()
            .open_world(false),
        )
}

type Operation<A, R> = fn(&Folders, &A, &dyn Fn() -> bool) -> Result<R, FilesError>;

/// One operation as a tool that blocks on the disk.
fn tool<A, R, T>(
    name: &str,
    title: &str,
    folders: &Arc<Folders>,
    operation: Operation<A, R>,
    show: fn(R) -> T,
) -> Tool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: 'static,
    T: IntoToolResult + Send + 'static,
{
    let folders = folders.clone();
    let run = move |cx: Cx, args: A| match operation(&folders, &args, &|| cx.is_cancelled()) {
        Ok(result) => Ok(show(result)),
        Err(error) => Err(told(&error)),
    };
    Tool::blocking(name, description::<A>(), run)
        .title(title)
        .read_only()
        .open_world(false)
}

/// The sentence for the model. What the system said stays in our log.
fn told(error: &FilesError) -> ToolError {
    if let Some(source) = std::error::Error::source(error) {
        tracing::warn!(%error, %source, "files");
    }
    ToolError::new(error.to_string())
}

/// The documentation of the arguments is what a model chooses the tool by.
fn description<A: JsonSchema>() -> String {
    let schema = SchemaGenerator::default().into_root_schema_for::<A>();
    schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// A result with a structured form and a text of its own.
struct Shown<R>(R);

impl<R: Serialize + JsonSchema + ToText> IntoToolResult for Shown<R> {
    fn output_schema() -> Option<Value> {
        Json::<R>::output_schema()
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::structured(&self.0)
            .map_err(Fault::internal)?
            .with_text(self.0.to_text()))
    }
}

fn shown<R>(result: R) -> Shown<R> {
    Shown(result)
}

/// Only as text: a structured form would say it all a second time.
#[allow(clippy::needless_pass_by_value)]
fn text<R: ToText>(result: R) -> String {
    result.to_text()
}

fn medium(result: ReadMediaFileResult) -> Content {
    let data = BASE64.encode(&result.bytes);
    match result.medium {
        Medium::Image => Content::image(data, result.mime_type),
        Medium::Audio => Content::audio(data, result.mime_type),
        Medium::Resource => {
            let contents = ResourceContents {
                mime_type: Some(result.mime_type),
                ..ResourceContents::blob(result.uri, data)
            };
            Content::Resource(EmbeddedResource::new(contents))
        }
    }
}

fn contents(contents: Contents) -> Vec<ResourceContents> {
    let made = match contents.body {
        Body::Text(text) => ResourceContents::text(contents.uri, text),
        Body::Blob(bytes) => ResourceContents::blob(contents.uri, BASE64.encode(&bytes)),
    };
    vec![ResourceContents {
        mime_type: contents.mime_type,
        ..made
    }]
}

/// The files as resources.
struct Files(Arc<Folders>);

impl ResourceSource for Files {
    fn list(&self, cx: Cx, from: Option<String>) -> BoxFuture<Result<Page<Listed>, Fault>> {
        let folders = self.0.clone();
        Box::pin(async move {
            let page = off_thread(move || {
                resources::list(&folders, from.as_deref(), &|| cx.is_cancelled())
            })
            .await?;
            let items = page.resources.into_iter().map(|r| Listed {
                mime_type: r.mime_type,
                size: r.size.and_then(|size| i64::try_from(size).ok()),
                ..Listed::new(r.uri, r.name)
            });
            Ok(Page {
                items: items.collect(),
                next: page.next_cursor,
            })
        })
    }

    fn read(&self, cx: Cx, uri: String) -> BoxFuture<Result<Option<Vec<ResourceContents>>, Fault>> {
        let folders = self.0.clone();
        Box::pin(async move {
            if !uri.starts_with("file:") {
                return Ok(None);
            }
            off_thread(move || resources::read(&folders, &uri, &|| cx.is_cancelled()).map(contents))
                .await
                .map(Some)
        })
    }
}

/// Runs what blocks on the disk elsewhere, and words its failure for the protocol.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FilesError> + Send + 'static,
) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work)
        .await
        .map_err(Fault::internal)?;
    done.map_err(|error| match &error {
        FilesError::Missing { path, .. } => Fault::not_found_because(path, error.to_string()),
        FilesError::Failed { source, .. } => Fault::internal(format!("{error}: {source}")),
        _ => Fault::invalid_params(error.to_string()),
    })
}
