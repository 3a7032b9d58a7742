//! The scanner: is this text one JSON value, and where do its parts lie? It decodes nothing, and what a
//! member means is for its callers to say.
//!
//! Contract, held by property tests: it accepts exactly what `serde_json` accepts as a `RawValue`. So a
//! lone surrogate escape and a number beyond every float pass here and fail when something decodes them.
//! Bounds do not stop it; they are noted in [`Scanner::excess`], so that a frame that is refused for its
//! size still tells its id.
//!
//! Every step takes the offset to start at and returns the offset behind what it read: kept in a
//! register instead of in the scanner, this halves the time.

use crate::keys::{Key, Keys};
use crate::text::{clean_run, short_string};
use crate::{Limits, Malformed, MalformedKind};

/// The offset at which the text stopped being JSON.
pub(crate) struct Bad(pub(crate) usize);

pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    limits: Limits,
    keys: Keys,
    /// Whether keys are compared at present.
    pub(crate) unique: bool,
    /// Elements and members of the containers that are closed.
    values: usize,
    /// The first bound that the text goes beyond, and where.
    pub(crate) excess: Option<(MalformedKind, usize)>,
    /// The first repeated key of the outermost object.
    pub(crate) repeated: Option<usize>,
    /// The first repeated key of any object inside that one.
    pub(crate) repeated_within: Option<usize>,
}

impl<'a> Scanner<'a> {
    /// The caller has seen to the length, see [`check_length`].
    pub(crate) fn new(text: &'a [u8], limits: &Limits) -> Self {
        debug_assert!(check_length(text).is_ok());
        Self {
            text,
            limits: Limits {
                depth: limits.depth.min(Limits::DEPTH_MAX),
                ..*limits
            },
            keys: Keys::new(),
            unique: false,
            values: 0,
            excess: None,
            repeated: None,
            repeated_within: None,
        }
    }

    pub(crate) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Whether an object is next that may be opened inside `depth` containers.
    pub(crate) fn opens_object(&self, at: usize, depth: u32) -> bool {
        peek(self.text, at) == Some(b'{') && depth < self.limits.depth
    }

    /// Whether an array is next that may be opened inside `depth` containers.
    pub(crate) fn opens_array(&self, at: usize, depth: u32) -> bool {
        peek(self.text, at) == Some(b'[') && depth < self.limits.depth
    }

    /// Only white space may be left.
    pub(crate) fn end(&self, at: usize) -> Result<(), Bad> {
        let at = space(self.text, at);
        if at == self.text.len() {
            Ok(())
        } else {
            Err(Bad(at))
        }
    }

    /// One value, with `depth` containers open around it.
    pub(crate) fn value(&mut self, at: usize, depth: u32) -> Result<usize, Bad> {
        match peek(self.text, at) {
            Some(b'{') if depth < self.limits.depth => {
                self.object(at, depth, |scanner, _, at| scanner.value(at, depth + 1))
            }
            Some(b'[') if depth < self.limits.depth => {
                self.array(at, |scanner, at| scanner.value(at, depth + 1))
            }
            Some(b'{' | b'[') => {
                self.note(MalformedKind::TooDeep, at);
                beyond_depth(self.text, at)
            }
            _ => scalar(self.text, at),
        }
    }

    /// An object, whose `{` is next. `member` is called with the key and the offset of each value and
    /// has to read it.
    #[inline]
    pub(crate) fn object(
        &mut self,
        at: usize,
        depth: u32,
        mut member: impl FnMut(&mut Self, Key, usize) -> Result<usize, Bad>,
    ) -> Result<usize, Bad> {
        let base = self.keys.len();
        let mut at = space(self.text, at + 1);
        if peek(self.text, at) == Some(b'}') {
            return Ok(at + 1);
        }
        let mut count = 0;
        loop {
            let (key, value) = key(self.text, at)?;
            count += 1;
            if count > self.limits.elements {
                self.note(MalformedKind::TooManyElements, at);
            } else if self.unique {
                self.keys.push(key);
            }
            at = space(self.text, member(self, key, value)?);
            match peek(self.text, at) {
                Some(b',') => at = space(self.text, at + 1),
                Some(b'}') => break,
                _ => return Err(Bad(at)),
            }
        }
        self.close(count, at);
        if self.unique {
            let repeated = self.keys.close(base, self.text);
            let first = if depth == 0 {
                &mut self.repeated
            } else {
                &mut self.repeated_within
            };
            *first = first.or(repeated);
        }
        Ok(at + 1)
    }

    /// An array, whose `[` is next. `element` is called with the offset of each element and has to read
    /// it.
    #[inline]
    pub(crate) fn array(
        &mut self,
        at: usize,
        mut element: impl FnMut(&mut Self, usize) -> Result<usize, Bad>,
    ) -> Result<usize, Bad> {
        let mut at = space(self.text, at + 1);
        if peek(self.text, at) == Some(b']') {
            return Ok(at + 1);
        }
        let mut count = 0;
        loop {
            count += 1;
            if count > self.limits.elements {
                self.note(MalformedKind::TooManyElements, at);
            }
            at = space(self.text, element(self, at)?);
            match peek(self.text, at) {
                Some(b',') => at = space(self.text, at + 1),
                Some(b']') => break,
                _ => return Err(Bad(at)),
            }
        }
        self.close(count, at);
        Ok(at + 1)
    }

