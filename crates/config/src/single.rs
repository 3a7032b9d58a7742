//! What is shown of a single value, whose words are not looked at one by one. When in doubt, it is a secret.

mod password;

use crate::secret::{MASK, is_secret_name};
pub(crate) use password::{Next, credentials, of_user};
use password::{is_private_key, is_unguessable, parts};

/// Headers that hold none.
const HARMLESS: &[&str] = &[
    "accept",
    "content-type",
    "user-agent",
    "accept-encoding",
    "accept-language",
    "api-version",
    "cache-control",
    "content-language",
    "mcp-protocol-version",
    "x-api-version",
];
/// How tokens of well-known makers begin.
const BEGINNINGS: &[&str] = &[
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "hf_",
    "npm_",
    "pypi-",
    "dop_v1_",
    "Bearer ",
    "Basic ",
];
/// A part of an address that is as long as this and has letters and digits is not to be guessed.
const UNGUESSABLE: usize = 20;
/// As many names stand before a value, as in `--env=A=b`, before it is masked whatever it is.
const NAMES: usize = 16;

/// Is it a variable and nothing else, without a default?
fn is_reference(text: &str) -> bool {
    let inner = text.strip_prefix('$').unwrap_or(text);
    let Some(inner) = inner.strip_prefix('{').and_then(|it| it.strip_suffix('}')) else {
        return false;
    };
    (text.starts_with('$') || inner.starts_with("env:"))
        && inner
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':'))
}

/// The value of something with this name, as it may be shown where it is one word.
pub(crate) fn value(name: &str, text: &str) -> String {
    if is_reference(text) {
        return text.to_owned();
    }
    if is_secret_name(name) && !text.is_empty() {
        return MASK.to_owned();
    }
    self::text(text)
}

/// A text without a name, as it may be shown where it is one word.
pub(crate) fn text(text: &str) -> String {
    within(text, 0)
}

/// The same behind so many names.
fn within(text: &str, names: usize) -> String {
    if BEGINNINGS.iter().any(|begin| text.starts_with(begin)) || is_private_key(text) {
        return MASK.to_owned();
    }
    let text = &*credentials(text);
    for mark in ['=', ':'] {
        let Some((name, value)) = text.split_once(mark) else {
            continue;
        };
        let is_name = !name.is_empty()
            && !name.contains([' ', '\t', '\n', ';', ','])
            && !name.contains("://")
            && (mark == '=' || !value.starts_with("//"));
        let bare = value.trim();
        let is_secret = is_name && !bare.is_empty() && is_secret_name(name)
            || mark == '=' && BEGINNINGS.iter().any(|begin| bare.starts_with(begin));
        if is_secret {
            // It ends a command of a shell.
            let end = if bare.ends_with(';') { ";" } else { "" };
            return format!("{name}{mark}{MASK}{end}");
        }
    }
    if let Some((before, rest)) = text.split_once("://") {
        let marks: &[char] = if before.contains(',') {
            &[';', ',']
        } else {
            &[';']
        };
        return pairs(text, marks).unwrap_or_else(|| address(before, rest));
    }
    let Some((name, value)) = text.split_once('=') else {
        return text.to_owned();
    };
    if Next::behind(name) == Next::User
        && let Some(shown) = of_user(value)
    {
        return format!("{name}={shown}");
    }
    if let Some(shown) = pairs(text, &[';', ',']) {
        return shown;
    }
    // Such as `--env=API_KEY=abc`.
    if names < NAMES {
        return format!("{name}={}", within(value, names + 1));
    }
    // Its words are looked at one by one.
    match value.contains(char::is_whitespace) {
        true => text.to_owned(),
        false => format!("{name}={MASK}"),
    }
}

/// Pairs of names and values behind each other, such as those by which programs connect to databases; nothing, where there are none.
fn pairs(text: &str, marks: &[char]) -> Option<String> {
    let (mark, pairs) = marks.iter().find_map(|mark| {
        let pairs = parts(text, *mark);
        (pairs.len() > 1).then_some((mark, pairs))
    })?;
    let mut is_hidden = false;
    let shown = pairs.into_iter().map(|pair| {
        let begin = pair.len() - pair.trim_start().len();
        let (space, pair) = pair.split_at(begin);
        // What has no name goes on what was before it.
        let shown = if is_hidden && !pair.contains('=') && !pair.is_empty() {
            MASK.to_owned()
        } else {
            self::text(pair)
        };
        is_hidden = shown != pair;
        format!("{space}{shown}")
    });
    let shown: Vec<_> = shown.collect();
    Some(shown.join(&mark.to_string()))
}

/// An address without users, passwords, and what cannot be guessed.
fn address(scheme: &str, rest: &str) -> String {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => authority.to_owned(),
    };
    let (path, query) = match rest.find(['?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let shown = |part: &str| {
        if is_unguessable(part) {
            MASK.to_owned()
        } else {
            part.to_owned()
        }
    };
    let path: Vec<String> = path.split('/').map(shown).collect();
    let query: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if is_secret_name(name) && !value.is_empty() => {
                format!("{name}={MASK}")
            }
            Some((name, value)) => format!("{name}={}", shown(value)),
            None => shown(pair),
        })
        .collect();
    format!(
        "{scheme}://{authority}{}{}",
        path.join("/"),
        query.join("&")
    )
}

/// A header as one line, `NAME: VALUE`, as it may be shown.
pub(crate) fn header_line(line: &str) -> String {
    match line.split_once(':') {
        Some((name, value)) => {
            let begin = value.len() - value.trim_start().len();
            let (space, value) = value.split_at(begin);
            format!("{name}:{space}{}", header(name, value))
        }
        None => text(line),
    }
}

/// Can a header of this name hold a secret?
pub(crate) fn may_hold_secret(name: &str) -> bool {
    !HARMLESS.contains(&&*name.to_ascii_lowercase())
}

/// A header, as it may be shown.
pub(crate) fn header(name: &str, text: &str) -> String {
    if is_reference(text) || !may_hold_secret(name) || text.is_empty() {
        return text.to_owned();
    }
    MASK.to_owned()
}
