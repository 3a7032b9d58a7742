//! Replicas behind a load balancer: one takes up what another has begun, if they share their keys.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use polyport_testkit::Program;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::Place;
use crate::web::{begin, end, listen};

pub(crate) fn write_keys(place: &Place, name: &str, text: &str, mode: u32) {
    place.write(name, text);
    fs::set_permissions(place.path(name), Permissions::from_mode(mode)).unwrap();
}

struct Replica {
    program: Program,
    host: String,
    path: String,
}

impl Replica {
    fn new(place: &Place, keys: &[&str]) -> Self {
        let words = [&["demo", "--listen", "0"], keys].concat();
        let (program, host, path) = listen(place, &words);
        Self {
            program,
            host,
            path,
        }
    }

    /// Orders something: the result, or the error.
    fn order(&self, back: &Value) -> Value {
        let mut params = json!({"name": "order", "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        }});
        for (name, value) in back.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers =
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: order\r\n";
        let (_, text) = end(begin(&self.host, &self.path, headers, &message));
        let body = text.split_once("\r\n\r\n").unwrap().1;
        let json = &body[body.find('{').unwrap()..=body.rfind('}').unwrap()];
        let mut answer: Value =
            serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {text}"));
        match answer.get_mut("result") {
            Some(result) => result.take(),
            None => answer["error"].take(),
        }
    }

    /// Begins an order: what the client comes back with.
    fn begin(&self) -> Value {
        let asked = self.order(&json!({}));
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let content = json!({"drink": "tea", "cups": 1});
        let answer = json!({"action": "accept", "content": content});
        json!({"requestState": asked["requestState"], "inputResponses": {"order": answer}})
    }

    fn end(mut self) {
        self.program.signal(Signal::TERM);
        assert_eq!(self.program.end().1, Some(0));
    }
}

// req: V-314
#[test]
fn v_314_replicas_with_one_file_of_keys_continue_each_others_rounds() {
    let place = Place::new();
    let (old, new) = (
        "11".repeat(32),
        "Ly8vLy8vLy8vLy8vLy8vLy8vLy8vLy8vLy8vLy8vLy8=",
    );
    write_keys(&place, "old", &format!("{old}\n"), 0o600);
    write_keys(
        &place,
        "both",
        &format!("# since May\n{new}\n\n{old}\n"),
        0o640,
    );
    write_keys(&place, "new", new, 0o400);
    let replica = |keys| Replica::new(&place, &["--seal-keys", keys]);
    let (old, old_too, both, new) = (
        replica("old"),
        replica("old"),
        replica("both"),
        replica("new"),
    );
    let alone = Replica::new(&place, &[]);
    for (from, to, opens) in [
        (&old, &old_too, true),
        (&old_too, &old, true),
        (&old, &both, true),
        (&both, &new, true),
        (&new, &both, true),
        // The first key seals.
        (&both, &old, false),
        (&old, &new, false),
        (&old, &alone, false),
        (&alone, &old, false),
        (&alone, &alone, true),
    ] {
        let taken = to.order(&from.begin());
        if opens {
            assert_eq!(taken["resultType"], "complete", "{taken}");
            assert_ne!(taken["isError"], true, "{taken}");
        } else {
            assert_eq!(taken["code"], -32602, "{taken}");
            assert!(
                taken["message"].as_str().unwrap().contains("requestState"),
                "{taken}"
            );
        }
    }
    [old, old_too, both, new, alone]
        .into_iter()
        .for_each(Replica::end);
}
