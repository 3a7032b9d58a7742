//! Tools: a name, a description, a schema, and the Rust function behind them. Arguments are checked before it is called.

use std::any::TypeId;
use std::fmt;
use std::future::{Future, ready};
use std::sync::Arc;

use polyport_model::{Icon, Object, Schema, Tool as Listed, ToolAnnotations};
use polyport_proto::http::HeaderParam;
use polyport_proto::revision::{Profile, Structured};
use polyport_proto::{Outcome, TaskForm};
use polyport_rt::BoxFuture;
use polyport_wire::{Member, Params, Raw};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Facts;
use super::as_task::{AsTask, TaskMode};
use super::blocking;
use super::context::Cx;
use super::output::Output;
use super::reply::{IntoToolResult, fault_outcome, tool_outcome};
use crate::decode::decode;
use crate::error::{Fault, ToolError};
use crate::schema::{Validator, close, mirrored, tool_schema};

/// What a tool is called with in mind.
pub(crate) struct Checks {
    validator: Validator,
    /// What was declared of its structured value.
    output: Option<Arc<Output>>,
}

type Run = Box<dyn Fn(Arc<Facts>, Cx, Params) -> BoxFuture<Outcome> + Send + Sync>;

/// A tool.
pub struct Tool {
    listed: Listed,
    schema: Value,
    output: Option<Value>,
    as_task: AsTask,
    build: Box<dyn FnOnce(Arc<Checks>) -> Run + Send>,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.listed.name)
            .finish_non_exhaustive()
    }
}

impl Tool {
    /// A tool from an async function. Its first poll runs in the connection's own task: what blocks its thread belongs into
    /// [`blocking`](Self::blocking).
    pub fn new<A, T, F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        T: IntoToolResult + 'static,
        F: Fn(Cx, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        Self::typed::<A, T>(name.into(), description.into(), move |checks| {
            Box::new(move |facts: Arc<Facts>, cx: Cx, params: Params| {
                let profile = cx.revision().profile();
                let output = checks.output.clone();
                let called = arguments(&params)
                    .and_then(|text| checked::<A>(&checks.validator, text))
                    .map(|args| function(cx, args));
                match called {
                    Ok(future) => Box::pin(async move {
                        let result = future.await.and_then(T::into_tool_result);
                        tool_outcome(result, output.as_deref(), profile, &facts)
                    }) as BoxFuture<Outcome>,
                    Err(error) => Box::pin(ready(tool_outcome(
                        Err(error),
                        output.as_deref(),
                        profile,
                        &facts,
                    ))),
                }
            })
        })
    }

    /// A tool from a function that blocks its thread; it runs on the blocking pool and holds nothing up.
    pub fn blocking<A, T, F>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        T: IntoToolResult + Send + 'static,
        F: Fn(Cx, A) -> Result<T, ToolError> + Send + Sync + 'static,
    {
        let function = Arc::new(function);
        Self::new(name, description, move |cx, args: A| {
            let function = function.clone();
            async move {
                let ran = blocking::run(move || function(cx, args)).await;
                ran.unwrap_or_else(|not_run| Err(ToolError::new(not_run.to_string())))
            }
        })
    }

