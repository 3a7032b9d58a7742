//! The name that somebody may have meant who has written another.

/// The name that differs least, if one is near.
pub(crate) fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let near = known
        .iter()
        .map(|k| (distance(name, k), k.as_str()))
        .min()?;
    (near.0 <= name.chars().count().max(3) / 3 + 1).then_some(near.1)
}

/// Edits from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (above + 1)
                .min(row[j] + 1)
                .min(diagonal + usize::from(x != *y));
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let known = ["limit", "query", "page_size"].map(str::to_owned);
        for (name, want) in [
            ("limt", Some("limit")),
            ("Query", Some("query")),
            ("pagesize", Some("page_size")),
            ("colour", None),
        ] {
            assert_eq!(nearest(name, &known), want, "{name}");
        }
    }
}
