//! A position in the list of resources as an opaque text, which only fits the folders it was made for.

use std::{fmt::Write as _, path::PathBuf};

use super::super::{
    FilesError, Folders,
    lexical::{self, Lexical, Rules},
    walk::Position,
};

/// Longest cursor that is looked at: a path of the greatest length that systems know, in hexadecimal digits.
const LONGEST: usize = 80 * 1024;

/// Bytes of the check that stands first.
const CHECK: usize = 8;

/// The position as a cursor.
pub(super) fn encode(folders: &Folders, (index, below): &Position) -> String {
    let mut body = folders.folder(*index).name().as_bytes().to_vec();
    body.push(b'/');
    body.extend_from_slice(below.as_os_str().as_encoded_bytes());
    let mut text = String::new();
    for byte in check(folders, &body).iter().chain(&body) {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The position of a cursor that [`encode`] made for these folders; anything else is refused. That there is still a file
/// at the position is not needed: the list goes on behind it.
pub(super) fn decode(folders: &Folders, text: &str) -> Result<Position, FilesError> {
    decode_known(folders, text).ok_or(FilesError::Cursor)
}

fn decode_known(folders: &Folders, text: &str) -> Option<Position> {
    let is_lower_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() > LONGEST || !text.len().is_multiple_of(2) || !text.bytes().all(is_lower_hex) {
        return None;
    }
    let pairs = (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16));
    let bytes = pairs.collect::<Result<Vec<_>, _>>().ok()?;
    let (found, body) = bytes.split_at_checked(CHECK)?;
    if found != check(folders, body) {
        return None;
    }
    let slash = body.iter().position(|byte| *byte == b'/')?;
    let index = folders.position(std::str::from_utf8(&body[..slash]).ok()?)?;
    let Ok(Lexical::Relative(parts)) = lexical::parse(&body[slash + 1..], Rules::HERE) else {
        return None;
    };
    Some((
        index,
        parts
            .into_iter()
            .map(lexical::os_name)
            .collect::<Option<PathBuf>>()?,
    ))
}

/// FNV-1a over the folders and the body: against mistakes. A made-up cursor could do no harm, as all it says is where in
/// a confined walk to go on.
fn check(folders: &Folders, body: &[u8]) -> [u8; CHECK] {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes.iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for folder in folders.iter() {
        add(folder.name().as_bytes());
        add(folder.path().as_os_str().as_encoded_bytes());
    }
    add(body);
    hash.to_be_bytes()
}