    /// Counts what stood in a container.
    fn close(&mut self, count: usize, at: usize) {
        self.values = self.values.saturating_add(count);
        if self.values > self.limits.values {
            self.note(MalformedKind::TooManyElements, at);
        }
    }

    #[cold]
    fn note(&mut self, kind: MalformedKind, at: usize) {
        self.excess = self.excess.or(Some((kind, at)));
    }
}

/// Offsets are kept in four bytes.
pub(crate) fn check_length(text: &[u8]) -> Result<(), Malformed> {
    let fits = u32::try_from(text.len()).is_ok();
    if fits {
        Ok(())
    } else {
        Err(Malformed::new(MalformedKind::TooManyElements, 0))
    }
}

/// Behind the white space.
#[inline]
pub(crate) fn space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = peek(text, at) {
        at += 1;
    }
    at
}

#[inline]
fn peek(text: &[u8], at: usize) -> Option<u8> {
    text.get(at).copied()
}

/// A value that nests deeper than allowed, without recursion. Its keys and counts no longer matter.
#[cold]
fn beyond_depth(text: &[u8], mut at: usize) -> Result<usize, Bad> {
    let mut open = Vec::new();
    loop {
        match peek(text, at) {
            Some(bracket @ (b'{' | b'[')) => {
                // `{` and `}`, `[` and `]` are two apart in ASCII.
                let closer = bracket + 2;
                at = space(text, at + 1);
                if peek(text, at) != Some(closer) {
                    open.push(closer);
                    if closer == b'}' {
                        at = key(text, at)?.1;
                    }
                    continue;
                }
                at += 1;
            }
            _ => at = scalar(text, at)?,
        }
        loop {
            let Some(&closer) = open.last() else {
                return Ok(at);
            };
            at = space(text, at);
            match peek(text, at) {
                Some(b',') => {
                    at = space(text, at + 1);
                    if closer == b'}' {
                        at = key(text, at)?.1;
                    }
                    break;
                }
                Some(byte) if byte == closer => {
                    at += 1;
                    open.pop();
                }
                _ => return Err(Bad(at)),
            }
        }
    }
}

/// A key, and the offset of its value.
#[inline]
fn key(text: &[u8], at: usize) -> Result<(Key, usize), Bad> {
    if peek(text, at) != Some(b'"') {
        return Err(Bad(at));
    }
    let (key, at) = string(text, at)?;
    let at = space(text, at);
    if peek(text, at) != Some(b':') {
        return Err(Bad(at));
    }
    Ok((key, space(text, at + 1)))
}

#[inline]
fn scalar(text: &[u8], at: usize) -> Result<usize, Bad> {
    match peek(text, at) {
        Some(b'"') => string(text, at).map(|(_, at)| at),
        Some(b't') => word(text, at, b"true"),
        Some(b'f') => word(text, at, b"false"),
        Some(b'n') => word(text, at, b"null"),
        _ => number(text, at),
    }
}

/// A string, whose quote is next, and the offset behind it.
#[inline]
fn string(text: &[u8], at: usize) -> Result<(Key, usize), Bad> {
    let start = at + 1;
    match short_string(&text[start..]) {
        Some(len) => Ok((Key::new(start, start + len, false), start + len + 1)),
        None => long_string(text, start),
    }
}

fn long_string(text: &[u8], start: usize) -> Result<(Key, usize), Bad> {
    let mut at = start;
    let mut escaped = false;
    loop {
        let rest = &text[at..];
        let run = clean_run(rest);
        // The runs between quotes and backslashes can be checked one by one: neither byte occurs inside
        // a longer UTF-8 sequence.
        if !run.ascii && std::str::from_utf8(&rest[..run.len]).is_err() {
            return Err(Bad(at));
        }
        at += run.len;
        match rest[run.len..] {
            [b'"', ..] => return Ok((Key::new(start, at, escaped), at + 1)),
            [
                b'\\',
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't',
                ..,
            ] => at += 2,
            [b'\\', b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(u8::is_ascii_hexdigit) => {
                at += 6
            }
            _ => return Err(Bad(at)),
        }
        escaped = true;
    }
}

#[inline]
fn number(text: &[u8], mut at: usize) -> Result<usize, Bad> {
    if peek(text, at) == Some(b'-') {
        at += 1;
    }
    at = if peek(text, at) == Some(b'0') {
        at + 1
    } else {
        digits(text, at)?
    };
    if peek(text, at) == Some(b'.') {
        at = digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = peek(text, at) {
        at += 1;
        if let Some(b'+' | b'-') = peek(text, at) {
            at += 1;
        }
        at = digits(text, at)?;
    }
    Ok(at)
}

#[inline]
fn digits(text: &[u8], start: usize) -> Result<usize, Bad> {
    let mut at = start;
    while peek(text, at).is_some_and(|byte| byte.is_ascii_digit()) {
        at += 1;
    }
    if at == start { Err(Bad(at)) } else { Ok(at) }
}

#[inline]
fn word(text: &[u8], at: usize, word: &[u8]) -> Result<usize, Bad> {
    if text[at..].starts_with(word) {
        Ok(at + word.len())
    } else {
        Err(Bad(at))
    }
}
