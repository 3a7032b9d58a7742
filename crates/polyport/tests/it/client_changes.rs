//! What a client hears of a server that changes: the same stream in both eras.

use polyport::client::{Change, Connect, Heard, Wanted};
use polyport::{Client, ClientError, Era, Level, Resource, Revisions, Server, ServerHandle, Tool};

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
            Ok(changes) => assert_eq!(changes.told(), &Wanted::default(), "{era:?}"),
            Err(ClientError::Refused(error)) => assert_eq!(error.code, -32601, "{era:?}"),
            Err(other) => panic!("{era:?}: {other:?}"),
        }
    }
}
