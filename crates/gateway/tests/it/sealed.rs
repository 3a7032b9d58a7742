//! What clients keep for a gateway: states, cursors, session ids. Whatever is changed in one, cut off it, or brought by somebody else is
//! refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use polyport::http::{Authorize, Challenge, Config, Endpoint};
use polyport::{BoxFuture, Cx, Principal, Revision, Service, Tool, ToolError};
use polyport_gateway::Gateway;
use serde_json::{Value, json};

use crate::{ERAS, server, upstream};

/// Whoever says who he is is believed.
struct Names;

impl Authorize for Names {
    fn authorize(&self, headers: &HeaderMap) -> BoxFuture<Result<Arc<Principal>, Challenge>> {
        let subject = headers["authorization"].to_str().unwrap().into();
        Box::pin(async move {
            Ok(Arc::new(Principal {
                issuer: "test".into(),
                client: "test".into(),
                subject,
            }))
        })
    }
}

/// Two servers that ask, of which one is older than its clients, and counts the calls that it has ended.
fn gateway(theirs: Revision, ended: &Arc<AtomicUsize>) -> Endpoint {
    let asking = || {
        let ended = ended.clone();
        Tool::new("ask", "", move |cx: Cx, (): ()| {
            let ended = ended.clone();
            async move {
                let form = json!({"type": "object", "properties": {}});
                cx.elicit_schema("who", "Who?", form).await?;
                ended.fetch_add(1, Ordering::SeqCst);
                Ok::<_, ToolError>("answered")
            }
        })
    };
    let gateway = Gateway::new([
        upstream(server("a").add_tool(asking()), "one", theirs),
        upstream(server("b").add_tool(asking()), "two", theirs),
    ]);
    let config = Config {
        authorize: Some(Arc::new(Names)),
        ..Config::default()
    };
    Endpoint::new(Service::new(gateway), config)
}

/// Who asks: a principal, and a program.
type Who = (&'static str, &'static str);

const ADA: Who = ("ada", "shell");

async fn ask(endpoint: &Endpoint, who: Who, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        "io.modelcontextprotocol/clientInfo": {"name": who.1, "version": "1"},
    });
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("authorization", who.0)
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(name) = params["name"].as_str() {
        request = request.header("mcp-name", name);
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let body = Full::new(bytes::Bytes::from(body.to_string()));
    let response = endpoint.handle(request.body(body).unwrap()).await;
    let text = response.into_body().collect().await.unwrap().to_bytes();
    // A single message, or the last event of a stream.
    let text = String::from_utf8_lossy(&text).into_owned();
    let last = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(last.unwrap_or(&text)).unwrap_or_else(|_| panic!("{text}"))
}

/// The same text with something wrong in it: a bit of each letter, its beginnings, and more after it.
fn tampered(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for at in 0..text.len() {
        for bit in [1, 2, 4, 16] {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] ^= bit;
            // What is no letter of the alphabet is refused for that.
            if bytes[at].is_ascii_alphanumeric() || b"-_=+/.".contains(&bytes[at]) {
                all.extend(String::from_utf8(bytes));
            }
        }
    }
    all.extend((0..text.len()).map(|end| text[..end].to_owned()));
    all.extend(["A", "=", "AAAA"].map(|more| format!("{text}{more}")));
    all.push(text.repeat(2));
    all
}

