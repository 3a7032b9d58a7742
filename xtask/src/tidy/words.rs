//! No committed file holds a word that says it is unfinished, or the name of a host that packages come from.

use super::{Findings, Tree};
use crate::lexer::line;

/// The one file that has to name them.
const OWN: &str = "xtask/tidy.toml";

pub(super) fn check(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let rust = tree.rust.iter().map(|file| (&file.path, &file.source.text));
    let texts = tree.texts.iter().map(|file| (&file.path, &file.text));
    for (path, text) in rust.chain(texts) {
        if path == OWN {
            continue;
        }
        // Checksums in a lock file may spell anything.
        let is_lock = path.ends_with("package-lock.json") || path.ends_with("Cargo.lock");
        let unfinished = &tree.rules.words.unfinished;
        let words = unfinished.iter().filter(|_| !is_lock);
        for word in words.chain(&tree.rules.words.hosts) {
            if let Some(at) = text.find(word.as_str()) {
                findings.fail(format!("{path}:{}: `{word}`", line(text, at)));
            }
        }
    }
    Ok(findings)
}
