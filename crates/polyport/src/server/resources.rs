//! Resources: fixed ones, templates, and sources that list and read as they go.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use polyport_model::{
    Annotations, Icon, Object, Resource as Listed, ResourceContents, ResourceTemplate,
};
use polyport_rt::BoxFuture;

use super::complete::Completer;
use super::context::Cx;
use crate::error::Fault;
use crate::uri_template::UriTemplate;

pub(crate) type Read = Arc<
    dyn Fn(Cx, String, BTreeMap<String, String>) -> BoxFuture<Result<Vec<ResourceContents>, Fault>>
        + Send
        + Sync,
>;

/// What reading a resource may give: a text, bytes as base64 in [`ResourceContents`], or several contents.
pub trait IntoContents {
    /// The contents under this URI, of this type where it says none itself.
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents>;
}

impl IntoContents for String {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents> {
        vec![ResourceContents {
            mime_type: mime_type.map(str::to_owned),
            ..ResourceContents::text(uri, self)
        }]
    }
}

impl IntoContents for &'static str {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents> {
        self.to_owned().into_contents(uri, mime_type)
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents> {
        let text = data_encoding::BASE64.encode(&self);
        vec![ResourceContents {
            mime_type: mime_type.map(str::to_owned),
            ..ResourceContents::blob(uri, text)
        }]
    }
}

impl IntoContents for ResourceContents {
    fn into_contents(self, _uri: &str, _mime_type: Option<&str>) -> Vec<ResourceContents> {
        vec![self]
    }
}

impl IntoContents for Vec<ResourceContents> {
    fn into_contents(self, _uri: &str, _mime_type: Option<&str>) -> Vec<ResourceContents> {
        self
    }
}

macro_rules! describe {
    ($kind:ident) => {
        impl $kind {
            /// A name for people.
            #[must_use]
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.listed.title = Some(title.into());
                self
            }

            /// What it holds.
            #[must_use]
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.listed.description = Some(description.into());
                self
            }

            /// The type of its contents.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.listed.mime_type = Some(mime_type.into());
                self
            }

            /// For whom it is, how important, how old.
            #[must_use]
            pub fn annotations(mut self, annotations: Annotations) -> Self {
                self.listed.annotations = Some(annotations);
                self
            }

            /// Pictures for it.
            #[must_use]
            pub fn icons(mut self, icons: Vec<Icon>) -> Self {
                self.listed.icons = Some(icons);
                self
            }

            /// Its `_meta`.
            #[must_use]
            pub fn meta(mut self, meta: Object) -> Self {
                self.listed.meta = Some(meta);
                self
            }
        }

        impl fmt::Debug for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($kind))
                    .field("name", &self.listed.name)
                    .finish_non_exhaustive()
            }
        }
    };
}

/// A resource with a URI of its own.
pub struct Resource {
    pub(crate) listed: Listed,
    pub(crate) read: Read,
}

describe!(Resource);

impl Resource {
    /// A resource that an async function reads.
    pub fn new<T, F, Fut>(uri: impl Into<String>, name: impl Into<String>, function: F) -> Self
    where
        T: IntoContents,
        F: Fn(Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        Self {
            listed: Listed::new(uri, name),
            read: reader(move |cx, _uri, _values| function(cx)),
        }
    }

    /// Its size in bytes, where it is known.
    #[must_use]
    pub fn size(mut self, bytes: i64) -> Self {
        self.listed.size = Some(bytes);
        self
    }
}

/// Resources that share the form of their URIs.
pub struct Template {
    pub(crate) listed: ResourceTemplate,
    pub(crate) template: UriTemplate,
    /// None: a source reads them.
    pub(crate) read: Option<Read>,
    pub(crate) completers: Vec<Completer>,
}

describe!(Template);

impl Template {
    /// A template whose resources an async function reads; it gets the values of the variables.
    ///
    /// # Panics
    /// `uri_template` cannot be read: a fault in the program, found when it starts.
    pub fn new<T, F, Fut>(uri_template: &str, name: impl Into<String>, function: F) -> Self
    where
        T: IntoContents,
        F: Fn(Cx, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let read = reader(move |cx, _uri, values| function(cx, values));
        Self {
            read: Some(read),
            ..Self::of_source(uri_template, name)
        }
    }

    /// A template whose resources a [`ResourceSource`] reads.
    ///
    /// # Panics
    /// `uri_template` cannot be read.
    pub fn of_source(uri_template: &str, name: impl Into<String>) -> Self {
        let template = UriTemplate::parse(uri_template).unwrap_or_else(|error| panic!("{error}"));
        Self {
            listed: ResourceTemplate::new(uri_template, name),
            template,
            read: None,
            completers: Vec::new(),
        }
    }

    /// Completes one of its variables, as [`Completer::of_template`] does.
    #[must_use]
    pub fn completer<F, Fut>(mut self, variable: impl Into<String>, function: F) -> Self
    where
        F: Fn(Cx, String, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>, Fault>> + Send + 'static,
    {
        let form = self.template.as_str();
        let completer = Completer::of_template(form, variable, function);
        self.completers.push(completer);
        self
    }
}

pub(crate) fn reader<T, Fut>(
    function: impl Fn(Cx, String, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
) -> Read
where
    T: IntoContents,
    Fut: Future<Output = Result<T, Fault>> + Send + 'static,
{
    Arc::new(move |cx, uri, values| {
        let future = function(cx, uri.clone(), values);
        Box::pin(async move { Ok(future.await?.into_contents(&uri, None)) })
    })
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct Page<T> {
    /// What stands on it, in an order that stays the same.
    pub items: Vec<T>,
    /// Where the next page begins; none: this is the last one.
    pub next: Option<String>,
}

/// Resources that are found as one goes, such as the files of a folder.
pub trait ResourceSource: Send + Sync + 'static {
    /// A page, from the place that an earlier page named.
    ///
    /// A place that is not one of the source's own is a [`Fault::invalid_params`].
    fn list(&self, cx: Cx, from: Option<String>) -> BoxFuture<Result<Page<Listed>, Fault>>;

    /// The contents; none: the URI is not one of this source.
    fn read(&self, cx: Cx, uri: String) -> BoxFuture<Result<Option<Vec<ResourceContents>>, Fault>>;

    /// Is there a resource of this URI to subscribe to? Defaults to no. With [`Fault::not_found_because`] it is no in your own words, of a
    /// URI that no other source has.
    ///
    /// Whoever says yes tells its changes to a [`ServerHandle`](crate::ServerHandle), and hears by a [`Watcher`](crate::Watcher) to
    /// which resources somebody is subscribed.
    fn has(&self, cx: Cx, uri: String) -> BoxFuture<Result<bool, Fault>> {
        let _ = (cx, uri);
        Box::pin(std::future::ready(Ok(false)))
    }
}
