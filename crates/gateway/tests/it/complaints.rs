//! What people complain of at other gateways: what each client costs, what it is loaded with, and what becomes of credentials.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use polyport::client::{Connect, Target};
use polyport::http::{Authorize, Challenge, Config, Endpoint};
use polyport::testing::connect_to;
use polyport::{BoxFuture, Principal, Revision, Revisions, Server, Service};
use polyport_gateway::{Gateway, Seen, Upstream};
use polyport_testkit::Web;
use polyport_testkit::web::Reply;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use crate::faults::{SOON, as_usual};
use crate::{ERAS, client, names, server, text, upstream};

// req: GW-06
#[tokio::test(start_paused = true)]
async fn gw_06_what_a_client_took_is_given_back() {
    for theirs in ERAS {
        for ours in ERAS {
            let gateway = Gateway::new([
                upstream(server("a"), "one", theirs),
                upstream(server("b"), "two", theirs),
            ]);
            let service = Service::new(gateway);
            let started = service.start().await.unwrap();
            sleep(Duration::from_millis(1)).await;
            let tasks = || Handle::current().metrics().num_alive_tasks();
            let before = tasks();
            for _ in 0..2 {
                for n in 0..100 {
                    let able = if n % 2 == 0 {
                        json!({})
                    } else {
                        json!({"sampling": {}})
                    };
                    let client = connect_to(service.clone(), ours, &able).await.unwrap();
                    assert_eq!(
                        text(&client.call("alpha", &json!({})).await.unwrap()),
                        "alpha"
                    );
                    client.stop().await;
                }
                // A modern client says no farewell, and may come again in the next ten minutes.
                sleep(Duration::from_secs(12 * 60)).await;
                assert_eq!(tasks(), before, "{ours} to {theirs}");
            }
            started.shutdown().await;
        }
    }
}

/// A server with so many tools that they fill a model's context.
fn full(name: &'static str) -> Server {
    let long = "x".repeat(900);
    (0..200).fold(Server::new(name, "1"), |server, n| {
        let tool = format!("{name}_{n}");
        server.tool(tool.clone(), &long, move |_cx, (): ()| {
            let tool = tool.clone();
            async move { Ok(tool) }
        })
    })
}

// req: GW-23
#[tokio::test(start_paused = true)]
async fn gw_23_a_client_is_loaded_with_what_it_may_use_and_with_nothing_more() {
    for theirs in ERAS {
        for ours in ERAS {
            let both = |seen: Seen| {
                Gateway::new([
                    upstream(full("a"), "one", theirs).tools(seen.clone()),
                    upstream(full("b"), "two", theirs).tools(seen),
                ])
            };
            let all = client(both(Seen::all()), ours).await;
            let list = all.request("tools/list", &json!({})).await.unwrap();
            let alone = client(Gateway::new([upstream(full("a"), "one", theirs)]), ours);
            let one = alone.await.request("tools/list", &json!({})).await.unwrap();
            let (list, one) = (&list["tools"], &one["tools"]);
            // Nothing is added to what the servers say.
            assert_eq!(list.as_array().unwrap()[..200], one.as_array().unwrap()[..]);
            let whole = list.to_string().len();
            assert!(whole > 4 * 86_000, "{whole}");
            let few = Seen::all().allow(["*_7", "*_12?"]).unwrap();
            let few = client(both(few), ours).await;
            let shown = few.request("tools/list", &json!({})).await.unwrap();
            let shown = &shown["tools"];
            assert_eq!(names(shown, "name").len(), 2 * 11);
            assert!(shown.to_string().len() < whole / 18);
            let called = few.call("b_7", &json!({})).await.unwrap();
            assert_eq!(text(&called), "b_7");
            let refused = few.call("b_8", &json!({})).await.unwrap_err();
            assert!(refused.to_string().contains("Unknown tool"), "{refused}");
        }
    }
}

