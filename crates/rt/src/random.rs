//! Random bytes from the system, for ids and keys. The one place where they are drawn.

use std::fmt;

use ring::rand::{SecureRandom, SystemRandom};

/// The system gave no random bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NoRandomness;

impl fmt::Display for NoRandomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the system gave no random bytes")
    }
}

impl std::error::Error for NoRandomness {}

/// Fills a buffer with bytes that nobody can guess.
///
/// # Errors
/// The system gave none.
pub fn fill(bytes: &mut [u8]) -> Result<(), NoRandomness> {
    SystemRandom::new().fill(bytes).map_err(|_| NoRandomness)
}
