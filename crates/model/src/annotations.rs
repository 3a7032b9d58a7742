//! Owns the hints on content and resources: for whom, how important, how old, and who speaks
//! (`server/resources` §Annotations).

use serde_json::Number;

use crate::Object;
use crate::shape::object;
use crate::word::word;

/// Hints about a piece of content or a resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// For whom it is meant.
    pub audience: Option<Vec<Role>>,
    /// Importance from 0 (optional) to 1 (required).
    pub priority: Option<Number>,
    /// When it was last changed, as an ISO 8601 time.
    pub last_modified: Option<String>,
    /// Members unknown here.
    pub extra: Object,
}

object!(Annotations {
    optional audience "audience",
    optional priority "priority",
    optional last_modified "lastModified",
});

/// Who speaks in a conversation, or for whom something is meant.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A role unknown here.
    Other(Box<str>),
}

word!(Role { User = "user", Assistant = "assistant" } else Other);
