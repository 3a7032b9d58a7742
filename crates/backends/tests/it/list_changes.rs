//! Changes of the list of files: told when a listed file comes or goes, whoever did it and wherever it is, and only then.

use std::fs;
use std::path::Path;
use std::time::Duration;

use polyport::testing::{self, TestPeer};
use polyport::{Revision, Server};
use polyport_backends::files::{
    Limits, serve,
    serve::{Access, Roots},
};
use serde_json::{Value, json};

use crate::support::{Fixture, fixture};

/// The system reports in real time; more than this and it does not.
const PATIENCE: Duration = Duration::from_secs(20);
const CHANGED: &str = "notifications/resources/list_changed";

fn notes() -> Fixture {
    fixture(&[
        ("a.txt", "one"),
        ("d/e/f.txt", "two"),
        ("d/.gitignore", "*.log\n"),
        ("d/e/x.log", "three"),
        ("fence.txt", "0"),
    ])
}

async fn connect(notes: Fixture, revision: Revision) -> (TestPeer, tempfile::TempDir) {
    let server = Server::new("files", "1");
    let server = serve::extend(server, notes.folders, Access::Write, Roots::Legacy);
    let peer = testing::connect(server, revision).await.unwrap();
    (peer, notes.outside)
}

fn uri(root: &Path, name: &str) -> String {
    let uri = format!("file://{}", root.join(name).display());
    uri.replace(' ', "%20").replace('ü', "%C3%BC")
}

async fn next(peer: &TestPeer) -> Value {
    let next = tokio::time::timeout(PATIENCE, peer.caller().notification()).await;
    let next = next
        .expect("something is told")
        .expect("the server is there");
    serde_json::from_slice(&next).unwrap()
}

/// Waits until a change of the list is told.
async fn changed(peer: &TestPeer, why: &str) {
    let told = async { while next(peer).await["method"] != CHANGED {} };
    let told = tokio::time::timeout(PATIENCE, told).await;
    told.unwrap_or_else(|_| panic!("not told: {why}"));
}

/// How often a change of the list is told until several later changes of a fence, which is no such change, have been.
async fn quiet(peer: &TestPeer, root: &Path, fence: &str) -> usize {
    let mut told = 0;
    for round in 0..6 {
        fs::write(root.join("fence.txt"), round.to_string()).unwrap();
        loop {
            let next = next(peer).await;
            told += usize::from(next["method"] == CHANGED);
            if next["params"]["uri"] == fence {
                break;
            }
        }
    }
    told
}

/// What makes or removes a listed file, as an outsider and by each of our tools.
async fn every_way(peer: &TestPeer, root: &Path) {
    let outside: [(&str, &dyn Fn()); 9] = [
        ("a new file", &|| fs::write(root.join("n.txt"), "").unwrap()),
        ("one deep inside", &|| {
            fs::write(root.join("d/e/n.txt"), "").unwrap()
        }),
        ("one removed", &|| {
            fs::remove_file(root.join("d/e/n.txt")).unwrap()
        }),
        ("one renamed", &|| {
            fs::rename(root.join("n.txt"), root.join("d/n.txt")).unwrap()
        }),
        ("one hidden", &|| {
            fs::rename(root.join("d/n.txt"), root.join("d/.n.txt")).unwrap()
        }),
        ("a new directory", &|| {
            fs::create_dir_all(root.join("new/deep")).unwrap();
            fs::write(root.join("new/deep/n.txt"), "").unwrap();
        }),
        ("in that directory", &|| {
            fs::write(root.join("new/deep/m.txt"), "").unwrap()
        }),
        ("a directory renamed", &|| {
            fs::rename(root.join("new"), root.join("other")).unwrap()
        }),
        ("other rules", &|| {
            fs::write(root.join("d/.gitignore"), "").unwrap()
        }),
    ];
    for (why, act) in outside {
        act();
        changed(peer, why).await;
    }
    // Another one in the place of a directory is watched as the first was.
    fs::create_dir_all(root.join("new/deep")).unwrap();
    fs::write(root.join("new/deep/n.txt"), "").unwrap();
    changed(peer, "a directory made again").await;
    fs::write(root.join("new/deep/m.txt"), "").unwrap();
    changed(peer, "in a directory made again").await;
    for (tool, args) in [
        ("write_file", json!({"path": "d/e/own.txt", "content": "x"})),
        ("copy_file", json!({"source": "d", "destination": "copy"})),
        (
            "move_file",
            json!({"source": "copy", "destination": "moved"}),
        ),
        ("delete_file", json!({"path": "moved"})),
    ] {
        peer.call(tool, &args).await.unwrap();
        changed(peer, tool).await;
    }
}

