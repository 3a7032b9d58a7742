//! Which names have secrets as their values. When in doubt, they have.

/// What is shown in place of a secret.
pub const MASK: &str = "****";

/// Parts of names whose values are secrets.
const NAMES: &[&str] = &[
    "key",
    "token",
    "secret",
    "passw",
    "passphrase",
    "pwd",
    "auth",
    "credential",
    "cookie",
    "session",
    "private",
    "bearer",
    "jwt",
    "pin",
    "dsn",
    "connection_string",
    "signature",
];
/// Is the value of something with this name a secret?
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // `PIN` is one, `SPINNER` is none.
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    NAMES.iter().any(|part| match *part {
        "pin" => words.clone().any(|word| word == "pin"),
        part => name.contains(part),
    })
}
