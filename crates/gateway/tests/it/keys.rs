//! Messages that two readers could understand in two ways: what decides where a request goes, and whether it may, is what its server
//! reads.

use std::sync::{Arc, Mutex};

use polyport::client::Connect;
use polyport::{Completer, Raw, Revision, Revisions, Service, Speaker, Tool};
use polyport_gateway::{Gateway, Seen, Upstream};
use polyport_testkit::script::Script;
use serde_json::{Value, json};

use crate::{ERAS, server, upstream};

/// What a server was sent.
type Sent = Arc<Mutex<Vec<String>>>;

/// A server of which a part is not to be seen, and which takes what it is given.
fn hiding(theirs: Revision) -> (Upstream, Sent) {
    let schema = json!({"type": "object"});
    let takes = Tool::raw("takes", "", schema, |_cx, given: Raw| async move {
        Ok(given.as_str().to_owned())
    });
    let prompts = Completer::of_prompt("same", "x", |_cx, _, _| async { Ok(vec!["x".to_owned()]) });
    let one = server("a").add_tool(takes).completer(prompts);
    let sent = Sent::default();
    let notes = sent.clone();
    let connect = Connect::service(one.into_service()).tap(move |who, text| {
        if who == Speaker::Client {
            let text = String::from_utf8_lossy(text).into_owned();
            notes.lock().unwrap().push(text);
        }
    });
    let connect = connect.speaks(Revisions::NONE.with(theirs));
    let one = Upstream::new("one", connect)
        .tools(Seen::all().deny(["alpha"]).unwrap())
        .prompts(Seen::all().allow(["same"]).unwrap())
        .resources(Seen::all().deny(["x://alpha"]).unwrap());
    (one, sent)
}

/// A conversation byte by byte.
struct Raws {
    script: Script,
    ours: Revision,
    id: usize,
}

impl Raws {
    async fn begin(service: Service, ours: Revision) -> Self {
        let mut script = Script::connect(service);
        if ours == ERAS[0] {
            script
                .play(
                    r#"
                    > {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
                    ~ {"id":0}
                    > {"jsonrpc":"2.0","method":"notifications/initialized"}
                    "#,
                )
                .await;
        }
        Self {
            script,
            ours,
            id: 0,
        }
    }

    /// The answer to a request with these members in its parameters; `beside` stands in the message.
    async fn ask(&mut self, method: &str, members: &str, beside: &str) -> Value {
        self.id += 1;
        let id = self.id;
        let meta = if self.ours == ERAS[0] {
            ""
        } else {
            r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#
        };
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},{beside}"method":"{method}","params":{{{members}{meta}}}}}"#
        );
        self.script.send(&text).await;
        loop {
            let answer = self.script.receive().await.unwrap();
            // Who asks in a way that cannot be read hears it without an id.
            if answer["id"] == id || answer["id"].is_null() && answer.get("error").is_some() {
                return answer;
            }
        }
    }
}