// req: GW-24
#[tokio::test]
async fn gw_24_credentials_that_have_ended_are_told_of_and_tried_no_more_than_asked() {
    for theirs in ERAS {
        for ours in ERAS {
            let shown = format!("{ours} to {theirs}");
            let ended = Arc::new(AtomicBool::new(false));
            let is_over = ended.clone();
            let web = Web::serve(move |asked| {
                if is_over.load(Ordering::SeqCst) {
                    let who = "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n";
                    return Reply::of("401 Unauthorized", "text/plain", who, "expired");
                }
                as_usual(asked, "theirs")
            })
            .await;
            let target = Target::new(&web.url("/mcp")).unwrap();
            let target = target.header("Authorization", "Bearer once").unwrap();
            let connect = Connect::http(target).no_verdicts();
            let gateway = Gateway::new([
                Upstream::new("web", connect.speaks(Revisions::NONE.with(theirs))),
                upstream(server("a"), "beside", theirs),
            ]);
            let client = client(gateway, ours).await;
            let back = async |tag: &str| {
                let given = json!({"tag": tag});
                let called = timeout(SOON, client.call("back", &given)).await;
                let called = called.unwrap_or_else(|_| panic!("{shown}: {tag} hangs"));
                called.map(|result| text(&result).to_owned())
            };
            assert_eq!(back("first").await.unwrap(), "first", "{shown}");
            ended.store(true, Ordering::SeqCst);
            let before = web.asked().len();
            for n in 0..10 {
                let error = back("over").await.unwrap_err().to_string();
                let says = [r#"\"web\""#, "401"];
                assert!(
                    says.iter().all(|it| error.contains(it)),
                    "{shown}, {n}: {error}"
                );
            }
            let beside = client.call("alpha", &json!({})).await.unwrap();
            assert_eq!(text(&beside), "alpha", "{shown}");
            // One request for each call; and nobody looks for a place to log in, since the credentials are the operator's.
            sleep(Duration::from_secs(1)).await;
            let asked = web.asked();
            assert_eq!(asked.len() - before, 10, "{shown}");
            for it in asked {
                assert_eq!(it.path, "/mcp", "{shown}");
                assert_eq!(it.header("authorization"), Some("Bearer once"), "{shown}");
            }
            ended.store(false, Ordering::SeqCst);
            let begun = std::time::Instant::now();
            while back("again").await.is_err() {
                assert!(begun.elapsed() < SOON, "{shown}: it stays away");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Who asks is whoever the token names.
struct Named;

impl Authorize for Named {
    fn authorize(&self, headers: &HeaderMap) -> BoxFuture<Result<Arc<Principal>, Challenge>> {
        let token = headers.get("authorization").unwrap().to_str().unwrap();
        let principal = Principal {
            issuer: "i".into(),
            client: "c".into(),
            subject: token.into(),
        };
        Box::pin(async { Ok(Arc::new(principal)) })
    }
}

/// One of the clients that are alike but for their tokens.
struct Person {
    endpoint: Endpoint,
    token: &'static str,
    session: Option<String>,
}

impl Person {
    async fn post(&mut self, headers: &[(&str, &str)], body: &Value) -> String {
        let mut request = Request::post("/mcp")
            .header("host", "localhost")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .header("authorization", self.token);
        let session = self
            .session
            .iter()
            .map(|it| ("mcp-session-id", it.as_str()));
        for (name, value) in headers.iter().copied().chain(session) {
            request = request.header(name, value);
        }
        let body = Full::new(bytes::Bytes::from(body.to_string()));
        let response = self.endpoint.handle(request.body(body).unwrap()).await;
        if let Some(session) = response.headers().get("mcp-session-id") {
            self.session = Some(session.to_str().unwrap().to_owned());
        }
        let text = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// A legacy one opens its session first.
    async fn calls(&mut self, revision: Revision) {
        let (mut meta, mut headers) = (json!({}), Vec::new());
        if revision == ERAS[1] {
            meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
            headers = vec![
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "tools/call"),
                ("mcp-name", "back"),
            ];
        } else if self.session.is_none() {
            let who = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
            let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": who});
            self.post(&[], &opening).await;
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            self.post(&[], &ready).await;
        }
        let params = json!({"name": "back", "arguments": {"tag": "here"}, "_meta": meta});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let text = self.post(&headers, &call).await;
        assert!(text.contains("here"), "{text}");
    }
}

// req: GW-25
#[tokio::test]
async fn gw_25_nobody_acts_in_the_place_of_another() {
    for theirs in ERAS {
        for ours in ERAS {
            let shown = format!("{ours} to {theirs}");
            let web = Web::serve(|asked| as_usual(asked, "theirs")).await;
            let target = Target::new(&web.url("/mcp")).unwrap();
            let target = target.header("Authorization", "Bearer operator").unwrap();
            let connect = Connect::http(target).speaks(Revisions::NONE.with(theirs));
            let gateway = Gateway::new([
                Upstream::new("web", connect),
                upstream(server("a"), "beside", theirs),
            ]);
            let config = Config {
                authorize: Some(Arc::new(Named)),
                ..Config::default()
            };
            let endpoint = Endpoint::new(Service::new(gateway), config);
            let mut people = ["Bearer ann", "Bearer bob"].map(|token| Person {
                endpoint: endpoint.clone(),
                token,
                session: None,
            });
            for _ in 0..3 {
                for person in &mut people {
                    person.calls(ours).await;
                }
            }
            // Each has a side of its own at the server, which knows the operator only.
            let asked = web.asked();
            let opens = |method: &Value| {
                ["initialize", "server/discover"]
                    .iter()
                    .any(|it| method == it)
            };
            let opened = asked
                .iter()
                .filter(|it| opens(&it.message()["method"]))
                .count();
            assert_eq!(opened, 2, "{shown}");
            for it in &asked {
                assert_eq!(
                    it.header("authorization"),
                    Some("Bearer operator"),
                    "{shown}"
                );
            }
            // A session is its owner's, whoever else knows of it.
            let [ann, bob] = &mut people;
            if let Some(session) = ann.session.clone() {
                bob.session = Some(session);
                let before = asked.len();
                let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"});
                let text = bob.post(&[], &ping).await;
                assert!(!text.contains("result"), "{shown}: {text}");
                assert_eq!(web.asked().len(), before, "{shown}");
            }
        }
    }
}
