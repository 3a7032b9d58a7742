//! A question in the middle of a call: what it asks of the client, whether the client can, and whether an answer is one.
//! Not how it travels: a request of its own in the legacy era, a part of a result in the modern one.

use polyport_model::{
    ClientCapabilities, CreateMessageResult, ElicitResult, ListRootsResult,
    method::{ELICITATION_CREATE, ROOTS_LIST},
};
use polyport_wire::{Raw, splice};

use crate::outcome::Question;
use crate::revision::Profile;
use crate::text::string;

/// What a question asks for, as far as capabilities tell it apart.
#[derive(Default)]
struct Wants {
    url: bool,
    tools: bool,
    context: bool,
}

impl Question {
    /// The capability that the client lacks for this question, as the object that it would have to declare.
    pub fn missing(&self, profile: &Profile, client: &ClientCapabilities) -> Option<&'static str> {
        let wants = self.wants();
        let known = profile.question(self.method).is_some();
        let passed = self.is_passed_on && client.has_sampling();
        let (there, capability) = match self.method {
            ELICITATION_CREATE if wants.url => (
                known && profile.elicits_url && client.elicits_url(),
                "{\"elicitation\":{\"url\":{}}}",
            ),
            ELICITATION_CREATE if profile.elicits_url => {
                (client.elicits_form(), "{\"elicitation\":{\"form\":{}}}")
            }
            ELICITATION_CREATE => (
                known && client.elicitation.is_some(),
                "{\"elicitation\":{}}",
            ),
            ROOTS_LIST => (known && client.has_roots(), "{\"roots\":{}}"),
            _ if wants.tools => (
                profile.sampling_parts && (client.has_sampling_tools() || passed),
                "{\"sampling\":{\"tools\":{}}}",
            ),
            _ if wants.context && profile.sampling_parts => (
                client.has_sampling_context() || passed,
                "{\"sampling\":{\"context\":{}}}",
            ),
            _ => (known && client.has_sampling(), "{\"sampling\":{}}"),
        };
        (!there).then_some(capability)
    }

    fn wants(&self) -> Wants {
        let mut wants = Wants::default();
        if let Some(params) = self.params.as_ref().filter(|_| self.method != ROOTS_LIST) {
            splice::members(params.as_str(), |key, value| match key {
                "mode" => wants.url = value == "\"url\"",
                "tools" | "toolChoice" => wants.tools |= value != "null",
                "includeContext" => {
                    wants.context = string(value).is_some_and(|word| word != "none");
                }
                _ => {}
            });
        }
        wants
    }

    /// Is that an answer to a question of this method? Its content is for the asker to judge.
    ///
    /// # Errors
    /// What is wrong with it, for the client.
    pub fn check_answer(method: &str, answer: &Raw) -> Result<(), String> {
        if !answer.is_object() {
            return Err("must be an object".to_owned());
        }
        let read = match method {
            ELICITATION_CREATE => answer.decode::<ElicitResult>().map(drop),
            ROOTS_LIST => answer.decode::<ListRootsResult>().map(drop),
            _ => answer.decode::<CreateMessageResult>().map(drop),
        };
        read.map_err(|error| error.to_string())
    }

    /// Appends it as a member of `inputRequests`.
    pub fn write(&self, out: &mut Vec<u8>) {
        polyport_wire::write::string(out, &self.key);
        out.extend_from_slice(b":{\"method\":\"");
        out.extend_from_slice(self.method.as_bytes());
        out.push(b'"');
        if let Some(params) = &self.params {
            out.extend_from_slice(b",\"params\":");
            out.extend_from_slice(params.as_bytes());
        }
        out.push(b'}');
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::revision::Revision;

    #[test]
    #[allow(clippy::too_many_lines)]
    fn what_a_client_lacks_is_named() {
        let all = r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}"#;
        for (method, params, client, want) in [
            (
                "elicitation/create",
                "{}",
                "{}",
                ["absent", "absent", "bare", "form", "form"],
            ),
            (
                "elicitation/create",
                "{}",
                r#"{"elicitation":{}}"#,
                ["absent", "absent", "", "", ""],
            ),
            (
                "elicitation/create",
                "{}",
                r#"{"elicitation":{"url":{}}}"#,
                ["absent", "absent", "", "form", "form"],
            ),
            (
                "elicitation/create",
                r#"{"mode":"url"}"#,
                r#"{"elicitation":{}}"#,
                ["url"; 5],
            ),
            (
                "elicitation/create",
                r#"{"mode":"url"}"#,
                all,
                ["url", "url", "url", "", ""],
            ),
            ("sampling/createMessage", "{}", "{}", ["sampling"; 5]),
            (
                "sampling/createMessage",
                "{}",
                r#"{"sampling":{}}"#,
                [""; 5],
            ),
            (
                "sampling/createMessage",
                r#"{"tools":[]}"#,
                r#"{"sampling":{}}"#,
                ["tools"; 5],
            ),
            (
                "sampling/createMessage",
                r#"{"tools":[]}"#,
                all,
                ["tools", "tools", "tools", "", ""],
            ),
            (
                "sampling/createMessage",
                r#"{"includeContext":"thisServer"}"#,
                r#"{"sampling":{}}"#,
                ["", "", "", "context", "context"],
            ),
            (
                "sampling/createMessage",
                r#"{"includeContext":"none"}"#,
                r#"{"sampling":{}}"#,
                [""; 5],
            ),
            ("roots/list", "{}", "{}", ["roots"; 5]),
            ("roots/list", "{}", all, [""; 5]),
        ] {
            let question = Question {
                key: "k".into(),
                method: Revision::LATEST.profile().question(method).unwrap(),
                params: Some(Raw::from_static(params)),
                is_passed_on: false,
            };
            let client = serde_json::from_str(client).unwrap();
            for (revision, want) in Revision::ALL.into_iter().zip(want) {
                let missing = question.missing(revision.profile(), &client);
                let want = match want {
                    "absent" | "bare" => Some("{\"elicitation\":{}}"),
                    "form" => Some("{\"elicitation\":{\"form\":{}}}"),
                    "url" => Some("{\"elicitation\":{\"url\":{}}}"),
                    "sampling" => Some("{\"sampling\":{}}"),
                    "tools" => Some("{\"sampling\":{\"tools\":{}}}"),
                    "context" => Some("{\"sampling\":{\"context\":{}}}"),
                    "roots" => Some("{\"roots\":{}}"),
                    _ => None,
                };
                assert_eq!(missing, want, "{method} {params} in {revision}");
            }
        }
    }

    #[test]
    fn answers_are_read_by_the_method_of_their_question() {
        for (method, answer, good) in [
            (
                "elicitation/create",
                r#"{"action":"accept","content":{"a":1}}"#,
                true,
            ),
            ("elicitation/create", r#"{"action":"decline"}"#, true),
            ("elicitation/create", r#"{"action":"maybe"}"#, false),
            ("elicitation/create", "{}", false),
            ("elicitation/create", "[]", false),
            ("roots/list", r#"{"roots":[{"uri":"file:///w"}]}"#, true),
            ("roots/list", r#"{"roots":1}"#, false),
            (
                "sampling/createMessage",
                r#"{"role":"assistant","model":"m","content":{"type":"text","text":"t"}}"#,
                true,
            ),
            ("sampling/createMessage", r#"{"role":"assistant"}"#, false),
        ] {
            let checked = Question::check_answer(method, &Raw::from_static(answer));
            assert_eq!(checked.is_ok(), good, "{method} {answer}");
        }
    }
}
