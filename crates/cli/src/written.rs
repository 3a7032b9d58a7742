//! A schema by its text: what it says of a place is shown and sent as it is written, where a [`Value`] would round long
//! numbers. What the words of a schema mean is not known here.

use polyport::Raw;
use polyport::model::Object;
use polyport::schema::pointed;
use serde_json::Value;

use crate::pieces;
use crate::references::MOST;

/// What a schema says of one place.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    whole: Raw,
    at: Object,
}

impl Written {
    /// Of the place of the whole.
    pub(crate) fn new(schema: &Raw) -> Self {
        Self::of(schema.clone(), Some(schema))
    }

    /// Of a member, once it is there.
    pub(crate) fn property(&self, name: &str) -> Self {
        let properties = self.at.decode::<Object>("properties");
        let properties = properties.and_then(Result::ok).unwrap_or_default();
        Self::of(self.whole.clone(), properties.get(name))
    }

    /// Of each element.
    pub(crate) fn items(&self) -> Self {
        Self::of(self.whole.clone(), self.at.get("items"))
    }

    /// The text of what was read under this word. What was read elsewhere, in a part that is merged, is as it was read.
    pub(crate) fn text(&self, word: &str, read: &Value) -> Raw {
        let is_it = |said: &&Raw| said.decode::<Value>().is_ok_and(|said| said == *read);
        let said = self.at.get(word).filter(is_it);
        said.cloned().unwrap_or_else(|| pieces::value(read))
    }

    /// Follows references as [`resolve`](crate::references::resolve) does.
    fn of(whole: Raw, schema: Option<&Raw>) -> Self {
        let read = |schema: Option<&Raw>| {
            let read = schema.and_then(|schema| schema.decode::<Object>().ok());
            read.unwrap_or_default()
        };
        let mut at = read(schema);
        for _ in 0..MOST {
            let to = at.decode::<String>("$ref").and_then(Result::ok);
            let Some(next) = to.and_then(|to| pointed(&whole, &to)) else {
                break;
            };
            let mut next = read(Some(&next));
            at.remove("$ref");
            for (word, value) in at {
                next.insert(word, value);
            }
            at = next;
        }
        Self { whole, at }
    }
}

/// A value for people: a text without its quotes, all else as it is written.
pub(crate) fn shown(value: &Raw) -> String {
    let text = value.decode::<String>();
    text.unwrap_or_else(|_| value.as_str().to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::references::resolve;

    /// What both say of every place is the same, but for the numbers.
    // req: S-SHOW
    #[test]
    fn a_place_is_found_as_in_the_value() {
        let text = r##"{"$ref": "#/$defs/All", "$defs": {
            "All": {"properties": {
                "n": {"$ref": "#/$defs/a~1b", "default": 123456789012345678901},
                "m": {"$ref": "#/$defs/Size%3Cint%3E"},
                "again": {"$ref": "#/$defs/Again"},
                "lost": {"$ref": "#/$defs/Nowhere"},
                "list": {"items": {"$ref": "#/$defs/Pair/1"}},
                "odd": 7
            }},
            "a/b": {"default": 1, "minimum": 0.10000000000000000001},
            "Size<int>": {"default": "x"},
            "Again": {"$ref": "#/$defs/Again", "default": [1.50, 2]},
            "Pair": [{}, {"default": -0}]
        }}"##;
        let value: Value = serde_json::from_str(text).unwrap();
        let written = Written::new(&serde_json::from_str(text).unwrap());
        let whole = resolve(&value, &value);
        for (name, word, want) in [
            ("n", "default", Some("123456789012345678901")),
            ("n", "minimum", Some("0.10000000000000000001")),
            ("m", "default", Some("x")),
            ("again", "default", Some("[1.50, 2]")),
            ("lost", "default", None),
            ("odd", "default", None),
            ("none", "default", None),
        ] {
            let place = resolve(&value, &whole["properties"][name]);
            assert_eq!(place.get(word).is_some(), want.is_some(), "{name}");
            let text = written.property(name).text(word, &place[word]);
            assert_eq!(shown(&text), want.unwrap_or("null"), "{name}");
        }
        let items = written.property("list").items();
        let read = resolve(&value, &whole["properties"]["list"]["items"]);
        assert_eq!(shown(&items.text("default", &read["default"])), "-0");
        // What stands elsewhere is no other value for that.
        assert_eq!(shown(&items.text("default", &json!(7))), "7");
    }
}
