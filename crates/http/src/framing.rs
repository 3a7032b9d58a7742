//! Where a body ends, as far as its headers say so: where two readers may see two ends, the rest could be a request for one of them.

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Response};

use crate::body::Body;
use crate::respond;

/// The refusal of a request whose body ends somewhere else for another reader (RFC 9112, 6.3), if it is one.
pub(crate) fn refused(headers: &HeaderMap) -> Option<Response<Body>> {
    let lengths = headers.get_all(CONTENT_LENGTH).iter().count();
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let is_fine = match (codings.next(), codings.next()) {
        (None, _) => lengths < 2,
        (Some(coding), None) => lengths == 0 && coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        _ => false,
    };
    (!is_fine).then(|| respond::last(respond::empty(400)))
}
