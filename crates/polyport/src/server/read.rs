//! Reading a resource: fixed ones first, then templates, then sources.

use std::collections::BTreeMap;
use std::sync::Arc;

use polyport_model::ResourceContents;
use polyport_proto::Outcome;
use polyport_wire::{Params, Raw};

use super::Facts;
use super::context::Cx;
use super::reply::{fault_outcome, meta};
use crate::error::Fault;

impl Facts {
    pub(super) async fn read(facts: Arc<Self>, cx: Cx, params: Params) -> Outcome {
        let Some(uri) = params.uri().map(std::borrow::Cow::into_owned) else {
            return fault_outcome(
                "resources/read",
                Fault::invalid_params("resources/read: uri is missing or not a text"),
            );
        };
        let profile = cx.revision().profile();
        match facts.contents(cx, uri).await {
            Ok(contents) => {
                let mut out = b"{\"contents\":".to_vec();
                out.extend_from_slice(&serde_json::to_vec(&contents).expect("made of texts"));
                facts.hints(&mut out, profile);
                meta(&mut out, None, profile, &facts.info);
                out.push(b'}');
                Outcome::Complete(Raw::trusted(out))
            }
            Err(fault) => fault_outcome("resources/read", fault),
        }
    }

    async fn contents(&self, cx: Cx, uri: String) -> Result<Vec<ResourceContents>, Fault> {
        let catalogue = self.catalogue();
        if let Some(resource) = catalogue.resources.iter().find(|r| r.listed.uri == uri) {
            let contents = (resource.read)(cx, uri, BTreeMap::new()).await?;
            return Ok(typed(contents, resource.listed.mime_type.as_deref()));
        }
        for template in &catalogue.templates {
            let Some(read) = &template.read else { continue };
            if let Some(values) = template.template.matches(&uri) {
                let contents = read(cx, uri, values).await?;
                return Ok(typed(contents, template.listed.mime_type.as_deref()));
            }
        }
        for source in &self.sources {
            if let Some(contents) = source.read(cx.clone(), uri.clone()).await? {
                return Ok(contents);
            }
        }
        Err(Fault::not_found(&uri))
    }
}

/// Contents that say no type have the one of their resource.
fn typed(mut contents: Vec<ResourceContents>, mime_type: Option<&str>) -> Vec<ResourceContents> {
    for content in &mut contents {
        if content.mime_type.is_none() {
            content.mime_type = mime_type.map(str::to_owned);
        }
    }
    contents
}
