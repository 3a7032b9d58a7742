//! Owns log messages to a client (`server/utilities/logging`). Does not log.

use polyport_wire::Raw;

use crate::Object;
use crate::shape::object;
use crate::word::word;

/// How severe a log message is (RFC 5424). Ordered: a more severe level is greater.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Level {
    /// Detail for debugging.
    Debug,
    /// Progress as expected.
    Info,
    /// Normal but significant.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A component fails.
    Critical,
    /// Somebody must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

word!(Level {
    Debug = "debug",
    Info = "info",
    Notice = "notice",
    Warning = "warning",
    Error = "error",
    Critical = "critical",
    Alert = "alert",
    Emergency = "emergency",
});

impl Level {
    /// Its place from 0 (debug) to 7 (emergency): the reverse of the RFC's numerical code.
    pub const fn as_u8(self) -> u8 {
        self as u8
    }

    /// The level at this place.
    pub const fn from_u8(place: u8) -> Option<Self> {
        if (place as usize) < Self::ALL.len() {
            Some(Self::ALL[place as usize])
        } else {
            None
        }
    }
}

/// Params of `logging/setLevel`.
#[derive(Clone, Debug, PartialEq)]
pub struct SetLevelParams {
    /// The least severe level wanted.
    pub level: Level,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(SetLevelParams {
    required level "level",
    optional meta "_meta",
});

impl SetLevelParams {
    /// Asks for this level and those above.
    pub fn new(level: Level) -> Self {
        Self {
            level,
            meta: None,
            extra: Object::new(),
        }
    }
}

/// Params of `notifications/message`.
#[derive(Clone, Debug, PartialEq)]
pub struct LogParams {
    /// How severe it is.
    pub level: Level,
    /// Which part of the server says it.
    pub logger: Option<String>,
    /// What it says: any JSON value.
    pub data: Raw,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(LogParams {
    required level "level",
    optional logger "logger",
    required data "data",
    optional meta "_meta",
});

impl LogParams {
    /// A message of this level.
    pub fn new(level: Level, data: Raw) -> Self {
        Self {
            level,
            logger: None,
            data,
            meta: None,
            extra: Object::new(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_by_severity() {
        assert!(Level::ALL.is_sorted());
        for (place, level) in Level::ALL.iter().enumerate() {
            assert_eq!(usize::from(level.as_u8()), place);
            assert_eq!(Level::from_u8(level.as_u8()), Some(*level));
            assert_eq!(level.as_str().parse(), Ok(*level));
        }
        assert_eq!(Level::from_u8(8), None);
    }

    #[test]
    fn an_unknown_level_is_refused_with_the_choices() {
        let error = "Debug".parse::<Level>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown word \"Debug\"; use one of debug, info, notice, warning, error, critical, alert, emergency"
        );
        assert!(serde_json::from_str::<Level>("\"verbose\"").is_err());
    }
}
