//! What the code that the attribute macros write calls. For nobody else: it changes with them.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::str::FromStr;

use polyport_proto::{Code, RpcError};

use crate::error::Fault;
use crate::server::blocking;
use crate::server::context::Cx;
use crate::server::prompts::PromptReply;
use crate::server::resources::{IntoContents, Template, reader};

/// What the function of a prompt may return.
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    label = "not what a prompt comes to",
    note = "return a `PromptReply`, a text, or a `Result` of these whose error is a `Fault` or any `std::error::Error`"
)]
pub trait IntoPromptReply {
    /// The reply, or why there is none.
    fn into_prompt_reply(self) -> Result<PromptReply, Fault>;
}

#[diagnostic::do_not_recommend]
impl<R: Into<PromptReply>> IntoPromptReply for R {
    fn into_prompt_reply(self) -> Result<PromptReply, Fault> {
        Ok(self.into())
    }
}

#[diagnostic::do_not_recommend]
impl<R: Into<PromptReply>, E: Into<Fault>> IntoPromptReply for Result<R, E> {
    fn into_prompt_reply(self) -> Result<PromptReply, Fault> {
        self.map(Into::into).map_err(Into::into)
    }
}

/// See [`IntoPromptReply`].
///
/// # Errors
/// Those of the function.
pub fn prompt_reply(returned: impl IntoPromptReply) -> Result<PromptReply, Fault> {
    returned.into_prompt_reply()
}

/// What the function of a resource may return.
#[diagnostic::on_unimplemented(
    message = "a resource cannot return `{Self}`",
    label = "not the contents of a resource",
    note = "return a text, bytes, `ResourceContents`, or a `Result` of these whose error is a `Fault` or any `std::error::Error`"
)]
pub trait IntoRead {
    /// What it holds.
    type Contents: IntoContents;

    /// The contents, or why there are none.
    fn into_read(self) -> Result<Self::Contents, Fault>;
}

#[diagnostic::do_not_recommend]
impl<T: IntoContents> IntoRead for T {
    type Contents = T;

    fn into_read(self) -> Result<T, Fault> {
        Ok(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: IntoContents, E: Into<Fault>> IntoRead for Result<T, E> {
    type Contents = T;

    fn into_read(self) -> Result<T, Fault> {
        self.map_err(Into::into)
    }
}

/// See [`IntoRead`].
///
/// # Errors
/// Those of the function.
pub fn contents<R: IntoRead>(returned: R) -> Result<R::Contents, Fault> {
    returned.into_read()
}

/// Runs what blocks its thread where it holds nothing up.
///
/// # Errors
/// It was not run: the server is busy, or ends.
pub async fn blocking<T: Send + 'static>(
    function: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    let ran = blocking::run(function).await;
    ran.map_err(|not_run| Fault::rpc(RpcError::new(Code::Internal, not_run.to_string())))
}

/// A template whose function gets the URI's variables one by one.
///
/// # Panics
/// As [`Template::new`] does.
pub fn template<T, F, Fut>(uri_template: &str, name: &str, function: F) -> Template
where
    T: IntoContents,
    F: Fn(Cx, Variables) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, Fault>> + Send + 'static,
{
    let read = reader(move |cx, uri, values| function(cx, Variables { uri, values }));
    Template {
        read: Some(read),
        ..Template::of_source(uri_template, name)
    }
}

/// The values of a URI's variables.
#[derive(Debug)]
pub struct Variables {
    uri: String,
    values: BTreeMap<String, String>,
}

impl Variables {
    /// One of them.
    ///
    /// # Errors
    /// The text is none of the type's: then there is no such resource.
    pub fn parse<T: FromStr<Err: fmt::Display>>(&self, name: &str) -> Result<T, Fault> {
        let value = self.values.get(name).map_or("", String::as_str);
        value.parse().map_err(|error: T::Err| {
            Fault::not_found_because(&self.uri, format!("Resource not found: {name}: {error}"))
        })
    }
}

/// The documents of the attributes, and that for who comes from another SDK, are compiled here, where there is something to use
/// them with.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../macros/docs/tool.md")]
    struct Tool;

    #[doc = include_str!("../../macros/docs/prompt.md")]
    struct Prompt;

    #[doc = include_str!("../../macros/docs/resource.md")]
    struct Resource;

    #[doc = include_str!("../../macros/docs/parts.md")]
    struct Parts;

    #[doc = include_str!("../../../docs/migrate.md")]
    struct Migrate;
}
