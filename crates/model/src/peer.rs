//! Owns who a peer is and what it can do (`basic/lifecycle`, `server/discover`, `basic/versioning`
//! §Extensions). Does not negotiate.
//!
//! Capabilities of every revision are here at once and all objects are open: what is unknown
//! survives.

use polyport_wire::Raw;

use crate::shape::object;
use crate::{Icon, Object};

/// A program that speaks the protocol.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Implementation {
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// What it does.
    pub description: Option<String>,
    /// Its icons.
    pub icons: Option<Vec<Icon>>,
    /// Its home page.
    pub website_url: Option<String>,
    /// Members unknown here.
    pub extra: Object,
}

object!(Implementation {
    required name "name",
    optional title "title",
    required version "version",
    optional description "description",
    optional icons "icons",
    optional website_url "websiteUrl",
});

impl Implementation {
    /// A program with this name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            ..Self::default()
        }
    }

    /// Its name for people, or else for programs.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

/// What a client can do for a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientCapabilities {
    /// It can say which folders it works in.
    pub roots: Option<RootsCapability>,
    /// It can ask a model.
    pub sampling: Option<SamplingCapability>,
    /// It can ask its user.
    pub elicitation: Option<ElicitationCapability>,
    /// Which of the requests it receives may become core tasks.
    pub tasks: Option<ClientTasksCapability>,
    /// Non-standard capabilities, by name.
    pub experimental: Option<Object>,
    /// Settings of extensions, by extension id.
    pub extensions: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ClientCapabilities {
    optional roots "roots",
    optional sampling "sampling",
    optional elicitation "elicitation",
    optional tasks "tasks",
    optional experimental "experimental",
    optional extensions "extensions",
});

impl ClientCapabilities {
    /// Whether it can show a form. An `elicitation` object that names no mode means forms, in every
    /// revision.
    pub fn elicits_form(&self) -> bool {
        self.elicitation
            .as_ref()
            .is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }

    /// Whether it can send its user to a URL.
    pub fn elicits_url(&self) -> bool {
        self.elicitation
            .as_ref()
            .is_some_and(|modes| modes.url.is_some())
    }

    /// Whether it can ask a model.
    pub fn has_sampling(&self) -> bool {
        self.sampling.is_some()
    }

    /// Whether the model it asks may use tools.
    pub fn has_sampling_tools(&self) -> bool {
        self.sampling
            .as_ref()
            .is_some_and(|sampling| sampling.tools.is_some())
    }

    /// Whether it adds context from servers on request (`includeContext`).
    pub fn has_sampling_context(&self) -> bool {
        self.sampling
            .as_ref()
            .is_some_and(|sampling| sampling.context.is_some())
    }

    /// Whether it can list its roots.
    pub fn has_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// The settings of an extension it supports.
    pub fn extension(&self, id: &str) -> Option<&Raw> {
        self.extensions.as_ref()?.get(id)
    }
}

/// A client's `roots` capability.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RootsCapability {
    /// It says when the list changes.
    pub list_changed: Option<bool>,
    /// Members unknown here.
    pub extra: Object,
}

object!(RootsCapability {
    optional list_changed "listChanged",
});

/// A client's `sampling` capability.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SamplingCapability {
    /// It honours `includeContext`.
    pub context: Option<Object>,
    /// It honours `tools` and `toolChoice`.
    pub tools: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(SamplingCapability {
    optional context "context",
    optional tools "tools",
});

/// A client's `elicitation` capability.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElicitationCapability {
    /// It can show forms.
    pub form: Option<Object>,
    /// It can open URLs.
    pub url: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ElicitationCapability {
    optional form "form",
    optional url "url",
});

/// A client's `tasks` capability (core tasks).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientTasksCapability {
    /// It answers `tasks/list`.
    pub list: Option<Object>,
    /// It answers `tasks/cancel`.
    pub cancel: Option<Object>,
    /// The requests that may become tasks:
    /// `{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}`.
    pub requests: Option<Object<Object>>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ClientTasksCapability {
    optional list "list",
    optional cancel "cancel",
    optional requests "requests",
});

impl ClientTasksCapability {
    /// Whether `sampling/createMessage` may become a task.
    pub fn for_sampling(&self) -> bool {
        offers(self.requests.as_ref(), "sampling", "createMessage")
    }

    /// Whether `elicitation/create` may become a task.
    pub fn for_elicitation(&self) -> bool {
        offers(self.requests.as_ref(), "elicitation", "create")
    }
}

/// What a server can do for a client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerCapabilities {
    /// It has tools.
    pub tools: Option<ListCapability>,
    /// It has resources.
    pub resources: Option<ResourcesCapability>,
    /// It has prompts.
    pub prompts: Option<ListCapability>,
    /// It completes arguments.
    pub completions: Option<Object>,
    /// It sends log messages.
    pub logging: Option<Object>,
    /// Which of the requests it receives may become core tasks.
    pub tasks: Option<ServerTasksCapability>,
    /// Non-standard capabilities, by name.
    pub experimental: Option<Object>,
    /// Settings of extensions, by extension id.
    pub extensions: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ServerCapabilities {
    optional tools "tools",
    optional resources "resources",
    optional prompts "prompts",
    optional completions "completions",
    optional logging "logging",
    optional tasks "tasks",
    optional experimental "experimental",
    optional extensions "extensions",
});

