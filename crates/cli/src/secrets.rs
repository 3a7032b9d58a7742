//! The secrets that this process has handed to servers: they may say them again, and what they say stands in terminals and logs.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use polyport_config::{MASK, is_secret_name, mask};

/// A shorter secret would be found in every other word.
const SHORTEST: usize = 4;
/// A value as long as this with letters and digits is not to be guessed, whatever its name.
const UNGUESSABLE: usize = 20;

static GIVEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Names of headers that say who asks.
static HEADERS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A variable that a server gets. Is it a secret, so is it from now on.
pub(crate) fn variable(name: &str, value: &str) {
    let has = |test: fn(&char) -> bool| value.chars().any(|c| test(&c));
    let is_unguessable = value.len() >= UNGUESSABLE
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && !has(|c| c.is_whitespace() || matches!(c, '/' | '\\'));
    let shown = mask::value(name, value);
    if is_unguessable || shown != value {
        keep(value);
    }
    keep_masked(value, &shown);
}

/// Arguments that a server gets, and words of a shell in them.
pub(crate) fn arguments(arguments: &[&str]) {
    let shown = mask::args(arguments.iter().copied());
    for (argument, shown) in arguments.iter().zip(&shown) {
        keep_masked(argument, shown);
    }
}

/// An address at which a server is.
pub(crate) fn address(url: &str) {
    keep_masked(url, &mask::text(url));
}

/// A header that a server gets.
pub(crate) fn header(name: &str, value: &str) {
    if is_credential(name) {
        let mut headers = HEADERS.lock().unwrap_or_else(PoisonError::into_inner);
        headers.push(name.to_owned());
    }
    if mask::header(name, value) != value {
        keep(value);
        // Of `Bearer x` what matters.
        if let Some((_, token)) = value.split_once(' ') {
            keep(token);
        }
    }
}

/// Does a header of this name say who asks?
pub(crate) fn is_credential(name: &str) -> bool {
    is_secret_name(name)
}

/// The names of the headers that say who asks.
pub(crate) fn headers() -> Vec<String> {
    let headers = HEADERS.lock().unwrap_or_else(PoisonError::into_inner);
    headers.clone()
}

/// A value that comes from where secrets come from.
pub(crate) fn keep(value: &str) {
    let value = value.trim();
    if value.len() < SHORTEST {
        return;
    }
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    if !given.iter().any(|known| known == value) {
        given.push(value.to_owned());
        // Of two of which one is a part of the other, the whole goes first.
        given.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }
}

/// The parts of a text that are masked where it is shown.
fn keep_masked(text: &str, shown: &str) {
    let mut pieces = shown.split(MASK).peekable();
    let begin = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(begin) else {
        return;
    };
    while let Some(piece) = pieces.next() {
        let end = match pieces.peek() {
            Some(_) => rest.find(piece),
            None => rest.ends_with(piece).then(|| rest.len() - piece.len()),
        };
        let Some(end) = end else {
            return keep_part(rest);
        };
        let part = &rest[..end];
        keep_part(part);
        // Of a user and a password before a host what matters.
        if piece.starts_with('@')
            && let Some((_, password)) = part.split_once(':')
        {
            keep(password);
        }
        rest = &rest[end + piece.len()..];
    }
}

/// What is masked, and the words in it that are no words of a language: where it ends among others is not known.
fn keep_part(part: &str) {
    let part = part.trim_matches(|c: char| c.is_whitespace() || ";,\"'".contains(c));
    if ["true", "false", "null", "none"].contains(&part) {
        return;
    }
    keep(part);
    for word in part.split_whitespace() {
        if word.contains(|c: char| c.is_ascii_digit()) {
            keep(word);
        }
    }
}

/// A text in which none of them stands.
pub(crate) fn hidden(text: &str) -> Cow<'_, str> {
    let given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = Cow::Borrowed(text);
    for value in given.iter() {
        if let Some(masked) = without(&text, value) {
            text = Cow::Owned(masked);
        }
    }
    text
}

/// The text without this secret, if it is there, as it is or as JSON, URLs and quotes write it.
fn without(text: &str, secret: &str) -> Option<String> {
    let mut out: Option<String> = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest
            .strip_prefix(secret)
            .or_else(|| written(rest, secret))
            .filter(|_| !secret.is_empty());
        if let Some(after) = after {
            let out = out.get_or_insert_with(|| text[..text.len() - rest.len()].to_owned());
            out.push_str(MASK);
            rest = after;
            continue;
        }
        if let Some(out) = &mut out {
            out.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// What follows the secret that the text begins with, however each letter of it is written.
fn written<'t>(text: &'t str, secret: &str) -> Option<&'t str> {
    let mut was_slash = false;
    secret.chars().try_fold(text, |rest, c| {
        let is_again = c == '\\' && was_slash;
        was_slash = c == '\\';
        letter(rest, c, is_again)
    })
}

/// What follows a letter. `is_again`: it is another backslash, and all that stood there are taken already.
fn letter(text: &str, c: char, is_again: bool) -> Option<&str> {
    if let Some(rest) = percent(text, c).or_else(|| unicode(text, c)) {
        return Some(rest);
    }
    // A text in a text in a text has each backslash twice, and twice again.
    let after = text.trim_start_matches('\\');
    let is_escaped = after.len() < text.len();
    if c == '\\' {
        return (is_escaped || is_again).then_some(after);
    }
    if let Some(rest) = text.strip_prefix(c) {
        return Some(rest);
    }
    if !is_escaped {
        return (c == ' ').then(|| text.strip_prefix('+')).flatten();
    }
    let short = match c {
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '"' | '\'' | '/' => c,
        _ => return None,
    };
    after.strip_prefix(short)
}

