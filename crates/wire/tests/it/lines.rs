//! Newline framing, under every split of the input.

use polyport_wire::{Line, Lines};
use proptest::prelude::*;

fn frame(text: &str) -> Line {
    Line::Frame(text.to_owned().into())
}

/// Reads `chunks` as they come, and what is left at the end.
fn read<'a>(max: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Line> {
    let mut lines = Lines::new(max);
    let mut told = Vec::new();
    for chunk in chunks {
        lines.buffer().extend_from_slice(chunk);
        told.extend(std::iter::from_fn(|| lines.next_line()));
    }
    told.extend(lines.finish());
    assert_eq!(lines.next_line(), None);
    assert_eq!(lines.finish(), None);
    told
}

/// The same lines, whether the stream comes at once, by the byte, or in any two or three parts.
fn check(max: usize, stream: &[u8], expected: &[Line]) {
    assert_eq!(read(max, [stream]), expected, "at once");
    assert_eq!(read(max, stream.chunks(1)), expected, "by the byte");
    for first in 0..=stream.len() {
        let (head, tail) = stream.split_at(first);
        assert_eq!(read(max, [head, tail]), expected, "split at {first}");
        for second in 0..=tail.len() {
            let (middle, tail) = tail.split_at(second);
            assert_eq!(
                read(max, [head, middle, tail]),
                expected,
                "split at {first} and {second} more"
            );
        }
    }
}

#[test]
fn only_a_newline_ends_a_line() {
    check(100, b"{}\n[]\n", &[frame("{}"), frame("[]")]);
    check(100, b"{}\r\n[]\r\n", &[frame("{}"), frame("[]")]);
    check(100, b"{}\r[]\n", &[frame("{}\r[]")]);
    check(100, b"a\r\r\n", &[frame("a\r")]);
    check(
        100,
        "\"\u{2028}\u{2029}\u{85}\u{b}\u{c}\"\n1\n".as_bytes(),
        &[frame("\"\u{2028}\u{2029}\u{85}\u{b}\u{c}\""), frame("1")],
    );
    check(100, b"a\0b\xff\n", &[Line::Frame(b"a\0b\xff"[..].into())]);
}

#[test]
fn blank_lines_are_passed_over() {
    check(
        100,
        b"\n\r\n  \t\r\n\n1\n\n\n2\n \n",
        &[frame("1"), frame("2")],
    );
    check(100, b"", &[]);
    check(100, b" 1 \n\x0c\n", &[frame(" 1 "), frame("\x0c")]);
}

#[test]
fn the_last_line_needs_no_end() {
    check(100, b"1\n2", &[frame("1"), frame("2")]);
    check(100, b"1\n2\r", &[frame("1"), frame("2")]);
    check(100, b"1\n  ", &[frame("1")]);
}

#[test]
fn a_byte_order_mark_is_passed_over_once() {
    check(
        100,
        b"\xef\xbb\xbf1\n\xef\xbb\xbf2\n",
        &[frame("1"), frame("\u{feff}2")],
    );
    check(100, b"\xef\xbb\xbf", &[]);
    check(100, b"\xef\xbb\xbf\n1", &[frame("1")]);
    check(100, b"\n\xef\xbb\xbf1\n", &[frame("\u{feff}1")]);
    check(4, b"\xef\xbb\xbf1234\r\n5\n", &[frame("1234"), frame("5")]);
}

#[test]
fn lines_beyond_the_limit_are_told_once_and_skipped() {
    let too_long = || Line::TooLong { limit: 4 };
    check(
        4,
        b"1234\n12345\n1\n",
        &[frame("1234"), too_long(), frame("1")],
    );
    check(4, b"1234\r\n1234\r", &[frame("1234"), frame("1234")]);
    check(4, b"12345\r\n1\n", &[too_long(), frame("1")]);
    check(
        4,
        b"1234567890123\n1234567890\n1",
        &[too_long(), too_long(), frame("1")],
    );
    check(4, b"1234567890", &[too_long()]);
    check(4, b"         \n1\n", &[too_long(), frame("1")]);
    check(
        0,
        b"1\n\n2\n",
        &[Line::TooLong { limit: 0 }, Line::TooLong { limit: 0 }],
    );
}