/// What a client may do, what it may not, and the member that decides it: `$` stands for the key of that.
const DECIDED: [(&str, &str, &str, &str); 5] = [
    ("tools/call", "name", r#""$":"same""#, r#""$":"alpha""#),
    ("prompts/get", "name", r#""$":"same""#, r#""$":"other""#),
    (
        "resources/read",
        "uri",
        r#""$":"x://same""#,
        r#""$":"x://alpha""#,
    ),
    (
        "completion/complete",
        "ref",
        r#""$":{"type":"ref/prompt","name":"same"},"argument":{"name":"x","value":""}"#,
        r#""$":{"type":"ref/prompt","name":"other"}"#,
    ),
    (
        "completion/complete",
        "ref",
        r#""ref":{"type":"ref/prompt","name":"same"},"argument":{"name":"x","value":""}"#,
        r#""$":{"type":"ref/resource","uri":"x://alpha"}"#,
    ),
];

/// Spellings of a key that one reader or another takes for it: itself, with an escape, and others.
fn spellings(key: &str) -> Vec<(String, bool)> {
    let (first, rest) = key.split_at(1);
    let escaped = format!("\\u{:04x}{rest}", u32::from(first.as_bytes()[0]));
    let title = format!("{}{rest}", first.to_uppercase());
    let odd = |text: String| (text, false);
    vec![
        (key.to_owned(), true),
        (escaped, true),
        odd(title),
        odd(key.to_uppercase()),
        odd(format!("{key}\\u0000")),
        odd(format!("\\u0000{key}")),
    ]
}

// req: V-501
#[tokio::test(start_paused = true)]
async fn v_501_what_is_decided_by_is_what_the_server_reads() {
    for theirs in ERAS {
        for ours in ERAS {
            let (one, sent) = hiding(theirs);
            // Alone, and where something is renamed on the way.
            let others = [None, Some(upstream(server("b"), "two", theirs))];
            for other in others {
                let prefixed = other.is_some();
                let service = Service::new(Gateway::new([one.clone()].into_iter().chain(other)));
                let mut raws = Raws::begin(service, ours).await;
                for (method, key, allowed, denied) in DECIDED {
                    let seen_as = |text: &str| match prefixed {
                        true => text
                            .replace("\"same\"", "\"one__same\"")
                            .replace("x://same", "one+x://same"),
                        false => text.to_owned(),
                    };
                    let allowed = seen_as(&allowed.replace('$', key));
                    let plain = raws.ask(method, &allowed, "").await;
                    assert!(plain["result"].is_object(), "{method} {allowed}: {plain}");
                    let before = sent.lock().unwrap().len();
                    for (spelling, is_same) in spellings(key) {
                        let denied = denied.replace('$', &spelling);
                        for members in
                            [format!("{allowed},{denied}"), format!("{denied},{allowed}")]
                        {
                            let shown = format!("{ours} to {theirs}: {method} {members}");
                            let answer = raws.ask(method, &members, "").await;
                            let code = answer["error"]["code"].as_i64();
                            let want = if is_same { -32600 } else { -32602 };
                            assert_eq!(code, Some(want), "{shown}: {answer}");
                        }
                        // What is not to be seen is not there, however it is spelled.
                        let answer = raws.ask(method, &denied, "").await;
                        assert!(answer["error"].is_object(), "{method} {denied}: {answer}");
                    }
                    // Inside of what refers to something, too.
                    for member in ["name", "type"] {
                        for (spelling, is_same) in spellings(member) {
                            let other = format!("\"ref\":{{\"{spelling}\":\"other\",");
                            let members = allowed.replace("\"ref\":{", &other);
                            if members == allowed {
                                continue;
                            }
                            let answer = raws.ask(method, &members, "").await;
                            let want = if is_same { -32600 } else { -32602 };
                            assert_eq!(answer["error"]["code"], want, "{members}: {answer}");
                        }
                    }
                    let after = sent.lock().unwrap();
                    let asked = after[before..].iter().filter(|text| {
                        text.contains("alpha")
                            || text.contains("\"other\"")
                            || text.contains(method)
                    });
                    assert_eq!(asked.cloned().collect::<Vec<_>>(), [""; 0], "{method}");
                }
            }
        }
    }
}

/// What stands beside the parameters belongs to the one hop.
// req: V-501
#[tokio::test(start_paused = true)]
async fn v_501_nothing_beside_the_parameters_goes_on() {
    for theirs in ERAS {
        for ours in ERAS {
            let (one, sent) = hiding(theirs);
            let mut raws = Raws::begin(Service::new(Gateway::new([one])), ours).await;
            for beside in [
                r#""Method":"tools/list","#,
                r#""Params":{"name":"alpha"},"#,
                r#""param\u017f":{"name":"alpha"},"#,
                r#""params\u0000":{"name":"alpha"},"#,
                r#""Id":"alpha","#,
            ] {
                raws.ask("tools/call", r#""name":"same""#, beside).await;
            }
            let sent = sent.lock().unwrap().join("\n");
            assert!(
                !sent.contains("alpha") && !sent.contains("Method"),
                "{sent}"
            );
            assert!(
                !sent
                    .to_lowercase()
                    .contains("\"params\":{\"name\":\"alpha\""),
                "{sent}"
            );
        }
    }
}

/// What a client says is read once: no escape is taken off twice, and nothing is filled in.
// req: V-509, V-208
#[tokio::test(start_paused = true)]
async fn v_509_v_208_what_is_said_is_read_once_and_nothing_is_filled_in() {
    for theirs in ERAS {
        for ours in ERAS {
            let (one, sent) = hiding(theirs);
            let gateway = Gateway::new([one, upstream(server("b"), "two", theirs)]);
            let mut raws = Raws::begin(Service::new(gateway), ours).await;
            for given in [
                r#"{"a":"\\u0061lpha","b":"%2561lpha","c":"%61lpha","d":"\\\"alpha\\\""}"#,
                r#"{"a":"{\"name\":\"alpha\"}","b":"e30=","c":"&#97;lpha"}"#,
                r#"{"a":"${PATH}","b":"$PATH","c":"${env:PATH}","d":"%PATH%","e":"$(id)","f":"${file:/etc/passwd}"}"#,
            ] {
                let members = format!(r#""name":"takes","arguments":{given}"#);
                let answer = raws.ask("tools/call", &members, "").await;
                let back = answer["result"]["content"][0]["text"].as_str();
                assert_eq!(back, Some(given), "{ours} to {theirs}: {answer}");
                let went = sent.lock().unwrap().iter().any(|text| text.contains(given));
                assert!(went, "{ours} to {theirs}: byte for byte");
            }
            // Twice escaped, a name or an address is another, and one that is not there.
            for (method, members) in [
                ("tools/call", r#""name":"\\u0061lpha""#),
                ("tools/call", r#""name":"%61lpha""#),
                ("resources/read", r#""uri":"x://%2561lpha""#),
                ("resources/read", r#""uri":"x://\\u0061lpha""#),
                ("resources/read", r#""uri":"x://%61lpha""#),
            ] {
                let answer = raws.ask(method, members, "").await;
                assert!(answer["error"].is_object(), "{members}: {answer}");
            }
        }
    }
}
