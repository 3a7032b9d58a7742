//! More of what a client asks: prompts, completion, and lists as they came.

use polyport_model::{
    Complete, CompleteParams, CompleteResult, GetPrompt, GetPromptParams, GetPromptResult, Object,
};
use polyport_wire::Raw;

use super::{Client, ClientError};

/// A list that a server offers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum List {
    /// Its tools.
    Tools,
    /// Its prompts.
    Prompts,
    /// Its resources.
    Resources,
    /// Its templates of resources.
    Templates,
}

impl Client {
    /// All entries of a list as they came, page by page.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn entries(&self, list: List) -> Result<Vec<Raw>, ClientError> {
        let offered = &self.opened.capabilities;
        let (what, is_offered, method, member) = match list {
            List::Tools => ("tools", offered.tools.is_some(), "tools/list", "tools"),
            List::Prompts => (
                "prompts",
                offered.prompts.is_some(),
                "prompts/list",
                "prompts",
            ),
            List::Resources => (
                "resources",
                offered.resources.is_some(),
                "resources/list",
                "resources",
            ),
            List::Templates => (
                "resources",
                offered.resources.is_some(),
                "resources/templates/list",
                "resourceTemplates",
            ),
        };
        self.offers(what, is_offered)?;
        self.list(method, member).await
    }

    /// The messages of a prompt.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Object<String>,
    ) -> Result<GetPromptResult, ClientError> {
        self.offers("prompts", self.opened.capabilities.prompts.is_some())?;
        let params = GetPromptParams {
            name: name.to_owned(),
            arguments: Some(arguments),
            ..GetPromptParams::default()
        };
        self.request::<GetPrompt>(&params).await
    }

    /// What may stand for an argument of a prompt or of a template.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn complete(&self, params: &CompleteParams) -> Result<CompleteResult, ClientError> {
        // Servers older than the capability answer without declaring it.
        let declares = self.opened.revision.profile().completions_capability;
        let offered = self.opened.capabilities.completions.is_some();
        self.offers("completion", offered || !declares)?;
        self.request::<Complete>(params).await
    }

    /// The next notification that nothing else here takes, as it came: log messages, and in the legacy era what changes. The newest that
    /// nobody has taken are kept. None: the connection has ended. Not beside [`changes`](Self::changes), which takes them.
    pub async fn notification(&self) -> Option<Raw> {
        let note = self.caller.notification().await?;
        Some(Raw::trusted(note.slice_ref(note.trim_ascii())))
    }
}
