//! A gateway to servers in the same process. What a server has of a call or a list is in the figure, too.

use polyport::client::{Connect, List};
use polyport::{Raw, Revisions, Server, Service};
use polyport_gateway::{Gateway, Upstream};

use super::Given;
use super::ask::{Ask, Era};

/// Two servers of the era that have the same tools.
pub(super) fn two(era: Era, ask: Ask) -> Service {
    let speaks = match era {
        Era::Legacy => polyport::Era::Legacy,
        Era::Modern => polyport::Era::Modern,
    };
    let upstream = |name| {
        let connect = Connect::service(ask.server().into_service());
        Upstream::new(name, connect.speaks(Revisions::of(speaks)))
    };
    Service::new(Gateway::new([upstream("one"), upstream("two")]))
}

/// Lists all tools so often of so many servers with 200 each, all of the same names.
pub(super) async fn list(servers: usize, rounds: u32, keep: bool) -> Given {
    let upstreams = (0..servers).map(|n| {
        let server = (0..200).fold(Server::new("count", "1.0.0"), |server, n| {
            let name = format!("tool_{n}");
            server.tool(name, "Does nothing at all.", |_cx, (): ()| async { Ok("") })
        });
        Upstream::new(format!("s{n}"), Connect::service(server.into_service()))
    });
    let connect = Connect::service(Service::new(Gateway::new(upstreams)));
    let client = connect.connect().await.expect("it is in this process");
    let mut given = Given::default();
    for _ in 0..rounds {
        let tools = client.entries(List::Tools).await.expect("it has tools");
        given.bytes += tools
            .iter()
            .map(|tool| tool.as_bytes().len())
            .sum::<usize>();
        if keep {
            given.last = Raw::encode(&tools)
                .expect("it was read")
                .as_bytes()
                .to_vec();
        }
    }
    client.close().await;
    given
}
