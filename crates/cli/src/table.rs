//! Rows in columns: aligned and cut or wrapped to a terminal, separated by tabs for a program.

/// Between two columns.
const GAP: usize = 2;
/// What a column keeps at least where there is too little room.
const NARROW: usize = 8;

/// A table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Columns of numbers, which stand at the right.
    right: Vec<bool>,
}

impl Table {
    pub(crate) fn new(heads: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let heads: Vec<String> = heads.into_iter().map(Into::into).collect();
        Self {
            right: vec![false; heads.len()],
            heads,
            rows: Vec::new(),
        }
    }

    /// One more row; it has as many cells as there are heads.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// A column of numbers.
    pub(crate) fn right(&mut self, column: usize) {
        self.right[column] = true;
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The same without columns in which nothing stands.
    pub(crate) fn without_empty(mut self) -> Self {
        let kept: Vec<bool> = (0..self.heads.len())
            .map(|column| self.rows.iter().any(|row| !row[column].is_empty()))
            .collect();
        let keep = |cells: &mut Vec<String>| {
            let mut at = 0;
            cells.retain(|_| {
                at += 1;
                kept[at - 1]
            });
        };
        keep(&mut self.heads);
        self.rows.iter_mut().for_each(keep);
        let mut at = 0;
        self.right.retain(|_| {
            at += 1;
            kept[at - 1]
        });
        self
    }

    /// Heads, a rule and the rows, no line wider than `width`: cells that are too long are cut.
    pub(crate) fn fitted(&self, width: usize) -> String {
        let widths = self.widths(Some(width));
        let mut text = self.line(&self.heads, &widths);
        let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
        text += &self.line(&rule, &widths);
        for row in &self.rows {
            text += &self.line(row, &widths);
        }
        text
    }

    /// A form for people: heads and rows, the last column wrapped at `width`; none: as wide as it is.
    pub(crate) fn wrapped(&self, width: Option<usize>, indent: &str) -> String {
        let widths = self.widths(None);
        let Some((_, before)) = widths.split_last() else {
            return String::new();
        };
        let left = indent.len() + before.iter().map(|width| width + GAP).sum::<usize>();
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(left).max(20));
        let mut text = String::new();
        for row in std::iter::once(&self.heads).chain(&self.rows) {
            let mut row = row.clone();
            let last = row.pop().unwrap_or_default();
            for (nth, piece) in wrap(&last, room).into_iter().enumerate() {
                if nth > 0 {
                    row.iter_mut().for_each(String::clear);
                }
                row.push(piece);
                text += indent;
                text += &self.line(&row, &widths);
                row.pop();
            }
        }
        text
    }

    /// One line for each row, tabs between the cells; tabs and line breaks in them are written `\t` and `\n`.
    pub(crate) fn tabbed(&self) -> String {
        let mut text = String::new();
        for row in std::iter::once(&self.heads).chain(&self.rows) {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| {
                    let cell = cell.replace('\\', "\\\\").replace('\t', "\\t");
                    cell.replace('\n', "\\n").replace('\r', "\\r")
                })
                .collect();
            text += &cells.join("\t");
            text.push('\n');
        }
        text
    }

    /// How wide each column is; where all are too wide, the widest gives way first.
    fn widths(&self, most: Option<usize>) -> Vec<usize> {
        let of = |column: usize| {
            let cells = self.rows.iter().map(|row| wide(&row[column]));
            let widest = cells.chain([wide(&self.heads[column])]).max();
            widest.map(|widest| widest.min(most.unwrap_or(usize::MAX)))
        };
        let mut widths: Vec<usize> = (0..self.heads.len()).filter_map(of).collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        while let Some(most) = most
            && widths.iter().sum::<usize>() + gaps > most
            && let Some(widest) = widths.iter_mut().max()
            && *widest > NARROW
        {
            *widest -= 1;
        }
        widths
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut text = String::new();
        for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
            let cell = cut(cell, width);
            let pad = " ".repeat(width - wide(&cell));
            if self.right[column] {
                text = text + &pad + &cell;
            } else {
                text = text + &cell + &pad;
            }
            text.push_str(&" ".repeat(GAP));
        }
        format!("{}\n", text.trim_end())
    }
}

fn wide(text: &str) -> usize {
    text.chars().count()
}

/// A text on one line, in that many characters.
fn cut(text: &str, width: usize) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if wide(&text) <= width {
        return text;
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A text in lines of that many characters, broken between words.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().map_or(0, |line| wide(line));
        match lines.last_mut() {
            Some(last) if line == 0 => last.push_str(word),
            Some(last) if line + 1 + wide(word) <= width => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["customer", "t", "none"]);
        table.row(["Ada Ltd", "4210.5", ""].map(str::to_owned));
        table.row(["Brick\tand\nmortar", "7", ""].map(str::to_owned));
        table.right(1);
        table
    }

    // req: S-TABLE
    #[test]
    fn a_table_fits() {
        let table = table().without_empty();
        assert_eq!(
            table.fitted(80),
            "customer               t\n\
             ────────────────  ──────\n\
             Ada Ltd           4210.5\n\
             Brick and mortar       7\n"
        );
        assert_eq!(
            table.fitted(18),
            "customer         t\n\
             ──────────  ──────\n\
             Ada Ltd     4210.5\n\
             Brick and…       7\n"
        );
        let lines = table.fitted(1);
        assert!(
            lines.lines().all(|line| line.chars().count() <= 16),
            "{lines}"
        );
    }

    // req: S-TABLE
    #[test]
    fn a_program_gets_tabs() {
        assert_eq!(
            table().tabbed(),
            "customer\tt\tnone\nAda Ltd\t4210.5\t\nBrick\\tand\\nmortar\t7\t\n"
        );
    }

    #[test]
    fn the_last_column_wraps() {
        let mut table = Table::new(["a", "about"]);
        table.row(["x".to_owned(), "one two three four five six".to_owned()]);
        assert_eq!(
            table.wrapped(Some(24), "  "),
            "  a  about\n  x  one two three four\n     five six\n"
        );
        assert_eq!(
            table.wrapped(None, ""),
            "a  about\nx  one two three four five six\n"
        );
    }
}
