//! 2025-03-26: Streamable HTTP with sessions, batches, tool annotations, audio, the completions capability.
//! <https://modelcontextprotocol.io/specification/2025-03-26/changelog>

use super::{Profile, v2024_11_05};

pub(super) const PROFILE: Profile = Profile {
    name: "2025-03-26",
    batches: true,
    resumable_streams: true,
    audio: true,
    completions_capability: true,
    ..v2024_11_05::PROFILE
};
