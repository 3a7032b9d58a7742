//! Finds the known name that a misspelt one stands for. Knows nothing of schemas.

/// The known name that was most likely meant: equal but for case and separators, or a few slips of the keyboard away.
pub fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let name = folded(name)?;
    let scored = known.iter().filter_map(|candidate| {
        let folded = folded(candidate)?;
        let slips = distance(&name, &folded);
        (slips <= name.len().max(folded.len()) / 3).then_some((slips, *candidate))
    });
    scored
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// `None` for names too long to compare.
fn folded(name: &str) -> Option<Vec<char>> {
    let folded: Vec<char> = name
        .chars()
        .take(MAX_COMPARED + 1)
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .collect();
    (folded.len() <= MAX_COMPARED).then_some(folded)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one name into the other.
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

/// Characters of the longest name that is compared.
const MAX_COMPARED: usize = 64;
