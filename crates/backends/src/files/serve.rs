//! The files back-end as a part of an MCP server: the operations as tools, the files as resources. What is done with the disk
//! stands elsewhere.

use std::sync::Arc;
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use polyport::model::{Completion, Resource as Listed, ResourceContents};
use polyport::{BoxFuture, Completer, Cx, Fault, Page, ResourceSource, Server, Template};

use super::resources::{self, Body, Contents};
use super::watch::Watch;
use super::{FilesError, Folders};

mod tools;
mod view;

pub use view::Roots;
use view::Views;

/// What may be done with the folders.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Access {
    /// They are only read: there are no tools that change anything.
    #[default]
    Read,
    /// They are read and changed.
    Write,
}

impl Access {
    /// How a model should use the tools.
    pub fn instructions(self) -> &'static str {
        match self {
            Self::Read => {
                "files: paths are relative to a served folder, or absolute inside one. Find names with search_files, text \
                 with search_contents, then read with read_text_file. Nothing can be changed."
            }
            Self::Write => {
                "files: paths are relative to a served folder, or absolute inside one. Find names with search_files, text \
                 with search_contents, then read with read_text_file. Change a text with edit_file; write_file writes all \
                 of it anew."
            }
        }
    }
}

/// How long files are counted.
const COUNTING: Duration = Duration::from_millis(250);

/// How many resources there are, and whether there are more: those of the first page. None where it would take long.
pub fn count_resources(folders: &Folders) -> Option<(usize, bool)> {
    let begun = Instant::now();
    let page = resources::list(folders, None, &|| begun.elapsed() > COUNTING).ok()?;
    Some((page.resources.len(), page.next_cursor.is_some()))
}

/// Adds the tools, the resources and the completion of paths to a server. Files may be subscribed to; there can be one such
/// back-end in a server.
pub fn extend(server: Server, folders: Folders, access: Access, roots: Roots) -> Server {
    let folders = Arc::new(folders);
    let views = Views::new(folders.clone(), roots);
    let watch = Watch::new(folders.clone(), server.handle().downgrade());
    let mut server = tools::add(Views::remember(server), &views, &watch, access);
    for template in resources::templates(&folders) {
        let listed = Template::of_source(&template.uri_template, template.name)
            .title("A file")
            .description("Any file below the folder, by its path.");
        server = server
            .add_template(listed)
            .completer(paths(&views, template.uri_template));
    }
    let files = Files(views, watch.clone());
    server.watcher(watch).resource_source(files)
}

/// Completion of the path in one of the templates.
fn paths(views: &Views, uri_template: String) -> Completer {
    let (views, template) = (views.clone(), uri_template.clone());
    Completer::of_template_counted(uri_template, "path", move |cx, typed, _settled| {
        let (views, template) = (views.clone(), template.clone());
        async move {
            let folders = views.of(&cx).await?;
            off_thread(move || {
                let found =
                    resources::complete_seen(&views.ceiling, &folders, &template, &typed, &|| {
                        cx.is_cancelled()
                    })?;
                Ok(Completion {
                    has_more: Some(found.has_more()),
                    total: i64::try_from(found.total).ok(),
                    values: found.values,
                    ..Completion::default()
                })
            })
            .await
        }
    })
}

fn contents(contents: Contents) -> Vec<ResourceContents> {
    let made = match contents.body {
        Body::Text(text) => ResourceContents::text(contents.uri, text),
        Body::Blob(bytes) => ResourceContents::blob(contents.uri, BASE64.encode(&bytes)),
    };
    vec![ResourceContents {
        mime_type: contents.mime_type,
        ..made
    }]
}

/// The files as resources.
struct Files(Views, Arc<Watch>);

impl ResourceSource for Files {
    fn list(&self, cx: Cx, from: Option<String>) -> BoxFuture<Result<Page<Listed>, Fault>> {
        let views = self.0.clone();
        Box::pin(async move {
            let folders = views.of(&cx).await?;
            let page = off_thread(move || {
                resources::list(&folders, from.as_deref(), &|| cx.is_cancelled())
            })
            .await?;
            let items = page.resources.into_iter().map(|r| Listed {
                mime_type: r.mime_type,
                size: r.size.and_then(|size| i64::try_from(size).ok()),
                ..Listed::new(r.uri, r.name)
            });
            Ok(Page {
                items: items.collect(),
                next: page.next_cursor,
            })
        })
    }

    fn read(&self, cx: Cx, uri: String) -> BoxFuture<Result<Option<Vec<ResourceContents>>, Fault>> {
        let views = self.0.clone();
        Box::pin(async move {
            if !uri.starts_with("file:") {
                return Ok(None);
            }
            let folders = views.of(&cx).await?;
            let named = uri.clone();
            let read = move || resources::read(&folders, &uri, &|| cx.is_cancelled()).map(contents);
            let read = tokio::task::spawn_blocking(read).await;
            let read = read.map_err(Fault::internal)?;
            read.map(Some).map_err(|error| fault_of(&error, &named))
        })
    }

    fn has(&self, cx: Cx, uri: String) -> BoxFuture<Result<bool, Fault>> {
        let (views, watch) = (self.0.clone(), self.1.clone());
        Box::pin(async move {
            if !uri.starts_with("file:") {
                return Ok(false);
            }
            let folders = views.of(&cx).await?;
            let checked = tokio::task::spawn_blocking(move || {
                resources::check(&folders, &uri)
                    .map_err(|error| Fault::not_found_because(&uri, error.to_string()))?;
                watch.check(&uri).map_err(Fault::invalid_params)
            });
            checked.await.map_err(Fault::internal)?.map(|()| true)
        })
    }
}

/// Runs what blocks on the disk elsewhere, and words its failure for the protocol.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FilesError> + Send + 'static,
) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work)
        .await
        .map_err(Fault::internal)?;
    done.map_err(|error| fault_of(&error, ""))
}

/// What went wrong with what this URI names.
fn fault_of(error: &FilesError, uri: &str) -> Fault {
    match error {
        FilesError::Failed { source, .. } => Fault::internal(format!("{error}: {source}")),
        _ if error.is_missing() && !uri.is_empty() => {
            Fault::not_found_because(uri, error.to_string())
        }
        _ => Fault::invalid_params(error.to_string()),
    }
}
