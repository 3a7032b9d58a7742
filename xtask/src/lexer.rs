//! Rust text with comments, literals or tests blanked out, byte for byte in place. Knows no syntax beyond that.

/// One source text in the forms the checks look at. All four have the same length and the same line breaks.
#[derive(Debug)]
pub(crate) struct Source {
    /// As written.
    pub(crate) text: String,
    /// Comments blank.
    pub(crate) uncommented: String,
    /// Comments and the insides of literals blank: names and punctuation only.
    pub(crate) bare: String,
    /// `true` for each byte that belongs to an item under `#[cfg(test)]`.
    test: Vec<bool>,
}

impl Source {
    /// Reads a text into its forms.
    pub(crate) fn new(text: &str) -> Self {
        let mut uncommented = text.as_bytes().to_vec();
        let mut bare = text.as_bytes().to_vec();
        for (kind, from, to) in pieces(text) {
            if kind == Piece::Comment {
                blank(&mut uncommented[from..to]);
            }
            blank(&mut bare[from..to]);
        }
        let bare = into_text(bare);
        let mut test = vec![false; text.len()];
        for (from, to) in test_items(&bare) {
            test[from..to].fill(true);
        }
        Self {
            text: text.to_owned(),
            uncommented: into_text(uncommented),
            bare,
            test,
        }
    }

    /// `form` (one of this source's texts) with everything that only tests see blanked.
    pub(crate) fn shipped(&self, form: &str) -> String {
        self.masked(form, true)
    }

    /// `form` with everything but tests blanked.
    pub(crate) fn tested(&self, form: &str) -> String {
        self.masked(form, false)
    }

    fn masked(&self, form: &str, hide_tests: bool) -> String {
        let mut bytes = form.as_bytes().to_vec();
        for (byte, is_test) in bytes.iter_mut().zip(&self.test) {
            if *is_test == hide_tests && *byte != b'\n' {
                *byte = b' ';
            }
        }
        into_text(bytes)
    }
}

/// The 1-based line of a byte.
pub(crate) fn line(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    before.filter(|byte| **byte == b'\n').count() + 1
}

/// Whether a byte may stand in a name.
pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Comment,
    /// Without its quotes.
    Literal,
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("whole comments, literals and items become ASCII blanks")
}

/// Comments and literals in order: kind, first byte, byte after the last.
fn pieces(text: &str) -> Vec<(Piece, usize, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let fresh = at == 0 || !is_name(bytes[at - 1]);
        if rest.starts_with(b"//") {
            let end = find(bytes, at, b"\n").unwrap_or(bytes.len());
            found.push((Piece::Comment, at, end));
            at = end;
        } else if rest.starts_with(b"/*") {
            let end = block_comment_end(bytes, at);
            found.push((Piece::Comment, at, end));
            at = end;
        } else if let Some((from, to, after)) = fresh.then(|| raw_string(bytes, at)).flatten() {
            found.push((Piece::Literal, from, to));
            at = after;
        } else if rest[0] == b'"' {
            let end = quoted_end(bytes, at + 1, b'"');
            found.push((Piece::Literal, at + 1, end));
            at = end + 1;
        } else if rest[0] == b'\'' && is_char_literal(rest) {
            let end = quoted_end(bytes, at + 1, b'\'');
            found.push((Piece::Literal, at + 1, end));
            at = end + 1;
        } else {
            at += 1;
        }
    }
    found.retain(|(_, from, to)| from < to);
    found
}

fn find(bytes: &[u8], from: usize, needle: &[u8]) -> Option<usize> {
    let tail = bytes.get(from..)?;
    let at = tail.windows(needle.len()).position(|part| part == needle)?;
    Some(from + at)
}

/// Block comments nest.
fn block_comment_end(bytes: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = from;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// `r"…"`, `r#"…"#`, `br…`, `cr…`: inside from, inside to, byte after.
fn raw_string(bytes: &[u8], at: usize) -> Option<(usize, usize, usize)> {
    let mut open = at;
    if matches!(bytes.get(open), Some(b'b' | b'c')) {
        open += 1;
    }
    if bytes.get(open) != Some(&b'r') {
        return None;
    }
    open += 1;
    let hashes = bytes[open..]
        .iter()
        .take_while(|byte| **byte == b'#')
        .count();
    open += hashes;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    let end = find(bytes, open + 1, close.as_bytes()).unwrap_or(bytes.len());
    Some((open + 1, end, (end + close.len()).min(bytes.len())))
}

fn quoted_end(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// `'x'` and `'\n'` are characters, `'static` is a lifetime.
fn is_char_literal(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        Some(first) => {
            let width = match first {
                0..0x80 => 1,
                0x80..0xe0 => 2,
                0xe0..0xf0 => 3,
                _ => 4,
            };
            rest.get(1 + width) == Some(&b'\'')
        }
        None => false,
    }
}

/// Items under an attribute that begins `#[cfg(test` or `#[cfg(all(test`, in bare text.
fn test_items(bare: &str) -> Vec<(usize, usize)> {
    let bytes = bare.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(from) = find(bytes, at, b"#[cfg(") {
        let inside = bare[from + 6..].trim_start();
        let inside = inside.strip_prefix("all(").unwrap_or(inside);
        let is_test = inside.strip_prefix("test").is_some_and(|rest| {
            let next = rest.bytes().next();
            next.is_some_and(|byte| !is_name(byte))
        });
        if is_test {
            let end = item_end(bytes, from);
            found.push((from, end));
            at = end;
        } else {
            at = from + 6;
        }
    }
    found
}

/// The end of the item whose attributes begin at `from`: its closing brace, or its semicolon.
fn item_end(bytes: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            b';' | b',' if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::Source;

    fn check(text: &str, uncommented: &str, bare: &str) {
        let source = Source::new(text);
        assert_eq!(source.uncommented, uncommented);
        assert_eq!(source.bare, bare);
    }

    #[test]
    fn comments_and_literals_become_blanks() {
        check("a // b\nc", "a     \nc", "a     \nc");
        let nested = "a /* x /* y */ z */ b";
        let blank = format!("a{}b", " ".repeat(nested.len() - 2));
        check(nested, &blank, &blank);
        check(
            r#"f("a\"b", 'c', '\'')"#,
            r#"f("a\"b", 'c', '\'')"#,
            r#"f("    ", ' ', '  ')"#,
        );
        check(
            r##"g(r#"a"b"#, br"c")"##,
            r##"g(r#"a"b"#, br"c")"##,
            r##"g(r#"   "#, br" ")"##,
        );
        check(
            "fn f<'a>(x: &'a str) {}",
            "fn f<'a>(x: &'a str) {}",
            "fn f<'a>(x: &'a str) {}",
        );
        check(
            "\"// no comment\"",
            "\"// no comment\"",
            "\"             \"",
        );
        check("'é' 'x", "'é' 'x", "'  ' 'x");
    }

    #[test]
    fn tests_are_told_from_what_ships() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\nfn c() {}\n#[cfg(test)] mod t;\nfn d() {}";
        let source = Source::new(text);
        let shipped = source.shipped(&source.bare);
        let names: Vec<&str> = shipped.split_whitespace().collect();
        assert_eq!(names.join(" "), "fn a() {} fn c() {} fn d() {}");
        let tested = source.tested(&source.bare);
        assert!(tested.contains("fn b() {}") && !tested.contains("fn c"));
        let other = Source::new("#[cfg(testing)] fn a() {}");
        assert!(other.shipped(&other.bare).contains("fn a"));
    }
}