// req: D-39
#[tokio::test(flavor = "multi_thread")]
async fn d_39_a_session_hears_of_every_listed_file_that_comes_or_goes() {
    let notes = notes();
    let root = notes.root();
    let (peer, _outside) = connect(notes, Revision::LATEST_LEGACY).await;
    peer.call("write_file", &json!({"path": "first.txt", "content": "x"}))
        .await
        .unwrap();
    changed(&peer, "the first").await;
    every_way(&peer, &root).await;
}

// req: D-39
#[tokio::test(flavor = "multi_thread")]
async fn d_39_a_stream_that_asks_for_list_changes_hears_of_them() {
    let notes = notes();
    let root = notes.root();
    let (peer, _outside) = connect(notes, Revision::LATEST).await;
    let filter = json!({"notifications": {"resourcesListChanged": true}});
    tokio::select! {
        ended = peer.request("subscriptions/listen", &filter) => panic!("it has ended: {ended:?}"),
        () = async {
            assert_eq!(next(&peer).await["params"]["notifications"], filter["notifications"]);
            peer.call("write_file", &json!({"path": "first.txt", "content": "x"})).await.unwrap();
            changed(&peer, "the first").await;
            every_way(&peer, &root).await;
        } => {}
    }
}

// req: D-39
#[tokio::test(flavor = "multi_thread")]
async fn d_39_what_leaves_the_list_as_it_is_is_no_change_of_it() {
    let notes = notes();
    let root = notes.root();
    let (peer, _outside) = connect(notes, Revision::LATEST_LEGACY).await;
    let fence = uri(&root, "fence.txt");
    peer.request("resources/subscribe", &json!({"uri": fence}))
        .await
        .unwrap();
    peer.call("write_file", &json!({"path": "first.txt", "content": "x"}))
        .await
        .unwrap();
    changed(&peer, "the first").await;
    quiet(&peer, &root, &fence).await;
    let edit = json!({"path": "a.txt", "edits": [{"oldText": "own", "newText": "edited"}]});
    for (tool, args) in [
        ("write_file", json!({"path": "a.txt", "content": "own"})),
        ("edit_file", edit),
        ("write_file", json!({"path": ".hidden", "content": "x"})),
        ("delete_file", json!({"path": ".hidden"})),
        ("write_file", json!({"path": "d/e/y.log", "content": "x"})),
        ("create_directory", json!({"path": "empty/deep"})),
    ] {
        peer.call(tool, &args).await.unwrap();
        assert_eq!(quiet(&peer, &root, &fence).await, 0, "{tool} {args}");
    }
    let outside: [(&str, &dyn Fn()); 5] = [
        ("a hidden file", &|| fs::write(root.join(".h"), "").unwrap()),
        ("an ignored one", &|| {
            fs::write(root.join("d/e/z.log"), "").unwrap()
        }),
        ("a written one", &|| {
            fs::write(root.join("a.txt"), "anew").unwrap()
        }),
        ("a replaced one", &|| {
            fs::rename(root.join(".h"), root.join("a.txt")).unwrap()
        }),
        ("one that is gone at once", &|| {
            fs::write(root.join("d/brief.txt"), "").unwrap();
            fs::remove_file(root.join("d/brief.txt")).unwrap();
        }),
    ];
    for (why, act) in outside {
        act();
        assert_eq!(quiet(&peer, &root, &fence).await, 0, "{why}");
    }
}

// req: D-39
#[tokio::test(flavor = "multi_thread")]
async fn d_39_own_changes_are_told_beyond_what_may_be_watched() {
    for (watched_directories, visited) in [(0, 200_000), (1, 200_000), (1, 2)] {
        let limits = Limits {
            watched_directories,
            visited,
            ..Limits::default()
        };
        let notes = notes().limited(limits);
        let root = notes.root();
        let (peer, _outside) = connect(notes, Revision::LATEST_LEGACY).await;
        for round in 0..3 {
            let args = json!({"path": format!("d/e/{round}.txt"), "content": "x"});
            peer.call("write_file", &args).await.unwrap();
            changed(&peer, "a file far below").await;
        }
        if watched_directories > 0 {
            fs::write(root.join("n.txt"), "").unwrap();
            changed(&peer, "what is watched").await;
        }
    }
}
