//! The text of a configuration file as it may be shown: line for line what it is, without the secrets in it. Reads its words and not
//! what they come to, so that comments and what no parser takes are shown without secrets, too.

use crate::mask;
use crate::node::Format;
use crate::secret::{MASK, is_secret_name};

/// Tables whose values are headers, which are secrets unless they are known not to be.
const HEADERS: &[&str] = &["headers", "http_headers"];

/// The text with as many lines, each without its secrets: texts that look like one, or stand behind a name or an option that says so, on
/// whatever line that was.
pub fn masked(text: &str, format: Format) -> String {
    let mut out = String::with_capacity(text.len());
    let mut comments = Names::default();
    Scan {
        style: Style::of(format),
        names: &mut Names::default(),
        comments: Some(&mut comments),
        out: &mut out,
    }
    .all(text);
    out
}

/// What is a word, and what a name, in a text.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Style {
    Json,
    Toml,
    /// Comments, and texts of more than one word: anything may stand there.
    Prose,
}

impl Style {
    fn of(format: Format) -> Self {
        match format {
            Format::Json => Self::Json,
            Format::Toml => Self::Toml,
        }
    }

    /// Does this follow a name?
    fn names(self, c: char) -> bool {
        match self {
            Self::Json => c == ':',
            Self::Toml => c == '=',
            Self::Prose => matches!(c, ':' | '='),
        }
    }

    fn quotes(self, c: char) -> bool {
        c == '"' || c == '\'' && self != Self::Json
    }

    /// The bytes of a comment that the text begins with.
    fn comment(self, text: &str) -> usize {
        let line = text.find('\n').unwrap_or(text.len());
        match self {
            Self::Json if text.starts_with("//") => line,
            Self::Json if text.starts_with("/*") => {
                text.find("*/").map_or(text.len(), |at| at + "*/".len())
            }
            Self::Toml if text.starts_with('#') => line,
            _ => 0,
        }
    }
}

/// Whose value comes next.
#[derive(Default)]
struct Names {
    /// The name before it; empty: there is none.
    name: String,
    /// Is that name's line behind us?
    is_carried: bool,
    /// Was the word before it an option that takes a secret?
    is_secret: bool,
    /// The lists and tables that are open, each with its name.
    open: Vec<(char, String)>,
    /// The last table that TOML has begun with a line of its own.
    table: String,
}

impl Names {
    /// What the value of this name belongs to: in a list, to the list.
    fn owner(&self) -> &str {
        match self.open.last() {
            Some(('[', list)) if self.name.is_empty() => list,
            _ => &self.name,
        }
    }

    fn is_header(&self) -> bool {
        let table = self.open.last().map_or(&*self.table, |(_, name)| name);
        let last = table.rsplit('.').next().unwrap_or_default();
        HEADERS.contains(&last) && !self.name.is_empty()
    }

    /// A value as it may be shown. The next one belongs to nothing, or to the option that this one is.
    fn shown(&mut self, text: &str) -> String {
        let is_option = text.starts_with('-');
        let shown = if std::mem::take(&mut self.is_secret) && !is_option {
            mask::value("secret", text)
        } else if self.is_header() {
            mask::header(&self.name, text)
        } else {
            mask::value(self.owner(), text)
        };
        self.is_secret = is_option && !text.contains('=') && is_secret_name(text);
        self.name.clear();
        if shown == text && text.contains(char::is_whitespace) {
            return prose(text);
        }
        shown
    }
}

/// A text of several words, without its secrets.
fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    Scan {
        style: Style::Prose,
        names: &mut Names::default(),
        comments: None,
        out: &mut out,
    }
    .all(text);
    out
}

struct Scan<'a> {
    style: Style,
    names: &'a mut Names,
    /// Whose value comes next in the comments, which know nothing of what stands between them.
    comments: Option<&'a mut Names>,
    out: &'a mut String,
}

