//! What is said of the way from each revision to each is what happens on it.

use std::collections::BTreeSet;

use polyport::client::Connect;
use polyport::model::{ElicitResult, ServerCapabilities};
use polyport::{Cx, Raw, Revision, Revisions, Service, Tool};
use polyport_gateway::through::{Behind, Fare, Passage, through};
use polyport_gateway::{Gateway, Upstream};
use serde_json::json;

use crate::{server, text};

fn fare(passages: &[Passage], what: &str) -> Option<Fare> {
    let found = passages.iter().find(|passage| passage.what == what);
    found.map(|passage| passage.fare)
}

/// A tool that says whether somebody has filled in its form.
fn asking() -> Tool {
    Tool::new("ask", "", |cx: Cx, (): ()| async move {
        let form = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let asked = cx.elicit_schema("who", "Who?", form).answer().await;
        Ok(format!("{asked:?}"))
    })
}

// req: S-GATE-THROUGH
#[tokio::test]
async fn what_is_said_is_what_happens() {
    for theirs in Revision::ALL {
        for ours in Revision::ALL {
            let way = format!("{ours} to {theirs}");
            let one = server("a").add_tool(asking());
            one.handle();
            let connect = Connect::service(one.into_service());
            let direct = connect.clone().speaks(Revisions::NONE.with(theirs));
            let offers = direct
                .connect()
                .await
                .unwrap()
                .opened()
                .capabilities
                .clone();
            let behind = Behind {
                revision: theirs,
                offers: &offers,
                is_common: false,
            };
            let said = through(behind, ours);
            let connect = connect.speaks(Revisions::NONE.with(theirs));
            let gateway = Gateway::new([Upstream::new("one", connect)]);
            let outer = Connect::service(Service::new(gateway))
                .on_form(|_| async { ElicitResult::accept(None) })
                .speaks(Revisions::NONE.with(ours));
            let client = outer.connect().await.unwrap();
            // Forms.
            let result = client.call_tool("ask", &Raw::from_static("{}")).await;
            let result = result.map(|result| serde_json::to_value(result).unwrap());
            let is_answered = result.as_ref().is_ok_and(|it| text(it).contains("Given"));
            let forms = fare(&said, "forms for users");
            let want = matches!(forms, Some(Fare::Passes | Fare::Converted));
            assert_eq!(is_answered, want, "{way}: {forms:?}: {result:?}");
            // What no revision knows.
            let vendor = client.request_raw("vendor/thing", "{}", None).await;
            assert!(vendor.is_err(), "{way}: {vendor:?}");
            // What is offered is what is said to pass.
            let seen = &client.opened().capabilities;
            for (is_seen, what) in [
                (seen.tools.is_some(), "tools"),
                (seen.prompts.is_some(), "prompts"),
                (seen.resources.is_some(), "resources and templates"),
                (
                    seen.has_resource_subscriptions(),
                    "subscriptions to resources",
                ),
            ] {
                let is_said = fare(&said, what).is_some_and(|fare| fare != Fare::Cannot);
                assert_eq!(is_seen, is_said, "{way}: {what}");
            }
            client.close().await;
        }
    }
}

// req: S-GATE-THROUGH
#[test]
fn each_thing_is_said_once_and_first_what_passes() {
    let offers: ServerCapabilities = serde_json::from_value(json!({
        "tools": {}, "prompts": {}, "resources": {"subscribe": true}, "completions": {}, "logging": {},
        "tasks": {}, "extensions": {"io.modelcontextprotocol/tasks": {}},
    }))
    .unwrap();
    for theirs in Revision::ALL {
        for ours in Revision::ALL {
            for is_common in [false, true] {
                let behind = Behind {
                    revision: theirs,
                    offers: &offers,
                    is_common,
                };
                let said = through(behind, ours);
                let names: BTreeSet<_> = said.iter().map(|it| it.what).collect();
                assert_eq!(names.len(), said.len(), "{ours} to {theirs}: {said:?}");
                assert!(said.is_sorted_by_key(|it| it.fare as usize));
                let unsaid = said
                    .iter()
                    .find(|it| it.fare != Fare::Passes && it.how.is_empty());
                assert_eq!(unsaid, None);
                if theirs == ours && !is_common {
                    let everywhere = [
                        "questions while no call runs",
                        "requests that no revision knows",
                    ];
                    let is_known = |it: &&Passage| !everywhere.contains(&it.what);
                    let lost = said
                        .iter()
                        .filter(is_known)
                        .find(|it| it.fare != Fare::Passes);
                    let is_alright = |it: &Passage| it.what == "completion";
                    assert!(lost.is_none_or(is_alright), "{ours}: {lost:?}");
                }
            }
        }
    }
}
