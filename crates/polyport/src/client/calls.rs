//! More of what a client asks: prompts and completion, and what it is told.

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

impl List {
    /// How it is asked for, and the member of a page that holds it.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Tools => ("tools/list", "tools"),
            Self::Prompts => ("prompts/list", "prompts"),
            Self::Resources => ("resources/list", "resources"),
            Self::Templates => ("resources/templates/list", "resourceTemplates"),
        }
    }
}

impl Client {
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
