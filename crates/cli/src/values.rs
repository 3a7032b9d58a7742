//! Values of options that have a form of their own.

use std::time::Duration;

pub(crate) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

pub(crate) fn header(text: &str) -> Result<(String, String), String> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    match text.split_once(':') {
        Some((name, value)) if !name.is_empty() && name.chars().all(token) => {
            let value = value.trim();
            if value.contains(|c: char| c.is_control()) {
                return Err("a header has one line".to_owned());
            }
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("write 'NAME: VALUE'".to_owned()),
    }
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "write a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "write a number above 0".to_owned())
}
