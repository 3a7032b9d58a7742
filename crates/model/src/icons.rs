//! Owns icons of implementations, tools, prompts and resources (`basic/index` §Icons). Does not
//! fetch them.

use crate::Object;
use crate::shape::object;
use crate::word::word;

/// A picture that stands for something. What it points at is untrusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Icon {
    /// An `https:` or `data:` URI.
    pub src: String,
    /// The picture's media type, when `src` does not tell.
    pub mime_type: Option<String>,
    /// Sizes such as `48x48`, or `any`.
    pub sizes: Option<Vec<String>>,
    /// The background it is drawn for.
    pub theme: Option<Theme>,
    /// Members unknown here.
    pub extra: Object,
}

object!(Icon {
    required src "src",
    optional mime_type "mimeType",
    optional sizes "sizes",
    optional theme "theme",
});

/// The background an icon is drawn for.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Theme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
    /// A theme unknown here.
    Other(Box<str>),
}

word!(Theme { Light = "light", Dark = "dark" } else Other);
