//! A gateway between HTTP on both sides: one request of a client is one request of a server, and nothing that belongs to the one
//! connection is seen on the other.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use polyport::client::{Connect, Target};
use polyport::http::{Config, Endpoint, ListenError, bind};
use polyport::{Revision, Revisions, Service, stop};
use polyport_gateway::{Gateway, Upstream};
use polyport_testkit::{Web, side_by_side};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::faults::as_usual;
use crate::{ERAS, server, upstream};

/// A server at an address, which is recorded, and a gateway to it and to another one.
async fn between(theirs: Revision) -> (Web, Endpoint) {
    let web = Web::serve(|asked| as_usual(asked, "theirs")).await;
    let target = Target::new(&web.url("/mcp")).unwrap();
    let target = target
        .header("Authorization", "Bearer of-the-operator")
        .unwrap();
    let connect = Connect::http(target).speaks(Revisions::NONE.with(theirs));
    let gateway = Gateway::new([
        Upstream::new("web", connect),
        upstream(server("a"), "beside", theirs),
    ]);
    (web, Endpoint::new(Service::new(gateway), Config::default()))
}

/// What a server was asked by calls with this tag.
fn calls(web: &Web, tag: &str) -> usize {
    let is_it = |asked: &&polyport_testkit::web::Asked| {
        asked.message()["method"] == "tools/call" && asked.body.contains(tag)
    };
    web.asked().iter().filter(is_it).count()
}

