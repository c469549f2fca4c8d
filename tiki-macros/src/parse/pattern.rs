//! Patterns and literals.

use super::Reader;
use syn::spanned::Spanned;
use tiki_kernel::ast::{Lit, Name, Path, Pattern, PatternKind, Segment};

impl Reader {
    pub(crate) fn pattern(&mut self, pat: &syn::Pat) -> Pattern {
        let (kind, span) = match pat {
            syn::Pat::Wild(w) => (PatternKind::Wild, self.at(w.underscore_token.span())),
            syn::Pat::Ident(p) => {
                let name = self.name(&p.ident);
                let span = name.span;
                if p.by_ref.is_some() {
                    self.refuse(p.ident.span(), "`ref` bindings");
                }
                // As rustc does by looking names up: a bare capitalised name is a constant.
                let constant = name.text.starts_with(|c: char| c.is_uppercase());
                if constant && p.mutability.is_none() && p.subpat.is_none() {
                    (PatternKind::Path(self.renamed(name)), span)
                } else {
                    let mutable = p.mutability.is_some();
                    let sub = p.subpat.as_ref().map(|(_, s)| Box::new(self.pattern(s)));
                    (PatternKind::Bind { name, mutable, sub }, span)
                }
            }
            syn::Pat::Tuple(t) => {
                let span = self.whole(t);
                (PatternKind::Tuple(self.patterns(t.elems.iter())), span)
            }
            syn::Pat::Slice(s) => {
                let span = self.whole(s);
                (PatternKind::Array(self.patterns(s.elems.iter())), span)
            }
            syn::Pat::Lit(l) => {
                let span = self.at(l.lit.span());
                match self.lit(&l.lit) {
                    Some(lit) => (PatternKind::Lit(lit), span),
                    None => (PatternKind::Wild, span),
                }
            }
            syn::Pat::Range(r) => {
                let span = self.whole(r);
                let mut end = |e: &Option<Box<syn::Expr>>| {
                    let expr = e.as_deref()?;
                    let lit = match expr {
                        syn::Expr::Lit(l) => self.lit(&l.lit),
                        syn::Expr::Unary(u) => match (&u.op, &*u.expr) {
                            (syn::UnOp::Neg(_), syn::Expr::Lit(l)) => {
                                self.lit(&l.lit).map(|l| match l {
                                    Lit::Int(i, s) => Lit::Int(-i, s),
                                    Lit::Float(f, s) => Lit::Float(format!("-{f}"), s),
                                    other => other,
                                })
                            }
                            _ => None,
                        },
                        _ => None,
                    };
                    if lit.is_none() {
                        self.refuse(expr.span(), "range patterns whose ends are no literals");
                    }
                    lit
                };
                let (lo, hi) = (end(&r.start), end(&r.end));
                let inclusive = matches!(r.limits, syn::RangeLimits::Closed(_));
                (PatternKind::Range { lo, hi, inclusive }, span)
            }
            syn::Pat::Or(o) => {
                let span = self.whole(o);
                (PatternKind::Or(self.patterns(o.cases.iter())), span)
            }
            syn::Pat::Path(p) => {
                let span = self.path_span(&p.path);
                (PatternKind::Path(self.path(&p.path)), span)
            }
            syn::Pat::TupleStruct(t) => {
                let span = self.path_span(&t.path);
                let path = self.path(&t.path);
                let parts = self.patterns(t.elems.iter());
                (PatternKind::TupleStruct(path, parts), span)
            }
            syn::Pat::Reference(r) => {
                let span = self.at(r.and_token.span());
                (PatternKind::Ref(Box::new(self.pattern(&r.pat))), span)
            }
            // Closure parameters: rustc checks the written type in the shadow.
            syn::Pat::Type(t) => return self.pattern(&t.pat),
            syn::Pat::Paren(p) => return self.pattern(&p.pat),
            other => {
                let what = match other {
                    syn::Pat::Rest(_) => "`..` in patterns",
                    syn::Pat::Struct(_) => "struct patterns",
                    syn::Pat::Macro(_) => "macros in patterns",
                    syn::Pat::Const(_) => "`const` blocks in patterns",
                    _ => "such patterns",
                };
                (PatternKind::Wild, self.refuse(other.span(), what))
            }
        };
        Pattern { kind, span }
    }

    fn patterns<'a>(&mut self, pats: impl Iterator<Item = &'a syn::Pat>) -> Vec<Pattern> {
        pats.map(|p| self.pattern(p)).collect()
    }

    fn renamed(&self, mut name: Name) -> Path {
        if let Some(to) = self.renames.get(&name.text) {
            name.text.clone_from(to);
        }
        Path {
            segments: vec![Segment {
                name,
                generics: Vec::new(),
            }],
        }
    }

    /// A literal of the language; others are refused.
    fn lit(&mut self, lit: &syn::Lit) -> Option<Lit> {
        literal(lit)
            .map_err(|what| self.refuse(lit.span(), what))
            .ok()
    }
}

/// A literal, or what it is that the language lacks.
pub(super) fn literal(lit: &syn::Lit) -> Result<Lit, &'static str> {
    match lit {
        syn::Lit::Int(i) => match i.base10_digits().parse::<i128>() {
            Ok(value) => Ok(Lit::Int(value, i.suffix().to_owned())),
            Err(_) => Err("integers this large"),
        },
        syn::Lit::Float(f) => {
            let text = f.base10_digits().to_owned();
            Ok(Lit::Float(text, f.suffix().to_owned()))
        }
        syn::Lit::Bool(b) => Ok(Lit::Bool(b.value)),
        syn::Lit::Str(s) => Ok(Lit::Str(s.value())),
        syn::Lit::Char(_) => Err("characters; write its number"),
        syn::Lit::Byte(_) => Err("byte literals"),
        syn::Lit::ByteStr(_) | syn::Lit::CStr(_) => Err("byte strings"),
        _ => Err("such literals"),
    }
}
