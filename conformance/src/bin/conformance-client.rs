//! `conformance-client URL`: does what a scenario of the official suite wants of a client. Which one, the environment says.

use std::env;
use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use polyport::client::{Connect, Target};
use polyport::model::{CallToolResult, ElicitFormParams, ElicitResult, Tool};
use polyport::{Client, Era, Patience, Raw, Revision, Revisions};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Less than the suite waits, so that a hang is an error of ours.
const PATIENCE: Duration = Duration::from_secs(20);

type Done = Result<(), Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(url) = env::args().nth(1) else {
        say("usage: conformance-client URL");
        return ExitCode::from(2);
    };
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    match run(&url, &scenario).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{scenario}: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) {
    // Nobody may be reading.
    let _ = writeln!(std::io::stderr(), "{text}");
}

async fn run(url: &str, scenario: &str) -> Done {
    let client = connect(url).await?;
    let done = play(&client, scenario).await;
    client.close().await;
    done
}

async fn connect(url: &str) -> Result<Client, Box<dyn Error>> {
    let patience = Patience {
        handshake: PATIENCE,
        request: PATIENCE,
        ..Patience::default()
    };
    let connect = Connect::http(Target::new(url)?)
        .named("conformance-client", "1.0.0")
        .speaks(revisions()?)
        .patience(patience)
        .on_form(|form| async move { defaults(&form) });
    Ok(connect.connect().await?)
}

/// The lifecycle that the suite wants: that of its version, and what a client of that time could fall back to.
fn revisions() -> Result<Revisions, String> {
    let Ok(name) = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION") else {
        return Ok(Revisions::ALL);
    };
    let newest = Revision::ALL.into_iter().find(|r| r.name() == name);
    let newest = newest.ok_or_else(|| format!("{name} is no revision that we speak"))?;
    if newest.profile().era == Era::Modern {
        return Ok(Revisions::ALL);
    }
    let upto = Revision::ALL.iter().take_while(|r| **r != newest);
    let upto = upto.copied().chain([newest]);
    Ok(upto.fold(Revisions::NONE, Revisions::with))
}

/// Accepts a form with the values that it proposes.
fn defaults(form: &ElicitFormParams) -> ElicitResult {
    let asked = serde_json::to_value(&form.requested_schema).unwrap_or_default();
    let mut content = Map::new();
    for (name, field) in asked["properties"].as_object().into_iter().flatten() {
        let value = match (field.get("default"), field["type"].as_str()) {
            (Some(value), _) => value.clone(),
            (None, Some("boolean")) => json!(true),
            (None, Some("number" | "integer")) => json!(1),
            (None, _) => json!("text"),
        };
        content.insert(name.clone(), value);
    }
    ElicitResult::accept(serde_json::from_value(Value::Object(content)).ok())
}

/// What the suite wants besides, where it says so.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Wanted {
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

fn wanted() -> Result<Wanted, Box<dyn Error>> {
    match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => Ok(serde_json::from_str(&text)?),
        Err(_) => Ok(Wanted::default()),
    }
}

async fn play(client: &Client, scenario: &str) -> Done {
    let tools = match client.opened().capabilities.tools {
        Some(_) => client.tools().await?,
        None => Vec::new(),
    };
    match scenario {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => {
            client.ping().await?;
        }
        "json-schema-2020-12-preservation" => {
            let tool = find(&tools, "json_schema_2020_12_tool")?;
            let schema = serde_json::to_value(&tool.input_schema)?;
            call(client, "json_schema_echo", json!({"schema": schema})).await?;
        }
        "http-custom-headers" => {
            for asked in wanted()?.tool_calls {
                call(client, &asked.name, Value::Object(asked.arguments)).await?;
            }
        }
        "http-invalid-tool-headers" => {
            for tool in &tools {
                call(client, &tool.name, sample(tool)).await?;
            }
        }
        "tools_call" => {
            find(&tools, "add_numbers")?;
            call(client, "add_numbers", json!({"a": 5, "b": 3})).await?;
        }
        "http-standard-headers" => standard_headers(client, &tools).await?,
        _ => {
            for tool in &tools {
                call(client, &tool.name, sample(tool)).await?;
            }
        }
    }
    Ok(())
}

/// Everything that has a name of its own in a header.
async fn standard_headers(client: &Client, tools: &[Tool]) -> Done {
    for tool in tools {
        call(client, &tool.name, sample(tool)).await?;
    }
    if client.opened().capabilities.resources.is_some() {
        for resource in client.resources().await? {
            client.read(&resource.uri).await?;
        }
    }
    if client.opened().capabilities.prompts.is_some() {
        for prompt in client.prompts().await? {
            let params = json!({"name": prompt.name}).to_string();
            client.request_raw("prompts/get", &params, None).await?;
        }
    }
    Ok(())
}

async fn call(
    client: &Client,
    name: &str,
    arguments: Value,
) -> Result<CallToolResult, Box<dyn Error>> {
    let result = client.call_tool(name, &Raw::encode(&arguments)?).await?;
    if result.is_error == Some(true) {
        return Err(format!("the tool {name} failed").into());
    }
    Ok(result)
}

fn find<'a>(tools: &'a [Tool], name: &str) -> Result<&'a Tool, String> {
    let tool = tools.iter().find(|tool| tool.name == name);
    tool.ok_or_else(|| format!("the server has no tool {name}"))
}

/// Arguments that a tool takes: what it requires, by type.
fn sample(tool: &Tool) -> Value {
    let schema = serde_json::to_value(&tool.input_schema).unwrap_or_default();
    let mut arguments = Map::new();
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        let value = match schema["properties"][name]["type"].as_str() {
            Some("number" | "integer") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("text"),
        };
        arguments.insert(name.to_owned(), value);
    }
    Value::Object(arguments)
}