/// A line far above the limit is not collected while it comes in.
#[test]
fn what_is_skipped_takes_no_memory() {
    let mut lines = Lines::new(1000);
    let mut told = Vec::new();
    for _ in 0..2000 {
        lines.buffer().extend_from_slice(&[b'x'; 5000]);
        told.extend(std::iter::from_fn(|| lines.next_line()));
        assert!(lines.buffer().is_empty());
    }
    lines.buffer().extend_from_slice(b"\n1\n");
    told.extend(std::iter::from_fn(|| lines.next_line()));
    assert_eq!(told, [Line::TooLong { limit: 1000 }, frame("1")]);
    assert!(lines.buffer().capacity() < 256 * 1024);
}

#[test]
fn memory_of_a_long_line_is_given_back() {
    let mut lines = Lines::new(16 << 20);
    for _ in 0..(8 << 20) / 4096 {
        lines.buffer().extend_from_slice(&[b'x'; 4096]);
        assert_eq!(lines.next_line(), None);
    }
    lines.buffer().extend_from_slice(b"\npart");
    let Some(Line::Frame(line)) = lines.next_line() else {
        panic!("no frame")
    };
    assert_eq!(line.len(), 8 << 20);
    drop(line);
    assert!(lines.buffer().capacity() <= 64 * 1024);
    assert_eq!(lines.finish(), Some(frame("part")));
}

#[test]
fn there_is_always_room_for_a_read() {
    let mut lines = Lines::new(1 << 20);
    let mut kept = Vec::new();
    for n in 0..2000 {
        let buffer = lines.buffer();
        assert!(buffer.capacity() - buffer.len() >= 32 * 1024);
        buffer.extend_from_slice(format!("{n}{}\n", " ".repeat(n % 400)).as_bytes());
        kept.extend(std::iter::from_fn(|| lines.next_line()));
    }
    for (n, line) in kept.iter().enumerate() {
        assert_eq!(*line, frame(&format!("{n}{}", " ".repeat(n % 400))));
    }
}

/// A stream with every kind of line, as a whole and as what should be read from it.
fn stream() -> impl Strategy<Value = (Vec<u8>, Vec<Line>)> {
    let line = prop_oneof![
        4 => "[a-z\u{2028}]{1,8}",
        1 => "[ \t]{0,3}",
        1 => "[a-z]{30,60}",
    ];
    let end = prop::sample::select(vec!["\n", "\r\n"]);
    (any::<bool>(), prop::collection::vec((line, end), 0..12)).prop_map(|(mark, lines)| {
        let mut stream = if mark {
            "\u{feff}".to_owned()
        } else {
            String::new()
        };
        let mut expected = Vec::new();
        for (line, end) in lines {
            stream.push_str(&line);
            stream.push_str(end);
            if line.len() > 29 {
                expected.push(Line::TooLong { limit: 29 });
            } else if !line.trim_matches([' ', '\t']).is_empty() {
                expected.push(frame(&line));
            }
        }
        (stream.into_bytes(), expected)
    })
}

proptest! {
    #[test]
    fn any_split_gives_the_same_lines(
        (stream, expected) in stream(), cuts in prop::collection::vec(1usize..20, 1..8),
    ) {
        let mut rest = &stream[..];
        let mut chunks = Vec::new();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() { break }
            let (chunk, tail) = rest.split_at((*cut).min(rest.len()));
            chunks.push(chunk);
            rest = tail;
        }
        prop_assert_eq!(read(29, chunks), expected);
    }
}

// req: V-405
#[test]
fn v_405_what_has_no_newline_is_not_kept() {
    const LIMIT: usize = 1 << 20;
    let piece = vec![b'x'; 64 << 10];
    let mut lines = Lines::new(LIMIT);
    let (mut told, mut most) = (Vec::new(), 0);
    for _ in 0..(256 << 20) / piece.len() {
        lines.buffer().extend_from_slice(&piece);
        most = most.max(lines.buffer().capacity());
        told.extend(std::iter::from_fn(|| lines.next_line()));
    }
    assert_eq!(told, [Line::TooLong { limit: LIMIT }], "once");
    assert!(most <= 3 * LIMIT, "{most} bytes were held");
    lines.buffer().extend_from_slice(b"x\n{}\n");
    assert_eq!(lines.next_line(), Some(frame("{}")));
    assert!(lines.buffer().capacity() < LIMIT);
}
