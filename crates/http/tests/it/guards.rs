//! Who may reach the endpoint: every route of its table and every other path, every method.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::HeaderMap;
use polyport_http::{Access, Authorize, Challenge, Config, Endpoint, Served};
use polyport_proto::{Limits, Principal};
use polyport_rt::{BoxFuture, Service};
use polyport_testkit::handlers::Puppet;

use crate::{
    CALL, INITIALIZE, PLAIN, V, call, endpoint, endpoint_with, got, modern, open, request,
};

const METHODS: [&str; 9] = [
    "GET", "POST", "DELETE", "OPTIONS", "PUT", "PATCH", "HEAD", "TRACE", "CONNECT",
];

/// The routes of an endpoint, and paths that others have and we do not.
fn paths(endpoint: &Endpoint) -> Vec<String> {
    let own = endpoint.routes().iter().map(|served| served.path.clone());
    let others = [
        "/",
        "/mcp/",
        "/mcp2",
        "/mcp/x",
        "//mcp",
        "/sse",
        "/messages",
        "/message",
        "/ws",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/health",
        "/metrics",
        "/admin",
        "/api/config",
    ];
    own.chain(others.map(str::to_owned)).collect()
}

// req: V-101
#[tokio::test(start_paused = true)]
async fn v_101_a_foreign_host_reaches_nothing() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let session = open(&endpoint).await;
    let seen = puppet.seen.calls.load(Ordering::SeqCst);
    let bodies = [
        INITIALIZE.to_owned(),
        call(1, "echo"),
        modern("tools/call", r#""name":"echo""#),
    ];
    for path in paths(&endpoint) {
        for method in METHODS {
            for (name, value) in [
                ("host", "evil.test"),
                ("host", ""),
                ("origin", "http://evil.test"),
                ("origin", "null"),
            ] {
                for body in &bodies {
                    let mut headers = vec![
                        (name, value),
                        PLAIN[1],
                        PLAIN[2],
                        ("mcp-session-id", &*session),
                    ];
                    headers.extend([PLAIN[0]].iter().filter(|(n, _)| *n != name));
                    if body.contains("_meta") {
                        headers.extend([V, CALL, ("mcp-name", "echo")]);
                    }
                    let got = endpoint
                        .handle(request(method, &path, &headers, body))
                        .await;
                    let what = format!("{method} {path} {name}: {value}");
                    assert_eq!(got.status().as_u16(), 403, "{what}");
                    assert!(!got.headers().contains_key("mcp-session-id"), "{what}");
                    assert!(!got.headers().contains_key("access-control-allow-origin"));
                }
            }
        }
    }
    assert_eq!(endpoint.sessions(), 1);
    assert_eq!(
        puppet.seen.calls.load(Ordering::SeqCst),
        seen,
        "nothing has run"
    );
    for host in ["localhost:7400", "127.0.0.1:7400", "[::1]:7400"] {
        let origin = format!("http://{host}");
        let headers = [("host", host), ("origin", &origin), PLAIN[1], PLAIN[2]];
        let opened = endpoint.handle(request("POST", "/mcp", &headers, INITIALIZE));
        assert_eq!(opened.await.status(), 200, "{host}");
    }
    assert_eq!(endpoint.sessions(), 4);
}

#[tokio::test(start_paused = true)]
async fn other_paths_are_not_there() {
    let endpoint = endpoint();
    for path in paths(&endpoint) {
        let own = endpoint
            .routes()
            .iter()
            .any(|served| served.path == path.trim_end_matches('/'));
        for method in METHODS {
            let got = endpoint.handle(request(method, &path, PLAIN, INITIALIZE));
            let status = got.await.status();
            assert_eq!(status == 404, !own, "{method} {path}: {status}");
        }
    }
}

/// Lets nobody in.
struct Nobody;

impl Authorize for Nobody {
    fn authorize(&self, _headers: &HeaderMap) -> BoxFuture<Result<Arc<Principal>, Challenge>> {
        let challenge = Challenge {
            status: 401,
            www_authenticate: "Bearer".to_owned(),
        };
        Box::pin(async { Err(challenge) })
    }
}