fn call(tag: &str) -> String {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": "back", "arguments": {"tag": tag}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

const HEAD: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: back\r\n";

/// A request in bytes; `framing` are the headers that say how long its body is.
fn request(framing: &str, body: &str) -> String {
    format!("{HEAD}{framing}\r\n{body}")
}

fn whole(tag: &str) -> String {
    let body = call(tag);
    request(&format!("Content-Length: {}\r\n", body.len()), &body)
}

/// Ways to say how long a body is that two readers take for two lengths. `N` is the length of all that follows.
const FRAMINGS: &[&str] = &[
    "Content-Length: N\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: N\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
    "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
    "Content-Length: 4\r\nTransfer-Encoding: identity\r\n",
    "Content-Length: N\r\nTransfer-Encoding : chunked\r\n",
    "Content-Length: 4\r\nTransfer-Encoding : chunked\r\n",
    "Content-Length: N\r\nTransfer-Encoding:\r\n chunked\r\n",
    "Content-Length: N\r\n Transfer-Encoding: chunked\r\n",
    "Content-Length: N\r\nX: y\r\n\tTransfer-Encoding: chunked\r\n",
    "Content-Length: N\r\nX: y\nTransfer-Encoding: chunked\r\n",
    "Content-Length: N\r\nX: y\rTransfer-Encoding: chunked\r\n",
    "Content-Length: N\r\nX: y\0Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked, identity\r\n",
    "Transfer-Encoding: identity, chunked\r\n",
    "Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n",
    "Transfer-Encoding: \x0bchunked\r\nContent-Length: N\r\n",
    "Transfer-Encoding: \"chunked\"\r\nContent-Length: 4\r\n",
    "Transfer-Encoding: chunked\x00\r\nContent-Length: N\r\n",
    "Transfer_Encoding: chunked\r\nContent-Length: N\r\n",
    "Content-Length: 4\r\nContent-Length: N\r\n",
    "Content-Length: N\r\nContent-Length: 4\r\n",
    "Content-Length: 4, N\r\n",
    "Content-Length: N, N\r\n",
    "Content-Length: +4\r\n",
    "Content-Length: -4\r\n",
    "Content-Length: 0x4\r\n",
    "Content-Length: 4 4\r\n",
    "Content-Length: 4.0\r\n",
    "Content-Length: 18446744073709551620\r\n",
    "Content-Length : 4\r\n",
    "Content-Length:\r\n 4\r\n",
    "Content-Length: \x0c4\r\n",
    "Content-Length: 0\r\nContent-Length: 0\r\n",
    "Connection: Content-Length\r\nContent-Length: N\r\n",
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nContent-Length: N\r\n",
    "Expect: 100-continue\r\nContent-Length: N\r\n",
];

/// Chunks that two readers end at two places; `INNER` is what one of them takes for a request.
const CHUNKS: &[&str] = &[
    "0\n\nINNER",
    "0\r\n\nINNER",
    "0 \r\n\r\nINNER",
    "0;a=\"\r\n\r\nINNER\"\r\n\r\n",
    "0;\n\r\n\r\nINNER",
    "+0\r\n\r\nINNER",
    "0x0\r\n\r\nINNER",
    "-1\r\n\r\nINNER",
    "10000000000000000\r\n\r\nINNER",
    "1\r\n{}\r\n0\r\n\r\nINNER",
    "1\r\n{\n0\r\n\r\nINNER",
    "0\r\nContent-Length: 4\r\n\r\nINNER",
    "0\r\nTransfer-Encoding: chunked\r\n\r\nINNER",
];

/// First lines that are refused before anything is read of what follows them.
const REFUSED: &[&str] = &[
    "POST /nothing HTTP/1.1\r\nHost: localhost\r\n",
    "POST /mcp HTTP/1.1\r\nHost: evil.example\r\n",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n",
    "GET /mcp HTTP/1.1\r\nHost: localhost\r\n",
    "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n",
    "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n",
    "HEAD /mcp HTTP/1.1\r\nHost: localhost\r\n",
    "PUT /mcp HTTP/1.1\r\nHost: localhost\r\n",
    "POST /mcp HTTP/1.0\r\nHost: localhost\r\n",
];

fn corpus() -> Vec<String> {
    let inner = whole("inner");
    let mut all = Vec::new();
    for framing in FRAMINGS {
        // The request begins where the last chunk ends, or within a chunk.
        let last = format!("0\r\n\r\n{inner}");
        let within = format!("{:03x}\r\n{inner}\r\n0\r\n\r\n", inner.len());
        for body in [last, within] {
            all.push(request(
                &framing.replace('N', &body.len().to_string()),
                &body,
            ));
        }
    }
    let chunked = "Transfer-Encoding: chunked\r\n";
    for chunks in CHUNKS {
        all.push(request(chunked, &chunks.replace("INNER", &inner)));
    }
    for first in REFUSED {
        let framing = format!("Content-Length: {}\r\n", inner.len());
        all.push(format!("{first}{framing}\r\n{inner}"));
        let within = format!("{:x}\r\n{inner}\r\n0\r\n\r\n", inner.len());
        all.push(format!("{first}{chunked}\r\n{within}"));
    }
    all
}

/// What comes back on a connection of its own.
async fn exchange(address: SocketAddr, bytes: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // It may be refused before it is read to its end.
    let _ = stream.write_all(bytes.as_bytes()).await;
    let mut got = Vec::new();
    let reading = async { while stream.read_buf(&mut got).await.is_ok_and(|n| n > 0) {} };
    let _ = timeout(Duration::from_millis(800), reading).await;
    String::from_utf8_lossy(&got).into_owned()
}

// req: V-504
#[tokio::test]
async fn v_504_no_request_hides_in_another() {
    for theirs in ERAS {
        let (web, endpoint) = between(theirs).await;
        let bound = bind(endpoint, ([127, 0, 0, 1], 0).into(), false)
            .await
            .unwrap();
        let address = bound.address();
        let (stopper, stop) = stop::stop();
        let serving = tokio::spawn(bound.serve(stop));
        // Two that stand one after the other are two, and nothing is wrong with a chunk.
        let two = whole("first") + &whole("second");
        let got = exchange(address, &two).await;
        assert_eq!(got.matches("HTTP/1.1 200").count(), 2, "{got}");
        let body = call("third");
        let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        exchange(address, &request("Transfer-Encoding: chunked\r\n", &chunks)).await;
        for tag in ["first", "second", "third"] {
            assert_eq!(calls(&web, tag), 1, "{tag}");
        }
        let web = Arc::new(web);
        let hidden = Arc::new(Mutex::new(Vec::new()));
        let cases = corpus().into_iter().enumerate().map(|(n, bytes)| {
            let (web, hidden) = (web.clone(), hidden.clone());
            async move {
                let tag = format!("i{n:04}");
                let got = exchange(address, &bytes.replace("inner", &tag)).await;
                let answers =
                    got.matches("HTTP/1.1 ").count() - got.matches("HTTP/1.1 100").count();
                if answers > 1 || got.contains("HTTP/1.1 200") || calls(&web, &tag) > 0 {
                    let head = bytes.replace(HEAD, "");
                    hidden.lock().unwrap().push(format!("{head:.160?}: {got}"));
                }
            }
        });
        side_by_side(20, cases).await;
        assert_eq!(*hidden.lock().unwrap(), [""; 0], "at a {theirs} server");
        assert_eq!(calls(&web, ""), 3, "nothing else was called");
        stopper.stop();
        serving.await.unwrap();
    }
}

/// What a client says to the gateway alone, or to no server at all.
const LEAKS: &[(&str, &str)] = &[
    ("accept-encoding", "leak-coding"),
    ("accept-language", "leak"),
    ("authorization", "Bearer leak"),
    ("connection", "close, x-secret"),
    ("content-language", "leak"),
    ("cookie", "leak=1"),
    ("forwarded", "for=leak"),
    ("keep-alive", "leak"),
    ("last-event-id", "leak"),
    ("mcp-param-leak", "leak"),
    ("proxy-authorization", "Basic leak"),
    ("proxy-connection", "leak"),
    ("referer", "http://leak/"),
    ("te", "leak"),
    ("trailer", "x-leak"),
    ("traceparent", "00-leak"),
    ("upgrade", "leak"),
    ("user-agent", "leak/1"),
    ("via", "leak"),
    ("x-api-key", "leak"),
    ("x-forwarded-for", "leak"),
    ("x-forwarded-host", "leak"),
    ("x-secret", "leak"),
    ("x-tenant-id", "leak"),
];

/// What may stand in a request to a server, and how it begins if that is known.
const OURS: &[(&str, &str)] = &[
    ("accept", ""),
    ("accept-encoding", ""),
    ("authorization", "Bearer of-the-operator"),
    ("content-length", ""),
    ("content-type", "application/json"),
    ("host", "127.0.0.1:"),
    ("mcp-method", ""),
    ("mcp-name", "back"),
    ("mcp-protocol-version", ""),
    ("mcp-session-id", "theirs"),
    ("user-agent", ""),
];

struct Downstream {
    endpoint: Endpoint,
    session: Option<String>,
}

impl Downstream {
    async fn post(&mut self, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
        let mut request = Request::post("/mcp")
            .header("host", "localhost:7000")
            .header("accept", "application/json, text/event-stream;leak=1")
            .header("content-type", "application/json; charset=utf-8");
        for (name, value) in headers.iter().chain(LEAKS) {
            request = request.header(*name, *value);
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        let body = Full::new(bytes::Bytes::from(body.to_string()));
        let response = self.endpoint.handle(request.body(body).unwrap()).await;
        let headers: HeaderMap = response.headers().clone();
        let status = response.status().as_u16();
        let text = response.into_body().collect().await.unwrap().to_bytes();
        if let Some(session) = headers.get("mcp-session-id") {
            self.session = Some(session.to_str().unwrap().to_owned());
        }
        (status, String::from_utf8_lossy(&text).into_owned())
    }
}

// req: V-505, BR-186
#[tokio::test]
async fn v_505_br_186_no_header_of_a_client_reaches_a_server() {
    for theirs in ERAS {
        for ours in ERAS {
            let (web, endpoint) = between(theirs).await;
            let session = None;
            let mut client = Downstream { endpoint, session };
            let shown = format!("{ours} to {theirs}");
            let (status, text) = if ours == ERAS[0] {
                let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
                }});
                client.post(&[], &opening).await;
                let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
                client.post(&[], &ready).await;
                let params = json!({"name": "back", "arguments": {"tag": "here"}});
                let call =
                    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
                client.post(&[], &call).await
            } else {
                let call: Value = serde_json::from_str(&call("here")).unwrap();
                let headers = [
                    ("mcp-protocol-version", "2026-07-28"),
                    ("mcp-method", "tools/call"),
                    ("mcp-name", "back"),
                ];
                client.post(&headers, &call).await
            };
            assert_eq!(status, 200, "{shown}: {text}");
            assert!(text.contains("here"), "{shown}: {text}");
            assert_eq!(calls(&web, "here"), 1, "{shown}");
            for asked in web.asked() {
                for (name, value) in &asked.headers {
                    let known = OURS.iter().find(|(known, _)| known == name);
                    let is_fine = known.is_some_and(|(_, begins)| value.starts_with(begins));
                    let leaks = value.contains("leak") || value.contains("charset");
                    let is_theirs = client.session.as_deref() == Some(value);
                    assert!(is_fine && !leaks && !is_theirs, "{shown}: {name}: {value}");
                }
                let once = |name: &str| asked.headers.iter().filter(|it| it.0 == name).count();
                assert_eq!((once("host"), once("authorization")), (1, 1), "{shown}");
            }
        }
    }
}

// req: V-103
#[tokio::test]
async fn v_103_a_gateway_asks_who_it_is_where_others_can_reach_it() {
    let (web, endpoint) = between(ERAS[1]).await;
    let refused = bind(endpoint.clone(), ([0, 0, 0, 0], 0).into(), false).await;
    assert!(
        matches!(refused, Err(ListenError::Insecure(_))),
        "{refused:?}"
    );
    // A page's origin is looked at wherever that is.
    let bound = bind(endpoint, ([0, 0, 0, 0], 0).into(), true)
        .await
        .unwrap();
    let port = bound.address().port();
    let (stopper, stop) = stop::stop();
    let serving = tokio::spawn(bound.serve(stop));
    let page = whole("here").replacen("Host", "Origin: https://evil.example\r\nHost", 1);
    let got = exchange(([127, 0, 0, 1], port).into(), &page).await;
    assert!(got.starts_with("HTTP/1.1 403"), "{got}");
    assert_eq!(web.asked().len(), 0, "nobody was connected for it");
    stopper.stop();
    serving.await.unwrap();
}
