//! What in a text is most like a piece that is not in it, so that whoever sent the piece sees where it differs.

use std::cmp::Reverse;

use similar::{Algorithm, DiffOp};

use super::super::show;

/// Lines that are looked at; beyond them the answer is worth less than its time.
const LINES: usize = 200_000;

/// Lines of the piece that are compared.
const COMPARED: usize = 200;

/// Starts whose following lines are compared.
const STARTS: usize = 1_000;

/// Lines that are compared letter by letter.
const CHOSEN: usize = 64;

/// Characters of a line that count for likeness.
const COUNTED: usize = 200;

/// Shared pairs of letters, each counted once, in percent, from which on two lines are alike.
const ALIKE: usize = 50;

/// The nearest place.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Nearest<'a> {
    /// The line in the text that differs, from 1, and what it says.
    line: usize,
    says: &'a str,
    /// Lines above it that fit.
    fitting: usize,
    /// What the piece has in its place.
    wanted: &'a str,
}

impl Nearest<'_> {
    pub(super) fn sentence(&self) -> String {
        let Self {
            line,
            says,
            fitting,
            wanted,
        } = self;
        let (says, wanted_shown) = (show::quoted(says), show::quoted(wanted));
        let why = if says != wanted_shown && self.says.trim() == self.wanted.trim() {
            " (only the blanks around it differ)"
        } else {
            ""
        };
        if *fitting == 0 {
            return format!("The nearest is line {line}: {says}{why}.");
        }
        let above = show::count(*fitting, "line above it fits", "lines above it fit");
        format!(
            "The nearest is line {line}: {says}, where `oldText` has {wanted_shown}{why}; {above}."
        )
    }
}

/// The place where most lines of the piece fit, else the line most like its first.
pub(super) fn find<'a>(body: &'a str, piece: &'a str) -> Option<Nearest<'a>> {
    let lines: Vec<_> = body.lines().take(LINES).collect();
    let wanted: Vec<_> = piece.lines().take(COMPARED).collect();
    let first = wanted.iter().position(|line| !line.trim().is_empty())?;
    let wanted = &wanted[first..];
    longest_fit(&lines, wanted).or_else(|| most_alike(&lines, wanted[0]))
}

/// Starts at lines that are the first one but for blanks around it, or end with it, and goes on as long as lines fit.
fn longest_fit<'a>(lines: &[&'a str], wanted: &[&'a str]) -> Option<Nearest<'a>> {
    let head = wanted[0].trim();
    let starts = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.trim() == head || wanted.len() > 1 && line.ends_with(wanted[0]));
    let mut best: Option<(usize, usize)> = None;
    for (start, _) in starts.take(STARTS) {
        let pairs = lines[start..].iter().zip(wanted);
        let fitting = pairs
            .enumerate()
            .take_while(|(at, (line, want))| line == want || *at == 0 && line.ends_with(**want))
            .count();
        if best.is_none_or(|(_, most)| fitting > most) {
            best = Some((start, fitting));
        }
    }
    let (start, fitting) = best?;
    // All lines fit: then the end of the piece lies within a line, or beyond the text.
    let fitting = fitting.min(wanted.len() - 1);
    Some(Nearest {
        line: start + fitting + 1,
        says: lines.get(start + fitting).copied().unwrap_or_default(),
        fitting,
        wanted: wanted[fitting],
    })
}

/// The line with most pairs of letters in common; among the best by that, the one from which it is the shortest way to the wanted one.
fn most_alike<'a>(lines: &[&'a str], wanted: &'a str) -> Option<Nearest<'a>> {
    let pairs = pairs(wanted);
    let measured = lines.iter().enumerate();
    let mut alike: Vec<_> = measured
        .filter_map(|(at, line)| Some((Reverse(likeness(&pairs, line)?), at)))
        .collect();
    alike.sort_unstable();
    alike.truncate(CHOSEN);
    let wanted_letters: Vec<_> = letters(wanted).collect();
    let chosen = alike.into_iter().map(|(_, at)| at);
    let at = chosen.max_by_key(|at| (in_common(&wanted_letters, lines[*at]), Reverse(*at)))?;
    Some(Nearest {
        line: at + 1,
        says: lines[at],
        fitting: 0,
        wanted,
    })
}

fn letters(line: &str) -> impl Iterator<Item = char> {
    line.trim().chars().take(COUNTED)
}

/// All pairs of neighbouring letters, in order.
fn pairs(line: &str) -> Vec<(char, char)> {
    let mut pairs: Vec<_> = letters(line).zip(letters(line).skip(1)).collect();
    pairs.sort_unstable();
    pairs
}

