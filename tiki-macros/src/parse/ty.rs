//! Types, paths and what stands between angle brackets.

use super::{Reader, text_of};
use quote::ToTokens;
use syn::spanned::Spanned;
use tiki_kernel::ast::{self, GenericArg, Segment, TypeKind};

impl Reader {
    pub(crate) fn ty(&mut self, ty: &syn::Type) -> ast::Type {
        let (kind, span) = match ty {
            syn::Type::Path(p) if p.qself.is_none() => {
                let path = self.path(&p.path);
                let span = self.path_span(&p.path);
                (TypeKind::Path(path), span)
            }
            syn::Type::Reference(r) => {
                let span = self.at(r.and_token.span());
                let inner = Box::new(self.ty(&r.elem));
                let mutable = r.mutability.is_some();
                (TypeKind::Ref { mutable, inner }, span)
            }
            syn::Type::Tuple(t) => {
                let span = self.whole(t);
                let parts = t.elems.iter().map(|t| self.ty(t)).collect();
                (TypeKind::Tuple(parts), span)
            }
            syn::Type::Array(a) => {
                let span = self.whole(a);
                let (of, len) = (self.ty(&a.elem), self.expr(&a.len));
                (TypeKind::Array(Box::new(of), Box::new(len)), span)
            }
            syn::Type::Infer(i) => (TypeKind::Infer, self.at(i.underscore_token.span())),
            syn::Type::Paren(p) => return self.ty(&p.elem),
            syn::Type::Group(g) => return self.ty(&g.elem),
            other => (
                TypeKind::Other(text_of(other.to_token_stream())),
                self.whole(other),
            ),
        };
        ast::Type { kind, span }
    }

    /// A path; one that names a device item becomes that item's name.
    pub(crate) fn path(&mut self, path: &syn::Path) -> ast::Path {
        let mut segments: Vec<Segment> = path
            .segments
            .iter()
            .map(|s| Segment {
                name: self.name(&s.ident),
                generics: self.generic_args_of(&s.arguments),
            })
            .collect();
        if let Some(name) = self.renames.get(&path_key(path)) {
            let mut last = segments.pop().expect("a path has a segment");
            last.name.text.clone_from(name);
            segments = vec![last];
        }
        ast::Path { segments }
    }

    /// From the first segment to the last: what a message underlines.
    pub(crate) fn path_span(&mut self, path: &syn::Path) -> ast::Span {
        let first = path.segments.first().map(|s| s.ident.span());
        let last = path.segments.last().map(|s| s.ident.span());
        match (first, last) {
            (Some(first), Some(last)) => self.range(first, last),
            _ => self.whole(path),
        }
    }

    fn generic_args_of(&mut self, args: &syn::PathArguments) -> Vec<GenericArg> {
        match args {
            syn::PathArguments::None => Vec::new(),
            syn::PathArguments::AngleBracketed(a) => self.generic_args(a),
            syn::PathArguments::Parenthesized(p) => {
                self.refuse(p.paren_token.span.open(), "function traits");
                Vec::new()
            }
        }
    }

    pub(crate) fn generic_args(
        &mut self,
        args: &syn::AngleBracketedGenericArguments,
    ) -> Vec<GenericArg> {
        let mut out = Vec::new();
        for arg in &args.args {
            match arg {
                syn::GenericArgument::Type(t) => out.push(GenericArg::Type(self.ty(t))),
                syn::GenericArgument::Const(e) => {
                    out.push(GenericArg::Const(Box::new(self.expr(e))));
                }
                syn::GenericArgument::Lifetime(_) => {}
                other => {
                    self.refuse(other.span(), "associated types or bounds");
                }
            }
        }
        out
    }
}

/// A path as written, without its generic arguments: `lib::cfg::HEAD`.
pub(crate) fn path_key(path: &syn::Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
    let lead = if path.leading_colon.is_some() {
        "::"
    } else {
        ""
    };
    format!("{lead}{}", names.join("::"))
}
