//! Owns the table from the schema's names to this crate's types.

use polyport_model::*;
use serde_core::Serialize;
use serde_core::de::DeserializeOwned;
use serde_json::{Error, Value};

/// Reads a JSON text as some type and writes it again.
pub(crate) type RoundTrip = fn(&str) -> Result<Value, Error>;

/// The type for what the schema calls `name`, where that is an object of its own.
pub(crate) fn object(schema: &str, name: &str) -> Option<RoundTrip> {
    core_task(schema, name)
        .or_else(|| peer_or_list(name))
        .or_else(|| call_or_answer(name))
        .or_else(|| part(name))
}

fn core_task(schema: &str, name: &str) -> Option<RoundTrip> {
    if schema != "2025-11-25" {
        return None;
    }
    Some(match name {
        "Task" | "GetTaskResult" | "CancelTaskResult" | "TaskStatusNotificationParams" => {
            via::<CoreTask>
        }
        "CreateTaskResult" => via::<CreateCoreTaskResult>,
        "ListTasksResult" => via::<ListCoreTasksResult>,
        "RelatedTaskMetadata" => via::<RelatedTask>,
        "TaskMetadata" => via::<TaskMetadata>,
        _ => return None,
    })
}

fn peer_or_list(name: &str) -> Option<RoundTrip> {
    Some(match name {
        "ClientCapabilities" => via::<ClientCapabilities>,
        "DiscoverResult" => via::<DiscoverResult>,
        "Implementation" => via::<Implementation>,
        "InitializeRequestParams" => via::<InitializeParams>,
        "InitializeResult" => via::<InitializeResult>,
        "ListPromptsResult" => via::<ListPromptsResult>,
        "ListResourceTemplatesResult" => via::<ListResourceTemplatesResult>,
        "ListResourcesResult" => via::<ListResourcesResult>,
        "ListRootsResult" => via::<ListRootsResult>,
        "ListToolsResult" => via::<ListToolsResult>,
        "PaginatedRequestParams" => via::<ListParams>,
        "Prompt" => via::<Prompt>,
        "PromptArgument" => via::<PromptArgument>,
        "Resource" => via::<Resource>,
        "ResourceTemplate" => via::<ResourceTemplate>,
        "Root" => via::<Root>,
        "ServerCapabilities" => via::<ServerCapabilities>,
        "Tool" => via::<Tool>,
        "ToolAnnotations" => via::<ToolAnnotations>,
        "ToolExecution" => via::<ToolExecution>,
        _ => return None,
    })
}

fn call_or_answer(name: &str) -> Option<RoundTrip> {
    Some(match name {
        "CallToolRequestParams" => via::<CallToolParams>,
        "CallToolResult" => via::<CallToolResult>,
        "CancelledNotificationParams" => via::<CancelledParams>,
        "CompleteRequestParams" => via::<CompleteParams>,
        "CompleteResult" => via::<CompleteResult>,
        "CreateMessageRequestParams" => via::<CreateMessageParams>,
        "CreateMessageResult" => via::<CreateMessageResult>,
        "ElicitRequestFormParams" | "ElicitRequestURLParams" => via::<ElicitParams>,
        "ElicitResult" => via::<ElicitResult>,
        "GetPromptRequestParams" => via::<GetPromptParams>,
        "GetPromptResult" => via::<GetPromptResult>,
        "InputRequests" => questions,
        "InputRequiredResult" => via::<InputRequiredResult>,
        // Only the question tells what an answer is, so answers are kept as text.
        "InputResponses" => via::<Object>,
        "TaskStatusNotificationParams"
        | "CreateTaskResult"
        | "GetTaskResult"
        | "Task"
        | "WorkingTask"
        | "InputRequiredTask"
        | "CompletedTask"
        | "FailedTask"
        | "CancelledTask" => via::<Task>,
        "CancelTaskResult" | "GetTaskPayloadResult" | "Result" | "UpdateTaskResult" => {
            via::<EmptyResult>
        }
        "LoggingMessageNotificationParams" => via::<LogParams>,
        "NotificationParams" | "RequestParams" => via::<EmptyParams>,
        "ProgressNotificationParams" => via::<ProgressParams>,
        "ReadResourceRequestParams" => via::<ReadResourceParams>,
        "ReadResourceResult" => via::<ReadResourceResult>,
        "ResourceRequestParams"
        | "ResourceUpdatedNotificationParams"
        | "SubscribeRequestParams"
        | "UnsubscribeRequestParams" => via::<ResourceParams>,
        "SetLevelRequestParams" => via::<SetLevelParams>,
        "SubscriptionsAcknowledgedNotificationParams" | "SubscriptionsListenRequestParams" => {
            via::<ListenParams>
        }
        "SubscriptionsListenResult" => via::<ListenResult>,
        _ => return None,
    })
}