    /// A tool with a schema written by hand; it gets its arguments as JSON text that fits the schema.
    pub fn raw<T, F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        function: F,
    ) -> Self
    where
        T: IntoToolResult + 'static,
        F: Fn(Cx, Raw) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        let build = move |checks: Arc<Checks>| -> Run {
            Box::new(move |facts: Arc<Facts>, cx: Cx, params: Params| {
                let profile = cx.revision().profile();
                let output = checks.output.clone();
                let called = arguments(&params).and_then(|text| {
                    checks
                        .validator
                        .check(text)
                        .map_err(|invalid| ToolError::new(invalid.to_string()))?;
                    Ok(function(
                        cx,
                        if text == NOTHING {
                            Raw::from_static(NOTHING)
                        } else {
                            params.slice(text)
                        },
                    ))
                });
                match called {
                    Ok(future) => Box::pin(async move {
                        let result = future.await.and_then(T::into_tool_result);
                        tool_outcome(result, output.as_deref(), profile, &facts)
                    }) as BoxFuture<Outcome>,
                    Err(error) => Box::pin(ready(tool_outcome(
                        Err(error),
                        output.as_deref(),
                        profile,
                        &facts,
                    ))),
                }
            })
        };
        Self::assemble(
            name.into(),
            description.into(),
            schema,
            T::output_schema(),
            Box::new(build),
        )
    }

    fn typed<A, T>(
        name: String,
        description: String,
        build: impl FnOnce(Arc<Checks>) -> Run + Send + 'static,
    ) -> Self
    where
        A: JsonSchema + 'static,
        T: IntoToolResult,
    {
        let mut schema =
            tool_schema(schemars::SchemaGenerator::default().into_root_schema_for::<A>());
        close(&mut schema);
        Self::assemble(
            name,
            description,
            schema,
            T::output_schema(),
            Box::new(build),
        )
    }

    fn assemble(
        name: String,
        description: String,
        schema: Value,
        output: Option<Value>,
        build: Box<dyn FnOnce(Arc<Checks>) -> Run + Send>,
    ) -> Self {
        let mut schema = schema;
        // Said once is enough: each byte of a definition is paid for in every conversation.
        if let Some(object) = schema
            .as_object_mut()
            .filter(|o| o.get("description").is_some_and(|d| *d == description))
        {
            object.shift_remove("description");
        }
        let listed = Listed {
            description: (!description.is_empty()).then_some(description),
            ..Listed::new(name, Schema::default())
        };
        Self {
            listed,
            schema,
            output,
            as_task: AsTask::default(),
            build,
        }
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.listed.title = Some(title.into());
        self
    }

    /// It changes nothing.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.hints().read_only_hint = Some(true);
        self
    }

    /// Whether it may destroy something, rather than only add.
    #[must_use]
    pub fn destructive(mut self, destructive: bool) -> Self {
        self.hints().destructive_hint = Some(destructive);
        self
    }

    /// Calling it again with the same arguments changes nothing more.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.hints().idempotent_hint = Some(true);
        self
    }

    /// Whether it reaches beyond this server, such as the web.
    #[must_use]
    pub fn open_world(mut self, open: bool) -> Self {
        self.hints().open_world_hint = Some(open);
        self
    }

    /// Pictures for it.
    #[must_use]
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.listed.icons = Some(icons);
        self
    }

    /// Its `_meta`.
    #[must_use]
    pub fn meta(mut self, meta: Object) -> Self {
        self.listed.meta = Some(meta);
        self
    }

    /// Whether it runs as a task: it is answered at once, goes on by itself, and its client comes back for the result. Defaults to
    /// [`TaskMode::Forbidden`].
    ///
    /// Its function is the same either way. What it asks waits for its answer as long as the task is kept, and
    /// [`Cx::cancelled`](crate::Cx::cancelled) tells it that its client gave it up.
    ///
    /// ```
    /// use polyport::{Server, TaskMode, Tool};
    ///
    /// let build = Tool::new("build", "Builds the project.", |_cx, (): ()| async { Ok("built") });
    /// let server = Server::new("forge", "1.0.0").add_tool(build.task(TaskMode::Optional));
    /// # assert_eq!(server.counts(), (1, 0, 0));
    /// ```
    #[must_use]
    pub fn task(mut self, mode: TaskMode) -> Self {
        self.as_task.mode = mode;
        self
    }

    /// It becomes a task only where its function says so, by [`Cx::become_task`](crate::Cx::become_task): it may ask before. In the
    /// revision whose clients ask for tasks themselves it is one from its beginning all the same.
    #[must_use]
    pub fn task_later(mut self) -> Self {
        self.as_task.later = true;
        self
    }

    /// A hand-written schema of its structured result.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output = Some(schema);
        self
    }

    fn hints(&mut self) -> &mut ToolAnnotations {
        self.listed.annotations.get_or_insert_default()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.listed.name
    }

    /// Makes it ready to be called.
    ///
    /// # Panics
    /// The schema is not one, or the schema of an object; that is a fault in the program, found when it starts.
    pub(crate) fn register(mut self) -> Registered {
        let name = self.listed.name.clone();
        let complain = |why: &dyn fmt::Display| -> ! { panic!("tool {name:?}: {why}") };
        if self.schema.get("type").and_then(Value::as_str) != Some("object") {
            complain(
                &"its arguments must be an object: use a struct, or a schema of type \"object\"",
            );
        }
        let validator = Validator::new(&self.schema).unwrap_or_else(|error| complain(&error));
        let header_params = header_params(&self.schema);
        self.listed.input_schema = schema(&self.schema);
        let plain = encode(&self.listed);
        self.listed.execution = self.as_task.execution();
        let with_tasks = self.as_task.is_allowed().then(|| encode(&self.listed));
        self.listed.execution = None;
        let promised = self.output.as_ref().map(|schema| {
            if cfg!(debug_assertions)
                && let Err(error) = Validator::new(schema)
            {
                complain(&format!("its output schema: {error}"));
            }
            Arc::new(Output::new(&name, schema))
        });
        let output = self.output.map(|output| {
            self.listed.output_schema = Some(schema(&output));
            let of_object = output.get("type").and_then(Value::as_str) == Some("object");
            (of_object, encode(&self.listed))
        });
        let of_object = output.as_ref().is_some_and(|(of_object, _)| *of_object);
        let with_tasks = with_tasks.map(|without_output| {
            self.listed.execution = self.as_task.execution();
            if of_object {
                encode(&self.listed)
            } else {
                without_output
            }
        });
        Registered {
            plain,
            with_tasks,
            as_task: self.as_task,
            output,
            header_params,
            run: (self.build)(Arc::new(Checks {
                validator,
                output: promised,
            })),
            name,
        }
    }
}

