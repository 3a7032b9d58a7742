//! Is it text in UTF-8, and if not, what: judged by the first bytes. Not the reading itself.

use super::mime;

/// Bytes that are enough to judge by.
pub(crate) const PROBE: usize = 8 * 1024;

/// Length of the byte order mark before the text, or what the bytes are instead, with what to do about it.
pub(crate) fn probe(first: &[u8]) -> Result<usize, String> {
    let probe = &first[..first.len().min(PROBE)];
    if let Some(mime) = mime::sniff(probe) {
        return Err(format!(
            "its bytes are {mime}. read_media_file returns such files."
        ));
    }
    match probe {
        [0xef, 0xbb, 0xbf, ..] => Ok(3),
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Err(in_encoding("UTF-32")),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(in_encoding("UTF-16")),
        _ if probe.contains(&0) => {
            Err("it has NUL bytes, so it is binary. read_media_file returns such files.".into())
        }
        _ => Ok(0),
    }
}

/// The sentence about a byte that no UTF-8 text has.
pub(crate) fn bad_byte(byte: u8, line: Option<u64>) -> String {
    let place = line
        .map(|line| format!(" in line {line}"))
        .unwrap_or_default();
    format!(
        "byte 0x{byte:02X}{place} belongs to another encoding (such as Latin-1) or to binary data. Convert the file to \
         UTF-8, or take its bytes by read_media_file."
    )
}

/// The largest length up to `most` at which the bytes can be cut without cutting a character.
pub(crate) fn boundary(bytes: &[u8], most: usize) -> usize {
    if most >= bytes.len() {
        return bytes.len();
    }
    let is_start = |at: &usize| !is_continuation(bytes[*at]);
    (most.saturating_sub(3)..=most)
        .rev()
        .find(is_start)
        .unwrap_or(most)
}

/// Whether the byte continues a character of UTF-8.
pub(crate) fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

fn in_encoding(name: &str) -> String {
    format!(
        "it is {name}, and only UTF-8 is read. Convert the file, or take its bytes by read_media_file."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_apart() {
        for (bytes, want) in [
            (&b""[..], Ok(0)),
            (b"plain", Ok(0)),
            (b"\xef\xbb\xbfx", Ok(3)),
            (b"caf\xe9", Ok(0)),
            (b"\xff\xfea\0", Err("UTF-16")),
            (b"\xfe\xff\0a", Err("UTF-16")),
            (b"\xff\xfe\0\0", Err("UTF-32")),
            (b"\0\0\xfe\xff", Err("UTF-32")),
            (b"a\0b", Err("NUL")),
            (b"%PDF-1.7", Err("application/pdf")),
        ] {
            match (probe(bytes), want) {
                (Ok(bom), Ok(want)) => assert_eq!(bom, want, "{bytes:?}"),
                (Err(found), Err(want)) => assert!(found.contains(want), "{found}"),
                (got, _) => panic!("{bytes:?} gave {got:?}"),
            }
        }
    }

    #[test]
    fn cuts_keep_characters_whole() {
        let bytes = "a€b".as_bytes();
        assert_eq!(
            (0..=6)
                .map(|most| boundary(bytes, most))
                .collect::<Vec<_>>(),
            [0, 1, 1, 1, 4, 5, 5]
        );
    }
}
