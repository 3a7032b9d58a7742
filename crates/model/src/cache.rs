//! Owns the caching hints on results (`server/utilities/caching`). Does not cache.

use std::fmt;
use std::time::Duration;

use serde_core::de::{Deserialize, Deserializer, Error, Visitor};
use serde_core::ser::{Serialize, Serializer};

/// Who may be given a cached result.
///
/// Reading is safe-side: a word that is not `public` is taken for `private`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum CacheScope {
    /// Whoever asks.
    Public,
    /// Only those who present the same credentials.
    #[default]
    Private,
}

impl CacheScope {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

impl Serialize for CacheScope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for CacheScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let crate::shape::Key(text) = Deserialize::deserialize(deserializer)?;
        Ok(if text == "public" {
            Self::Public
        } else {
            Self::Private
        })
    }
}

/// For how long a result stays fresh, in milliseconds on the wire (`ttlMs`).
///
/// Reading is lenient: a negative number is zero, a fraction is cut off, and what exceeds
/// [`Ttl::MAX`] is [`Ttl::MAX`].
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Ttl(u64);

impl Ttl {
    /// Do not keep.
    pub const ZERO: Self = Self(0);

    /// The longest time: the largest integer that every JSON reader takes exactly.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// From milliseconds, at most [`Ttl::MAX`].
    pub const fn from_millis(millis: u64) -> Self {
        if millis > Self::MAX.0 {
            Self::MAX
        } else {
            Self(millis)
        }
    }

    /// In milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }
}

impl From<Ttl> for Duration {
    fn from(ttl: Ttl) -> Self {
        Self::from_millis(ttl.0)
    }
}

impl From<Duration> for Ttl {
    fn from(time: Duration) -> Self {
        Self::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Serialize for Ttl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Ttl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Millis;

        impl Visitor<'_> for Millis {
            type Value = Ttl;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of milliseconds")
            }

            fn visit_u64<E>(self, millis: u64) -> Result<Ttl, E> {
                Ok(Ttl::from_millis(millis))
            }

            fn visit_i64<E: Error>(self, millis: i64) -> Result<Ttl, E> {
                Ok(Ttl::from_millis(u64::try_from(millis).unwrap_or(0)))
            }

            fn visit_f64<E: Error>(self, millis: f64) -> Result<Ttl, E> {
                // `as` saturates: below zero is 0, beyond u64 is its maximum.
                Ok(Ttl::from_millis(millis as u64))
            }
        }

        deserializer.deserialize_any(Millis)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ttl_is_read_leniently() {
        for (text, millis) in [
            ("0", 0),
            ("1500", 1500),
            ("-1", 0),
            ("2.9", 2),
            ("1e3", 1000),
            ("18446744073709551615", Ttl::MAX.0),
            ("1e300", Ttl::MAX.0),
        ] {
            assert_eq!(
                serde_json::from_str::<Ttl>(text).unwrap().as_millis(),
                millis,
                "{text}"
            );
        }
        assert!(serde_json::from_str::<Ttl>("\"5\"").is_err());
    }

    #[test]
    fn an_unknown_scope_is_private() {
        for (text, scope) in [
            ("\"public\"", CacheScope::Public),
            ("\"private\"", CacheScope::Private),
            ("\"Public\"", CacheScope::Private),
        ] {
            assert_eq!(
                serde_json::from_str::<CacheScope>(text).unwrap(),
                scope,
                "{text}"
            );
        }
    }
}
