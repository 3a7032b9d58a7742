//! `#[prompt]`: from a function to an expression of type `Prompt`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::errors::Errors;
use crate::fields::fields;
use crate::function::cx;
use crate::options::{Known, Options, Takes};
use crate::part::{Kind, Part, Source};
use crate::types;

pub(crate) const KEYS: Known = Known {
    of: "#[prompt]",
    uri: false,
    keys: &[
        ("name", Takes::Text),
        ("title", Takes::Value),
        ("description", Takes::Value),
        ("icons", Takes::Value),
        ("meta", Takes::Value),
        ("crate", Takes::Path),
    ],
};

pub(crate) const ARGUMENT: Known = Known {
    of: "#[arg] of a prompt",
    uri: false,
    keys: &[
        ("name", Takes::Text),
        ("title", Takes::Value),
        ("description", Takes::Value),
        ("default", Takes::Perhaps),
        ("complete", Takes::Value),
    ],
};

pub(crate) fn part(source: &Source<'_>, options: &Options, errors: &mut Errors) -> Part {
    let Source { function, face, .. } = source;
    for param in function.arguments() {
        let ty = types::inside(&param.ty, "Option").unwrap_or(&param.ty);
        if types::is_no_text(ty) {
            errors.at(
                &param.ty,
                "arguments of prompts are texts: take `String` or `Option<String>`, and parse it",
            );
        }
    }
    let fields = fields(function, face);
    let (items, param) = (&fields.items, &fields.param);
    let call = function.call(source.place, |param| fields.value(param));
    let (share, cx) = (function.share(), cx());
    let reply = source.returned_to(&["macros", "prompt_reply"], &call);
    let closure = quote_spanned! {source.name_span()=>
        move |#cx: #face::Cx, #param| { #share async move { #reply } }
    };
    let (name, description) = (source.key(options), source.description(options));
    let description = description.unwrap_or_else(|| quote!(""));
    let rest = options.calls(&["title", "icons", "meta"], &TokenStream::new());
    let completers = function.completers();
    Part {
        kind: Kind::Prompt,
        key: name.clone(),
        expression: quote! {{
            #items
            #face::Prompt::new(#name, #description, #closure) #rest #completers
        }},
    }
}
