//! `polyport call`: calls one tool of any server. Standard output is the result and nothing else.

use std::collections::HashSet;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use polyport::client::List;
use polyport::model::{CallToolParams, CallToolResult, Object, Tool};
use polyport::schema::Validator;
use polyport::{Client, ClientError, Level, Raw, Wait};
use serde_json::Value;

use crate::answers::Answers;
use crate::arguments;
use crate::failure::Failure;
use crate::infile;
use crate::limit::Limit;
use crate::logs;
use crate::otherwise::otherwise;
use crate::printing::Printing;
use crate::progress::{self, Meter};
use crate::refused::{self, Wanted};
use crate::runtime::unless_after;
use crate::seen::{self, Callable};
use crate::server::{self, Words};
use crate::terminal;
use crate::typed::Typed;
use crate::{render, ui, values, verb};

/// How long a call may say nothing.
const IDLE: Duration = Duration::from_secs(60);

/// Call a tool of a server
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport call [OPTIONS] SERVER TOOL [ARGUMENT]...\n       polyport call [OPTIONS] -- COMMAND... -- TOOL [ARGUMENT]...",
    after_help = "\
ARGUMENT is typed by the tool's schema, and checked before anything is sent:
  key=value  key:=json  key=@file  key=@-  a.b=1 (a member of a member)  a[]=x (one more element)
A list of flat objects is shown as a table, with tabs between its cells where no terminal is.
The codes with which this ends: polyport help exit-codes

Examples:
  polyport call demo add a=2 b=3
  polyport call demo order --answer drink=tea --answer cups=2
  polyport call -- npx -y @modelcontextprotocol/server-everything -- echo message=hi"
)]
pub(crate) struct Call {
    #[command(flatten)]
    server: Words,
    #[command(flatten)]
    printing: Printing,
    /// All arguments: a JSON object, @file, or @- for standard input
    #[arg(long, value_name = "JSON|@FILE")]
    args: Option<String>,
    /// Send and take what does not fit the schemas
    #[arg(long)]
    unchecked: bool,
    /// Call it as a task, and wait for that
    #[arg(long)]
    task: bool,
    /// Give the call up after so many seconds, as Ctrl-C does
    #[arg(long, value_name = "SECONDS", value_parser = values::seconds)]
    cancel_after: Option<Duration>,
    /// An answer to what the server may ask (repeatable)
    #[arg(long = "answer", value_name = "FIELD=VALUE")]
    answers: Vec<String>,
    /// A command that answers what is asked of a model: text in, text out
    #[arg(long, value_name = "COMMAND")]
    sample_cmd: Option<String>,
    /// Progress: auto (at a terminal), plain (a line each) or none
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "HOW",
        hide_possible_values = true,
        hide_default_value = true
    )]
    progress: progress::Shown,
    /// Print log messages of this level and above beside it, such as info
    #[arg(long, value_name = "LEVEL", value_parser = logs::level)]
    level: Option<Level>,
}

impl Call {
    /// Calls the tool.
    ///
    /// # Errors
    /// It was not called, or failed.
    pub(crate) fn run(mut self) -> Result<ExitCode, Failure> {
        let is_document = self.printing.is_document()?;
        let mut named = self.server.named("call")?;
        let shown = named.shown.clone();
        let limit = named.limit;
        let mut words = std::mem::take(&mut named.rest).into_iter();
        let answers = Answers::new(self.answers);
        let asked = Asked {
            tool: words.next(),
            words: words.collect(),
            args: self.args,
            unchecked: self.unchecked,
            typed: named.typed.clone(),
            limit,
            is_task: self.task,
            cancel_after: self.cancel_after,
            progress: self.progress,
            logs: self.level,
        };
        let named = named
            .answered_by(&answers)
            .sampled_by(self.sample_cmd, &answers);
        verb::with(named, async |client| {
            let called = asked.call(client, &shown, &answers).await?;
            if called.has_failed() {
                self.printing.no_file();
            }
            if is_document {
                self.printing.document(&called.raw).await?;
            } else {
                called.show(&self.printing)?;
            }
            called.verdict(is_document)
        })
    }
}

struct Asked {
    tool: Option<String>,
    words: Vec<String>,
    args: Option<String>,
    unchecked: bool,
    typed: Typed,
    limit: Limit,
    is_task: bool,
    cancel_after: Option<Duration>,
    progress: progress::Shown,
    logs: Option<Level>,
}