// req: V-110
#[tokio::test(start_paused = true)]
async fn v_110_every_route_has_its_class() {
    // A new route has to be added here, with what it asks of its caller.
    for (sessions, table) in [
        (
            true,
            &[
                ("/mcp", "GET, POST, DELETE", Access::Authorized),
                ("/sse", "GET", Access::Authorized),
                ("/messages", "POST", Access::Authorized),
                #[cfg(feature = "ws")]
                ("/ws", "GET", Access::Authorized),
            ][..],
        ),
        (
            false,
            &[
                ("/mcp", "POST", Access::Authorized),
                #[cfg(feature = "ws")]
                ("/ws", "GET", Access::Authorized),
            ][..],
        ),
    ] {
        let puppet = Puppet::default();
        let config = Config {
            sessions,
            authorize: Some(Arc::new(Nobody)),
            ..Config::default()
        };
        let endpoint = Endpoint::new(Service::new(puppet.clone()), config);
        let row = |served: &Served| (served.path.clone(), served.methods, served.access);
        let routes: Vec<_> = endpoint.routes().iter().map(row).collect();
        let wanted: Vec<_> = table
            .iter()
            .map(|(path, methods, access)| ((*path).to_owned(), *methods, *access))
            .collect();
        assert_eq!(routes, wanted);
        for path in paths(&endpoint) {
            for method in METHODS {
                let headers = [PLAIN, &[("mcp-session-id", "x")]].concat();
                let got = got(endpoint
                    .handle(request(method, &path, &headers, INITIALIZE))
                    .await)
                .await;
                let what = format!("{method} {path}");
                let served = endpoint
                    .routes()
                    .iter()
                    .find(|served| served.path == path.trim_end_matches('/'));
                match served {
                    Some(served) if served.methods.split(", ").any(|m| m == method) => {
                        assert_eq!(served.access, Access::Authorized, "{what}");
                        assert_eq!(got.status, 401, "{what}");
                        assert_eq!(got.headers["www-authenticate"], "Bearer", "{what}");
                    }
                    Some(_) => assert_eq!(got.status, 405, "{what}"),
                    None => assert_eq!(got.status, 404, "{what}"),
                }
            }
        }
        assert_eq!(endpoint.sessions(), 0);
        assert_eq!(puppet.seen.calls.load(Ordering::SeqCst), 0);
    }
}

/// What opens a session, and what needs none.
fn bodies() -> [String; 2] {
    [
        INITIALIZE.to_owned(),
        modern("tools/call", r#""name":"echo""#),
    ]
}

/// The routes that take bodies.
fn posted(endpoint: &Endpoint) -> impl Iterator<Item = &Served> {
    let routes = endpoint.routes().iter();
    routes.filter(|served| served.methods.contains("POST"))
}

// req: V-105
#[tokio::test(start_paused = true)]
async fn v_105_only_json_is_taken_for_json() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    for served in posted(&endpoint) {
        for types in [
            &["text/plain"][..],
            &["text/plain;charset=application/json"],
            &["application/x-www-form-urlencoded"],
            &["multipart/form-data; boundary=x"],
            &[],
            &[""],
            &["application/json, text/plain"],
            &["text/plain, application/json"],
            &["application/json", "text/plain"],
            &["text/plain", "application/json"],
            &["application/json;"],
            &["xapplication/json"],
            &["application/jsonx"],
            &["application/json+x"],
            &["application/vnd.api+json"],
            &["application/json; charset=utf-16"],
            &["application /json"],
        ] {
            for body in &bodies() {
                let mut headers = vec![PLAIN[0], PLAIN[2], V, CALL, ("mcp-name", "echo")];
                headers.extend(types.iter().map(|t| ("content-type", *t)));
                let got = endpoint
                    .handle(request("POST", &served.path, &headers, body))
                    .await;
                assert_eq!(got.status(), 415, "{} {types:?}", served.path);
            }
        }
    }
    assert_eq!(endpoint.sessions(), 0);
    assert_eq!(puppet.seen.calls.load(Ordering::SeqCst), 0);
}

/// What is compressed is not taken apart: a small body stays a small one.
// req: V-412
#[tokio::test(start_paused = true)]
async fn v_412_no_body_is_taken_that_swells() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    for served in posted(&endpoint) {
        for (codings, is_taken) in [
            (&["gzip"][..], false),
            (&["deflate"], false),
            (&["br"], false),
            (&["zstd"], false),
            (&["gzip, gzip"], false),
            (&["gzip", "gzip"], false),
            (&["identity", "gzip"], false),
            (&["identity, gzip"], false),
            (&["made-up"], false),
            (&[""], false),
            (&["Identity"], true),
            (&[], true),
        ] {
            let before = puppet.seen.calls.load(Ordering::SeqCst);
            for body in &bodies() {
                let mut headers = vec![PLAIN[0], PLAIN[1], PLAIN[2], V, CALL, ("mcp-name", "echo")];
                headers.extend(codings.iter().map(|coding| ("content-encoding", *coding)));
                let asked = request("POST", &served.path, &headers, body);
                let status = endpoint.handle(asked).await.status();
                assert_eq!(
                    status != 415,
                    is_taken,
                    "{} {codings:?}: {status}",
                    served.path
                );
            }
            let calls = puppet.seen.calls.load(Ordering::SeqCst) - before;
            assert!(is_taken || calls == 0, "{codings:?}");
        }
    }
}
