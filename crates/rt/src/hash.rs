//! Hashes for the log, keyed anew in every process (D-33): equal things can be told to be equal, and a short secret cannot be
//! looked up. And fingerprints, which are the same in every process.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use ring::digest::{Context, SHA256};

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

/// The SHA-256 of some texts in their order, in hexadecimal digits: for what is kept beyond this process.
pub fn fingerprint<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut context = Context::new(&SHA256);
    for text in texts {
        // So that no two texts can be read as one, or as two others.
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text);
    }
    HEXLOWER.encode(context.finish().as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: D-42
    #[test]
    fn d_42_fingerprints_keep_texts_apart() {
        let of = |texts: &[&str]| fingerprint(texts.iter().map(|text| text.as_bytes()));
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        assert_eq!(of(&["a"]).len(), 64);
        for other in [
            &["ab"][..],
            &["a", "", "b"],
            &["b", "a"],
            &["a"],
            &["a", "b", ""],
        ] {
            assert_ne!(of(&["a", "b"]), of(other), "{other:?}");
        }
    }

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
