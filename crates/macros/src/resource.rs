//! `#[resource]`: from a function to an expression of type `Resource`, or of type `Template` where the URI has variables.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::LitStr;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::function::{Function, Param, cx};
use crate::options::{Known, Options, Takes};
use crate::part::{Kind, Part, Source};
use crate::{template, types};

pub(crate) const KEYS: Known = Known {
    of: "#[resource]",
    uri: true,
    keys: &[
        ("name", Takes::Text),
        ("title", Takes::Value),
        ("description", Takes::Value),
        ("mime_type", Takes::Value),
        ("size", Takes::Value),
        ("annotations", Takes::Value),
        ("icons", Takes::Value),
        ("meta", Takes::Value),
        ("crate", Takes::Path),
    ],
};

pub(crate) const ARGUMENT: Known = Known {
    of: "#[arg] of a resource",
    uri: false,
    keys: &[("name", Takes::Text), ("complete", Takes::Value)],
};

/// None: without a URI there is nothing to make.
pub(crate) fn part(source: &Source<'_>, options: &Options, errors: &mut Errors) -> Option<Part> {
    let Some(uri) = options.uri() else {
        errors.at(
            &source.function.ident,
            "say which resource it is: #[resource(\"scheme://path\")], or with variables #[resource(\"scheme://{name}\")]",
        );
        return None;
    };
    let variables = match template::variables(&uri.value()) {
        Ok(variables) => variables,
        Err(why) => {
            errors.at(uri, why);
            return None;
        }
    };
    let function = source.function;
    check(function, uri, &variables, errors);
    let fixed = variables.is_empty();
    if let Some(key) = options.at("size").filter(|_| !fixed) {
        errors.at(key, "only a resource without variables has one size");
    }
    let face = &source.face;
    let name = source.key(options);
    let (share, cx, values) = (function.share(), cx(), values());
    let call = function.call(source.place, |param| local(param).to_token_stream());
    let parsed = function.arguments().map(|param| {
        let (local, name, ty) = (local(param), &param.name, &param.ty);
        let at = Span::call_site().located_at(ty.span());
        quote_spanned!(at=> let #local = #values.parse::<#ty>(#name)?;)
    });
    let contents = source.returned_to(&["macros", "contents"], &call);
    let at = source.name_span();
    let ending = quote_spanned! {at=>
        #share
        async move {
            #(#parsed)*
            #contents
        }
    };
    let new = if fixed {
        let closure = quote_spanned!(at=> move |#cx: #face::Cx| { #ending });
        quote!(#face::Resource::new(#uri, #name, #closure))
    } else {
        let closure = quote_spanned! {at=>
            move |#cx: #face::Cx, #values: #face::macros::Variables| { #ending }
        };
        quote!(#face::macros::template(#uri, #name, #closure))
    };
    let described = source
        .description(options)
        .map(|description| quote!(.description(#description)));
    let rest = options.calls(
        &["title", "mime_type", "size", "annotations", "icons", "meta"],
        &TokenStream::new(),
    );
    let completers = function.completers();
    Some(Part {
        kind: if fixed {
            Kind::Resource
        } else {
            Kind::Template
        },
        key: uri.clone(),
        expression: quote!(#new #described #rest #completers),
    })
}

fn check(function: &Function, uri: &LitStr, variables: &[String], errors: &mut Errors) {
    if let Some(whole) = function.whole() {
        errors.at(
            &whole.ty,
            "the parameters of a resource are the variables of its URI, one by one",
        );
    }
    for param in function.arguments() {
        if let Some(attribute) = param.attributes.iter().find(|a| !a.path().is_ident("doc")) {
            errors.at(attribute, "a variable of a URI has no schema");
        }
        if let Some(inner) = types::inside(&param.ty, "Option") {
            let inner = types::plain_name(inner).unwrap_or_else(|| "T".to_owned());
            errors.at(
                &param.ty,
                format!("every variable of a URI has a value: take `{inner}`"),
            );
        }
        if !variables.contains(&param.name) {
            let known = match variables {
                [] => "it has none".to_owned(),
                some => format!("it has {}", some.join(", ")),
            };
            let why = format!("the URI has no variable {{{}}}: {known}", param.name);
            errors.at(&param.ident, why);
        }
    }
    for variable in variables {
        if !function.arguments().any(|param| param.name == *variable) {
            let how = if variable.contains('.') {
                format!("#[arg(name = {variable:?})] …: String")
            } else {
                format!("{variable}: String")
            };
            let why = format!("no parameter takes the variable {{{variable}}}: add `{how}`");
            errors.at(uri, why);
        }
    }
}

/// The variable that holds the value of one variable of the URI.
fn local(param: &Param) -> Ident {
    let name = format!("__variable_{}", param.ident.unraw());
    Ident::new(&name, Span::mixed_site())
}

/// The variable that holds the values of the URI's variables.
fn values() -> Ident {
    Ident::new("__values", Span::mixed_site())
}
