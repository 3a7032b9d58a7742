//! Servers of the older HTTP with SSE that answer wrongly, halfway or not at all: as with every other transport, a typed error soon.

use std::sync::Arc;
use std::time::Duration;

use polyport_http::client::{Target, open};
use polyport_proto::{Era, Revisions};
use polyport_rt::{CallError, Caller, Patience, Wait};
use polyport_testkit::Web;
use polyport_testkit::web::{Reply, Then};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::faults::{end, kind};
use super::{LONG, facts};

const SOON: Duration = Duration::from_millis(400);

async fn opened(web: &Web, handshake: Duration) -> Result<Caller, CallError> {
    let patience = Patience {
        probe: SOON,
        handshake,
        request: SOON,
    };
    let target = Target::new(&web.url("/sse")).unwrap();
    let opening = open(target, facts(), Revisions::of(Era::Legacy), patience);
    Ok(timeout(LONG, opening).await.unwrap()?.0)
}

// req: S-PAIR, S-GONE
#[tokio::test]
async fn an_endpoint_that_never_comes_is_a_typed_error() {
    let events = |text: &str, then| Reply::events("", text, then);
    for (want, stream) in [
        // A stream that names no endpoint is the fault; where there is none, what the server has said before counts.
        ("timed out", events("", Then::Silence)),
        (
            "timed out",
            events(": alive\n\nevent: message\ndata: 1\n\n", Then::Silence),
        ),
        ("status 405", Reply::raw("", Then::Silence)),
        ("status 405", Reply::empty("202 Accepted")),
        ("status 405", Reply::empty("404 Not Found")),
        ("status 405", Reply::of("200 OK", "text/html", "", "<html>")),
        ("broken", events("", Then::End)),
        ("broken", events("", Then::Reset)),
        ("broken", events("event: endpoint\ndata: /in", Then::End)),
        ("broken", Reply::raw("", Then::Reset)),
        ("broken", Reply::raw("what?\r\n\r\n", Then::End)),
        (
            "unreachable",
            events(
                "event: endpoint\ndata: http://evil.test/\n\n",
                Then::Silence,
            ),
        ),
        (
            "timed out",
            events("event: endpoint\ndata: /in\n\n", Then::Silence),
        ),
        (
            "closed",
            events("event: endpoint\ndata: /in\n\n: x\n\n", Then::End)
                .drip(8, Duration::from_millis(5)),
        ),
    ] {
        let shown = format!("{want} {stream:?}");
        let web = Web::serve(move |asked| match asked.method.as_str() {
            "GET" => stream.clone(),
            _ if asked.path == "/in" => Reply::empty("202 Accepted"),
            _ => Reply::empty("405 Method Not Allowed"),
        })
        .await;
        let error = opened(&web, SOON).await.expect_err(&shown);
        assert_eq!(kind(&error), want, "{shown}: {error}");
    }
}

/// What a server does with a POST at the address of its stream says nothing, where it is known what it speaks.
// req: S-PAIR
#[tokio::test]
async fn a_server_that_is_known_to_speak_it_is_asked_so_first() {
    let serve = |is_older: bool| {
        let asked_first = Arc::<Notify>::default();
        Web::serve(move |asked| match (&*asked.method, &*asked.path) {
            ("GET", "/sse") if is_older => {
                Reply::events("", "event: endpoint\ndata: /in\n\n", Then::Silence)
                    .later(&asked_first, INITIALIZED)
            }
            ("POST", "/in") => {
                asked_first.notify_one();
                Reply::empty("202 Accepted")
            }
            ("POST", "/sse") if is_older => Reply::of("200 OK", "text/html", "", "<html>"),
            ("POST", "/sse") => Reply::of("200 OK", "application/json", "", &INITIALIZED[6..]),
            _ => Reply::empty("405 Method Not Allowed"),
        })
    };
    let patience = Patience {
        probe: SOON,
        handshake: SOON,
        request: SOON,
    };
    for (is_older, is_first, want) in [
        (true, true, true),
        (true, false, false),
        (false, true, true),
    ] {
        let web = serve(is_older).await;
        let mut target = Target::new(&web.url("/sse")).unwrap();
        if is_first {
            target = target.sse_first();
        }
        let opening = open(target, facts(), Revisions::of(Era::Legacy), patience);
        let opened = timeout(LONG, opening).await.unwrap();
        assert_eq!(
            opened.is_ok(),
            want,
            "{is_older} {is_first}: {:?}",
            opened.err()
        );
    }
}

