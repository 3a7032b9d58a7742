//! What the measuring programs share: the paths that are counted, and the committed figures. Measures nothing itself.

pub mod figures;
pub mod paths;
