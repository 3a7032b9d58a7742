//! Collects what is wrong with an item, so that all of it is said at once, each where it stands.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Error;

#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn at(&mut self, place: impl ToTokens, message: impl Display) {
        self.push(Error::new_spanned(place, message));
    }

    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            none => *none = Some(error),
        }
    }

    /// The value, or zero after an error was noted.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// None: all is well.
    pub(crate) fn into_tokens(self) -> Option<TokenStream> {
        self.0.map(|error| error.to_compile_error())
    }
}
