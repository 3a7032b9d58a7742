//! One file per verb, and how what they name is found.

pub(crate) mod call;
pub(crate) mod complete;
pub(crate) mod completion;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod edit;
pub(crate) mod help;
pub(crate) mod install;
mod listing;
mod lists;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod ping;
pub(crate) mod prompt;
pub(crate) mod read;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod show;
pub(crate) mod watch;

use crate::failure::Failure;
use crate::nearest::nearest;
use crate::ui;

/// Where the thing of that name stands among what a server has.
///
/// # Errors
/// There is none (exit 5), or none is named (exit 2).
fn find(what: &str, name: Option<&str>, names: &[String], server: &str) -> Result<usize, Failure> {
    let Some(name) = name else {
        return Err(Failure::usage(format!("no {what} is named"))
            .hint(format!("{server} has {}", some(names))));
    };
    names.iter().position(|known| known == name).ok_or_else(|| {
        Failure::unexpected(format!("{server} has no {what} {name}"))
            .code(5)
            .hint(instead(name, names))
    })
}

/// What may have been meant.
fn instead(name: &str, names: &[String]) -> String {
    match nearest(name, names) {
        Some(near) => format!("did you mean {}?", ui::one_line(near)),
        None if names.is_empty() => "it has none".to_owned(),
        None => format!("it has {}", some(names)),
    }
}

/// Names that are listed in a sentence.
const NAMED: usize = 12;

/// The first of these names.
fn some(names: &[String]) -> String {
    let shown = names.iter().take(NAMED);
    let shown = shown.map(|name| ui::cut(&ui::one_line(name), 64));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
