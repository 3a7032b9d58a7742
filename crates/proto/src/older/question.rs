//! Questions of servers that say what the revision of the client lacks.

use polyport_model::ClientCapabilities;
use polyport_model::method::{ELICITATION_CREATE, SAMPLING_CREATE_MESSAGE};
use polyport_wire::{Raw, splice, write};
use serde_json::value::RawValue;

use crate::revision::Profile;
use crate::text::string;

/// The revision has no words for what is asked. Why, as the end of a sentence that begins with who asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unsayable(pub &'static str);

/// The parameters of a question in words of the client's revision; none: it has all of it as it is.
///
/// Choices with titles become `enum` and `enumNames`, and defaults that the revision has none of are left out. A message to a model
/// whose content is a list of one block becomes that block. The context of other servers is not asked for where the client has not said
/// that it has any to give.
///
/// # Errors
/// [`Unsayable`]: several choices at once, several blocks in one message, audio.
pub fn question(
    method: &str,
    params: &Raw,
    profile: &Profile,
    client: &ClientCapabilities,
) -> Result<Option<Raw>, Unsayable> {
    let said = match method {
        ELICITATION_CREATE if !profile.titled_choices => form(params.as_str())?,
        SAMPLING_CREATE_MESSAGE => message(params.as_str(), profile, client)?,
        _ => None,
    };
    Ok(said.map(Raw::trusted))
}

fn form(text: &str) -> Result<Option<Vec<u8>>, Unsayable> {
    let Some(schema) = splice::member(text, "requestedSchema").filter(|it| it.starts_with('{'))
    else {
        return Ok(None);
    };
    let schema = again(schema, |key, value| match key {
        "$schema" => Ok(Member::Gone),
        "properties" if value.starts_with('{') => {
            again(value, |_, field| self::field(field)).map(Member::Said)
        }
        _ => Ok(Member::Kept),
    })?;
    let said = again(text, |key, _| match key {
        "requestedSchema" => Ok(Member::Said(schema.clone())),
        "mode" => Ok(Member::Gone),
        _ => Ok(Member::Kept),
    })?;
    Ok((said != text.as_bytes()).then_some(said))
}

fn field(text: &str) -> Result<Member, Unsayable> {
    if !text.starts_with('{') {
        return Ok(Member::Kept);
    }
    let kind = splice::member(text, "type");
    if kind == Some("\"array\"") {
        return Err(Unsayable(
            "asks for several choices at once, which the client's revision does not have",
        ));
    }
    let choices = splice::member(text, "oneOf").and_then(titled);
    let mut said = again(text, |key, _| match key {
        "oneOf" if choices.is_some() => Ok(Member::Gone),
        "default" if kind != Some("\"boolean\"") => Ok(Member::Gone),
        _ => Ok(Member::Kept),
    })?;
    if let Some((words, names)) = choices {
        said.pop();
        write::member(&mut said, "enum", &words);
        write::member(&mut said, "enumNames", &names);
        said.push(b'}');
    }
    Ok(Member::Said(said))
}

/// The words of choices with titles, and the titles.
fn titled(choices: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let choices: Vec<&RawValue> = serde_json::from_str(choices).ok()?;
    let (mut words, mut names) = (b"[".to_vec(), b"[".to_vec());
    for choice in choices {
        let choice = Some(choice.get()).filter(|it| it.starts_with('{'))?;
        let word = splice::member(choice, "const")?;
        let name = splice::member(choice, "title").unwrap_or(word);
        for (out, said) in [(&mut words, word), (&mut names, name)] {
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(said.as_bytes());
        }
    }
    words.push(b']');
    names.push(b']');
    Some((words, names))
}

fn message(
    text: &str,
    profile: &Profile,
    client: &ClientCapabilities,
) -> Result<Option<Vec<u8>>, Unsayable> {
    let has_context = !profile.sampling_parts || client.has_sampling_context();
    if profile.sampling_parts && profile.audio && has_context {
        return Ok(None);
    }
    let said = again(text, |key, value| match key {
        "messages" => Ok(list(value, |message| {
            again(message, |key, value| match key {
                "content" => content(value, profile),
                _ => Ok(Member::Kept),
            })
        })?
        .map_or(Member::Kept, Member::Said)),
        "includeContext" if !has_context && string(value).is_some_and(|it| it != "none") => {
            Ok(Member::Gone)
        }
        _ => Ok(Member::Kept),
    })?;
    Ok((said != text.as_bytes()).then_some(said))
}

fn content(value: &str, profile: &Profile) -> Result<Member, Unsayable> {
    let one = if value.starts_with('[') && !profile.sampling_parts {
        let blocks: Vec<&RawValue> = serde_json::from_str(value).unwrap_or_default();
        let [one] = &*blocks else {
            return Err(Unsayable(
                "puts several blocks into one message, which the client's revision does not have",
            ));
        };
        one.get()
    } else {
        value
    };
    let kind = one.starts_with('{').then(|| splice::member(one, "type"));
    if kind.flatten() == Some("\"audio\"") && !profile.audio {
        return Err(Unsayable(
            "has audio for a model, which the client's revision does not have",
        ));
    }
    Ok(Member::Said(one.as_bytes().to_vec()))
}

enum Member {
    Kept,
    Gone,
    Said(Vec<u8>),
}

/// An object once more, by what `said` says of each member.
fn again(
    object: &str,
    mut said: impl FnMut(&str, &str) -> Result<Member, Unsayable>,
) -> Result<Vec<u8>, Unsayable> {
    let mut out = b"{".to_vec();
    let mut failed = None;
    splice::members(object, |key, value| match said(key, value) {
        Ok(Member::Kept) => write::member(&mut out, key, value.as_bytes()),
        Ok(Member::Said(said)) => write::member(&mut out, key, &said),
        Ok(Member::Gone) => {}
        Err(error) => failed = failed.or(Some(error)),
    });
    out.push(b'}');
    failed.map_or(Ok(out), Err)
}

