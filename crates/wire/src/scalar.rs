//! Writing strings and integers, by appending to a buffer that the caller owns. What they are part of is not known here.

use crate::text;

/// Appends a JSON string: quotes around it and escapes where JSON needs them, nowhere else.
pub fn string(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + 2);
    out.push(b'"');
    loop {
        let clean = text::clean_run(rest).len;
        out.extend_from_slice(&rest[..clean]);
        let Some(&byte) = rest.get(clean) else { break };
        escape(out, byte);
        rest = &rest[clean + 1..];
    }
    out.push(b'"');
}

/// Appends an integer.
pub fn integer(out: &mut Vec<u8>, number: i64) {
    // The longest is `-9223372036854775808`.
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    out.extend_from_slice(&digits[at..]);
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x0c => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => {
            let digit = |nibble: u8| HEX[usize::from(nibble)];
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 0xf)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

const HEX: &[u8; 16] = b"0123456789abcdef";
