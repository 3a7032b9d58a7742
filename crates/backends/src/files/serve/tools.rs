//! The operations as tools: names, titles, hints, and which form a result is sent in.

use std::sync::Arc;

use data_encoding::BASE64;
use polyport::model::{Content, EmbeddedResource, ResourceContents};
use polyport::schemars::{JsonSchema, SchemaGenerator};
use polyport::serde::Serialize;
use polyport::serde::de::DeserializeOwned;
use polyport::serde_json::{Map, Value};
use polyport::{Cx, Fault, IntoToolResult, Json, Server, Tool, ToolError, ToolResult};

use super::super::ops::{self, Medium, ReadMediaFileResult, ToText};
use super::super::watch::Watch;
use super::super::{FilesError, Folders};
use super::Access;
use super::view::Views;

/// The tools that read, and those that change something if they may.
pub(super) fn add(server: Server, views: &Views, watch: &Arc<Watch>, access: Access) -> Server {
    let server = reading(Tools(server, views));
    match access {
        Access::Read => server,
        Access::Write => writing(Tools(server, views), watch),
    }
}

fn reading(tools: Tools<'_>) -> Server {
    let all = tools.1.clone();
    let list_allowed_directories = Tool::new(
        "list_allowed_directories",
        description::<ops::ListAllowedDirectories>(),
        move |cx: Cx, _args: ops::ListAllowedDirectories| {
            let views = all.clone();
            async move {
                let folders = views.of(&cx).await?;
                Ok(text(ops::list_allowed_directories(&folders)))
            }
        },
    );
    tools
        .reads(
            "list_directory",
            "List a directory",
            ops::list_directory,
            text,
        )
        .reads("directory_tree", "Show a tree", ops::directory_tree, text)
        .reads(
            "search_files",
            "Find files by name",
            ops::search_files,
            text,
        )
        .reads(
            "search_contents",
            "Search in files",
            ops::search_contents,
            text,
        )
        .reads("read_text_file", "Read a text", ops::read_text_file, text)
        .reads(
            "read_multiple_files",
            "Read several texts",
            ops::read_multiple_files,
            text,
        )
        .reads(
            "read_media_file",
            "Read a picture or sound",
            ops::read_media_file,
            medium,
        )
        .reads(
            "get_file_info",
            "Describe a file",
            ops::get_file_info,
            Shown,
        )
        .0
        .add_tool(
            list_allowed_directories
                .title("List the served folders")
                .read_only()
                .open_world(false),
        )
}

fn writing(tools: Tools<'_>, watch: &Arc<Watch>) -> Server {
    tools
        .writes(
            "write_file",
            "Write a text",
            ops::write_file,
            Hints::DESTROYS_ONCE,
            Some(watch),
        )
        .writes(
            "edit_file",
            "Edit a text",
            ops::edit_file,
            Hints::DESTROYS,
            None,
        )
        .writes(
            "create_directory",
            "Make a directory",
            ops::create_directory,
            Hints::ADDS_ONCE,
            Some(watch),
        )
        .writes(
            "move_file",
            "Move or rename",
            ops::move_file,
            Hints::DESTROYS,
            Some(watch),
        )
        .writes(
            "copy_file",
            "Copy",
            ops::copy_file,
            Hints::ADDS_ONCE,
            Some(watch),
        )
        .writes(
            "delete_file",
            "Delete",
            ops::delete_file,
            Hints::DESTROYS_ONCE,
            Some(watch),
        )
        .0
}

/// What a client may say to its user before it calls (server/tools, Tool annotations).
#[derive(Clone, Copy)]
struct Hints {
    /// Something may be gone afterwards that was there before, be it to another path.
    destructive: bool,
    /// A second call with the same arguments changes nothing more.
    idempotent: bool,
}

impl Hints {
    const ADDS_ONCE: Self = Self {
        destructive: false,
        idempotent: true,
    };
    const DESTROYS: Self = Self {
        destructive: true,
        idempotent: false,
    };
    const DESTROYS_ONCE: Self = Self {
        destructive: true,
        idempotent: true,
    };
}

type Operation<A, R> = fn(&Folders, &A, &dyn Fn() -> bool) -> Result<R, FilesError>;

/// A server in the making, and what its tools work on.
struct Tools<'a>(Server, &'a Views);

impl Tools<'_> {
    /// One operation that changes nothing.
    fn reads<A, R, T>(
        self,
        name: &str,
        title: &str,
        operation: Operation<A, R>,
        show: fn(R) -> T,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: 'static,
        T: IntoToolResult + Send + 'static,
    {
        let tool = tool(name, title, self.1, operation, show, None).read_only();
        Self(self.0.add_tool(tool), self.1)
    }

    /// One operation that changes something, and whom to tell that files may have come or gone.
    fn writes<A, R>(
        self,
        name: &str,
        title: &str,
        operation: Operation<A, R>,
        hints: Hints,
        watch: Option<&Arc<Watch>>,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: ToText + 'static,
    {
        let tool = tool(name, title, self.1, operation, text, watch).destructive(hints.destructive);
        let tool = if hints.idempotent {
            tool.idempotent()
        } else {
            tool
        };
        Self(self.0.add_tool(tool), self.1)
    }
}

/// One operation as a tool that blocks on the disk.
fn tool<A, R, T>(
    name: &str,
    title: &str,
    views: &Views,
    operation: Operation<A, R>,
    show: fn(R) -> T,
    watch: Option<&Arc<Watch>>,
) -> Tool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: 'static,
    T: IntoToolResult + Send + 'static,
{
    let (views, watch) = (views.clone(), watch.cloned());
    let run = move |cx: Cx, args: A| {
        let (views, watch) = (views.clone(), watch.clone());
        async move {
            let folders = views.of(&cx).await?;
            let done = polyport::blocking(move || {
                let done = operation(&folders, &args, &|| cx.is_cancelled());
                if let Some(watch) = watch {
                    watch.list_may_have_changed();
                }
                match done {
                    Ok(result) => Ok(show(result)),
                    Err(error) => Err(told(&error)),
                }
            });
            done.await?
        }
    };
    Tool::new(name, description::<A>(), run)
        .title(title)
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

/// A result with a structured form beside its text: for a record whose members programs ask for by name. Where the
/// structured form would only say the text again, at twice the cost and with a schema that every conversation pays for,
/// there is none.
struct Shown<R>(R);

impl<R: Serialize + JsonSchema + ToText> IntoToolResult for Shown<R> {
    fn output_schema() -> Option<Value> {
        Json::<R>::output_schema().map(terse)
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::structured(&self.0)
            .map_err(Fault::internal)?
            .with_text(self.0.to_text()))
    }
}

/// The schema of a flat record without descriptions: its names say it, and the text of the result says it again.
fn terse(mut schema: Value) -> Value {
    let strip = |schema: &mut Map<String, Value>| {
        schema.shift_remove("description");
        schema.shift_remove("format");
    };
    if let Some(root) = schema.as_object_mut() {
        strip(root);
        let members = root.get_mut("properties").and_then(Value::as_object_mut);
        members
            .into_iter()
            .flat_map(Map::values_mut)
            .filter_map(Value::as_object_mut)
            .for_each(strip);
    }
    schema
}

/// Only as text.
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
