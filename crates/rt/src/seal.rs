//! Sealing what travels with a client and comes back: nobody else can read it, change it, or use it where it does not belong.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use data_encoding::BASE64URL_NOPAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};

use crate::random::{self, NoRandomness};

/// First byte of what we seal.
const VERSION: u8 = 1;
const KEY_ID: usize = 4;
/// Version, key id, expiry, nonce.
const HEAD: usize = 1 + KEY_ID + 8 + NONCE_LEN;

/// A key of 256 bits. Replicas that serve each other's clients share it.
pub struct SealKey {
    id: [u8; KEY_ID],
    key: LessSafeKey,
}

impl SealKey {
    /// The key of these bytes, which must be random.
    pub fn new(bytes: [u8; 32]) -> Self {
        let mut id = [0; KEY_ID];
        id.copy_from_slice(&digest(&SHA256, &bytes).as_ref()[..KEY_ID]);
        let key = UnboundKey::new(&AES_256_GCM, &bytes).expect("a key of this cipher has 32 bytes");
        Self {
            id,
            key: LessSafeKey::new(key),
        }
    }

    /// A key of this process alone.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn random() -> Result<Self, NoRandomness> {
        let mut bytes = [0; 32];
        random::fill(&mut bytes)?;
        Ok(Self::new(bytes))
    }

    /// The keys in a text: one a line, 32 bytes in base64 or hexadecimal; empty lines and those that begin with `#` are passed over.
    ///
    /// # Errors
    /// The number of a line that is no key, or 0 where there is none at all.
    pub fn read_all(text: &str) -> Result<Vec<Self>, usize> {
        let mut keys = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bytes = data_encoding::HEXLOWER_PERMISSIVE
                .decode(line.as_bytes())
                .or_else(|_| data_encoding::BASE64.decode(line.as_bytes()))
                .or_else(|_| BASE64URL_NOPAD.decode(line.as_bytes()));
            let bytes: Option<[u8; 32]> = bytes.ok().and_then(|bytes| bytes.try_into().ok());
            keys.push(Self::new(bytes.ok_or(number + 1)?));
        }
        if keys.is_empty() { Err(0) } else { Ok(keys) }
    }
}

impl fmt::Debug for SealKey {
    /// A key is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(…)")
    }
}

/// The keys in use: the first seals, all of them open. While keys rotate there are two.
#[derive(Debug, Default)]
pub struct Seals(RwLock<Vec<SealKey>>);

impl Seals {
    /// These keys. None: one of this process alone is made when it is first needed.
    pub fn new(keys: Vec<SealKey>) -> Self {
        Self(RwLock::new(keys))
    }

    /// Other keys from now on.
    pub fn rotate(&self, keys: Vec<SealKey>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    /// Seals a text until `expiry`, in seconds since 1970. Only the same `bound` opens it.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn seal(&self, text: &[u8], bound: &[u8], expiry: u64) -> Result<String, NoRandomness> {
        let mut nonce = [0; NONCE_LEN];
        random::fill(&mut nonce)?;
        self.with_first(|key| {
            let mut sealed = Vec::with_capacity(HEAD + text.len() + AES_256_GCM.tag_len());
            sealed.push(VERSION);
            sealed.extend_from_slice(&key.id);
            sealed.extend_from_slice(&expiry.to_be_bytes());
            sealed.extend_from_slice(&nonce);
            let aad = [&sealed[..HEAD - NONCE_LEN], bound].concat();
            let mut body = text.to_vec();
            key.key
                .seal_in_place_append_tag(
                    Nonce::assume_unique_for_key(nonce),
                    Aad::from(aad),
                    &mut body,
                )
                .expect("the text is far shorter than the cipher's bound");
            sealed.extend_from_slice(&body);
            BASE64URL_NOPAD.encode(&sealed)
        })
    }

