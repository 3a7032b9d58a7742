//! The struct that the arguments of a call are read into, made from parameters.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Expr, ExprLit, Lit};

use crate::function::{Function, Param};

/// The arguments of one function.
pub(crate) struct Fields {
    /// Items that must stand before the closure.
    pub(crate) items: TokenStream,
    /// The closure's parameter, `pattern: Type`.
    pub(crate) param: TokenStream,
    /// They are passed on as they are.
    whole: bool,
}

impl Fields {
    /// What is one value from beginning to end.
    pub(crate) fn whole(ty: impl ToTokens) -> Self {
        let args = args();
        Self {
            items: TokenStream::new(),
            param: quote!(#args: #ty),
            whole: true,
        }
    }

    /// Where the value of an argument is found.
    pub(crate) fn value(&self, param: &Param) -> TokenStream {
        let (args, ident) = (args(), &param.ident);
        if self.whole {
            quote!(#args)
        } else {
            quote!(#args.#ident)
        }
    }
}

/// The arguments as a type that serde reads and schemars describes.
pub(crate) fn fields(function: &Function, face: &TokenStream) -> Fields {
    if let Some(whole) = function.whole() {
        return Fields::whole(&whole.ty);
    }
    if function.arguments().next().is_none() {
        return Fields {
            items: TokenStream::new(),
            param: quote!((): ()),
            whole: false,
        };
    }
    // Items have no hygiene: a name that nobody else takes.
    let name = format_ident!("__PolyportArguments");
    let mut defaults = TokenStream::new();
    let fields: Vec<_> = function
        .arguments()
        .enumerate()
        .map(|(i, param)| field(i, param, &mut defaults))
        .collect();
    let serde = path_text(&quote!(#face::serde));
    let schemars = path_text(&quote!(#face::schemars));
    let items = quote! {
        #[derive(#face::serde::Deserialize, #face::schemars::JsonSchema)]
        #[serde(crate = #serde)]
        #[schemars(crate = #schemars)]
        struct #name {
            #(#fields,)*
        }
        #defaults
    };
    let args = args();
    Fields {
        items,
        param: quote!(#args: #name),
        whole: false,
    }
}

fn args() -> Ident {
    Ident::new("__args", Span::mixed_site())
}

fn field(i: usize, param: &Param, defaults: &mut TokenStream) -> TokenStream {
    let Param {
        ident,
        ty,
        options,
        attributes,
        ..
    } = param;
    let described = options.value("description");
    let kept = attributes
        .iter()
        .filter(|attribute| described.is_none() || !attribute.path().is_ident("doc"));
    let mut ours = TokenStream::new();
    if let Some(name) = options.text("name") {
        ours.extend(quote!(#[serde(rename = #name)]));
    }
    if let Some(header) = options.text("header") {
        ours.extend(quote!(#[schemars(extend("x-mcp-header" = #header))]));
    }
    if let Some(example) = options.value("example") {
        // A text in quotes would be the path of a function to schemars.
        ours.extend(quote!(#[schemars(example = &#example)]));
    }
    for key in ["title", "description"] {
        if let Some(value) = options.value(key) {
            let key = format_ident!("{key}");
            ours.extend(quote!(#[schemars(#key = #value)]));
        }
    }
    for key in ["range", "length", "inner", "extend"] {
        if let Some(list) = options.list(key) {
            let key = format_ident!("{key}");
            ours.extend(quote!(#[schemars(#key(#list))]));
        }
    }
    if let Some(pattern) = options.value("pattern") {
        ours.extend(quote!(#[schemars(regex(pattern = #pattern))]));
    }
    match (options.at("default"), options.value("default")) {
        (Some(key), Some(value)) => {
            let function = format_ident!("__polyport_default_{i}");
            let path = function.to_string();
            let value = owned(value);
            ours.extend(quote_spanned!(key.span()=> #[serde(default = #path)]));
            defaults.extend(quote! {
                fn #function() -> #ty {
                    #value
                }
            });
        }
        (Some(_), None) => ours.extend(quote!(#[serde(default)])),
        (None, _) => {}
    }
    quote!(#(#kept)* #ours #ident: #ty)
}

/// A text in quotes may be the default of a `String`.
fn owned(value: &Expr) -> TokenStream {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => quote!(::core::convert::Into::into(#text)),
        value => value.to_token_stream(),
    }
}

/// A path as serde and schemars want it: in quotes.
fn path_text(path: &TokenStream) -> String {
    path.to_string().replace(' ', "")
}
