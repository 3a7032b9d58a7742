//! A type that holds a secret neither derives its comparison, which would tell by its time where two differ, nor its `Debug`,
//! which would show it (V-307). Which types those are, their names say.

use super::{Findings, Tree};
use crate::lexer::{Source, is_name, line};

/// What such a type may not derive.
const FORBIDDEN: &[&str] = &["PartialEq", "PartialOrd", "Ord", "Debug", "Serialize"];

pub(super) fn check(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let suffixes = &tree.rules.secrets.suffixes;
    for file in tree.rust.iter().filter(|file| !file.is_test()) {
        for (name, word, at) in derived(&file.source, suffixes) {
            findings.fail(format!(
                "{}:{at}: `{name}` derives {word}: compare with `subtle`, and show nothing of it",
                file.path
            ));
        }
    }
    Ok(findings)
}

/// Types with these endings that derive what they may not: name, what, line.
fn derived(source: &Source, suffixes: &[String]) -> Vec<(String, &'static str, usize)> {
    let bare = source.shipped(&source.bare);
    let mut found = Vec::new();
    for keyword in ["struct ", "enum "] {
        for (at, _) in bare.match_indices(keyword) {
            let rest = &bare[at + keyword.len()..];
            let end = rest.bytes().position(|byte| !is_name(byte)).unwrap_or(0);
            let name = &rest[..end];
            if !suffixes
                .iter()
                .any(|suffix| name.ends_with(suffix.as_str()))
            {
                continue;
            }
            // What stands between the item before and this one: attributes, and words such as `pub`.
            let before = &bare[..at];
            let from = before.rfind(['}', ';', '{']).map_or(0, |end| end + 1);
            let words = before[from..].split(|c: char| !c.is_ascii_alphanumeric());
            let words: Vec<&str> = words.collect();
            let forbidden = FORBIDDEN.iter().find(|word| words.contains(*word));
            found.extend(forbidden.map(|word| (name.to_owned(), *word, line(&bare, at))));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::derived;
    use crate::lexer::Source;

    #[test]
    fn a_secret_that_derives_too_much_is_found() {
        let text = "use a::b;\n/// PartialEq\n#[derive(Clone, PartialEq)]\npub struct SessionId(u8);\n\n#[derive(Debug)]\nstruct Other;\n\n#[derive(Clone, Hash)]\nenum ApiSecret {}\n#[derive(Clone)]\n#[derive(Debug)]\npub(crate) struct MySecret {\n    a: u8,\n}\n";
        let suffixes = ["SessionId", "Secret"].map(str::to_owned);
        let found = derived(&Source::new(text), &suffixes);
        let names: Vec<_> = found
            .iter()
            .map(|(n, w, at)| (n.as_str(), *w, *at))
            .collect();
        assert_eq!(
            names,
            [("SessionId", "PartialEq", 4), ("MySecret", "Debug", 13)]
        );
    }
}
