//! `polyport servers`: the servers that are known by a name, and on demand those of every host on this machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use polyport_config::{Entry, Fault, Own, Places, Servers, Way, discovered, mask, of_project, own};
use serde_json::{Map, Value, json};

use super::config::reported;
use crate::configured;
use crate::failure::Failure;
use crate::printing;
use crate::ui;

/// List the servers that are known by a name
#[derive(Debug, Args)]
#[command(
    visible_alias = "list",
    after_help = "\
The first column is what stands for the server in any verb; polyport help server says what else may.
Secrets are shown as ****.

Examples:
  polyport servers
  polyport servers --discover     what every AI host on this machine has, too
  polyport ls claude-code:github  use one of them"
)]
pub(crate) struct List {
    /// Look into the files of every host that is known, too
    #[arg(long)]
    discover: bool,
    /// Look into this file alone
    #[arg(long, value_name = "FILE", conflicts_with = "discover")]
    config: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A server, and how it is named.
struct Known {
    word: String,
    host: Option<(&'static str, &'static str)>,
    file: PathBuf,
    entry: Entry,
}

#[derive(Default)]
struct All {
    known: Vec<Known>,
    faults: Vec<Fault>,
    names: BTreeSet<String>,
}

impl List {
    /// Lists.
    ///
    /// # Errors
    /// A file that was named cannot be read.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let places = configured::places()?;
        let mut all = All::default();
        match &self.config {
            Some(file) => {
                let own = configured::read(file).map_err(|fault| configured::wrong(&fault))?;
                all.add_own(file, own);
            }
            None => all.add_known(&places),
        }
        if self.discover {
            all.add_discovered(&places);
        }
        if self.json {
            let servers: Vec<Value> = all.known.iter().map(Known::json).collect();
            let problems: Vec<Value> = all.faults.iter().map(configured::problem).collect();
            let document = json!({"servers": servers, "problems": problems});
            printing::out(format!("{document}\n").as_bytes())?;
            // Standard error is one object.
            all.faults.truncate(1);
            return Ok(self.verdict(&all));
        }
        if let Some(file) = &self.config {
            if all.known.is_empty() && all.faults.is_empty() {
                ui::note(&format!("no servers: {} names none\n", ui::path(file)));
            }
            printing::out(ui::harmless(&table(&all.known)).as_bytes())?;
            return Ok(self.verdict(&all));
        }
        for fault in &all.faults {
            ui::note(&format!("note: {fault}\n"));
        }
        if all.known.is_empty() {
            let more = if self.discover {
                ""
            } else {
                "; --discover looks into those of AI hosts"
            };
            ui::note(&format!(
                "no servers: none of {}, .mcp.json, .vscode/mcp.json, .cursor/mcp.json names one{more}\n",
                own::NAME
            ));
        }
        printing::out(ui::harmless(&table(&all.known)).as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }

    /// What is wrong with a file that was named is wrong with the command line.
    fn verdict(&self, all: &All) -> ExitCode {
        match self.config {
            Some(_) => reported(&all.faults),
            None => ExitCode::SUCCESS,
        }
    }
}

impl All {
    /// What a name alone finds.
    fn add_known(&mut self, places: &Places) {
        for file in own::files(places) {
            match Own::read(&file) {
                Ok(own) => self.add_own(&file, own),
                Err(fault) => self.faults.push(fault),
            }
        }
        for file in of_project(places) {
            match Servers::read(&file, &places.project) {
                Ok(servers) => self.add(&file, None, servers),
                Err(fault) if fault.hint.is_some() => {}
                Err(fault) => self.faults.push(fault),
            }
        }
    }

    /// What is wrong with one of our own servers is said once, and it is not listed.
    fn add_own(&mut self, file: &Path, own: Own) {
        let mut servers = own.servers.clone();
        let is_well = |name: &str| matches!(own.get(name), Ok(Some(_)));
        servers.entries.retain(|(name, _)| is_well(name));
        self.faults.extend(own.faults);
        self.add(file, None, servers);
    }

    fn add_discovered(&mut self, places: &Places) {
        let seen: Vec<PathBuf> = self.known.iter().map(|known| known.file.clone()).collect();
        for (host, about, file) in discovered(places) {
            if seen.contains(&file) {
                continue;
            }
            match Servers::of_host(about, &file, places) {
                Ok(servers) => self.add(&file, Some((host.id, about.scope)), servers),
                // Most files of hosts hold more than servers, or something else.
                Err(fault) if fault.hint.is_some() => {}
                Err(fault) => self.faults.push(fault),
            }
        }
    }

    fn add(&mut self, file: &Path, host: Option<(&'static str, &'static str)>, servers: Servers) {
        for (name, entry) in servers.entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(fault) => {
                    self.faults.push(fault);
                    continue;
                }
            };
            let short = match host {
                Some((host, _)) => format!("{host}:{name}"),
                None => name.clone(),
            };
            // A name that means something else already is said with its file.
            let is_taken = host.is_none()
                && (name == "demo" || Path::new(&name).exists() || name.contains([':', '/', '\\']));
            let word = if self.names.insert(short.clone()) && !is_taken {
                short
            } else {
                format!("{}:{name}", near(file).display())
            };
            self.known.push(Known {
                word,
                host,
                file: file.to_owned(),
                entry,
            });
        }
    }
}

impl Known {
    fn json(&self) -> Value {
        let shown = mask::raw(&self.entry);
        let mut out = Map::new();
        out.insert("server".to_owned(), json!(self.word));
        out.insert("name".to_owned(), json!(shown.name));
        if let Some((host, scope)) = self.host {
            out.insert("host".to_owned(), json!(host));
            out.insert("scope".to_owned(), json!(scope));
        }
        out.insert("file".to_owned(), json!(self.file.display().to_string()));
        out.insert("line".to_owned(), json!(shown.line));
        out.insert("enabled".to_owned(), json!(shown.enabled));
        let pairs = |pairs: &[(String, String)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| (name.clone(), json!(value)));
            Value::Object(pairs.collect())
        };
        match &shown.way {
            Way::Command(start) => {
                out.insert("command".to_owned(), json!(start.program));
                out.insert("args".to_owned(), json!(start.args));
                out.insert("env".to_owned(), pairs(&start.env));
                if let Some(cwd) = &start.cwd {
                    out.insert("cwd".to_owned(), json!(cwd));
                }
            }
            Way::Url(remote) => {
                out.insert("url".to_owned(), json!(remote.url));
                out.insert("headers".to_owned(), pairs(&remote.headers));
            }
        }
        Value::Object(out)
    }

    fn place(&self) -> String {
        match self.host {
            Some((_, scope)) => scope.to_owned(),
            None => near(&self.file).display().to_string(),
        }
    }
}

/// A file as it is named from here.
fn near(file: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    file.strip_prefix(here).unwrap_or(file).to_owned()
}

fn table(known: &[Known]) -> String {
    let rows: Vec<[String; 3]> = known
        .iter()
        .map(|it| {
            let off = if it.entry.enabled { "" } else { "  (off)" };
            [
                it.word.clone(),
                it.place(),
                configured::way(&it.entry) + off,
            ]
        })
        .collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or_default().min(40)
    };
    let (first, second) = (width(0), width(1));
    let mut text = String::new();
    for [word, place, way] in &rows {
        // One line each, whatever somebody wrote there.
        let line = format!("{word:<first$}  {place:<second$}  {way}");
        text += line.replace('\n', " ").trim_end();
        text.push('\n');
    }
    text
}
