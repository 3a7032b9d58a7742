//! What a client hears of a server that changes: the same stream in both eras.

use std::sync::{Arc, Mutex};

use polyport::client::{Change, Connect, Heard, Wanted};
use polyport::{
    Bus, Call, Client, ClientError, Era, Handler, Level, Outcome, Raw, Resource, Revisions,
    RpcError, Server, ServerHandle, Service, Tool,
};
use serde_json::{Value, json};

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy];

async fn open(era: Era) -> (Client, ServerHandle) {
    let server = Server::new("s", "1")
        .tool("plain", "Plain.", |_cx, (): ()| async { Ok("plain") })
        .add_resource(Resource::new("s://a", "a", |_cx| async { Ok("a") }))
        .add_resource(Resource::new("s://b", "b", |_cx| async { Ok("b") }));
    let handle = server.handle();
    let connect = Connect::service(server.into_service());
    let client = connect.speaks(Revisions::of(era)).connect().await;
    (client.unwrap(), handle)
}

fn more() -> Tool {
    Tool::new("more", "More.", |_cx, (): ()| async { Ok("more") })
}

fn change(heard: Result<Option<Heard>, ClientError>) -> Change {
    heard.unwrap().unwrap().change
}

// req: S-CHANGES
#[tokio::test]
async fn one_stream_in_both_eras() {
    for era in ERAS {
        let (client, handle) = open(era).await;
        let wanted = Wanted {
            lists: true,
            resources: vec!["s://a".to_owned()],
            logs: Some(Level::Warning),
            ..Wanted::default()
        };
        let mut changes = client.changes(wanted.clone()).await.unwrap();
        let told = changes.told();
        assert_eq!((told.lists, &told.resources), (true, &wanted.resources));
        assert_eq!(told.logs.is_some(), era == Era::Legacy);

        handle.resource_updated("s://b");
        handle.resource_updated("s://a");
        let heard = changes.next().await.unwrap().unwrap();
        assert_eq!(heard.change, Change::Updated("s://a".to_owned()), "{era:?}");
        let message = heard.message.unwrap();
        assert!(message.as_str().contains("notifications/resources/updated"));

        handle.add_tool(more()).unwrap();
        assert_eq!(change(changes.next().await), Change::Tools, "{era:?}");

        if era == Era::Legacy {
            handle.log(Level::Info, "too quiet");
            handle.log(Level::Error, "loud");
            let Change::Log(log) = change(changes.next().await) else {
                panic!("no log");
            };
            assert_eq!((log.level, log.data.as_str()), (Level::Error, "\"loud\""));
        }
        changes.end().await.unwrap();

        // What nobody wants any more is not told; another stream begins anew.
        handle.resource_updated("s://a");
        let mut changes = client
            .changes(Wanted {
                lists: true,
                ..Wanted::default()
            })
            .await;
        let changes = changes.as_mut().unwrap();
        handle.remove_tool("more");
        assert_eq!(change(changes.next().await), Change::Tools, "{era:?}");
    }
}

// req: S-CHANGES
#[tokio::test]
async fn what_is_not_told_is_said() {
    let wanted = || Wanted {
        lists: false,
        resources: vec!["s://nothing".to_owned()],
        logs: None,
        ..Wanted::default()
    };
    let (client, _handle) = open(Era::Modern).await;
    let changes = client.changes(wanted()).await.unwrap();
    assert_eq!(changes.told(), &Wanted::default());
    let (client, _handle) = open(Era::Legacy).await;
    let refused = client.changes(wanted()).await.unwrap_err();
    assert!(matches!(refused, ClientError::Refused(_)), "{refused:?}");
    // A server that never changes.
    for era in ERAS {
        let server = Server::new("s", "1").tool("t", "T.", |_cx, (): ()| async { Ok("t") });
        let connect = Connect::service(server.into_service());
        let client = connect.speaks(Revisions::of(era)).connect().await.unwrap();
        let changes = client
            .changes(Wanted {
                lists: true,
                ..Wanted::default()
            })
            .await;
        match changes {
            Ok(changes) if era == Era::Legacy => assert_eq!(changes.told(), &Wanted::default()),
            Err(ClientError::NotOffered(_)) if era == Era::Modern => {}
            other => panic!("{era:?}: {other:?}"),
        }
    }
}

