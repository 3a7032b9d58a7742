//! What is shown of values that may be secrets. When in doubt, they are.

use crate::entry::{Entry, Way};
use crate::variables::Expanded;
use crate::{masked, single};

/// The value of something with this name, as it may be shown.
pub fn value(name: &str, text: &str) -> String {
    masked::value(name, text)
}

/// A text by itself, as it may be shown.
pub fn text(text: &str) -> String {
    masked::value("", text)
}

/// Arguments of a program, as they may be shown.
pub fn args<'a>(args: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    masked::args(args)
}

/// A header, as it may be shown.
pub fn header(name: &str, text: &str) -> String {
    single::header(name, text)
}

/// An entry whose variables are not filled in, as it may be shown.
pub fn raw(it: &Entry) -> Entry<String> {
    let as_it_is = it.clone().try_map(|_, field| {
        Ok::<_, std::convert::Infallible>(Expanded {
            shown: field.text.clone(),
            text: field.text,
            from: Vec::new(),
        })
    });
    match as_it_is {
        Ok(as_it_is) => entry(&as_it_is),
        Err(never) => match never {},
    }
}

/// An entry, as it may be shown.
pub fn entry(entry: &Entry<Expanded>) -> Entry<String> {
    let shown_args = match &entry.way {
        Way::Command(start) => args(start.args.iter().map(|it| it.shown.as_str())),
        Way::Url(_) => Vec::new(),
    };
    let mut shown_args = shown_args.into_iter();
    let masked = entry.clone().try_map(|field, it| {
        let (kind, name) = field.split_once('.').unwrap_or((field, ""));
        // Each argument takes its own, whatever it is.
        let argument = if field.starts_with("args[") {
            shown_args.next()
        } else {
            None
        };
        Ok::<_, std::convert::Infallible>(match kind {
            "env" => value(name, &it.shown),
            "headers" => header(name, &it.shown),
            _ => argument.unwrap_or_else(|| text(&it.shown)),
        })
    });
    match masked {
        Ok(masked) => masked,
        Err(never) => match never {},
    }
}

#[cfg(test)]
mod tests;