impl Scan<'_> {
    fn all(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let taken = self.one(c, rest);
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    /// Shows what the text begins with, and says how many bytes that is.
    fn one(&mut self, c: char, rest: &str) -> usize {
        let comment = self.style.comment(rest);
        if comment > 0 {
            self.comment(&rest[..comment]);
            return comment;
        }
        if self.style.quotes(c)
            && let Some(quoted) = Quoted::at(rest, self.style)
        {
            return self.quoted(&quoted, rest);
        }
        let is_toml = self.style == Style::Toml;
        match c {
            '[' if is_toml && self.names.open.is_empty() && self.names.name.is_empty() => {
                return self.table(rest);
            }
            '[' | '{' if self.style != Style::Prose => {
                let name = self.names.owner().to_owned();
                self.names.open.push((c, name));
                self.names.name.clear();
            }
            ']' | '}' if self.style != Style::Prose => {
                self.names.open.pop();
                self.names.name.clear();
                self.names.is_secret = false;
            }
            '\n' if is_toml && self.names.open.is_empty() => self.names.name.clear(),
            '\n' => self.names.is_carried = true,
            ',' | '[' | ']' | '{' | '}' => {}
            // What begins the lines of a comment.
            '/' | '#' | '*' if self.style == Style::Prose => {}
            c if c.is_whitespace() || self.style.names(c) || self.style.quotes(c) => {}
            _ => return self.bare(rest),
        }
        self.out.push(c);
        c.len_utf8()
    }

    fn comment(&mut self, text: &str) {
        let Some(names) = self.comments.as_deref_mut() else {
            return;
        };
        names.is_carried = true;
        Scan {
            style: Style::Prose,
            names,
            comments: None,
            out: self.out,
        }
        .all(text);
    }

    fn quoted(&mut self, quoted: &Quoted<'_>, text: &str) -> usize {
        let mark = quoted.mark;
        let taken = mark.len() * (1 + usize::from(quoted.is_closed)) + quoted.inner.len();
        let inner = if self.is_name(&text[taken..]) {
            self.name(quoted.inner);
            quoted.inner.to_owned()
        } else {
            quoted.shown(self.names)
        };
        let end = if quoted.is_closed { mark } else { "" };
        self.out.extend([mark, &inner, end]);
        taken
    }

    /// A word without quotes: a name, a number, or anything in a comment.
    fn bare(&mut self, rest: &str) -> usize {
        let style = self.style;
        let ends = |c: char| {
            c.is_whitespace()
                || ",[]{}".contains(c)
                || style.quotes(c)
                || style.names(c) && style != Style::Prose
                || style == Style::Json && c == '/'
                || style == Style::Toml && c == '#'
        };
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[first..].find(ends).map_or(rest.len(), |at| at + first);
        let word = &rest[..end];
        let after = &rest[word.len()..];
        let joined = word.strip_suffix(|c| style.names(c));
        if joined.is_some() || self.is_name(after) {
            self.out.push_str(word);
            self.name(joined.unwrap_or(word));
            return word.len();
        }
        if style != Style::Prose {
            // Neither true nor false says anything.
            let shown = self.names.shown(word);
            let is_harmless = matches!(word, "true" | "false" | "null");
            self.out.push_str(if is_harmless { word } else { &shown });
            return word.len();
        }
        let of_prose = !self.names.name.is_empty() && !self.names.is_carried;
        if !of_prose {
            self.names.name.clear();
        }
        let shown = self.names.shown(word);
        self.out.push_str(&shown);
        // Where a secret without quotes ends is not known.
        let line = rest.find('\n').unwrap_or(rest.len());
        if of_prose && shown == MASK {
            line
        } else {
            word.len()
        }
    }

    /// The line that begins a table of TOML.
    fn table(&mut self, rest: &str) -> usize {
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let mut quote = None;
        let end = line.find(|c: char| {
            match quote {
                Some(open) if open == c => quote = None,
                None if matches!(c, '"' | '\'') => quote = Some(c),
                _ => {}
            }
            quote.is_none() && c == ']'
        });
        let names = &line[..end.unwrap_or(line.len())];
        let last = names.rsplit('.').next().unwrap_or_default();
        last.trim_matches(|c: char| c.is_whitespace() || "[]\"'".contains(c))
            .clone_into(&mut self.names.table);
        // The brackets that close it close nothing else.
        let closing = line[names.len()..]
            .chars()
            .take_while(|c| *c == ']')
            .count();
        self.out.push_str(&line[..names.len() + closing]);
        names.len() + closing
    }

    fn is_name(&self, after: &str) -> bool {
        let mut after = after.trim_start();
        while self.style.comment(after) > 0 {
            after = after[self.style.comment(after)..].trim_start();
        }
        after.starts_with(|c| self.style.names(c))
    }

    fn name(&mut self, name: &str) {
        let name = decoded(name).unwrap_or_else(|| name.to_owned());
        self.names.name = name;
        self.names.is_carried = false;
    }
}

/// A text in quotes.
struct Quoted<'t> {
    mark: &'t str,
    inner: &'t str,
    /// One that is never closed goes to the end of its line.
    is_closed: bool,
}

