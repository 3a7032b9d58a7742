//! The text of a configuration file as it may be shown: line for line what it is, without the secrets in it. Reads its words and not
//! what they come to, so that comments and what no parser takes are shown without secrets, too.

mod quoted;

use crate::hosts::holds_servers;
use crate::node::Format;
use crate::secret::{MASK, is_secret_name};
use crate::single::{self, Next, may_hold_secret};
use quoted::{Quoted, decoded};

/// Tables whose values are headers, which are secrets unless they are known not to be.
const HEADERS: &[&str] = &["headers", "http_headers"];
/// Bytes of an object in which is looked for whether it is a password.
const OBJECT: usize = 4_096;
/// Those whose values name variables that hold headers.
const NAMED: &[&str] = &["env_http_headers"];

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

/// The value of something with this name, without its secrets.
pub(crate) fn value(name: &str, text: &str) -> String {
    let mut names = Names {
        name: name.to_owned(),
        ..Names::default()
    };
    names.shown(text)
}

/// Arguments of a program, without their secrets.
pub(crate) fn args<'a>(args: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names = Names::default();
    args.into_iter().map(|text| names.shown(text)).collect()
}

/// A text that is JSON, or a name and `=` before that, without its secrets; nothing, where it is none.
fn json(text: &str) -> Option<String> {
    let is_json = |text: &str| {
        text.trim_start().starts_with(['{', '['])
            && serde_json::from_str::<serde_json::Value>(text).is_ok()
    };
    if is_json(text) {
        return Some(masked(text, Format::Json));
    }
    let (name, value) = text.split_once('=')?;
    (!is_secret_name(name) && is_json(value))
        .then(|| format!("{name}={}", masked(value, Format::Json)))
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
        let line = || text.find('\n').unwrap_or(text.len());
        match self {
            Self::Json if text.starts_with("//") => line(),
            Self::Json if text.starts_with("/*") => {
                text.find("*/").map_or(text.len(), |at| at + "*/".len())
            }
            Self::Toml if text.starts_with('#') => line(),
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
    /// What the word before it, as an option, takes.
    next: Next,
    /// The lists and tables that are open.
    open: Vec<Open>,
    /// The last table that TOML has begun with a line of its own.
    table: String,
    /// Is all of that table secret?
    is_table_secret: bool,
}

/// A list or a table that is open.
struct Open {
    bracket: char,
    name: String,
    /// All of it is.
    is_secret: bool,
    /// What was named in it is.
    is_pair: bool,
    /// It is asked for as a password, so that what stands in its place is one.
    is_password: bool,
    /// What it holds are headers, or pairs of their names and values.
    has_headers: bool,
}

impl Names {
    /// What the value of this name belongs to: in a list, to the list.
    fn owner(&self) -> &str {
        match self.open.last() {
            Some(Open {
                bracket: '[', name, ..
            }) if self.name.is_empty() => name,
            _ => &self.name,
        }
    }

    /// The table in which the next value stands.
    fn table(&self) -> &str {
        let table = self.open.last().map_or(&*self.table, |open| &open.name);
        table.rsplit('.').next().unwrap_or_default()
    }

    fn is_all_secret(&self) -> bool {
        self.open
            .last()
            .map_or(self.is_table_secret, |open| open.is_secret)
    }

    /// Are these headers by their names?
    fn has_headers(&self) -> bool {
        match self.open.last() {
            Some(open) => open.has_headers && open.bracket == '{',
            None => HEADERS.contains(&self.table()),
        }
    }

    /// A list or a table begins, with this behind it.
    fn begin(&mut self, bracket: char, rest: &str) {
        let name = self.owner().to_owned();
        let is_named = is_secret_name(&name) && !holds_servers(self.table());
        // A header that has several values.
        let is_header = self.has_headers() && !self.name.is_empty() && may_hold_secret(&name);
        let in_list = self.open.last().filter(|open| open.bracket == '[');
        let of_headers = in_list.is_some_and(|list| list.has_headers);
        self.open.push(Open {
            bracket,
            is_secret: self.is_all_secret() || is_named || is_header,
            is_pair: of_headers,
            is_password: bracket == '{' && asks_for_password(rest),
            has_headers: of_headers || HEADERS.contains(&&*name),
            name,
        });
        self.name.clear();
    }

    /// Is this the value of a name that stands beside it, as in `{"name": "API_KEY", "value": "abc"}`?
    fn is_of_pair(&mut self, text: &str) -> bool {
        let name = &*self.name;
        let Some(open) = self.open.last_mut() else {
            return false;
        };
        if matches!(name, "name" | "id") {
            open.is_pair = match open.has_headers {
                true => may_hold_secret(text),
                false => is_secret_name(text),
            };
        }
        let is_value = matches!(name, "value" | "default");
        is_value && (open.is_pair || open.is_password)
    }

    /// A header as it may be shown, if this is one.
    fn header(&self, text: &str) -> Option<String> {
        match self.open.last() {
            Some(open) if open.bracket == '[' && open.has_headers => {
                return Some(single::header_line(text));
            }
            Some(Open {
                bracket: '{',
                has_headers: true,
                ..
            }) if matches!(&*self.name, "name" | "id" | "value") => {
                return None;
            }
            _ => {}
        }
        (self.has_headers() && !self.name.is_empty()).then(|| single::header(&self.name, text))
    }

    /// A value as it may be shown. The next one belongs to nothing, or to the option that this one is.
    fn shown(&mut self, text: &str) -> String {
        let mut next = std::mem::take(&mut self.next);
        // What has a name belongs to that.
        if !self.name.is_empty() {
            next = Next::Anything;
        }
        let mut is_json = false;
        let shown = if next.is_secret(text) || self.is_all_secret() || self.is_of_pair(text) {
            single::value("secret", text)
        } else if let Some(header) = self.header(text) {
            header
        } else if let Some(user) = single::of_user(text).filter(|_| next == Next::User) {
            user
        } else if let Some(shown) = json(text) {
            is_json = true;
            shown
        } else if NAMED.contains(&self.table()) {
            single::text(text)
        } else {
            single::value(self.owner(), text)
        };
        self.next = Next::behind(text);
        self.name.clear();
        let has_words = shown.contains(|c: char| c.is_whitespace() || c == '"');
        if has_words && !is_json {
            return prose(&shown);
        }
        shown
    }
}

/// Does an object, with which this begins, say of itself that it is a password?
fn asks_for_password(text: &str) -> bool {
    let text = text
        .get(..text.floor_char_boundary(OBJECT))
        .unwrap_or_default();
    let (mut depth, mut is_quoted, mut is_escaped) = (0, false, false);
    let end = text.find(|c: char| {
        match c {
            '"' if !is_escaped => is_quoted = !is_quoted,
            '{' if !is_quoted => depth += 1,
            '}' if !is_quoted => depth -= 1,
            _ => {}
        }
        is_escaped = c == '\\' && !is_escaped;
        depth == 0
    });
    let object = &text[..end.unwrap_or(text.len())];
    object.split("\"password\"").skip(1).any(|after| {
        let value = after.trim_start().strip_prefix(':').map(str::trim_start);
        value.is_some_and(|value| value.starts_with("true"))
    })
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
                self.names.begin(c, rest);
            }
            ']' | '}' if self.style != Style::Prose => {
                self.names.open.pop();
                self.names.name.clear();
                self.names.next = Next::Anything;
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
        .all(&single::credentials(text));
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
            match joined.filter(|_| style == Style::Prose) {
                // Pairs may stand before the name.
                Some(name) => {
                    self.out.push_str(&single::text(name));
                    self.out.push_str(&word[name.len()..]);
                }
                None => self.out.push_str(word),
            }
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
        if of_prose && shown == MASK {
            rest.find('\n').unwrap_or(rest.len())
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
        let mut parts = names
            .split('.')
            .map(|part| part.trim_matches(|c: char| c.is_whitespace() || "[]\"'".contains(c)));
        parts
            .clone()
            .next_back()
            .unwrap_or_default()
            .clone_into(&mut self.names.table);
        // The first is what all are, and behind a table of servers comes the name of one.
        let is_servers = parts.next().is_some_and(holds_servers);
        self.names.is_table_secret = parts.skip(usize::from(is_servers)).any(is_secret_name);
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
