//! The check of `WWW-Authenticate`: what is read is within bounds, and read again from its own words it is the same.

use polyport_proto::http::Challenge;

/// Reads `data` as the values of any number of such headers, one a line.
///
/// - No more is kept than the bounds say, and no parameter twice.
/// - Schemes and names are lower case and never empty.
/// - Written by the letter of RFC 9110 and read again, it is the same.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let all = Challenge::read(text.lines());
    assert!(all.len() <= 32, "{} challenges", all.len());
    for challenge in &all {
        assert!(challenge.params.len() <= 64, "{challenge:?}");
        assert!(is_name(&challenge.scheme), "{challenge:?}");
        assert!(
            challenge.token.is_none() || challenge.params.is_empty(),
            "{challenge:?}"
        );
        for (at, (name, _)) in challenge.params.iter().enumerate() {
            assert!(is_name(name), "{challenge:?}");
            let is_first = challenge.params[..at]
                .iter()
                .all(|(other, _)| other != name);
            assert!(is_first, "{challenge:?}");
        }
    }
    let lines: Vec<String> = all.iter().map(written).collect();
    let again = Challenge::read(lines.iter().map(String::as_str));
    assert_eq!(again, all, "{lines:?}");
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_ascii_uppercase() || c.is_whitespace())
}

/// A challenge as a line of its own.
fn written(challenge: &Challenge) -> String {
    let mut line = challenge.scheme.clone();
    if let Some(token) = &challenge.token {
        line.push(' ');
        line.push_str(token);
    }
    for (at, (name, value)) in challenge.params.iter().enumerate() {
        line.push_str(if at == 0 { " " } else { ", " });
        line.push_str(name);
        line.push_str("=\"");
        for c in value.chars() {
            if matches!(c, '"' | '\\') {
                line.push('\\');
            }
            line.push(c);
        }
        line.push('"');
    }
    line
}
