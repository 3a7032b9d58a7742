//! What can be seen of a type by its spelling: the context, primitives, and what no argument may be.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use syn::{GenericArgument, GenericParam, Generics, Ident, PathArguments, PathSegment, Type};

use crate::errors::Errors;

/// The type without the invisible groups that `macro_rules!` leaves, and without parentheses.
pub(crate) fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        ty => ty,
    }
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match bare(ty) {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

/// The name of a type, if it is a plain one such as `u32` or `std::string::String`.
pub(crate) fn plain_name(ty: &Type) -> Option<String> {
    last_segment(ty)
        .filter(|segment| segment.arguments.is_none())
        .map(|segment| segment.ident.to_string())
}

/// `T` of `NAME<T>`.
pub(crate) fn inside<'t>(ty: &'t Type, name: &str) -> Option<&'t Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) => Some(inner),
        _ => None,
    }
}

/// Whether it is the context of a call, and borrowed.
pub(crate) fn is_context(ty: &Type) -> Option<bool> {
    let named = |ty: &Type| plain_name(ty).is_some_and(|name| name == "Cx");
    match bare(ty) {
        Type::Reference(reference) if reference.mutability.is_none() => {
            named(&reference.elem).then_some(true)
        }
        ty => named(ty).then_some(false),
    }
}

pub(crate) fn is_arc_of_self(ty: &Type) -> bool {
    inside(ty, "Arc")
        .and_then(plain_name)
        .is_some_and(|name| name == "Self")
}

/// Arguments outlive the call that reads them, and their types are spelled out.
pub(crate) fn check_owned(ty: &Type, errors: &mut Errors) {
    match ty {
        Type::Reference(reference) => {
            let owned = match plain_name(&reference.elem).as_deref() {
                Some("str") => "take `String`",
                Some("Cx") => "take `&Cx`",
                _ => "take the value itself",
            };
            errors.at(ty, format!("an argument cannot be borrowed: {owned}"));
        }
        Type::ImplTrait(_) => errors.at(
            ty,
            "a client knows no type parameters: name the type that is meant",
        ),
        _ => {}
    }
}

/// A primitive or container that cannot be read from a text.
pub(crate) fn is_no_text(ty: &Type) -> bool {
    is_number(ty) || plain_name(ty).is_some_and(|name| name == "bool") || is_container(ty)
}

/// A primitive or container whose value no header can carry.
pub(crate) fn is_no_header(ty: &Type) -> bool {
    plain_name(ty).is_some_and(|name| name.starts_with('f') && is_number(ty)) || is_container(ty)
}

fn is_number(ty: &Type) -> bool {
    plain_name(ty).is_some_and(|name| NUMBERS.contains(&name.as_str()))
}

fn is_container(ty: &Type) -> bool {
    let named = last_segment(ty).is_some_and(|s| CONTAINERS.iter().any(|name| s.ident == name));
    named || matches!(bare(ty), Type::Array(_) | Type::Slice(_) | Type::Tuple(_))
}

/// A type that is read before the `impl` block's own types are known cannot use them.
pub(crate) fn check_free_of(ty: &Type, generics: &Generics, errors: &mut Errors) {
    let mut names = vec![format_ident!("Self")];
    names.extend(generics.params.iter().filter_map(|param| match param {
        GenericParam::Type(param) => Some(param.ident.clone()),
        GenericParam::Const(param) => Some(param.ident.clone()),
        GenericParam::Lifetime(_) => None,
    }));
    if mentions(ty, &names) {
        errors.at(
            ty,
            "the type of an argument cannot depend on the `impl` block's own: name it outright",
        );
    }
}

/// Whether one of these words stands in a type.
pub(crate) fn mentions(ty: &Type, words: &[Ident]) -> bool {
    stands_in(ty.to_token_stream(), words)
}

fn stands_in(tokens: TokenStream, words: &[Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => words.contains(&ident),
        TokenTree::Group(group) => stands_in(group.stream(), words),
        _ => false,
    })
}

const NUMBERS: &[&str] = &[
    "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
    "usize",
];

const CONTAINERS: &[&str] = &[
    "BTreeMap", "BTreeSet", "HashMap", "HashSet", "Map", "Vec", "VecDeque",
];
