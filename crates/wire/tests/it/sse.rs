//! Server-sent events: written and read back, under every split of the input.

use polyport_wire::sse::{self, Event, Events, TooLong};
use proptest::prelude::*;

fn read<'a>(max: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Result<Event, TooLong>> {
    let mut events = Events::new(max);
    let mut told = Vec::new();
    for chunk in chunks {
        events.push(chunk);
        told.extend(events.by_ref());
    }
    told
}

fn check(max: usize, stream: &str, expected: &[Result<Event, TooLong>]) {
    let stream = stream.as_bytes();
    assert_eq!(read(max, [stream]), expected, "at once");
    assert_eq!(read(max, stream.chunks(1)), expected, "by the byte");
    for at in 0..=stream.len() {
        let (head, tail) = stream.split_at(at);
        assert_eq!(read(max, [head, tail]), expected, "split at {at}");
        assert_eq!(read(max, [head, b"", tail]), expected, "split at {at}");
    }
}

fn data(data: &str) -> Result<Event, TooLong> {
    Ok(Event {
        data: data.into(),
        ..Event::default()
    })
}

#[test]
fn every_line_end_is_one() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = "id: 1\nevent: message\ndata: a\ndata: b\n\ndata: c\n\n\n\ndata:\n\n"
            .replace('\n', end);
        let first = Event {
            id: Some("1".into()),
            name: Some("message".into()),
            data: "a\nb".into(),
            retry: None,
        };
        check(1000, &stream, &[Ok(first), data("c"), data("")]);
    }
    check(
        1000,
        "data: a\r\rdata: b\n\r\ndata: c\r\n\n",
        &[data("a"), data("b"), data("c")],
    );
    check(
        1000,
        "data: \u{2028}\u{85}\u{b}\n\n",
        &[data("\u{2028}\u{85}\u{b}")],
    );
}

#[test]
fn fields_are_read_as_the_standard_says() {
    check(
        1000,
        "data:a\n\ndata:  b\n\ndata\n\ndata\ndata\n\n",
        &[data("a"), data(" b"), data(""), data("\n")],
    );
    check(1000, ": comment\n:\ndata: a\n: more\n\n:\n\n", &[data("a")]);
    check(1000, "unknown: x\nDATA: y\n data: z\ndata : q\n\n", &[]);
    check(1000, "data: a\u{0}:b\n\n", &[data("a\u{0}:b")]);
    check(1000, "\u{feff}data: a\n\n\u{feff}data: b\n\n", &[data("a")]);
    check(1000, "event: x\n\ndata: a\n\n", &[data("a")]);
    check(1000, "event:\ndata: a\n\n", &[data("a")]);
    check(1000, "data: a\n\ndata: unfinished\n", &[data("a")]);
}

#[test]
fn ids_and_waiting_times_are_told_without_data() {
    let id = |id: &str| {
        Ok(Event {
            id: Some(id.into()),
            ..Event::default()
        })
    };
    let retry = |ms| {
        Ok(Event {
            retry: Some(ms),
            ..Event::default()
        })
    };
    check(
        1000,
        "id: 7\ndata:\n\nid: 8\n\nid\n\n",
        &[id("7"), id("8"), id("")],
    );
    check(1000, "id: a\u{0}b\n\n", &[]);
    check(
        1000,
        "retry: 3000\n\nretry: 0\n\n",
        &[retry(3000), retry(0)],
    );
    check(
        1000,
        "retry: 1.5\n\nretry: -1\n\nretry:\n\nretry: 99999999999999999999\n\nretry: 1 \n\n",
        &[],
    );
}

#[test]
fn what_is_not_utf8_is_replaced() {
    assert_eq!(
        read(100, [b"data: a\xffb\n\n" as &[u8]]),
        [data("a\u{fffd}b")]
    );
}

#[test]
fn events_beyond_the_limit_are_told_once_and_skipped() {
    let too_long = || Err(TooLong { limit: 10 });
    check(
        10,
        "data: 1234\n\ndata: 12345\n\ndata: 1\n\n",
        &[data("1234"), too_long(), data("1")],
    );
    check(
        10,
        "data: 1\ndata: 2\ndata: 3\n\ndata: 4\n\n",
        &[too_long(), data("4")],
    );
    check(
        10,
        "data: 1234567\ndata: 1\nid: 5\n\ndata: 4\n\n",
        &[too_long(), data("4")],
    );
    check(10, "data: 123456789012345678901234567890", &[too_long()]);
    check(
        10,
        ": a comment may be as long as it likes\ndata: 1\n: here too, and it counts for nothing\n\n",
        &[data("1")],
    );
    check(
        10,
        "junk-junk-junk\n\ndata: 1\n\n",
        &[too_long(), data("1")],
    );
}

// req: V-415
#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "the core starts nothing; its test does"
)]
fn v_415_a_million_events_without_data_are_passed_over_by_iteration() {
    // Little stack, so that a step of recursion for each would be seen.
    let small = std::thread::Builder::new().stack_size(128 << 10);
    let reading = small.spawn(|| {
        let stream = ":\n\nevent: x\n\nunknown\n\n".repeat(333_334) + "data: a\n\n";
        assert_eq!(read(1000, [stream.as_bytes()]), [data("a")]);
        let part = &stream.as_bytes()[stream.len() - 1_000_000..];
        assert_eq!(read(1000, part.chunks(1000)), [data("a")]);
    });
    reading.unwrap().join().unwrap();
}

