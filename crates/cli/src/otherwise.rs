//! Arguments that do not fit as they were typed, and would as another kind of value: text where JSON was sent, or JSON where text was.

use polyport::model::Object;
use serde_json::Value;

use crate::arguments;
use crate::pieces;

/// Words that are tried.
const MOST: usize = 32;

/// The words that would have to be written otherwise, as they would have to be; nothing, where that is not what is wrong.
pub(crate) fn otherwise(
    words: &[String],
    schema: &Value,
    fits: impl Fn(&Object) -> bool,
) -> Option<Vec<String>> {
    let would = |words: &[String]| arguments::parse(words, schema).is_ok_and(|all| fits(&all));
    let mut as_json = words.to_vec();
    let mut changed = Vec::new();
    for (nth, word) in words.iter().enumerate().take(MOST) {
        let Some((key, text)) = plain(word) else {
            continue;
        };
        let json = pieces::json(text).is_ok().then(|| format!("{key}:={text}"));
        let string = format!("{key}:={}", pieces::string(text).as_str());
        for one in json.iter().chain([&string]) {
            let mut words = words.to_vec();
            words[nth].clone_from(one);
            if would(&words) {
                return Some(vec![one.clone()]);
            }
        }
        if let Some(json) = json {
            as_json[nth].clone_from(&json);
            changed.push(json);
        }
    }
    (changed.len() > 1 && would(&as_json)).then_some(changed)
}

/// The key and the text of a word whose kind is not said.
fn plain(word: &str) -> Option<(&str, &str)> {
    let (key, text) = word.split_once('=')?;
    (!key.ends_with(':') && !text.starts_with('@')).then_some((key, text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use polyport::schema::Validator;
    use serde_json::json;

    use super::*;

    // req: S-ARGS
    #[test]
    fn another_kind_of_value_is_named_where_it_would_fit() {
        let schema = json!({
            "properties": {"a": {"not": {"type": "string"}}, "b": {"not": {"type": "string"}}, "kind": {"type": "string"},
                "value": {"type": ["integer", "string"]}, "n": {"type": "integer"}, "list": {"not": {"type": "string"}}},
            "if": {"properties": {"kind": {"const": "text"}}, "required": ["kind"]},
            "then": {"properties": {"value": {"maxLength": 3, "not": {"type": "integer"}}}},
        });
        let rows: &[(&[&str], Option<&[&str]>)] = &[
            (&["a=1"], Some(&["a:=1"])),
            (&["a=true", "n=2"], Some(&["a:=true"])),
            (&["list=[1, 2]"], Some(&["list:=[1, 2]"])),
            (&["a=1", "b=2"], Some(&["a:=1", "b:=2"])),
            (&["kind=text", "value=1"], Some(&["value:=\"1\""])),
            // What is no JSON, or was said to be, is wrong in another way.
            (&["a=x"], None),
            (&["a:=\"x\""], None),
            (&["kind=text", "value=longer"], None),
        ];
        let validator = Validator::new(&schema).unwrap();
        let fits = |all: &Object| {
            let text = serde_json::to_string(all).unwrap();
            validator.check(&text).is_ok()
        };
        for (words, want) in rows {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert!(
                !fits(&arguments::parse(&words, &schema).unwrap()),
                "{words:?}"
            );
            let want = want.map(|want| want.iter().map(|word| (*word).to_owned()).collect());
            assert_eq!(otherwise(&words, &schema, fits), want, "{words:?}");
        }
    }
}