/// `%2F`, for each byte of a letter.
fn percent(text: &str, c: char) -> Option<&str> {
    let mut bytes = [0; 4];
    let bytes = c.encode_utf8(&mut bytes).bytes();
    bytes.into_iter().try_fold(text, |rest, byte| {
        let digits = rest.strip_prefix('%')?;
        let (digits, rest) = digits.split_at_checked(2)?;
        digits
            .eq_ignore_ascii_case(&format!("{byte:02x}"))
            .then_some(rest)
    })
}

/// `\u002f` of JSON, for each half of a letter; and `\u{2f}`.
fn unicode(text: &str, c: char) -> Option<&str> {
    let digits = |text: &'_ str| -> Option<usize> {
        let begin = text.trim_start_matches('\\');
        (begin.len() < text.len() && begin.starts_with('u')).then(|| text.len() - begin.len() + 1)
    };
    let begin = text.split_at_checked(digits(text)?)?.1;
    if let Some(rest) = begin.strip_prefix('{') {
        let (hex, rest) = rest.split_once('}')?;
        return (u32::from_str_radix(hex, 16) == Ok(c.into())).then_some(rest);
    }
    let mut units = [0; 2];
    let units = c.encode_utf16(&mut units).iter();
    units.copied().try_fold(text, |rest, unit| {
        let (hex, rest) = rest
            .split_at_checked(digits(rest)?)?
            .1
            .split_at_checked(4)?;
        hex.eq_ignore_ascii_case(&format!("{unit:04x}"))
            .then_some(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: S-SECRETS
    #[test]
    fn what_was_given_is_not_said_again() {
        for (name, value) in [
            ("API_TOKEN", "hunter2"),
            ("API_TOKEN_LONG", "hunter2-and-more"),
            ("OPAQUE", "0123456789abcdefghij"),
            ("DATABASE", "postgres://u:p4ss@h/db"),
            ("LEVEL", "debug"),
            ("FOLDER", "/home/ada/0123456789abcdefghij"),
            ("PIN", "12"),
        ] {
            variable(name, value);
        }
        arguments(&[
            "-c",
            "export KEY=swordfish; curl -u ada:lovelace1 x; run --password -hush",
            "--token",
            "openup",
            "postgres://u:hunt#er3@h/d",
            "{\"api_key\": \"jay-son\", \"keys\": [\"of-list\"]}",
            "AUTH=true",
            "plain",
        ]);
        variable("NOTE", "a: b\napi_key: of-lines1 and more");
        address("https://a.example/mcp?key=of-address");
        header("Authorization", "Bearer opensesame");
        header("Accept", "text/plain");
        for (said, want) in [
            ("bad token hunter2", "bad token ****"),
            ("hunter2-and-more!", "****!"),
            ("0123456789abcdefghij", "****"),
            ("cannot reach postgres://u:p4ss@h/db", "cannot reach ****"),
            ("opensesame is no key", "**** is no key"),
            (
                "swordfish, lovelace1 of ada, -hush!",
                "****, **** of ada, ****!",
            ),
            ("openup jay-son of-list", "**** **** ****"),
            ("no hunt#er3 for u", "no **** for u"),
            ("of-lines1 of-address", "**** ****"),
            ("plain true curl export -c x", "plain true curl export -c x"),
            ("level debug, text/plain, 12", "level debug, text/plain, 12"),
        ] {
            assert_eq!(hidden(said), want);
        }
    }

    // req: S-SECRETS
    #[test]
    fn a_secret_is_one_however_it_is_written() {
        let percent = |text: &str, kept: &str| {
            let bytes = text.bytes().map(|byte| match byte {
                byte if byte.is_ascii_alphanumeric() || kept.contains(char::from(byte)) => {
                    char::from(byte).to_string()
                }
                byte => format!("%{byte:02X}"),
            });
            bytes.collect::<String>()
        };
        for secret in [
            "s3cr3t/va\"lue+x",
            "a\\b\\\\c\td",
            "pass word é 😀",
            "100%25 sure",
            "it's\nso",
        ] {
            let json = serde_json::to_string(secret).unwrap_or_default();
            let ascii: String = secret
                .encode_utf16()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect();
            for said in [
                secret.to_owned(),
                json.clone(),
                format!("{json:?}"),
                format!("{secret:?}"),
                format!("{:?}", format!("{secret:?}")),
                secret.escape_unicode().to_string(),
                json.replace('/', "\\/"),
                ascii,
                percent(secret, ""),
                percent(secret, "-._~/").to_lowercase().replace("%20", "+"),
                percent(secret, "!'()*-._~/:?&=+$"),
            ] {
                let whole = format!("no: {said} is bad");
                let masked = without(&whole, secret).unwrap_or_default();
                assert!(masked.contains(MASK), "{secret:?} in {said}: {masked}");
                let left = masked.replace(MASK, "");
                let left = left.replace(['"', '\\'], "");
                assert_eq!(left, "no:  is bad", "{secret:?} in {said}");
            }
            assert_eq!(without("no: secret is bad", secret), None);
        }
    }
}
