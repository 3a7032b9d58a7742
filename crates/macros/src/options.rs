//! What stands in the parentheses of an attribute: which keys there are, and what each takes. Does not know what they mean.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Expr, Lit, LitStr, Path, Token, parenthesized};

use crate::errors::Errors;
use crate::nearest::nearest;

/// The keys of one attribute.
pub(crate) struct Known {
    /// As it is named in errors.
    pub(crate) of: &'static str,
    /// A text without a key stands before them.
    pub(crate) uri: bool,
    pub(crate) keys: &'static [(&'static str, Takes)],
}

#[derive(Clone, Copy)]
pub(crate) enum Takes {
    /// `key`
    Nothing,
    /// `key` or `key = VALUE`
    Perhaps,
    /// `key = VALUE`
    Value,
    /// `key = "TEXT"`
    Text,
    /// `key = some::path`
    Path,
    /// `key(…)`
    List,
}

enum Given {
    Bare,
    Value(Expr),
    Text(LitStr),
    Path(Path),
    List(TokenStream),
}

/// What was given.
#[derive(Default)]
pub(crate) struct Options {
    given: Vec<(Ident, Given)>,
    /// The text that stands first, without a key.
    uri: Option<LitStr>,
}

impl Options {
    /// Reads to the end, and adds to what other attributes gave. An unknown key keeps nothing from being read after it.
    pub(crate) fn read(
        &mut self,
        input: ParseStream<'_>,
        known: &Known,
        errors: &mut Errors,
    ) -> syn::Result<()> {
        if known.uri && input.peek(LitStr) {
            self.uri = Some(input.parse()?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        while !input.is_empty() {
            if input.peek(Lit) {
                return Err(input.error(format!("a key is missing; {}", known.list())));
            }
            let key = input.call(Ident::parse_any)?;
            let name = key.to_string();
            let takes = known.keys.iter().find(|(known, _)| *known == name);
            match takes {
                None => {
                    errors.at(&key, unknown(&name, known));
                    skip(input)?;
                }
                Some((_, takes)) => {
                    let given = takes.read(&name, &key, input)?;
                    if self.at(&name).is_some() {
                        errors.at(&key, format!("`{name}` is given twice"));
                    } else {
                        self.given.push((key, given));
                    }
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    }

    fn find(&self, key: &str) -> Option<&(Ident, Given)> {
        self.given.iter().find(|(given, _)| given == key)
    }

    /// Where the key stands, if it is given.
    pub(crate) fn at(&self, key: &str) -> Option<&Ident> {
        self.find(key).map(|(ident, _)| ident)
    }

    pub(crate) fn first(&self) -> Option<&Ident> {
        self.given.first().map(|(ident, _)| ident)
    }

    pub(crate) const fn uri(&self) -> Option<&LitStr> {
        self.uri.as_ref()
    }

    pub(crate) fn text(&self, key: &str) -> Option<&LitStr> {
        match self.find(key)? {
            (_, Given::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn list(&self, key: &str) -> Option<&TokenStream> {
        match self.find(key)? {
            (_, Given::List(list)) => Some(list),
            _ => None,
        }
    }

    pub(crate) fn value(&self, key: &str) -> Option<&Expr> {
        match self.find(key)? {
            (_, Given::Value(value)) => Some(value),
            _ => None,
        }
    }

    /// The face crate's path.
    pub(crate) fn face(&self) -> TokenStream {
        match self.find("crate") {
            Some((_, Given::Path(path))) => path.to_token_stream(),
            _ => quote!(::polyport),
        }
    }

    /// Calls of builder methods with the keys given, `.key(value)`; a key that stands alone is called with `alone`.
    pub(crate) fn calls(&self, keys: &[&str], alone: &TokenStream) -> TokenStream {
        keys.iter()
            .filter_map(|key| self.find(key))
            .map(|(ident, given)| {
                let method = Ident::new(&ident.to_string(), ident.span());
                match given {
                    Given::Bare => quote!(.#method(#alone)),
                    Given::Value(value) => quote!(.#method(#value)),
                    Given::Text(text) => quote!(.#method(#text)),
                    Given::Path(path) => quote!(.#method(#path)),
                    Given::List(list) => quote!(.#method(#list)),
                }
            })
            .collect()
    }
}

impl Takes {
    fn read(self, name: &str, key: &Ident, input: ParseStream<'_>) -> syn::Result<Given> {
        let wants = |how: &str| syn::Error::new(key.span(), format!("`{name}` {how}"));
        let assigned = input.peek(Token![=]);
        let listed = input.peek(syn::token::Paren);
        match self {
            Self::Nothing if assigned || listed => Err(wants("stands alone, without a value")),
            Self::Perhaps if listed => {
                Err(wants(&format!("takes a value this way: `{name} = VALUE`")))
            }
            Self::Nothing => Ok(Given::Bare),
            Self::Perhaps if !assigned => Ok(Given::Bare),
            Self::List if listed => {
                let inner;
                parenthesized!(inner in input);
                inner.parse().map(Given::List)
            }
            Self::List => Err(wants(&format!("takes a list: `{name}(…)`"))),
            Self::Value | Self::Text | Self::Path if !assigned => {
                let example = match self {
                    Self::Text => "\"…\"",
                    Self::Path => "some::path",
                    _ => "…",
                };
                Err(wants(&format!("takes a value: `{name} = {example}`")))
            }
            Self::Value | Self::Perhaps => {
                input.parse::<Token![=]>()?;
                input.parse().map(Given::Value)
            }
            Self::Text => {
                input.parse::<Token![=]>()?;
                let at = input.span();
                input.parse().map(Given::Text).map_err(|_| {
                    let why = format!("`{name}` is needed while compiling: a text in quotes");
                    syn::Error::new(at, why)
                })
            }
            Self::Path => {
                input.parse::<Token![=]>()?;
                input.call(Path::parse_mod_style).map(Given::Path)
            }
        }
    }
}

impl Known {
    fn list(&self) -> String {
        let names: Vec<_> = self
            .keys
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        format!("{} takes {}", self.of, names.join(", "))
    }
}

fn unknown(name: &str, known: &Known) -> String {
    match nearest(name, known.keys.iter().map(|(name, _)| *name)) {
        Some(meant) => format!("unknown key `{name}`; did you mean `{meant}`?"),
        None => format!("unknown key `{name}`; {}", known.list()),
    }
}

/// Reads over what belongs to an unknown key.
fn skip(input: ParseStream<'_>) -> syn::Result<()> {
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        input.parse::<Expr>()?;
    } else if input.peek(syn::token::Paren) {
        let inner;
        parenthesized!(inner in input);
        inner.parse::<TokenStream>()?;
    }
    Ok(())
}
