//! What a call has said: progress held back, logs counted, and how these messages are written. Not where they go.

use polyport_model::Level;
use polyport_proto::throttle::Throttle;
use polyport_wire::write;

use crate::clock::Clock;

#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) clock: Clock,
    pub(crate) progress: Throttle,
    pub(crate) last: f64,
    pub(crate) held_back: Option<Vec<u8>>,
    pub(crate) logs: Throttle,
    pub(crate) left_out: u32,
}

impl Said {
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self {
            clock: Clock::start(),
            progress: Throttle::progress(),
            last: f64::NEG_INFINITY,
            held_back: None,
            logs: Throttle::logs(),
            left_out: 0,
        })
    }

    pub(crate) fn take_left_out(&mut self) -> Option<Vec<u8>> {
        let n = std::mem::take(&mut self.left_out);
        (n > 0).then(|| left_out_message(n))
    }
}

pub(crate) fn left_out_message(n: u32) -> Vec<u8> {
    log_message(
        Level::Warning,
        Some("polyport"),
        &format!("\"{n} log messages were left out: too many at once\""),
    )
}

pub(crate) fn log_message(level: Level, logger: Option<&str>, data: &str) -> Vec<u8> {
    let mut params = b"{\"level\":\"".to_vec();
    params.extend_from_slice(level.as_str().as_bytes());
    params.push(b'"');
    if let Some(logger) = logger {
        params.extend_from_slice(b",\"logger\":");
        write::string(&mut params, logger);
    }
    params.extend_from_slice(b",\"data\":");
    params.extend_from_slice(data.as_bytes());
    params.push(b'}');
    notification("notifications/message", &params)
}

pub(crate) fn notification(method: &str, params: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(params.len() + 64);
    let params = std::str::from_utf8(params).expect("made of JSON text");
    write::notification(&mut out, method, Some(params));
    out
}

/// Whole numbers without a fraction, as most clients write them.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn number(out: &mut Vec<u8>, n: f64) {
    if n.fract() == 0.0 && n.abs() < 9_007_199_254_740_992.0 {
        out.extend_from_slice((n as i64).to_string().as_bytes());
    } else {
        out.extend_from_slice(n.to_string().as_bytes());
    }
}
