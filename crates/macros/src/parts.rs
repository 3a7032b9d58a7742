//! `#[parts]`: an `impl` block whose marked functions are put on a server together, with one shared `self`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Error, ImplItem, ImplItemFn, ItemImpl, Meta, parse2};

use crate::errors::Errors;
use crate::function::{Function, Place, lints, this};
use crate::mark::Mark;
use crate::options::{Known, Options, Takes};
use crate::part::{Part, Source};

const KEYS: Known = Known {
    of: "#[parts]",
    uri: false,
    keys: &[("crate", Takes::Path)],
};

pub(crate) fn expand(keys: TokenStream, item: TokenStream) -> TokenStream {
    let mut block: ItemImpl = match parse2(item) {
        Ok(block) => block,
        Err(error) => {
            let why = "#[parts] marks an `impl` block";
            return Error::new(error.span(), why).to_compile_error();
        }
    };
    let mut errors = Errors::default();
    let mut options = Options::default();
    let read = |input: ParseStream<'_>| options.read(input, &KEYS, &mut errors);
    let read = read.parse2(keys);
    errors.keep(read);
    if let Some((path, _)) = &block.trait_ {
        errors.at(path, "#[parts] marks the type's own `impl` block");
    }
    let generics = block.generics.clone();
    let face = options.face();
    let mut parts = Vec::new();
    let mut steps = TokenStream::new();
    for item in &mut block.items {
        let ImplItem::Fn(function) = item else {
            continue;
        };
        let Some((mark, attribute)) = take_mark(function, &mut errors) else {
            continue;
        };
        let place = Place::Impl(&generics);
        if let Some(part) = read_part(mark, &attribute, function, place, &face, &mut errors) {
            steps.extend(step(function, &part));
            function.attrs.push(lints());
            parts.push(part);
        }
    }
    check(&block, &parts, &mut errors);
    let added = errors.into_tokens().unwrap_or_else(|| {
        let (generics, _, bounds) = block.generics.split_for_impl();
        let ty = &block.self_ty;
        let server = server();
        quote! {
            #[automatically_derived]
            impl #generics #face::Parts for #ty #bounds {
                fn add_to(self: ::std::sync::Arc<Self>, #server: #face::Server) -> #face::Server {
                    #steps
                    #server
                }
            }
        }
    });
    quote!(#block #added)
}

/// Adds one part to the server, where the function is compiled at all.
fn step(function: &ImplItemFn, part: &Part) -> TokenStream {
    let cfgs = function.attrs.iter().filter(|a| a.path().is_ident("cfg"));
    let cfgs: TokenStream = cfgs.map(ToTokens::to_token_stream).collect();
    let (server, this) = (server(), this());
    let add = format_ident!("add_{}", part.kind.name());
    let expression = &part.expression;
    quote! {
        #cfgs
        let #server = {
            let #this = ::std::sync::Arc::clone(&self);
            #server.#add(#expression)
        };
    }
}

fn server() -> Ident {
    Ident::new("__server", Span::mixed_site())
}

/// Takes the attribute of ours off the function.
fn take_mark(function: &mut ImplItemFn, errors: &mut Errors) -> Option<(Mark, Attribute)> {
    let mut found = None;
    for attribute in std::mem::take(&mut function.attrs) {
        match (mark(&attribute), &found) {
            (Some(mark), None) => found = Some((mark, attribute)),
            (Some(_), Some(_)) => errors.at(
                &attribute,
                "a function is one part: write another function for this",
            ),
            (None, _) => function.attrs.push(attribute),
        }
    }
    found
}

/// `#[tool]`, or `#[polyport::tool]`.
fn mark(attribute: &Attribute) -> Option<Mark> {
    let segments = &attribute.path().segments;
    let ours = segments.len() == 1 || (segments.len() == 2 && segments[0].ident == "polyport");
    let last = segments.last().filter(|_| ours)?;
    Mark::ALL.into_iter().find(|mark| last.ident == mark.name())
}

fn read_part(
    mark: Mark,
    attribute: &Attribute,
    item: &mut ImplItemFn,
    place: Place<'_>,
    face: &TokenStream,
    errors: &mut Errors,
) -> Option<Part> {
    let mut options = Options::default();
    if !matches!(attribute.meta, Meta::Path(_)) {
        let read = attribute
            .parse_args_with(|input: ParseStream<'_>| options.read(input, mark.keys(), errors));
        errors.keep(read);
    }
    if let Some(key) = options.at("crate") {
        errors.at(key, "say this once, in #[parts(crate = …)]");
    }
    let function = Function::read(&mut item.sig, place, mark.argument_keys(), errors);
    let source = Source {
        function: &function,
        place,
        attributes: &item.attrs,
        face: face.clone(),
    };
    mark.part(&source, &options, errors)
}

fn check(block: &ItemImpl, parts: &[Part], errors: &mut Errors) {
    if parts.is_empty() {
        errors.at(
            &block.self_ty,
            "nothing here is marked: mark what clients may use with #[tool], #[prompt] or #[resource(\"…\")]",
        );
    }
    for (i, part) in parts.iter().enumerate() {
        let key = part.key.value();
        let twice = parts[..i]
            .iter()
            .any(|earlier| earlier.kind == part.kind && earlier.key.value() == key);
        if twice {
            let (kind, how) = (part.kind.name(), part.kind.key());
            errors.at(&part.key, format!("there are two {kind}s {how} {key:?}"));
        }
    }
}