/// A modern server that tells of whatever it is asked for, and says that it tells of this. What it is asked for is kept.
struct Telling {
    offered: Value,
    heard: Arc<Mutex<Vec<Value>>>,
    bus: Bus,
}

async fn telling(offered: &Value) -> (Client, Arc<Mutex<Vec<Value>>>) {
    let heard = Arc::default();
    let service = Service::new(Telling {
        offered: offered.clone(),
        heard: Arc::clone(&heard),
        bus: Bus::new(),
    });
    let connect = Connect::service(service).speaks(Revisions::of(Era::Modern));
    (connect.connect().await.unwrap(), heard)
}

impl Handler for Telling {
    async fn call(&self, call: Call) -> Outcome {
        match call.method {
            "server/discover" => {
                let json = json!({"capabilities": self.offered});
                Outcome::Complete(Raw::encode(&json).unwrap())
            }
            "subscriptions/listen" => {
                let asked: Value = call.params.raw().unwrap().decode().unwrap();
                let asked = json!({"notifications": asked["notifications"]});
                self.heard
                    .lock()
                    .unwrap()
                    .push(asked["notifications"].clone());
                Outcome::Complete(Raw::encode(&asked).unwrap())
            }
            other => Outcome::Failed(RpcError::method_not_found(other)),
        }
    }

    fn bus(&self) -> Option<Bus> {
        Some(self.bus.clone())
    }
}

/// What no server says that it tells is not asked for: neither beside what it tells, nor where there is nothing else.
// req: S-DECLARED
#[tokio::test]
async fn a_modern_server_is_asked_for_what_it_says_that_it_tells() {
    let lists = || Wanted {
        lists: true,
        ..Wanted::default()
    };
    let both = || Wanted {
        resources: vec!["s://a".to_owned()],
        ..lists()
    };
    let resource = || Wanted {
        lists: false,
        ..both()
    };
    let all = json!({"tools": {"listChanged": true}, "prompts": {"listChanged": true}, "resources": {"listChanged": true, "subscribe": true}});
    let none = json!({"tools": {"listChanged": false}, "prompts": {}, "resources": {"listChanged": false, "subscribe": false}});
    for (offered, wanted, asked) in [
        (
            &all,
            both(),
            Some(
                json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": ["s://a"]}),
            ),
        ),
        (&none, both(), None),
        (&none, lists(), None),
        (&none, resource(), None),
        (&json!({}), both(), None),
        (
            &json!({"tools": {"listChanged": true}, "resources": {}}),
            both(),
            Some(json!({"toolsListChanged": true})),
        ),
        (
            &json!({"tools": {}, "prompts": {"listChanged": true}, "resources": {"subscribe": true}}),
            both(),
            Some(json!({"promptsListChanged": true, "resourceSubscriptions": ["s://a"]})),
        ),
        (
            &json!({"resources": {"listChanged": true}}),
            resource(),
            None,
        ),
        (&json!({"resources": {"subscribe": true}}), lists(), None),
    ] {
        let (client, heard) = telling(offered).await;
        let changes = client.changes(wanted.clone()).await;
        match (&changes, &asked) {
            (Ok(_), Some(_)) | (Err(ClientError::NotOffered(_)), None) => {}
            other => panic!("{offered}: {other:?}"),
        }
        let want: Vec<Value> = asked.into_iter().collect();
        assert_eq!(*heard.lock().unwrap(), want, "{offered} {wanted:?}");
    }
}

/// Nothing is asked for where nothing is wanted any more.
// req: S-DECLARED
#[tokio::test]
async fn a_modern_server_is_asked_for_nothing_where_nothing_is_wanted() {
    let (client, heard) = telling(&json!({"resources": {"subscribe": true}})).await;
    let mut changes = client.changes(Wanted::default()).await.unwrap();
    assert_eq!(heard.lock().unwrap().len(), 0);
    changes.add("s://a".to_owned()).await.unwrap();
    assert_eq!(changes.told().resources, ["s://a"]);
    changes.leave("s://a").await.unwrap();
    assert_eq!(changes.told(), &Wanted::default());
    assert_eq!(heard.lock().unwrap().len(), 1);
}