fn schema(value: &Value) -> Schema {
    Raw::encode(value)
        .ok()
        .and_then(Schema::new)
        .unwrap_or_default()
}

fn encode(listed: &Listed) -> Raw {
    Raw::encode(listed).expect("tools are made of text and JSON")
}

/// A tool of a running server.
pub(crate) struct Registered {
    pub(crate) name: String,
    /// As it is listed without an output schema.
    plain: Raw,
    /// As it is listed with one; and whether that is the schema of an object.
    output: Option<(bool, Raw)>,
    /// As it is listed where tools say whether they run as tasks; none: as elsewhere.
    with_tasks: Option<Raw>,
    pub(crate) as_task: AsTask,
    pub(crate) header_params: Option<Arc<[HeaderParam]>>,
    pub(crate) run: Run,
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Registered {
    /// As it is listed to clients of that revision.
    pub(crate) fn listed(&self, profile: &Profile) -> &Raw {
        if let Some(listed) = self.with_tasks.as_ref()
            && profile.tasks == TaskForm::Core
        {
            return listed;
        }
        match (&self.output, profile.structured) {
            (Some((_, full)), Structured::Any) | (Some((true, full)), Structured::Object) => full,
            _ => &self.plain,
        }
    }
}

const NOTHING: &str = "{}";

/// The text of the arguments: absent and null are no arguments.
fn arguments(params: &Params) -> Result<&str, ToolError> {
    match params.arguments() {
        Some(text) if text.starts_with('{') => Ok(text),
        Some("null") => Ok(NOTHING),
        None if !params.has(Member::Arguments) => Ok(NOTHING),
        _ => Err(Fault::invalid_params("tools/call: arguments must be an object").into()),
    }
}

fn checked<A: DeserializeOwned + 'static>(
    validator: &Validator,
    text: &str,
) -> Result<A, ToolError> {
    validator
        .check(text)
        .map_err(|invalid| ToolError::new(invalid.to_string()))?;
    // The schema of () is that of an object without members; serde reads it from null only.
    let text = if TypeId::of::<A>() == TypeId::of::<()>() {
        "null"
    } else {
        text
    };
    decode(text).map_err(|violation| ToolError::new(violation.to_string()))
}

/// The arguments marked with `x-mcp-header`.
fn header_params(schema: &Value) -> Option<Arc<[HeaderParam]>> {
    let found = mirrored::header_params(schema).unwrap_or_else(|why| panic!("{why}"));
    (!found.is_empty()).then(|| found.into())
}

/// Ends a call of a tool that does not exist.
pub(crate) fn unknown(name: &str) -> Outcome {
    let name = polyport_proto::outcome::shorten(name);
    fault_outcome(
        "tools/call",
        Fault::invalid_params(format!("Unknown tool: {name}")),
    )
}
