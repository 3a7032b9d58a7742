//! Owns the names of the methods and notifications of all revisions, and what it is to be one. Which
//! params and results go with each is in `signatures.rs`; which revision has it is not known here.

/// A kind of request.
pub trait Method {
    /// The method's name on the wire.
    const NAME: &'static str;
    /// What it is asked with.
    type Params;
    /// What it is answered with when it is complete. Where a revision lets a server ask back or
    /// make a task instead, the result's `resultType` says so.
    type Result;
}

/// A kind of notification.
pub trait Notification {
    /// The notification's name on the wire.
    const NAME: &'static str;
    /// What it says.
    type Params;
}

macro_rules! names {
    ($(#[$list_doc:meta])* $list:ident { $($(#[$doc:meta])* $name:ident = $text:literal;)* }) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        $(#[$list_doc])*
        pub const $list: &[&str] = &[$($name),*];
    };
}

names! {
    /// Every request of every revision and of the tasks extension.
    REQUESTS {
        /// Opens a legacy session.
        INITIALIZE = "initialize";
        /// Asks whether the peer is there.
        PING = "ping";
        /// Asks what a server is and can do.
        SERVER_DISCOVER = "server/discover";
        /// Opens a subscription.
        SUBSCRIPTIONS_LISTEN = "subscriptions/listen";

        /// Lists tools.
        TOOLS_LIST = "tools/list";
        /// Calls a tool.
        TOOLS_CALL = "tools/call";

        /// Lists resources.
        RESOURCES_LIST = "resources/list";
        /// Lists resource templates.
        RESOURCES_TEMPLATES_LIST = "resources/templates/list";
        /// Reads a resource.
        RESOURCES_READ = "resources/read";
        /// Asks to be told when a resource changes.
        RESOURCES_SUBSCRIBE = "resources/subscribe";
        /// Asks not to be told any more.
        RESOURCES_UNSUBSCRIBE = "resources/unsubscribe";

        /// Lists prompts.
        PROMPTS_LIST = "prompts/list";
        /// Fills in a prompt.
        PROMPTS_GET = "prompts/get";

        /// Completes an argument.
        COMPLETION_COMPLETE = "completion/complete";
        /// Says how much to log.
        LOGGING_SET_LEVEL = "logging/setLevel";

        /// A server asks for the client's folders.
        ROOTS_LIST = "roots/list";
        /// A server asks the client's model.
        SAMPLING_CREATE_MESSAGE = "sampling/createMessage";
        /// A server asks the client's user.
        ELICITATION_CREATE = "elicitation/create";

        /// Looks at a task.
        TASKS_GET = "tasks/get";
        /// Waits for a task's result (core).
        TASKS_RESULT = "tasks/result";
        /// Lists tasks (core).
        TASKS_LIST = "tasks/list";
        /// Answers a task's questions (extension).
        TASKS_UPDATE = "tasks/update";
        /// Gives a task up.
        TASKS_CANCEL = "tasks/cancel";
    }
}

names! {
    /// Every notification of every revision and of the tasks extension.
    NOTIFICATIONS {
        /// The client is ready (legacy).
        NOTIFICATIONS_INITIALIZED = "notifications/initialized";
        /// A request is given up.
        NOTIFICATIONS_CANCELLED = "notifications/cancelled";
        /// A request has come this far.
        NOTIFICATIONS_PROGRESS = "notifications/progress";
        /// A log message.
        NOTIFICATIONS_MESSAGE = "notifications/message";
        /// The list of tools changed.
        NOTIFICATIONS_TOOLS_LIST_CHANGED = "notifications/tools/list_changed";
        /// The list of prompts changed.
        NOTIFICATIONS_PROMPTS_LIST_CHANGED = "notifications/prompts/list_changed";
        /// The list of resources changed.
        NOTIFICATIONS_RESOURCES_LIST_CHANGED = "notifications/resources/list_changed";
        /// A resource changed.
        NOTIFICATIONS_RESOURCES_UPDATED = "notifications/resources/updated";
        /// The client's folders changed.
        NOTIFICATIONS_ROOTS_LIST_CHANGED = "notifications/roots/list_changed";
        /// The user has dealt with a page.
        NOTIFICATIONS_ELICITATION_COMPLETE = "notifications/elicitation/complete";
        /// A subscription is open.
        NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
        /// A task changed (extension).
        NOTIFICATIONS_TASKS = "notifications/tasks";
        /// A task changed (core).
        NOTIFICATIONS_TASKS_STATUS = "notifications/tasks/status";
    }
}
