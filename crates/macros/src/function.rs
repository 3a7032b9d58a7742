//! The signature of a marked function: who is the context, what are arguments, and what no such function may be.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{
    Attribute, FnArg, GenericParam, Generics, Ident, Pat, PatType, Receiver, ReceiverKind,
    ReturnType, Safety, Signature, Type, parse_quote,
};

use crate::errors::Errors;
use crate::options::{Known, Options};
use crate::types;

/// Where the function stands.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    Free,
    /// In an `impl` block with these generics.
    Impl(&'a Generics),
}

pub(crate) struct Function {
    pub(crate) ident: Ident,
    pub(crate) is_async: bool,
    pub(crate) receiver: Option<This>,
    pub(crate) params: Vec<Param>,
    /// What it returns, where that can be named.
    pub(crate) output: Option<Type>,
}

/// How it takes `self`.
#[derive(Clone, Copy)]
pub(crate) enum This {
    Borrowed,
    Shared,
}

pub(crate) struct Param {
    pub(crate) role: Role,
    /// The parameter's own name, raw where it is written raw.
    pub(crate) ident: Ident,
    /// The name that clients use.
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// Doc comments, and what is for serde and schemars.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) options: Options,
}

#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Role {
    Argument,
    Context {
        borrowed: bool,
    },
    /// One struct that is all the arguments.
    Whole,
}

impl Function {
    /// Reads a signature, and takes the attributes of ours off its parameters.
    pub(crate) fn read(
        signature: &mut Signature,
        place: Place<'_>,
        known: &Known,
        errors: &mut Errors,
    ) -> Self {
        refuse(signature, errors);
        let mut receiver = None;
        let mut params = Vec::new();
        for input in &mut signature.inputs {
            match input {
                FnArg::Receiver(this) if matches!(place, Place::Free) => errors.at(
                    this,
                    "`self` needs its `impl` block: mark that with #[polyport::parts]",
                ),
                FnArg::Receiver(this) => receiver = read_receiver(this, errors),
                FnArg::Typed(typed) => params.extend(read_param(typed, known, errors)),
            }
        }
        let function = Self {
            ident: signature.ident.clone(),
            is_async: signature.asyncness.is_some(),
            receiver,
            params,
            output: match &signature.output {
                ReturnType::Type(_, ty) if !types::mentions(ty, &[format_ident!("impl")]) => {
                    Some((**ty).clone())
                }
                _ => None,
            },
        };
        function.check(place, errors);
        function
    }

    fn check(&self, place: Place<'_>, errors: &mut Errors) {
        let contexts = self
            .params
            .iter()
            .filter(|p| matches!(p.role, Role::Context { .. }));
        for second in contexts.skip(1) {
            errors.at(
                &second.ty,
                "a call has one context: leave this parameter out",
            );
        }
        let whole = self.params.iter().position(|p| p.role == Role::Whole);
        for (i, param) in self.params.iter().enumerate() {
            if matches!(param.role, Role::Context { .. }) {
                continue;
            }
            types::check_owned(&param.ty, errors);
            if let Place::Impl(generics) = place {
                types::check_free_of(&param.ty, generics, errors);
            }
            if whole.is_some_and(|whole| whole != i) {
                errors.at(
                    &param.ty,
                    "#[args] is all the arguments: make this a field of that struct",
                );
            }
            let earlier = self.params[..i].iter();
            if param.role == Role::Argument
                && earlier
                    .filter(|p| p.role == Role::Argument)
                    .any(|p| p.name == param.name)
            {
                let why = format!("there are two arguments named {:?}", param.name);
                match param.options.text("name") {
                    Some(name) => errors.at(name, why),
                    None => errors.at(&param.ident, why),
                }
            }
        }
    }

