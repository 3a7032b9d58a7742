//! Subscriptions to files: what happens on the disk is told to whoever subscribed, and to nobody else; nothing is watched otherwise.

use std::fs;
use std::path::Path;
use std::time::Duration;

use polyport::testing::{self, TestPeer};
use polyport::{Revision, Server, ServerHandle};
use polyport_backends::files::{
    Limits, serve,
    serve::{Access, Roots},
};
use serde_json::{Value, json};

use crate::support::{Fixture, fixture};

/// The system reports in real time; more than this and it does not.
const PATIENCE: Duration = Duration::from_secs(20);

fn notes() -> Fixture {
    let deep = [("d/e/f.txt", "three"), ("d/g.txt", "four")];
    fixture(
        &[
            &[("a.txt", "one"), ("b/c.txt", "two"), ("fence.txt", "0")],
            &deep[..],
        ]
        .concat(),
    )
}

async fn connect(
    notes: Fixture,
    revision: Revision,
) -> (TestPeer, ServerHandle, tempfile::TempDir) {
    let server = Server::new("files", "1");
    let handle = server.handle();
    let server = serve::extend(server, notes.folders, Access::Write, Roots::Legacy);
    let peer = testing::connect(server, revision).await.unwrap();
    (peer, handle, notes.outside)
}

async fn subscribe(peer: &TestPeer, uri: &str) {
    peer.request("resources/subscribe", &json!({"uri": uri}))
        .await
        .unwrap();
}

/// The URI of the next update.
async fn updated(peer: &TestPeer) -> String {
    loop {
        let next = tokio::time::timeout(PATIENCE, peer.caller().notification()).await;
        let next = next
            .expect("something is told")
            .expect("the server is there");
        let message: Value = serde_json::from_slice(&next).unwrap();
        if message["method"] == "notifications/resources/updated" {
            return message["params"]["uri"].as_str().unwrap().to_owned();
        }
    }
}

/// What else is told of until two later changes of a fence have been: by then all before them is.
async fn quiet(peer: &TestPeer, outside: &Path, fence: (&Path, &str)) -> Vec<String> {
    let mut told = Vec::new();
    for text in ["1", "2"] {
        // In one step, so that it is told once.
        fs::write(outside.join("fence"), text).unwrap();
        fs::rename(outside.join("fence"), fence.0).unwrap();
        loop {
            match updated(peer).await {
                uri if uri == fence.1 => break,
                uri => told.push(uri),
            }
        }
    }
    told
}

// req: D-39
#[tokio::test(flavor = "multi_thread")]
async fn d_39_every_way_in_which_a_file_changes_is_told() {
    let notes = notes();
    let root = notes.root();
    let (peer, _handle, _outside) = connect(notes, Revision::LATEST_LEGACY).await;
    let uri = |name: &str| {
        format!("file://{}", root.join(name).display())
            .replace(' ', "%20")
            .replace('ü', "%C3%BC")
    };
    let (a, c) = (uri("a.txt"), uri("b/c.txt"));
    subscribe(&peer, &a).await;
    subscribe(&peer, &c).await;
    fs::write(root.join("a.txt"), "written").unwrap();
    assert_eq!(updated(&peer).await, a);
    fs::write(root.join("new.txt"), "replaced").unwrap();
    fs::rename(root.join("new.txt"), root.join("b/c.txt")).unwrap();
    assert_eq!(updated(&peer).await, c);
    fs::remove_file(root.join("b/c.txt")).unwrap();
    assert_eq!(updated(&peer).await, c);
    fs::write(root.join("b/c.txt"), "back").unwrap();
    assert_eq!(updated(&peer).await, c);
    let edit = json!({"path": "a.txt", "edits": [{"oldText": "written", "newText": "edited"}]});
    peer.call("edit_file", &edit).await.unwrap();
    assert_eq!(updated(&peer).await, a);
}

