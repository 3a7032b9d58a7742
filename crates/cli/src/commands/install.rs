//! `polyport install` and `uninstall`: an entry in the configuration of an AI host, shown, agreed to, written, and taken out again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use polyport_config::{
    HOSTS, Host, HostFile, Place, Places, Plan, Spot, names_of_host, nearest, written,
};
use serde_json::{Value, json};

use crate::configured::{self, Config, wrong};
use crate::failure::Failure;
use crate::printing;
use crate::program::plain;
use crate::terminal;
use crate::ui;
use what::What;

pub(super) mod diff;
mod what;

/// Write a server into the configuration of an AI host
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport install [OPTIONS] HOST BACKEND...\n       polyport install [OPTIONS] HOST -- COMMAND...",
    after_help = "\
HOST is claude-code, claude-desktop, cursor, vscode, codex, gemini, windsurf, zed, opencode,
inspector, or mcp-json, which prints. BACKEND is a folder, demo, a URL, or a server that has a name
(polyport help server); several are one server. What would change is shown, and nothing is written
before somebody agrees.

Examples:
  polyport install claude-code ./notes
  polyport install cursor ./notes ./docs --name papers --scope user
  polyport install codex -e TOKEN=... -- npx -y some-server
  polyport uninstall claude-code notes"
)]
pub(crate) struct Install {
    /// The host
    host: Option<String>,
    /// What it is to serve
    #[arg(value_name = "BACKEND")]
    backends: Vec<OsString>,
    /// A server's own command
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// The name of the server there
    #[arg(long)]
    name: Option<String>,
    /// Let the host change what is in the folders
    #[arg(long)]
    write: bool,
    /// One variable of the command's environment
    #[arg(short, long = "env", value_name = "NAME=VALUE", value_parser = crate::values::variable)]
    env: Vec<(String, String)>,
    /// Sent with each request to a URL (repeatable)
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = crate::values::header)]
    headers: Vec<(String, String)>,
    /// Look names of servers up in this file alone
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the entry, and change nothing
    #[arg(long, conflicts_with = "dry_run")]
    print: bool,
    #[command(flatten)]
    consent: Consent,
}

/// Take a server out of the configuration of an AI host
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport uninstall [OPTIONS] HOST NAME",
    after_help = "\
HOST is one that polyport install takes. What that has written goes to the byte, and what stood
there before comes back; what would change is shown, and nothing is written before somebody agrees.

Example:
  polyport uninstall claude-code notes"
)]
pub(crate) struct Uninstall {
    /// The host
    host: Option<String>,
    /// The name of the server there
    name: Option<String>,
    #[command(flatten)]
    consent: Consent,
}

/// Which file, and who agrees.
#[derive(Debug, Args)]
struct Consent {
    /// Whose configuration: project, user, or local (Claude Code)
    #[arg(long)]
    scope: Option<String>,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Change it without asking
    #[arg(short, long)]
    yes: bool,
    /// Print one JSON document that says what was done
    #[arg(long)]
    json: bool,
}

impl Install {
    /// Installs.
    ///
    /// # Errors
    /// It cannot be written there, or nobody has agreed.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let host = host(self.host.as_deref(), "install", "./notes")?;
        let places = configured::places()?;
        let config = Config::at(self.config);
        let what = What {
            backends: &self.backends,
            command: &self.command,
            env: &self.env,
            headers: &self.headers,
            write: self.write,
            config: &config,
        };
        let mut entry = what.entry(&places)?;
        match &self.name {
            Some(name) => entry.name.clone_from(name),
            None if !host.takes_dots => entry.name = plain(&entry.name),
            None => {}
        }
        what::check_name(&entry.name, host)?;
        let value =
            written(&host.shape, &entry).map_err(|why| what.refused(host, &entry.name, &why))?;
        let Some(about) = self.consent.file(host, &places)? else {
            return print(host, &["mcpServers".to_owned()], &entry.name, &value);
        };
        if self.print {
            if !about.confirmed {
                ui::note(UNCONFIRMED);
            }
            return print(host, &about.keys(&places), &entry.name, &value);
        }
        let place = Place::new(host, about, &entry.name, &places)
            .map_err(|fault| wrong(&fault))?
            .ok_or_else(|| no_file(host))?;
        let plan = place.install(&value).map_err(|fault| wrong(&fault))?;
        if plan.was.is_some() && plan.is_change() {
            ui::note("note: an entry of that name is there, and would be replaced\n");
        }
        let name = ui::path(Path::new(&entry.name));
        let scope = match Some(about.scope) == first(host, &places) {
            true => String::new(),
            false => format!(" --scope {}", about.scope),
        };
        let end = format!(
            "{}. (undo: polyport uninstall {} {name}{scope})",
            host.reload, host.id
        );
        let done = Done { host, about, end };
        self.consent.change(&plan, &done, &what::starts(&entry))
    }
}

