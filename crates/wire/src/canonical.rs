//! One spelling for JSON texts that mean the same, to compare or to digest them. It is no JSON itself, and nobody reads it back.

use crate::Limits;
use crate::scan::{Bad, Scanner, space};
use crate::text;

/// Appends what an object means, but for the members named in `without`. The text is known to be JSON.
///
/// The same is: members in another order, other white space, other escapes, and another spelling of a number (`1`, `1.0`, `10e-1`).
/// Nothing else is: numbers are compared as they are written, not as some float that is near them.
pub fn canonical(object: &str, without: &[&str], out: &mut Vec<u8>) {
    let limits = Limits {
        elements: usize::MAX,
        depth: Limits::DEPTH_MAX,
        ..Limits::default()
    };
    let bytes = object.as_bytes();
    let mut scanner = Scanner::new(bytes, &limits);
    let written = value(&mut scanner, space(bytes, 0), 0, without, out);
    debug_assert!(written.is_ok(), "not JSON: {object}");
}

fn value(
    scanner: &mut Scanner<'_>,
    at: usize,
    depth: u32,
    without: &[&str],
    out: &mut Vec<u8>,
) -> Result<usize, Bad> {
    let all = scanner.text();
    if scanner.opens_object(at, depth) {
        let mut members = Vec::new();
        let end = scanner.object(at, depth, |scanner, key, at| {
            let name = key.name(all);
            if without.iter().any(|other| other.as_bytes() == &*name) {
                return scanner.value(at, depth + 1);
            }
            let mut member = Vec::new();
            string(&name, &mut member);
            let end = value(scanner, at, depth + 1, &[], &mut member)?;
            members.push(member);
            Ok(end)
        })?;
        members.sort_unstable();
        out.push(b'{');
        members.iter().for_each(|member| out.extend(member));
        out.push(b'}');
        return Ok(end);
    }
    if scanner.opens_array(at, depth) {
        out.push(b'[');
        let end = scanner.array(at, |scanner, at| {
            let end = value(scanner, at, depth + 1, &[], out)?;
            out.push(b',');
            Ok(end)
        })?;
        out.push(b']');
        return Ok(end);
    }
    let end = scanner.value(at, depth)?;
    match &all[at..end] {
        [b'"', inner @ .., b'"'] => string(&text::decode_bytes(inner), out),
        digits @ [b'-' | b'0'..=b'9', ..] => number(digits, out),
        other => out.extend_from_slice(other),
    }
    Ok(end)
}

/// With its length in front, so that nothing in it can be taken for what follows.
fn string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(bytes.len().to_string().as_bytes());
    out.push(b':');
    out.extend_from_slice(bytes);
}

/// Its digits without zeros at either end, and a power of ten.
fn number(text: &[u8], out: &mut Vec<u8>) {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mark = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (mantissa, exponent) = text.split_at(mark.unwrap_or(text.len()));
    let point = mantissa.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = mantissa.split_at(point.unwrap_or(mantissa.len()));
    let fraction = fraction.get(1..).unwrap_or_default();
    let digits = [whole, fraction].concat();
    let leading = digits.iter().take_while(|digit| **digit == b'0').count();
    let trailing = digits
        .iter()
        .rev()
        .take_while(|digit| **digit == b'0')
        .count();
    if leading == digits.len() {
        out.push(b'0');
        return;
    }
    if negative {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[leading..digits.len() - trailing]);
    out.push(b'e');
    match std::str::from_utf8(exponent.get(1..).unwrap_or(b"0")).map(str::parse::<i64>) {
        Ok(Ok(power)) => {
            let power = i128::from(power) + trailing as i128 - fraction.len() as i128;
            out.extend_from_slice(power.to_string().as_bytes());
        }
        // Beyond all that anybody computes with: the same only if it is written the same.
        _ => {
            out.extend_from_slice(exponent);
            out.extend_from_slice(format!("+{trailing}-{}", fraction.len()).as_bytes());
        }
    }
}
