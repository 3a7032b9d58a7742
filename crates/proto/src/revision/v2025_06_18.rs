//! 2025-06-18: structured results, resource links, elicitation, the version header; batches removed.
//! <https://modelcontextprotocol.io/specification/2025-06-18/changelog>

use super::{Profile, Structured, v2025_03_26};

pub(super) const PROFILE: Profile = Profile {
    name: "2025-06-18",
    batches: false,
    version_header: true,
    structured: Structured::Object,
    resource_links: true,
    questions: &["roots/list", "sampling/createMessage", "elicitation/create"],
    ..v2025_03_26::PROFILE
};