    /// The parameters that are arguments of their own.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|p| p.role == Role::Argument)
    }

    /// The struct that is all the arguments.
    pub(crate) fn whole(&self) -> Option<&Param> {
        self.params.iter().find(|p| p.role == Role::Whole)
    }

    /// Calls of the builder that complete its arguments.
    pub(crate) fn completers(&self) -> TokenStream {
        self.arguments()
            .filter_map(|param| {
                let (key, complete) = (
                    param.options.at("complete")?,
                    param.options.value("complete")?,
                );
                let method = Ident::new("completer", Span::call_site().located_at(key.span()));
                let name = &param.name;
                Some(quote!(.#method(#name, #complete)))
            })
            .collect()
    }

    /// A call of it: `target` is its path, `value` says where an argument is found.
    pub(crate) fn call(
        &self,
        place: Place<'_>,
        value: impl Fn(&Param) -> TokenStream,
    ) -> TokenStream {
        let ident = &self.ident;
        let target = match place {
            Place::Free => quote!(#ident),
            Place::Impl(_) => quote!(Self::#ident),
        };
        let (this, cx) = (this(), cx());
        let receiver = self.receiver.map(|receiver| match receiver {
            This::Borrowed => quote!(&#this),
            This::Shared => quote!(::std::sync::Arc::clone(&#this)),
        });
        let params = self.params.iter().map(|param| match param.role {
            Role::Context { borrowed: true } => quote!(&#cx),
            Role::Context { borrowed: false } => quote!(#cx),
            Role::Argument | Role::Whole => value(param),
        });
        let all = receiver.into_iter().chain(params);
        quote!(#target(#(#all),*))
    }

    /// Inside a closure that is called again and again: a share of `self` for this one call.
    pub(crate) fn share(&self) -> Option<TokenStream> {
        self.receiver.map(|_| {
            let this = this();
            quote!(let #this = ::std::sync::Arc::clone(&#this);)
        })
    }
}

/// A marked function must own what a client sends, takes as much as that may send, and is async where it should not get a thread.
pub(crate) fn lints() -> Attribute {
    parse_quote!(#[allow(
        clippy::needless_pass_by_value,
        clippy::too_many_arguments,
        clippy::unused_async
    )])
}

/// The variable that holds the shared `self`.
pub(crate) fn this() -> Ident {
    Ident::new("__this", Span::mixed_site())
}

/// The variable that holds the context.
pub(crate) fn cx() -> Ident {
    Ident::new("__cx", Span::mixed_site())
}

fn refuse(signature: &Signature, errors: &mut Errors) {
    if let Safety::Unsafe(keyword) = &signature.safety {
        errors.at(keyword, "anyone may call this: it cannot be unsafe");
    }
    if let Some(abi) = &signature.abi {
        errors.at(abi, "take a Rust function");
    }
    if let Some(dots) = &signature.variadic {
        errors.at(dots, "take a fixed number of arguments");
    }
    for generic in &signature.generics.params {
        if !matches!(generic, GenericParam::Lifetime(_)) {
            errors.at(
                generic,
                "a client knows no type parameters: name the type that is meant",
            );
        }
    }
}

fn read_receiver(this: &Receiver, errors: &mut Errors) -> Option<This> {
    match &this.kind {
        ReceiverKind::Reference(_, _, None) => return Some(This::Borrowed),
        ReceiverKind::Typed(_, ty) if types::is_arc_of_self(ty) => return Some(This::Shared),
        ReceiverKind::Typed(_, ty) => {
            errors.at(ty, "all calls share it: take `&self` or `self: Arc<Self>`");
        }
        ReceiverKind::Reference(_, _, Some(_)) => errors.at(
            this,
            "calls run at the same time: take `&self`, and keep what changes in a `Mutex` or an atomic",
        ),
        _ => errors.at(
            this,
            "all calls share it: take `&self` or `self: Arc<Self>`",
        ),
    }
    None
}

fn read_param(typed: &mut PatType, known: &Known, errors: &mut Errors) -> Option<Param> {
    let mut options = Options::default();
    let mut role = match types::is_context(&typed.ty) {
        Some(borrowed) => Role::Context { borrowed },
        None => Role::Argument,
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for attribute in std::mem::take(&mut typed.attrs) {
        let path = attribute.path();
        if path.is_ident("arg") {
            let read = attribute
                .parse_args_with(|input: ParseStream<'_>| options.read(input, known, errors));
            errors.keep(read);
        } else if path.is_ident("args") {
            errors.keep(attribute.meta.require_path_only());
            role = Role::Whole;
        } else if ["doc", "serde", "schemars"]
            .iter()
            .any(|ours| path.is_ident(ours))
        {
            ours.push(attribute);
        } else if path.is_ident("cfg") || path.is_ident("cfg_attr") {
            errors.at(
                &attribute,
                "put this on the function: its arguments are the same in every build",
            );
        } else {
            theirs.push(attribute);
        }
    }
    typed.attrs = theirs;
    let ident = match &*typed.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => pat.ident.clone(),
        // Its name is nobody's business.
        _ if role != Role::Argument => format_ident!("__unnamed"),
        pat => {
            errors.at(pat, "an argument needs a name: `name: Type`");
            return None;
        }
    };
    match (role, options.first()) {
        (Role::Context { .. }, Some(key)) => errors.at(key, "the context is no argument"),
        (Role::Whole, Some(key)) => errors.at(key, "say this of the struct's fields"),
        _ => {}
    }
    let name = options
        .text("name")
        .map_or_else(|| ident.unraw().to_string(), syn::LitStr::value);
    Some(Param {
        role,
        ident,
        name,
        ty: types::bare(&typed.ty).clone(),
        attributes: ours,
        options,
    })
}
