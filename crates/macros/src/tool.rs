//! `#[tool]`: from a function to an expression of type `Tool`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::errors::Errors;
use crate::fields::{Fields, fields};
use crate::function::{Function, cx};
use crate::options::{Known, Options, Takes};
use crate::part::{Kind, Part, Source};
use crate::types;

pub(crate) const KEYS: Known = Known {
    of: "#[tool]",
    uri: false,
    keys: &[
        ("name", Takes::Text),
        ("title", Takes::Value),
        ("description", Takes::Value),
        ("read_only", Takes::Nothing),
        ("destructive", Takes::Perhaps),
        ("idempotent", Takes::Nothing),
        ("open_world", Takes::Perhaps),
        ("icons", Takes::Value),
        ("meta", Takes::Value),
        ("input_schema", Takes::Value),
        ("output_schema", Takes::Value),
        ("task", Takes::Text),
        ("crate", Takes::Path),
    ],
};

pub(crate) const ARGUMENT: Known = Known {
    of: "#[arg] of a tool",
    uri: false,
    keys: &[
        ("name", Takes::Text),
        ("title", Takes::Value),
        ("description", Takes::Value),
        ("default", Takes::Perhaps),
        ("example", Takes::Value),
        ("range", Takes::List),
        ("length", Takes::List),
        ("pattern", Takes::Value),
        ("inner", Takes::List),
        ("extend", Takes::List),
        ("header", Takes::Text),
    ],
};

pub(crate) fn part(source: &Source<'_>, options: &Options, errors: &mut Errors) -> Part {
    let Source { function, face, .. } = source;
    check_headers(function, errors);
    let schema = options.value("input_schema");
    if let Some(key) = options.at("input_schema") {
        check_raw(function, key, errors);
    }
    let fields = match schema {
        Some(_) => Fields::whole(quote!(#face::Raw)),
        None => fields(function, face),
    };
    let (items, param) = (&fields.items, &fields.param);
    let (name, description) = (source.key(options), source.description(options));
    let description = description.unwrap_or_else(|| quote!(""));
    let call = function.call(source.place, |param| fields.value(param));
    let (share, cx) = (function.share(), cx());
    let given = schema.map(|schema| quote!(#schema,));
    let constructor = match (schema, function.is_async) {
        (Some(_), _) => "raw",
        (None, true) => "new",
        (None, false) => "blocking",
    };
    let at = source.name_span();
    let closure = if function.is_async {
        quote_spanned! {at=>
            move |#cx: #face::Cx, #param| {
                #share
                async move { ::core::result::Result::Ok::<_, #face::ToolError>(#call.await) }
            }
        }
    } else {
        quote_spanned! {at=>
            move |#cx: #face::Cx, #param| ::core::result::Result::Ok::<_, #face::ToolError>(#call)
        }
    };
    let new = source.shown_at_output(
        &["Tool", constructor],
        &quote!(#name, #description, #given #closure),
    );
    let flags = options.calls(&["read_only", "idempotent"], &TokenStream::new());
    let rest = [
        "title",
        "destructive",
        "open_world",
        "icons",
        "meta",
        "output_schema",
    ];
    let rest = options.calls(&rest, &quote!(true));
    let task = task(options, face, errors);
    Part {
        kind: Kind::Tool,
        key: name,
        expression: quote! {{
            #items
            #new #flags #rest #task
        }},
    }
}

/// Whether it runs as a task, in the words of the specification.
fn task(options: &Options, face: &TokenStream, errors: &mut Errors) -> Option<TokenStream> {
    let word = options.text("task")?;
    let mode = match word.value().as_str() {
        "forbidden" => quote!(Forbidden),
        "optional" => quote!(Optional),
        "required" => quote!(Required),
        _ => {
            errors.at(
                word,
                "`task` is \"optional\", \"required\" or \"forbidden\"",
            );
            return None;
        }
    };
    Some(quote!(.task(#face::TaskMode::#mode)))
}

fn check_raw(function: &Function, key: &syn::Ident, errors: &mut Errors) {
    if !function.is_async {
        errors.at(
            key,
            "a tool with a schema written by hand is an async function",
        );
    }
    let mut arguments = function.arguments().chain(function.whole());
    let one = arguments.next();
    if let Some(key) = one.and_then(|param| param.options.first()) {
        errors.at(key, "the schema written by hand is what says this");
    }
    if one.is_none() || arguments.next().is_some() {
        errors.at(
            key,
            "a tool with a schema written by hand takes its arguments whole: one parameter, of type `Raw`",
        );
    }
}

/// basic/transports/streamable-http, Custom Headers: a name of its own for each, on a string, an integer or a boolean.
fn check_headers(function: &Function, errors: &mut Errors) {
    let mut seen: Vec<String> = Vec::new();
    for param in function.arguments() {
        let Some(header) = param.options.text("header") else {
            continue;
        };
        let name = header.value().to_ascii_lowercase();
        if name.is_empty() || !name.bytes().all(is_token) {
            errors.at(
                header,
                "the name of a header is made of letters, digits and any of !#$%&'*+-.^_`|~",
            );
        }
        if seen.contains(&name) {
            errors.at(header, format!("there are two headers named {name:?}"));
        }
        seen.push(name);
        if let Some(inner) = types::inside(&param.ty, "Option") {
            let inner = types::plain_name(inner).unwrap_or_else(|| "T".to_owned());
            errors.at(
                &param.ty,
                format!("a header cannot be null: take `{inner}`, with a `default` if it may be left out"),
            );
        } else if types::is_no_header(&param.ty) {
            errors.at(
                &param.ty,
                "a header carries a text, an integer or a boolean",
            );
        }
    }
}

/// RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
