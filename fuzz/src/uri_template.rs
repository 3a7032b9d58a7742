//! The check of URI templates: read, filled in, and found again.

use std::collections::BTreeMap;

use polyport::uri_template::UriTemplate;

/// Reads the first line of `data` as a template, the lines between as values of its variables, and the last as a URI.
///
/// - A template is kept as it was written.
/// - Any URI matches all of the variables or none.
/// - What is filled in is a URI, and matches with the same values; unless one is empty, or has the text that follows it
///   in the template, so that it is found too early.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let Ok(template) = UriTemplate::parse(lines.next().unwrap_or_default()) else {
        return;
    };
    assert_eq!(Some(template.as_str()), text.split('\n').next());
    let names: Vec<&str> = template.variables().collect();
    if let Some(found) = template.matches(text.split('\n').next_back().unwrap_or_default()) {
        check_names(&names, &found);
    }
    let values: BTreeMap<String, String> = names
        .iter()
        .map(|name| (*name).to_owned())
        .zip(
            lines
                .map(str::to_owned)
                .chain(std::iter::repeat(String::new())),
        )
        .collect();
    let uri = template.expand(&values);
    assert!(
        uri.bytes().all(|byte| byte.is_ascii_graphic()),
        "{uri} has what no URI has"
    );
    let found = template.matches(&uri);
    if let Some(found) = &found {
        check_names(&names, found);
    }
    if is_plain(template.as_str(), &values) {
        assert_eq!(found, Some(values), "{template:?} matches {uri}");
    }
}

fn check_names(names: &[&str], found: &BTreeMap<String, String>) {
    assert_eq!(found.len(), names.len(), "every variable has a value");
    assert!(names.iter().all(|name| found.contains_key(*name)));
}

/// Whether each value ends where the text behind it in the template first begins.
fn is_plain(template: &str, values: &BTreeMap<String, String>) -> bool {
    template.split('{').skip(1).all(|piece| {
        let (name, literal) = piece.split_once('}').expect("braces pair");
        let alone = UriTemplate::parse(&format!("{{{name}}}")).expect("one variable");
        let value = alone.expand(values);
        let literal = UriTemplate::parse(literal).expect("no variable");
        let literal = literal.expand(values);
        let all = format!("{value}{literal}");
        !value.is_empty() && (literal.is_empty() || all.find(&literal) == Some(value.len()))
    })
}