/// What a tool answered.
struct Called {
    raw: Raw,
    result: CallToolResult,
    took: Duration,
    /// Why it is not what the tool says that it answers.
    misfit: Option<Failure>,
}

impl Asked {
    async fn call(
        &self,
        client: &Client,
        server: &str,
        answers: &Answers,
    ) -> Result<Called, Failure> {
        let tools = self.tools(client, server).await?;
        let named = self.tool.as_deref();
        let listed = match find(named, &tools, server) {
            // The server says itself that there is none.
            Err(_) if self.unchecked && named.is_some() => None,
            found => Some(found?),
        };
        let tool = listed.map_or_else(|| named.unwrap_or_default(), |tool| &tool.name);
        let schema = listed.map_or(Value::Bool(true), |tool| {
            serde_json::to_value(&tool.input_schema).unwrap_or_default()
        });
        let mut arguments = self.arguments(&schema)?;
        if let Some(listed) = listed.filter(|_| !self.unchecked) {
            arguments = terminal::complete(arguments, &schema, listed.input_schema.as_raw()).await;
            check(&arguments, &schema, tool, &self.words)?;
        }
        let arguments = Raw::encode(&arguments).map_err(Failure::unexpected)?;
        let params = CallToolParams::new(tool, Some(arguments));
        let params = Raw::encode(&params).map_err(Failure::unexpected)?;
        let meter = self.progress.of(tool);
        let wait = Wait {
            // Whoever says how long waits so long.
            idle: self.limit.time().is_none().then_some(IDLE),
            progress: meter.as_ref().map(Meter::hears),
            logs: self.logs,
            ..Wait::default()
        };
        if let Some(level) = self.logs {
            let asked = logs::ask(client, level).await;
            asked.map_err(|error| server::failure(&error, server))?;
        }
        let begun = Instant::now();
        // On the heap: each of what is laid around it below would hold all of it twice.
        let params = params.as_str();
        let asked: Pin<Box<dyn Future<Output = _>>> = match (self.is_task, self.unchecked) {
            (true, true) => Box::pin(client.call_as_task_anyway_raw(params, Some(wait))),
            (true, false) => Box::pin(client.call_as_task_raw(params, Some(wait))),
            (false, _) => Box::pin(client.request_raw("tools/call", params, Some(wait))),
        };
        let asked = async {
            if self.logs.is_some() || meter.is_some() {
                logs::said_until(client, asked).await
            } else {
                asked.await
            }
        };
        let asked = async {
            match &meter {
                Some(meter) => meter.shown_until(asked).await,
                None => asked.await,
            }
        };
        let asked = self.limit.within(client, asked);
        let failed = |error: &ClientError| match error {
            ClientError::NotOffered(what) if self.is_task => no_task(tool, what, server),
            _ => refused::failure(error, server, Wanted::Tool(tool)),
        };
        let raw = unless_after(self.cancel_after, answers.during(asked, failed)).await??;
        let took = begun.elapsed();
        let result: CallToolResult = server::decoded(client, &raw, server)?;
        let (result, misfit) = match self.unchecked {
            true => (result, None),
            false => held(client, tool, result, server)?,
        };
        Ok(Called {
            raw,
            result,
            took,
            misfit,
        })
    }

    /// The tools that there are; none, where they cannot be told and nothing is checked.
    async fn tools(&self, client: &Client, server: &str) -> Result<Vec<Tool>, Failure> {
        let tools = match client.tools().await {
            Err(
                ClientError::NotOffered(_) | ClientError::Refused(_) | ClientError::Unreadable(_),
            ) if self.unchecked => return Ok(Vec::new()),
            tools => tools.map_err(|error| server::failure(&error, server))?,
        };
        seen::keep(
            &self.typed,
            List::Tools,
            tools.iter().map(Callable::from).collect(),
        );
        Ok(tools)
    }

    fn arguments(&self, schema: &Value) -> Result<Object, Failure> {
        let Some(text) = &self.args else {
            return match self.unchecked {
                true => arguments::parse_unchecked(&self.words, schema),
                false => arguments::parse(&self.words, schema),
            };
        };
        if !self.words.is_empty() {
            return Err(
                Failure::usage("--args gives all arguments, but there are others")
                    .hint("leave one of the two out"),
            );
        }
        let text = match text.strip_prefix('@') {
            Some(file) => infile::text(file)
                .map_err(|error| Failure::usage(format!("--args: cannot read {file}: {error}")))?,
            None => text.clone(),
        };
        let given: Object = serde_json::from_str(&text)
            .map_err(|error| Failure::usage(format!("--args is no JSON object: {error}")))?;
        let mut names = HashSet::new();
        if let Some(twice) = given.names().find(|name| !names.insert(*name)) {
            return Err(Failure::usage(format!("--args: {twice} is given twice")));
        }
        Ok(given)
    }
}

