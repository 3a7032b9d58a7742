//! Files that a verb reads because a word of the command line names them.

use std::fs;
use std::io::{self, Read};

/// Bytes that are read from a file or from standard input.
const MAX_FILE: u64 = 16 << 20;

/// The text of a file, or of standard input; without the line break at its end.
///
/// # Errors
/// Those of the system, or it is too long.
pub(crate) fn text(file: &str) -> io::Result<String> {
    let mut text = String::new();
    let read = match file {
        "-" => io::stdin()
            .lock()
            .take(MAX_FILE + 1)
            .read_to_string(&mut text)?,
        _ => fs::File::open(file)?
            .take(MAX_FILE + 1)
            .read_to_string(&mut text)?,
    };
    if read as u64 > MAX_FILE {
        return Err(io::Error::other("it is longer than 16 MiB"));
    }
    let kept = text.strip_suffix('\n').unwrap_or(&text).len();
    text.truncate(kept);
    Ok(text)
}
