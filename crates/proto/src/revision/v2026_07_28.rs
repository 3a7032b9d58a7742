//! 2026-07-28: every request stands alone; no handshake, sessions, ping or server-to-client requests.
//! <https://modelcontextprotocol.io/specification/2026-07-28/changelog>

use super::{Era, Profile, Structured, TaskForm, v2025_11_25};

pub(super) const PROFILE: Profile = Profile {
    name: "2026-07-28",
    era: Era::Modern,
    mirrored_headers: true,
    resumable_streams: false,
    polled_streams: false,
    disconnect_cancels: true,
    result_type: true,
    server_info_in_results: true,
    cache_hints: true,
    structured: Structured::Any,
    resource_missing: -32602,
    http_error_status: true,
    requests: &[
        "tools/call",
        "tools/list",
        "resources/read",
        "resources/list",
        "resources/templates/list",
        "prompts/get",
        "prompts/list",
        "completion/complete",
        "server/discover",
        "subscriptions/listen",
        "tasks/get",
        "tasks/update",
        "tasks/cancel",
    ],
    notifications: &["notifications/cancelled"],
    elicitation_ids: false,
    listens: true,
    tasks: TaskForm::Extension,
    ..v2025_11_25::PROFILE
};
