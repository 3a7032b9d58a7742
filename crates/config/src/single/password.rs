//! Where passwords stand without a name: in addresses, behind users, behind the schemes of HTTP, in blocks of PEM.

use std::borrow::Cow;

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD};

use super::{BEGINNINGS, UNGUESSABLE, is_reference};
use crate::secret::{MASK, is_secret_name};

/// Options behind which stands who that is, and with a colon by what word.
const USERS: &[&str] = &["-u", "-U", "--user", "--userpwd", "--proxy-user"];

/// What stands behind an argument.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Next {
    #[default]
    Anything,
    Secret,
    /// `user:password`.
    User,
}

impl Next {
    /// What stands behind this argument.
    pub(crate) fn behind(argument: &str) -> Self {
        if USERS.contains(&argument) {
            return Self::User;
        }
        let is_option = argument.starts_with('-')
            && !argument.contains(|c: char| c == '=' || c.is_whitespace());
        match is_option && is_secret_name(argument) {
            true => Self::Secret,
            false => Self::Anything,
        }
    }

    /// Is this argument a secret? It is not, where it is certainly another option.
    pub(crate) fn is_secret(self, argument: &str) -> bool {
        let is_option = match argument.strip_prefix('-').map(|it| it.strip_prefix('-')) {
            Some(Some(long)) => {
                let name = long.split('=').next().unwrap_or_default();
                name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
            }
            Some(None) => argument.len() == 2,
            None => false,
        };
        self == Self::Secret && !is_option
    }
}

/// A user and a password, without that; nothing, where there is none.
pub(crate) fn of_user(text: &str) -> Option<String> {
    let (user, password) = text.split_once(':')?;
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // Numbers of a user and a group, as for containers.
    let is_none = password.is_empty()
        || password.starts_with("//")
        || is_reference(password)
        || is_number(user) && is_number(password);
    (!is_none).then(|| format!("{user}:{MASK}"))
}

/// Does a block of PEM with a private key begin in it?
pub(super) fn is_private_key(text: &str) -> bool {
    let blocks = text.split("-----BEGIN").skip(1);
    blocks
        .filter_map(|block| block.split_once("-----"))
        .any(|(kind, _)| kind.contains("PRIVATE KEY"))
}

/// A text without what stands in it before the host of an address, and behind the name of a scheme of HTTP: who that is and by what
/// word, or a token.
pub(crate) fn credentials(text: &str) -> Cow<'_, str> {
    match users(text) {
        Cow::Borrowed(text) => schemes(text),
        Cow::Owned(text) => Cow::Owned(schemes(&text).into_owned()),
    }
}

fn users(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let (mut kept, mut at) = (0, 0);
    for word in text.split_inclusive(char::is_whitespace) {
        if let Some((begin, end)) = user(word) {
            shown.push_str(&text[kept..at + begin]);
            shown.push_str(MASK);
            kept = at + end;
        }
        at += word.len();
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    Cow::Owned(shown + &text[kept..])
}

/// Where in a word the user and the password of an address stand.
fn user(word: &str) -> Option<(usize, usize)> {
    let begin = word.find("://")? + "://".len();
    let rest = &word[begin..];
    // Passwords hold all that should be escaped in addresses.
    let with_password = rest.rfind('@').filter(|end| rest[..*end].contains(':'));
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let end = with_password.or_else(|| authority.rfind('@'))?;
    Some((begin, begin + end))
}

fn schemes(text: &str) -> Cow<'_, str> {
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

pub(super) fn is_unguessable(text: &str) -> bool {
    let has = |test: fn(&char) -> bool| text.chars().any(|c| test(&c));
    text.len() >= UNGUESSABLE && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
        || BEGINNINGS.iter().any(|begin| text.starts_with(begin))
}

/// What stands between the marks, but for those in the quotes of a value.
pub(super) fn parts(text: &str, mark: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        let after = at + c.len_utf8();
        if matches!(c, '"' | '\'')
            && text[begin..at].trim_end().ends_with('=')
            && let Some(end) = text[after..].find(c)
        {
            at = after + end + c.len_utf8();
            continue;
        }
        if c == mark {
            parts.push(&text[begin..at]);
            begin = after;
        }
        at = after;
    }
    parts.push(&text[begin..]);
    parts
}
