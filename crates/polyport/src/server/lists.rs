//! What a server says of itself: discovery and the four lists, page by page.

use std::borrow::Cow;
use std::sync::Arc;

use polyport_model::CacheScope;
use polyport_proto::Outcome;
use polyport_proto::revision::Profile;
use polyport_wire::{Member, Params, Raw, write};
use serde::Serialize;

use super::context::Cx;
use super::reply::{fault_outcome, meta};
use super::{Facts, tasks};
use crate::cursor;
use crate::error::Fault;

impl Facts {
    /// Capabilities and instructions: all that is offered is declared, and nothing else.
    pub(super) fn discover(&self, cx: &Cx) -> Outcome {
        let profile = cx.revision().profile();
        let changes = self.shared.may_change();
        let mut out = b"{\"capabilities\":{\"logging\":{}".to_vec();
        for (name, offered, members) in [
            ("tools", self.declared.tools, "\"listChanged\":true"),
            (
                "resources",
                self.declared.resources,
                "\"subscribe\":true,\"listChanged\":true",
            ),
            ("prompts", self.declared.prompts, "\"listChanged\":true"),
            ("completions", self.declared.completions, ""),
        ] {
            if offered {
                let members = if changes { members } else { "" };
                out.extend_from_slice(format!(",\"{name}\":{{{members}}}").as_bytes());
            }
        }
        if self.declared.tasks {
            out.extend_from_slice(tasks::capability(cx).as_bytes());
        }
        out.push(b'}');
        if let Some(instructions) = &self.instructions {
            out.extend_from_slice(b",\"instructions\":");
            write::string(&mut out, instructions);
        }
        self.hints(&mut out, profile);
        // The legacy handshake names the server too; its codec takes the name from here.
        meta(
            &mut out,
            None,
            &Profile {
                server_info_in_results: true,
                ..*profile
            },
            &self.info,
        );
        out.push(b'}');
        Outcome::Complete(Raw::trusted(out))
    }

    pub(super) fn list_tools(&self, cx: &Cx, params: &Params) -> Outcome {
        let profile = cx.revision().profile();
        let catalogue = self.catalogue();
        let page = match self.page(params, catalogue.tools.len()) {
            Ok(page) => page,
            Err(fault) => return fault_outcome("tools/list", fault),
        };
        let items = catalogue.tools[page.0]
            .iter()
            .map(|tool| tool.listed(profile).as_bytes());
        self.list("tools", items, page.1, profile)
    }

    pub(super) fn list_prompts(&self, cx: &Cx, params: &Params) -> Outcome {
        let catalogue = self.catalogue();
        match self.page(params, catalogue.prompts.len()) {
            Ok((range, next)) => self.encode(
                "prompts",
                catalogue.prompts[range].iter().map(|p| &p.listed),
                next,
                cx,
            ),
            Err(fault) => fault_outcome("prompts/list", fault),
        }
    }

    pub(super) fn list_templates(&self, cx: &Cx, params: &Params) -> Outcome {
        let catalogue = self.catalogue();
        match self.page(params, catalogue.templates.len()) {
            Ok((range, next)) => self.encode(
                "resourceTemplates",
                catalogue.templates[range].iter().map(|t| &t.listed),
                next,
                cx,
            ),
            Err(fault) => fault_outcome("resources/templates/list", fault),
        }
    }

    /// First the fixed resources, then those of each source.
    pub(super) async fn list_resources(facts: Arc<Self>, cx: Cx, params: Params) -> Outcome {
        match facts.resources_page(&cx, &params).await {
            Ok((items, next)) => facts.encode("resources", items.iter(), next, &cx),
            Err(fault) => fault_outcome("resources/list", fault),
        }
    }

