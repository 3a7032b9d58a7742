//! What a JSON text means, read slowly and kept exactly; and the same meaning in another spelling.

use std::collections::BTreeMap;

/// The meaning of a JSON text. Strings are UTF-16, so that lone surrogates have one; numbers are written out, without a power of ten.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Meaning {
    Word(String),
    Number(String),
    Text(Vec<u16>),
    Array(Vec<Self>),
    Object(BTreeMap<Vec<u16>, Self>),
}

/// Reads what is known to be JSON. None: it has a number that is too long to be written out, or a key twice.
pub(crate) fn read(text: &str) -> Option<Meaning> {
    let mut rest = text;
    value(&mut rest)
}

fn skip(rest: &mut &str) {
    *rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
}

fn take(rest: &mut &str, mark: char) -> bool {
    skip(rest);
    let after = rest.strip_prefix(mark);
    *rest = after.unwrap_or(rest);
    after.is_some()
}

fn value(rest: &mut &str) -> Option<Meaning> {
    if take(rest, '{') {
        let mut members = BTreeMap::new();
        while !take(rest, '}') {
            take(rest, ',');
            assert!(take(rest, '"'), "a key: {rest}");
            let key = string(rest);
            assert!(take(rest, ':'), "a colon: {rest}");
            if members.insert(key, value(rest)?).is_some() {
                return None;
            }
        }
        return Some(Meaning::Object(members));
    }
    if take(rest, '[') {
        let mut items = Vec::new();
        while !take(rest, ']') {
            take(rest, ',');
            items.push(value(rest)?);
        }
        return Some(Meaning::Array(items));
    }
    if take(rest, '"') {
        return Some(Meaning::Text(string(rest)));
    }
    let end = rest.find([',', ']', '}', ' ', '\t', '\r', '\n']);
    let (token, after) = rest.split_at(end.unwrap_or(rest.len()));
    *rest = after;
    if token.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Some(Meaning::Word(token.to_owned()));
    }
    written_out(token).map(Meaning::Number)
}

/// The rest of a string whose quote has been taken.
fn string(rest: &mut &str) -> Vec<u16> {
    let mut units = Vec::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        let unit = match c {
            '"' => {
                *rest = &rest[at + 1..];
                return units;
            }
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('b') => 8,
                Some('f') => 12,
                Some('n') => 10,
                Some('r') => 13,
                Some('t') => 9,
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                    u16::from_str_radix(&digits, 16).expect("four digits")
                }
                Some(plain) => plain as u16,
                None => break,
            },
            c => {
                units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
                continue;
            }
        };
        units.push(unit);
    }
    panic!("a string without an end");
}

fn written_out(number: &str) -> Option<String> {
    let lower = number.to_ascii_lowercase();
    let (mantissa, power) = lower.split_once('e').unwrap_or((&lower, "0"));
    let power: i32 = power.parse().ok().filter(|power: &i32| power.abs() < 500)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (sign, whole) = match whole.strip_prefix('-') {
        Some(whole) => ("-", whole),
        None => ("", whole),
    };
    let zeros = "0".repeat(500);
    let digits = format!("{zeros}{whole}{fraction}{zeros}");
    let point = usize::try_from(i32::try_from(500 + whole.len()).ok()? + power).ok()?;
    let (before, behind) = digits.split_at(point);
    let (before, behind) = (before.trim_start_matches('0'), behind.trim_end_matches('0'));
    Some(if before.is_empty() && behind.is_empty() {
        "0".to_owned()
    } else {
        format!("{sign}{before}.{behind}")
    })
}

/// The same meaning, spelt otherwise: members backwards, white space, every character escaped, numbers with a power of ten.
pub(crate) fn respell(meaning: &Meaning) -> String {
    let text = |units: &[u16]| {
        let units = units.iter().map(|unit| format!("\\u{unit:04X}"));
        format!("\"{}\"", units.collect::<String>())
    };
    match meaning {
        Meaning::Word(word) => word.clone(),
        Meaning::Text(units) => text(units),
        Meaning::Number(number) => {
            let (sign, digits) = match number.strip_prefix('-') {
                Some(digits) => ("-", digits),
                None => ("", number.as_str()),
            };
            let (before, behind) = digits.split_once('.').unwrap_or((digits, ""));
            let all = format!("{before}{behind}");
            let all = all.trim_start_matches('0');
            let all = if all.is_empty() { "0" } else { all };
            format!("{sign}{all}.00e-{}", behind.len())
        }
        Meaning::Array(items) => {
            let items: Vec<_> = items.iter().map(respell).collect();
            format!("[ {} ]", items.join(" ,\r"))
        }
        Meaning::Object(members) => {
            let members = members.iter().rev();
            let members: Vec<_> = members
                .map(|(key, value)| format!("{} :\t{}", text(key), respell(value)))
                .collect();
            format!("{{ {} }}", members.join("\n , "))
        }
    }
}
