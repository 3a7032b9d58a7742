//! `polyport call`: calls one tool of any server. Standard output is the result and nothing else.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use polyport::model::{CallToolResult, ProgressParams, Tool};
use polyport::schema::Validator;
use polyport::{Client, ClientError, OnProgress, Raw, Wait};
use serde_json::{Map, Value, json};

use crate::answers::Answers;
use crate::arguments;
use crate::failure::Failure;
use crate::render;
use crate::runtime;
use crate::server::{self, Words};
use crate::ui;

/// How long a call may say nothing.
const IDLE: Duration = Duration::from_secs(60);
/// How long a call runs before its progress is shown.
const QUIET: Duration = Duration::from_millis(400);

/// Call a tool of a server
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport call [OPTIONS] SERVER TOOL [ARGUMENT]...\n       polyport call [OPTIONS] -- COMMAND... -- TOOL [ARGUMENT]...",
    after_help = "\
ARGUMENT is typed by the tool's schema, and checked before anything is sent:
  key=value  key:=json  key=@file  key=@-  a.b=1 (a member of a member)  a[]=x (one more element)
Exit codes: 0 the tool answered, 2 the arguments do not fit, 4 no server there, 5 the tool failed
or there is none of that name, 6 a fault of the protocol, 7 timed out, 8 the server asks a person,
130 interrupted (the server is told).

Examples:
  polyport call demo add a=2 b=3
  polyport call demo order --answer drink=tea --answer cups=2
  polyport call -- npx -y @modelcontextprotocol/server-everything -- echo message=hi"
)]
pub(crate) struct Call {
    #[command(flatten)]
    server: Words,
    /// Print the result of the protocol, one JSON document, untouched
    #[arg(long)]
    json: bool,
    /// All arguments at once: a JSON object, @file, or @- for standard input
    #[arg(long, value_name = "JSON|@FILE")]
    args: Option<String>,
    /// Send the arguments without a look at the schema
    #[arg(long)]
    unchecked: bool,
    /// One answer to a form that the server may ask for (repeatable)
    #[arg(long = "answer", value_name = "FIELD=VALUE")]
    answers: Vec<String>,
}

impl Call {
    /// Calls the tool.
    ///
    /// # Errors
    /// It was not called, or failed.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let mut named = self.server.named("call")?;
        let shown = named.shown.clone();
        let timeout = named.timeout;
        let mut words = std::mem::take(&mut named.rest).into_iter();
        let tool = words.next();
        let words: Vec<String> = words.collect();
        runtime::run(async move {
            let answers = Answers::new(self.answers);
            let client = named.answered_by(&answers).connect().await?;
            let asked = Asked {
                tool,
                words,
                args: self.args,
                unchecked: self.unchecked,
                timeout,
            };
            let called = asked.call(&client, &shown).await;
            let shown = match (called, answers.unanswered()) {
                (Ok(result), None) => show(&result, self.json, &shown),
                // What came of it came of nobody being there.
                (_, Some(unanswered)) => Err(unanswered),
                (Err(failure), None) => Err(failure),
            };
            client.close().await;
            shown
        })
    }
}

struct Asked {
    tool: Option<String>,
    words: Vec<String>,
    args: Option<String>,
    unchecked: bool,
    timeout: Option<Duration>,
}

impl Asked {
    async fn call(self, client: &Client, server: &str) -> Result<Raw, Failure> {
        let tools = client
            .tools()
            .await
            .map_err(|error| server::failure(&error, server))?;
        let tool = find(self.tool.as_deref(), &tools, server)?;
        let schema: Value = serde_json::to_value(&tool.input_schema).unwrap_or_default();
        let arguments = self.arguments(&schema)?;
        if !self.unchecked {
            check(&arguments, &schema, tool)?;
        }
        let params = json!({"name": tool.name, "arguments": arguments}).to_string();
        let wait = Wait {
            idle: Some(IDLE),
            total: self.timeout,
            progress: Some(progress(&tool.name)),
        };
        let asked = client.request_raw("tools/call", &params, Some(wait));
        let result = runtime::unless_interrupted(asked).await?;
        ui::clear_status();
        result.map_err(|error| server::failure(&error, server))
    }

    fn arguments(&self, schema: &Value) -> Result<Map<String, Value>, Failure> {
        let Some(text) = &self.args else {
            return arguments::parse(&self.words, schema);
        };
        if !self.words.is_empty() {
            return Err(
                Failure::usage("--args gives all arguments, but there are others")
                    .hint("leave one of the two out"),
            );
        }
        let text = match text.strip_prefix('@') {
            Some(file) => arguments::contents(file)
                .map_err(|error| Failure::usage(format!("--args: cannot read {file}: {error}")))?,
            None => text.clone(),
        };
        serde_json::from_str(&text)
            .map_err(|error| Failure::usage(format!("--args is no JSON object: {error}")))
    }
}

fn find<'a>(name: Option<&str>, tools: &'a [Tool], server: &str) -> Result<&'a Tool, Failure> {
    let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
    let Some(name) = name else {
        return Err(
            Failure::usage("no tool is named").hint(format!("{server} has {}", names.join(", ")))
        );
    };
    tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let failure = Failure::unexpected(format!("{server} has no tool {name}")).code(5);
        match arguments::nearest(name, &names) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint(format!("it has {}", names.join(", "))),
        }
    })
}

/// Holds the arguments to the whole schema, before anything is sent.
fn check(arguments: &Map<String, Value>, schema: &Value, tool: &Tool) -> Result<(), Failure> {
    let missing = arguments::missing(arguments, schema);
    if !missing.is_empty() {
        return Err(
            Failure::usage(format!("{} needs more arguments", tool.name))
                .hint(format!("give also:\n    {}", missing.join("\n    "))),
        );
    }
    let Ok(validator) = Validator::new(schema) else {
        ui::say("note: the schema of this tool cannot be read; the server judges the arguments\n");
        return Ok(());
    };
    let text = Value::Object(arguments.clone()).to_string();
    validator.check(&text).map_err(|invalid| {
        Failure::usage(format!("{}: {invalid}", tool.name))
            .hint("--unchecked sends them all the same")
    })
}

fn show(result: &Raw, json: bool, server: &str) -> Result<ExitCode, Failure> {
    let read: CallToolResult = result.decode().map_err(|error| {
        let error = ClientError::Unreadable(error.to_string());
        server::failure(&error, server)
    })?;
    if json {
        render::json(result)?;
    } else {
        render::tool_result(&read)?;
    }
    Ok(ExitCode::from(if read.is_error == Some(true) {
        5
    } else {
        0
    }))
}

/// Shows progress on a terminal, once the call has taken a while.
fn progress(tool: &str) -> OnProgress {
    let tool = tool.to_owned();
    let begun = Instant::now();
    let shows = std::io::stderr().is_terminal();
    Arc::new(move |progress: ProgressParams| {
        let elapsed = begun.elapsed();
        if !shows || elapsed < QUIET {
            return;
        }
        let of = progress.total.as_ref().map(|total| format!("/{total}"));
        ui::status(&format!(
            "{tool}  {}{}  {:.1} s  {}",
            progress.progress,
            of.unwrap_or_default(),
            elapsed.as_secs_f64(),
            progress.message.as_deref().unwrap_or_default(),
        ));
    })
}
