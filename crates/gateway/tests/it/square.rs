//! The revision square through the gateway: a client pinned to each revision, the gateway, and a server pinned to each, with every
//! transport on either side. What comes of it stands in `docs/revisions-gateway.md`; `UPDATE_GOLDEN=1` writes it anew.

#[path = "../../../polyport/tests/it/square/features.rs"]
mod features;

use std::fmt::Write as _;

use polyport::client::Connect;
use polyport::{Revision, Revisions, Server, Service};
use polyport_gateway::{Gateway, Upstream};

use features::{FEATURES, TRANSPORTS, answering, hold, serve, server, works};

/// What carries a revision.
fn carries(revision: Revision) -> Vec<&'static str> {
    let all = TRANSPORTS.into_iter();
    all.filter(|transport| revision != Revision::V2026_07_28 || *transport != "HTTP+SSE")
        .collect()
}

/// What is missing between a client and a server, each over its transport.
async fn missing(
    ours: (Revision, &str),
    theirs: (Revision, &str),
    is_alone: bool,
) -> Vec<&'static str> {
    let speaks = |revision| Revisions::NONE.with(revision);
    let inner = server().into_service().speaks(speaks(theirs.0));
    let (connect, inner) = serve(inner, theirs.1).await;
    let mut upstreams = vec![Upstream::new("square", connect.speaks(speaks(theirs.0)))];
    if !is_alone {
        let other = Connect::service(Server::new("other", "1").into_service());
        upstreams.push(Upstream::new("other", other));
    }
    let outer = Service::new(Gateway::new(upstreams));
    let (connect, outer) = serve(outer, ours.1).await;
    let client = answering(connect, speaks(ours.0)).connect().await.unwrap();
    assert_eq!(client.opened().revision, ours.0);
    let seen = works(&client).await;
    client.close().await;
    outer.end().await;
    inner.end().await;
    let all = FEATURES.into_iter();
    all.filter(|feature| !seen.contains(feature)).collect()
}

/// What a revision does not have.
fn lacks(revision: Revision) -> &'static [&'static str] {
    match revision {
        Revision::V2024_11_05 | Revision::V2025_03_26 => &["structured results", "forms", "pages"],
        Revision::V2025_06_18 => &["pages"],
        _ => &[],
    }
}

/// A cell of the page: the same over every transport, with the server alone behind the gateway or beside another.
async fn cell(turn: usize, ours: Revision, theirs: Revision) -> String {
    let (near, far) = (carries(ours), carries(theirs));
    let mut seen = None;
    for run in 0..near.len().max(far.len()) {
        let near = near[run % near.len()];
        let far = far[(run + turn) % far.len()];
        let is_alone = (run + turn).is_multiple_of(3);
        let missing = missing((ours, near), (theirs, far), is_alone).await;
        let at = format!("{ours} over {near} to {theirs} over {far}, alone: {is_alone}");
        for feature in &missing {
            let either = [lacks(ours), lacks(theirs)].concat();
            assert!(either.contains(feature), "{at}: {feature}");
        }
        let seen = seen.get_or_insert_with(|| missing.clone());
        assert_eq!(*seen, missing, "{at}");
    }
    match seen.unwrap_or_default()[..] {
        [] => "everything".to_owned(),
        ref missing => format!("all but {}", missing.join(", ")),
    }
}

/// The page as it should be.
async fn page() -> String {
    let mut page = String::from(PREFACE);
    let names = Revision::ALL.map(Revision::name).join(" | ");
    write!(page, "\n| client \\\\ server | {names} |\n").unwrap();
    page.push_str("|---|---|---|---|---|---|\n");
    for (row, ours) in Revision::ALL.into_iter().enumerate() {
        write!(page, "| {} |", ours.name()).unwrap();
        for (column, theirs) in Revision::ALL.into_iter().enumerate() {
            write!(page, " {} |", cell(row + column, ours, theirs).await).unwrap();
        }
        page.push('\n');
    }
    page
}

const PREFACE: &str = "# The revision square through the gateway

What works between a client that speaks one revision only and a server that speaks one revision only, with the gateway between them.
[Without it](revisions.md), only those of one revision meet. A test writes this page and holds it: each pair over every transport that
carries its revisions on either side (stdio, Streamable HTTP, HTTP+SSE, WebSocket), with the server alone behind the gateway and beside
another.

\"Everything\" is what it is without the gateway. What is missing, one of the two revisions does not have: the server is not told that
the client can be asked, and says what becomes of its call. Structured results of newer servers reach older clients, too, which need not
look at them.
";

// req: S-SQUARE-GATE
#[tokio::test]
async fn the_page_says_what_is_so() {
    hold("revisions-gateway.md", &page().await);
}
