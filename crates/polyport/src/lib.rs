//! MCP servers in Rust: every revision of the protocol, every transport, one handler.
//!
//! ```
//! use polyport::{Server, schemars::JsonSchema, serde::Deserialize};
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(crate = "polyport::serde")]
//! #[schemars(crate = "polyport::schemars")]
//! struct Forecast {
//!     /// Name of the city.
//!     city: String,
//! }
//!
//! let server = Server::new("weather", "1.0.0")
//!     .tool("forecast", "Forecast for a city, in degrees Celsius.", |_cx, a: Forecast| async move { Ok(format!("{}: 21 °C", a.city)) });
//! # let _ = server;
//! ```
//!
//! The same with attributes (feature `macros`, on by default), which say nothing that the builder cannot say:
//!
#![cfg_attr(feature = "macros", doc = "```")]
#![cfg_attr(not(feature = "macros"), doc = "```ignore")]
//! use polyport::{Server, tool};
//!
//! /// Forecast for a city, in degrees Celsius.
//! #[tool(read_only)]
//! async fn forecast(
//!     /// Name of the city.
//!     city: String,
//!     /// How many days ahead.
//!     #[arg(default = 1, range(min = 1, max = 14))]
//!     days: u32,
//! ) -> String {
//!     format!("{city} in {days} days: 21 °C")
//! }
//!
//! let server = Server::new("weather", "1.0.0").add_tool(forecast::tool());
//! # let _ = server;
//! ```
//!
//! # Layout
//! - [`Server`]: what a server offers; [`Tool`], [`Prompt`], [`Resource`] and their kin are its parts.
//! - [`Parts`]: several of them that share a value.
#![cfg_attr(
    feature = "macros",
    doc = "- [`macro@tool`], [`macro@prompt`], [`macro@resource`], [`macro@parts`]: the same from functions."
)]
//! - [`Cx`]: what a call may say before it ends. [`ToolError`], [`Fault`]: the two ways in which it fails.
//! - [`ask`]: questions to the user or the client's model in the middle of a call.
//! - [`Handles`], [`Cx::session`]: what is kept for a client from call to call. [`layer`]: what stands around all calls.
//! - [`Server::handle`] and [`ServerHandle`]: what changes while a server is served. [`Watcher`]: what of it somebody wants to hear.
//! - [`client`]: the other side, to any server.
//! - [`stdio`], [`http`]: the last line of a program. [`testing`]: the same without sockets.
//! - [`roots`]: what the roots of a client leave of a server's folders.
//! - [`percent`]: the escapes of addresses, undone. [`schema`]: JSON Schemas of arguments and their check. [`model`]: the specification's nouns.

pub mod ask;
#[cfg(unix)]
pub mod client;
mod closing;
pub mod cursor;
mod decode;
mod error;
pub mod handles;
pub mod http;
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod macros;
pub mod percent;
pub mod roots;
pub mod schema;
pub mod server;
#[cfg(unix)]
pub mod stdio;
pub mod testing;
pub mod uri_template;

pub use ask::{Answer, AskError, Visit};
#[cfg(unix)]
pub use client::{Client, ClientError};
pub use error::{Fault, ToolError};
pub use handles::Handles;
#[cfg(feature = "macros")]
pub use polyport_macros::{parts, prompt, resource, tool};
pub use polyport_model as model;
pub use polyport_model::{Content, Level};
pub use polyport_proto::{
    ClientFacts, Code, Envelope, Era, Limits, NeedInput, Notice, Outcome, Principal, Question,
    Revision, Revisions, RpcError,
};
#[cfg(unix)]
pub use polyport_rt::Command;
pub use polyport_rt::shield::idle as shielded;
pub use polyport_rt::{
    BoxFuture, Bus, Call, CallError, Caller, CancelReason, Context, Ended, Handler, LastMessage,
    Late, Layer, MAX_QUESTIONS, Next, OnProgress, OpenRequest, Opened, Patience, SealKey, Service,
    Speaker, Stage, Standing, StartError, Started, Stats, Status, Stop, Stopper, TaskLimits,
    TaskStore, Tasks, Wait, Watcher, layer, stop, tasks,
};
pub use polyport_wire::Raw;
pub use server::as_task::TaskMode;
pub use server::blocking::blocking;
pub use server::catalogue::Taken;
pub use server::complete::Completer;
pub use server::context::Cx;
pub use server::handle::{ServerHandle, WeakServerHandle};
pub use server::parts::Parts;
pub use server::prompts::{Prompt, PromptReply};
pub use server::reply::{IntoToolResult, Json};
pub use server::resources::{IntoContents, Page, Resource, ResourceSource, Template};
pub use server::result::ToolResult;
pub use server::tools::Tool;
pub use server::{Kind, Server};
pub use {schemars, serde, serde_json};