    async fn resources_page(
        &self,
        cx: &Cx,
        params: &Params,
    ) -> Result<(Vec<polyport_model::Resource>, Option<String>), Fault> {
        let (mut part, mut from) = match cursor_of(params)? {
            None => (0, None),
            Some(text) => {
                let (part, inner) = cursor::decode(&text).ok_or_else(bad_cursor)?;
                (part, Some(inner).filter(|inner| !inner.is_empty()))
            }
        };
        if part > self.sources.len() {
            return Err(bad_cursor());
        }
        let mut items = Vec::new();
        if part == 0 {
            let start = from
                .take()
                .map_or(Ok(0), |at| at.parse::<usize>())
                .map_err(|_| bad_cursor())?;
            let resources = &self.catalogue().resources;
            let end = start.saturating_add(self.page).min(resources.len());
            let found = resources.get(start..end).ok_or_else(bad_cursor)?;
            items.extend(found.iter().map(|r| r.listed.clone()));
            if end < resources.len() {
                return Ok((items, Some(cursor::encode(0, &end.to_string()))));
            }
            part = 1;
        }
        while part <= self.sources.len() {
            let page = self.sources[part - 1].list(cx.clone(), from.take()).await?;
            items.extend(page.items);
            if let Some(next) = page.next {
                return Ok((items, Some(cursor::encode(part, &next))));
            }
            part += 1;
            if items.len() >= self.page && part <= self.sources.len() {
                return Ok((items, Some(cursor::encode(part, ""))));
            }
        }
        Ok((items, None))
    }

    /// Which entries stand on the page that the cursor names, and the cursor of the next one.
    fn page(
        &self,
        params: &Params,
        len: usize,
    ) -> Result<(std::ops::Range<usize>, Option<String>), Fault> {
        let start = match cursor_of(params)? {
            None => 0,
            Some(text) => {
                let place = cursor::decode(&text)
                    .filter(|(part, _)| *part == 0)
                    .and_then(|(_, at)| at.parse().ok());
                place.filter(|at| *at <= len).ok_or_else(bad_cursor)?
            }
        };
        let end = start.saturating_add(self.page).min(len);
        Ok((
            start..end,
            (end < len).then(|| cursor::encode(0, &end.to_string())),
        ))
    }

    fn encode<'a, T: Serialize + 'a>(
        &self,
        key: &str,
        items: impl Iterator<Item = &'a T>,
        next: Option<String>,
        cx: &Cx,
    ) -> Outcome {
        let texts: Vec<_> = items
            .map(|item| serde_json::to_vec(item).expect("made of texts and JSON"))
            .collect();
        self.list(
            key,
            texts.iter().map(Vec::as_slice),
            next,
            cx.revision().profile(),
        )
    }

    fn list<'a>(
        &self,
        key: &str,
        items: impl Iterator<Item = &'a [u8]>,
        next: Option<String>,
        profile: &Profile,
    ) -> Outcome {
        let mut out = format!("{{\"{key}\":[").into_bytes();
        for (i, item) in items.enumerate() {
            if i > 0 {
                out.push(b',');
            }
            out.extend_from_slice(item);
        }
        out.push(b']');
        if let Some(next) = next {
            out.extend_from_slice(b",\"nextCursor\":");
            write::string(&mut out, &next);
        }
        self.hints(&mut out, profile);
        meta(&mut out, None, profile, &self.info);
        out.push(b'}');
        Outcome::Complete(Raw::trusted(out))
    }

    /// How long the result may be kept, where the revision says so.
    pub(super) fn hints(&self, out: &mut Vec<u8>, profile: &Profile) {
        if profile.cache_hints {
            let ttl = i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX);
            out.extend_from_slice(b",\"ttlMs\":");
            write::integer(out, ttl);
            out.extend_from_slice(match self.scope {
                CacheScope::Public => b",\"cacheScope\":\"public\"".as_slice(),
                CacheScope::Private => b",\"cacheScope\":\"private\"",
            });
        }
    }
}

/// The cursor that was sent: null is none, and what is no text is none of ours.
fn cursor_of(params: &Params) -> Result<Option<Cow<'_, str>>, Fault> {
    match params.cursor() {
        None if params
            .member(Member::Cursor)
            .is_some_and(|sent| sent.as_str() != "null") =>
        {
            Err(bad_cursor())
        }
        cursor => Ok(cursor),
    }
}

fn bad_cursor() -> Fault {
    Fault::invalid_params("The cursor is not one of this list: begin again without a cursor")
}
