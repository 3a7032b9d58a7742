//! Which names have secrets as their values. When in doubt, they have.

/// What is shown in place of a secret.
pub const MASK: &str = "****";

/// Parts of names whose values are secrets.
const PARTS: &[&str] = &[
    "key",
    "token",
    "secret",
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "auth",
    "credential",
    "cookie",
    "session",
    "private",
    "bearer",
    "jwt",
    "dsn",
    "connection_string",
    "connectionstring",
    "signature",
];
/// The same where they are words by themselves: `PIN` is one, `SPINNER` is none.
const WORDS: &[&str] = &["pass", "pat", "otp", "pin"];
/// Words that have such a part and are none.
const HARMLESS: &[&str] = &[
    "author", "authors", "keyboard", "keyword", "keywords", "monkey",
];

/// Is the value of something with this name a secret?
pub fn is_secret_name(name: &str) -> bool {
    // It names a variable, and not what that holds.
    if name.to_ascii_lowercase().ends_with("_env_var") {
        return false;
    }
    let words = words(name);
    let kept: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !HARMLESS.contains(word))
        .collect();
    let joined = kept.join("_");
    PARTS.iter().any(|part| joined.contains(part)) || kept.iter().any(|word| WORDS.contains(word))
}

/// The words of a name, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let begins = before.is_ascii_lowercase() && c.is_ascii_uppercase();
        if (begins || !c.is_ascii_alphanumeric()) && words.last().is_some_and(|it| !it.is_empty()) {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::is_secret_name;

    // req: S-SHOWN
    #[test]
    fn names_of_secrets_are_known_by_their_words() {
        for name in [
            "API_KEY",
            "apiKey",
            "--token",
            "DB_PASS",
            "dbPass",
            "PASSCODE",
            "GITHUB_PAT",
            "OTP",
            "pin",
            "Authorization",
            "client-secret",
            "AUTHOR_TOKEN",
            "connectionString",
            "a.pwd",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "SPINNER",
            "PATH",
            "author",
            "--keyboard",
            "MONKEY",
            "compass",
            "option",
            "LEVEL",
            "bearer_token_env_var",
            "",
            "é",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
