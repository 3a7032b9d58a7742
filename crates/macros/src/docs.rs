//! From doc comments to the text of a description.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The description that the doc comments make, as an expression; none: there are no doc comments.
pub(crate) fn description(attributes: &[Attribute]) -> Option<TokenStream> {
    let values: Vec<&Expr> = attributes.iter().filter_map(doc).collect();
    if values.is_empty() {
        return None;
    }
    let lines: Option<Vec<String>> = values.iter().copied().map(literal).collect();
    Some(match lines {
        Some(lines) => text(&lines.join("\n")).to_token_stream(),
        None => mixed(&values),
    })
}

/// Docs of which something is known only after this, such as `#[doc = include_str!("…")]`.
fn mixed(values: &[&Expr]) -> TokenStream {
    let same = |a: &&Expr, b: &&Expr| literal(a).is_some() == literal(b).is_some();
    let pieces = values.chunk_by(same).flat_map(|run| {
        let lines: Option<Vec<String>> = run.iter().copied().map(literal).collect();
        match lines {
            Some(lines) => vec![text(&lines.join("\n")).to_token_stream()],
            None => run.iter().map(ToTokens::to_token_stream).collect(),
        }
    });
    quote!(::core::concat!(#(#pieces, "\n"),*).trim())
}

/// The value of a doc comment, or of #[doc = …].
fn doc(attribute: &Attribute) -> Option<&Expr> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => Some(&pair.value),
        _ => None,
    }
}

fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    }
}

/// Takes away what all lines are indented by, what is blank at the ends, and the sections that are for readers of Rust.
fn text(docs: &str) -> String {
    let begins = |line: &str| SECTIONS.contains(&line.trim());
    let kept: Vec<&str> = docs.lines().take_while(|line| !begins(line)).collect();
    let docs = kept.join("\n");
    let indent = docs
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let lines: Vec<&str> = docs
        .lines()
        .map(|line| line.get(indent..).unwrap_or_default().trim_end())
        .collect();
    lines.join("\n").trim().to_owned()
}

/// Where a description ends: what follows is of no use to a client, and a model pays for each byte.
const SECTIONS: &[&str] = &["# Errors", "# Example", "# Examples", "# Panics"];

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn indents_and_blank_ends_are_left_out() {
        for (docs, want) in [
            (" One line.", "One line."),
            (" One.\n\n Two,\n more.\n", "One.\n\nTwo,\nmore."),
            (" A list:\n  - é\n\n", "A list:\n - é"),
            (" One.\n\n # Errors\n Two.", "One."),
            (" # Errors\n", ""),
            (" One.\n # Units\n Two.", "One.\n# Units\nTwo."),
            ("", ""),
            ("\n   ", ""),
        ] {
            assert_eq!(text(docs), want);
        }
    }
}
