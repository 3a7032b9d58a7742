//! Owns which params and results go with each method and notification, as a type for each. Their
//! names are in `method.rs`; which revision has which of them is not known here.

use polyport_wire::Raw;

use crate::method::*;
use crate::{
    CallToolParams, CallToolResult, CancelledParams, CompleteParams, CompleteResult, CoreTask,
    CreateMessageParams, CreateMessageResult, DiscoverResult, ElicitParams, ElicitResult,
    ElicitationCompleteParams, EmptyParams, EmptyResult, GetPromptParams, GetPromptResult,
    InitializeParams, InitializeResult, ListCoreTasksResult, ListParams, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListRootsResult, ListToolsResult,
    ListenParams, ListenResult, LogParams, ProgressParams, ReadResourceParams, ReadResourceResult,
    ResourceParams, SetLevelParams, Task, TaskParams, UpdateTaskParams,
};

macro_rules! methods {
    ($($marker:ident = $name:ident ($params:ty) -> $result:ty;)*) => {
        $(
            #[doc = concat!("The request [`", stringify!($name), "`].")]
            #[derive(Clone, Copy, Debug)]
            pub enum $marker {}

            impl Method for $marker {
                const NAME: &'static str = $name;
                type Params = $params;
                type Result = $result;
            }
        )*
    };
}

methods! {
    Initialize = INITIALIZE (InitializeParams) -> InitializeResult;
    Ping = PING (EmptyParams) -> EmptyResult;
    Discover = SERVER_DISCOVER (EmptyParams) -> DiscoverResult;
    Listen = SUBSCRIPTIONS_LISTEN (ListenParams) -> ListenResult;
    ListTools = TOOLS_LIST (ListParams) -> ListToolsResult;
    CallTool = TOOLS_CALL (CallToolParams) -> CallToolResult;
    ListResources = RESOURCES_LIST (ListParams) -> ListResourcesResult;
    ListResourceTemplates = RESOURCES_TEMPLATES_LIST (ListParams) -> ListResourceTemplatesResult;
    ReadResource = RESOURCES_READ (ReadResourceParams) -> ReadResourceResult;
    SubscribeResource = RESOURCES_SUBSCRIBE (ResourceParams) -> EmptyResult;
    UnsubscribeResource = RESOURCES_UNSUBSCRIBE (ResourceParams) -> EmptyResult;
    ListPrompts = PROMPTS_LIST (ListParams) -> ListPromptsResult;
    GetPrompt = PROMPTS_GET (GetPromptParams) -> GetPromptResult;
    Complete = COMPLETION_COMPLETE (CompleteParams) -> CompleteResult;
    SetLevel = LOGGING_SET_LEVEL (SetLevelParams) -> EmptyResult;
    ListRoots = ROOTS_LIST (EmptyParams) -> ListRootsResult;
    CreateMessage = SAMPLING_CREATE_MESSAGE (CreateMessageParams) -> CreateMessageResult;
    Elicit = ELICITATION_CREATE (ElicitParams) -> ElicitResult;
    GetTask = TASKS_GET (TaskParams) -> Task;
    UpdateTask = TASKS_UPDATE (UpdateTaskParams) -> EmptyResult;
    CancelTask = TASKS_CANCEL (TaskParams) -> EmptyResult;
    GetCoreTask = TASKS_GET (TaskParams) -> CoreTask;
    GetCoreTaskResult = TASKS_RESULT (TaskParams) -> Raw;
    ListCoreTasks = TASKS_LIST (ListParams) -> ListCoreTasksResult;
    CancelCoreTask = TASKS_CANCEL (TaskParams) -> CoreTask;
}

macro_rules! notifications {
    ($($marker:ident = $name:ident ($params:ty);)*) => {
        $(
            #[doc = concat!("The notification [`", stringify!($name), "`].")]
            #[derive(Clone, Copy, Debug)]
            pub enum $marker {}

            impl Notification for $marker {
                const NAME: &'static str = $name;
                type Params = $params;
            }
        )*
    };
}

notifications! {
    Initialized = NOTIFICATIONS_INITIALIZED (EmptyParams);
    Cancelled = NOTIFICATIONS_CANCELLED (CancelledParams);
    Progress = NOTIFICATIONS_PROGRESS (ProgressParams);
    Log = NOTIFICATIONS_MESSAGE (LogParams);
    ToolsChanged = NOTIFICATIONS_TOOLS_LIST_CHANGED (EmptyParams);
    PromptsChanged = NOTIFICATIONS_PROMPTS_LIST_CHANGED (EmptyParams);
    ResourcesChanged = NOTIFICATIONS_RESOURCES_LIST_CHANGED (EmptyParams);
    ResourceUpdated = NOTIFICATIONS_RESOURCES_UPDATED (ResourceParams);
    RootsChanged = NOTIFICATIONS_ROOTS_LIST_CHANGED (EmptyParams);
    ElicitationComplete = NOTIFICATIONS_ELICITATION_COMPLETE (ElicitationCompleteParams);
    SubscriptionAcknowledged = NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED (ListenParams);
    TaskChanged = NOTIFICATIONS_TASKS (Task);
    CoreTaskChanged = NOTIFICATIONS_TASKS_STATUS (CoreTask);
}
