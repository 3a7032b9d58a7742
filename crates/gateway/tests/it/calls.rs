//! Calls reach the server whose they are.

use serde_json::json;

use crate::{ERAS, both, text};

// req: S-GATE-CALLS
#[tokio::test]
async fn each_call_reaches_its_server() {
    for theirs in ERAS {
        for ours in ERAS {
            let client = both(theirs, ours).await;
            for (tool, want) in [
                ("one__same", "a"),
                ("two__same", "b"),
                ("alpha", "alpha"),
                ("beta", "beta"),
            ] {
                let result = client.call(tool, &json!({})).await.unwrap();
                assert_eq!(text(&result), want, "{ours} to {theirs}");
            }
            let unknown = client.call("same", &json!({})).await.unwrap_err();
            assert!(
                unknown.to_string().contains("Unknown tool: same"),
                "{unknown}"
            );
            let result = client
                .request("prompts/get", &json!({"name": "two__same"}))
                .await
                .unwrap();
            assert_eq!(result["messages"][0]["content"]["text"], "b");
            for (uri, want) in [
                ("one+x://same", "a"),
                ("two+x://same", "b"),
                ("x://beta", "beta"),
                ("tb://17", "17"),
            ] {
                let result = client
                    .request("resources/read", &json!({"uri": uri}))
                    .await
                    .unwrap();
                assert_eq!(
                    result["contents"][0]["text"], want,
                    "{uri}: {ours} to {theirs}"
                );
                assert_eq!(result["contents"][0]["uri"], uri, "{ours} to {theirs}");
            }
            let missing = client
                .request("resources/read", &json!({"uri": "x://none"}))
                .await;
            let want = if ours == ERAS[0] { "-32002" } else { "-32602" };
            assert!(missing.unwrap_err().to_string().contains(want));
        }
    }
}
