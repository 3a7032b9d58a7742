//! URI templates as MCP servers use them (RFC 6570: `{name}` and `{+name}`): matching and expanding. No other operators.

use std::collections::BTreeMap;
use std::fmt;

use crate::percent;

/// A template such as `file:///{+path}`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UriTemplate {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Part {
    /// Percent-encoded where it is not ASCII, as it stands in a URI.
    Literal(String),
    /// `{name}`: anything but `/`, `?`, `#`.
    Simple(String),
    /// `{+name}`: anything.
    Reserved(String),
}

/// Why a template cannot be used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BadTemplate(String);

impl fmt::Display for BadTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadTemplate {}

/// Most variables of one template.
const MAX_VARIABLES: usize = 32;

impl UriTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// Braces that do not pair, a `%` without its digits, names that are empty, doubled or have an operator other than `+`, or two variables in a row.
    pub fn parse(text: &str) -> Result<Self, BadTemplate> {
        let bad = |why: &str| BadTemplate(format!("URI template {text:?}: {why}"));
        let (mut parts, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let open = rest.find('{').unwrap_or(rest.len());
            let (literal, tail) = rest.split_at(open);
            if literal.contains('}') {
                return Err(bad("a } without its {"));
            }
            if !has_whole_triplets(literal) {
                return Err(bad("a % without its two hexadecimal digits"));
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(encode(literal, true)));
            }
            let Some(tail) = tail.strip_prefix('{') else {
                break;
            };
            let (inside, after) = tail
                .split_once('}')
                .ok_or_else(|| bad("a { without its }"))?;
            let (name, part): (_, fn(String) -> Part) = match inside.strip_prefix('+') {
                Some(name) => (name, Part::Reserved),
                None => (inside, Part::Simple),
            };
            // A dot in front would be another operator.
            let is_word = |word: &str| {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                !word.is_empty() && word.chars().all(plain)
            };
            if !name.split('.').all(is_word) {
                return Err(bad(
                    "a variable is {name} or {+name}, of letters, digits, _ and . between them",
                ));
            }
            if !matches!(parts.last(), None | Some(Part::Literal(_))) {
                return Err(bad("two variables need text between them"));
            }
            parts.push(part(name.to_owned()));
            rest = after;
        }
        let template = Self {
            text: text.to_owned(),
            parts,
        };
        let names: Vec<_> = template.variables().collect();
        if names
            .iter()
            .enumerate()
            .any(|(i, name)| names[..i].contains(name))
        {
            return Err(bad("a variable occurs twice"));
        }
        if names.len() > MAX_VARIABLES {
            return Err(bad("more than 32 variables"));
        }
        Ok(template)
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of its variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::Simple(name) | Part::Reserved(name) => Some(name.as_str()),
        })
    }

    /// The values of the variables in a URI, percent-decoded; none if the URI is not of this form. Literals match as they
    /// are and percent-encoded; a variable takes as little as it can.
    pub fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let uri = encode(uri, true);
        let mut values = BTreeMap::new();
        let mut rest = uri.as_str();
        for (i, part) in self.parts.iter().enumerate() {
            let (name, reserved) = match part {
                Part::Literal(literal) => {
                    rest = rest.strip_prefix(literal.as_str())?;
                    continue;
                }
                Part::Simple(name) => (name, false),
                Part::Reserved(name) => (name, true),
            };
            let end = match self.parts.get(i + 1) {
                // The last literal must end the URI.
                Some(Part::Literal(next)) if i + 2 == self.parts.len() => last(rest, next)?,
                Some(Part::Literal(next)) => first(rest, next)?,
                _ => rest.len(),
            };
            let value = &rest[..end];
            if value.is_empty() || (!reserved && value.contains(['/', '?', '#'])) {
                return None;
            }
            values.insert(name.clone(), decode(value)?);
            rest = &rest[end..];
        }
        rest.is_empty().then_some(values)
    }

    /// The URI with these values; a missing one is empty.
    pub fn expand(&self, values: &BTreeMap<String, String>) -> String {
        let mut uri = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => uri.push_str(literal),
                Part::Simple(name) => {
                    uri.push_str(&encode(values.get(name).map_or("", String::as_str), false))
                }
                Part::Reserved(name) => uri.push_str(&encode_reserved(
                    values.get(name).map_or("", String::as_str),
                )),
            }
        }
        uri
    }
}

fn has_whole_triplets(literal: &str) -> bool {
    literal
        .split('%')
        .skip(1)
        .all(|after| after.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2)
}

