//! Checks of a server at an address: the way there, step by step, and what stands at its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use polyport::client::Target;
use polyport::{ClientError, Status};
use polyport_config::mask;
use polyport_proto::http::Challenge;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::report::{Check, Report, Step};
use super::wire::Wire;
use super::{conversation, failed, open, report};
use crate::failure::Failure;
use crate::reach::{Manner, Reached};
use crate::remote::Remote;
use crate::secrets;

/// What is looked at before the conversation.
pub(super) const STEPS: [Step; 5] = [
    ("url", "address"),
    ("resolves", "name"),
    ("port", "port"),
    ("http", "http"),
    ("transport", "transport"),
];

/// How long a name or a port may take.
const CONNECTING: Duration = Duration::from_secs(10);
/// How long another path may take.
const ELSEWHERE: Duration = Duration::from_secs(3);
/// Addresses of one name that are tried.
const ADDRESSES: usize = 4;
/// Where most servers have their endpoint.
const PATHS: &[&str] = &["/mcp", "/sse"];
/// Variables that name a proxy.
const PROXIES: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];

/// Looks at an address.
///
/// # Errors
/// An option is wrong; nobody reads.
pub(super) async fn examine(
    report: &mut Report,
    remote: Remote,
    manner: &Manner,
) -> Result<(), Failure> {
    let shown = mask::text(&remote.url);
    let target = match Target::new(&remote.url) {
        Ok(target) => target,
        Err(why) => {
            let check = Check::fail(
                2,
                "url",
                "address is well-formed",
                format!("{shown}: {why}"),
            );
            return report.add(check.remedy("write it as in https://mcp.example.com/mcp"));
        }
    };
    report.add(Check::ok("url", "address is well-formed", shown))?;
    let uri = target.uri();
    let is_secured = uri.scheme_str() == Some("https");
    let host = uri.host().unwrap_or_default();
    let host = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    let port = uri.port_u16().unwrap_or(if is_secured { 443 } else { 80 });
    let is_here = host == "localhost"
        || host
            .parse()
            .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    let is_proxied = !is_here
        && PROXIES
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()));
    if is_proxied {
        let detail = "the environment names one: it finds the name and the port";
        report.add(Check::ok("resolves.proxy", "through a proxy", detail))?;
    } else {
        let Some(addresses) = resolves(report, &host, port, manner).await? else {
            return Ok(());
        };
        if !is_open(report, &addresses, port, is_here, manner).await? {
            return Ok(());
        }
    }
    if !is_secured && !is_here {
        let check = Check::warn("tls", "nobody reads along", "no TLS")
            .why("What is sent, a token too, can be read on the way.");
        report.add(check.remedy("https://, or a server on this machine"))?;
    }
    let (wire, begun) = (Arc::<Wire>::default(), Instant::now());
    let opened = open(
        Reached::Remote(remote.clone()),
        &report.in_time(manner),
        &wire,
    )
    .await?;
    let client = match opened {
        Ok(client) => client,
        Err(error) => {
            // Whoever has said something has shown who it is.
            let is_mute = matches!(
                &error,
                ClientError::Unreachable(_) | ClientError::TimedOut(_) | ClientError::Broken(_)
            );
            if is_secured && !is_mute {
                report.add(secured())?;
            }
            return refused(report, &error, &remote, is_secured, manner).await;
        }
    };
    if is_secured {
        report.add(secured())?;
    }
    report.add(Check::ok("http", "HTTP is answered", ""))?;
    transport(report, &remote, &wire)?;
    let took = format!("in {}", report::time(begun.elapsed()));
    report.add(Check::ok("answer", "it answers", took))?;
    let is_socket = is_socket(&remote.url);
    conversation::examine(report, &client, manner, !is_socket).await?;
    client.close().await;
    Ok(())
}

/// The shorter of what is waited and what the user waits.
fn at_most(time: Duration, manner: &Manner) -> Duration {
    manner.timeout.map_or(time, |timeout| timeout.min(time))
}

async fn resolves(
    report: &mut Report,
    host: &str,
    port: u16,
    manner: &Manner,
) -> Result<Option<Vec<SocketAddr>>, Failure> {
    let what = "name resolves";
    let found = timeout(at_most(CONNECTING, manner), lookup_host((host, port))).await;
    let wrong = match found {
        Ok(Ok(addresses)) => {
            let addresses: Vec<SocketAddr> = addresses.take(ADDRESSES).collect();
            let ips: Vec<String> = addresses.iter().map(|a| a.ip().to_string()).collect();
            let detail = if ips.len() == 1 && ips[0] == host {
                host.to_owned()
            } else {
                format!("{host}: {}", ips.join(", "))
            };
            report.add(Check::ok("resolves", what, detail))?;
            return Ok(Some(addresses));
        }
        Ok(Err(error)) => format!("{host}: {error}"),
        Err(_) => format!("{host}: no answer"),
    };
    let check = Check::fail(4, "resolves", what, wrong);
    report.add(
        check.remedy("is it spelled right? does another name resolve, and is a VPN needed?"),
    )?;
    Ok(None)
}

