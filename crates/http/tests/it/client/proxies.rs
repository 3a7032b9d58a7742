//! Proxies of the environment: tunnels, requests sent on, SOCKS; and whose fault it is when there is no way through.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use polyport_testkit::Web;
use polyport_testkit::web::{Asked, Reply};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::secure::{Authority, Secure};
use super::{as_usual, elsewhere, result};

/// What a proxy of a script does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Does {
    /// CONNECT to this server, whatever its name is.
    Tunnel(SocketAddr),
    /// The same in SOCKS 5, for this name and password if any is wanted.
    Socks(SocketAddr, Option<(&'static str, &'static str)>),
    /// Answers with this, whatever is asked.
    Says(&'static str),
    /// Answers the first byte so.
    Mutters(&'static str),
}

/// A proxy, and what was asked of it. Dropping it ends it.
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl Proxy {
    async fn that(does: Does) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = asked.clone();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let noted = noted.clone();
                open.spawn(async move {
                    // Clients come and go.
                    let _ = match does {
                        Does::Socks(server, wanted) => socks(stream, server, wanted, &noted).await,
                        _ => http(stream, does, &noted).await,
                    };
                });
            }
        });
        Self {
            address,
            asked,
            _serving: serving,
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn http(
    mut stream: TcpStream,
    does: Does,
    noted: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    if let Does::Mutters(answer) = does {
        stream.read_u8().await?;
        return stream.write_all(answer.as_bytes()).await;
    }
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    noted
        .lock()
        .unwrap()
        .push(String::from_utf8_lossy(&head).into_owned());
    match does {
        Does::Tunnel(server) => {
            stream.write_all(b"HTTP/1.1 200 Go\r\n\r\n").await?;
            through(stream, server).await
        }
        Does::Says(answer) => stream.write_all(answer.as_bytes()).await,
        Does::Socks(..) | Does::Mutters(_) => panic!("that is no HTTP"),
    }
}

async fn socks(
    mut stream: TcpStream,
    server: SocketAddr,
    wanted: Option<(&str, &str)>,
    noted: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    // RFC 1928, 3: version, methods; RFC 1929: name and password.
    let _version = stream.read_u8().await?;
    let methods = text(&mut stream).await?;
    let method = if wanted.is_some() { 2 } else { 0 };
    if !methods.as_bytes().contains(&method) {
        return stream.write_all(&[5, 0xff]).await;
    }
    stream.write_all(&[5, method]).await?;
    if let Some((name, password)) = wanted {
        let _version = stream.read_u8().await?;
        let told = (text(&mut stream).await?, text(&mut stream).await?);
        let is_right = told == (name.to_owned(), password.to_owned());
        stream.write_all(&[1, u8::from(!is_right)]).await?;
        if !is_right {
            return Ok(());
        }
    }
    // RFC 1928, 4: version, command, reserved, kind of address: here a name.
    let mut request = [0; 4];
    stream.read_exact(&mut request).await?;
    assert_eq!(request, [5, 1, 0, 3]);
    let name = text(&mut stream).await?;
    let port = stream.read_u16().await?;
    noted.lock().unwrap().push(format!("{name}:{port}"));
    stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).await?;
    through(stream, server).await
}

async fn text(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut text = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut text).await?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

async fn through(mut stream: TcpStream, server: SocketAddr) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    copy_bidirectional(&mut stream, &mut server).await?;
    Ok(())
}

fn answers(asked: &Asked) -> Reply {
    match asked.message()["method"].as_str() {
        Some("tools/list") => Reply::json(&result(asked, &json!({"tools": []}))),
        _ => as_usual(asked).unwrap(),
    }
}

/// No machine has this name.
const HTTPS: &str = "https://server.test/mcp";
const HTTP: &str = "http://server.test/mcp";
/// `joe` and `hush` as a header has them.
const BASIC: &str = "Basic am9lOmh1c2g=";

