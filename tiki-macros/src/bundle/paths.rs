//! The paths of a whole item that may lead to device items: of a kernel with its attribute, and of a device item.

use super::names::{Names, Wanted};
use syn::visit::Visit;
use syn::{Expr, ItemFn};

impl<'a> Names {
    /// Of `(E = f16, N = WIDTH)` the right sides: the left ones are the kernel's parameters.
    fn values(&mut self, expr: &Expr) {
        match expr {
            Expr::Assign(a) => self.visit_expr(&a.right),
            Expr::Paren(p) => self.values(&p.expr),
            Expr::Tuple(t) => t.elems.iter().for_each(|e| self.values(e)),
            other => self.visit_expr(other),
        }
    }

    fn function(&mut self, item: &'a ItemFn) {
        self.bind(&item.sig.generics);
        for input in &item.sig.inputs {
            if let syn::FnArg::Typed(t) = input {
                self.visit_pat(&t.pat);
                self.visit_type(&t.ty);
            }
        }
        if let syn::ReturnType::Type(_, ty) = &item.sig.output {
            self.visit_type(ty);
        }
        self.visit_block(&item.block);
    }

    /// Of a kernel's arguments only a rank can be a device item: other types than tensors and numbers it has none.
    fn kernel(&mut self, item: &'a ItemFn) {
        self.bind(&item.sig.generics);
        for input in &item.sig.inputs {
            if let syn::FnArg::Typed(t) = input {
                self.visit_pat(&t.pat);
                self.ranks(&t.ty);
            }
        }
        self.visit_block(&item.block);
    }

    /// Behind the element type of tensors.
    fn ranks(&mut self, ty: &'a syn::Type) {
        match ty {
            syn::Type::Reference(r) => self.ranks(&r.elem),
            syn::Type::Paren(p) => self.ranks(&p.elem),
            syn::Type::Group(g) => self.ranks(&g.elem),
            syn::Type::Path(p) => {
                let last = p.path.segments.last();
                let Some((last, syn::PathArguments::AngleBracketed(args))) =
                    last.map(|s| (s, &s.arguments))
                else {
                    return;
                };
                for (i, arg) in args.args.iter().enumerate() {
                    match arg {
                        syn::GenericArgument::Type(inner) if last.ident == "Option" => {
                            self.ranks(inner);
                        }
                        arg if i > 0 && last.ident == "Global" => {
                            self.visit_generic_argument(arg);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// Paths of a kernel, its attribute's values included.
pub(crate) fn paths_of_kernel(source: &crate::expand::Source) -> Vec<Wanted> {
    let mut names = Names::default();
    names.hidden.extend(crate::expand::assumed(source));
    names.kernel(&source.item);
    for option in &source.attribute.options {
        let of_the_door = ["grid", "crate", "assume", "deny", "target"];
        if of_the_door.iter().any(|n| option.name == n) {
            continue;
        }
        for value in option.value.iter().chain(&option.args) {
            names.values(value);
        }
    }
    names.wanted()
}

/// Paths of a device item.
pub(crate) fn paths_of_item(item: &syn::Item) -> Vec<Wanted> {
    let mut names = Names::default();
    match item {
        syn::Item::Fn(f) => names.function(f),
        syn::Item::Const(c) => {
            names.visit_type(&c.ty);
            names.visit_expr(&c.expr);
        }
        syn::Item::Struct(s) => {
            names.bind(&s.generics);
            s.fields.iter().for_each(|f| names.visit_type(&f.ty));
        }
        _ => {}
    }
    names.wanted()
}