/// A list once more, its objects as `said` says them. None: it is no list.
fn list(
    text: &str,
    mut said: impl FnMut(&str) -> Result<Vec<u8>, Unsayable>,
) -> Result<Option<Vec<u8>>, Unsayable> {
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) else {
        return Ok(None);
    };
    let mut out = b"[".to_vec();
    for item in items {
        if out.len() > 1 {
            out.push(b',');
        }
        match item.get() {
            item if item.starts_with('{') => out.extend_from_slice(&said(item)?),
            item => out.extend_from_slice(item.as_bytes()),
        }
    }
    out.push(b']');
    Ok(Some(out))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::revision::Revision;

    /// What a client hears by its revision: as it came, other words, or that it cannot be said.
    fn holds(method: &str, params: &str, client: &str, want: [Result<&str, &str>; 5]) {
        let client = serde_json::from_str(client).unwrap();
        let params = Raw::trusted(params.to_owned());
        for (revision, want) in Revision::ALL.into_iter().zip(want) {
            let said = question(method, &params, revision.profile(), &client);
            match (said, want) {
                (Ok(said), Ok(want)) => {
                    assert_eq!(
                        said.as_ref().unwrap_or(&params).as_str(),
                        want,
                        "{revision}"
                    );
                }
                (Err(Unsayable(why)), Err(want)) => assert!(why.contains(want), "{why}"),
                (said, want) => panic!("{revision}: {said:?}, not {want:?}"),
            }
        }
    }

    // req: S-OLDER
    #[test]
    fn forms_are_asked_in_words_that_are_known() {
        let form = |properties: &str| {
            format!(
                r#"{{"mode":"form","message":"m","requestedSchema":{{"$schema":"s","type":"object","properties":{{{properties}}},"required":["a"]}}}}"#
            )
        };
        let old = |properties: &str| {
            form(properties)
                .replace(r#""mode":"form","#, "")
                .replace(r#""$schema":"s","#, "")
        };
        let rows = [
            (
                r#""a":{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":"y"}],"default":"x"}"#,
                Ok(r#""a":{"type":"string","enum":["x","y"],"enumNames":["X","y"]}"#),
            ),
            (
                r#""a":{"type":"integer","default":9007199254740993,"minimum":1.50},"b":{"default":true,"type":"boolean"}"#,
                Ok(
                    r#""a":{"type":"integer","minimum":1.50},"b":{"default":true,"type":"boolean"}"#,
                ),
            ),
            // What is no choice with titles is not for us to read.
            (
                r#""a":{"oneOf":[{"type":"null"}]},"b":7"#,
                Ok(r#""a":{"oneOf":[{"type":"null"}]},"b":7"#),
            ),
            (
                r#""a":{"type":"array","items":{"enum":["x"]}}"#,
                Err("several choices"),
            ),
        ];
        for (came, want) in rows {
            let (came, want) = (form(came), want.map(old));
            let want = want.as_deref().map_err(|why| *why);
            holds(
                ELICITATION_CREATE,
                &came,
                "{}",
                [want, want, want, Ok(&came), Ok(&came)],
            );
        }
        for odd in [r#"{"message":"m"}"#, r#"{"requestedSchema":true}"#, "{}"] {
            holds(ELICITATION_CREATE, odd, "{}", [Ok(odd); 5]);
        }
    }

    // req: S-OLDER
    #[test]
    fn messages_to_models_are_said_in_words_that_are_known() {
        let of = |content: &str| {
            format!(r#"{{"messages":[{{"role":"user","content":{content}}},7],"maxTokens":1.0}}"#)
        };
        let text = r#"{"type":"text","text":"t"}"#;
        let audio = r#"{"type":"audio","data":"","mimeType":"a/b"}"#;
        let (one, many) = (of(&format!("[{text}]")), of(&format!("[{text},{text}]")));
        let (plain, sound) = (of(text), of(audio));
        let several = Err("several blocks");
        for client in ["{}", r#"{"sampling":{"context":{}}}"#] {
            holds(
                SAMPLING_CREATE_MESSAGE,
                &one,
                client,
                [Ok(&plain), Ok(&plain), Ok(&plain), Ok(&one), Ok(&one)],
            );
            holds(
                SAMPLING_CREATE_MESSAGE,
                &many,
                client,
                [several, several, several, Ok(&many), Ok(&many)],
            );
            let lacks = Err("audio");
            holds(
                SAMPLING_CREATE_MESSAGE,
                &sound,
                client,
                [lacks, Ok(&sound), Ok(&sound), Ok(&sound), Ok(&sound)],
            );
        }
    }

    // req: S-OLDER
    #[test]
    fn the_context_of_servers_is_asked_of_clients_that_have_it() {
        let with = r#"{"includeContext":"allServers","maxTokens":1}"#;
        let without = r#"{"maxTokens":1}"#;
        let none = r#"{"includeContext":"none","maxTokens":1}"#;
        let old = [Ok(with); 3];
        for (client, new) in [
            (r#"{"sampling":{}}"#, without),
            (r#"{"sampling":{"context":{}}}"#, with),
        ] {
            let want = [old[0], old[1], old[2], Ok(new), Ok(new)];
            holds(SAMPLING_CREATE_MESSAGE, with, client, want);
            holds(SAMPLING_CREATE_MESSAGE, none, client, [Ok(none); 5]);
        }
    }
}