// req: S-PROXY
#[tokio::test]
#[allow(clippy::too_many_lines)] // A table.
async fn a_server_is_reached_through_the_proxy_of_the_environment() {
    if elsewhere::is_here().await {
        return;
    }
    let test = "client::proxies::a_server_is_reached_through_the_proxy_of_the_environment";
    let authority = Authority::new("behind");
    let trusts = ("SSL_CERT_FILE", authority.file());
    let server = Secure::of(&authority).await;
    let (plain, _stopper, _) = crate::sockets::serve().await;
    let joe = Some(("joe", "hush"));
    for (does, variable, scheme, user, url, want) in [
        (
            Does::Tunnel(server.address),
            "HTTPS_PROXY",
            "http",
            "",
            HTTPS,
            "CONNECT server.test:443 ",
        ),
        (
            Does::Tunnel(server.address),
            "https_proxy",
            "http",
            "joe:hush@",
            HTTPS,
            BASIC,
        ),
        (
            Does::Tunnel(server.address),
            "ALL_PROXY",
            "http",
            "",
            "https://server.test:8443/mcp",
            "CONNECT server.test:8443 ",
        ),
        (
            Does::Socks(server.address, None),
            "ALL_PROXY",
            "socks5h",
            "",
            HTTPS,
            "server.test:443",
        ),
        (
            Does::Socks(server.address, joe),
            "HTTPS_PROXY",
            "socks5",
            "joe:hush@",
            HTTPS,
            "server.test:443",
        ),
        // The port of a scheme is that of the scheme.
        (
            Does::Socks(plain, None),
            "ALL_PROXY",
            "socks5h",
            "",
            "http://server.test/mcp",
            "server.test:80",
        ),
        (
            Does::Tunnel(plain),
            "HTTP_PROXY",
            "http",
            "",
            "ws://server.test/mcp",
            "CONNECT server.test:80 ",
        ),
    ] {
        if url.starts_with("ws") && cfg!(not(feature = "ws")) {
            continue;
        }
        let proxy = Proxy::that(does).await;
        let address = format!("{scheme}://{user}{}", proxy.address);
        let told = elsewhere::run(test, url, &[trusts, (variable, &address)]).await;
        // A plain server of ours takes no such name: that it says so shows that it was reached.
        let is_there = told == "all is well" || told.contains("HTTP status 403");
        assert!(is_there, "{does:?} {url}: {told}");
        let asked = proxy.asked();
        assert!(
            !asked.is_empty() && asked.iter().all(|one| one.contains(want)),
            "{asked:?}"
        );
    }
    assert!(
        server.spoken().iter().all(|one| one == "h2"),
        "{:?}",
        server.spoken()
    );
}

// req: S-PROXY
#[tokio::test]
async fn a_plain_request_is_sent_on_by_the_proxy() {
    if elsewhere::is_here().await {
        return;
    }
    let test = "client::proxies::a_plain_request_is_sent_on_by_the_proxy";
    let proxy = Web::serve(answers).await;
    let address = proxy.url("/").replace("//", "//joe:hush@");
    let told = elsewhere::run(test, HTTP, &[("HTTP_PROXY", &address)]).await;
    assert_eq!(told, "all is well");
    for asked in proxy.asked() {
        assert_eq!(asked.path, HTTP);
        assert_eq!(asked.header("host"), Some("server.test"));
        assert_eq!(asked.header("proxy-authorization"), Some(BASIC));
    }
    // Left out, and never for this machine itself.
    let heard = proxy.heard().len();
    for no in ["server.test", "*", ".test"] {
        let environment = [("HTTP_PROXY", &*address), ("NO_PROXY", no)];
        let told = elsewhere::run(test, HTTP, &environment).await;
        assert!(
            told.starts_with("Unreachable") && !told.contains("proxy"),
            "{no}: {told}"
        );
    }
    let direct = Web::serve(answers).await;
    let told = elsewhere::run(test, &direct.url("/mcp"), &[("ALL_PROXY", &address)]).await;
    assert_eq!(told, "all is well");
    assert_eq!(proxy.heard().len(), heard);
}

