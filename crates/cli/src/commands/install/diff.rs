//! What changes in a text, line by line, without the secrets that stand around it.

use polyport_config::{MASK, is_secret_name, mask};
use similar::{ChangeTag, TextDiff};

use crate::ui;

/// Lines that are shown around each change.
const AROUND: usize = 2;

/// The lines that change, and some around them.
pub(in crate::commands) fn lines(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut text = String::new();
    for (i, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if i > 0 {
            text += "  ...\n";
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let mark = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let line = change.value().trim_end_matches(['\n', '\r']);
            text += &format!("{mark} {}\n", ui::visible(&masked(line)));
        }
    }
    text
}

/// A line of JSON or TOML without its secrets: quoted texts that look like one, or stand behind a name that says so.
fn masked(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    let mut name = String::new();
    let bare = |text: &str| {
        let key = text.trim_end().strip_suffix('=')?.trim_end();
        let begin = key.rfind(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c)));
        Some(key[begin.map_or(0, |at| at + 1)..].to_owned())
    };
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, quoted) = rest.split_at(at);
        let quote = &quoted[..1];
        let Some(end) = closing(quoted) else { break };
        let inner = &quoted[1..end];
        out.push_str(before);
        if let Some(key) = bare(before) {
            name = key;
        }
        let after = quoted[end + 1..].trim_start();
        let is_name = after.starts_with([':', '=']);
        let shown = if is_name {
            inner.to_owned()
        } else if is_secret_name(&name) && !inner.is_empty() {
            mask::value(&name, inner)
        } else {
            mask::text(inner)
        };
        out.push_str(&format!("{quote}{shown}{quote}"));
        let is_option = inner.starts_with('-') && !inner.contains('=') && is_secret_name(inner);
        // What follows in a list belongs to no name, but to the option before it.
        name = match (is_name, is_option) {
            (true, _) => inner.to_owned(),
            (false, true) => "secret".to_owned(),
            (false, false) => String::new(),
        };
        rest = &quoted[end + 1..];
    }
    // A text that goes on over lines.
    if rest.contains(['"', '\'']) && is_secret_name(&name) {
        return out + MASK;
    }
    out + rest
}

/// The end of a quoted text.
fn closing(quoted: &str) -> Option<usize> {
    let quote = quoted.chars().next()?;
    let mut is_escaped = false;
    quoted.char_indices().skip(1).find_map(|(at, c)| {
        let ends = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped && quote == '"';
        ends.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_around_a_change_are_masked() {
        for (line, want) in [
            (r#"  "API_KEY": "abc","#, r#"  "API_KEY": "****","#),
            (r#"  "LEVEL": "debug","#, r#"  "LEVEL": "debug","#),
            (
                r#"  "API_KEY": "${API_KEY}""#,
                r#"  "API_KEY": "${API_KEY}""#,
            ),
            (
                r#"  "Authorization": "Bearer x\" y""#,
                r#"  "Authorization": "****""#,
            ),
            (
                r#"  "args": ["--token", "abc", "x"]"#,
                r#"  "args": ["--token", "****", "x"]"#,
            ),
            (r#"  "args": ["sk-abc"]"#, r#"  "args": ["****"]"#),
            (
                "env = { API_KEY = 'abc', B = 'c' }",
                "env = { API_KEY = '****', B = 'c' }",
            ),
            ("API_KEY = \"abc\"", "API_KEY = \"****\""),
            ("command = 'npx'", "command = 'npx'"),
            (
                r#"  "url": "https://a.example/?key=abc""#,
                r#"  "url": "https://a.example/?key=****""#,
            ),
            (r#"  "open"#, r#"  "open"#),
        ] {
            assert_eq!(masked(line), want);
        }
    }
}
