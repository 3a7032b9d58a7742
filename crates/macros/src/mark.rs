//! Which attribute a function has, and what follows from that.

use crate::errors::Errors;
use crate::options::{Known, Options};
use crate::part::{Part, Source};
use crate::{prompt, resource, tool};

#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Mark {
    Prompt,
    Resource,
    Tool,
}

impl Mark {
    pub(crate) const ALL: [Self; 3] = [Self::Prompt, Self::Resource, Self::Tool];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Tool => "tool",
        }
    }

    /// Its keys.
    pub(crate) const fn keys(self) -> &'static Known {
        match self {
            Self::Prompt => &prompt::KEYS,
            Self::Resource => &resource::KEYS,
            Self::Tool => &tool::KEYS,
        }
    }

    /// The keys of `#[arg]`.
    pub(crate) const fn argument_keys(self) -> &'static Known {
        match self {
            Self::Prompt => &prompt::ARGUMENT,
            Self::Resource => &resource::ARGUMENT,
            Self::Tool => &tool::ARGUMENT,
        }
    }

    pub(crate) fn part(
        self,
        source: &Source<'_>,
        options: &Options,
        errors: &mut Errors,
    ) -> Option<Part> {
        match self {
            Self::Prompt => Some(prompt::part(source, options, errors)),
            Self::Resource => resource::part(source, options, errors),
            Self::Tool => Some(tool::part(source, options, errors)),
        }
    }
}