impl Uninstall {
    /// Uninstalls.
    ///
    /// # Errors
    /// There is no such server, or nobody has agreed.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let host = host(self.host.as_deref(), "uninstall", "NAME")?;
        let places = configured::places()?;
        let name = self.name.as_deref().ok_or_else(|| {
            no_server(
                "no server is named".to_owned(),
                host,
                &names_of_host(host, &places),
            )
        })?;
        let named = self.consent.scope.as_deref();
        if named.is_some() {
            self.consent.file(host, &places)?;
        }
        let mut found = Vec::new();
        let mut names = Vec::new();
        let mut fault = None;
        for (about, file) in host.files(&places) {
            if named.is_some_and(|scope| scope != about.scope) {
                continue;
            }
            let place = match Place::new(host, about, name, &places) {
                Ok(Some(place)) => place,
                Ok(None) => continue,
                Err(wrong) => {
                    fault = Some(wrong);
                    continue;
                }
            };
            match place.get() {
                Ok(Some(_)) => found.push((about, place)),
                Ok(None) => {
                    let servers = polyport_config::Servers::of_host(about, &file, &places);
                    names.extend(servers.iter().flat_map(|it| it.names().map(str::to_owned)));
                }
                Err(wrong) => fault = Some(wrong),
            }
        }
        let (about, place) = match (&found[..], fault) {
            ([one], _) => one,
            ([], Some(fault)) => return Err(wrong(&fault)),
            ([], None) => return Err(no_such(host, name, &names)),
            (several, _) => {
                let scopes: Vec<&str> = several.iter().map(|(about, _)| about.scope).collect();
                return Err(
                    Failure::usage(format!("{} has {name} in several scopes", host.name)).hint(
                        format!("say which: --scope {}", scopes.join(", or --scope ")),
                    ),
                );
            }
        };
        let plan = place.uninstall().map_err(|fault| wrong(&fault))?;
        if plan.is.is_some() {
            ui::note("note: the entry of that name that was there before comes back\n");
        }
        let done = Done {
            host,
            about,
            end: format!("{}.", host.reload),
        };
        self.consent.change(&plan, &done, &[])
    }
}

/// What is said of a file that the documents of its makers do not name.
const UNCONFIRMED: &str = "note: format not confirmed: its makers do not document this file\n";

/// What is said at the end.
struct Done<'a> {
    host: &'a Host,
    about: &'a HostFile,
    end: String,
}