// req: D-39
#[tokio::test(flavor = "multi_thread")]
async fn d_39_a_directory_that_goes_and_comes_back_is_watched_again() {
    let notes = notes();
    let root = notes.root();
    let (peer, _handle, outside) = connect(notes, Revision::LATEST_LEGACY).await;
    let uri = |name: &str| {
        format!("file://{}", root.join(name).display())
            .replace(' ', "%20")
            .replace('ü', "%C3%BC")
    };
    let (f, fence) = (uri("d/e/f.txt"), uri("fence.txt"));
    let fence_path = root.join("fence.txt");
    let quiet = || quiet(&peer, outside.path(), (&fence_path, &fence));
    subscribe(&peer, &f).await;
    subscribe(&peer, &fence).await;
    let write = |text: &str| fs::write(root.join("d/e/f.txt"), text).unwrap();
    let away = |name: String| outside.path().join(name);
    let nothing: [String; 0] = [];
    for round in 0..3 {
        // Deleted with all above it, and made again step by step.
        fs::remove_dir_all(root.join("d")).unwrap();
        assert_eq!(updated(&peer).await, f, "gone, {round}");
        quiet().await;
        fs::create_dir(root.join("d")).unwrap();
        quiet().await;
        fs::create_dir(root.join("d/e")).unwrap();
        write("made again");
        assert_eq!(updated(&peer).await, f, "back, {round}");
        quiet().await;
        write("changed");
        assert_eq!(updated(&peer).await, f, "changed, {round}");
        quiet().await;
        // Renamed above it, and another one put in its place.
        let old = away(format!("old {round}"));
        fs::rename(root.join("d"), &old).unwrap();
        assert_eq!(updated(&peer).await, f, "renamed, {round}");
        quiet().await;
        // What happens where it was is nobody's business any more.
        fs::write(old.join("e/f.txt"), "x").unwrap();
        assert_eq!(quiet().await, nothing, "elsewhere, {round}");
        let new = away("new".to_owned());
        fs::create_dir_all(new.join("e")).unwrap();
        fs::write(new.join("e/f.txt"), "new").unwrap();
        fs::rename(new, root.join("d")).unwrap();
        assert_eq!(updated(&peer).await, f, "replaced, {round}");
        quiet().await;
        write("changed");
        assert_eq!(updated(&peer).await, f, "changed anew, {round}");
        quiet().await;
    }
    fs::remove_dir_all(root.join("d")).unwrap();
    assert_eq!(updated(&peer).await, f);
    quiet().await;
    #[cfg(unix)]
    {
        // A way that leads outside is none.
        let there = away("there".to_owned());
        fs::create_dir_all(there.join("e")).unwrap();
        std::os::unix::fs::symlink(&there, root.join("d")).unwrap();
        assert_eq!(quiet().await, nothing);
        fs::write(there.join("e/f.txt"), "secret").unwrap();
        assert_eq!(quiet().await, nothing);
        fs::remove_file(root.join("d")).unwrap();
    }
    fs::create_dir_all(root.join("d/e")).unwrap();
    write("home");
    assert_eq!(updated(&peer).await, f);
}

// req: D-39
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn d_39_what_leads_outside_is_not_told() {
    let notes = notes();
    let root = notes.root();
    let (peer, handle, outside) = connect(notes, Revision::LATEST_LEGACY).await;
    let uri = |name: &str| {
        format!("file://{}", root.join(name).display())
            .replace(' ', "%20")
            .replace('ü', "%C3%BC")
    };
    let (a, fence) = (uri("a.txt"), uri("fence.txt"));
    subscribe(&peer, &a).await;
    subscribe(&peer, &fence).await;
    // In one step, as whoever attacks would do it.
    std::os::unix::fs::symlink(outside.path().join("secret.txt"), root.join("link")).unwrap();
    fs::rename(root.join("link"), root.join("a.txt")).unwrap();
    fs::write(root.join("fence.txt"), "1").unwrap();
    assert_eq!(updated(&peer).await, fence);
    fs::write(outside.path().join("secret.txt"), "another secret").unwrap();
    fs::write(root.join("fence.txt"), "2").unwrap();
    assert_eq!(updated(&peer).await, fence);
    assert_eq!(handle.bus().watched(), 2);
}

// req: D-39
#[tokio::test(flavor = "multi_thread")]
async fn d_39_nothing_is_watched_that_nobody_asked_for() {
    let notes = notes();
    let root = notes.root();
    let limits = Limits {
        watched_directories: 2,
        ..Limits::default()
    };
    let (peer, handle, _outside) = connect(notes.limited(limits), Revision::LATEST_LEGACY).await;
    let uri = |name: &str| {
        format!("file://{}", root.join(name).display())
            .replace(' ', "%20")
            .replace('ü', "%C3%BC")
    };
    // Each with the folder above it.
    let (g, c) = (uri("d/g.txt"), uri("b/c.txt"));
    subscribe(&peer, &g).await;
    let refused = peer
        .request("resources/subscribe", &json!({"uri": c}))
        .await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("Too many directories"), "{refused}");
    for missing in [uri("none.txt"), uri("../secret.txt"), "x:/".to_owned()] {
        let refused = peer
            .request("resources/subscribe", &json!({"uri": missing}))
            .await;
        assert!(
            refused.unwrap_err().to_string().contains("-32002"),
            "{missing}"
        );
    }
    peer.request("resources/unsubscribe", &json!({"uri": g}))
        .await
        .unwrap();
    // Its place is free again.
    subscribe(&peer, &c).await;
    fs::write(root.join("b/c.txt"), "changed").unwrap();
    assert_eq!(updated(&peer).await, c);
    peer.stop().await;
    assert_eq!((handle.bus().watched(), handle.bus().listeners()), (0, 0));
}

// req: D-39
#[tokio::test(flavor = "multi_thread")]
async fn a_modern_client_hears_of_files_on_its_stream() {
    let notes = notes();
    let root = notes.root();
    let (peer, _handle, _outside) = connect(notes, Revision::LATEST).await;
    let a = format!("file://{}", root.join("a.txt").display())
        .replace(' ', "%20")
        .replace('ü', "%C3%BC");
    let filter = json!({"notifications": {"resourceSubscriptions": [a]}});
    tokio::select! {
        ended = peer.request("subscriptions/listen", &filter) => panic!("it has ended: {ended:?}"),
        uri = async {
            peer.caller().notification().await.unwrap();
            fs::write(root.join("a.txt"), "written").unwrap();
            updated(&peer).await
        } => assert_eq!(uri, a),
    }
}