impl Called {
    fn has_failed(&self) -> bool {
        self.result.is_error == Some(true)
    }

    fn show(&self, printing: &Printing) -> Result<(), Failure> {
        let (parts, rows) = render::tool_result(&self.result)?;
        printing.parts(&parts)?;
        if let Some(rows) = rows
            && ui::width().is_some()
        {
            let bytes = self.raw.as_bytes().len();
            ui::note(&format!(
                "{} · {} ms · {} · ~{} tokens\n",
                ui::count(rows, "row"),
                self.took.as_millis(),
                ui::count(bytes, "byte"),
                ui::thousands(bytes / 4)
            ));
        }
        Ok(())
    }

    fn verdict(self, is_document: bool) -> Result<ExitCode, Failure> {
        if self.has_failed() {
            // For people, what it has said is printed, and says enough.
            let failure = Failure::unexpected("the tool failed; what it said is in the result");
            return if is_document {
                Err(failure.code(5))
            } else {
                Ok(ExitCode::from(5))
            };
        }
        self.misfit.map_or(Ok(ExitCode::SUCCESS), Err)
    }
}

/// The tool is not one that may be called as a task.
fn no_task(tool: &str, what: &str, server: &str) -> Failure {
    let tool = ui::one_line(tool);
    let why =
        format!("{server}: {tool} cannot be called as a task: the server does not offer {what}");
    Failure::unexpected(why)
        .code(5)
        .hint("leave out --task: the call is waited for all the same")
}

fn find<'a>(name: Option<&str>, tools: &'a [Tool], server: &str) -> Result<&'a Tool, Failure> {
    let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
    let at = super::find("tool", name, &names, server)?;
    Ok(&tools[at])
}

/// Holds a result to the schema that the tool has for it; what does not fit is shown all the same.
fn held(
    client: &Client,
    tool: &str,
    result: CallToolResult,
    server: &str,
) -> Result<(CallToolResult, Option<Failure>), Failure> {
    match client.check_output(tool, result) {
        Ok(result) => Ok((result, None)),
        Err(error) => {
            let misfit = Failure::unexpected(error.to_string()).code(6);
            match error {
                ClientError::Misfit { result, .. } => {
                    let misfit = misfit.hint("--unchecked takes it all the same");
                    Ok((*result, Some(misfit)))
                }
                other => Err(server::failure(&other, server)),
            }
        }
    }
}

/// Holds the arguments to the whole schema, before anything is sent.
fn check(arguments: &Object, schema: &Value, tool: &str, words: &[String]) -> Result<(), Failure> {
    let missing = arguments::missing(arguments, schema);
    if !missing.is_empty() {
        return Err(
            Failure::usage(format!("{} needs more arguments", ui::one_line(tool)))
                .hint(format!("give also:\n    {}", missing.join("\n    "))),
        );
    }
    for (name, argument) in arguments.iter() {
        argument.decode::<Value>().map_err(|error| {
            Failure::usage(format!("{name}: this cannot be checked: {error}"))
                .hint("--unchecked sends it all the same")
        })?;
    }
    let Ok(validator) = Validator::new(schema) else {
        ui::note("note: the schema of this tool cannot be read; the server judges the arguments\n");
        return Ok(());
    };
    let checked = |all: &Object| {
        let text = serde_json::to_string(all).map_err(Failure::unexpected)?;
        validator
            .check(&text)
            .map_err(|invalid| Failure::usage(format!("{}: {invalid}", ui::one_line(tool))))
    };
    checked(arguments).map_err(|failure| {
        let anyway = "--unchecked sends them all the same";
        match otherwise(words, schema, |all| checked(all).is_ok()) {
            Some(words) => {
                let words: Vec<String> = words.iter().map(|word| ui::word(word)).collect();
                failure.hint(format!("{} would fit; {anyway}", words.join(" ")))
            }
            None => failure.hint(anyway),
        }
    })
}
