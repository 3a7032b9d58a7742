//! Roots of clients: they narrow what is served, each client for itself, and never widen it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polyport::testing::{self, TestPeer};
use polyport::{Revision, Server, Service};
use polyport_backends::files::{
    Folders, serve,
    serve::{Access, Roots},
};
use serde_json::{Value, json};

use crate::support::{Fixture, fixture};

fn notes() -> Fixture {
    fixture(&[
        ("a.txt", "top"),
        ("work/b.txt", "inner"),
        ("work2/c.txt", "beside"),
    ])
}

fn service(folders: Folders, roots: Roots) -> Service {
    serve::extend(Server::new("files", "1"), folders, Access::Read, roots).into_service()
}

/// A client that works in these folders, and counts how often it is asked.
async fn connect(
    service: Service,
    revision: Revision,
    roots: Value,
) -> (TestPeer, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let peer = testing::connect_to(service, revision, &json!({"roots": {"listChanged": true}}))
        .await
        .unwrap()
        .answering(move |method, _| {
            assert_eq!(method, "roots/list");
            count.fetch_add(1, Ordering::SeqCst);
            roots.clone()
        });
    (peer, asked)
}

async fn read(peer: &TestPeer, path: &str) -> (bool, String) {
    let result = peer
        .call("read_text_file", &json!({"path": path}))
        .await
        .unwrap();
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    (result["isError"] != json!(true), text)
}

fn root(notes: &Fixture, below: &str) -> Value {
    let path = notes.root().join(below);
    json!({"uri": polyport_backends::files::uri::from_path(&path)})
}

// req: D-16
#[tokio::test]
async fn d_16_roots_narrow_and_never_widen() {
    let notes = notes();
    let work = root(&notes, "work");
    let outside = json!({"uri": polyport_backends::files::uri::from_path(notes.outside.path())});
    let elsewhere = json!({"uri": "file:///etc"});
    let path = |name: &str| notes.root().join(name).display().to_string();
    let (a, b, c) = (path("a.txt"), path("work/b.txt"), path("work2/c.txt"));
    let service = service(Folders::open([notes.root()]).unwrap(), Roots::Legacy);
    for (roots, seen) in [
        (json!({"roots": [work]}), [false, true, false]),
        (json!({"roots": [work, elsewhere]}), [false, true, false]),
        (json!({"roots": [outside]}), [true, true, true]),
        (json!({"roots": [elsewhere]}), [false, false, false]),
        // Nothing that narrows: all that is served.
        (json!({"roots": []}), [true, true, true]),
        (
            json!({"roots": [{"uri": "https://a.example"}]}),
            [true, true, true],
        ),
        (
            json!({"error": {"code": -32603, "message": "no"}}),
            [true, true, true],
        ),
    ] {
        let (peer, asked) = connect(service.clone(), Revision::LATEST_LEGACY, roots.clone()).await;
        let mut refusals = Vec::new();
        for (file, seen) in [&a, &b, &c].into_iter().zip(seen) {
            let (there, text) = read(&peer, file).await;
            assert_eq!(there, seen, "{roots} {file}: {text}");
            if !there {
                refusals.push(text.replace(file.as_str(), "PATH"));
            }
        }
        let (there, none) = read(&peer, &path("none.txt")).await;
        assert!(!there);
        // What is outside is answered exactly like what does not exist.
        let none = none.replace(&path("none.txt"), "PATH");
        assert!(
            refusals.iter().all(|text| *text == none),
            "{refusals:?} {none}"
        );
        assert_eq!(asked.load(Ordering::SeqCst), 1, "once a session");
    }
}

// req: D-16
#[tokio::test]
async fn d_16_sessions_do_not_share_their_roots() {
    let notes = notes();
    let service = service(Folders::open([notes.root()]).unwrap(), Roots::Legacy);
    let first = json!({"roots": [root(&notes, "work")]});
    let second = json!({"roots": [root(&notes, "work2")]});
    let (first, _) = connect(service.clone(), Revision::LATEST_LEGACY, first).await;
    let (second, _) = connect(service.clone(), Revision::LATEST_LEGACY, second).await;
    let plain = testing::connect_to(service, Revision::LATEST_LEGACY, &json!({}))
        .await
        .unwrap();
    let path = |name: &str| notes.root().join(name).display().to_string();
    for _ in 0..3 {
        assert!(read(&first, &path("work/b.txt")).await.0);
        assert!(!read(&first, &path("work2/c.txt")).await.0);
        assert!(!read(&second, &path("work/b.txt")).await.0);
        assert!(read(&second, &path("work2/c.txt")).await.0);
        assert!(read(&plain, &path("a.txt")).await.0);
    }
    // Calls at once ask once, and a change is asked for anew.
    let roots = json!({"roots": [root(&notes, "work")]});
    let service = self::service(Folders::open([notes.root()]).unwrap(), Roots::Legacy);
    let (peer, asked) = connect(service, Revision::LATEST_LEGACY, roots).await;
    let b = path("work/b.txt");
    let (one, two, three) = tokio::join!(read(&peer, &b), read(&peer, &b), read(&peer, &b));
    assert!(one.0 && two.0 && three.0);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let changed = br#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    peer.caller().send(changed.to_vec()).await.unwrap();
    assert!(read(&peer, &b).await.0);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

// req: D-40
#[tokio::test]
async fn d_40_modern_clients_are_asked_only_where_the_operator_says_so() {
    let notes = notes();
    let path = |name: &str| notes.root().join(name).display().to_string();
    for (roots, asks) in [(Roots::Legacy, 0), (Roots::All, 2)] {
        let service = service(Folders::open([notes.root()]).unwrap(), roots);
        let named = json!({"roots": [root(&notes, "work")]});
        let (peer, asked) = connect(service, Revision::LATEST, named).await;
        assert!(read(&peer, &path("work/b.txt")).await.0);
        assert_eq!(read(&peer, &path("a.txt")).await.0, asks == 0);
        assert_eq!(asked.load(Ordering::SeqCst), asks);
        // A list has no way to ask, so it shows all that is served; a read asks again.
        let listed = peer.request("resources/list", &json!({})).await.unwrap();
        assert_eq!(listed["resources"].as_array().unwrap().len(), 3);
        assert_eq!(asked.load(Ordering::SeqCst), asks);
        let outside = root(&notes, "a.txt");
        let outside = json!({"uri": outside["uri"]});
        let read = peer.request("resources/read", &outside).await;
        assert_eq!(read.is_ok(), asks == 0);
    }
}
