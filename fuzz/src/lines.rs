//! The check of newline framing.

use polyport_wire::{Line, Lines};

/// Reads `data` as a stream of lines; its first byte chooses the limit and the pace.
///
/// - The lines are those that cutting the whole stream at once gives.
/// - The pace does not matter.
pub fn check(data: &[u8]) {
    let (&choice, stream) = data.split_first().unwrap_or((&0, data));
    let max = LIMITS[usize::from(choice) % LIMITS.len()];
    let pace = usize::from(choice) / LIMITS.len() + 1;
    let expected = cut(stream, max);
    for pace in [stream.len().max(1), 1, pace] {
        assert_eq!(
            read(stream, max, pace),
            expected,
            "{pace} bytes at a time, {max} at most"
        );
    }
}

fn read(stream: &[u8], max: usize, pace: usize) -> Vec<Line> {
    let mut lines = Lines::new(max);
    let mut told = Vec::new();
    for chunk in stream.chunks(pace) {
        let buffer = lines.buffer();
        assert!(
            buffer.capacity() - buffer.len() >= 32 * 1024,
            "there is room for a read"
        );
        buffer.extend_from_slice(chunk);
        told.extend(std::iter::from_fn(|| lines.next_line()));
        assert!(
            lines.buffer().len() <= max.saturating_add(4),
            "no more is held than a line may have"
        );
    }
    told.extend(lines.finish());
    assert_eq!(lines.finish(), None, "the end comes once");
    told
}

/// The same with the whole stream at hand.
fn cut(stream: &[u8], max: usize) -> Vec<Line> {
    let stream = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    let mut lines = Vec::new();
    for line in stream.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > max {
            lines.push(Line::TooLong { limit: max });
        } else if line.iter().any(|byte| !b" \t\r".contains(byte)) {
            lines.push(Line::Frame(line.to_vec().into()));
        }
    }
    lines
}

const LIMITS: [usize; 4] = [1 << 20, 4, 16, 0];