impl<'t> Quoted<'t> {
    /// The text that stands here; nothing, where the quote is only an apostrophe.
    fn at(text: &'t str, style: Style) -> Option<Self> {
        let quote = text.get(..1)?;
        let mark = match text.get(..3) {
            Some(three) if style == Style::Toml && three == quote.repeat(3) => three,
            _ => quote,
        };
        let inner = &text[mark.len()..];
        let is_long = mark.len() > quote.len();
        let line = match is_long {
            true => inner,
            false => &inner[..inner.find('\n').unwrap_or(inner.len())],
        };
        let mut is_escaped = false;
        let end = line.char_indices().find_map(|(at, c)| {
            let ends = !is_escaped && line[at..].starts_with(mark);
            is_escaped = c == '\\' && !is_escaped && quote == "\"";
            ends.then_some(at)
        });
        if end.is_none() && style == Style::Prose {
            return None;
        }
        // Quotes right before the last three belong to the text.
        let more = end.filter(|_| is_long).map_or(0, |at| {
            let after = line[at + mark.len()..].bytes();
            after
                .take_while(|byte| quote.as_bytes() == [*byte])
                .count()
                .min(2)
        });
        Some(Self {
            mark,
            inner: &line[..end.map_or(line.len(), |at| at + more)],
            is_closed: end.is_some(),
        })
    }

    fn shown(&self, names: &mut Names) -> String {
        if self.inner.contains('\n') {
            let shown = names.shown(self.inner);
            if shown == prose(self.inner) {
                return shown;
            }
            let lines = vec![MASK; self.inner.split('\n').count()];
            return lines.join("\n");
        }
        let plain = match self.mark.starts_with('"') {
            true => decoded(self.inner),
            false => None,
        };
        match plain {
            Some(plain) => match names.shown(&plain) {
                shown if shown == plain => self.inner.to_owned(),
                shown => encoded(&shown),
            },
            None => names.shown(self.inner),
        }
    }
}

/// What a text in quotes says.
fn decoded(inner: &str) -> Option<String> {
    serde_json::from_str(&format!("\"{inner}\"")).ok()
}