const INITIALIZED: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}\n\n";
const ANSWER: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n";

/// A server that answers the handshake; a call is answered with `post`, and then `more` comes on the stream.
async fn initialized(post: Reply, more: String, then: Then) -> Web {
    let (asked_first, called) = (Arc::<Notify>::default(), Arc::<Notify>::default());
    Web::serve(move |asked| match asked.message()["method"].as_str() {
        None if asked.path == "/sse" => Reply::events("", "event: endpoint\ndata: /in\n\n", then)
            .later(&asked_first, INITIALIZED)
            .later(&called, &*more),
        _ if asked.path == "/sse" => Reply::empty("405 Method Not Allowed"),
        Some("initialize") => {
            asked_first.notify_one();
            Reply::empty("202 Accepted")
        }
        Some("tools/call") => {
            called.notify_one();
            post.clone()
        }
        _ => Reply::empty("202 Accepted"),
    })
    .await
}

// req: S-PAIR, S-GONE
#[tokio::test]
#[allow(clippy::too_many_lines)] // A table.
async fn a_call_that_fails_fails_soon() {
    let taken = || Reply::empty("202 Accepted");
    let refused = "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32099,\"message\":\"no\"}}";
    let long = format!("data: {}\n\n", "x".repeat((64 << 20) + 1));
    for (want, post, more, then) in [
        (
            "status 500",
            Reply::of("500 Oops", "text/plain", "", "oops"),
            "",
            Then::Silence,
        ),
        (
            "status 404",
            Reply::empty("404 Not Found"),
            "",
            Then::Silence,
        ),
        (
            "status 401",
            Reply::of("401 Who", "application/json", "", refused),
            "",
            Then::Silence,
        ),
        (
            "refused",
            Reply::of("400 No", "application/json", "", refused),
            "",
            Then::Silence,
        ),
        ("broken", Reply::raw("", Then::Reset), "", Then::Silence),
        (
            "broken",
            Reply::raw("HTTP/1.1 2", Then::End),
            "",
            Then::Silence,
        ),
        // What is taken is answered on the stream, or not at all.
        ("timed out", taken(), "", Then::Silence),
        (
            "timed out",
            Reply::raw("", Then::Silence),
            "",
            Then::Silence,
        ),
        (
            "timed out",
            Reply::of("200 OK", "text/html", "", "<html>"),
            "",
            Then::Silence,
        ),
        // Broken, and meant as the answer.
        (
            "unreadable",
            taken(),
            "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"resu\n\n",
            Then::Silence,
        ),
        (
            "timed out",
            taken(),
            "event: other\ndata: 1\n\n: x\n\n",
            Then::Silence,
        ),
        (
            "timed out",
            taken(),
            &*ANSWER.replace(":2,", ":9,"),
            Then::Silence,
        ),
        ("timed out", taken(), ANSWER.trim_end(), Then::Silence),
        ("unreadable", taken(), &*long, Then::Silence),
        ("closed", taken(), "", Then::End),
        ("closed", taken(), "", Then::Reset),
        ("closed", taken(), "", Then::Deaf),
        ("closed", taken(), ANSWER.trim_end(), Then::End),
        ("no failure", taken(), ANSWER, Then::Silence),
        // The answer is there, whatever becomes of the POST.
        (
            "no failure",
            Reply::raw("", Then::Silence),
            ANSWER,
            Then::Silence,
        ),
    ] {
        let shown = format!("{want} {then:?} {}", &more[..more.len().min(60)]);
        let web = initialized(post, more.to_owned(), then).await;
        let caller = opened(&web, LONG).await.unwrap();
        let wait = Wait {
            total: Some(if want == "timed out" { SOON } else { LONG }),
            ..Wait::default()
        };
        let asked = caller.request_waiting("tools/call", "{\"name\":\"a\"}", &wait);
        let got = timeout(LONG, asked).await.unwrap();
        assert_eq!(end(got), want, "{shown}");
        timeout(LONG, caller.close()).await.unwrap();
    }
}