impl ServerCapabilities {
    /// Whether it honours subscriptions to single resources.
    pub fn has_resource_subscriptions(&self) -> bool {
        self.resources
            .as_ref()
            .is_some_and(|resources| resources.subscribe == Some(true))
    }

    /// Whether it says when its tools change.
    pub fn announces_tools(&self) -> bool {
        self.tools
            .as_ref()
            .is_some_and(|tools| tools.list_changed == Some(true))
    }

    /// Whether it says when its prompts change.
    pub fn announces_prompts(&self) -> bool {
        self.prompts
            .as_ref()
            .is_some_and(|prompts| prompts.list_changed == Some(true))
    }

    /// Whether it says when its list of resources changes.
    pub fn announces_resources(&self) -> bool {
        self.resources
            .as_ref()
            .is_some_and(|resources| resources.list_changed == Some(true))
    }

    /// The settings of an extension it supports.
    pub fn extension(&self, id: &str) -> Option<&Raw> {
        self.extensions.as_ref()?.get(id)
    }
}

/// A server's `tools` or `prompts` capability.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListCapability {
    /// It says when the list changes.
    pub list_changed: Option<bool>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ListCapability {
    optional list_changed "listChanged",
});

/// A server's `resources` capability.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourcesCapability {
    /// It honours subscriptions to single resources.
    pub subscribe: Option<bool>,
    /// It says when the list changes.
    pub list_changed: Option<bool>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ResourcesCapability {
    optional subscribe "subscribe",
    optional list_changed "listChanged",
});

/// A server's `tasks` capability (core tasks).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerTasksCapability {
    /// It answers `tasks/list`.
    pub list: Option<Object>,
    /// It answers `tasks/cancel`.
    pub cancel: Option<Object>,
    /// The requests that may become tasks: `{"tools":{"call":{}}}`.
    pub requests: Option<Object<Object>>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ServerTasksCapability {
    optional list "list",
    optional cancel "cancel",
    optional requests "requests",
});

impl ServerTasksCapability {
    /// Whether `tools/call` may become a task.
    pub fn for_tools(&self) -> bool {
        offers(self.requests.as_ref(), "tools", "call")
    }
}

fn offers(requests: Option<&Object<Object>>, group: &str, request: &str) -> bool {
    requests
        .and_then(|groups| groups.get(group))
        .is_some_and(|group| group.contains(request))
}

/// The tasks extension.
pub const EXTENSION_TASKS: &str = "io.modelcontextprotocol/tasks";
/// The extension for user interfaces in tool results (MCP Apps).
pub const EXTENSION_UI: &str = "io.modelcontextprotocol/ui";
/// The extension for clients that authorise as themselves, without a user.
pub const EXTENSION_OAUTH_CLIENT_CREDENTIALS: &str =
    "io.modelcontextprotocol/oauth-client-credentials";
/// The extension for authorisation managed by an enterprise's identity provider.
pub const EXTENSION_ENTERPRISE_MANAGED_AUTHORIZATION: &str =
    "io.modelcontextprotocol/enterprise-managed-authorization";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn t58_an_elicitation_capability_without_modes_means_forms_only() {
        for (text, form, url) in [
            ("{}", false, false),
            (r#"{"elicitation":null}"#, false, false),
            (r#"{"elicitation":{}}"#, true, false),
            (r#"{"elicitation":{"form":{}}}"#, true, false),
            (r#"{"elicitation":{"url":{}}}"#, false, true),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, true, true),
            (r#"{"elicitation":{"voice":{}}}"#, true, false),
        ] {
            let capabilities: ClientCapabilities = serde_json::from_str(text).unwrap();
            assert_eq!(
                (capabilities.elicits_form(), capabilities.elicits_url()),
                (form, url),
                "{text}"
            );
        }
    }

    #[test]
    fn t59_unknown_capabilities_and_extensions_survive() {
        let text = r#"{"sampling":{"tools":{},"speed":1.0},"extensions":{"a.b/c":{"x":[1]}},"later":{"z":1,"a":2}}"#;
        let capabilities: ClientCapabilities = serde_json::from_str(text).unwrap();
        assert!(
            capabilities.has_sampling()
                && capabilities.has_sampling_tools()
                && !capabilities.has_sampling_context()
        );
        assert_eq!(
            capabilities.extension("a.b/c").unwrap().as_str(),
            r#"{"x":[1]}"#
        );
        assert_eq!(serde_json::to_string(&capabilities).unwrap(), text);
    }

    #[test]
    fn task_capabilities_name_the_request() {
        let client = r#"{"requests":{"sampling":{"createMessage":{}},"elicitation":{}}}"#;
        let client: ClientTasksCapability = serde_json::from_str(client).unwrap();
        assert!(client.for_sampling() && !client.for_elicitation());
        let server: ServerTasksCapability =
            serde_json::from_str(r#"{"requests":{"tools":{"call":{}}}}"#).unwrap();
        assert!(server.for_tools());
        assert!(!ServerTasksCapability::default().for_tools());
    }
}