fn encoded(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn check(format: Format, cases: &[(&str, &str)]) {
        for (text, want) in cases {
            assert_eq!(masked(text, format), *want);
        }
    }

    // req: S-SHOWN
    #[test]
    fn secrets_of_json_are_masked_on_whatever_line_they_stand() {
        check(
            Format::Json,
            &[
                (r#"  "API_KEY": "abc","#, r#"  "API_KEY": "****","#),
                (r#"  "LEVEL": "debug","#, r#"  "LEVEL": "debug","#),
                (
                    r#"  "K": "x", "PIN": 1234, "KEY": true"#,
                    r#"  "K": "x", "PIN": ****, "KEY": true"#,
                ),
                (
                    r#"  "API_KEY": "${API_KEY}""#,
                    r#"  "API_KEY": "${API_KEY}""#,
                ),
                (
                    r#"  "Authorization": "Bearer x\" y""#,
                    r#"  "Authorization": "****""#,
                ),
                (
                    r#""args": ["--token", "abc", "x"]"#,
                    r#""args": ["--token", "****", "x"]"#,
                ),
                (
                    "[\n  \"--token\",\n  \"abc\",\n  \"x\"\n]",
                    "[\n  \"--token\",\n  \"****\",\n  \"x\"\n]",
                ),
                ("\"API_KEY\":\n  \"abc\"", "\"API_KEY\":\n  \"****\""),
                (
                    "\"API_KEY\" // why\n : /* \"x\" */\n \"abc\"",
                    "\"API_KEY\" // why\n : /* \"x\" */\n \"****\"",
                ),
                (
                    "\"tokens\": [\n \"abc\",\n [\"d\"]\n], \"x\": \"y\"",
                    "\"tokens\": [\n \"****\",\n [\"****\"]\n], \"x\": \"y\"",
                ),
                (
                    r#"{"headers": {"X-Tenant": "abc", "Accept": "x"}, "X": "y"}"#,
                    r#"{"headers": {"X-Tenant": "****", "Accept": "x"}, "X": "y"}"#,
                ),
                (r#"  "args": ["sk-abc"]"#, r#"  "args": ["****"]"#),
                (
                    r#"  "args": ["-c", "A=1 TOKEN=abc npx \"x\" --key abc y"]"#,
                    r#"  "args": ["-c", "A=1 TOKEN=**** npx \"x\" --key **** y"]"#,
                ),
                (
                    r#"  "url": "https://a.example/?key=abc""#,
                    r#"  "url": "https://a.example/?key=****""#,
                ),
                (
                    r#"  "url": "https:\/\/u:p@a.example\/""#,
                    r#"  "url": "https://****@a.example/""#,
                ),
                (r#"  "open"#, r#"  "open"#),
                (r#"  "TOKEN": "open"#, r#"  "TOKEN": "****"#),
                ("// größe = \"x\"\n{ }", "// größe = \"x\"\n{ }"),
                (
                    "// it's \"API_KEY\": \"abc\"\n",
                    "// it's \"API_KEY\": \"****\"\n",
                ),
                (
                    "/* \"--token\",\n \"abc\" */ \"x\"",
                    "/* \"--token\",\n \"****\" */ \"x\"",
                ),
                (
                    "// \"API_KEY\":\n//   \"abc\"\n",
                    "// \"API_KEY\":\n//   \"****\"\n",
                ),
            ],
        );
    }

    // req: S-SHOWN
    #[test]
    fn secrets_of_toml_are_masked_on_whatever_line_they_stand() {
        check(
            Format::Toml,
            &[
                (
                    "env = { API_KEY = 'abc', B = 'c' }",
                    "env = { API_KEY = '****', B = 'c' }",
                ),
                ("API_KEY = \"abc\"", "API_KEY = \"****\""),
                ("a.token=\"abc\"", "a.token=\"****\""),
                ("command = 'npx'", "command = 'npx'"),
                (
                    "args = [\n  '--token', # 'x'\n  'abc',\n]\nx = 'y'",
                    "args = [\n  '--token', # 'x'\n  '****',\n]\nx = 'y'",
                ),
                (
                    "key = \"\"\"\nabc\n\"d\"\"\"\"\nx = 'y'",
                    "key = \"\"\"****\n****\n****\"\"\"\nx = 'y'",
                ),
                ("key = '''abc'''\nx = 'y'", "key = '''****'''\nx = 'y'"),
                (
                    "x = \"\"\"\nTOKEN=abc\nL=1\n\"\"\"",
                    "x = \"\"\"\nTOKEN=****\nL=1\n\"\"\"",
                ),
                (
                    "[a.http_headers]\nX-Tenant = 'abc'\n[b]\nX-Tenant = 'abc'",
                    "[a.http_headers]\nX-Tenant = '****'\n[b]\nX-Tenant = 'abc'",
                ),
                ("[a.'key]'] # \"x\"\nb = 'c'", "[a.'key]'] # \"x\"\nb = 'c'"),
                ("# clé = \"valeur\"", "# clé = \"valeur\""),
                ("\u{feff}model = \"o\"", "\u{feff}model = \"o\""),
                (
                    "# don't: api_key = abc, d\nx = 'y'",
                    "# don't: api_key = ****\nx = 'y'",
                ),
                ("PIN = 1234 # PIN", "PIN = **** # PIN"),
                (
                    "# a = [\n#   \"--token\",\n#   \"abc\"\n# ]",
                    "# a = [\n#   \"--token\",\n#   \"****\"\n# ]",
                ),
            ],
        );
    }

    /// Members as hosts have them, with one secret in them, in whatever words stand around it.
    fn with_secret(word: &str, kind: u8) -> Value {
        match kind % 6 {
            0 => json!({word: {"API_KEY": "hunter2", "B": word}}),
            1 => json!({"args": [word, "--token", "hunter2", word]}),
            2 => json!({"headers": {"X-A": word, "X-Any": "hunter2"}}),
            3 => json!({"url": format!("https://u:hunter2@{}.example/", word.len()), "b": [word]}),
            4 => json!({"secrets": [word, ["hunter2"]], word: word}),
            _ => json!({"b": word, "password": "hunter2\n\"\\é\n", word: word}),
        }
    }

    proptest! {
        // req: S-SHOWN
        #[test]
        fn any_text_keeps_its_lines(text in "(\\PC|[\n\r\"'=:#/*\\\\\\[\\]{},-]){0,80}") {
            for format in [Format::Json, Format::Toml] {
                let shown = masked(&text, format);
                prop_assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
            }
        }

        // req: S-SHOWN
        #[test]
        fn no_secret_is_shown_among_any_words(word in "\\PC{0,12}|--?[a-z]{1,6}", kind: u8) {
            let value = with_secret(&word, kind);
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            let apart = pretty.replace("\": \"", "\":\n\"").replace("\",\n", "\", // it's\n");
            for text in [&value.to_string(), &pretty, &apart] {
                let shown = masked(text, Format::Json);
                prop_assert!(!shown.contains("hunter2"), "{}", shown);
            }
            let mut toml = toml_edit::DocumentMut::new();
            for (name, value) in value.as_object().unwrap() {
                toml[name.as_str()] = toml_edit::Item::Value(of(value));
            }
            let shown = masked(&toml.to_string(), Format::Toml);
            prop_assert!(!shown.contains("hunter2"), "{}", shown);
        }
    }

    fn of(value: &Value) -> toml_edit::Value {
        match value {
            Value::Array(list) => list.iter().map(of).collect::<toml_edit::Array>().into(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (name.as_str(), of(value)))
                .collect::<toml_edit::InlineTable>()
                .into(),
            other => other.as_str().unwrap_or_default().into(),
        }
    }
}
