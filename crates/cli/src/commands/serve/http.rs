//! Serving over HTTP: the options that only HTTP has, who may be listened to, and the port that is taken.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use clap::{Args, ValueEnum};
use polyport::http::{Bound, Config, Endpoint, Guard, ListenError, Pair};
use polyport::{Ended, Service};
use polyport_rt::Threads;

use super::start_up::{Reached, StartUp};
use super::stop;
use crate::failure::Failure;
use crate::ui;

/// Where HTTP listens when no address is named; when the port is busy, one of the next.
const DEFAULT_PORT: u16 = 7400;
/// How many ports are tried.
const PORTS: u16 = 20;
const DEFAULT_PATH: &str = "/mcp";
const DEFAULT_SSE_PATH: &str = "/sse";
const DEFAULT_MESSAGES_PATH: &str = "/messages";

/// What can be said about HTTP.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
pub(super) struct Http {
    /// Listen there; 8080 is 127.0.0.1:8080, and port 0 is any free one
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Path of the endpoint
    #[arg(long, default_value = DEFAULT_PATH, value_parser = path)]
    path: String,
    /// Sessions for legacy clients
    #[arg(long, value_enum, default_value_t = OnOff::On, value_name = "on|off", hide_possible_values = true)]
    sessions: OnOff,
    /// Path of HTTP with SSE, for older clients
    #[arg(long, default_value = DEFAULT_SSE_PATH, value_name = "PATH|off", value_parser = sse)]
    sse: Sse,
    /// Path of its messages
    #[arg(long, default_value = DEFAULT_MESSAGES_PATH, value_name = "PATH", value_parser = path)]
    messages_path: String,
    /// Answer to this host name too (repeatable)
    #[arg(long, value_name = "HOST", value_parser = host)]
    allow_host: Vec<String>,
    /// Let web pages of this origin call (repeatable)
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    allow_origin: Vec<String>,
    /// Let other machines reach it, although nothing checks who asks
    #[arg(long)]
    insecure_listen: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum OnOff {
    On,
    Off,
}

/// The path of an event stream; none: there is none.
#[derive(Clone, Debug)]
struct Sse(Option<String>);

impl Http {
    /// Has an address been named?
    pub(super) fn is_named(&self) -> bool {
        self.listen.is_some()
    }

    /// May other machines reach it?
    pub(super) fn is_public(&self) -> bool {
        self.listen
            .is_some_and(|address| !address.ip().is_loopback())
    }

    /// An option that does nothing elsewhere, if one was given.
    pub(super) fn first_option(&self) -> Option<&'static str> {
        let given = [
            ("--path", self.path != DEFAULT_PATH),
            ("--sessions", self.sessions == OnOff::Off),
            ("--sse", self.sse.0.as_deref() != Some(DEFAULT_SSE_PATH)),
            (
                "--messages-path",
                self.messages_path != DEFAULT_MESSAGES_PATH,
            ),
            ("--allow-host", !self.allow_host.is_empty()),
            ("--allow-origin", !self.allow_origin.is_empty()),
            ("--insecure-listen", self.insecure_listen),
        ];
        given
            .into_iter()
            .find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// Serves until the stop.
    ///
    /// # Errors
    /// There is nothing to listen on.
    pub(super) async fn serve(
        &self,
        service: Service,
        start_up: &StartUp,
        why: &str,
        threads: &Threads,
    ) -> Result<Ended, Failure> {
        let (speaks, stop) = (service.speaks, stop::on_signals(&service)?);
        let config = Config {
            path: self.path.clone(),
            guard: self.guard(),
            sessions: self.sessions == OnOff::On,
            pair: self.pair()?,
            ..Config::default()
        };
        let bound = self.bind(Endpoint::new(service, config)).await?;
        self.warn(&bound, start_up);
        start_up.say(&Reached::Http(&self.url(&bound)), speaks, why);
        Ok(bound.serve_on(stop, threads).await)
    }

    /// The paths of HTTP with SSE. Without sessions it is not served, whatever is said of it.
    fn pair(&self) -> Result<Option<Pair>, Failure> {
        let sessions = self.sessions == OnOff::On;
        let Some(stream) = self.sse.0.as_ref().filter(|_| sessions) else {
            return Ok(None);
        };
        let named = [
            ("--path", &self.path),
            ("--sse", stream),
            ("--messages-path", &self.messages_path),
        ];
        for (i, (flag, path)) in named.iter().enumerate() {
            if let Some((other, _)) = named[..i].iter().find(|(_, other)| other == path) {
                return Err(
                    Failure::usage(format!("{other} and {flag} are both {path}"))
                        .hint("name another path, or leave HTTP with SSE out with --sse off"),
                );
            }
        }
        Ok(Some(Pair {
            stream: stream.clone(),
            messages: self.messages_path.clone(),
        }))
    }

    fn guard(&self) -> Guard {
        let mut guard = Guard::loopback();
        for host in &self.allow_host {
            guard = guard.allow_host(host);
        }
        for origin in &self.allow_origin {
            guard = guard.allow_origin(origin);
        }
        match self.listen {
            Some(address) if !address.ip().is_unspecified() => {
                guard.allow_host(&host_of(address.ip()))
            }
            _ => guard,
        }
    }

    /// What a client is told: 0.0.0.0 is no address to connect to.
    fn url(&self, bound: &Bound) -> String {
        if !bound.address().ip().is_unspecified() {
            return bound.url();
        }
        let host = self.allow_host.first().map_or("127.0.0.1", String::as_str);
        format!("http://{host}:{}{}", bound.address().port(), self.path)
    }

