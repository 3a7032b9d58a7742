//! What changes in a configuration, line by line, without the secrets that stand in it.

use polyport_config::{Format, masked};
use similar::{ChangeTag, TextDiff};

use crate::ui;

/// Lines that are shown around each change.
const AROUND: usize = 2;

/// The lines that change, and some around them.
pub(in crate::commands) fn lines(before: &str, after: &str, format: Format) -> String {
    let (old, new) = (split(before), split(after));
    // A value may stand on another line than the name that makes it a secret: each text is masked as a whole.
    let (old_shown, new_shown) = (masked(before, format), masked(after, format));
    let (old_shown, new_shown) = (split(&old_shown), split(&new_shown));
    let diff = TextDiff::from_slices(&old, &new);
    let mut text = String::new();
    for (i, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if i > 0 {
            text += "  ...\n";
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (mark, lines, at) = match change.tag() {
                ChangeTag::Delete => ('-', &old_shown, change.old_index()),
                ChangeTag::Insert => ('+', &new_shown, change.new_index()),
                ChangeTag::Equal => (' ', &new_shown, change.new_index()),
            };
            let line = at.and_then(|at| lines.get(at)).copied();
            let line = line.unwrap_or_default().trim_end_matches(['\n', '\r']);
            text += &format!("{mark} {}\n", ui::visible(line));
        }
    }
    text
}

fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}
