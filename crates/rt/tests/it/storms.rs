//! Changes in storms, clients that take nothing, wishes that come and go on many threads.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};

use polyport_model::SubscriptionFilter;
use polyport_proto::{ClientFacts, Level, Limits, Remembered, Revision};
use polyport_rt::{Alert, Bus, Service, Stop, Watcher, memory};
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;
use polyport_wire::Raw;
use tokio::io::AsyncWriteExt;

use crate::tools::until;
use crate::{META, OPEN};

fn puppet() -> (Bus, Service) {
    let puppet = Puppet::default();
    (puppet.bus.clone(), Service::new(puppet))
}

// req: C-STORM
#[tokio::test(start_paused = true)]
async fn ten_thousand_changes_are_one_message() {
    let (bus, service) = puppet();
    let mut peer = Script::connect(service);
    peer.play(OPEN).await;
    let listen = r#"
        > {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:/1"}}
        ~ {"id":1,"result":{}}
        > {"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{META,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:/1"]}}}
        ~ {"method":"notifications/subscriptions/acknowledged"}
    "#;
    peer.play(&listen.replace("META", META)).await;
    for _ in 0..10_000 {
        bus.tools_changed();
        bus.updated("a:/1");
    }
    peer.play(
        r#"
        < {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
        < {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:/1"}}
        ~ {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
        ~ {"method":"notifications/resources/updated","params":{"uri":"a:/1"}}
        .
        $
    "#,
    )
    .await;
    assert_eq!((bus.listeners(), bus.watched()), (0, 0));
}

// req: C-STORM
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_never_lost_however_fast_they_come() {
    let (bus, service) = puppet();
    let mut peer = Script::connect(service);
    peer.play(OPEN).await;
    for round in 0..200 {
        let storm = bus.clone();
        let stormed = std::thread::spawn(move || (0..100).for_each(|_| storm.tools_changed()));
        let mut told = 0;
        loop {
            // After the storm there is one change that nobody was told of yet, or it was told after the last of them.
            let over = stormed.is_finished();
            let heard = tokio::time::timeout(
                std::time::Duration::from_millis(if over { 100 } else { 20_000 }),
                peer.receive(),
            )
            .await;
            match heard {
                Ok(Some(got)) => {
                    assert_eq!(got["method"], "notifications/tools/list_changed");
                    told += 1;
                }
                _ if over => break,
                other => panic!("{other:?} in round {round}"),
            }
            if over {
                break;
            }
        }
        stormed.join().unwrap();
        assert!((1..=100).contains(&told), "{told}");
        while let Ok(got) =
            tokio::time::timeout(std::time::Duration::from_millis(1), peer.receive()).await
        {
            got.unwrap();
        }
        if round > 20 && told == 1 {
            break;
        }
    }
}

// req: C-BOUND
#[tokio::test(start_paused = true)]
async fn too_many_wishes_are_refused_before_anybody_looks_for_them() {
    let puppet = Puppet::default();
    let mut peer = Script::connect(Service::new(puppet.clone()));
    let uris: Vec<_> = (0..1_025).map(|n| format!("\"a:/{n}\"")).collect();
    let script = r#"
        > {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{META,"notifications":{"resourceSubscriptions":[URIS]}}}
        ~ {"id":1,"error":{"code":-32600}}
    "#;
    peer.play(
        &script
            .replace("META", META)
            .replace("URIS", &uris.join(",")),
    )
    .await;
    assert_eq!(puppet.seen.calls.load(Ordering::SeqCst), 0);
    assert_eq!(puppet.bus.listeners(), 0);
}

// req: C-STORM
#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_holds_little() {
    let (bus, service) = puppet();
    let (stream, serving) = memory::connect(service, Stop::never());
    let (reader, mut writer) = tokio::io::split(stream);
    let uris: Vec<_> = (0..1_000).map(|n| format!("\"a:/{n}\"")).collect();
    let mut text = String::new();
    for id in 0..4 {
        text += &format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"subscriptions/listen\",\"params\":{{{META},\"notifications\":{{\"toolsListChanged\":true,\"resourceSubscriptions\":[{}]}}}}}}\n",
            uris.join(",")
        );
    }
    writer.write_all(text.as_bytes()).await.unwrap();
    until("four listeners", || bus.listeners() == 4).await;
    for round in 0..100 {
        for n in 0..1_000 {
            bus.updated(&format!("a:/{n}"));
            bus.log(Level::Error, None, "1");
        }
        bus.tools_changed();
        if round % 10 == 0 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!((bus.listeners(), bus.watched()), (4, 1_000));
    // It goes without ever having read: nothing of it stays.
    drop((reader, writer));
    let ended = tokio::time::timeout(std::time::Duration::from_secs(60), serving).await;
    ended.unwrap().unwrap();
    assert_eq!((bus.listeners(), bus.watched()), (0, 0));
}

/// Nobody.
struct Deaf;

impl Alert for Deaf {
    fn alert(&self) {}
}

/// What is watched, as a watcher hears it; an end without a beginning, or two beginnings, are noted.
#[derive(Default)]
struct Log {
    on: Mutex<HashMap<String, bool>>,
    wrong: Mutex<Vec<String>>,
    clumsy: bool,
}

impl Watcher for Log {
    fn watch_list(&self, on: bool) {
        self.watch("the list", on);
    }

    fn watch(&self, uri: &str, on: bool) {
        // Time for others to come between.
        (0..20).for_each(|_| std::thread::yield_now());
        let was = self.on.lock().unwrap().insert(uri.to_owned(), on);
        if was.unwrap_or(false) == on {
            self.wrong.lock().unwrap().push(format!("{uri} {on}"));
        }
        assert!(!self.clumsy, "as it was told");
    }
}

fn few() -> Arc<Limits> {
    let mut limits = Limits::default();
    limits.subscriptions = 10;
    Arc::new(limits)
}

fn session() -> Arc<Remembered> {
    let client = ClientFacts {
        info: None,
        capabilities: Raw::from_static("{}"),
    };
    Arc::new(Remembered::new(Revision::V2025_11_25, client))
}

// req: C-WATCH
#[test]
fn a_watcher_hears_beginnings_and_ends_in_order() {
    let bus = Bus::new();
    let log = Arc::new(Log::default());
    assert!(bus.set_watcher(log.clone()));
    assert!(!bus.set_watcher(log.clone()), "there is one");
    let deaf: Arc<dyn Alert> = Arc::new(Deaf);
    let listen = || bus.listen_session(session(), Arc::downgrade(&deaf) as Weak<dyn Alert>, &few());
    let shared = listen();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (shared, listen) = (&shared, &listen);
            scope.spawn(move || {
                for n in 0..2_000 {
                    let uri = format!("a:/{}", n % 3);
                    // Two threads quarrel over the wishes of one listener, the others come and go with their own.
                    match thread {
                        0 => shared.subscribe(&uri).unwrap(),
                        1 => shared.unsubscribe(&uri),
                        _ => {
                            let own = listen();
                            own.subscribe("a:/3").unwrap();
                            own.subscribe("a:/4").unwrap();
                            own.unsubscribe("a:/3");
                        }
                    }
                }
            });
        }
    });
    assert_eq!(*log.wrong.lock().unwrap(), [""; 0]);
    for uri in ["a:/0", "a:/1", "a:/2"] {
        shared.unsubscribe(uri);
    }
    assert_eq!(bus.watched(), 0);
    let on = |log: &Log| {
        let on = log.on.lock().unwrap().clone();
        on.into_iter()
            .filter_map(|(uri, on)| on.then_some(uri))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        on(&log),
        ["the list"],
        "a session wants it while it is there"
    );
    let without = SubscriptionFilter::default();
    let of_tools = bus.listen_filter(
        &without,
        Raw::from_static("1"),
        Arc::downgrade(&deaf) as Weak<dyn Alert>,
        &few(),
    );
    drop(shared);
    assert_eq!(on(&log), [""; 0]);
    let with = SubscriptionFilter {
        resources_list_changed: Some(true),
        ..without
    };
    let of_list = bus.listen_filter(
        &with,
        Raw::from_static("2"),
        Arc::downgrade(&deaf) as Weak<dyn Alert>,
        &few(),
    );
    assert_eq!(on(&log), ["the list"]);
    drop((of_tools, of_list));
    assert_eq!(on(&log), [""; 0]);
    assert_eq!(*log.wrong.lock().unwrap(), [""; 0]);
    assert_eq!(bus.listeners(), 0);
}

