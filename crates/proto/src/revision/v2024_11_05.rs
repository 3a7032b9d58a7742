//! 2024-11-05: the first revision; handshake, tools, resources, prompts, sampling, roots, HTTP+SSE.
//! <https://modelcontextprotocol.io/specification/2024-11-05>

use super::{Era, Profile, Structured};

pub(super) const PROFILE: Profile = Profile {
    name: "2024-11-05",
    era: Era::Legacy,
    batches: false,
    version_header: false,
    mirrored_headers: false,
    resumable_streams: false,
    disconnect_cancels: false,
    result_type: false,
    server_info_in_results: false,
    cache_hints: false,
    structured: Structured::Absent,
    audio: false,
    resource_links: false,
    completions_capability: false,
    resource_missing: -32002,
    http_error_status: false,
    requests: &[
        "tools/call",
        "tools/list",
        "resources/read",
        "resources/list",
        "resources/templates/list",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/get",
        "prompts/list",
        "completion/complete",
        "logging/setLevel",
        "ping",
        "initialize",
    ],
    notifications: &[
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "notifications/roots/list_changed",
    ],
};
