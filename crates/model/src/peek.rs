//! Owns finding out which kind of object a text holds before it is decoded. Does not decode it.

use std::fmt;

use polyport_wire::Raw;
use serde_core::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::shape::Key;

/// The string under `name` at the top level of an object; `None` when the text is no object, the
/// member is absent or no string.
///
/// Kinds are told by a named member, never by trying one shape after the other: a guess takes the
/// wrong one silently.
pub(crate) fn word(raw: &Raw, name: &str) -> Option<String> {
    let mut find = Find { name, string: None };
    // The visitor ends the walk with an error once it has its answer, so that a large block is not
    // read to its end.
    let _ = serde_json::Deserializer::from_slice(raw.as_bytes()).deserialize_map(&mut find);
    find.string
}

/// Whether an object has a member called `name` at its top level.
pub(crate) fn has(raw: &Raw, name: &str) -> bool {
    struct Has<'n>(&'n str, bool);

    impl<'de> Visitor<'de> for &mut Has<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(Key(key)) = map.next_key()? {
                self.1 |= key == self.0;
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }

    let mut has = Has(name, false);
    let _ = serde_json::Deserializer::from_slice(raw.as_bytes()).deserialize_map(&mut has);
    has.1
}

struct Find<'n> {
    name: &'n str,
    string: Option<String>,
}

impl<'de> Visitor<'de> for &mut Find<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(key)) = map.next_key()? {
            if key == self.name {
                self.string = map.next_value::<Option<String>>().ok().flatten();
                return Err(A::Error::custom("found"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}
