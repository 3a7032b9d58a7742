//! Owns `word!`, which ties an enum to the fixed strings that stand for it. Does not know any noun.

use std::error::Error;
use std::fmt;

/// Gives an enum `as_str`, `Display`, `Serialize` and `Deserialize`.
///
/// Closed (`word!(Name { A = "a" })`): any other text is refused, and `FromStr` is there. For words
/// that decide what happens next. Open (`word!(Name { A = "a" } else Other)`): any other text is
/// kept in the variant `Other(Box<str>)`, so that a hint that is not known yet never costs a whole
/// message.
macro_rules! word {
    ($name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        impl $name {
            /// Every value, in the specification's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word on the wire.
            pub const fn as_str(&self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => Err($crate::UnknownWord::new(text, &[$($text),*])),
                }
            }
        }

        $crate::word::word!(@impls $name, |text| text.parse().map_err(::serde_core::de::Error::custom));
    };

    ($name:ident { $($variant:ident = $text:literal),* $(,)? } else $other:ident) => {
        impl $name {
            /// The word on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::$other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    _ => Self::$other(text.into()),
                }
            }
        }

        $crate::word::word!(@impls $name, |text| Ok(text.into()));
    };

    (@impls $name:ident, |$text:ident| $read:expr) => {
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl<'de> ::serde_core::Deserialize<'de> for $name {
            fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: ::serde_core::Deserializer<'de>,
            {
                let key: $crate::shape::Key<'de> =
                    ::serde_core::Deserialize::deserialize(deserializer)?;
                let $text = &*key.0;
                $read
            }
        }

        impl ::serde_core::Serialize for $name {
            fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
            where
                S: ::serde_core::Serializer,
            {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}
pub(crate) use word;

/// A word that is not one of those the specification names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownWord {
    word: Box<str>,
    allowed: &'static [&'static str],
}

impl UnknownWord {
    pub(crate) fn new(word: &str, allowed: &'static [&'static str]) -> Self {
        // A peer chose this text; an error message carries no more of it than a reader needs.
        Self {
            word: word.chars().take(LONGEST_SHOWN).collect::<String>().into(),
            allowed,
        }
    }

    /// The words that would have been right.
    pub fn allowed(&self) -> &'static [&'static str] {
        self.allowed
    }
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown word {:?}; use one of {}",
            self.word,
            self.allowed.join(", ")
        )
    }
}

impl Error for UnknownWord {}

const LONGEST_SHOWN: usize = 64;
