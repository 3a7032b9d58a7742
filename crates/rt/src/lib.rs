//! Runs a peer on tokio: the driver loop, stdio, the in-memory pair, and what a handler is. No protocol rules of its own.
//!
//! # Layout
//! - [`Handler`]: what everything that answers MCP requests implements; [`Call`] is what it gets.
//! - [`Context`]: what a call may say before it ends, and how it learns that nobody waits any more.
//! - [`layer`]: what stands around a handler: time-outs, bounds, spans, and layers of an author's own.
//! - [`run`]: polls a call once in place and spawns it only if it is not ready.
//! - [`driver`]: the loop of a line-framed connection; [`stdio`], [`memory`]: where its bytes come from.
//! - [`ask`]: questions in the middle of a call, the same in both eras; [`seal`]: what of a call travels with its client meanwhile.
//! - [`bus`]: what changes outside of calls, and who hears of it; [`listen`]: how a client asks to.
//! - [`life`]: what a handler does before the first client and after the last; [`stats`]: what lives, and what became of calls.
//! - [`tasks`]: calls that go on by themselves, where they are kept, and what may be asked of them.
//! - [`clock`], [`stop`]: the time, and the end.

pub mod ask;
pub mod bus;
pub mod caller;
#[cfg(unix)]
pub mod child;
pub mod clock;
pub mod context;
pub mod driver;
mod end;
pub mod fault;
pub mod handler;
pub mod hash;
pub mod heap;
mod journal;
pub mod layer;
pub mod life;
pub mod listen;
mod marks;
pub mod memory;
pub mod outbox;
mod pages;
mod question;
pub mod quota;
pub mod random;
mod revocation;
mod rounds;
pub mod run;
mod said;
pub mod seal;
pub mod service;
mod settle;
pub mod shield;
mod state;
pub mod stats;
#[cfg(unix)]
pub mod stdio;
pub mod stop;
pub mod tasks;
pub mod threads;

pub use ask::Ask;
pub use bus::{Alert, Bus, Listener, Watcher};
pub use caller::{
    Answerer, CallError, Caller, Carrier, Inbox, LastMessage, Late, MAX_ANSWER, MAX_QUESTIONS,
    Offer, OnNote, OnNotification, OnProgress, OpenRequest, Opened, Outgoing, Patience, Request,
    Speaker, Stage, Standing, Status, Tap, Wait, Why, tapped,
};
#[cfg(unix)]
pub use child::{Child, Command, Running, kill_all};
pub use clock::Clock;
pub use context::{Call, CancelReason, Context, Outlet};
pub use driver::Ended;
pub use handler::{BoxFuture, DynHandler, Handler, StartError};
pub use layer::{Layer, Next};
pub use life::Started;
pub use pages::Visit;
pub use question::{Asked, Asker, NoAnswer};
pub use revocation::Revocation;
pub use seal::SealKey;
pub use service::Service;
pub use stats::Stats;
pub use stop::{Stop, Stopper};
pub use tasks::{TaskLimits, TaskStore, Tasks};
pub use threads::Threads;
