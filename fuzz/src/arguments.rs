//! The check of arguments of tools as words of a command line.

use polyport_cli::fuzzing::{missing, parse};
use polyport_model::Object;
use polyport_wire::Raw;
use serde_json::Value;

/// Reads the first line of `data` as the schema of a tool, which its server has written, and the others as words.
///
/// - They are arguments, or what is wrong is said.
/// - Each stands where its word says, as the JSON or the text that it is, and nothing else stands there.
/// - What is required is there, or is told to be missing.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let schema = serde_json::from_str(lines.next().unwrap_or_default());
    let Ok(schema): Result<Value, _> = schema else {
        return;
    };
    // Nothing is read from files here.
    let words = lines.filter(|word| !word.contains("=@")).take(MOST);
    let words: Vec<String> = words.map(str::to_owned).collect();
    let given = match parse(&words, &schema) {
        Ok(given) => given,
        Err(why) => return assert!(!why.is_empty()),
    };
    for word in &words {
        let (key, text) = word.split_once('=').expect("it is an argument");
        check_word(&given, &words, key, text);
    }
    let first = |word: &String| word.split(['=', '.', '[', ':']).next().map(str::to_owned);
    let plain = words.iter().filter_map(first);
    assert!(given.len() <= plain.count());
    let required = schema["required"].as_array().into_iter().flatten();
    let absent = required
        .filter_map(Value::as_str)
        .filter(|name| !given.contains(name));
    assert_eq!(absent.count(), missing(&given, &schema).len());
}

fn check_word(given: &Object, words: &[String], key: &str, text: &str) {
    let (key, is_json) = match key.strip_suffix(':') {
        Some(key) => (key, true),
        None => (key, false),
    };
    let within = |word: &&String| {
        let rest = word.strip_prefix(key);
        rest.is_some_and(|rest| rest.starts_with(['.', '[']))
    };
    if key.contains("[]") || words.iter().any(|word| within(&word)) {
        return;
    }
    let mut steps = key.split('.');
    let first = given.get(steps.next().unwrap_or_default()).cloned();
    let step = |at: Raw, step: &str| at.decode::<Object>().ok()?.get(step).cloned();
    let found = steps.fold(first, |at, name| step(at?, name));
    let found = found.unwrap_or_else(|| panic!("{key} is not there"));
    match found.decode::<String>() {
        Ok(found) if !is_json => assert_eq!(found, text, "{key}"),
        // Not one digit of it is lost.
        _ => assert_eq!(found.as_str(), text.trim_matches(SPACE), "{key}"),
    }
}

/// What may stand around a value of JSON.
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];
/// Words that are read at once.
const MOST: usize = 32;
