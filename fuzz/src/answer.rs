//! The check of answers that clients give to questions.

use polyport_model::{CreateMessageResult, ElicitResult, ListRootsResult};
use polyport_proto::Question;
use polyport_wire::{Limits, Raw};
use serde_json::Value;

/// Reads `data` as a letter that says what was asked, and as an answer.
///
/// - What is taken for an answer is an object that has what its kind must have, and reads the same once it is written again.
/// - What is not comes with a sentence that says why.
pub fn check(data: &[u8]) {
    let Some((letter, answer)) = data.split_first() else {
        return;
    };
    let Ok(answer) = Raw::parse(answer.to_vec().into(), &Limits::default()) else {
        return;
    };
    let method = match letter % 3 {
        0 => "elicitation/create",
        1 => "roots/list",
        _ => "sampling/createMessage",
    };
    if let Err(why) = Question::check_answer(method, &answer) {
        return assert!(!why.is_empty());
    }
    // What members that nobody knows hold need be nothing that a number or a text can hold.
    let Ok(value) = answer.decode::<Value>() else {
        return;
    };
    assert!(value.is_object());
    let again = match method {
        "elicitation/create" => {
            let action = value["action"].as_str();
            assert!(matches!(action, Some("accept" | "decline" | "cancel")));
            let content = &value["content"];
            assert!(content.is_null() || content.is_object(), "{content}");
            answer.decode::<ElicitResult>().map(|it| Raw::encode(&it))
        }
        "roots/list" => {
            let roots = value["roots"].as_array().expect("a list");
            assert!(roots.iter().all(|root| root["uri"].is_string()));
            answer
                .decode::<ListRootsResult>()
                .map(|it| Raw::encode(&it))
        }
        _ => {
            assert!(value["role"].is_string() && value["model"].is_string());
            let content = &value["content"];
            assert!(content.is_object() || content.is_array(), "{content}");
            answer
                .decode::<CreateMessageResult>()
                .map(|it| Raw::encode(&it))
        }
    };
    let again = again.expect("it is one").expect("it can be written");
    assert_eq!(
        Question::check_answer(method, &again),
        Ok(()),
        "{} of {}",
        again.as_str(),
        answer.as_str()
    );
}