    /// Opens what was sealed with the same `bound`, before its expiry. None: it was not, or not by us, or not in this form; which of
    /// them is nobody's business.
    pub fn open(&self, sealed: &str, bound: &[u8], now: u64) -> Option<Vec<u8>> {
        let sealed = BASE64URL_NOPAD.decode(sealed.as_bytes()).ok()?;
        let (head, body) = sealed.split_at_checked(HEAD)?;
        let (version, rest) = head.split_at(1);
        let (id, rest) = rest.split_at(KEY_ID);
        let (expiry, nonce) = rest.split_at(8);
        if version != [VERSION] || now >= u64::from_be_bytes(expiry.try_into().ok()?) {
            return None;
        }
        let nonce: [u8; NONCE_LEN] = nonce.try_into().ok()?;
        let aad = [&head[..HEAD - NONCE_LEN], bound].concat();
        let keys = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let key = keys.iter().find(|key| key.id == id)?;
        let mut body = body.to_vec();
        let text = key.key.open_in_place(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(aad),
            &mut body,
        );
        text.ok().map(|text| text.to_vec())
    }

    fn with_first<T>(&self, seal: impl FnOnce(&SealKey) -> T) -> Result<T, NoRandomness> {
        {
            let keys = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(key) = keys.first() {
                return Ok(seal(key));
            }
        }
        let made = SealKey::random()?;
        let mut keys = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if keys.is_empty() {
            keys.push(made);
        }
        Ok(seal(&keys[0]))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn seals(keys: &[u8]) -> Seals {
        Seals::new(keys.iter().map(|byte| SealKey::new([*byte; 32])).collect())
    }

    // req: V-314
    #[test]
    fn v_314_what_is_sealed_opens_only_as_it_was_sealed() {
        let ours = seals(&[1]);
        let sealed = ours.seal(b"secret", b"ada", 100).unwrap();
        assert_eq!(ours.open(&sealed, b"ada", 99).unwrap(), b"secret");
        assert_eq!(ours.open(&sealed, b"ada", 100), None, "expired");
        assert_eq!(ours.open(&sealed, b"bob", 99), None, "somebody else's");
        assert_eq!(seals(&[2]).open(&sealed, b"ada", 99), None, "another key");
        for at in 0..sealed.len() {
            for other in ["A", "z", "-", "="] {
                let mut text = sealed.clone();
                if &text[at..=at] == other {
                    continue;
                }
                text.replace_range(at..=at, other);
                let opened = ours.open(&text, b"ada", 99);
                // The last character of base64 may carry bits that mean nothing; they are refused, too.
                assert_eq!(opened, None, "character {at} is {other}");
            }
            assert_eq!(ours.open(&sealed[..at], b"ada", 99), None, "cut at {at}");
        }
        assert_eq!(ours.open(&format!("{sealed}-TAMPERED"), b"ada", 99), None);
        for text in ["", " ", "e30", "{}", "\u{0}", "ä", &"A".repeat(100_000)] {
            assert_eq!(ours.open(text, b"ada", 99), None);
        }
    }

    #[test]
    fn two_keys_are_taken_while_they_rotate() {
        let ours = seals(&[1]);
        let old = ours.seal(b"old", b"", 10).unwrap();
        ours.rotate(vec![SealKey::new([2; 32]), SealKey::new([1; 32])]);
        let new = ours.seal(b"new", b"", 10).unwrap();
        assert_eq!(ours.open(&old, b"", 1).unwrap(), b"old");
        assert_eq!(seals(&[2]).open(&new, b"", 1).unwrap(), b"new");
        ours.rotate(vec![SealKey::new([2; 32])]);
        assert_eq!(ours.open(&old, b"", 1), None);
        assert_eq!(ours.open(&new, b"", 1).unwrap(), b"new");
    }

    #[test]
    fn a_process_makes_its_own_key() {
        let (a, b) = (Seals::default(), Seals::default());
        let sealed = a.seal(b"x", b"", 10).unwrap();
        assert_eq!(a.open(&sealed, b"", 1).unwrap(), b"x");
        assert_eq!(b.open(&sealed, b"", 1), None);
        assert_ne!(
            sealed,
            a.seal(b"x", b"", 10).unwrap(),
            "never the same twice"
        );
    }

    #[test]
    fn keys_are_read_from_a_text() {
        let hex = "00".repeat(32);
        let base64 = data_encoding::BASE64.encode(&[7; 32]);
        let keys = SealKey::read_all(&format!("# two keys\n{hex}\n\n {base64} \n")).unwrap();
        assert_eq!(keys.len(), 2);
        assert_eq!(SealKey::read_all("").unwrap_err(), 0);
        assert_eq!(SealKey::read_all("\nabc\n").unwrap_err(), 2);
        assert_eq!(format!("{keys:?}"), "[SealKey(…), SealKey(…)]");
    }
}
