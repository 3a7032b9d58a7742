//! A knob says its default: every public field of a `…Limits`, `…Config` or `…Options` has "Defaults to" in its documentation.

use super::{Findings, Tree, short};
use crate::lexer::{Source, is_name, line};

const PHRASE: &str = "Defaults to";

pub(super) fn check(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let rules = &tree.rules.knobs;
    for file in tree.rust.iter().filter(|file| !file.is_test()) {
        let owner = file.path.strip_prefix("crates/").unwrap_or_default();
        let owner = owner.split('/').next().unwrap_or_default();
        if !rules.crates.iter().any(|name| name == short(owner)) {
            continue;
        }
        for (field, at) in silent(&file.source, &rules.suffixes) {
            findings.fail(format!(
                "{}:{at}: the documentation of `{field}` does not say \"{PHRASE} …\"",
                file.path
            ));
        }
    }
    Ok(findings)
}

/// Public fields of the structs with these endings whose comment lacks the phrase, with their line.
fn silent(source: &Source, suffixes: &[String]) -> Vec<(String, usize)> {
    let bare = source.shipped(&source.bare);
    let mut found = Vec::new();
    for (at, _) in bare.match_indices("pub struct ") {
        let rest = &bare[at + "pub struct ".len()..];
        let end = rest.bytes().position(|byte| !is_name(byte)).unwrap_or(0);
        let is_knobs = suffixes
            .iter()
            .any(|suffix| rest[..end].ends_with(suffix.as_str()));
        let Some(open) = rest.find('{') else { continue };
        let is_record = !rest[..open].contains([';', '(']);
        if !is_knobs || !is_record {
            continue;
        }
        let Some(close) = rest[open..].find("\n}") else {
            continue;
        };
        let from = line(&bare, at + "pub struct ".len() + open);
        let to = line(&bare, at + "pub struct ".len() + open + close);
        let lines: Vec<&str> = source.text.lines().collect();
        let mut documented = false;
        for (index, text) in lines.iter().enumerate().take(to).skip(from) {
            let text = text.trim_start();
            if text.starts_with("///") {
                documented |= text.contains(PHRASE);
            } else if let Some(field) = text.strip_prefix("pub ") {
                let name = field.split(':').next().unwrap_or_default();
                if !documented {
                    found.push((name.to_owned(), index + 1));
                }
                documented = false;
            } else if !text.starts_with('#') {
                documented = false;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::silent;
    use crate::lexer::Source;

    #[test]
    fn a_field_without_its_default_is_found() {
        let text = "/// All.\npub struct WireLimits {\n    /// Deep. Defaults to 128.\n    pub depth: usize,\n    /// Long.\n    pub bytes: usize,\n}\npub struct Other {\n    pub x: u8,\n}\n";
        let found = silent(&Source::new(text), &["Limits".to_owned()]);
        assert_eq!(found, [("bytes".to_owned(), 6)]);
    }
}
