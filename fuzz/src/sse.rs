//! The check of server-sent events, read and written.

use polyport_wire::sse::{Event, Events, TooLong, event};

/// Reads `data` as a stream of events; its first byte chooses the limit and the pace.
///
/// - The events are those that the standard's line by line reading of the whole stream gives.
/// - The pace does not matter.
/// - Written anew, an event reads the same; whatever is in it, it is one event.
pub fn check(data: &[u8]) {
    let (&choice, stream) = data.split_first().unwrap_or((&0, data));
    let max = LIMITS[usize::from(choice) % LIMITS.len()];
    let pace = usize::from(choice) / LIMITS.len() + 1;
    let expected = read_whole(stream, max);
    for pace in [stream.len().max(1), 1, pace] {
        assert_eq!(
            read(stream, max, pace),
            expected,
            "{pace} bytes at a time, {max} at most"
        );
    }
    for told in expected.into_iter().flatten() {
        check_written(&told);
    }
    let text = String::from_utf8_lossy(stream);
    let hostile = Event {
        id: Some(text.clone().into()),
        name: Some(text.clone().into()),
        data: text.into(),
        retry: None,
    };
    check_written(&hostile);
}

fn check_written(told: &Event) {
    let mut out = Vec::new();
    event(
        &mut out,
        told.id.as_deref(),
        told.name.as_deref(),
        told.data.as_bytes(),
    );
    let again = read(&out, usize::MAX, 7);
    let one_line = |text: &str| text.replace(['\n', '\r', '\0'], "");
    let expected = Event {
        id: told.id.as_deref().map(one_line),
        name: told
            .name
            .as_deref()
            .map(one_line)
            .filter(|name| !name.is_empty()),
        data: told.data.replace("\r\n", "\n").replace('\r', "\n"),
        retry: None,
    };
    assert_eq!(again, [Ok(expected)], "one event, the same");
}

fn read(stream: &[u8], max: usize, pace: usize) -> Vec<Result<Event, TooLong>> {
    let mut events = Events::new(max);
    let mut told = Vec::new();
    for chunk in stream.chunks(pace) {
        events.push(chunk);
        told.extend(events.by_ref());
    }
    told
}

/// The same with the whole stream at hand.
fn read_whole(stream: &[u8], max: usize) -> Vec<Result<Event, TooLong>> {
    let stream = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    // What may become a byte order mark is not read yet.
    if b"\xef\xbb\xbf".starts_with(stream) {
        return Vec::new();
    }
    let mut told = Vec::new();
    let (mut event, mut data, mut used, mut over) =
        (Event::default(), None::<String>, 0_usize, false);
    for (line, complete) in split_lines(stream) {
        if line.starts_with(b":") {
            continue;
        }
        if complete && line.is_empty() {
            let worth = data.is_some() || event.id.is_some() || event.retry.is_some();
            event.data = data.take().unwrap_or_default();
            let done = std::mem::take(&mut event);
            if worth && !over {
                told.push(Ok(done));
            }
            (used, over) = (0, false);
            continue;
        }
        used = used.saturating_add(line.len());
        if used > max && !over {
            over = true;
            told.push(Err(TooLong { limit: max }));
        }
        if over || !complete {
            continue;
        }
        let line = String::from_utf8_lossy(line);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                data = Some(data.map_or_else(|| value.to_owned(), |before| before + "\n" + value));
            }
            "event" => event.name = Some(value.to_owned()).filter(|name| !name.is_empty()),
            "id" if !value.contains('\0') => event.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                event.retry = value.parse().ok().or(event.retry);
            }
            _ => {}
        }
    }
    told
}

/// Each line, and whether its end has come.
fn split_lines(mut stream: &[u8]) -> Vec<(&[u8], bool)> {
    let mut lines = Vec::new();
    while let Some(end) = stream.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        lines.push((&stream[..end], true));
        let crlf = stream[end..].starts_with(b"\r\n");
        stream = &stream[end + 1 + usize::from(crlf)..];
    }
    lines.push((stream, false));
    lines
}

const LIMITS: [usize; 4] = [1 << 20, 10, 40, 0];
