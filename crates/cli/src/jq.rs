//! `--jq`: a filter in the language of jq over a result, run by jaq.

use std::io::Write;

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Filter, Vars, data, unwrap_valr};
use jaq_json::{Val, read, write};

use crate::failure::Failure;

type Filters = Filter<data::JustLut<Val>>;

/// Runs a filter over one JSON document: a line for each value that comes of it, texts without their quotes. Filters may run for ever:
/// `out` sees each value when it is there.
///
/// # Errors
/// The filter is none (exit 2), or fails on this document (exit 1), or `out` does.
pub(crate) fn run(
    filter: &str,
    document: &str,
    mut out: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let filter = compile(filter)?;
    let input = read::parse_single(document.as_bytes())
        .map_err(|error| Failure::unexpected(format!("--jq: the result is no JSON: {error}")))?;
    let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
    let mut line = Vec::new();
    for value in filter.id.run((context, input)).map(unwrap_valr) {
        let value = value.map_err(|error| Failure::unexpected(format!("--jq: {error}")))?;
        line.clear();
        match &value {
            Val::TStr(text) | Val::BStr(text) => line.extend_from_slice(text),
            other => write::write(&mut line, &write::Pp::default(), 0, other)
                .map_err(|error| Failure::unexpected(format!("--jq: {error}")))?,
        }
        let _ = line.write(b"\n");
        out(&line)?;
    }
    Ok(())
}

/// Is it a filter?
///
/// # Errors
/// It is none (exit 2).
pub(crate) fn check(filter: &str) -> Result<(), Failure> {
    compile(filter).map(drop)
}

fn compile(code: &str) -> Result<Filters, Failure> {
    let wrong = |why: &str| {
        Failure::usage(format!("--jq: {why}: {code}"))
            .hint("it is an expression of jq, such as .structuredContent.items[].title")
    };
    let defs = jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs());
    let funs = jaq_core::funs()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs());
    let arena = Arena::default();
    let modules = Loader::new(defs)
        .load(&arena, File { code, path: () })
        .map_err(|_| wrong("this is no filter"))?;
    Compiler::default()
        .with_funs(funs)
        .compile(modules)
        .map_err(|errors| {
            let mut names = errors
                .iter()
                .flat_map(|(_, errors)| errors)
                .map(|(name, _)| *name);
            let name = names.next().unwrap_or_default();
            wrong(&format!("there is no {name}"))
        })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn run_all(filter: &str, document: &str) -> Result<String, String> {
        let mut text = Vec::new();
        let ran = run(filter, document, |line| {
            text.extend_from_slice(line);
            Ok(())
        });
        ran.map_err(|failure| failure.message().to_owned())?;
        Ok(String::from_utf8(text).unwrap())
    }

    // req: S-JQ
    #[test]
    fn filters_and_what_comes_of_them() {
        let document =
            r#"{"a":[{"n":1,"t":"x"},{"n":2.50,"t":"y z"}],"big":12345678901234567890123}"#;
        for (filter, want) in [
            (".a[].t", Ok("x\ny z\n")),
            (".a[1].n", Ok("2.50\n")),
            (".a | length", Ok("2\n")),
            (".a[0]", Ok("{\"n\":1,\"t\":\"x\"}\n")),
            (".big", Ok("12345678901234567890123\n")),
            (".a[] | select(.n > 1) | .t | ascii_upcase", Ok("Y Z\n")),
            ("empty", Ok("")),
            (".a[", Err("--jq: this is no filter: .a[")),
            (
                ".a | nothing",
                Err("--jq: there is no nothing: .a | nothing"),
            ),
            (".a.b", Err("--jq: cannot index")),
        ] {
            match (run_all(filter, document), want) {
                (Ok(got), Ok(want)) => assert_eq!(got, want, "{filter}"),
                (Err(got), Err(want)) => assert!(got.starts_with(want), "{filter}: {got}"),
                (got, want) => panic!("{filter}: {got:?}, not {want:?}"),
            }
        }
    }
}
