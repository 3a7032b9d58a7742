//! What a server means that refuses what it was asked for by name: there is no such thing, or whoever asks may not have it. Servers have
//! several codes for either.

use polyport::model::{CODE_RESOURCE_NOT_FOUND, RpcError};
use polyport::{ClientError, Code};
use serde_json::Value;

use crate::failure::Failure;
use crate::server;

/// A code of SDKs that no revision defines.
const NO_RESOURCE: i32 = -32001;

/// What a server was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    Tool(&'a str),
    Prompt(&'a str),
    Resource(&'a str),
}

/// What an error means for whoever asked for that.
pub(crate) fn failure(error: &ClientError, server: &str, wanted: Wanted<'_>) -> Failure {
    let failure = server::failure(error, server);
    match error {
        ClientError::Refused(refused) if is_missing(refused, wanted) => failure.code(5),
        _ => failure,
    }
}

/// Does it say that there is no such thing?
fn is_missing(refused: &RpcError, wanted: Wanted<'_>) -> bool {
    let data = refused.data.as_ref();
    let names = |name: &str| {
        let texts = [Some(&refused.message[..]), data.map(|data| data.as_str())];
        texts.into_iter().flatten().any(|text| says(text, name))
    };
    let is = |code: Code| refused.code == code.number();
    match wanted {
        Wanted::Resource(uri) => {
            let data: Value = data.and_then(|data| data.decode().ok()).unwrap_or_default();
            match refused.code {
                CODE_RESOURCE_NOT_FOUND => true,
                NO_RESOURCE => data["uri"] == uri,
                _ => is(Code::ResourceMissing) && (data["uri"] == uri || names(uri)),
            }
        }
        Wanted::Tool(name) => (is(Code::InvalidParams) || is(Code::MethodNotFound)) && names(name),
        Wanted::Prompt(name) => is(Code::InvalidParams) && names(name),
    }
}

/// Does a text hold a name, and not as a part of a longer one?
fn says(text: &str, name: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut found = text.match_indices(name);
    !name.is_empty()
        && found.any(|(at, _)| {
            !text[..at].ends_with(is_of_name) && !text[at + name.len()..].starts_with(is_of_name)
        })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    // req: D-01
    #[test]
    fn d_01_a_refusal_means_what_its_code_and_its_words_say() {
        let (tool, uri) = (Wanted::Tool("add"), Wanted::Resource("x://a"));
        let prompt = Wanted::Prompt("add");
        let of = |uri: &str| json!({"uri": uri});
        for (wanted, code, message, data, exit) in [
            (tool, -32602, "Unknown tool: add", json!(null), 5),
            (tool, -32601, "Tool 'add' not found", json!(null), 5),
            (tool, -32602, "no", json!({"name": "add"}), 5),
            (tool, -32602, "bad cursor", json!(null), 6),
            (tool, -32602, "bad address", json!(null), 6),
            (tool, -32601, "no tools/call", json!(null), 6),
            (tool, -32000, "add broke", json!(null), 6),
            (prompt, -32602, "no prompt add", json!(null), 5),
            (prompt, -32602, "an argument is wrong", json!(null), 6),
            (prompt, -32601, "add", json!(null), 6),
            (uri, -32002, "no", json!(null), 5),
            (uri, -32001, "no", of("x://a"), 5),
            (uri, -32001, "no", of("x://b"), 6),
            (uri, -32001, "no", json!(null), 6),
            (uri, -32602, "no", of("x://a"), 5),
            (uri, -32602, "Resource x://a not found", json!(null), 5),
            (uri, -32602, "no", json!([7]), 6),
            (uri, -32601, "no", of("x://a"), 6),
            (uri, -32042, "no", of("x://a"), 6),
            (uri, -32003, "no", json!(null), 3),
            (tool, -32003, "add", json!(null), 3),
            (uri, -32099, "no", of("x://a"), 6),
        ] {
            let refused = json!({"code": code, "message": message, "data": data});
            let refused: RpcError = serde_json::from_value(refused).unwrap();
            let failure = failure(&ClientError::Refused(refused), "s", wanted);
            assert_eq!(
                failure.exit(),
                exit,
                "{wanted:?} {code} {message} {data}: {failure:?}"
            );
            let is_denied = failure.message().starts_with("s: access is denied: ");
            assert_eq!(is_denied, exit == 3, "{failure:?}");
        }
    }
}
