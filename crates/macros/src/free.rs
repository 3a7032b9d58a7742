//! A marked function that stands by itself: it stays what it was, and beside it comes a type of its name that makes the part.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Error, Signature, Visibility};

use crate::errors::Errors;
use crate::function::{Function, Place, lints};
use crate::mark::Mark;
use crate::options::Options;
use crate::part::{Part, Source};

/// A function whose body is nobody's business here.
struct Item {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: TokenStream,
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            signature: input.parse()?,
            body: input.parse()?,
        })
    }
}

pub(crate) fn expand(mark: Mark, keys: TokenStream, item: TokenStream) -> TokenStream {
    let mut item: Item = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => {
            let why = format!("#[{}] marks a function", mark.name());
            return Error::new(error.span(), why).to_compile_error();
        }
    };
    let mut errors = Errors::default();
    let mut options = Options::default();
    let read = |input: ParseStream<'_>| options.read(input, mark.keys(), &mut errors);
    let read = read.parse2(keys);
    errors.keep(read);
    let function = Function::read(
        &mut item.signature,
        Place::Free,
        mark.argument_keys(),
        &mut errors,
    );
    let source = Source {
        function: &function,
        place: Place::Free,
        attributes: &item.attributes,
        face: options.face(),
    };
    let part = mark.part(&source, &options, &mut errors);
    // Even then the function is there, lest each of its uses be an error too.
    let added = errors
        .into_tokens()
        .or_else(|| part.map(|part| beside(&item, &source.face, &part)));
    let lints = lints();
    let Item {
        attributes,
        visibility,
        signature,
        body,
    } = &item;
    quote! {
        #(#attributes)*
        #lints
        #visibility #signature #body
        #added
    }
}

/// A type without values: the function has the name among the values.
fn beside(item: &Item, face: &TokenStream, part: &Part) -> TokenStream {
    let (ident, visibility) = (&item.signature.ident, &item.visibility);
    let cfgs = item.attributes.iter().filter(|a| a.path().is_ident("cfg"));
    let cfgs: TokenStream = cfgs.map(ToTokens::to_token_stream).collect();
    let ty = format_ident!("{}", part.kind.ty());
    let name = format_ident!("{}", part.kind.name());
    let about = format!("The {name} that [`{ident}`](fn@{ident}) is.");
    let makes = format!("Makes the {name}.");
    let expression = &part.expression;
    quote! {
        #cfgs
        #[doc = #about]
        #[allow(non_camel_case_types, missing_debug_implementations, clippy::exhaustive_enums)]
        #visibility enum #ident {}

        #cfgs
        impl #ident {
            #[doc = #makes]
            #visibility fn #name() -> #face::#ty {
                #expression
            }
        }
    }
}
