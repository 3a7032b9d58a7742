//! References within a schema, followed.

use polyport::schema::referred;
use serde_json::Value;

/// References that lead to references.
pub(crate) const MOST: usize = 32;

/// Follows a reference within the schema. What stands beside it goes for what it refers to.
pub(crate) fn resolve(root: &Value, schema: &Value) -> Value {
    let mut at = schema.clone();
    for _ in 0..MOST {
        let target = at["$ref"].as_str().and_then(|to| referred(root, to));
        let Some(mut next) = target.cloned() else {
            break;
        };
        if let (Value::Object(beside), Some(next)) = (at, next.as_object_mut()) {
            let beside = beside.into_iter().filter(|(key, _)| key != "$ref");
            next.extend(beside);
        }
        at = next;
    }
    at
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::arguments::{missing, parse};

    // req: BR-149, BR-150
    #[test]
    fn br_149_br_150_references_are_followed_wherever_they_stand() {
        let whole = json!({"$ref": "#/$defs/All", "$defs": {
            "All": {
                "type": "object", "required": ["n", "size"],
                "properties": {
                    "n": {"$ref": "#/$defs/a~1b", "description": "How many."},
                    "size": {"$ref": "#/$defs/Size%3Cint%3E"},
                    "again": {"$ref": "#/$defs/Again"},
                    "lost": {"$ref": "#/$defs/Nowhere"},
                    "away": {"$ref": "https://example.com/a.json"},
                    "more": {"$ref": "#/$defs/All"},
                    "$ref": {"type": "integer"},
                    "children": {"type": "array", "items": {"$ref": "#"}},
                },
            },
            "a/b": {"type": "integer", "description": "Any."},
            "Size<int>": {"type": "integer"},
            "Again": {"$ref": "#/$defs/Again"},
        }});
        let rows: &[(&[&str], Value)] = &[
            (&["n=7", "size=1"], json!({"n": 7, "size": 1})),
            (
                &["more.more.size=3"],
                json!({"more": {"more": {"size": 3}}}),
            ),
            (&["$ref=5"], json!({"$ref": 5})),
            (
                &["again=1", "lost=2", "away=3"],
                json!({"again": "1", "lost": "2", "away": "3"}),
            ),
            (&["children:=[]"], json!({"children": []})),
        ];
        for (words, want) in rows {
            let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
            let got = parse(&words, &whole).unwrap();
            assert_eq!(serde_json::to_value(got).unwrap(), *want, "{words:?}");
        }
        let given = parse(&[], &whole).unwrap();
        let missing = missing(&given, &whole);
        assert_eq!(missing, ["n (integer): How many.", "size (integer)"]);
    }
}
