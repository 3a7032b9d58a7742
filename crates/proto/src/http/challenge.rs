//! What a server wants before it answers: `WWW-Authenticate`, which is a list of challenges in any number of lines (RFC 9110 §11).

/// One challenge.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Challenge {
    /// The scheme in lower case, such as `bearer`.
    pub scheme: String,
    /// The one value that some schemes have instead of parameters.
    pub token: Option<String>,
    /// The parameters, names in lower case, in their order; of one that comes twice the first.
    pub params: Vec<(String, String)>,
}

/// Challenges that are kept of one answer.
const MAX: usize = 32;
/// Parameters that are kept of one challenge.
const MAX_PARAMS: usize = 64;

impl Challenge {
    /// The value of a parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        let found = self.params.iter().find(|(known, _)| known == name);
        Some(found?.1.as_str())
    }

    /// Reads the values of all such headers. What cannot be read ends its line; nothing fails.
    ///
    /// ```
    /// # use polyport_proto::http::Challenge;
    /// let all = Challenge::read(["Basic realm=\"a, b\", Bearer scope=files"]);
    /// assert_eq!((all[1].scheme.as_str(), all[1].param("scope")), ("bearer", Some("files")));
    /// ```
    pub fn read<'a>(values: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let mut all = Vec::new();
        for value in values {
            let mut line = Line(value);
            while all.len() < MAX
                && let Some(challenge) = line.challenge()
            {
                all.push(challenge);
            }
        }
        all
    }
}

/// The rest of a line.
struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    fn challenge(&mut self) -> Option<Challenge> {
        self.skip(" \t,");
        let scheme = self.word()?;
        let mut challenge = Challenge {
            scheme: scheme.to_ascii_lowercase(),
            ..Challenge::default()
        };
        if self.skip(" \t") == 0 {
            return Some(challenge);
        }
        challenge.token = self.token();
        while challenge.token.is_none()
            && let Some((name, value)) = self.param()
        {
            let is_new = challenge.param(&name).is_none();
            if is_new && challenge.params.len() < MAX_PARAMS {
                challenge.params.push((name, value));
            }
        }
        Some(challenge)
    }

    /// A value alone: it ends with its challenge, where a parameter would go on after `=`.
    fn token(&mut self) -> Option<String> {
        let is_inner = |c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c);
        let inner = self.0.trim_start_matches(is_inner);
        let end = inner.trim_start_matches('=');
        let is_all = end.trim_start_matches([' ', '\t']);
        let is_over = is_all.is_empty() || is_all.starts_with(',');
        if inner.len() == self.0.len() || !is_over {
            return None;
        }
        let (token, rest) = self.0.split_at(self.0.len() - end.len());
        // A word at the end of a line could be a scheme by itself; after one it is a value.
        self.0 = rest;
        Some(token.to_owned())
    }

    /// The next parameter of the same challenge; nothing is taken if what follows is another challenge.
    fn param(&mut self) -> Option<(String, String)> {
        let before = self.0;
        self.skip(" \t,");
        let param = self.word().and_then(|name| {
            self.skip(" \t");
            self.0 = self.0.strip_prefix('=')?;
            self.skip(" \t");
            let value = match self.0.strip_prefix('"') {
                Some(rest) => self.quoted(rest),
                None => self.word().unwrap_or_default().to_owned(),
            };
            Some((name.to_ascii_lowercase(), value))
        });
        if param.is_none() {
            self.0 = before;
        }
        param
    }

    /// What is between quotes; to the end of the line where the second is missing.
    fn quoted(&mut self, text: &'a str) -> String {
        let mut value = String::new();
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.0 = &text[at + 1..];
                    return value;
                }
                '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
                _ => value.push(c),
            }
        }
        self.0 = "";
        value
    }

    fn word(&mut self) -> Option<&'a str> {
        let is_inner = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~:/?@".contains(c);
        let rest = self.0.trim_start_matches(is_inner);
        let (word, rest) = self.0.split_at(self.0.len() - rest.len());
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    /// How many characters were passed over.
    fn skip(&mut self, what: &str) -> usize {
        let rest = self.0.trim_start_matches(|c| what.contains(c));
        let passed = self.0.len() - rest.len();
        self.0 = rest;
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(values: &[&str]) -> String {
        let one = |challenge: &Challenge| {
            let params = challenge.params.iter();
            let params: Vec<_> = params
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let token = challenge.token.as_deref().map(|token| format!("<{token}>"));
            format!(
                "{}{}[{}]",
                challenge.scheme,
                token.unwrap_or_default(),
                params.join("|")
            )
        };
        let all: Vec<_> = Challenge::read(values.iter().copied())
            .iter()
            .map(one)
            .collect();
        all.join(" ")
    }

    // req: C-02
    #[test]
    fn c_02_challenges() {
        for (values, want) in [
            (&["Bearer"][..], "bearer[]"),
            (&["bearer realm=\"a\""], "bearer[realm=a]"),
            (
                &["Basic realm=\"r\", Bearer scope=\"a\""],
                "basic[realm=r] bearer[scope=a]",
            ),
            (
                &["DPoP algs=\"ES256\", Bearer resource_metadata=\"https://h/a\", scope=\"x y\""],
                "dpop[algs=ES256] bearer[resource_metadata=https://h/a|scope=x y]",
            ),
            (
                &["Bearer scope=\"a\"", "Basic realm=b"],
                "bearer[scope=a] basic[realm=b]",
            ),
            (
                &["Bearer a=\"x\\\"y\\\\z\", b=\"1, 2\""],
                "bearer[a=x\"y\\z|b=1, 2]",
            ),
            (
                &["Bearer resource_metadata = https://h/.well-known/x?y"],
                "bearer[resource_metadata=https://h/.well-known/x?y]",
            ),
            (&["BEARER Scope\t=\t\"a\""], "bearer[scope=a]"),
            (&["Bearer a=1, a=2"], "bearer[a=1]"),
            (
                &["Bearer error='invalid_token'"],
                "bearer[error='invalid_token']",
            ),
            (&["Negotiate YII=, Bearer"], "negotiate<YII=>[] bearer[]"),
            (&["Negotiate abc"], "negotiate<abc>[]"),
            (&[", ,Bearer a=1,, b=2 ,"], "bearer[a=1|b=2]"),
            (&["Bearer a=\"open"], "bearer[a=open]"),
            (&["Bearer a="], "bearer<a=>[]"),
            (&["", "  ", "\"", "=,="], ""),
            (&["Bearer a=1 b=2"], "bearer[a=1|b=2]"),
            (&["Bearer a=é, b=2"], "bearer[a=]"),
        ] {
            assert_eq!(shown(values), want, "{values:?}");
        }
        let long = format!("Bearer {}", "a=1, ".repeat(20_000));
        assert_eq!(shown(&[&long]), "bearer[a=1]");
        let many = "Bearer, ".repeat(10_000);
        assert_eq!(Challenge::read([many.as_str()]).len(), MAX);
    }
}
