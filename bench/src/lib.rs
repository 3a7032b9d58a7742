//! What the measuring programs share: the paths that are counted, the committed figures of both kinds, a client that can be abused and
//! what clients say, clients that look for each other's secrets, and what a process uses. Measures nothing itself.

pub mod figures;
pub mod isolation;
pub mod paths;
pub mod ratios;
pub mod rng;
pub mod usage;
pub mod wire;
pub mod words;
