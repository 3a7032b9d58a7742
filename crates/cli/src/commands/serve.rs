//! `polyport serve`: one MCP endpoint over back-ends, on standard input and output or over HTTP.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use polyport::http::{Bound, Config, Endpoint, Guard, ListenError};
use polyport::{Ended, Era, Revisions, Server, Service};
use polyport_backends::files::{self, Folders};
use rustix::fs::{FileType, fstat};

use crate::demo;
use crate::failure::Failure;
use crate::log::Log;
use crate::target::Target;
use crate::ui;
use start_up::{Reached, StartUp};

mod start_up;

/// Where HTTP listens when no address is named; when the port is busy, one of the next.
const DEFAULT_PORT: u16 = 7400;
/// How many ports are tried.
const PORTS: u16 = 20;

/// Serve folders (or the built-in demo) as one MCP server.
///
/// Speaks on standard input and output when standard input is a pipe or a socket, as AI hosts start it; otherwise over
/// HTTP at http://127.0.0.1:7400/mcp. Everything is read-only.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  polyport serve ./notes\n  polyport serve ./notes ./docs --listen 127.0.0.1:8080\n  polyport serve demo"
)]
pub(crate) struct Serve {
    /// Folders, or demo for the built-in server.
    #[arg(required = true, value_name = "BACKEND")]
    backends: Vec<String>,
    /// Serve over HTTP on this address.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Transport; otherwise it is told by standard input.
    #[arg(short, long, value_enum, value_name = "TRANSPORT")]
    transport: Option<Transport>,
    /// Path of the HTTP endpoint.
    #[arg(long, default_value = "/mcp", value_name = "PATH")]
    path: String,
    /// Which clients are served: those of every revision, only those since 2026, or only those before.
    #[arg(long, value_enum, default_value_t = Speak::Both, value_name = "ERA")]
    era: Speak,
    /// Sessions for HTTP clients of before 2026.
    #[arg(long, value_enum, default_value_t = OnOff::On, value_name = "on|off")]
    sessions: OnOff,
    /// Another host name under which HTTP clients may reach it (repeatable).
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// A web page's origin that may call it (repeatable).
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Listen where other machines can reach it, although nothing checks who asks.
    #[arg(long)]
    insecure_listen: bool,
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

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum OnOff {
    On,
    Off,
}

impl Serve {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.log.start();
        let (server, start_up) = self.server()?;
        let revisions = match self.era {
            Speak::Both => Revisions::ALL,
            Speak::Modern => Revisions::of(Era::Modern),
            Speak::Legacy => Revisions::of(Era::Legacy),
        };
        let service = server.into_service().speaks(revisions);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::unexpected(format!("cannot start: {error}")))?;
        let ended = runtime.block_on(async {
            match self.transport()? {
                (Transport::Stdio, why) => stdio(&service, &start_up, why).await,
                (Transport::Http, why) => self.http(service, &start_up, why).await,
            }
        });
        // A thread may hang in a read of standard input; nobody waits for it.
        runtime.shutdown_background();
        Ok(if ended?.cut == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(1)
        })
    }

    fn server(&self) -> Result<(Server, StartUp), Failure> {
        let targets = self
            .backends
            .iter()
            .map(|word| Target::parse(word))
            .collect::<Result<Vec<_>, _>>()?;
        let mut server = Server::new("polyport", env!("CARGO_PKG_VERSION")).title("Polyport");
        let mut start_up = StartUp::new(&self.backends);
        let mut instructions = Vec::new();
        if targets.contains(&Target::Demo) {
            let before = server.counts();
            server = demo::extend(server);
            instructions.push(demo::INSTRUCTIONS);
            start_up.add("demo", "built-in", before, server.counts());
        }
        let folders: Vec<_> = targets.iter().filter_map(Target::folder).collect();
        if !folders.is_empty() {
            let before = server.counts();
            let opened = Folders::open(folders.iter().copied()).map_err(Failure::usage)?;
            server = files::serve::extend(server, opened);
            instructions.push(files::serve::INSTRUCTIONS);
            let named: Vec<_> = folders.iter().map(|path| path.display().to_string()).collect();
            start_up.add("files", &named.join(" "), before, server.counts());
        }
        let server = server.instructions(instructions.join("\n"));
        start_up.measure(&server);
        Ok((server, start_up))
    }

    /// Which transport, and why.
    fn transport(&self) -> Result<(Transport, &'static str), Failure> {
        if let Some(transport) = self.transport {
            if transport == Transport::Stdio && self.listen.is_some() {
                return Err(
                    Failure::usage("--listen is for HTTP, but the transport is stdio")
                        .hint("leave one of the two out"),
                );
            }
            return Ok((transport, "as asked"));
        }
        if self.listen.is_some() {
            return Ok((Transport::Http, "--listen"));
        }
        let kind = fstat(rustix::stdio::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
        Ok(match kind {
            Ok(FileType::Fifo) => (Transport::Stdio, "standard input is a pipe"),
            Ok(FileType::Socket) => (Transport::Stdio, "standard input is a socket"),
            _ => (
                Transport::Http,
                "standard input is neither a pipe nor a socket",
            ),
        })
    }

    async fn http(
        &self,
        service: Service,
        start_up: &StartUp,
        why: &str,
    ) -> Result<Ended, Failure> {
        let mut guard = Guard::loopback();
        for host in &self.allow_host {
            guard = guard.allow_host(host);
        }
        for origin in &self.allow_origin {
            guard = guard.allow_origin(origin);
        }
        if let Some(address) = self.listen.filter(|a| !a.ip().is_unspecified()) {
            let host = if address.is_ipv6() {
                format!("[{}]", address.ip())
            } else {
                address.ip().to_string()
            };
            guard = guard.allow_host(&host);
        }
        let speaks = service.speaks;
        let path = if self.path.starts_with('/') {
            self.path.clone()
        } else {
            format!("/{}", self.path)
        };
        let config = Config {
            path,
            guard,
            sessions: self.sessions == OnOff::On,
            ..Config::default()
        };
        let bound = self.bind(Endpoint::new(service, config)).await?;
        start_up.say(&Reached::Http(&bound.url()), speaks, why);
        let stop = polyport::stdio::signals()
            .map_err(|error| Failure::unexpected(format!("cannot listen to signals: {error}")))?;
        Ok(bound.serve(stop).await)
    }

    async fn bind(&self, endpoint: Endpoint) -> Result<Bound, Failure> {
        if let Some(address) = self.listen {
            return polyport::http::bind(endpoint, address, self.insecure_listen)
                .await
                .map_err(Failure::usage);
        }
        let mut last = None;
        for port in DEFAULT_PORT..DEFAULT_PORT + PORTS {
            match polyport::http::bind(
                endpoint.clone(),
                SocketAddr::from(([127, 0, 0, 1], port)),
                false,
            )
            .await
            {
                Ok(bound) => {
                    if port != DEFAULT_PORT {
                        ui::say(&format!(
                            "note: port {DEFAULT_PORT} is in use; taking {port}\n"
                        ));
                    }
                    return Ok(bound);
                }
                Err(error @ ListenError::Io(..)) => last = Some(error),
                Err(error) => return Err(Failure::usage(error)),
            }
        }
        Err(
            Failure::usage(last.map_or_else(String::new, |e| e.to_string()))
                .hint("name a free port with --listen 127.0.0.1:PORT"),
        )
    }
}

async fn stdio(service: &Service, start_up: &StartUp, why: &str) -> Result<Ended, Failure> {
    start_up.say(&Reached::Stdio, service.speaks, why);
    polyport::stdio::serve_service(service)
        .await
        .map_err(|error| {
            Failure::unexpected(format!("cannot use standard input and output: {error}"))
        })
}
