//! Batches: several messages in one array. Which peers may send them is not known here.

use bytes::Bytes;

use crate::scan::{Bad, Scanner, check_length, space};
use crate::{Limits, Malformed, MalformedKind};

/// Whether the frame looks like a batch: its first byte other than white space is `[`.
pub fn is_batch(frame: &[u8]) -> bool {
    let first = frame
        .iter()
        .find(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    first == Some(&b'[')
}

/// The elements of a batch, sharing the frame. What is no array is its own only element.
///
/// The array as a whole is checked; each element is JSON, but not yet known to be a message.
pub fn split(frame: &Bytes, limits: &Limits) -> Result<Vec<Bytes>, Malformed> {
    check_length(frame)?;
    let mut scanner = Scanner::new(frame, limits);
    let mut elements = Vec::new();
    let mut surplus = None;
    let mut read = || {
        let mut element = |scanner: &mut Scanner<'_>, start, depth| {
            let end = scanner.value(start, depth)?;
            if elements.len() < limits.batch {
                elements.push(frame.slice(start..end));
            } else {
                surplus = surplus.or(Some(start));
            }
            Ok(end)
        };
        let start = space(frame, 0);
        let end = if scanner.opens_array(start, 0) {
            scanner.array(start, |scanner, at| element(scanner, at, 1))?
        } else {
            element(&mut scanner, start, 0)?
        };
        scanner.end(end)
    };
    read().map_err(|Bad(offset)| Malformed::unreadable(frame, offset))?;
    if let Some(offset) = surplus {
        return Err(Malformed::new(MalformedKind::TooManyElements, offset));
    }
    if let Some((kind, offset)) = scanner.excess {
        return Err(Malformed::new(kind, offset));
    }
    if elements.is_empty() {
        return Err(Malformed::new(MalformedKind::Empty, 0));
    }
    Ok(elements)
}