// req: V-305
#[tokio::test(start_paused = true)]
async fn v_305_a_state_is_whole_and_its_own_or_nothing() {
    for theirs in ERAS {
        let ended = Arc::default();
        let endpoint = gateway(theirs, &ended);
        let call = |tool: &str| json!({"name": tool, "arguments": {}});
        let asked = ask(&endpoint, ADA, "tools/call", call("one__ask")).await;
        let state = asked["result"]["requestState"].as_str().unwrap().to_owned();
        let key = asked["result"]["inputRequests"].as_object().unwrap();
        let key = key.keys().next().unwrap().clone();
        let again = |tool: &str, state: &str| {
            let mut params = call(tool);
            params["requestState"] = json!(state);
            params["inputResponses"] = json!({&key: {"action": "accept", "content": {}}});
            params
        };
        let refused = async |who: Who, params: Value| {
            let shown = format!("{who:?} at {theirs}: {params}");
            let answer = ask(&endpoint, who, "tools/call", params).await;
            assert_eq!(answer["error"]["code"], -32602, "{shown}: {answer}");
            assert_eq!(ended.load(Ordering::SeqCst), 0, "{shown}");
        };
        for state in tampered(&state) {
            refused(ADA, again("one__ask", &state)).await;
        }
        // Somebody else, another tool, the same tool of another server, and other arguments.
        refused(("bob", "shell"), again("one__ask", &state)).await;
        for tool in ["two__ask", "one__same", "alpha"] {
            refused(ADA, again(tool, &state)).await;
        }
        let mut other = again("one__ask", &state);
        other["arguments"] = json!({"more": 1});
        refused(ADA, other).await;
        // One of another gateway, with a key of its own.
        let another = gateway(theirs, &ended);
        let foreign = ask(&another, ADA, "tools/call", call("one__ask")).await;
        let foreign = foreign["result"]["requestState"]
            .as_str()
            .unwrap()
            .to_owned();
        refused(ADA, again("one__ask", &foreign)).await;
        // Nothing of that has ended it.
        let done = ask(&endpoint, ADA, "tools/call", again("one__ask", &state)).await;
        assert_eq!(
            done["result"]["content"][0]["text"], "answered",
            "{theirs}: {done}"
        );
    }
}

// req: V-305
#[tokio::test(start_paused = true)]
async fn v_305_a_cursor_leads_to_nothing_but_its_list() {
    let ended = Arc::default();
    let endpoint = gateway(ERAS[0], &ended);
    for method in [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ] {
        let first = ask(&endpoint, ADA, method, json!({})).await;
        let all = first["result"].to_string();
        for cursor in [
            "",
            "x",
            "AAAA",
            "0",
            "-1",
            "99999999999999999999",
            "../../etc",
            "e30=",
        ] {
            let answer = ask(&endpoint, ADA, method, json!({"cursor": cursor})).await;
            let is_refused = answer["error"]["code"] == -32602;
            assert!(is_refused, "{method} {cursor:?}: {answer}, of {all}");
        }
    }
}

/// An id of a session is random and holds nothing; one that was not given out is none, and one of somebody else is his.
// req: V-305
#[tokio::test(start_paused = true)]
async fn v_305_an_id_of_a_session_is_the_one_that_was_given_to_the_one() {
    let ended = Arc::default();
    let endpoint = gateway(ERAS[0], &ended);
    let post = async |who: &str, session: Option<&str>, body: Value| {
        let mut request = Request::post("/mcp")
            .header("host", "localhost")
            .header("authorization", who)
            .header("content-type", "application/json");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        let body = Full::new(bytes::Bytes::from(body.to_string()));
        let response = endpoint.handle(request.body(body).unwrap()).await;
        let session = response.headers().get("mcp-session-id").cloned();
        (response.status().as_u16(), session)
    };
    let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
    }});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let mut sessions = Vec::new();
    for who in ["ada", "bob"] {
        let (_, session) = post(who, None, open.clone()).await;
        let session = session.unwrap().to_str().unwrap().to_owned();
        post(who, Some(&session), ready.clone()).await;
        assert_eq!(post(who, Some(&session), list.clone()).await.0, 200);
        sessions.push(session);
    }
    for other in tampered(&sessions[0]) {
        let (status, _) = post("ada", Some(&other), list.clone()).await;
        assert!(matches!(status, 400 | 404), "{other}: {status}");
    }
    assert_eq!(post("ada", Some(&sessions[1]), list.clone()).await.0, 404);
    assert_eq!(post("bob", Some(&sessions[0]), list.clone()).await.0, 404);
    assert_eq!(post("ada", Some(&sessions[0]), list).await.0, 200);
}
