//! More clients than a server may have sessions.

use std::time::Duration;

use polyport::client::Connect;
use polyport::{Client, Raw, Revision, Revisions, Service};
use polyport_gateway::{Gateway, Upstream};
use tokio::time::{Instant, sleep, timeout};

use crate::{ERAS, server};

/// Nothing hangs.
const BOUND: Duration = Duration::from_secs(60);

/// A gateway to a server that has so many sessions at most, alone or beside another.
fn behind(most: usize, theirs: Revision, is_alone: bool) -> (Service, Connect) {
    let connect = Connect::service(server("a").into_service());
    let connect = connect.speaks(Revisions::NONE.with(theirs)).at_most(most);
    let mut upstreams = vec![Upstream::new("one", connect.clone())];
    if !is_alone {
        let other = Connect::service(server("b").into_service());
        upstreams.push(Upstream::new("two", other));
    }
    (Service::new(Gateway::new(upstreams)), connect)
}

async fn comes(name: &str, service: &Service, ours: Revision) -> Result<Client, String> {
    let connect = Connect::service(service.clone()).named(name, "1");
    let connect = connect.speaks(Revisions::NONE.with(ours)).connect();
    let came = timeout(BOUND, connect).await.unwrap();
    came.map_err(|error| error.to_string())
}

/// Calls the tool that only this server has; else why not.
async fn calls(client: &Client) -> Result<(), String> {
    let called = client.request_raw("tools/call", r#"{"name":"alpha"}"#, None);
    let called: Result<Raw, _> = timeout(BOUND, called).await.unwrap();
    called.map(drop).map_err(|error| error.to_string())
}

// req: S-GATE-ROOM
#[tokio::test(start_paused = true)]
async fn one_client_more_than_there_is_room_for_is_told_so_until_another_goes() {
    for theirs in ERAS {
        for ours in ERAS {
            for is_alone in [true, false] {
                let at = format!("{ours} to {theirs}, alone: {is_alone}");
                let (service, connect) = behind(2, theirs, is_alone);
                let first = comes("first", &service, ours).await.unwrap();
                let second = comes("second", &service, ours).await.unwrap();
                calls(&first).await.unwrap();
                calls(&second).await.unwrap();
                assert!(connect.is_full(), "{at}");
                let why = third(&service, ours).await.unwrap_err();
                assert!(why.contains("max_sessions"), "{at}: {why}");
                assert!(
                    !why.contains("-32602"),
                    "it is no fault of the client's: {why}"
                );
                // Who is there goes on.
                calls(&first).await.unwrap();
                calls(&second).await.unwrap();
                if ours == ERAS[0] {
                    second.close().await;
                } else {
                    // Without a session nobody says that he goes.
                    sleep(Duration::from_secs(90)).await;
                }
                let end = Instant::now() + BOUND;
                while let Err(why) = third(&service, ours).await {
                    assert!(Instant::now() < end, "{at}: {why}");
                    sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}

/// A client comes, and needs the server.
async fn third(service: &Service, ours: Revision) -> Result<(), String> {
    let client = comes("third", service, ours).await?;
    let called = calls(&client).await;
    client.close().await;
    called
}