fn part(name: &str) -> Option<RoundTrip> {
    Some(match name {
        "Annotations" => via::<Annotations>,
        "AudioContent" | "EmbeddedResource" | "ImageContent" | "ResourceLink" | "TextContent"
        | "ToolResultContent" | "ToolUseContent" => via::<Content>,
        "BlobResourceContents" | "TextResourceContents" => via::<ResourceContents>,
        "BooleanSchema" => via::<BooleanField>,
        "NumberSchema" => via::<NumberField>,
        "StringSchema" => via::<TextField>,
        "EnumSchema"
        | "LegacyTitledEnumSchema"
        | "TitledSingleSelectEnumSchema"
        | "UntitledSingleSelectEnumSchema" => via::<SelectField>,
        "TitledMultiSelectEnumSchema" | "UntitledMultiSelectEnumSchema" => via::<MultiSelectField>,
        "Error"
        | "InternalError"
        | "InvalidParamsError"
        | "InvalidRequestError"
        | "MethodNotFoundError"
        | "ParseError" => via::<RpcError>,
        "Icon" => via::<Icon>,
        "ModelHint" => via::<ModelHint>,
        "ModelPreferences" => via::<ModelPreferences>,
        "PromptMessage" => via::<PromptMessage>,
        "PromptReference" | "ResourceReference" | "ResourceTemplateReference" => via::<Reference>,
        "SamplingMessage" => via::<SamplingMessage>,
        "SubscriptionFilter"
        | "TaskSubscriptionAcknowledgedNotifications"
        | "TaskSubscriptionNotifications" => via::<SubscriptionFilter>,
        "ToolChoice" => via::<ToolChoice>,
        _ => return None,
    })
}

