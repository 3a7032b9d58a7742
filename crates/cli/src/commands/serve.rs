//! `polyport serve`: one MCP endpoint over back-ends and other servers, on standard input and output or over HTTP.

use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use polyport::client::Connect;
use polyport::{Ended, Era, Limits, Revisions, Server, Service, StartError};
use polyport_backends::files::serve::{Access, Roots};
use polyport_backends::files::{self, FolderError, Folders};
use polyport_gateway::{Gateway, GatewayHandle, Upstream};
use polyport_rt::Threads;
use rustix::fs::{FileType, fstat};

use crate::demo;
use crate::failure::Failure;
use crate::known;
use crate::log::Log;
use crate::program::plain;
use crate::reaching::Reaching;
use crate::target::{self, Target};
use crate::ui;
use behind::{Behind, Other};
use entry::Entry;
use http::Http;
use reload::Reload;
use start_up::{Reached, StartUp};

mod behind;
mod entry;
mod http;
mod keys;
mod reload;
mod start_up;
mod stop;

/// Serve folders and other MCP servers as one MCP server
#[derive(Debug, Args)]
#[command(after_help = "\
Standard input decides the transport. A pipe or a socket, as AI hosts give it: stdio. A terminal, a
file or /dev/null: HTTP, at http://127.0.0.1:7400/mcp or the next free port. SIGTERM and Ctrl-C let
running calls finish; a second one cuts them off. What is deleted goes to .polyport-trash.
Of several servers, tools that share a name are seen as SERVER__NAME; each client is connected to
each. NAME:=SERVER names one. More options: polyport help serve. Servers: polyport help server.
Exit codes: 0 ended as told, 1 calls were cut off, 2 it could not start.

Examples:
  polyport serve ./notes                          one folder, read-only
  polyport serve demo                             the built-in server; ./demo is a folder
  polyport serve :3000 web:=https://a.example/mcp ./notes   two servers and a folder
  polyport serve --listen 8080 -- npx -y server   one for stdio, at http://127.0.0.1:8080/mcp
  polyport serve --config .mcp.json --reload      all servers of a configuration, as it changes
  claude mcp add notes -- polyport serve ~/notes  let a host start it")]
