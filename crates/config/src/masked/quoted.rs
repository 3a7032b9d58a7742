//! Texts in quotes, as the formats of configurations write them: where one ends, what it says, and how it is shown.

use super::{Names, Style};
use crate::secret::MASK;

/// A text in quotes.
pub(super) struct Quoted<'t> {
    pub(super) mark: &'t str,
    pub(super) inner: &'t str,
    /// One that is never closed goes to the end of its line.
    pub(super) is_closed: bool,
}

impl<'t> Quoted<'t> {
    /// The text that stands here; nothing, where the quote is only an apostrophe.
    pub(super) fn at(text: &'t str, style: Style) -> Option<Self> {
        let quote = text.get(..1)?;
        let mark = match text.get(..3) {
            Some(three) if style == Style::Toml && three == quote.repeat(3) => three,
            _ => quote,
        };
        let inner = &text[mark.len()..];
        let is_long = mark.len() > quote.len();
        let line = match is_long {
            true => inner,
            false => &inner[..inner.find('\n').unwrap_or(inner.len())],
        };
        let mut is_escaped = false;
        let end = line.char_indices().find_map(|(at, c)| {
            let ends = !is_escaped && line[at..].starts_with(mark);
            is_escaped = c == '\\' && !is_escaped && quote == "\"";
            ends.then_some(at)
        });
        if end.is_none() && style == Style::Prose {
            return None;
        }
        // Quotes right before the last three belong to the text.
        let more = end.filter(|_| is_long).map_or(0, |at| {
            let after = line[at + mark.len()..].bytes();
            after
                .take_while(|byte| quote.as_bytes() == [*byte])
                .count()
                .min(2)
        });
        Some(Self {
            mark,
            inner: &line[..end.map_or(line.len(), |at| at + more)],
            is_closed: end.is_some(),
        })
    }

    pub(super) fn shown(&self, names: &mut Names) -> String {
        if self.inner.contains('\n') {
            let shown = names.shown(self.inner);
            let lines = self.inner.split('\n').count();
            if shown.split('\n').count() == lines {
                return shown;
            }
            return vec![MASK; lines].join("\n");
        }
        let plain = match self.mark.starts_with('"') {
            true => decoded(self.inner),
            false => None,
        };
        match plain {
            Some(plain) => match names.shown(&plain) {
                shown if shown == plain => self.inner.to_owned(),
                shown => encoded(&shown),
            },
            None => names.shown(self.inner),
        }
    }
}

/// What a text in quotes says.
pub(super) fn decoded(inner: &str) -> Option<String> {
    serde_json::from_str(&format!("\"{inner}\"")).ok()
}

fn encoded(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