/// Where a literal first stands in a URI, but not inside a percent triplet.
fn first(uri: &str, literal: &str) -> Option<usize> {
    uri.match_indices(literal)
        .map(|(at, _)| at)
        .find(|at| !cuts_triplet(uri, *at))
}

/// Where a literal stands at the end of a URI.
fn last(uri: &str, literal: &str) -> Option<usize> {
    let at = uri.strip_suffix(literal)?.len();
    (!cuts_triplet(uri, at)).then_some(at)
}

fn cuts_triplet(uri: &str, at: usize) -> bool {
    let before = &uri.as_bytes()[at.saturating_sub(2)..at];
    before.contains(&b'%')
}

/// Percent-encodes all but unreserved characters; with `keep`, only what may not stand in a URI at all.
fn encode(text: &str, keep: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    for (at, byte) in bytes.iter().copied().enumerate() {
        let unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let kept = keep && byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
        // RFC 3986, 6.2.2.1: the digits of a percent triplet have no case.
        let in_triplet =
            keep && byte.is_ascii_hexdigit() && bytes[at.saturating_sub(2)..at].contains(&b'%');
        if in_triplet {
            out.push(char::from(byte.to_ascii_uppercase()));
        } else if unreserved || kept {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Reserved characters stay; what would change the meaning of the value (`%`, `?`, `#`) does not.
fn encode_reserved(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(['%', '?', '#']) {
        let (body, last) = match piece.chars().last() {
            Some(c @ ('%' | '?' | '#')) => (&piece[..piece.len() - 1], Some(c)),
            _ => (piece, None),
        };
        out.push_str(&encode(body, true));
        if let Some(c) = last {
            out.push_str(&format!("%{:02X}", u32::from(c)));
        }
    }
    out
}

/// Undoes percent-encoding; none where it is broken or not UTF-8.
fn decode(text: &str) -> Option<String> {
    String::from_utf8(percent::decode(text)?).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn check(template: &str, uri: &str) -> Option<String> {
        let found = UriTemplate::parse(template).unwrap().matches(uri)?;
        Some(
            found
                .iter()
                .map(|(k, v)| format!("{k}={v}"))
                .collect::<Vec<_>>()
                .join("&"),
        )
    }

    // req: BR-133
    #[test]
    fn br_133_matching() {
        for (template, uri, want) in [
            (
                "test://template/{id}/data",
                "test://template/123/data",
                Some("id=123"),
            ),
            (
                "test://template/{id}/data",
                "test://template/1/2/data",
                None,
            ),
            ("test://template/{id}/data", "test://template//data", None),
            (
                "file:///{+path}",
                "file:///a/b%20c.md",
                Some("path=a/b c.md"),
            ),
            (
                "file:///docs/café/{name}",
                "file:///docs/café/x",
                Some("name=x"),
            ),
            (
                "file:///docs/café/{name}",
                "file:///docs/caf%C3%A9/%E6%9D%B1",
                Some("name=東"),
            ),
            ("a://{x}-{y}", "a://1-2-3", Some("x=1&y=2-3")),
            ("a://{x}-{y}", "a://1-2", Some("x=1&y=2")),
            ("a://{+x}.md", "a://b.md.md", Some("x=b.md")),
            ("a://{x}", "a://%zz", None),
            ("a://{x}", "a://%ff", None),
            ("a://{x}", "a://b?c", None),
            ("t://caf%c3%a9/{x}", "t://caf%C3%A9/z", Some("x=z")),
            ("t://{x}2{y}", "t://a%20b2z", Some("x=a b&y=z")),
            ("plain://x", "plain://x", Some("")),
            ("plain://x", "plain://xy", None),
        ] {
            assert_eq!(check(template, uri).as_deref(), want, "{template} {uri}");
        }
    }

    #[test]
    fn what_is_expanded_matches() {
        for (template, value) in [
            ("a://{v}/z", "é /?#%"),
            ("a://{+v}", "x/y z/%41?#é"),
            ("a://{v}", "plain"),
        ] {
            let template = UriTemplate::parse(template).unwrap();
            let values = BTreeMap::from([("v".to_owned(), value.to_owned())]);
            assert_eq!(
                template.matches(&template.expand(&values)),
                Some(values),
                "{}",
                template.as_str()
            );
        }
    }

    #[test]
    fn bad_templates() {
        for bad in [
            "{",
            "}",
            "{}",
            "{a b}",
            "{/x}",
            "{x*}",
            "{a}{b}",
            "{a}/{a}",
            "a://%4{x}",
            "%",
            "%zz",
            "a}b",
        ] {
            assert!(UriTemplate::parse(bad).is_err(), "{bad}");
        }
    }
}
