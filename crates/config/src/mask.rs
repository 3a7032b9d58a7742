//! What is shown of values that may be secrets. When in doubt, they are.

use std::borrow::Cow;

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD};

use crate::entry::{Entry, Way};
use crate::secret::{MASK, is_secret_name};
use crate::variables::Expanded;

/// Headers that hold none.
const HARMLESS: &[&str] = &[
    "accept",
    "content-type",
    "user-agent",
    "mcp-protocol-version",
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

/// The value of something with this name, as it may be shown.
pub fn value(name: &str, text: &str) -> String {
    if is_reference(text) {
        return text.to_owned();
    }
    if is_secret_name(name) && !text.is_empty() {
        return MASK.to_owned();
    }
    self::text(text)
}

/// A text by itself, as it may be shown.
pub fn text(text: &str) -> String {
    if BEGINNINGS.iter().any(|begin| text.starts_with(begin)) {
        return MASK.to_owned();
    }
    let text = &*credentials(text);
    if let Some((before, rest)) = text.split_once("://") {
        return address(before, rest);
    }
    for mark in ['=', ':'] {
        if let Some((name, value)) = text.split_once(mark) {
            let is_name = !name.is_empty() && !name.contains([' ', '\t', '\n', ';', ',']);
            let value_begin = value.trim_start();
            if is_name && !value_begin.is_empty() && is_secret_name(name) {
                return format!("{name}{mark}{MASK}");
            }
            if mark == '=' && BEGINNINGS.iter().any(|b| value_begin.starts_with(b)) {
                return format!("{name}{mark}{MASK}");
            }
        }
    }
    let Some((name, value)) = text.split_once('=') else {
        return text.to_owned();
    };
    match [';', ','].into_iter().find(|mark| text.contains(*mark)) {
        Some(mark) => pairs(text, mark),
        // Such as `--env=API_KEY=abc`.
        None => format!("{name}={}", self::text(value)),
    }
}

/// A text without what stands behind the name of a scheme of HTTP in it: who that is and by what word, or a token.
pub(crate) fn credentials(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let (mut kept, mut at) = (0, 0);
    let mut scheme = "";
    for word in text.split_inclusive(|c: char| c.is_whitespace() || "\"',;".contains(c)) {
        let ends = |c: char| c.is_whitespace() || "\"',;".contains(c);
        let bare = word.trim_end_matches(ends);
        let is_secret = match &*scheme.to_ascii_lowercase() {
            "basic" => has_password(bare),
            "bearer" => is_unguessable(bare),
            _ => false,
        };
        if is_secret {
            shown.push_str(&text[kept..at]);
            shown.push_str(MASK);
            kept = at + bare.len();
        }
        at += word.len();
        // More than one space may stand behind it, and `Authorization=` before it.
        if !bare.is_empty() {
            scheme = bare.rsplit(['=', ':']).next().unwrap_or_default();
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    Cow::Owned(shown + &text[kept..])
}

/// Is it the base64 of a user and a password?
fn has_password(text: &str) -> bool {
    let text = text.trim_end_matches('=').as_bytes();
    let forms = [BASE64_NOPAD, BASE64URL_NOPAD];
    let mut read = forms.iter().filter_map(|form| form.decode(text).ok());
    read.any(|read| read.contains(&b':'))
}

fn is_unguessable(text: &str) -> bool {
    let has = |test: fn(&char) -> bool| text.chars().any(|c| test(&c));
    text.len() >= UNGUESSABLE && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
        || BEGINNINGS.iter().any(|begin| text.starts_with(begin))
}

/// Pairs of names and values behind each other, such as those by which programs connect to databases.
fn pairs(text: &str, mark: char) -> String {
    let mut is_hidden = false;
    let shown = text.split(mark).map(|pair| {
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
    shown.join(&mark.to_string())
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

/// Arguments of a program, as they may be shown.
pub fn args<'a>(args: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut is_next_secret = false;
    args.into_iter()
        .map(|argument| {
            let is_option = argument.starts_with('-');
            let shown = if is_next_secret && !is_option {
                MASK.to_owned()
            } else {
                text(argument)
            };
            is_next_secret = is_option && !argument.contains('=') && is_secret_name(argument);
            shown
        })
        .collect()
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
pub fn header(name: &str, text: &str) -> String {
    if is_reference(text) || !may_hold_secret(name) || text.is_empty() {
        return text.to_owned();
    }
    MASK.to_owned()
}

/// An entry whose variables are not filled in, as it may be shown.
pub fn raw(it: &Entry) -> Entry<String> {
    let as_it_is = it.clone().try_map(|_, field| {
        Ok::<_, std::convert::Infallible>(Expanded {
            shown: field.text.clone(),
            text: field.text,
            from: Vec::new(),
        })
    });
    match as_it_is {
        Ok(as_it_is) => entry(&as_it_is),
        Err(never) => match never {},
    }
}

/// An entry, as it may be shown.
pub fn entry(entry: &Entry<Expanded>) -> Entry<String> {
    let shown_args = match &entry.way {
        Way::Command(start) => args(start.args.iter().map(|it| it.shown.as_str())),
        Way::Url(_) => Vec::new(),
    };
    let mut shown_args = shown_args.into_iter();
    let masked = entry.clone().try_map(|field, it| {
        let (kind, name) = field.split_once('.').unwrap_or((field, ""));
        // Each argument takes its own, whatever it is.
        let argument = if field.starts_with("args[") {
            shown_args.next()
        } else {
            None
        };
        Ok::<_, std::convert::Infallible>(match kind {
            "env" => value(name, &it.shown),
            "headers" => header(name, &it.shown),
            _ => argument.unwrap_or_else(|| text(&it.shown)),
        })
    });
    match masked {
        Ok(masked) => masked,
        Err(never) => match never {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        for (text, want) in [
            ("plain", "plain"),
            ("sk-abc", "****"),
            ("eyJhbGciOi", "****"),
            ("--token=abc", "--token=****"),
            ("--level=debug", "--level=debug"),
            ("API_KEY=x", "API_KEY=****"),
            ("Authorization: Bearer x", "Authorization:****"),
            ("x=ghp_abc", "x=****"),
            ("--env=API_KEY=abc", "--env=API_KEY=****"),
            ("--env=A=b=c", "--env=A=b=c"),
            ("Server=h;Password=a,b;X=1", "Server=h;Password=****;X=1"),
            ("Server=h; Pwd=abc; X=1", "Server=h; Pwd=****; X=1"),
            ("a=1,token=abc,def,b=2", "a=1,token=****,****,b=2"),
            ("TOKEN=a,b;c", "TOKEN=****"),
            ("a,b;c", "a,b;c"),
            ("C:\\x", "C:\\x"),
            ("X-A: Basic dXNlcjpzZWNyZXQ=", "X-A: Basic ****"),
            ("X-A: basic  dXNlcjpzZWNyZXQ", "X-A: basic  ****"),
            (
                "curl -H \"X-A: Basic dXNlcjpzZWNyZXQ=\" x",
                "curl -H \"X-A: Basic ****\" x",
            ),
            ("--h=Basic dXNlcjpzZWNyZXQ=", "--h=****"),
            ("a Bearer abcdefghij0123456789 b", "a Bearer **** b"),
            (
                "Basically Basic usage of a bearer",
                "Basically Basic usage of a bearer",
            ),
            ("MAX_TOKENS=4096", "MAX_TOKENS=4096"),
            ("--auth-mode=none", "--auth-mode=none"),
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("https://u:p@a.example/mcp", "https://****@a.example/mcp"),
            (
                "https://a.example/s/0123456789abcdefghij/sse?x=1&api_key=2#3",
                "https://a.example/s/****/sse?x=1&api_key=****",
            ),
            ("postgres://u:p@h/db", "postgres://****@h/db"),
        ] {
            assert_eq!(self::text(text), want, "{text}");
        }
        let shown = args(["--api-key", "abc", "--verbose", "x", "--token", "--y", "z"]);
        let want = ["--api-key", "****", "--verbose", "x", "--token", "--y", "z"];
        assert_eq!(shown, want);
        for (name, is) in [
            ("GITHUB_TOKEN", true),
            ("apiKey", true),
            ("PGPASSWORD", true),
            ("USER_PIN", true),
            ("SPINNER", false),
            ("PATH", false),
            ("LOG_LEVEL", false),
        ] {
            assert_eq!(is_secret_name(name), is, "{name}");
        }
        assert_eq!(value("TOKEN", "${TOKEN}"), "${TOKEN}");
        assert_eq!(value("TOKEN", "{env:TOKEN}"), "{env:TOKEN}");
        assert_eq!(value("TOKEN", "${TOKEN:-s3cret}"), MASK);
        assert_eq!(value("TOKEN", "{s3cret}"), MASK);
        assert_eq!(header("Accept", "x"), "x");
        assert_eq!(header("X-Tenant", "x"), MASK);
        assert_eq!(value("LEVEL", "debug"), "debug");
    }
}
