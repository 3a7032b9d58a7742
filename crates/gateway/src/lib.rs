//! Many MCP servers as one: a [`Handler`](polyport::Handler) over connections to them, for clients of every revision.
//!
//! ```
//! use polyport::{Server, Service, client::Connect};
//! use polyport_gateway::{Gateway, Upstream};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), polyport::ClientError> {
//! # let server = |name, tool| Server::new(name, "1").tool(tool, "", |_cx, (): ()| async { Ok("done") }).into_service();
//! let gateway = Gateway::new([
//!     Upstream::new("mail", Connect::service(server("mail", "send"))),
//!     Upstream::new("files", Connect::service(server("files", "read"))),
//! ]);
//! // Serve it like any other handler: here to a client in this process.
//! let client = Connect::service(Service::new(gateway)).connect().await?;
//! let tools = client.tools().await?;
//! assert_eq!((&*tools[0].name, &*tools[1].name), ("send", "read"));
//! # client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Layout
//! - [`Gateway`]: which request goes where.
//! - `peer`: what one client has of the servers: a connection to each, and the lists.
//! - [`names`]: under which names clients see what the servers offer.
//! - [`Seen`]: what of them clients see at all; [`Stray`]: rules for what a server does not have.
//! - `catalogue`: the lists of all servers as one.
//! - `common`: connections that all clients share.
//! - `fetched`: a list as it was when it was fetched.
//! - `addresses`: names and addresses exchanged in the text of what passes.
//! - [`NameStore`]: what servers called their tools and prompts when they were last there.
//! - `owners`: whose the tasks of a client are, as far as it was seen.
//! - `spelling`: keys that may be read as others.
//! - `tasks`: requests about tasks.
//! - [`through`]: what reaches clients of which revision.

mod addresses;
mod catalogue;
mod common;
mod discover;
mod fetched;
mod gateway;
mod known;
mod lists;
pub mod names;
mod owners;
mod peer;
mod peers;
mod seen;
mod spelling;
mod strays;
mod tasks;
pub mod through;
mod upstream;

pub use gateway::{Gateway, GatewayHandle};
pub use known::{MemoryNames, NameStore, Named};
pub use names::Prefix;
pub use seen::{PatternError, Seen};
pub use strays::Stray;
pub use upstream::Upstream;
