//! What went wrong with a connection, in words for people: those of the libraries below are for their programmers.

use std::error::Error;
use std::io::{self, ErrorKind};

/// Why a request got no answer.
pub(super) fn of(error: &(dyn Error + 'static)) -> String {
    let mut said = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(known) = known(error) {
            return known.to_owned();
        }
        let text = error.to_string();
        // At which step it happened says the sentence around it.
        let text = match text.strip_prefix("client error (") {
            Some(step) => step.split_once(')').map_or("", |(_, text)| text),
            None => &text,
        };
        let text = text.trim_start_matches(':').trim();
        if !text.is_empty() && !said.iter().any(|known: &String| known.contains(text)) {
            said.push(text.to_owned());
        }
        next = error.source();
    }
    if said.is_empty() {
        return "the request could not be sent".to_owned();
    }
    said.join(": ")
}

fn known(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        return Some(match error {
            error if error.is_parse_too_large() => {
                "its answer begins with a head that is too large"
            }
            error if error.is_parse_version_h2() => {
                "it speaks HTTP/2 without having been asked, which is spoken only over TLS"
            }
            error if error.is_parse() => "it answers in something else than HTTP",
            error if error.is_incomplete_message() => {
                "it ended the connection instead of an answer"
            }
            error if error.is_canceled() || error.is_closed() => {
                "the connection ended before all was sent"
            }
            _ => return None,
        });
    }
    match error.downcast_ref::<io::Error>()?.kind() {
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            Some("it broke the connection off")
        }
        _ => None,
    }
}
