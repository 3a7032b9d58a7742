//! Streamable HTTP as decisions: which request is what, which session it belongs to. No sockets, no bodies in flight.

pub mod challenge;
pub mod classify;
pub mod guard;
pub mod headers;
pub mod mirror;
pub mod replay;
pub mod session;

pub use challenge::Challenge;
pub use classify::{Head, PairPath, Refusal, Route, Verb};
pub use guard::Guard;
pub use mirror::{HeaderParam, Mirror, ParamKind};
pub use replay::{EventId, Log};
pub use session::{Occupied, SessionId, Sessions};
