//! Owns `Object`, a JSON object whose members keep their order. Does not check what the members
//! mean.

use std::fmt;
use std::marker::PhantomData;

use polyport_wire::Raw;
use serde_core::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_core::ser::{Serialize, SerializeMap, Serializer};

use crate::shape::Key;

/// An ordered JSON object; by default its values stay checked text, which is cheap to clone and
/// forwarded as it came.
///
/// `_meta`, the members unknown to this crate (`extra`), and maps with names chosen by a peer are
/// of this type. Looking a name up walks the members, so it is meant for a handful of look-ups, not
/// for use as a table. When a peer sent a name twice both are kept and the last one is found. Two
/// objects are equal when the same members stand in the same order.
#[derive(Clone, Eq, PartialEq)]
pub struct Object<T = Raw>(Vec<(Box<str>, T)>);

impl<T> Object<T> {
    /// An empty object.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The member with this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0
            .iter()
            .rev()
            .find(|(key, _)| **key == *name)
            .map(|(_, value)| value)
    }

    /// Whether there is a member with this name.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets a member in place, or appends it; gives back the value it replaced.
    pub fn insert(&mut self, name: impl Into<Box<str>>, value: T) -> Option<T> {
        let name = name.into();
        match self.0.iter_mut().rev().find(|(key, _)| *key == name) {
            Some((_, slot)) => Some(std::mem::replace(slot, value)),
            None => {
                self.0.push((name, value));
                None
            }
        }
    }

    /// Removes every member with this name; gives back the last one.
    pub fn remove(&mut self, name: &str) -> Option<T> {
        self.0
            .extract_if(.., |(key, _)| **key == *name)
            .last()
            .map(|(_, value)| value)
    }

    /// The members in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &T)> + ExactSizeIterator {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// The names in order.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.0.iter().map(|(key, _)| &**key)
    }

    /// Appends without looking whether the name is there: what a peer sent is read in one pass.
    pub(crate) fn push(&mut self, name: Box<str>, value: T) {
        self.0.push((name, value));
    }

    /// Writes the members into an open map, leaving out names that the struct around them writes
    /// itself.
    pub(crate) fn write_except<M>(&self, names: &[&str], map: &mut M) -> Result<(), M::Error>
    where
        M: SerializeMap,
        T: Serialize,
    {
        for (key, value) in self.0.iter().filter(|(key, _)| !names.contains(&&**key)) {
            map.serialize_entry(&**key, value)?;
        }
        Ok(())
    }
}

impl Object<Raw> {
    /// Decodes the member with this name; `None` when it is absent.
    pub fn decode<T: DeserializeOwned>(&self, name: &str) -> Option<Result<T, serde_json::Error>> {
        self.get(name).map(|raw| raw.decode())
    }

    /// Encodes a value and sets it as the member with this name.
    ///
    /// # Errors
    /// When the value cannot be written as JSON (a map with keys that are no strings).
    pub fn encode<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        self.insert(name, Raw::encode(value)?);
        Ok(())
    }
}

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for Object<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<T> IntoIterator for Object<T> {
    type Item = (Box<str>, T);
    type IntoIter = std::vec::IntoIter<(Box<str>, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Into<Box<str>>, T> FromIterator<(K, T)> for Object<T> {
    /// Keeps every pair, as a peer's text would; names should be unique.
    fn from_iter<I: IntoIterator<Item = (K, T)>>(pairs: I) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
        )
    }
}

impl<K: Into<Box<str>>, T, const N: usize> From<[(K, T); N]> for Object<T> {
    fn from(pairs: [(K, T); N]) -> Self {
        pairs.into_iter().collect()
    }
}

impl<T: Serialize> Serialize for Object<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        self.write_except(&[], &mut map)?;
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<T>, A::Error> {
                let mut members = Object::new();
                while let Some(Key(key)) = map.next_key()? {
                    members.push(key.into(), map.next_value()?);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Members(PhantomData))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn order_and_number_text_survive() {
        let text = r#"{"z":1.50,"a":123456789012345678901234567890,"m":{"y":1,"b":2}}"#;
        assert_eq!(serde_json::to_string(&object(text)).unwrap(), text);
    }

    #[test]
    fn the_last_of_two_equal_names_is_found_and_both_are_removed() {
        let mut members = object(r#"{"a":1,"b":2,"a":3}"#);
        assert_eq!(members.decode::<u8>("a").unwrap().unwrap(), 3);
        assert_eq!(members.remove("a").unwrap().as_str(), "3");
        assert_eq!(serde_json::to_string(&members).unwrap(), r#"{"b":2}"#);
        assert!(members.remove("a").is_none());
    }

    #[test]
    fn insert_replaces_in_place() {
        let mut members = object(r#"{"a":1,"b":2}"#);
        members.encode("a", "x").unwrap();
        members.encode("c", &true).unwrap();
        assert_eq!(
            serde_json::to_string(&members).unwrap(),
            r#"{"a":"x","b":2,"c":true}"#
        );
        assert_eq!(members.names().collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn escaped_names_are_decoded() {
        assert!(object(r#"{"\u0061":1}"#).contains("a"));
    }

    #[test]
    fn only_objects_are_objects() {
        for text in ["[]", "null", "1", "\"\""] {
            assert!(serde_json::from_str::<Object>(text).is_err(), "{text}");
        }
    }
}
