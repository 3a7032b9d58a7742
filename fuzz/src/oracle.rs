//! A slow second opinion on JSON, from `serde_json`: whether it is JSON, and whether a key comes twice.

use std::collections::HashSet;
use std::fmt;

use serde_core::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(text).is_ok()
}

/// Whether an object anywhere in `text` has a key twice; `None` when `serde_json` cannot decode it, be
/// it for a lone surrogate or its depth.
pub(crate) fn repeats(text: &str) -> Option<bool> {
    serde_json::from_str::<Repeats>(text)
        .ok()
        .map(|Repeats(repeats)| repeats)
}

struct Repeats(bool);

impl<'de> Deserialize<'de> for Repeats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk).map(Self)
    }
}

struct Walk;

impl<'de> Visitor<'de> for Walk {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        let mut repeats = false;
        while let Some(Repeats(within)) = seq.next_element()? {
            repeats |= within;
        }
        Ok(repeats)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut repeats = false;
        let mut seen = HashSet::new();
        while let Some((key, Repeats(within))) = map.next_entry::<String, Repeats>()? {
            repeats |= within | !seen.insert(key);
        }
        Ok(repeats)
    }
}
