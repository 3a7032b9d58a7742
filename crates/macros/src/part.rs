//! A part of a server made from a function: what all kinds have in common.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, LitStr};

use crate::docs;
use crate::function::{Function, Place};
use crate::options::Options;

/// What it becomes.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Kind {
    Prompt,
    Resource,
    Template,
    Tool,
}

/// Where a part comes from.
pub(crate) struct Source<'a> {
    pub(crate) function: &'a Function,
    pub(crate) place: Place<'a>,
    /// The doc comments among them become the description.
    pub(crate) attributes: &'a [Attribute],
    /// Path of the face crate.
    pub(crate) face: TokenStream,
}

pub(crate) struct Part {
    pub(crate) kind: Kind,
    /// What no other part of its kind may have: a name or a URI.
    pub(crate) key: LitStr,
    pub(crate) expression: TokenStream,
}

impl Kind {
    /// The type of the face crate.
    pub(crate) const fn ty(self) -> &'static str {
        match self {
            Self::Prompt => "Prompt",
            Self::Resource => "Resource",
            Self::Template => "Template",
            Self::Tool => "Tool",
        }
    }

    /// The function that makes it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "template",
            Self::Tool => "tool",
        }
    }

    /// What no two of one kind share.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Prompt | Self::Tool => "named",
            Self::Resource | Self::Template => "of",
        }
    }
}

impl Source<'_> {
    /// Its name: the function's, unless it is said.
    pub(crate) fn key(&self, options: &Options) -> LitStr {
        options.text("name").cloned().unwrap_or_else(|| {
            let ident = &self.function.ident;
            LitStr::new(&ident.unraw().to_string(), ident.span())
        })
    }

    pub(crate) fn description(&self, options: &Options) -> Option<TokenStream> {
        options
            .value("description")
            .map(ToTokens::to_token_stream)
            .or_else(|| docs::description(self.attributes))
    }

    /// Inside an async block: calls the function, where it holds nothing up, and hands what it returns to a function of the face
    /// crate.
    pub(crate) fn returned_to(&self, path: &[&str], call: &TokenStream) -> TokenStream {
        let returned = Ident::new(
            "__returned",
            Span::mixed_site().located_at(self.output_span()),
        );
        let run = if self.function.is_async {
            quote!(#call.await)
        } else {
            let blocking = ["macros", "blocking"];
            let ran = at(
                self.name_span(),
                &self.face,
                &blocking,
                &quote!(move || #call),
            );
            quote!(#ran.await?)
        };
        let handed = self.shown_at_output(path, &quote!(#returned));
        quote! {
            let #returned = #run;
            #handed
        }
    }

    /// Calls a function of the face crate. What the compiler says of that is shown where ours says what it returns.
    pub(crate) fn shown_at_output(&self, path: &[&str], arguments: &TokenStream) -> TokenStream {
        at(self.output_span(), &self.face, path, arguments)
    }

    fn output_span(&self) -> Span {
        let output = self.function.output.as_ref().map(Spanned::span);
        output.map_or_else(|| self.name_span(), here)
    }

    /// Where the compiler shows what is wrong with the function as a whole.
    pub(crate) fn name_span(&self) -> Span {
        here(self.function.ident.span())
    }
}

/// Generated code, shown at something written.
fn here(shown: Span) -> Span {
    Span::call_site().located_at(shown)
}

fn at(span: Span, face: &TokenStream, path: &[&str], arguments: &TokenStream) -> TokenStream {
    let path = path.iter().map(|name| Ident::new(name, span));
    let face = face.clone().into_iter().map(|mut token| {
        token.set_span(span);
        token
    });
    let face: TokenStream = face.collect();
    quote_spanned!(span=> #face #(::#path)* (#arguments))
}
