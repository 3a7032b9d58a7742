//! Fuzz corpora replay in ordinary tests, so each input stays small.

use std::fs;

use super::{Findings, Tree};
use crate::tree;

pub(super) fn check(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let rules = &tree.rules.corpora;
    for path in tree::files(&tree.root.join(&rules.folder)) {
        let name = tree::relative(&tree.root, &path);
        let size = fs::metadata(&path)
            .map_err(|error| format!("cannot read {name}: {error}"))?
            .len();
        if size >= rules.bytes {
            findings.fail(format!(
                "{name}: {size} bytes, less than {} please",
                rules.bytes
            ));
        }
    }
    Ok(findings)
}