    fn warn(&self, bound: &Bound, start_up: &StartUp) {
        let address = bound.address();
        if address.ip().is_loopback() {
            return;
        }
        let change = if start_up.is_writable() {
            " and change"
        } else {
            ""
        };
        ui::say(&format!(
            "warning: whoever can reach {address} can read{change} what is served; nothing checks who asks\n"
        ));
        if address.ip().is_unspecified() && self.allow_host.is_empty() {
            ui::say(
                "note: it answers to localhost only; name this machine with --allow-host HOST\n",
            );
        }
    }

    async fn bind(&self, endpoint: Endpoint) -> Result<Bound, Failure> {
        if let Some(address) = self.listen {
            let bound = polyport::http::bind(endpoint, address, self.insecure_listen).await;
            return bound.map_err(|error| refused(&error));
        }
        for port in DEFAULT_PORT..DEFAULT_PORT + PORTS {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            match polyport::http::bind(endpoint.clone(), address, false).await {
                Ok(bound) if port == DEFAULT_PORT => return Ok(bound),
                Ok(bound) => {
                    ui::say(&format!(
                        "note: port {DEFAULT_PORT} is in use; it is {port}\n"
                    ));
                    return Ok(bound);
                }
                Err(ListenError::Io(_, error)) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(refused(&error)),
            }
        }
        let last = DEFAULT_PORT + PORTS - 1;
        Err(
            Failure::usage(format!("the ports {DEFAULT_PORT} to {last} are in use"))
                .hint("name another one with --listen PORT; 0 takes any free one"),
        )
    }
}

fn refused(error: &ListenError) -> Failure {
    match error {
        ListenError::Insecure(address) => Failure::usage(format!(
            "{address} can be reached from other machines, and nothing checks who asks"
        ))
        .hint("listen on 127.0.0.1, or allow it with --insecure-listen"),
        ListenError::Io(address, error) if error.kind() == ErrorKind::AddrInUse => Failure::usage(
            format!("port {} is in use on {}", address.port(), address.ip()),
        )
        .hint("stop what listens there, or name another port; 0 takes any free one"),
        error @ (ListenError::Io(..) | ListenError::Start(_)) => Failure::usage(error),
    }
}

fn host_of(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// `7400`, `:7400`, `localhost:7400`, `127.0.0.1:7400`, `[::1]:7400`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let ip = match host {
        "" | "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        host => match host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
        {
            Some(host) => host.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            None => host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        },
    };
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    match (ip, port.parse::<u16>()) {
        (Some(ip), Ok(port)) if digits => Ok(SocketAddr::new(ip, port)),
        _ => Err("say a port, such as 7400, or an IP address and a port, such as 127.0.0.1:7400 or [::1]:7400".to_owned()),
    }
}

fn path(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"?#\"\\<>{}|^`%".contains(&byte);
    if text.bytes().all(plain) {
        Ok(format!("/{}", text.trim_matches('/')))
    } else {
        Err("a path is made of letters, digits and signs such as / - _".to_owned())
    }
}

fn sse(text: &str) -> Result<Sse, String> {
    match text {
        "off" => Ok(Sse(None)),
        text => path(text).map(|path| Sse(Some(path))),
    }
}

fn host(text: &str) -> Result<String, String> {
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_host = match bare {
        Some(bare) => bare.parse::<Ipv6Addr>().is_ok(),
        None => !text.is_empty() && text.chars().all(plain),
    };
    if is_host {
        Ok(text.to_owned())
    } else {
        Err(
            "a host is a name such as box.example or an address, without scheme and port"
                .to_owned(),
        )
    }
}

fn origin(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | '?' | '#' | '@' | ',');
    match text.trim_end_matches('/').split_once("://") {
        Some((scheme, rest)) if !scheme.is_empty() && !rest.is_empty() && (scheme.chars().chain(rest.chars())).all(plain) => {
            Ok(text.to_owned())
        }
        _ => Err("an origin is a scheme and a host, such as https://app.example or http://localhost:3000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_be_short() {
        for (text, want) in [
            ("7400", "127.0.0.1:7400"),
            (":7400", "127.0.0.1:7400"),
            ("localhost:0", "127.0.0.1:0"),
            ("0.0.0.0:1", "0.0.0.0:1"),
            ("[::1]:7400", "[::1]:7400"),
        ] {
            assert_eq!(address(text).map(|a| a.to_string()), Ok(want.to_owned()));
        }
        for bad in [
            "",
            ":",
            "x",
            "127.0.0.1",
            "127.0.0.1:",
            "host.example:1",
            "::1:7400",
            "+7400",
            "70000",
            "[::1]",
            "http://127.0.0.1:1",
        ] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_begin_with_one_slash() {
        for (text, want) in [
            ("/mcp", "/mcp"),
            ("mcp", "/mcp"),
            ("/a/b/", "/a/b"),
            ("/", "/"),
            ("", "/"),
        ] {
            assert_eq!(path(text).as_deref(), Ok(want));
        }
        for bad in ["/a b", "/a?b", "/ü", "/%20"] {
            assert!(path(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn hosts_and_origins_are_what_browsers_send() {
        for good in ["box.example", "192.168.1.5", "[fe80::1]"] {
            assert!(host(good).is_ok(), "{good}");
        }
        for bad in ["", "box:80", "http://box", "box/", "[box]", "a b"] {
            assert!(host(bad).is_err(), "{bad}");
        }
        for good in [
            "https://app.example",
            "http://localhost:3000/",
            "chrome-extension://abc",
        ] {
            assert!(origin(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "app.example",
            "https://",
            "://x",
            "https://a/b",
            "null",
            "*",
            "https://u@a",
        ] {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }
}