async fn is_open(
    report: &mut Report,
    addresses: &[SocketAddr],
    port: u16,
    is_here: bool,
    manner: &Manner,
) -> Result<bool, Failure> {
    let what = format!("port {port} is open");
    let mut wrong = "there is no address".to_owned();
    for address in addresses {
        let begun = Instant::now();
        let connected = timeout(at_most(CONNECTING, manner), TcpStream::connect(address)).await;
        wrong = match connected {
            Ok(Ok(_)) => {
                let detail = format!("{address} in {}", report::time(begun.elapsed()));
                report.add(Check::ok("port", what, detail))?;
                return Ok(true);
            }
            Ok(Err(error)) => format!("{address}: {}", error.kind()),
            Err(_) => format!("{address}: no answer"),
        };
    }
    let remedy = if is_here {
        format!(
            "start the server; a folder is served there by polyport serve ./notes --listen {port}"
        )
    } else {
        "does the server run there, on this port? a firewall or a VPN may stand between".to_owned()
    };
    report.add(
        Check::fail(4, "port", what, wrong)
            .why("Nothing listens there.")
            .remedy(remedy),
    )?;
    Ok(false)
}

fn secured() -> Check {
    Check::ok(
        "tls",
        "TLS is sound",
        "the certificate is trusted on this machine",
    )
}

/// Says the text that the server sends elsewhere?
fn is_moved(why: &str) -> bool {
    why.starts_with("it sends ")
}

/// Says the text that a proxy of the environment stands in the way?
fn is_of_proxy(why: &str) -> bool {
    [
        "the proxy ",
        "the environment names a proxy",
        "the variable ",
    ]
    .iter()
    .any(|begin| why.starts_with(begin))
}

fn is_socket(url: &str) -> bool {
    let url = url.to_ascii_lowercase();
    url.starts_with("ws://") || url.starts_with("wss://")
}

fn transport(report: &mut Report, remote: &Remote, wire: &Wire) -> Result<(), Failure> {
    let what = "transport is current";
    report.add(if is_socket(&remote.url) {
        Check::ok("transport", what, "WebSocket")
    } else if wire.openings() > 1 {
        Check::warn("transport", what, "HTTP with SSE, which is deprecated")
            .why("Hosts drop it one after the other.")
            .remedy("serve Streamable HTTP, one endpoint such as /mcp, beside it")
    } else {
        Check::ok("transport", what, "Streamable HTTP")
    })
}

/// What it says when it could not be opened.
async fn refused(
    report: &mut Report,
    error: &ClientError,
    remote: &Remote,
    is_secured: bool,
    manner: &Manner,
) -> Result<(), Failure> {
    let failure = failed(error);
    let check = match error {
        ClientError::Unreachable(why) if is_of_proxy(why) => {
            Check::fail(4, "http", "a proxy leads to it", why.as_str())
                .remedy("does that proxy run, and let you in? unset the variable that names it, or leave the server out in NO_PROXY")
        }
        ClientError::Unreachable(why) if is_secured && !is_moved(why) => {
            Check::fail(4, "tls", "TLS is sound", why.as_str())
                .why("Nothing is sent to a server that cannot show who it is.")
                .remedy("is its certificate valid, for this name, from somebody this machine trusts? does the port speak TLS?")
        }
        ClientError::Unreachable(why) => Check::fail(4, "http", "HTTP is answered", why.as_str())
            .remedy(if is_moved(why) {
                "name the address it sends to, if you trust it"
            } else {
                "is it a server of MCP, and does it still run?"
            }),
        ClientError::Broken(why) => Check::fail(4, "http", "HTTP is answered", why.as_str())
            .remedy(if is_secured { "is it a server of MCP?" } else { "is it a server of MCP? perhaps it wants https://" }),
        ClientError::Status(status) => match status.code {
            401 | 403 | 407 => challenged(status, remote),
            404 | 405 => misplaced(status, remote, manner).await,
            code => {
                let check = Check::fail(6, "http", format!("HTTP status {code}"), said(status));
                check.remedy(match code {
                    429 => "it is asked too often: wait, and try again",
                    500.. => "the fault is the server's, or of what stands before it: see its logs",
                    _ => "is this the address of an MCP endpoint?",
                })
            }
        },
        ClientError::TimedOut(_) => Check::of("http", "HTTP is answered", &failure)
            .why("The port is open, and nothing comes.")
            .remedy(if is_secured {
                "does the port speak TLS, and is it a server of MCP? --timeout SECONDS waits longer"
            } else {
                "is it a server of MCP? --timeout SECONDS waits longer"
            }),
        _ => {
            let check = Check::of("answer", "it answers", &failure);
            match failure.remedy() {
                Some(_) => check,
                None => check.remedy("is this the address of an MCP endpoint? most have /mcp"),
            }
        }
    };
    report.add(check)
}

