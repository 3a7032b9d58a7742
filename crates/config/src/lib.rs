//! Configurations of MCP servers, ours and those of every AI host: read with their lines, expanded, shown without secrets, and
//! changed without touching anything else. Starts nothing, prints nothing, and knows the environment only as it is told.
//!
//! # Layout
//! - `node`: a text of JSON or TOML as values with lines. `file`, `entry`: the servers in it. `fault`: what is wrong, and where.
//! - `hosts`, `places`: where each host keeps its file. `lookup`: a server by its name.
//! - `own`: where our own file is. `check`, `settings`: what it may say, to the letter. `change`: what it becomes.
//! - `install`: an entry in a host's file. `edit`: in its text. `write`: onto the disk. `undo`: and back to the byte.
//! - `word`: what a word on the command line means.
//! - `variables`: what is filled in. `secret`, `single`, `mask`: what is not shown. `masked`: a whole file without it.

mod change;
mod check;
mod edit;
mod entry;
mod fault;
mod file;
mod hosts;
mod install;
mod lookup;
pub mod mask;
mod masked;
mod node;
pub mod own;
mod places;
mod secret;
mod settings;
mod single;
mod undo;
mod variables;
mod word;
mod write;

pub use change::Change;
pub use check::is_name;
pub use edit::{Refused, Spot};
pub use entry::{Entry, Field, Remote, Start, Way};
pub use fault::{Fault, nearest};
pub use file::{Servers, parse, text};
pub use hosts::{Base, HOSTS, Host, HostFile, Shape, Url, host};
pub use install::{Place, Plan, written};
pub use lookup::{
    Found, Means, Own, discovered, env_file, find, names, names_of_host, of_host, of_project,
};
pub use masked::masked;
pub use node::{Format, Node, Unreadable, Value};
pub use places::{Os, Places};
pub use secret::{MASK, is_secret_name};
pub use settings::{Era, Rules, Sessions, Settings};
pub use undo::Record;
pub use variables::{Expanded, Give, Origin, Scope, expand};
pub use word::{Misfit, Word};
