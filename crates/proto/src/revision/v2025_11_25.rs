//! 2025-11-25: icons, url elicitation, tasks (experimental), streams that the server may end early.
//! <https://modelcontextprotocol.io/specification/2025-11-25/changelog>

use super::{Profile, TaskForm, v2025_06_18};

pub(super) const PROFILE: Profile = Profile {
    name: "2025-11-25",
    polled_streams: true,
    elicits_url: true,
    elicitation_ids: true,
    titled_choices: true,
    sampling_parts: true,
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
        "tasks/get",
        "tasks/result",
        "tasks/list",
        "tasks/cancel",
    ],
    tasks: TaskForm::Core,
    ..v2025_06_18::PROFILE
};