/// The method, and the type of the params, of what the schema calls `name`, where that is a whole
/// request or notification.
pub(crate) fn message(schema: &str, name: &str) -> Option<(&'static str, RoundTrip)> {
    let core_tasks = schema == "2025-11-25";
    Some(match name {
        "CallToolRequest" => request::<CallTool>(),
        "CancelTaskRequest" if core_tasks => request::<CancelCoreTask>(),
        "CancelTaskRequest" => request::<CancelTask>(),
        "CompleteRequest" => request::<Complete>(),
        "CreateMessageRequest" => request::<CreateMessage>(),
        "DiscoverRequest" => request::<Discover>(),
        "ElicitRequest" => request::<Elicit>(),
        "GetPromptRequest" => request::<GetPrompt>(),
        "GetTaskPayloadRequest" => request::<GetCoreTaskResult>(),
        "GetTaskRequest" if core_tasks => request::<GetCoreTask>(),
        "GetTaskRequest" => request::<GetTask>(),
        "InitializeRequest" => request::<Initialize>(),
        "ListPromptsRequest" => request::<ListPrompts>(),
        "ListResourceTemplatesRequest" => request::<ListResourceTemplates>(),
        "ListResourcesRequest" => request::<ListResources>(),
        "ListRootsRequest" => request::<ListRoots>(),
        "ListTasksRequest" => request::<ListCoreTasks>(),
        "ListToolsRequest" => request::<ListTools>(),
        "PingRequest" => request::<Ping>(),
        "ReadResourceRequest" => request::<ReadResource>(),
        "SetLevelRequest" => request::<SetLevel>(),
        "SubscribeRequest" => request::<SubscribeResource>(),
        "SubscriptionsListenRequest" => request::<Listen>(),
        "UnsubscribeRequest" => request::<UnsubscribeResource>(),
        "UpdateTaskRequest" => request::<UpdateTask>(),

        "CancelledNotification" => notification::<Cancelled>(),
        "ElicitationCompleteNotification" => notification::<ElicitationComplete>(),
        "InitializedNotification" => notification::<Initialized>(),
        "LoggingMessageNotification" => notification::<Log>(),
        "ProgressNotification" => notification::<Progress>(),
        "PromptListChangedNotification" => notification::<PromptsChanged>(),
        "ResourceListChangedNotification" => notification::<ResourcesChanged>(),
        "ResourceUpdatedNotification" => notification::<ResourceUpdated>(),
        "RootsListChangedNotification" => notification::<RootsChanged>(),
        "SubscriptionsAcknowledgedNotification" => notification::<SubscriptionAcknowledged>(),
        "TaskStatusNotification" if core_tasks => notification::<CoreTaskChanged>(),
        "TaskStatusNotification" => notification::<TaskChanged>(),
        "ToolListChangedNotification" => notification::<ToolsChanged>(),
        _ => return None,
    })
}

/// The code, and the type of `error.data`, of what the schema calls `name`, where that is a whole
/// failure.
pub(crate) fn failure(name: &str) -> Option<(i32, RoundTrip)> {
    Some(match name {
        "HeaderMismatchError" => (CODE_HEADER_MISMATCH, via::<Object>),
        "MissingRequiredClientCapabilityError" => {
            (CODE_MISSING_CLIENT_CAPABILITY, via::<MissingCapabilityData>)
        }
        "URLElicitationRequiredError" => (CODE_URL_ELICITATION_REQUIRED, via::<UrlElicitationData>),
        "UnsupportedProtocolVersionError" => {
            (CODE_UNSUPPORTED_VERSION, via::<UnsupportedVersionData>)
        }
        _ => return None,
    })
}

fn request<M: Method<Params: DeserializeOwned + Serialize>>() -> (&'static str, RoundTrip) {
    (M::NAME, via::<M::Params>)
}

fn notification<N: Notification<Params: DeserializeOwned + Serialize>>() -> (&'static str, RoundTrip)
{
    (N::NAME, via::<N::Params>)
}

fn via<T: DeserializeOwned + Serialize>(text: &str) -> Result<Value, Error> {
    let value = serde_json::to_value(serde_json::from_str::<T>(text)?)?;
    // Text and `Value` must be the same door.
    let again = serde_json::from_value::<T>(serde_json::from_str(text)?)?;
    assert_eq!(
        value,
        serde_json::from_str::<Value>(&serde_json::to_string(&again)?)?
    );
    Ok(value)
}

/// Questions: like `via`, but every params object is decoded and written as well.
fn questions(text: &str) -> Result<Value, Error> {
    let mut asked: Object<InputRequest> = serde_json::from_str(text)?;
    let names: Vec<_> = asked.names().map(str::to_owned).collect();
    for name in names {
        let mut request = asked.get(&name).unwrap().clone();
        let rewritten = match request.question()?.expect("a known method") {
            Question::CreateMessage(params) => InputRequest::new::<CreateMessage>(&params),
            Question::Elicit(params) => InputRequest::new::<Elicit>(&params),
            Question::ListRoots(params) => InputRequest::new::<ListRoots>(&params),
        };
        request.params = request.params.and(rewritten?.params);
        asked.insert(name, request);
    }
    serde_json::to_value(&asked)
}
