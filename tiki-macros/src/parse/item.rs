//! Kernels and device items: signatures, parameters and constants.

use super::{Attribute, Reader};
use syn::spanned::Spanned;
use tiki_kernel::ast::{
    DeviceFn, Generic, Item, Kernel, Name, Param, Pattern, PatternKind, Type, TypeKind,
};
use tiki_kernel::diag::Diag;
use tiki_kernel::diag::codes::SIGNATURE;

impl Reader {
    pub(crate) fn kernel(&mut self, attribute: &Attribute, item: &syn::ItemFn) -> Kernel {
        let name = self.name(&item.sig.ident);
        self.plain_signature(&item.sig, "kernel");
        if let syn::ReturnType::Type(arrow, ty) = &item.sig.output
            && !matches!(&**ty, syn::Type::Tuple(t) if t.elems.is_empty())
        {
            let at = self.at(arrow.spans[0]);
            self.sink.push(
                Diag::error(SIGNATURE, at, "a kernel returns nothing")
                    .help("write results through a `&mut Global<..>` argument"),
            );
        }
        Kernel {
            options: self.options(attribute),
            generics: self.generics(&item.sig.generics),
            params: self.params(&item.sig),
            body: self.block(&item.block),
            name,
        }
    }

    fn plain_signature(&mut self, sig: &syn::Signature, what: &str) {
        let tokens = [
            sig.constness.as_ref().map(|t| ("const", t.span())),
            sig.asyncness.as_ref().map(|t| ("async", t.span())),
            sig.abi.as_ref().map(|t| ("extern", t.span())),
            match &sig.safety {
                syn::Safety::Unsafe(t) => Some(("unsafe", t.span())),
                _ => None,
            },
            sig.variadic.as_ref().map(|t| ("...", t.span())),
        ];
        for (word, span) in tokens.into_iter().flatten() {
            // A `const fn` helper is an ordinary function of the device too.
            if word == "const" && what == "device function" {
                continue;
            }
            let at = self.at(span);
            let message = format!("a {what} cannot be `{word}`");
            self.sink.push(Diag::error(SIGNATURE, at, message));
        }
        if let Some(clause) = &sig.generics.where_clause {
            let at = self.at(clause.where_token.span());
            self.sink.push(
                Diag::error(SIGNATURE, at, format!("a {what} has no `where` clause"))
                    .help("write the bound at the parameter: `<E: Element>`"),
            );
        }
    }

    pub(crate) fn generics(&mut self, generics: &syn::Generics) -> Vec<Generic> {
        let mut out = Vec::new();
        for param in &generics.params {
            match param {
                syn::GenericParam::Type(t) => {
                    let name = self.name(&t.ident);
                    let mut bounds = Vec::new();
                    for bound in &t.bounds {
                        if let syn::TypeParamBound::Trait(b) = bound
                            && let Some(last) = b.path.segments.last()
                        {
                            bounds.push(self.name(&last.ident));
                        }
                    }
                    out.push(Generic::Type { name, bounds });
                }
                syn::GenericParam::Const(c) => {
                    let name = self.name(&c.ident);
                    let ty = self.ty(&c.ty);
                    out.push(Generic::Const { name, ty });
                }
                syn::GenericParam::Lifetime(l) => {
                    let at = self.at(l.lifetime.span());
                    self.sink.push(
                        Diag::error(
                            SIGNATURE,
                            at,
                            "kernels and device functions have no lifetimes",
                        )
                        .help("leave it out: references are inferred"),
                    );
                }
            }
        }
        out
    }

    pub(crate) fn params(&mut self, sig: &syn::Signature) -> Vec<Param> {
        let mut out = Vec::new();
        for input in &sig.inputs {
            match input {
                syn::FnArg::Typed(t) => out.push(Param {
                    pattern: self.pattern(&t.pat),
                    ty: self.ty(&t.ty),
                }),
                syn::FnArg::Receiver(r) => {
                    let at = self.at(r.self_token.span());
                    self.sink
                        .push(Diag::error(SIGNATURE, at, "no `self` in device code"));
                    out.push(Param {
                        pattern: Pattern {
                            kind: PatternKind::Wild,
                            span: at,
                        },
                        ty: Type {
                            kind: TypeKind::Infer,
                            span: at,
                        },
                    });
                }
            }
        }
        out
    }
}

/// A device item, under the name it has in this program.
pub(crate) fn device_item(reader: &mut Reader, item: &syn::Item, name: &str) -> Option<Item> {
    let named = |reader: &mut Reader, ident: &syn::Ident| Name {
        text: name.to_owned(),
        span: reader.at(ident.span()),
    };
    match item {
        syn::Item::Fn(f) => {
            let name = named(reader, &f.sig.ident);
            reader.plain_signature(&f.sig, "device function");
            let output = match &f.sig.output {
                syn::ReturnType::Default => None,
                syn::ReturnType::Type(_, ty) => Some(reader.ty(ty)),
            };
            Some(Item::Fn(DeviceFn {
                generics: reader.generics(&f.sig.generics),
                params: reader.params(&f.sig),
                output,
                body: reader.block(&f.block),
                name,
            }))
        }
        syn::Item::Const(c) => Some(Item::Const {
            name: named(reader, &c.ident),
            ty: reader.ty(&c.ty),
            value: reader.expr(&c.expr),
        }),
        syn::Item::Struct(s) => {
            let name = named(reader, &s.ident);
            let mut fields = Vec::new();
            for (i, field) in s.fields.iter().enumerate() {
                let field_name = match &field.ident {
                    Some(ident) => reader.name(ident),
                    None => Name {
                        text: i.to_string(),
                        span: reader.at(field.ty.span()),
                    },
                };
                fields.push((field_name, reader.ty(&field.ty)));
            }
            Some(Item::Struct { name, fields })
        }
        other => {
            reader.refuse(other.span(), "such items");
            None
        }
    }
}
