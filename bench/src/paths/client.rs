//! A client of the SDK and a server in the same process: a call is encoded, sent, answered and decoded. What the server has of it is
//! what the same call costs through the driver.

use std::collections::BTreeMap;

use polyport::client::Connect;
use polyport::{Raw, Revisions};

use super::Given;
use super::ask::{Ask, Era};

/// Asks so many times.
pub(super) async fn run(era: Era, ask: Ask, rounds: u32, keep: bool) -> Given {
    let speaks = match era {
        Era::Legacy => polyport::Era::Legacy,
        Era::Modern => polyport::Era::Modern,
    };
    let connect = Connect::service(ask.server().into_service());
    let connect = connect.speaks(Revisions::of(speaks));
    let client = connect.connect().await.expect("it is in this process");
    let Ask::Echo(bytes) = ask else {
        panic!("the client asks for nothing else");
    };
    let arguments = BTreeMap::from([("text", "x".repeat(bytes))]);
    let arguments = Raw::encode(&arguments).expect("texts can be written");
    let mut given = Given::default();
    for _ in 0..rounds {
        let result = client.call_tool("echo", &arguments).await;
        let result = result.expect("echo answers");
        let text = Raw::encode(&result.content).expect("it was read");
        given.bytes += text.as_bytes().len();
        if keep {
            given.last = text.as_bytes().to_vec();
        }
    }
    client.close().await;
    given
}
