//! Roots of clients: they narrow what is served, each client for itself, and never widen it.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

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

/// A client that works in what stands in `roots` at the time it is asked, with all tools.
async fn connect_changing(notes: &Fixture, roots: Arc<Mutex<Value>>) -> TestPeer {
    let folders = Folders::open([notes.root()]).unwrap();
    let server = Server::new("files", "1");
    let service = serve::extend(server, folders, Access::Write, Roots::Legacy).into_service();
    let capabilities = json!({"roots": {"listChanged": true}});
    testing::connect_to(service, Revision::LATEST_LEGACY, &capabilities)
        .await
        .unwrap()
        .answering(move |_, _| json!({"roots": *roots.lock().unwrap()}))
}

async fn tell_change(peer: &TestPeer) {
    let changed = br#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    peer.caller().send(changed.to_vec()).await.unwrap();
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

// req: D-16
#[tokio::test]
async fn d_16_paths_are_completed_as_the_template_wants_them_within_the_roots() {
    let notes = fixture(&[
        ("a.txt", "top"),
        ("work/b.txt", "inner"),
        ("work/deep/er/c.txt", "below"),
        ("work2/c.txt", "beside"),
        (".hidden/d.txt", "hidden"),
    ]);
    let template = root(&notes, "")["uri"].as_str().unwrap().to_owned();
    let template = format!("{}/{{+path}}", template.trim_end_matches('/'));
    let none: [&str; 0] = [];
    let all = json!([]);
    let elsewhere = json!([{"uri": "file:///etc"}]);
    let (work, deep) = (root(&notes, "work"), root(&notes, "work/deep/er"));
    let (two, hidden) = (root(&notes, "work2"), root(&notes, ".hidden"));
    for (roots, typed, want) in [
        (&all, "", &["a.txt", "work/", "work2/"][..]),
        (&all, "work/", &["work/b.txt", "work/deep/"]),
        (&json!([work]), "", &["work/"]),
        (&json!([work]), "wo", &["work/"]),
        (&json!([work]), "work", &["work/"]),
        (&json!([work]), "work/", &["work/b.txt", "work/deep/"]),
        (&json!([work]), "work/deep/er/", &["work/deep/er/c.txt"]),
        (&json!([work]), "work2/", &none),
        (&json!([work]), "a", &none),
        (&json!([work]), "work/../a", &none),
        (&json!([deep]), "", &["work/"]),
        (&json!([deep]), "work/", &["work/deep/"]),
        (&json!([deep]), "work/d", &["work/deep/"]),
        (&json!([deep]), "work/b", &none),
        (&json!([deep]), "work/deep/", &["work/deep/er/"]),
        (&json!([deep, work]), "work/", &["work/b.txt", "work/deep/"]),
        (&json!([work, two]), "w", &["work/", "work2/"]),
        (&json!([hidden]), "", &none),
        (&json!([hidden]), ".h", &[".hidden/"]),
        (&elsewhere, "", &none),
        (&elsewhere, "work/", &none),
    ] {
        let service = service(Folders::open([notes.root()]).unwrap(), Roots::Legacy);
        let named = json!({"roots": roots});
        let (peer, _) = connect(service, Revision::LATEST_LEGACY, named).await;
        let argument = json!({"name": "path", "value": typed});
        let params =
            json!({"ref": {"type": "ref/resource", "uri": template}, "argument": argument});
        let found = peer.request("completion/complete", &params).await.unwrap();
        let completion = &found["completion"];
        assert_eq!(completion["values"], json!(want), "{roots} {typed:?}");
        assert_eq!(completion["total"], json!(want.len()), "{roots} {typed:?}");
    }
}

// req: D-16
// req: D-39
#[tokio::test(flavor = "multi_thread")]
async fn d_16_what_roots_leave_out_is_not_told_while_they_do() {
    let notes = notes();
    let (work, work2) = (root(&notes, "work"), root(&notes, "work2"));
    let roots = Arc::new(Mutex::new(json!([work, work2])));
    let peer = connect_changing(&notes, roots.clone()).await;
    let path = |name: &str| notes.root().join(name);
    let (b, c) = (path("work/b.txt"), path("work2/c.txt"));
    let uri = |path| polyport_backends::files::uri::from_path(path);
    for uri in [uri(&b), uri(&c)] {
        let params = json!({"uri": uri});
        peer.request("resources/subscribe", &params).await.unwrap();
    }
    let updated = async || {
        loop {
            let next = tokio::time::timeout(Duration::from_secs(20), peer.caller().notification());
            let next = next.await.expect("something is told").unwrap();
            let message: Value = serde_json::from_slice(&next).unwrap();
            if message["method"] == "notifications/resources/updated" {
                return message["params"]["uri"].as_str().unwrap().to_owned();
            }
        }
    };
    fs::write(&b, "1").unwrap();
    assert_eq!(updated().await, uri(&b));
    *roots.lock().unwrap() = json!([work2]);
    tell_change(&peer).await;
    assert!(!read(&peer, &b.display().to_string()).await.0);
    // What was told before has come by then.
    fs::write(&c, "1").unwrap();
    while updated().await != uri(&c) {}
    for round in 0..3 {
        fs::write(path("new"), round.to_string()).unwrap();
        fs::write(&b, round.to_string()).unwrap();
        fs::rename(path("new"), &c).unwrap();
        assert_eq!(updated().await, uri(&c), "{round}");
    }
    *roots.lock().unwrap() = json!([work, work2]);
    tell_change(&peer).await;
    assert!(read(&peer, &b.display().to_string()).await.0);
    fs::write(&b, "seen again").unwrap();
    while updated().await != uri(&b) {}
}

// req: D-16
#[tokio::test]
async fn d_16_roots_that_leave_nothing_are_named_as_the_cause() {
    let notes = notes();
    let roots = Arc::new(Mutex::new(json!([{"uri": "file:///etc"}])));
    let peer = connect_changing(&notes, roots).await;
    let served = notes.root().display().to_string();
    let a = notes.root().join("a.txt").display().to_string();
    let write = json!({"path": a, "content": "x"});
    for (tool, args) in [
        ("read_text_file", json!({"path": a})),
        ("list_directory", json!({"path": "."})),
        ("search_contents", json!({"pattern": "x"})),
        ("write_file", write),
        ("delete_file", json!({"path": "a.txt"})),
        ("list_allowed_directories", json!({})),
    ] {
        let result = peer.call(tool, &args).await.unwrap();
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("roots that the client named"),
            "{tool}: {text}"
        );
        assert!(
            text.contains(&served) && text.contains("name a root"),
            "{tool}: {text}"
        );
        assert!(!text.contains("configured"), "{tool}: {text}");
    }
    let uri = root(&notes, "a.txt");
    let params = json!({"uri": uri["uri"]});
    for method in ["resources/read", "resources/subscribe"] {
        let error = peer.request(method, &params).await.unwrap_err().to_string();
        assert!(
            error.contains("-32002") && error.contains("roots that the client named"),
            "{error}"
        );
    }
}

// req: D-16
// req: D-38
#[tokio::test]
async fn d_38_what_is_deleted_within_roots_goes_to_the_trash_of_the_served_folder() {
    let notes = notes();
    let roots = Arc::new(Mutex::new(json!([root(&notes, "work")])));
    let peer = connect_changing(&notes, roots).await;
    let result = peer
        .call("delete_file", &json!({"path": "b.txt"}))
        .await
        .unwrap();
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        notes.trash(),
        [("work/b.txt".to_owned(), "inner".to_owned())],
        "{text}"
    );
    assert!(!notes.root().join("work/.polyport-trash").exists());
    let (_, kept) = text.split_once("it is kept as ").unwrap();
    let kept = kept.trim_end_matches('.');
    assert_eq!(fs::read_to_string(kept).unwrap(), "inner", "{text}");
}
