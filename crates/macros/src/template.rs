//! The variables of a URI template. The same rules as the face crate's, which reads the template when the server is built.

/// The names in order, or what is wrong.
pub(crate) fn variables(uri: &str) -> Result<Vec<String>, String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = uri;
    let mut first = true;
    while let Some(at) = rest.find(['{', '}']) {
        if rest[at..].starts_with('}') {
            return Err("a `}` without its `{`".to_owned());
        }
        if at == 0 && !first {
            return Err("two variables need text between them".to_owned());
        }
        first = false;
        let (inside, after) = rest[at + 1..]
            .split_once('}')
            .ok_or_else(|| "a `{` without its `}`".to_owned())?;
        let name = inside.strip_prefix('+').unwrap_or(inside);
        let named = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if name.is_empty() || !name.chars().all(named) {
            return Err(format!(
                "{{{inside}}} is no variable: write {{name}}, or {{+name}} for one that may hold slashes"
            ));
        }
        if found.iter().any(|known| known == name) {
            return Err(format!("the variable {{{name}}} occurs twice"));
        }
        found.push(name.to_owned());
        rest = after;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::variables;

    #[test]
    fn names_in_order() {
        for (uri, want) in [
            ("a://b", Some("")),
            ("a://{x}", Some("x")),
            ("{x}/{+y.z}", Some("x y.z")),
            ("db://{table}/{id_2}/rows", Some("table id_2")),
            ("a://{x}{y}", None),
            ("a://{x}/{x}", None),
            ("a://{", None),
            ("a://}", None),
            ("a://{}", None),
            ("a://{x*}", None),
            ("a://{x y}", None),
        ] {
            let found = variables(uri).ok().map(|names| names.join(" "));
            assert_eq!(found.as_deref(), want, "{uri}");
        }
    }
}