// req: S-PROXY
#[tokio::test]
async fn a_proxy_that_does_not_lead_there_is_named_without_its_password() {
    if elsewhere::is_here().await {
        return;
    }
    let test = "client::proxies::a_proxy_that_does_not_lead_there_is_named_without_its_password";
    let authority = Authority::new("unused");
    let trusts = ("SSL_CERT_FILE", authority.file());
    let dead = {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.local_addr().unwrap()
    };
    let login = "HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n";
    let busy = "HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n";
    let joe = Some(("joe", "other"));
    for (does, scheme, url) in [
        (None, "http", HTTPS),
        (None, "http", HTTP),
        (None, "socks5h", HTTPS),
        (Some(Does::Says(login)), "http", HTTPS),
        (Some(Does::Says(login)), "http", HTTP),
        (Some(Does::Says(busy)), "http", HTTPS),
        (Some(Does::Says("")), "http", HTTPS),
        (Some(Does::Says("SSH-2.0-x\r\n\r\n")), "http", HTTPS),
        (Some(Does::Socks(dead, joe)), "socks5h", HTTPS),
        (Some(Does::Mutters("no")), "socks5h", HTTPS),
    ] {
        let proxy = match does {
            Some(does) => Some(Proxy::that(does).await),
            None => None,
        };
        let place = proxy.as_ref().map_or(dead, |proxy| proxy.address);
        let address = format!("{scheme}://joe:hush@{place}");
        let told = elsewhere::run(test, url, &[trusts, ("ALL_PROXY", &address)]).await;
        let named = format!("the proxy {scheme}://{place}, ");
        assert!(
            told.starts_with("Unreachable") && told.contains(&named),
            "{does:?} {url}: {told}"
        );
        for secret in ["hush", "joe", "am9l"] {
            assert!(!told.contains(secret), "{told}");
        }
    }
    for scheme in ["https", "socks4"] {
        let address = format!("{scheme}://joe:hush@127.0.0.1:1");
        let told = elsewhere::run(test, HTTPS, &[trusts, ("ALL_PROXY", &address)]).await;
        assert!(
            told.contains("http and socks5 can be used") && !told.contains("hush"),
            "{told}"
        );
    }
}

/// What somebody sends through a proxy is not sent past it because of a slip of the pen.
// req: S-PROXY
#[tokio::test]
async fn a_proxy_that_cannot_be_read_is_not_left_out() {
    if elsewhere::is_here().await {
        return;
    }
    let test = "client::proxies::a_proxy_that_cannot_be_read_is_not_left_out";
    let good = Web::serve(answers).await;
    let good = good.url("/");
    for (url, variable, value, refused) in [
        (HTTP, "http_proxy", "http://bad url", true),
        (HTTP, "HTTP_PROXY", "ftp://joe:hush@proxy.test", true),
        (HTTP, "ALL_PROXY", "http://", true),
        (HTTP, "HTTP_PROXY", "", false),
        (HTTP, "HTTPS_PROXY", "http://bad url", false),
        (HTTPS, "https_proxy", "http://bad url", true),
        ("http://127.0.0.1:1/", "HTTP_PROXY", "http://bad url", false),
    ] {
        // Nor is the one for all others taken in its place.
        let environment = [(variable, value), ("all_proxy", &good)];
        let environment = match variable {
            "ALL_PROXY" => &environment[..1],
            _ => &environment[..],
        };
        let told = elsewhere::run(test, url, environment).await;
        let named = format!("the variable {variable} holds no address of a proxy");
        assert_eq!(told.contains(&named), refused, "{variable}={value}: {told}");
        assert!(!told.contains("hush"), "{told}");
        let left_out = [environment, &[("NO_PROXY", "server.test")]].concat();
        let told = elsewhere::run(test, url, &left_out).await;
        assert!(!told.contains("the variable"), "{variable}={value}: {told}");
    }
}