/// Pairs in common in a thousand, each as often as both have it (Sørensen's coefficient); none where the two are not alike at all, with
/// each pair counted once.
fn likeness(wanted: &[(char, char)], line: &str) -> Option<usize> {
    // A line much longer or shorter cannot be alike, and is not worth the pairs.
    let length = line.trim().len().min(COUNTED);
    if length > 4 * (wanted.len() + 4) || 4 * (length + 4) < wanted.len() {
        return None;
    }
    let pairs = pairs(line);
    let (mut ours, mut theirs) = (pairs.as_slice(), wanted);
    let (mut shared, mut kinds, mut shared_kinds) = (0, 0, 0);
    while let Some(next) = ours
        .first()
        .min(theirs.first())
        .or_else(|| ours.first())
        .or_else(|| theirs.first())
    {
        let count = |pairs: &[(char, char)]| pairs.iter().take_while(|pair| *pair == next).count();
        let (here, there) = (count(ours), count(theirs));
        shared += here.min(there);
        kinds += usize::from(here > 0) + usize::from(there > 0);
        shared_kinds += usize::from(here > 0 && there > 0);
        (ours, theirs) = (&ours[here..], &theirs[there..]);
    }
    let is_alike = 200 * shared_kinds / kinds.max(1) >= ALIKE;
    is_alike.then(|| 2_000 * shared / (pairs.len() + wanted.len()).max(1))
}

/// Letters of both in the same order, in a thousand of all.
fn in_common(wanted: &[char], line: &str) -> usize {
    let line: Vec<_> = letters(line).collect();
    let steps = similar::capture_diff_slices(Algorithm::Myers, wanted, &line);
    let same = steps.iter().map(|step| match step {
        DiffOp::Equal { len, .. } => *len,
        _ => 0,
    });
    2_000 * same.sum::<usize>() / (wanted.len() + line.len()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_line_is_named() {
        let body =
            "fn main() {\n    let a = 1;\n    let b = 2;\n}\n\nfn other() {\n    let a = 1;\n}\n";
        for (piece, want) in [
            (
                "let a = 1;\nlet b = 3;",
                "line 3: \"    let b = 2;\", where `oldText` has \"let b = 3;\"; 1 line above it fits.",
            ),
            (
                "    let a = 1;\n    let b = 3;",
                "line 3: \"    let b = 2;\", where `oldText` has \"    let b = 3;\"; 1 line above it fits.",
            ),
            (
                "main() {\n    let a = 1;\n    let c",
                "line 3: \"    let b = 2;\", where `oldText` has \"    let c\"; 2 lines above it fit.",
            ),
            (
                "\n\nfn other() {\n\tlet a = 1;\n",
                "line 7: \"    let a = 1;\", where `oldText` has \"\\u{9}let a = 1;\" (only the blanks around it differ); \
                 1 line above it fits.",
            ),
            (
                "  let a = 1;  ",
                "line 2: \"    let a = 1;\" (only the blanks around it differ).",
            ),
            ("fn mian() {", "line 1: \"fn main() {\"."),
            (
                "}\n\nfn another",
                "line 6: \"fn other() {\", where `oldText` has \"fn another\"; 2 lines above it fit.",
            ),
            (
                "}\n}\n}",
                "line 5: \"\", where `oldText` has \"}\"; 1 line above it fits.",
            ),
        ] {
            let sentence = find(body, piece).map(|nearest| nearest.sentence());
            assert!(
                sentence.as_deref().is_some_and(|it| it.contains(want)),
                "{piece:?}: {sentence:?}"
            );
        }
        for piece in ["completely different", "", "\n \n", "0123456789"] {
            assert_eq!(find(body, piece), None, "{piece:?}");
        }
        assert_eq!(find("", "x"), None);
    }

    #[test]
    fn among_many_that_are_alike_it_is_the_nearest() {
        let word = |line: usize| ["a", "b", "c", "d", "e", "f"][line % 6].repeat(6);
        for count in [100, 1_000, 5_000, 20_000] {
            let body: String = (0..count)
                .map(|n| format!("line {n} {}\n", word(n)))
                .collect();
            for at in [0, 1, 12, count / 3, count - 1] {
                let piece = format!("line {at} zzzzzz");
                let nearest = find(&body, &piece).expect("one is alike");
                assert_eq!(nearest.line, at + 1, "{count} {piece}: {}", nearest.says);
            }
        }
        // The same letters in another order are not nearer than one letter that is another.
        let body = "abcabc xyzxyz\nxyzxyz abcabc\nxyzxyz abcabd\n";
        assert_eq!(find(body, "xyzxyz abcabe").map(|it| it.line), Some(2));
        // Of several that are equally near it is the first.
        assert_eq!(
            find("value = 1\nvalue = 2\n", "value = 3").map(|it| it.line),
            Some(1)
        );
    }
}