// req: C-WATCH
#[test]
fn a_watcher_that_panics_ends_nothing() {
    let bus = Bus::new();
    let log = Arc::new(Log {
        clumsy: true,
        ..Log::default()
    });
    bus.set_watcher(log.clone());
    let deaf: Arc<dyn Alert> = Arc::new(Deaf);
    let listener = bus.listen_session(session(), Arc::downgrade(&deaf) as Weak<dyn Alert>, &few());
    for uri in ["a:/1", "a:/2", "a:/3"] {
        listener.subscribe(uri).unwrap();
    }
    listener.unsubscribe("a:/1");
    assert_eq!(bus.watched(), 2);
    drop(listener);
    assert_eq!((bus.watched(), bus.listeners()), (0, 0));
    assert_eq!(*log.wrong.lock().unwrap(), [""; 0]);
}

// req: C-LEGACY
#[test]
fn what_was_not_taken_is_not_told_after_the_wish_has_ended() {
    let bus = Bus::new();
    let deaf: Arc<dyn Alert> = Arc::new(Deaf);
    let listener = bus.listen_session(
        session(),
        Arc::downgrade(&deaf) as Weak<dyn Alert>,
        &Arc::new(Limits::default()),
    );
    for uri in ["a:/1", "a:/2"] {
        listener.subscribe(uri).unwrap();
        bus.updated(uri);
    }
    listener.unsubscribe("a:/1");
    let told: Vec<_> = listener.take();
    assert_eq!(told.len(), 1);
    assert!(String::from_utf8_lossy(&told[0]).contains("a:/2"));
}
