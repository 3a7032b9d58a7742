//! Decodes JSON that fits its schema into an author's type. What the type cannot hold is told by place and in the words of JSON.

use std::fmt::Write as _;

use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

use crate::schema::{MAX_POINTER, MAX_SHOWN, Violation, cut, pointer_step};

/// Reads the text. A number such as `2.0` is an integer in JSON Schema but not to serde, so a text that was refused is read once more
/// with such numbers written as integers.
pub(crate) fn decode<T: DeserializeOwned>(text: &str) -> Result<T, Violation> {
    serde_json::from_str(text).or_else(|_| decode_again(text))
}

#[cold]
fn decode_again<T: DeserializeOwned>(text: &str) -> Result<T, Violation> {
    let text = with_integers(text);
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let mut pointer = String::new();
        for segment in error.path() {
            match segment {
                Segment::Seq { index } => _ = write!(pointer, "/{index}"),
                Segment::Map { key } => pointer.push_str(&pointer_step(key)),
                Segment::Enum { variant } => pointer.push_str(&pointer_step(variant)),
                Segment::Unknown => {}
            }
        }
        Violation {
            pointer: cut(&pointer, MAX_POINTER),
            message: message(error.inner()),
        }
    })
}

/// The text with `2.0`, `1e1` and `-0` written as `2`, `10` and `0`. It is known to be JSON.
fn with_integers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| matches!(c, '"' | '-' | '0'..='9')) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (token, after) = rest.split_at(token_length(rest));
        let is_written_otherwise = token == "-0" || token.contains(['.', 'e', 'E']);
        match integer(token).filter(|_| !token.starts_with('"') && is_written_otherwise) {
            Some(integer) => out.push_str(&integer),
            None => out.push_str(token),
        }
        rest = after;
    }
    out + rest
}

