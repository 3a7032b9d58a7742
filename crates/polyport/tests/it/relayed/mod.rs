//! A client as a handler: a server behind a server, in every pair of eras.

mod asking;
mod cancelling;
mod hearing;
mod older;
mod visiting;

use std::sync::{Arc, Mutex};

use polyport::client::{Change, Connect, Wanted};
use polyport::{
    Client, ClientError, Era, Fault, OnProgress, Raw, Revisions, Server, Service, Tool, Wait,
};
use serde_json::json;

fn inner() -> Server {
    Server::new("inner", "7")
        .instructions("Ask away.")
        .tool("steps", "Tells how far it is.", |cx, (): ()| async move {
            cx.progress_of(1.0, 2.0, "half");
            Ok("done")
        })
        .tool("fails", "Fails.", |_cx, (): ()| async move {
            Err::<String, _>(polyport::ToolError::new("as it was told"))
        })
        .resource("test://one", "one", |_cx| async { Ok("the one") })
        .prompt("strict", "Refuses.", |_cx, (): ()| async move {
            Err::<String, _>(Fault::new(-7, "not today"))
        })
}

async fn behind(inner: Server, theirs: Revisions, ours: Revisions) -> Client {
    let client = Connect::service(inner.into_service()).speaks(theirs);
    let relay = client.connect().await.unwrap().into_handler();
    let outer = Connect::service(Service::new(relay)).speaks(ours);
    outer.connect().await.unwrap()
}

// req: S-RELAY
#[tokio::test]
async fn what_is_asked_is_asked_behind() {
    let eras = [Revisions::of(Era::Modern), Revisions::of(Era::Legacy)];
    for theirs in eras {
        for ours in eras {
            let server = inner();
            let handle = server.handle();
            let client = behind(server, theirs, ours).await;
            let opened = client.opened();
            assert_eq!(opened.server.as_ref().unwrap().name, "inner");
            assert_eq!(opened.instructions.as_deref(), Some("Ask away."));
            assert_eq!(client.tools().await.unwrap().len(), 2);
            let heard = Arc::new(Mutex::new(Vec::new()));
            let hears = heard.clone();
            let progress: OnProgress =
                Arc::new(move |told| hears.lock().unwrap().push((told.value(), told.message)));
            let wait = Wait {
                progress: Some(progress),
                ..Wait::default()
            };
            let asked = json!({"name": "steps", "arguments": {}}).to_string();
            client
                .request_raw("tools/call", &asked, Some(wait))
                .await
                .unwrap();
            assert_eq!(*heard.lock().unwrap(), [(1.0, Some("half".to_owned()))]);
            let none = Raw::from_static("{}");
            assert_eq!(
                client.call_tool("fails", &none).await.unwrap().is_error,
                Some(true)
            );
            let page = client.read("test://one").await.unwrap();
            assert_eq!(page.contents.len(), 1);
            let missing = client.read("test://two").await.unwrap_err();
            let ClientError::Refused(missing) = missing else {
                panic!("{missing:?}");
            };
            let want = if ours == eras[0] { -32602 } else { -32002 };
            assert_eq!(missing.code, want);
            assert!(missing.data.unwrap().as_str().contains("test://two"));
            let asked = json!({"name": "strict"}).to_string();
            let refused = client.request_raw("prompts/get", &asked, None).await;
            let Err(ClientError::Refused(refused)) = refused else {
                panic!("{refused:?}");
            };
            assert_eq!((refused.code, &*refused.message), (-7, "not today"));
            let wanted = Wanted {
                lists: true,
                ..Wanted::default()
            };
            let mut changes = client.changes(wanted).await.unwrap();
            let more = Tool::new("more", "More.", |_cx, (): ()| async { Ok("more") });
            // The relay may not have begun to listen; what is added then is in the list already.
            handle.add_tool(more).unwrap();
            let again = async {
                for n in 0_u32.. {
                    let name = format!("more-{n}");
                    let more = Tool::new(name, "More.", |_cx, (): ()| async { Ok("more") });
                    handle.add_tool(more).unwrap();
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
            };
            let heard = tokio::select! {
                heard = changes.next() => heard.unwrap().unwrap(),
                () = again => unreachable!("it never ends"),
            };
            assert_eq!(heard.change, Change::Tools);
            assert!(client.tools().await.unwrap().len() > 2);
            drop(changes);
            client.close().await;
        }
    }
}
