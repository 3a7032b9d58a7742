//! No path of somebody's machine, and no folder beside the repository, is named in what ships.

use super::{Findings, Tree, is_test_path};
use crate::lexer::line;

/// The one file that has to name them.
const OWN: &str = "xtask/tidy.toml";

pub(super) fn check(tree: &Tree) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let rust = tree.rust.iter().map(|file| {
        let shipped = file.source.shipped(&file.source.text);
        (file.path.as_str(), shipped)
    });
    let texts = tree.texts.iter().map(|file| {
        let path = file.path.as_str();
        (path, file.text.clone())
    });
    let rules = &tree.rules.paths;
    for (path, text) in rust.chain(texts) {
        if path == OWN {
            continue;
        }
        if !is_test_path(path) {
            for folder in &rules.absolute {
                if let Some(at) = find_path(&text, folder) {
                    let at = line(&text, at);
                    findings.fail(format!(
                        "{path}:{at}: names {folder}, a folder of one machine"
                    ));
                }
            }
        }
        let may = rules
            .neighbour_allowed
            .iter()
            .any(|allowed| allowed == path);
        if let (false, Some(at)) = (may, text.find(&rules.neighbour)) {
            let at = line(&text, at);
            findings.fail(format!(
                "{path}:{at}: names a folder outside the repository"
            ));
        }
    }
    Ok(findings)
}

/// Where `folder` begins an absolute path of its own, rather than being a part of a longer path or URL.
fn find_path(text: &str, folder: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let joins = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.~/}$)*>]%".contains(&byte);
    let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    text.match_indices(folder).map(|(at, _)| at).find(|at| {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let after = bytes.get(at + folder.len()).copied();
        !before.is_some_and(joins) && !after.is_some_and(goes_on)
    })
}

#[cfg(test)]
mod tests {
    use super::find_path;

    #[test]
    fn only_absolute_paths_are_found() {
        let cases = [
            ("cd /work/x", Some(3)),
            ("\"/work\"", Some(1)),
            ("/workspace", None),
            ("a/work/x", None),
            ("file:///work/x", None),
            ("{root}/work", None),
            ("/work", Some(0)),
        ];
        for (text, expect) in cases {
            assert_eq!(find_path(text, "/work"), expect, "{text}");
        }
    }
}
