//! `assume(path == value)`: a plain constant of elsewhere, used by its value.
//!
//! The macro cannot see the constant, so the author says what it is; the compiler works with that, and an
//! assertion in the user's crate holds rustc to it.

use super::Source;
use crate::parse::{Reader, path_key, text_of};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::{BinOp, Expr, Path};
use tiki_kernel::ast::{Item, Name, Type, TypeKind};

fn pairs(source: &Source) -> impl Iterator<Item = (&syn::ExprBinary, &Path)> {
    let args = source.attribute.get("assume").map_or(&[][..], |o| &o.args);
    args.iter().filter_map(|arg| match arg {
        Expr::Binary(b) if matches!(b.op, BinOp::Eq(_)) => match &*b.left {
            Expr::Path(p) => Some((b, &p.path)),
            _ => None,
        },
        _ => None,
    })
}

/// Each assumed constant as an item of the program; its path stands for it from here on.
pub(super) fn items(reader: &mut Reader, source: &Source) -> Vec<Item> {
    let mut out = Vec::new();
    for (binary, path) in pairs(source) {
        let key = path_key(path);
        let text = format!("assumed_{}", key.replace("::", "_"));
        let span = reader.path_span(path);
        out.push(Item::Const {
            name: Name {
                text: text.clone(),
                span,
            },
            ty: Type {
                kind: TypeKind::Infer,
                span,
            },
            value: reader.expr(&binary.right),
        });
        reader.renames.insert(key, text);
    }
    out
}

/// Paths that need no tokens because their value is assumed.
pub(crate) fn keys(source: &Source) -> Vec<String> {
    pairs(source).map(|(_, path)| path_key(path)).collect()
}

/// What holds rustc to the assumptions.
pub(super) fn asserts(source: &Source) -> TokenStream {
    let mut out = TokenStream::new();
    for (binary, path) in pairs(source) {
        let fact = text_of(binary.to_token_stream());
        let text = format!("kernel `{}` was compiled on `{fact}`", source.name());
        let span = path
            .segments
            .last()
            .map_or_else(proc_macro2::Span::call_site, |s| s.ident.span());
        out.extend(quote_spanned!(span=> const _: () = ::core::assert!(#binary, #text);));
    }
    out
}
