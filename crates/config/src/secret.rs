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
const WORDS: &[&str] = &[
    "pass", "pat", "otp", "totp", "pin", "pw", "cred", "creds", "mnemonic",
];
/// Words that end like `DBPASS` and are none.
const PASSING: &[&str] = &[
    "askpass",
    "bypass",
    "compass",
    "encompass",
    "surpass",
    "trespass",
];
/// Words that have such a part and are none.
const HARMLESS: &[&str] = &[
    "author",
    "authorities",
    "authority",
    "authors",
    "hockey",
    "hotkey",
    "hotkeys",
    "keyboard",
    "keycloak",
    "keyspace",
    "keyspaces",
    "keyword",
    "keywords",
    "monkey",
    "tokenizer",
    "tokenizers",
    "turkey",
];
/// Whole names of what is told of data and clients.
const HARMLESS_NAMES: &[&str] = &["foreign_key", "primary_key", "sort_key"];
/// Last words of names that say what is told of a secret, where that is not the secret itself: `AUTH_MODE`, `KEY_FILE`.
const TOLD: &[&str] = &[
    "alg",
    "algorithm",
    "audience",
    "budget",
    "count",
    "dir",
    "disabled",
    "domain",
    "enabled",
    "endpoint",
    "expiry",
    "file",
    "host",
    "issuer",
    "length",
    "limit",
    "method",
    "mode",
    "name",
    "path",
    "port",
    "realm",
    "size",
    "sock",
    "socket",
    "timeout",
    "ttl",
    "type",
    "uri",
    "url",
    "version",
];
/// Words beside which several of something are counted: `MAX_TOKENS`, `tokensPerMinute`.
const AMOUNTS: &[&str] = &["max", "maximum", "min", "minimum", "num", "per", "total"];

/// Is the value of something with this name a secret?
pub fn is_secret_name(name: &str) -> bool {
    // It names a variable, and not what that holds.
    if name.to_ascii_lowercase().ends_with("_env_var") {
        return false;
    }
    let words = words(name);
    let is_told = words.last().is_some_and(|last| TOLD.contains(&&**last))
        || words.ends_with(&["client".to_owned(), "id".to_owned()])
        || HARMLESS_NAMES.contains(&&*words.join("_"))
        // Nothing stands behind `--no-auth`.
        || words.first().is_some_and(|first| first == "no");
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&&**word));
    if is_told || has(AMOUNTS) && has(&["keys", "sessions", "tokens"]) {
        return false;
    }
    let kept: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !HARMLESS.contains(word))
        .collect();
    let joined = kept.join("_");
    PARTS.iter().any(|part| joined.contains(part))
        || kept
            .iter()
            .any(|word| WORDS.contains(word) || word.ends_with("pass") && !PASSING.contains(word))
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

    const SECRETS: &[&str] = &[
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
        "DBPASS",
        "SMTPPASS",
        "MYSQLPASS",
        "PGPASS",
        "PW",
        "DB_PW",
        "CREDS",
        "db-creds",
        "AUTHOR_TOKEN",
        "connectionString",
        "a.pwd",
        // Of somebody who is called so.
        "MAX_TOKEN",
        "ACCESS_TOKENS",
        "tokens",
        "MODE_KEY",
        "AUTH",
        "FILE_TOKEN",
        "SESSION",
        "SESSION_ID",
        "OAUTH_CLIENT_SECRET",
        "KEYCLOAK_PASSWORD",
        "COSMOS_PRIMARY_KEY",
        "KEY",
        "AUTHORIZATION",
        "OAUTH",
        "URL_KEY",
    ];
    const HARMLESS: &[&str] = &[
        "SPINNER",
        "PATH",
        "author",
        "--keyboard",
        "MONKEY",
        "compass",
        "GIT_ASKPASS",
        "BYPASS_PROXY",
        "PASSIVE",
        "option",
        "LEVEL",
        "bearer_token_env_var",
        "MAX_TOKENS",
        "maxOutputTokens",
        "--max-tokens",
        "TOKENS_PER_MINUTE",
        "MIN_SESSIONS",
        "TOKEN_LIMIT",
        "AUTH_MODE",
        "authType",
        "AUTH_ENABLED",
        "SESSION_TIMEOUT",
        "PRIVATE_KEY_PATH",
        "--key-file",
        "JWT_ALGORITHM",
        "TOKENIZERS_PARALLELISM",
        "OAUTH_CLIENT_ID",
        "oauthClientId",
        "AUTH0_DOMAIN",
        "KEYCLOAK_REALM",
        "KEYCLOAK_URL",
        "AUTH_URL",
        "AUTHORITY",
        "TOKEN_URL",
        "tokenUri",
        "TOKEN_ENDPOINT",
        "COOKIE_DOMAIN",
        "KEYSPACE",
        "--keyspace",
        "HOTKEYS",
        "TURKEY",
        "HOCKEY_TEAM",
        "PRIMARY_KEY",
        "--sort-key",
        "--no-auth",
        "SSH_AUTH_SOCK",
        "",
        "é",
    ];

    // req: S-SHOWN
    #[test]
    fn names_of_secrets_are_known_by_their_words() {
        for name in SECRETS {
            assert!(is_secret_name(name), "{name}");
        }
        for name in HARMLESS {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
