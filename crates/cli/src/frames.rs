//! `--frames`: every message of both sides with its time, a JSON object on each line.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use polyport::Speaker;
use polyport::serde::de::IgnoredAny;
use serde_json::json;

use crate::failure::Failure;
use crate::{outfile, ui};

/// Writes them to a file, which only its user may read since there may be secrets in them; `-` is standard error.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn to(file: &Path) -> Result<impl Fn(Speaker, &[u8]) + use<>, Failure> {
    let kept = if file == Path::new("-") {
        None
    } else {
        let kept = outfile::create(file, 0o600).map_err(|error| {
            Failure::usage(format!(
                "--frames: cannot write {}: {error}",
                ui::path(file)
            ))
        })?;
        Some(kept)
    };
    let (kept, begun) = (kept.map(Mutex::new), Instant::now());
    Ok(move |speaker: Speaker, text: &[u8]| {
        let line = line(speaker, text, begun.elapsed().as_secs_f64() * 1e3);
        match &kept {
            None => ui::line(&line),
            Some(file) => write(file, &line),
        }
    })
}

/// A full disk ends no call.
fn write(file: &Mutex<File>, line: &str) {
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = file.write_all(format!("{line}\n").as_bytes());
}

/// The message as it came, on one line; what is no JSON, as a text.
fn line(speaker: Speaker, text: &[u8], ms: f64) -> String {
    let from = match speaker {
        Speaker::Client => "client",
        Speaker::Server => "server",
    };
    let text = String::from_utf8_lossy(text);
    let (name, message) = match serde_json::from_str::<IgnoredAny>(&text) {
        // Between its tokens a line break is as good as a space, and in them there is none.
        Ok(_) => ("message", text.trim().replace(['\n', '\r'], " ")),
        Err(_) => ("text", json!(text).to_string()),
    };
    format!("{{\"ms\":{ms:.3},\"from\":\"{from}\",\"{name}\":{message}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: D-25
    #[test]
    fn d_25_each_is_one_line() {
        for (text, want) in [
            (&b"{\"a\":1}"[..], "\"message\":{\"a\":1}}"),
            (
                b"{\n  \"a\": 1.0e2\r\n}\n",
                "\"message\":{   \"a\": 1.0e2  }}",
            ),
            (b"Server started\n", "\"text\":\"Server started\\n\"}"),
            (b"\xff", "\"text\":\"\u{fffd}\"}"),
        ] {
            let line = line(Speaker::Server, text, 1.23456);
            assert_eq!(line, format!("{{\"ms\":1.235,\"from\":\"server\",{want}"));
        }
    }
}
