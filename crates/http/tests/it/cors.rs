//! What a page in a browser is told: the preflight, what it may read, and that nobody else is told anything.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::HeaderMap;
use polyport_http::{Authorize, Challenge, Config, Endpoint};
use polyport_proto::Principal;
use polyport_rt::{BoxFuture, Service};
use polyport_testkit::handlers::Puppet;

use crate::{CALL, Got, INITIALIZE, PING, PLAIN, V, got, modern, request};

const PAGE: (&str, &str) = ("origin", "https://app.example");
const ASKS: (&str, &str) = ("access-control-request-method", "POST");

fn endpoint(config: Config) -> (Endpoint, Puppet) {
    let puppet = Puppet::default();
    let endpoint = Endpoint::new(Service::new(puppet.clone()), config);
    (endpoint, puppet)
}

fn open_to_pages() -> Config {
    Config::default()
        .allow_origin("https://app.example")
        .allow_origin("http://localhost:3000")
}

async fn ask(endpoint: &Endpoint, method: &str, headers: &[(&str, &str)], body: &str) -> Got {
    got(endpoint
        .handle(request(method, "/mcp", headers, body))
        .await)
    .await
}

fn words(got: &Got, header: &str) -> Vec<String> {
    let text = got.headers[header].to_str().unwrap().to_ascii_lowercase();
    text.split(',').map(|word| word.trim().to_owned()).collect()
}

/// Lets in who has a token.
struct Tokens;

impl Authorize for Tokens {
    fn authorize(&self, headers: &HeaderMap) -> BoxFuture<Result<Arc<Principal>, Challenge>> {
        let known = headers.contains_key("authorization");
        Box::pin(async move {
            let challenge = Challenge {
                status: 401,
                www_authenticate: "Bearer".to_owned(),
            };
            let principal = Principal {
                issuer: "i".into(),
                client: "c".into(),
                subject: "s".into(),
            };
            known.then(|| Arc::new(principal)).ok_or(challenge)
        })
    }
}

