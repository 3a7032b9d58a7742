//! The check of cursors, ours and made up.

use polyport::cursor;

/// Reads `data` as a cursor; and makes one of it, with what is before the first `.` as the part.
///
/// - A made-up cursor is a place or none, and the place has a cursor too.
/// - A place comes back from its cursor, which a URL can hold; unless the cursor is longer than any that is read.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some((part, inner)) = cursor::decode(&text) {
        check_place(part, &inner);
    }
    let (part, inner) = text.split_once('.').unwrap_or(("", &text));
    check_place(part.parse().unwrap_or(part.len()), inner);
}

fn check_place(part: usize, inner: &str) {
    let made = cursor::encode(part, inner);
    let fits_url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    assert!(
        made.bytes().all(fits_url),
        "{made} stands in a URL as it is"
    );
    match cursor::decode(&made) {
        None => assert!(made.len() > LONGEST, "{made} is forgotten"),
        place => assert_eq!(place, Some((part, inner.to_owned()))),
    }
    let cut = cursor::decode(made.get(..made.len() / 2).unwrap_or_default());
    assert!(
        cut.is_none_or(|(cut, _)| cut == part),
        "half of it is no other part"
    );
}

/// A cursor up to this length is read, whatever is in it.
const LONGEST: usize = 4096;
