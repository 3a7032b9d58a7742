//! `polyport config`: what our own configuration says once it is filled in, what is wrong with it, what may stand in it, and where it is.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use polyport_config::{Entry, Expanded, Fault, Found, Origin, Way, mask, own};
use serde_json::{Map, Value, json};

use crate::configured;
use crate::failure::Failure;
use crate::printing;
use crate::ui;

/// Show, check and find the configuration
#[derive(Debug, Args)]
#[command(after_help = "\
The file is polyport.toml of the working folder or one above it, then polyport/polyport.toml where
programs keep their configuration. Exit codes: 0 all is well, 1 there is none, 2 something is wrong.

Examples:
  polyport config show
  polyport config check .vscode/mcp.json
  polyport config schema > polyport.schema.json")]
pub(crate) struct Config {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print every server with its variables filled in, and where each value comes from
    Show {
        #[command(flatten)]
        config: configured::Config,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Say what is wrong, in our own files or in that of a host
    Check {
        /// A file, instead of our own
        file: Option<PathBuf>,
        #[command(flatten)]
        config: configured::Config,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Print what may stand in polyport.toml, as a JSON Schema
    Schema,
    /// Print where the configuration is
    Path {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

impl Config {
    /// Does it.
    ///
    /// # Errors
    /// A file is wrong.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self.verb {
            Verb::Show { config, json } => show(&config, json),
            Verb::Check { file, config, json } => check(file, &config, json),
            Verb::Schema => {
                printing::out(own::SCHEMA.as_bytes())?;
                Ok(ExitCode::SUCCESS)
            }
            Verb::Path { json } => path(json),
        }
    }
}

/// Our own files: the one that was named, or those that are there.
fn files(config: &configured::Config) -> Result<Vec<PathBuf>, Failure> {
    match config.file() {
        Some(file) => Ok(vec![file.to_owned()]),
        None => Ok(own::files(&configured::places()?)),
    }
}

/// There is no file of our own.
fn none() -> Result<Failure, Failure> {
    let places = configured::places()?;
    let user = own::candidates(&places).pop().unwrap_or_default();
    let why = format!(
        "there is no {} here or above, nor {}",
        own::NAME,
        ui::path(&user)
    );
    Ok(Failure::unexpected(why).hint("polyport help config says what may stand in one"))
}

fn path(as_json: bool) -> Result<ExitCode, Failure> {
    let found = own::files(&configured::places()?);
    if as_json {
        let files: Vec<String> = found.iter().map(|it| it.display().to_string()).collect();
        let document = json!({"files": files});
        printing::out(format!("{document}\n").as_bytes())?;
    }
    if found.is_empty() {
        return Err(none()?);
    }
    if as_json {
        return Ok(ExitCode::SUCCESS);
    }
    let lines: String = found
        .iter()
        .map(|file| format!("{}\n", file.display()))
        .collect();
    printing::out(lines.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// A server of a file with its variables filled in, or what is wrong with it.
type Shown = (Found, Result<Entry<Expanded>, Fault>);

/// What one file holds.
#[derive(Default)]
struct Filled {
    servers: Vec<Shown>,
    faults: Vec<Fault>,
    is_of_host: bool,
}

fn filled(file: &Path, config: &configured::Config) -> Result<Filled, Fault> {
    let own = configured::read(file)?;
    let names: Vec<String> = own.servers.names().map(str::to_owned).collect();
    let found = names.iter().filter_map(|name| {
        let entry = own.get(name).ok()??;
        let file = file.to_owned();
        let found = Found { file, entry };
        let expanded = config.expanded_to_show(&found);
        Some((found, expanded))
    });
    Ok(Filled {
        servers: found.collect(),
        faults: own.faults.clone(),
        is_of_host: own.is_of_host,
    })
}

fn show(config: &configured::Config, as_json: bool) -> Result<ExitCode, Failure> {
    let files = files(config)?;
    if files.is_empty() && !as_json {
        return Err(none()?);
    }
    let mut faults = Vec::new();
    let mut text = String::new();
    let mut documents = Vec::new();
    for file in &files {
        let here = filled(file, config).map_err(|fault| configured::wrong(&fault))?;
        faults.extend(here.faults);
        let gap = if text.is_empty() { "" } else { "\n" };
        text += &format!("{gap}# {}\n", file.display());
        let mut listed = Vec::new();
        for (found, expanded) in here.servers {
            match expanded {
                Ok(entry) => {
                    let fields = fields(&found, &entry);
                    text += &toml(&entry, &fields);
                    listed.push(json_of(&entry, &fields));
                }
                Err(fault) => faults.push(fault),
            }
        }
        documents.push(json!({"file": file.display().to_string(), "servers": listed}));
    }
    if as_json {
        let problems: Vec<Value> = faults.iter().map(configured::problem).collect();
        let document = json!({"files": documents, "problems": problems});
        printing::out(format!("{document}\n").as_bytes())?;
        // Standard error is one object.
        faults.truncate(1);
    } else {
        printing::out(ui::harmless(&text).as_bytes())?;
    }
    Ok(reported(&faults))
}

/// One value: its field, what may be shown of it, its line, and where else it comes from.
struct Line {
    field: String,
    value: String,
    line: Option<usize>,
    from: Vec<String>,
}

fn fields(found: &Found, entry: &Entry<Expanded>) -> Vec<Line> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    let mut values: Vec<Line> = Vec::new();
    let mut from: Vec<Vec<String>> = Vec::new();
    let _ = found.entry.clone().try_map(|field, it| {
        lines.push((field.to_owned(), it.line));
        Ok::<_, ()>(())
    });
    let _ = entry.clone().try_map(|_, it| {
        from.push(it.from.iter().map(origin).collect());
        Ok::<_, ()>(())
    });
    let mut from = from.into_iter();
    let _ = mask::entry(entry).try_map(|field, value| {
        let line = lines.iter().find(|(known, _)| known == field);
        values.push(Line {
            field: field.to_owned(),
            value,
            line: line.map(|(_, line)| *line),
            from: from.next().unwrap_or_default(),
        });
        Ok::<_, ()>(())
    });
    values
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Variable(name) => format!("variable {name}"),
        Origin::Default(name) => format!("default of {name}"),
        Origin::Input(id) => format!("input {id}"),
        Origin::File(path) => format!("file {}", path.display()),
        Origin::Command => "a command".to_owned(),
        Origin::Folder(name) => format!("folder {name}"),
    }
}

fn toml(entry: &Entry<Expanded>, fields: &[Line]) -> String {
    let mut text = format!("\n[servers.{}]\n", key(&entry.name));
    if !entry.enabled {
        text += "enabled = false\n";
    }
    let mut is_list = false;
    for field in fields {
        let mut about: Vec<String> = field
            .line
            .iter()
            .map(|line| format!("line {line}"))
            .collect();
        about.extend(field.from.iter().cloned());
        let value = json!(field.value);
        let is_argument = field.field.starts_with("args[");
        match (is_list, is_argument) {
            (false, true) => text += "args = [\n",
            (true, false) => text += "]\n",
            _ => {}
        }
        is_list = is_argument;
        let written = match field.field.split_once('.') {
            _ if is_argument => format!("  {value},"),
            Some((table, name)) => format!("{table}.{} = {value}", key(name)),
            None => format!("{} = {value}", field.field),
        };
        text += &format!("{written}  # {}\n", about.join(", ").replace('\n', " "));
    }
    if is_list {
        text += "]\n";
    }
    for (key, value) in entry.settings.written() {
        text += &format!("{key} = {value}\n");
    }
    text
}

/// A name as TOML writes it.
fn key(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(plain) {
        return name.to_owned();
    }
    json!(name).to_string()
}

fn json_of(entry: &Entry<Expanded>, fields: &[Line]) -> Value {
    let fields: Vec<Value> = fields
        .iter()
        .map(|it| json!({"field": it.field, "value": it.value, "line": it.line, "from": it.from}))
        .collect();
    let settings: Map<String, Value> = entry.settings.written().into_iter().collect();
    json!({
        "name": entry.name, "line": entry.line, "enabled": entry.enabled, "fields": fields, "settings": settings,
    })
}

fn check(
    named: Option<PathBuf>,
    config: &configured::Config,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let files = match named {
        Some(file) => vec![file],
        None => files(config)?,
    };
    if files.is_empty() {
        return Err(none()?);
    }
    let mut faults = Vec::new();
    let mut documents = Vec::new();
    for file in files {
        let read = filled(&file, config).unwrap_or_else(|fault| Filled {
            faults: vec![fault],
            ..Filled::default()
        });
        let (servers, mut here) = (read.servers, read.faults);
        let doubts = servers.iter().filter(|_| read.is_of_host);
        here.extend(doubts.flat_map(|(found, _)| found.entry.doubts.clone()));
        let entries: Vec<Value> = servers
            .iter()
            .map(|(found, _)| {
                let entry = &found.entry;
                let says = explained(entry);
                json!({"name": entry.name, "line": entry.line, "enabled": entry.enabled, "says": says})
            })
            .collect();
        let explained: String = servers
            .iter()
            .map(|(found, _)| block(&found.entry))
            .collect();
        let off = servers
            .iter()
            .filter(|(found, _)| !found.entry.enabled)
            .count();
        let count = servers.len();
        here.extend(servers.into_iter().filter_map(|(_, entry)| entry.err()));
        if here.is_empty() && !as_json {
            let servers = ui::count(count, "server");
            let off = match off {
                0 => String::new(),
                off => format!(" ({off} switched off)"),
            };
            let line = format!("{}: {servers}{off}, all well\n{explained}", file.display());
            printing::out(ui::harmless(&line).as_bytes())?;
        }
        let problems: Vec<Value> = here.iter().map(configured::problem).collect();
        documents.push(
            json!({"file": file.display().to_string(), "servers": entries, "problems": problems}),
        );
        faults.extend(here);
    }
    if as_json {
        let document = json!({"files": documents, "ok": faults.is_empty()});
        printing::out(format!("{document}\n").as_bytes())?;
        // Standard error is one object.
        faults.truncate(1);
    }
    Ok(reported(&faults))
}

/// What an entry comes to, a sentence each.
fn explained(entry: &Entry) -> Vec<String> {
    let way = match &entry.way {
        Way::Command(_) => format!("is started: {}", configured::way(entry)),
        Way::Url(_) => format!("is reached at {}", configured::way(entry)),
    };
    let off = if entry.enabled { "" } else { " (switched off)" };
    let mut said = vec![format!("{} {way}{off}", entry.name)];
    said.extend(entry.settings.sentences());
    said
}

/// The same as lines, the first of which is what the others are about.
fn block(entry: &Entry) -> String {
    let lines = explained(entry).into_iter().enumerate();
    let lines = lines.map(|(i, line)| {
        let indent = if i == 0 { "  " } else { "    " };
        format!("{indent}{}\n", line.replace('\n', " "))
    });
    lines.collect()
}

/// Says what is wrong.
pub(super) fn reported(faults: &[Fault]) -> ExitCode {
    for fault in faults {
        let _ = configured::wrong(fault).report();
    }
    if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(2)
    }
}