pub(crate) struct Serve {
    /// A folder, demo for the built-in server, or another server (polyport help server)
    #[arg(value_name = "BACKEND")]
    backends: Vec<OsString>,
    /// The command of a server
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Let clients change what is in the folders, not only read it
    #[arg(long)]
    write: bool,
    /// Ask modern clients, too, where they work: a round more a call
    #[arg(long)]
    roots: bool,
    /// How clients talk to it
    #[arg(
        short,
        long,
        value_enum,
        value_name = "stdio|http",
        hide_possible_values = true
    )]
    transport: Option<Transport>,
    /// Serve only modern (since 2026) or legacy clients
    #[arg(long, value_enum, default_value_t = Speak::Both, value_name = "both|modern|legacy", hide_possible_values = true)]
    era: Speak,
    /// Follow the configuration as it changes
    #[arg(long)]
    reload: bool,
    /// How long running calls may take to finish at the end
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    drain: u32,
    /// Keys that replicas share, one a line; the first seals, all open
    #[arg(long, value_name = "FILE")]
    seal_keys: Option<PathBuf>,
    #[command(flatten)]
    reaching: Reaching,
    #[command(flatten)]
    http: Http,
    #[command(flatten)]
    log: Log,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Transport {
    Stdio,
    Http,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Speak {
    Both,
    Modern,
    Legacy,
}

/// A configuration that may change, and the gateway to its servers.
type Changing = Option<(Reload, GatewayHandle)>;

impl Serve {
    /// Serves until the end.
    ///
    /// # Errors
    /// It cannot start, or calls were cut off.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.log.start();
        let (transport, why) = self.transport()?;
        let keys = self.seal_keys.as_deref().map(keys::read).transpose()?;
        let (service, start_up, reload) = self.service()?;
        let revisions = match self.era {
            Speak::Both => Revisions::ALL,
            Speak::Modern => Revisions::of(Era::Modern),
            Speak::Legacy => Revisions::of(Era::Legacy),
        };
        let mut limits = Limits::default();
        limits.drain = Duration::from_secs(self.drain.into());
        let service = service.speaks(revisions).limits(limits);
        let service = service.log_params(self.log.params());
        let service = service.seal_keys(keys.unwrap_or_default());
        let cannot_start = |error| Failure::unexpected(format!("cannot start: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(cannot_start)?;
        let threads = match transport {
            Transport::Stdio => Threads::none(),
            Transport::Http => Threads::of_processors().map_err(cannot_start)?,
        };
        let ended = runtime.block_on(async {
            if let Some((reload, gateway)) = reload {
                reload.watch(gateway)?;
            }
            match transport {
                Transport::Stdio => stdio(&service, &start_up, why).await,
                Transport::Http => self.http.serve(service, &start_up, why, &threads).await,
            }
        });
        // A thread may hang in a read of standard input; nobody waits for it.
        runtime.shutdown_background();
        match ended? {
            // Whoever asked is gone, and with them who would miss an answer.
            Ended { broken: true, .. } | Ended { cut: 0, .. } => Ok(()),
            Ended { cut, .. } => {
                let why = format!(" did not end within {} s and", self.drain);
                Err(stop::cut_off(cut, &why))
            }
        }
    }

    /// Which transport, and why.
    fn transport(&self) -> Result<(Transport, &'static str), Failure> {
        let (transport, why) = match (self.transport, self.http.is_named()) {
            (Some(Transport::Stdio), true) => {
                return Err(Failure::usage("--listen is for HTTP, but -t says stdio")
                    .hint("leave one of the two out"));
            }
            (Some(transport), _) => (transport, "-t says so"),
            (None, true) => (Transport::Http, "--listen says so"),
            (None, false) => told_by_stdin(),
        };
        if self.roots && transport == Transport::Http && self.http.is_public() {
            return Err(Failure::usage(
                "--roots is for clients on this machine, but --listen is not a loopback address",
            )
            .hint("leave --roots out: roots of another machine mean nothing here"));
        }
        if let (Transport::Stdio, Some(option)) = (transport, self.http.first_option()) {
            ui::say(&format!(
                "note: {option} is for HTTP and does nothing on stdio\n"
            ));
        }
        Ok((transport, why))
    }

    /// What serves, and what is said of it.
    fn service(&self) -> Result<(Service, StartUp, Changing), Failure> {
        let behind = Behind::read(&self.backends, &self.command, &self.reaching, self.reload)?;
        let mut start_up = StartUp::new(self.entry(&behind));
        let Behind {
            targets,
            at,
            mut others,
            reload,
            ..
        } = behind;
        if let Some(reload) = reload {
            for other in others {
                start_up.will_add_other(other.kind, &other.shown);
            }
            let gateway =
                Gateway::new(reload.upstreams()).names(Arc::new(known::OnDisk::of_user()));
            let handle = gateway.handle();
            return Ok((Service::new(gateway), start_up, Some((reload, handle))));
        }
        if self.write && targets.iter().all(|target| target.folder().is_none()) {
            ui::say("note: --write is for folders, and none is named\n");
        }
        if others.is_empty() {
            let server = self.server(&targets, &mut start_up)?;
            return Ok((server.into_service(), start_up, None));
        }
        let after = others.split_off(at);
        let mut upstreams = joined(others, &mut start_up)?;
        if !targets.is_empty() {
            let name = match &targets[..] {
                [only] => plain(&only.name()),
                _ => "files".to_owned(),
            };
            let server = self.server(&targets, &mut start_up)?;
            let connect = Connect::service(server.into_service());
            upstreams.push(Upstream::new(name, connect));
        }
        upstreams.extend(joined(after, &mut start_up)?);
        let gateway = Gateway::new(upstreams).names(Arc::new(known::OnDisk::of_user()));
        Ok((Service::new(gateway), start_up, None))
    }

    /// What of it we serve ourselves.
    fn server(&self, targets: &[Target], start_up: &mut StartUp) -> Result<Server, Failure> {
        let mut server = Server::new("polyport", env!("CARGO_PKG_VERSION")).title("Polyport");
        let mut instructions = Vec::new();
        let folders: Vec<_> = targets.iter().filter_map(Target::folder).collect();
        let access = if self.write {
            Access::Write
        } else {
            Access::Read
        };
        if !folders.is_empty() {
            let opened = Folders::open(folders.iter().copied()).map_err(|error| refused(&error))?;
            start_up.will_add_folders(&opened, &folders, access);
            let roots = if self.roots {
                Roots::All
            } else {
                Roots::Legacy
            };
            let extended = files::serve::extend(server, opened, access, roots);
            server = start_up.added(extended);
            instructions.push(access.instructions());
        }
        if targets.contains(&Target::Demo) {
            start_up.will_add("demo", "built-in");
            server = start_up.added(demo::extend(server));
            instructions.push(demo::INSTRUCTIONS);
        }
        Ok(server.instructions(instructions.join("\n")))
    }

    /// How a host starts the same.
    fn entry(&self, behind: &Behind) -> Entry {
        let mut arguments = vec!["serve".to_owned()];
        arguments.extend(behind.words.iter().cloned());
        if self.write
            && behind
                .targets
                .iter()
                .any(|target| target.folder().is_some())
        {
            arguments.push("--write".to_owned());
        }
        if self.roots {
            arguments.push("--roots".to_owned());
        }
        if self.era != Speak::Both {
            let era = self.era.to_possible_value().expect("no value is hidden");
            arguments.extend(["--era".to_owned(), era.get_name().to_owned()]);
        }
        if self.reload {
            arguments.push("--reload".to_owned());
        }
        arguments.extend(self.reaching.written());
        arguments.extend(behind.command.iter().cloned());
        let others = behind.others.iter().map(|other| other.name.clone());
        let mut names = behind.targets.iter().map(Target::name).chain(others);
        Entry::new(&names.next().unwrap_or_default(), arguments)
    }
}

/// Servers of others as they stand behind a gateway.
fn joined(others: Vec<Other>, start_up: &mut StartUp) -> Result<Vec<Upstream>, Failure> {
    let mut upstreams = Vec::new();
    for other in others {
        start_up.will_add_other(other.kind, &other.shown);
        upstreams.push(other.upstream()?);
    }
    Ok(upstreams)
}

async fn stdio(service: &Service, start_up: &StartUp, why: &str) -> Result<Ended, Failure> {
    let stop = stop::on_signals(service)?;
    start_up.say(&Reached::Stdio, service.speaks, why);
    polyport_rt::stdio::serve_until(service, stop)
        .await
        .map_err(|error| {
            let inner = error.get_ref();
            if inner.is_some_and(|inner| inner.is::<StartError>()) {
                return Failure::usage(error);
            }
            Failure::unexpected(format!("cannot use standard input and output: {error}"))
        })
}

/// What standard input is decides: hosts give their children a pipe or, from Node, a socket.
fn told_by_stdin() -> (Transport, &'static str) {
    let kind = fstat(rustix::stdio::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match kind {
        Ok(FileType::Fifo) => (Transport::Stdio, "standard input is a pipe"),
        Ok(FileType::Socket) => (Transport::Stdio, "standard input is a socket"),
        Ok(FileType::CharacterDevice) if std::io::stdin().is_terminal() => {
            (Transport::Http, "standard input is a terminal")
        }
        Ok(FileType::RegularFile) => (Transport::Http, "standard input is a file"),
        _ => (Transport::Http, "standard input is no pipe"),
    }
}

fn refused(error: &FolderError) -> Failure {
    match error {
        FolderError::Refused { path, source } if source.kind() == ErrorKind::PermissionDenied => {
            target::no_permission(&ui::path(path))
        }
        error => Failure::usage(error),
    }
}
