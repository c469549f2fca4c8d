//! Device functions: as values, and inlined where they are called.
//!
//! A function's name is a value like a closure: `f` and `f::<N>` are bound, handed on and called. What is written
//! between its angle brackets means what it means where it is written; what is left open is found in the types of
//! the arguments.

use super::Check;
use super::call::count;
use super::scope::Scope;
use super::value::{Num, PlaceRef, Scalar, Val};
use crate::ast::{DeviceFn, ExprKind, Generic, GenericArg, Span, Type, TypeKind};
use crate::diag::codes;

impl<'a> Check<'a> {
    /// `f::<..>` as a value: what is written between the angle brackets means what it means here.
    pub(super) fn device_value(&mut self, f: &'a DeviceFn, written: &'a [GenericArg]) -> Val<'a> {
        let generics = f.generics.iter().zip(written).map(|(generic, arg)| {
            let left_open = matches!(arg, GenericArg::Type(t) if t.kind == TypeKind::Infer);
            if left_open {
                return None;
            }
            let val = match (generic, arg) {
                (Generic::Const { ty, .. }, _) => self.generic_const(arg, ty),
                (Generic::Type { .. }, GenericArg::Type(t)) => self.dtype_of(t).map(Val::Type),
                (Generic::Type { .. }, GenericArg::Const(_)) => None,
            };
            Some(val.unwrap_or(Val::Poison))
        });
        let generics = generics.collect();
        Val::DeviceFn(f, generics)
    }

    pub(super) fn call_device(
        &mut self,
        f: &'a DeviceFn,
        generics: &[Option<Val<'a>>],
        args: Vec<Val<'a>>,
        spans: &[Span],
        span: Span,
    ) -> Val<'a> {
        if self.calls.contains(&f.name.text.as_str()) {
            let diag = self
                .error(
                    codes::RECURSION,
                    span,
                    format!("`{}` calls itself", f.name.text),
                )
                .note(
                    "device functions are inlined; a run-time loop can do what the recursion does",
                );
            return self.refuse(diag);
        }
        if f.params.len() != args.len() {
            let diag = self.error(
                codes::ARGUMENTS,
                span,
                format!(
                    "`{}` takes {}, not {}",
                    f.name.text,
                    count(f.params.len()),
                    args.len()
                ),
            );
            return self.refuse(diag);
        }
        let scope = Scope::child(&self.root_scope());
        let before = self.sink.len();
        let places_assigned: Vec<PlaceRef> = args
            .iter()
            .filter_map(|a| match a {
                Val::RefMut(place) => Some(place.clone()),
                _ => None,
            })
            .collect();
        // Written generics first; a type parameter left open is that of the argument that mentions it.
        let mut bound: Vec<(&'a str, Val<'a>)> = Vec::new();
        for (i, generic) in f.generics.iter().enumerate() {
            let name = generic.name().text.as_str();
            let written = generics.get(i).cloned().flatten();
            let mut pairs = f.params.iter().zip(&args);
            if let Some(val) =
                written.or_else(|| pairs.find_map(|(p, a)| self.infer_generic(name, &p.ty, a)))
            {
                bound.push((name, val));
            }
        }
        self.calls.push(&f.name.text);
        let val = self.in_scope(scope, |c| {
            for (name, val) in bound {
                c.declare(name, val, false, f.name.span);
            }
            for ((param, arg), at) in f.params.iter().zip(args).zip(spans) {
                let arg = c.typed(arg, Some(&param.ty), *at);
                c.bind(&param.pattern, arg);
            }
            let output = f.output.as_ref();
            c.leavable((f.name.span, span), output, &places_assigned, &[], |c| {
                c.block_value(&f.body)
            })
        });
        self.calls.pop();
        // An error inside a shared function lies on the call and names the function's place.
        let places = &self.program.places;
        let outside = places.at(f.name.span).file != places.at(span).file;
        self.sink.relocate(before, |diag| {
            let at = places.at(diag.span);
            if outside || at.line == 0 {
                let file = places
                    .files
                    .get(at.file as usize)
                    .map_or("", String::as_str);
                diag.notes.push(format!(
                    "in `{}`, {file}:{}:{}",
                    f.name.text, at.line, at.column
                ));
                diag.span = span;
            } else {
                diag.also
                    .push((span, format!("called from here, in `{}`", f.name.text)));
            }
        });
        val
    }

    /// The value of a generic parameter that an argument's type mentions.
    fn infer_generic(&self, name: &str, ty: &Type, arg: &Val<'a>) -> Option<Val<'a>> {
        match (&ty.kind, arg) {
            (TypeKind::Ref { inner, .. }, _) => self.infer_generic(name, inner, arg),
            (TypeKind::Tuple(types), Val::Tuple(vals)) => {
                let mut pairs = types.iter().zip(vals);
                pairs.find_map(|(t, v)| self.infer_generic(name, t, v))
            }
            (TypeKind::Array(of, len), Val::Array(vals)) => match &len.kind {
                ExprKind::Path(p) if p.segments.len() == 1 && p.segments[0].name.text == name => {
                    Some(Val::Int(vals.len() as i128, Num::Usize))
                }
                _ => self.infer_generic(name, of, vals.first()?),
            },
            (TypeKind::Path(path), _) => {
                let last = path.segments.last()?;
                let (dtype, rank) = match arg {
                    Val::Register(r) => (r.dtype, None),
                    Val::Shared(s) | Val::Peer(s) => (s.dtype, None),
                    Val::Stages(s) => (s.first.dtype, None),
                    Val::Global(g) => {
                        let (dtype, rank, _) = self.kind_of(g);
                        (dtype, Some(rank - g.fixed.len()))
                    }
                    Val::View(v) => (self.kind_of(&v.global).0, Some(v.axes.len())),
                    Val::Scalar(Scalar { num, .. }) | Val::Float(_, num) | Val::Int(_, num) => {
                        match num {
                            Num::D(t) => (*t, None),
                            _ => return None,
                        }
                    }
                    _ => return None,
                };
                let mut between = last.generics.iter().map(|g| match g {
                    GenericArg::Type(t) => is_name(t, name),
                    GenericArg::Const(_) => false,
                });
                if is_name(ty, name) {
                    return Some(Val::Type(dtype));
                }
                // `Global<E, R>`: the element type, then the rank.
                match (between.position(|named| named)?, rank) {
                    (0, _) => Some(Val::Type(dtype)),
                    (1, Some(rank)) => Some(Val::Int(rank as i128, Num::Usize)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Whether a type is a parameter's name alone.
fn is_name(ty: &Type, name: &str) -> bool {
    matches!(&ty.kind, TypeKind::Path(p) if p.segments.len() == 1 && p.segments[0].name.text == name)
}