// req: V-109
#[tokio::test(start_paused = true)]
async fn v_109_a_page_that_was_allowed_gets_through() {
    let config = Config {
        authorize: Some(Arc::new(Tokens)),
        ..open_to_pages()
    };
    let (endpoint, puppet) = endpoint(config);
    // The browser asks first: without a token, and about the longest of bodies.
    let asked = "authorization,content-type,mcp-method,mcp-name,mcp-param-region,mcp-protocol-version,mcp-session-id,x-evil";
    let preflight = [
        PLAIN[0],
        PAGE,
        ASKS,
        ("access-control-request-headers", asked),
        ("access-control-request-private-network", "true"),
        ("content-length", "99999999999"),
    ];
    let told = ask(&endpoint, "OPTIONS", &preflight, "").await;
    assert_eq!((told.status, told.text.as_str()), (204, ""));
    assert_eq!(told.headers["access-control-allow-origin"], PAGE.1);
    assert_eq!(told.headers["vary"], "origin");
    assert_eq!(told.headers["access-control-max-age"], "7200");
    assert_eq!(told.headers["access-control-allow-private-network"], "true");
    assert_eq!(
        words(&told, "access-control-allow-methods"),
        ["get", "post", "delete"]
    );
    assert_eq!(
        words(&told, "access-control-allow-headers"),
        [
            "accept",
            "authorization",
            "content-type",
            "last-event-id",
            "mcp-method",
            "mcp-name",
            "mcp-protocol-version",
            "mcp-session-id",
            "mcp-param-region"
        ]
    );
    // Then a session, a modern call, a stream, and the end; each may be read.
    let page = [PLAIN, &[PAGE, ("authorization", "Bearer x")]].concat();
    let opened = ask(&endpoint, "POST", &page, INITIALIZE).await;
    let session = opened.session();
    let in_session = [&page[..], &[("mcp-session-id", &session)]].concat();
    let pinged = ask(&endpoint, "POST", &in_session, PING).await;
    let with_call = [&page[..], &[V, CALL, ("mcp-name", "echo")]].concat();
    let body = modern("tools/call", r#""name":"echo""#);
    let called = ask(&endpoint, "POST", &with_call, &body).await;
    let stream = endpoint
        .handle(request("GET", "/mcp", &in_session, ""))
        .await;
    assert_eq!(stream.headers()["access-control-allow-origin"], PAGE.1);
    let ended = ask(&endpoint, "DELETE", &in_session, "").await;
    assert_eq!(
        [opened.status, pinged.status, called.status, ended.status],
        [200, 200, 200, 204]
    );
    // So may what is refused, whoever refuses it.
    let unasked = [PLAIN, &[PAGE]].concat();
    let unauthorized = ask(&endpoint, "POST", &unasked, INITIALIZE).await;
    let unknown = ask(&endpoint, "POST", &in_session, PING).await;
    let broken = ask(&endpoint, "POST", &page, "{").await;
    let put = ask(&endpoint, "PUT", &page, "").await;
    let elsewhere = got(endpoint.handle(request("GET", "/x", &page, "")).await).await;
    let long = [&page[..], &[("content-length", "99999999999")]].concat();
    let long = ask(&endpoint, "POST", &long, "{}").await;
    let refused = [unauthorized, unknown, broken, put, elsewhere, long];
    let statuses: Vec<_> = refused.iter().map(|got| got.status).collect();
    assert_eq!(statuses, [401, 404, 400, 405, 404, 413]);
    for got in refused.iter().chain([&opened, &pinged, &called, &ended]) {
        assert_eq!(got.headers["access-control-allow-origin"], PAGE.1);
        assert_eq!(got.headers["vary"], "origin");
        assert_eq!(
            words(got, "access-control-expose-headers"),
            [
                "mcp-session-id",
                "mcp-protocol-version",
                "www-authenticate",
                "retry-after"
            ]
        );
    }
    assert_eq!(puppet.seen.calls.load(Ordering::SeqCst), 2);
}

// req: V-109
#[tokio::test(start_paused = true)]
async fn v_109_a_preflight_says_what_the_endpoint_has() {
    let config = Config {
        sessions: false,
        ..open_to_pages()
    };
    let (endpoint, _) = endpoint(config);
    let preflight = [PLAIN[0], PAGE, ASKS];
    let told = ask(&endpoint, "OPTIONS", &preflight, "").await;
    assert_eq!(words(&told, "access-control-allow-methods"), ["post"]);
    for header in [
        "access-control-allow-private-network",
        "access-control-allow-credentials",
    ] {
        assert!(!told.headers.contains_key(header), "{header}");
    }
    // An OPTIONS that is no preflight is a method that we lack; a path that is not there stays so.
    let plain = ask(&endpoint, "OPTIONS", &[PLAIN[0], PAGE], "").await;
    assert_eq!(
        (plain.status, &plain.headers["allow"]),
        (405, &"POST".parse().unwrap())
    );
    let elsewhere = endpoint.handle(request("OPTIONS", "/x", &preflight, ""));
    assert_eq!(elsewhere.await.status(), 404);
    // Names that are none are left out, and no value is passed on as it came.
    let odd = "mcp-param-a, MCP-Param-B ,mcp-param-\u{e4},mcp-param- x,,mcp-param-c;x";
    let odd = [
        PLAIN[0],
        PAGE,
        ASKS,
        ("access-control-request-headers", odd),
    ];
    let told = ask(&endpoint, "OPTIONS", &odd, "").await;
    assert_eq!(
        words(&told, "access-control-allow-headers")[8..],
        ["mcp-param-a", "mcp-param-b"]
    );
}

// req: V-104
#[tokio::test(start_paused = true)]
async fn v_104_nobody_else_is_told_anything() {
    let lists = [
        Config::default(),
        open_to_pages(),
        Config::default().allow_origin("*"),
        Config::default().allow_origin("null"),
        Config::default().allow_origin(""),
    ];
    for config in lists {
        let configured = config.guard.has_origins();
        let (endpoint, _) = endpoint(config);
        for method in ["GET", "POST", "DELETE", "OPTIONS", "PUT"] {
            for path in ["/mcp", "/", "/sse", "/messages"] {
                for origin in [
                    "",
                    "*",
                    "null",
                    "https://evil.test",
                    "https://app.example.evil.test",
                    "http://app.example",
                    "https://app.example:8443",
                    "http://localhost:7400",
                    "https://app.example",
                ] {
                    let mut headers = [PLAIN, &[ASKS]].concat();
                    if !origin.is_empty() {
                        headers.push(("origin", origin));
                    }
                    // Of a stream, too, only the head is looked at.
                    let answer = endpoint.handle(request(method, path, &headers, INITIALIZE));
                    let answer = answer.await;
                    let answer = answer.headers();
                    let what = format!("{method} {path} from {origin:?}: {answer:?}");
                    let told = answer.get("access-control-allow-origin");
                    let allowed = configured && origin == "https://app.example";
                    assert_eq!(told.is_some(), allowed, "{what}");
                    assert!(told.is_none_or(|told| told == origin), "{what}");
                    let vary = answer.get_all("vary").iter().count();
                    assert_eq!(vary, usize::from(configured), "{what}");
                    for (name, value) in answer {
                        assert_ne!(value, "*", "{what}");
                        assert_ne!(name, "access-control-allow-credentials", "{what}");
                        assert!(
                            allowed || !name.as_str().starts_with("access-control-"),
                            "{what}"
                        );
                    }
                }
            }
        }
    }
}

// req: V-104
#[tokio::test(start_paused = true)]
async fn v_104_a_page_that_names_two_origins_is_no_page() {
    let (endpoint, _) = endpoint(open_to_pages());
    let headers = [PLAIN, &[PAGE, PAGE, ASKS]].concat();
    for method in ["POST", "OPTIONS"] {
        let got = ask(&endpoint, method, &headers, INITIALIZE).await;
        assert_eq!(got.status, 403);
        assert!(!got.headers.contains_key("access-control-allow-origin"));
    }
}