/// How long the string or the number at the head is.
fn token_length(text: &str) -> usize {
    if !text.starts_with('"') {
        return text
            .find(|c: char| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9'))
            .unwrap_or(text.len());
    }
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

/// The digits of a number without a fraction, exactly: `None` for one that has a fraction or more digits than any type of integer.
fn integer(number: &str) -> Option<String> {
    let (sign, number) = match number.strip_prefix('-') {
        Some(number) => ("-", number),
        None => ("", number),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let leading = i64::try_from(all.len() - digits.len()).ok()?;
    let point = i64::try_from(whole.len())
        .ok()?
        .checked_add(exponent.parse().ok()?)?;
    let length = usize::try_from(point.checked_sub(leading)?).ok()?;
    let digits = digits.trim_end_matches('0');
    (digits.len() <= length && length <= MAX_DIGITS).then(|| format!("{sign}{digits:0<length$}"))
}

/// Serde's words without its position and without the names of Rust's types.
fn message(error: &serde_json::Error) -> String {
    let full = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let text = full.strip_suffix(&position).unwrap_or(&full);
    let mismatch = ["invalid type: ", "invalid value: ", "invalid "]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix)?.rsplit_once(", expected "));
    match mismatch {
        Some((got, wanted)) => format!(
            "expected {}, got {}",
            cut(&in_json(wanted), MAX_WORDS),
            cut(&came(got), MAX_SHOWN)
        ),
        None => cut(text, MAX_WORDS),
    }
}

/// What serde expected, as JSON calls it. Other words are an author's.
fn in_json(wanted: &str) -> String {
    if let Some(range) = range(wanted) {
        return format!("integer {range}");
    }
    if let Some(range) = wanted.strip_prefix("a nonzero ").and_then(range) {
        return format!("integer {range}, not 0");
    }
    let first = wanted.split(' ').next().unwrap_or_default();
    match wanted {
        "f32" | "f64" => "number",
        "a string" | "a borrowed string" | "string" | "str" => "string",
        "a character" => "string of one character",
        "a boolean" => "boolean",
        "unit" => "null",
        "a map" | "map" => "object",
        "a sequence" | "sequence" => "array",
        "string or map" => "string or object",
        "variant identifier" => "the name of a choice",
        _ if wanted.starts_with("unit struct ") => "null",
        _ if wanted.starts_with("tuple ") || wanted.starts_with("a tuple ") => {
            let count = wanted.split(' ').find_map(|word| word.parse::<u32>().ok());
            return count.map_or_else(|| "array".to_owned(), |n| format!("array of {n} items"));
        }
        _ if matches!(first, "struct" | "internally" | "adjacently") => "object",
        _ if first == "enum" => "one of the choices",
        _ => wanted,
    }
    .to_owned()
}

fn range(name: &str) -> Option<String> {
    let signed = name.starts_with('i');
    let bits = match name.strip_prefix(['i', 'u'])? {
        "size" => usize::BITS,
        bits => bits.parse().ok().filter(|bits| (8..=128).contains(bits))?,
    };
    let most = u128::MAX >> (128 - bits);
    Some(if signed {
        format!("from -{} to {}", (most >> 1) + 1, most >> 1)
    } else {
        format!("from 0 to {most}")
    })
}

/// What came instead, as JSON calls it.
fn came(got: &str) -> String {
    let number = ["integer `", "floating point `"]
        .iter()
        .find_map(|prefix| got.strip_prefix(prefix)?.strip_suffix('`'));
    match (number, got) {
        (Some(number), _) => format!("number {number}"),
        (_, "sequence") => "array".to_owned(),
        (_, "map" | "struct") => "object".to_owned(),
        (_, "unit value") => "null".to_owned(),
        _ => got.replace('`', ""),
    }
}

/// As many as the widest integer has.
const MAX_DIGITS: usize = 39;

/// Characters shown of what an author's type says.
const MAX_WORDS: usize = 300;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashMap;
    use std::num::NonZeroU8;

    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, deny_unknown_fields)]
    struct All {
        small: i8,
        long: i64,
        plain: u64,
        wide: u128,
        half: f64,
        text: String,
        many: Vec<u32>,
        named: HashMap<String, u16>,
        pair: (u8, u8),
        inner: Option<Box<Self>>,
        some: Option<NonZeroU8>,
        any: Value,
        yes: bool,
        day: Option<Day>,
        one: Option<One>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum One {
        Count { of: u8 },
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(try_from = "String")]
    struct Day(u8);

    impl TryFrom<String> for Day {
        type Error = String;

        fn try_from(text: String) -> Result<Self, String> {
            Err(format!("{text} is no day of the week"))
        }
    }

    #[test]
    fn numbers_without_a_fraction_are_integers_everywhere() {
        for (written, plain) in [
            (r#"{"small":2.0}"#, r#"{"small":2}"#),
            (r#"{"small":-12.0e1}"#, r#"{"small":-120}"#),
            (r#"{"small":1200E-2}"#, r#"{"small":12}"#),
            (r#"{"small":-0}"#, r#"{"small":0}"#),
            (r#"{"small":-0.0}"#, r#"{"small":0}"#),
            (r#"{"small":0e99999999999999999999}"#, r#"{"small":0}"#),
            (r#"{"small":0.0012e4}"#, r#"{"small":12}"#),
            (
                r#"{"long":-9.223372036854775808e18}"#,
                r#"{"long":-9223372036854775808}"#,
            ),
            (
                r#"{"plain":18446744073709551615.0}"#,
                r#"{"plain":18446744073709551615}"#,
            ),
            (
                r#"{"plain":9007199254740993.0}"#,
                r#"{"plain":9007199254740993}"#,
            ),
            (
                r#"{"wide":1e30}"#,
                r#"{"wide":1000000000000000000000000000000}"#,
            ),
            (r#"{"many":[1.0,2,3e0]}"#, r#"{"many":[1,2,3]}"#),
            (
                r#"{"named":{"3.0":3.0,"\"1e1":1e1,"\\":1.0}}"#,
                r#"{"named":{"3.0":3,"\"1e1":10,"\\":1}}"#,
            ),
            (
                r#"{"pair":[ 1.0 , 2.0 ],"inner":{"inner":{"many":[7.0]}}}"#,
                r#"{"pair":[1,2],"inner":{"inner":{"many":[7]}}}"#,
            ),
            (
                r#"{"small":1.0,"half":2.5,"text":"2.0 and \"3.0\" – ü","any":{"a":0.5}}"#,
                r#"{"small":1,"half":2.5,"text":"2.0 and \"3.0\" – ü","any":{"a":0.5}}"#,
            ),
            (r#"{"some":5.0}"#, r#"{"some":5}"#),
            (
                r#"{"one":{"count":{"of":5.0}}}"#,
                r#"{"one":{"count":{"of":5}}}"#,
            ),
        ] {
            let expected: All = serde_json::from_str(plain).unwrap();
            assert_eq!(decode::<All>(written), Ok(expected), "{written}");
        }
        assert_eq!(decode::<u32>("3.0"), Ok(3));
    }

    #[test]
    fn what_was_read_at_once_stays_as_it_was_written() {
        let all: All = decode(r#"{"half":-0.0,"any":2.0}"#).unwrap();
        assert!(all.half.is_sign_negative() && all.any.is_f64());
    }

    #[test]
    fn a_value_that_the_type_cannot_hold_is_told_in_the_words_of_json() {
        for (text, told) in [
            (
                r#"{"small":300}"#,
                "arguments/small: expected integer from -128 to 127, got number 300",
            ),
            (
                r#"{"long":1e30}"#,
                "arguments/long: expected integer from -9223372036854775808 to 9223372036854775807, got number 1e+30",
            ),
            (r#"{"plain":1e400}"#, "arguments/plain: number out of range"),
            (
                r#"{"many":[1,2.5]}"#,
                "arguments/many/1: expected integer from 0 to 4294967295, got number 2.5",
            ),
            (
                r#"{"named":{"a/b":true}}"#,
                "arguments/named/a~1b: expected integer from 0 to 65535, got boolean true",
            ),
            (
                r#"{"inner":{"text":7}}"#,
                "arguments/inner/text: expected string, got number 7",
            ),
            (
                r#"{"inner":3}"#,
                "arguments/inner: expected object, got number 3",
            ),
            (
                r#"{"half":"1"}"#,
                "arguments/half: expected number, got string \"1\"",
            ),
            (
                r#"{"many":{}}"#,
                "arguments/many: expected array, got object",
            ),
            (
                r#"{"named":[]}"#,
                "arguments/named: expected object, got array",
            ),
            (
                r#"{"pair":[1]}"#,
                "arguments/pair: expected array of 2 items, got length 1",
            ),
            (
                r#"{"yes":null}"#,
                "arguments/yes: expected boolean, got null",
            ),
            (
                r#"{"some":0}"#,
                "arguments/some: expected integer from 0 to 255, not 0, got number 0",
            ),
            (
                r#"{"day":"noon"}"#,
                "arguments/day: noon is no day of the week",
            ),
            (
                r#"{"one":{"count":{"of":256}}}"#,
                "arguments/one/count/of: expected integer from 0 to 255, got number 256",
            ),
        ] {
            let told_now = decode::<All>(text).unwrap_err().to_string();
            assert_eq!(told_now, told, "{text}");
        }
        let long = format!(r#"{{"half":"{}"}}"#, "x".repeat(10_000));
        assert!(decode::<All>(&long).unwrap_err().message.len() < 200);
    }
}