impl Consent {
    /// The file of the scope that is named, or the host's first; nothing, for a host that has none.
    fn file(
        &self,
        host: &'static Host,
        places: &Places,
    ) -> Result<Option<&'static HostFile>, Failure> {
        if host.files.is_empty() {
            return Ok(None);
        }
        let files: Vec<&HostFile> = host.files(places).map(|(about, _)| about).collect();
        let found = match &self.scope {
            None => files.first(),
            Some(scope) => files.iter().find(|about| about.scope == scope),
        };
        match (found, &self.scope) {
            (Some(found), _) => Ok(Some(found)),
            (None, None) => Err(no_file(host)),
            (None, Some(scope)) => {
                let scopes: Vec<&str> = files.iter().map(|about| about.scope).collect();
                Err(
                    Failure::usage(format!("{} has no scope {scope}", host.name))
                        .hint(format!("it has {}", scopes.join(", "))),
                )
            }
        }
    }

    /// Shows a change, and makes it once somebody agrees.
    fn change(&self, plan: &Plan, done: &Done<'_>, starts: &[String]) -> Result<ExitCode, Failure> {
        if !plan.is_change() {
            ui::note(&format!("{} has it already\n", done.host.name));
            return self.report(plan, done, false);
        }
        let shown = shown(plan, done);
        if self.dry_run {
            if !self.json {
                printing::out(ui::harmless(&shown).as_bytes())?;
            }
            return self.report(plan, done, false);
        }
        // Who is asked sees what it is about, whatever is printed at the end.
        let tell = if !self.yes && terminal::is_terminal() {
            ui::say
        } else {
            ui::note
        };
        tell(&shown);
        if !starts.is_empty() {
            tell(&format!("{} will start:\n", done.host.name));
            for word in starts {
                tell(&format!("  {word}\n"));
            }
        }
        if !self.yes {
            if !terminal::is_terminal() {
                return Err(Failure::usage("nobody is here to agree to it")
                    .hint("--yes changes it without asking, --dry-run only shows it"));
            }
            ui::say("Write it? [Y/n] ");
            let answer = terminal::line().map(|line| line.trim().to_ascii_lowercase());
            if !matches!(answer.as_deref(), Some("" | "y" | "yes")) {
                ui::note("nothing is changed\n");
                return Ok(ExitCode::from(1));
            }
        }
        plan.make().map_err(|fault| wrong(&fault))?;
        ui::note(&format!("done. {}\n", done.end));
        self.report(plan, done, true)
    }

    fn report(&self, plan: &Plan, done: &Done<'_>, is_written: bool) -> Result<ExitCode, Failure> {
        if self.json {
            let document = json!({
                "host": done.host.id,
                "scope": done.about.scope,
                "file": plan.file.display().to_string(),
                "changes": plan.is_change(),
                "written": is_written,
            });
            printing::out(format!("{document}\n").as_bytes())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The file, and its lines that change.
fn shown(plan: &Plan, done: &Done<'_>) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let near = plan.file.strip_prefix(here).unwrap_or(&plan.file);
    let state = match (&plan.before, &plan.after) {
        (None, _) => ", a new file",
        (_, None) => ", which goes",
        _ => "",
    };
    let mut text = format!(
        "{} ({}, {}{state})\n",
        ui::path(near),
        done.host.name,
        done.about.scope
    );
    if !done.about.confirmed {
        text += UNCONFIRMED;
    }
    text + &diff::lines(
        plan.before.as_deref().unwrap_or_default(),
        plan.after.as_deref().unwrap_or_default(),
        done.host.shape.format,
    )
}

/// Prints an entry as it would stand in the file.
fn print(host: &Host, keys: &[String], name: &str, value: &Value) -> Result<ExitCode, Failure> {
    let spot = Spot {
        format: host.shape.format,
        keys: keys.to_vec(),
        name: name.to_owned(),
    };
    let text = spot.put("", value).map_err(Failure::unexpected)?;
    printing::out(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The host of this name; `verb` and `rest` stand before and after it on a command line.
fn host(id: Option<&str>, verb: &str, rest: &str) -> Result<&'static Host, Failure> {
    let ids: Vec<&str> = HOSTS.iter().map(|host| host.id).collect();
    let Some(id) = id else {
        return Err(Failure::usage("no host is named").hint(format!(
            "polyport {verb} claude-code {rest}; hosts are {}",
            ids.join(", ")
        )));
    };
    polyport_config::host(id).ok_or_else(|| {
        let (before, name) = id.split_once(':').unwrap_or((id, ""));
        let rest = if verb == "uninstall" && !name.is_empty() {
            name
        } else {
            rest
        };
        let hint = match nearest(before, ids.iter().copied()) {
            Some(same) if same == before => {
                format!("the host stands alone: polyport {verb} {same} {rest}")
            }
            Some(near) => format!("did you mean {near}? polyport {verb} {near} {rest}"),
            None => format!("hosts are {}", ids.join(", ")),
        };
        Failure::usage(format!("no host is called {id}")).hint(hint)
    })
}

fn first(host: &'static Host, places: &Places) -> Option<&'static str> {
    host.files(places).next().map(|(about, _)| about.scope)
}

fn no_file(host: &Host) -> Failure {
    Failure::usage(format!(
        "where {} keeps its configuration is not known here",
        host.name
    ))
    .hint("is HOME set? --print shows the entry")
}

fn no_such(host: &Host, name: &str, names: &[String]) -> Failure {
    let why = format!("{} has no server {name}", host.name);
    match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => Failure::usage(why).hint(format!("did you mean {near}?")),
        None => no_server(why, host, names),
    }
}

fn no_server(why: String, host: &Host, names: &[String]) -> Failure {
    Failure::usage(why).hint(match names {
        _ if host.files.is_empty() => {
            format!("{} is only printed: there is nothing to take out", host.id)
        }
        [] => "it has none at all".to_owned(),
        names => format!("it has {}", names.join(", ")),
    })
}
