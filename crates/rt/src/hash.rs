//! Hashes for the log, keyed anew in every process (D-33): equal things can be told to be equal, and a short secret cannot be
//! looked up.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::LazyLock;

/// The hash of some bytes; sixteen hexadecimal digits in the log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Digest(pub u64);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Hashes under the key of this process.
pub fn digest(bytes: &[u8]) -> Digest {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    Digest(KEY.hash_one(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: D-33
    #[test]
    fn d_33_hashes_tell_apart() {
        assert_eq!(digest(b"secret"), digest(b"secret"));
        assert_ne!(digest(b"secret"), digest(b"Secret"));
        assert_eq!(digest(b"secret").to_string().len(), 16);
        // Another key, as another process has it.
        assert_ne!(
            digest(b"secret").0,
            RandomState::new().hash_one(b"secret".as_slice())
        );
    }
}
