//! Writing messages, by appending to a buffer that the caller owns. Ready JSON text (`params`, `data`)
//! is taken as it is.

use crate::{RequestId, text};

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

/// Appends a request. `params` is the JSON text of an object.
pub fn request(out: &mut Vec<u8>, id: &RequestId, method: &str, params: Option<&str>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    out.push(b',');
    call(out, method, params);
}

/// Appends a notification. `params` is the JSON text of an object.
pub fn notification(out: &mut Vec<u8>, method: &str, params: Option<&str>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
    call(out, method, params);
}

/// Appends the head of a response. The caller appends the JSON text of the result and a `}`.
pub fn response_head(out: &mut Vec<u8>, id: &RequestId) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    out.extend_from_slice(br#","result":"#);
}

/// Appends a failure. Without an id the member is left out, as the protocol's schema wants it, rather
/// than null. `data` is JSON text.
pub fn failure(
    out: &mut Vec<u8>,
    id: Option<&RequestId>,
    code: i32,
    message: &str,
    data: Option<&str>,
) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        out.extend_from_slice(br#""id":"#);
        id.write(out);
        out.push(b',');
    }
    out.extend_from_slice(br#""error":{"code":"#);
    integer(out, code.into());
    out.extend_from_slice(br#","message":"#);
    string(out, message);
    if let Some(data) = data {
        out.extend_from_slice(br#","data":"#);
        out.extend_from_slice(data.as_bytes());
    }
    out.extend_from_slice(b"}}");
}

fn call(out: &mut Vec<u8>, method: &str, params: Option<&str>) {
    out.extend_from_slice(br#""method":"#);
    string(out, method);
    if let Some(params) = params {
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(params.as_bytes());
    }
    out.push(b'}');
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