// req: BR-199
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn br_199_a_swap_of_any_link_on_the_way_is_told_and_what_is_written_behind_it() {
    use std::os::unix::fs::symlink;
    let notes = notes();
    let root = notes.root();
    for version in ["v1", "v2", "v3"] {
        fs::create_dir_all(root.join(version).join("sub")).unwrap();
        fs::write(root.join(version).join("cfg.txt"), version).unwrap();
        fs::write(root.join(version).join("sub/deep.txt"), version).unwrap();
    }
    symlink("v1", root.join("..data")).unwrap();
    symlink("..data/cfg.txt", root.join("cfg.txt")).unwrap();
    symlink("cfg.txt", root.join("alias.txt")).unwrap();
    symlink("..data", root.join("current")).unwrap();
    let (peer, _handle, outside) = connect(notes, Revision::LATEST_LEGACY).await;
    let uri = |name: &str| {
        format!("file://{}", root.join(name).display())
            .replace(' ', "%20")
            .replace('ü', "%C3%BC")
    };
    let fence = uri("fence.txt");
    let fence_path = root.join("fence.txt");
    let quiet = || quiet(&peer, outside.path(), (&fence_path, &fence));
    subscribe(&peer, &fence).await;
    let swap = |link: &str, to: &str| {
        symlink(to, root.join("t")).unwrap();
        fs::rename(root.join("t"), root.join(link)).unwrap();
    };
    let nothing: [String; 0] = [];
    // By a link to a file, by a link to that, by links to its directory, below such a directory, and by the directory's own name.
    for (name, below) in [
        ("cfg.txt", "cfg.txt"),
        ("alias.txt", "cfg.txt"),
        ("..data/cfg.txt", "cfg.txt"),
        ("current/sub/deep.txt", "sub/deep.txt"),
    ] {
        let watched = uri(name);
        subscribe(&peer, &watched).await;
        // One with another way to the same directory comes and goes and ends nothing.
        let other = uri("v1/cfg.txt");
        subscribe(&peer, &other).await;
        let ended = json!({"uri": other});
        peer.request("resources/unsubscribe", &ended).await.unwrap();
        for version in ["v2", "v3", "v1"] {
            swap("..data", version);
            assert_eq!(updated(&peer).await, watched, "swapped, {name} {version}");
            quiet().await;
            fs::write(root.join(version).join(below), "written").unwrap();
            assert_eq!(updated(&peer).await, watched, "written, {name} {version}");
            quiet().await;
        }
        // What is behind no link any more is nobody's business.
        fs::write(root.join("v2").join(below), "unseen").unwrap();
        assert_eq!(quiet().await, nothing, "elsewhere, {name}");
        let ended = json!({"uri": watched});
        peer.request("resources/unsubscribe", &ended).await.unwrap();
    }
}

// req: D-02
#[tokio::test]
async fn d_02_a_subscription_is_refused_as_a_read_is() {
    let notes = notes();
    let root = notes.root();
    let (peer, _handle, _outside) = connect(notes, Revision::LATEST_LEGACY).await;
    let uri = |name: &str| {
        format!("file://{}", root.join(name).display())
            .replace(' ', "%20")
            .replace('ü', "%C3%BC")
    };
    for missing in [
        "none.txt",
        "d/none/x",
        "../secret.txt",
        "../none.txt",
        "../../../etc/hostname",
    ] {
        let params = json!({"uri": uri(missing)});
        let read = peer.request("resources/read", &params).await;
        let read = read.unwrap_err().to_string();
        let refused = peer.request("resources/subscribe", &params).await;
        assert_eq!(refused.unwrap_err().to_string(), read, "{missing}");
        assert!(
            read.contains("-32002") && read.contains("The working folder is"),
            "{read}"
        );
    }
    // A directory is no resource, and why is said.
    let refused = peer
        .request("resources/subscribe", &json!({"uri": uri("d")}))
        .await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("-32002") && refused.contains("is a directory"),
        "{refused}"
    );
}

// req: D-02
#[tokio::test]
async fn d_02_a_stream_leaves_out_what_cannot_be_subscribed_to() {
    let notes = notes();
    let root = notes.root();
    let (peer, _handle, _outside) = connect(notes, Revision::LATEST).await;
    let uri = |name: &str| {
        format!("file://{}", root.join(name).display())
            .replace(' ', "%20")
            .replace('ü', "%C3%BC")
    };
    let asked = [
        uri("a.txt"),
        uri("none.txt"),
        uri("../secret.txt"),
        uri("d"),
    ];
    let filter = json!({"notifications": {"resourceSubscriptions": asked}});
    tokio::select! {
        ended = peer.request("subscriptions/listen", &filter) => panic!("it has ended: {ended:?}"),
        first = peer.caller().notification() => {
            let first: Value = serde_json::from_slice(&first.unwrap()).unwrap();
            assert_eq!(first["params"]["notifications"], json!({"resourceSubscriptions": [uri("a.txt")]}));
        }
    }
}
