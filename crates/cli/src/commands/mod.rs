//! One file per verb.

pub(crate) mod call;
pub(crate) mod ls;
pub(crate) mod read;
pub(crate) mod serve;
