//! One JSON value as text. It is checked once and then carried, sliced and written without being
//! decoded. Messages are not here.

use std::fmt;

use bytes::{Buf, Bytes};
use serde_core::de::{Deserialize, Deserializer};
use serde_core::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::value::RawValue;

use crate::scan::{Bad, Scanner, check_length, space};
use crate::{Limits, Malformed};

/// One JSON value, checked, without surrounding white space. Cloning it copies no text.
#[derive(Clone, Eq, PartialEq)]
pub struct Raw(Bytes);

impl Raw {
    /// Checks that `text` is one JSON value within the limits. Repeated keys pass: whether they are
    /// wrong depends on where the value comes from.
    pub fn parse(mut text: Bytes, limits: &Limits) -> Result<Self, Malformed> {
        check_length(&text)?;
        let mut scanner = Scanner::new(&text, limits);
        let start = space(&text, 0);
        let mut read = || {
            let end = scanner.value(start, 0)?;
            scanner.end(end).map(|()| end)
        };
        let end = read().map_err(|Bad(offset)| Malformed::unreadable(&text, offset))?;
        if let Some((kind, offset)) = scanner.excess {
            return Err(Malformed::new(kind, offset));
        }
        text.truncate(end);
        text.advance(start);
        Ok(Self(text))
    }

    /// Takes text that this program has written itself. It must be one JSON value without surrounding
    /// white space, which debug builds check.
    pub fn trusted(text: impl Into<Bytes>) -> Self {
        let raw = Self(text.into());
        debug_assert!(is_one_value(&raw.0), "not one JSON value: {raw:?}");
        raw
    }

    /// Like [`Self::trusted`], for constants.
    pub fn from_static(text: &'static str) -> Self {
        Self::trusted(Bytes::from_static(text.as_bytes()))
    }

    /// Writes `value` as JSON.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(|text| Self(text.into()))
    }

    /// Reads the value as a `T`.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// The text. Every call checks again that it is UTF-8, some microseconds for 64 KiB; where bytes do,
    /// [`Self::as_bytes`] is free.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a `Raw` is JSON, which is UTF-8")
    }

    /// The text as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text as bytes, still sharing the frame it came from.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether the value is null.
    pub fn is_null(&self) -> bool {
        *self.0 == *b"null"
    }

    /// A slice of a frame that the scanner has passed.
    pub(crate) fn checked(text: Bytes) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl Serialize for Raw {
    /// Writes the text as it is. Other serialisers than `serde_json` see what they see of a `RawValue`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A `&RawValue` can only be had by parsing the text once more. This is what it would serialise
        // itself as; `tests/it/raw.rs` would notice if `serde_json` changed it.
        let mut raw = serializer.serialize_struct(RAW_VALUE, 1)?;
        raw.serialize_field(RAW_VALUE, self.as_str())?;
        raw.end()
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        Ok(Self(String::from(text).into()))
    }
}

fn is_one_value(text: &[u8]) -> bool {
    let mut scanner = Scanner::new(text, &Limits::default());
    scanner.value(0, 0).is_ok_and(|end| end == text.len())
}

const RAW_VALUE: &str = "$serde_json::private::RawValue";