/// It wants to know who asks.
fn challenged(status: &Status, remote: &Remote) -> Check {
    let code = status.code;
    let what = if code == 403 {
        "who asks may"
    } else {
        "who asks is known"
    };
    let mut headers = remote.headers.iter();
    let told = headers.find(|(name, _)| secrets::is_credential(name));
    let is_told = told.is_some();
    let wanted = Challenge::read(status.challenges.iter().map(String::as_str));
    let mut why = Vec::new();
    for challenge in wanted.iter().take(ADDRESSES) {
        let mut line = format!("It asks for {}", challenge.scheme);
        for name in [
            "realm",
            "scope",
            "error",
            "error_description",
            "resource_metadata",
        ] {
            if let Some(value) = challenge.param(name) {
                line.push_str(&format!(", {name} {value:?}"));
            }
        }
        why.push(line + ".");
    }
    let lacks = wanted
        .iter()
        .find(|challenge| challenge.param("error") == Some("insufficient_scope"));
    let remedy = match (lacks.and_then(|c| c.param("scope")), is_told) {
        (Some(scope), _) => format!("a token with the scope {scope}"),
        (None, false) => {
            "send a token: --header 'Authorization: Bearer …', or headers in its entry".to_owned()
        }
        (None, true) if code == 403 => "a token that may do this, or another path".to_owned(),
        (None, true) => "another token: this one is expired, or for another server".to_owned(),
    };
    let sent = match told {
        Some((name, _)) if name.eq_ignore_ascii_case("authorization") => {
            "a token was sent".to_owned()
        }
        Some((name, _)) => format!("{name} was sent"),
        None => "no token was sent".to_owned(),
    };
    let detail = format!("HTTP status {code}; {sent}");
    Check::fail(3, "http", what, detail)
        .why(why.join("\n"))
        .remedy(remedy)
}

/// Nothing there: perhaps at another path.
async fn misplaced(status: &Status, remote: &Remote, manner: &Manner) -> Check {
    let code = status.code;
    let check = Check::fail(
        6,
        "http",
        "the path is an endpoint",
        format!("HTTP status {code}"),
    );
    let Some((origin, path)) = split(&remote.url) else {
        return check;
    };
    for other in PATHS.iter().filter(|other| **other != path) {
        let elsewhere = Remote {
            url: format!("{origin}{other}"),
            headers: remote.headers.clone(),
            is_sse: false,
        };
        let wire = Arc::<Wire>::default();
        let opening = open(Reached::Remote(elsewhere), manner, &wire);
        if let Ok(Ok(Ok(client))) = timeout(at_most(ELSEWHERE, manner), opening).await {
            client.close().await;
            return check.remedy(format!(
                "a server answers at {}",
                mask::text(&format!("{origin}{other}"))
            ));
        }
    }
    check.remedy(
        "what is the path of its endpoint? most have /mcp; here neither /mcp nor /sse answers",
    )
}

/// An address as its origin and its path.
fn split(url: &str) -> Option<(&str, &str)> {
    let begin = url.find("://")? + 3;
    let end = url[begin..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| begin + at);
    let (origin, rest) = url.split_at(end);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    Some((origin, path))
}

/// What else an answer says.
fn said(status: &Status) -> String {
    let text = status.to_string();
    let (_, rest) = text
        .split_once(&status.code.to_string())
        .unwrap_or_default();
    rest.trim_start_matches([':', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_split() {
        for (url, want) in [
            ("http://a:1/b?c=/d", Some(("http://a:1", "/b"))),
            ("http://a", Some(("http://a", ""))),
            ("https://a?b", Some(("https://a", ""))),
            ("a", None),
        ] {
            assert_eq!(split(url), want);
        }
    }
}
