//! A revision is a table, not an `if`: its name stands in its own room only. Comments and tests may name it.

use super::{Findings, Tree};
use crate::lexer::line;

pub(super) fn check(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let rules = &tree.rules.revisions;
    for file in &tree.rust {
        let is_allowed = rules.allowed.iter().any(|room| file.path.starts_with(room));
        if is_allowed || file.is_test() {
            continue;
        }
        let code = file.source.shipped(&file.source.uncommented);
        let words = rules.names.iter().chain([&rules.variant]);
        for word in words {
            for (at, _) in code.match_indices(word.as_str()) {
                findings.fail(format!(
                    "{}:{}: `{word}` belongs into crates/proto/src/revision; ask the profile for the property instead",
                    file.path,
                    line(&code, at)
                ));
            }
        }
    }
    Ok(findings)
}
