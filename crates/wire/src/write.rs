//! Writing messages, by appending to a buffer that the caller owns. Ready JSON text (`params`, `data`)
//! is taken as it is.

use std::ops::Range;

use crate::RequestId;

pub use crate::scalar::{integer, string};

/// Appends a request. `params` is the JSON text of an object.
pub fn request(out: &mut Vec<u8>, id: &RequestId, method: &str, params: Option<&str>) {
    request_head(out, id);
    call(out, method, params);
}

/// Appends a request whose parameters `params` appends, and says where they are.
pub fn request_with(
    out: &mut Vec<u8>,
    id: &RequestId,
    method: &str,
    params: impl FnOnce(&mut Vec<u8>),
) -> Range<usize> {
    request_head(out, id);
    called(out, method);
    out.extend_from_slice(PARAMS);
    let start = out.len();
    params(out);
    let end = out.len();
    out.push(b'}');
    start..end
}

fn request_head(out: &mut Vec<u8>, id: &RequestId) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    out.push(b',');
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

/// Appends a member to an object that is being written: its brace has been, and perhaps other members. `value` is JSON text.
pub fn member(out: &mut Vec<u8>, key: &str, value: &[u8]) {
    if !matches!(out.last(), None | Some(b'{')) {
        out.push(b',');
    }
    string(out, key);
    out.push(b':');
    out.extend_from_slice(value);
}

fn call(out: &mut Vec<u8>, method: &str, params: Option<&str>) {
    called(out, method);
    if let Some(params) = params {
        out.extend_from_slice(PARAMS);
        out.extend_from_slice(params.as_bytes());
    }
    out.push(b'}');
}

const PARAMS: &[u8] = br#","params":"#;

fn called(out: &mut Vec<u8>, method: &str) {
    out.extend_from_slice(br#""method":"#);
    string(out, method);
}
