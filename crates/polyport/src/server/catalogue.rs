//! What a server offers at one moment: tools, prompts, resources, templates. A call keeps the one it began with.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::complete::{Completer, Of};
use super::prompts::Prompt;
use super::resources::{Resource, Template};
use super::tools::Registered;

/// All that is offered. Cloning it copies pointers.
#[derive(Clone, Default)]
pub(crate) struct Catalogue {
    routes: HashMap<String, usize>,
    pub(crate) tools: Vec<Arc<Registered>>,
    pub(crate) prompts: Vec<Arc<Prompt>>,
    pub(crate) resources: Vec<Arc<Resource>>,
    pub(crate) templates: Vec<Arc<Template>>,
}

/// There is one of that name, or URI, already.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Taken {
    /// What kind of thing it is.
    pub(crate) kind: &'static str,
    /// Its name.
    pub(crate) name: String,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there are two {}s named {:?}", self.kind, self.name)
    }
}

impl std::error::Error for Taken {}

impl Catalogue {
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<Registered>> {
        self.routes.get(name).map(|at| &self.tools[*at])
    }

    pub(crate) fn prompt(&self, name: &str) -> Option<&Arc<Prompt>> {
        self.prompts.iter().find(|prompt| prompt.name() == name)
    }

    /// What a prompt or a template itself knows of how its arguments go on.
    pub(crate) fn completers(&self, of: &Of) -> &[Completer] {
        match of {
            Of::Prompt(name) => self.prompt(name).map_or(&[], |p| &p.completers),
            Of::Template(form) => {
                let mut templates = self.templates.iter();
                let found = templates.find(|t| t.template.as_str() == form);
                found.map_or(&[], |t| &t.completers)
            }
        }
    }

    /// Does any tool in it run as a task?
    pub(crate) fn has_tasks(&self) -> bool {
        self.tools.iter().any(|tool| tool.as_task.is_allowed())
    }

    /// Does anything in it complete arguments?
    pub(crate) fn completes(&self) -> bool {
        self.prompts.iter().any(|p| !p.completers.is_empty())
            || self.templates.iter().any(|t| !t.completers.is_empty())
    }

    /// Is it the URI of a resource, or the form of a template?
    pub(crate) fn has_resource(&self, uri: &str) -> bool {
        self.templates.iter().any(|t| t.template.as_str() == uri)
            || self.resources.iter().any(|r| r.listed.uri == uri)
    }

    /// May there be a resource of this URI, as far as resources and templates tell?
    pub(crate) fn may_read(&self, uri: &str) -> bool {
        self.resources.iter().any(|r| r.listed.uri == uri)
            || self
                .templates
                .iter()
                .any(|t| t.read.is_some() && t.template.matches(uri).is_some())
    }

    pub(crate) fn add_tool(&mut self, tool: Registered) -> Result<(), Taken> {
        if self.routes.contains_key(&tool.name) {
            return Err(Taken {
                kind: "tool",
                name: tool.name,
            });
        }
        self.routes.insert(tool.name.clone(), self.tools.len());
        self.tools.push(Arc::new(tool));
        Ok(())
    }

    pub(crate) fn remove_tool(&mut self, name: &str) -> bool {
        let Some(at) = self.routes.remove(name) else {
            return false;
        };
        self.tools.remove(at);
        for place in self.routes.values_mut().filter(|place| **place > at) {
            *place -= 1;
        }
        true
    }

    pub(crate) fn add_prompt(&mut self, prompt: Prompt) -> Result<(), Taken> {
        if self.prompt(prompt.name()).is_some() {
            return Err(Taken {
                kind: "prompt",
                name: prompt.name().to_owned(),
            });
        }
        self.prompts.push(Arc::new(prompt));
        Ok(())
    }

    pub(crate) fn remove_prompt(&mut self, name: &str) -> bool {
        shrinks(&mut self.prompts, |prompt| prompt.name() != name)
    }

    pub(crate) fn add_resource(&mut self, resource: Resource) -> Result<(), Taken> {
        if self.has_resource(&resource.listed.uri) {
            return Err(Taken {
                kind: "resource",
                name: resource.listed.uri,
            });
        }
        self.resources.push(Arc::new(resource));
        Ok(())
    }

    pub(crate) fn remove_resource(&mut self, uri: &str) -> bool {
        shrinks(&mut self.resources, |resource| resource.listed.uri != uri)
    }

    pub(crate) fn add_template(&mut self, template: Template) -> Result<(), Taken> {
        if self.has_resource(template.template.as_str()) {
            return Err(Taken {
                kind: "template",
                name: template.template.as_str().to_owned(),
            });
        }
        self.templates.push(Arc::new(template));
        Ok(())
    }

    pub(crate) fn remove_template(&mut self, uri_template: &str) -> bool {
        shrinks(&mut self.templates, |t| t.template.as_str() != uri_template)
    }
}

fn shrinks<T>(items: &mut Vec<T>, keep: impl FnMut(&T) -> bool) -> bool {
    let before = items.len();
    items.retain(keep);
    items.len() < before
}
