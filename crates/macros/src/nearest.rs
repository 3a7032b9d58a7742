//! Finds the known word that a misspelt one stands for.

/// The known word that was most likely meant: its beginning, or a few slips of the keyboard away.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = folded(word);
    let scored = known.into_iter().filter_map(|candidate| {
        let folded = folded(candidate);
        if word.len() > 2 && folded.starts_with(&word) {
            return Some((0, candidate));
        }
        let slips = distance(&word, &folded);
        (slips <= word.len().max(folded.len()) / 3).then_some((slips, candidate))
    });
    scored
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

fn folded(word: &str) -> Vec<char> {
    word.chars()
        .filter(|c| *c != '_')
        .flat_map(char::to_lowercase)
        .collect()
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (row, x) in a.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, y) in b.iter().enumerate() {
            let replaced = above[column] + usize::from(x != y);
            let mut best = replaced.min(above[column + 1] + 1).min(line[column] + 1);
            if row > 0 && column > 0 && *x == b[column - 1] && a[row - 1] == *y {
                best = best.min(before[column - 1] + 1);
            }
            line.push(best);
        }
        before = std::mem::replace(&mut above, line);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn what_was_meant() {
        let known = ["name", "title", "description", "read_only", "open_world"];
        for (word, meant) in [
            ("readonly", Some("read_only")),
            ("ReadOnly", Some("read_only")),
            ("desc", Some("description")),
            ("titel", Some("title")),
            ("nmae", Some("name")),
            ("nam", Some("name")),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
    }
}