/// A long line that comes in small parts is searched once, not once a part.
#[test]
fn a_large_event_may_come_in_small_parts() {
    let text = "x".repeat(4 << 20);
    let stream = format!("data: {text}\n\n");
    assert_eq!(read(8 << 20, stream.as_bytes().chunks(64)), [data(&text)]);
}

#[test]
fn what_is_written_is_one_event() {
    let mut out = Vec::new();
    sse::event(&mut out, Some("7"), Some("message"), b"{\"a\":1}");
    assert_eq!(out, b"id: 7\nevent: message\ndata: {\"a\":1}\n\n");
    out.clear();
    sse::event(&mut out, None, None, b"{\n\r\n\"a\":1\r}");
    assert_eq!(out, b"data: {\ndata: \ndata: \"a\":1\ndata: }\n\n");
    out.clear();
    sse::event(&mut out, Some(""), None, b"");
    assert_eq!(out, b"id: \ndata: \n\n");
    out.clear();
    sse::comment(&mut out, "still\nhere");
    sse::retry(&mut out, 1500);
    assert_eq!(out, b": still\n: here\n\nretry: 1500\n\n");
}

/// Names and data of the events in a stream, read in another way than ours: the standard's steps, one after the other.
fn by_the_standard(stream: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8(stream.to_vec()).unwrap();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut name, mut data) = (Vec::new(), String::new(), String::new());
    for line in text.split('\n') {
        if line.is_empty() {
            if !data.is_empty() {
                data.pop();
                events.push((std::mem::take(&mut name), std::mem::take(&mut data)));
            }
            name.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value.to_owned(),
            "data" => data += &format!("{value}\n"),
            _ => {}
        }
    }
    events
}

// req: V-507
#[test]
fn v_507_nothing_makes_a_second_event() {
    for hostile in [
        "a\n\nevent: x\ndata: {}\n\n",
        "a\r\revent: x\rdata: {}\r\r",
        "a\r\n\r\ndata: {}\r\n\r\n",
        "\n",
        "\r",
        "\n\r",
        "\u{2028}\u{2029}\u{85}\u{b}\u{c}data: x",
        "a\0b",
        ": a\n\ndata: b",
        "\u{feff}data: x\n\n",
    ] {
        for (id, name, text) in [
            (Some(hostile), None, "{}"),
            (None, Some(hostile), "{}"),
            (None, None, hostile),
            (Some(hostile), Some(hostile), hostile),
        ] {
            let mut out = Vec::new();
            sse::event(&mut out, id, name, text.as_bytes());
            sse::event(&mut out, None, None, b"next");
            let plain = |text: &str| text.replace(['\n', '\r', '\0'], "");
            let lines = text.replace("\r\n", "\n").replace('\r', "\n");
            let want = [
                (plain(name.unwrap_or_default()), lines),
                (String::new(), "next".to_owned()),
            ];
            // The first byte order mark of a stream would be passed over; here it is inside of a field.
            assert_eq!(by_the_standard(&out), want, "{id:?} {name:?} {text:?}");
        }
        let mut out = Vec::new();
        sse::comment(&mut out, hostile);
        assert_eq!(by_the_standard(&out), [], "{hostile:?}");
    }
}

// req: V-507
#[test]
fn v_507_events_cannot_be_forged() {
    let hostile = "x\n\nevent: y\r\rdata: z\r\n\r\nid: 1\u{2028}\n\n";
    let mut out = Vec::new();
    sse::event(&mut out, Some(hostile), Some(hostile), hostile.as_bytes());
    let events = read(1000, [&out[..]]);
    assert_eq!(events.len(), 1);
    let event = events[0].clone().unwrap();
    assert_eq!(event.data, "x\n\nevent: y\n\ndata: z\n\nid: 1\u{2028}\n\n");
    assert_eq!(event.name.unwrap(), "xevent: ydata: zid: 1\u{2028}");
    let mut comment = Vec::new();
    sse::comment(&mut comment, hostile);
    assert_eq!(read(1000, [&comment[..]]), []);
}

proptest! {
    #[test]
    fn written_events_are_read_back(
        events in prop::collection::vec(
            (prop::option::of("[ -~é]{0,9}"), prop::option::of("[a-z ]{1,9}"), "([a-z: \u{2028}]{0,9}\n?){0,4}"), 0..6,
        ),
        size in 1usize..30,
    ) {
        let mut out = Vec::new();
        for (id, name, data) in &events {
            sse::event(&mut out, id.as_deref(), name.as_deref(), data.as_bytes());
        }
        let expected: Vec<_> =
            events.into_iter().map(|(id, name, data)| Ok(Event { id, name, data, retry: None })).collect();
        prop_assert_eq!(read(10_000, out.chunks(size)), expected);
    }

    #[test]
    fn any_split_gives_the_same_events(stream in "((data|id|event|retry|x)?(: ?)?[a0]{0,6}(\r|\n|\r\n)?){0,20}", size in 1usize..9) {
        let expected = read(20, [stream.as_bytes()]);
        prop_assert_eq!(read(20, stream.as_bytes().chunks(size)), expected);
    }
}
