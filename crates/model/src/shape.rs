//! Owns `object!`, which ties a plain struct to a JSON object. Does not know any noun.
//!
//! What it gives over a derive: members that no revision known here defines are kept as text in
//! `extra`, in their order and with their numbers untouched (a result is open in every revision);
//! an array is never taken for a struct; and the library needs no procedural macro.

use std::borrow::Cow;
use std::fmt;

use serde_core::de::{self, Deserialize, Deserializer, Visitor};

/// Implements `Serialize` and `Deserialize` for a struct that ends in `pub extra: Object`.
///
/// One line per member, in the order in which members are written:
/// * `required field "name"`: its absence is an error. Written always, so an `Option` field is
///   written as null.
/// * `optional field "name"`: for an `Option` field. Absent and null both read as `None`, and
///   `None` is never written: peers refuse a null where they expect nothing.
/// * `nullable field "name"`: for an `Option` field where null is a value: null reads as `Some`,
///   absent as `None`.
///
/// `object!(Name: "type" = "text" { … })` adds a fixed member that is written first, and required
/// and compared when read.
macro_rules! object {
    ($name:ident $(: $tag:literal = $word:literal)? {
        $($kind:ident $field:ident $key:literal),* $(,)?
    }) => {
        impl ::serde_core::Serialize for $name {
            fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
            where
                S: ::serde_core::Serializer,
            {
                use ::serde_core::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $(map.serialize_entry($tag, $word)?;)?
                $($crate::shape::object!(@write $kind map $key &self.$field);)*
                self.extra.write_except(&[$($tag,)? $($key),*], &mut map)?;
                map.end()
            }
        }

        impl<'de> ::serde_core::Deserialize<'de> for $name {
            fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: ::serde_core::Deserializer<'de>,
            {
                struct Members;

                impl<'de> ::serde_core::de::Visitor<'de> for Members {
                    type Value = $name;

                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str(concat!("a JSON object (", stringify!($name), ")"))
                    }

                    fn visit_map<A>(self, mut map: A) -> Result<$name, A::Error>
                    where
                        A: ::serde_core::de::MapAccess<'de>,
                    {
                        $(let mut $field = None;)*
                        $(let mut tag = $crate::shape::Tag::new($tag, $word);)?
                        let mut extra = $crate::Object::new();
                        while let Some($crate::shape::Key(key)) = map.next_key()? {
                            match &*key {
                                $($tag => tag.check(map.next_value()?)?,)?
                                $($key => $crate::shape::object!(@read $kind map $key $field),)*
                                _ => extra.push(key.into(), map.next_value()?),
                            }
                        }
                        $($crate::shape::object!(@seen $tag tag);)?
                        Ok($name {
                            $($field: $crate::shape::object!(@take $kind $key $field),)*
                            extra,
                        })
                    }
                }

                deserializer.deserialize_map(Members)
            }
        }
    };

    (@write required $map:ident $key:literal $value:expr) => {
        $map.serialize_entry($key, $value)?
    };
    (@write $kind:ident $map:ident $key:literal $value:expr) => {
        if let Some(value) = $value {
            $map.serialize_entry($key, value)?;
        }
    };

    (@read optional $map:ident $key:literal $field:ident) => {
        $crate::shape::fill(&mut $field, $key, $map.next_value::<Option<_>>()?)?
    };
    (@read $kind:ident $map:ident $key:literal $field:ident) => {
        $crate::shape::fill(&mut $field, $key, $map.next_value()?)?
    };

    (@take required $key:literal $field:ident) => {
        $field.ok_or_else(|| ::serde_core::de::Error::missing_field($key))?
    };
    (@take optional $key:literal $field:ident) => { $field.flatten() };
    (@take nullable $key:literal $field:ident) => { $field };

    (@seen $name:literal $tag:ident) => { $tag.seen()? };
}
pub(crate) use object;

/// Stores a member's value, or says that the member came twice.
pub(crate) fn fill<T, E: de::Error>(
    slot: &mut Option<T>,
    key: &'static str,
    value: T,
) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(key)),
    }
}

/// A member's name, borrowed where the input allows it.
pub(crate) struct Key<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E>(self, text: String) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text)))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

/// The fixed member that says which kind of object this is, such as `"type": "text"`.
pub(crate) struct Tag {
    key: &'static str,
    word: &'static str,
    seen: bool,
}

impl Tag {
    pub(crate) fn new(key: &'static str, word: &'static str) -> Self {
        Self {
            key,
            word,
            seen: false,
        }
    }

    pub(crate) fn check<E: de::Error>(&mut self, Key(text): Key<'_>) -> Result<(), E> {
        if text != self.word {
            return Err(E::custom(format_args!(
                "`{}` is {text:?}, expected {:?}",
                self.key, self.word
            )));
        }
        if self.seen {
            return Err(E::duplicate_field(self.key));
        }
        self.seen = true;
        Ok(())
    }

    pub(crate) fn seen<E: de::Error>(&self) -> Result<(), E> {
        if self.seen {
            Ok(())
        } else {
            Err(E::missing_field(self.key))
        }
    }
}
