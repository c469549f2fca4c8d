//! Windows: tensors of run-time extents and strides in the memory of an argument.
//!
//! A view is a piece of an argument or of a window of one. Which, matters wherever extents and strides are asked for: those
//! of an argument are the launch's, and facts speak of them; those of a window are values of the body, and what is known
//! of them is what their expressions say. Nobody knows whether a window lies within its argument.

use super::Check;
use super::call::Call;
use super::value::{GlobalVal, Num, Scalar, Val, WindowVal};
use crate::ast::{BinOp, Span};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Binary, Const, Op, Round, Uniform, Value, Window};
use std::rc::Rc;
use tiki_layout::sym;

impl<'a> Check<'a> {
    /// Element type, axes, and whether strides are run-time values, of what a view is a piece of.
    pub(crate) fn kind_of(&self, g: &GlobalVal) -> (DType, usize, bool) {
        let (dtype, rank, strided) = self.tensor_kind(g.param);
        match &g.window {
            Some(window) => (dtype, window.extents.len(), true),
            None => (dtype, rank, strided),
        }
    }

    /// The extent along an axis.
    pub(crate) fn extent_of(&mut self, g: &GlobalVal, axis: usize, span: Span) -> Val<'a> {
        match &g.window {
            Some(window) => Val::Scalar(window.extents[axis].clone()),
            None => self.extent(g.param, axis, span),
        }
    }

    /// The extent as an expression.
    pub(crate) fn extent_expr_of(&mut self, g: &GlobalVal, axis: usize) -> sym::Expr {
        match &g.window {
            Some(window) => self.expr_of(&window.extents[axis]),
            None => self.extent_expr(g.param, axis),
        }
    }

    /// The stride of a strided tensor as an expression.
    pub(super) fn stride_expr_of(&mut self, g: &GlobalVal, axis: usize) -> sym::Expr {
        match &g.window {
            Some(window) => self.expr_of(&window.strides[axis]),
            None => self.stride_symbol(g.param, axis),
        }
    }

    /// Elements from one index to the next along an axis.
    pub(super) fn stride_of(&mut self, g: &GlobalVal, axis: usize, span: Span) -> Val<'a> {
        if let Some(window) = &g.window {
            return Val::Scalar(window.strides[axis].clone());
        }
        let (_, rank, strided) = self.tensor_kind(g.param);
        if strided {
            let value = self.emit(Op::Stride(g.param, axis), DType::U64, Uniform::Block, span);
            let mut s = self.scalar_of(value, Num::Usize);
            s.expr = Some(self.stride_symbol(g.param, axis));
            return Val::Scalar(s);
        }
        let mut product = Val::Int(1, Num::Usize);
        for inner in axis + 1..rank {
            let extent = self.extent(g.param, inner, span);
            product = self.binary(BinOp::Mul, product, extent, span);
        }
        product
    }

    /// `window` and `window_mut`.
    pub(crate) fn window(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(g) = Self::global(call) else {
            return Val::Poison;
        };
        if call.row.name == "window_mut" && self.writable(&g, call.span).is_none() {
            return Val::Poison;
        }
        let first = self.scalar_as(&call.arg(0), Num::Usize, call.at(0));
        let extents = self.coordinates(&call.arg(1), call.at(1));
        let strides = self.coordinates(&call.arg(2), call.at(2));
        let (Some(first), Some(extents), Some(strides)) = (first, extents, strides) else {
            return Val::Poison;
        };
        if extents.is_empty() || extents.len() != strides.len() {
            let text = format!(
                "a window has as many strides as extents, at least one: here are {} extents and {} strides",
                extents.len(),
                strides.len()
            );
            let diag = self.error(codes::RANK, call.span, text);
            return self.refuse(diag);
        }
        let mut begins = self.held(&first, DType::U64, call.at(0));
        // Behind what is fixed, and behind where a window of which this one is begins.
        for (axis, at) in g.fixed.clone().iter().enumerate() {
            let stride = self.stride_of(&g, axis, call.span);
            let Some(stride) = self.scalar_as(&stride, Num::Usize, call.span) else {
                return Val::Poison;
            };
            let at = self.held(at, DType::U64, call.span);
            let stride = self.held(&stride, DType::U64, call.span);
            let more = self.in_words(Binary::Mul, &at, &stride, call.span);
            begins = self.in_words(Binary::Add, &begins, &more, call.span);
        }
        if let Some(outer) = &g.window {
            begins = self.in_words(Binary::Add, &begins, &outer.first, call.span);
        }
        let window = WindowVal {
            first: begins,
            extents: (extents.iter())
                .map(|s| self.held(s, DType::U32, call.at(1)))
                .collect(),
            strides: (strides.iter())
                .map(|s| self.held(s, DType::U64, call.at(2)))
                .collect(),
        };
        Val::Global(GlobalVal {
            window: Some(Rc::new(window)),
            fixed: Vec::new(),
            ..g
        })
    }

    /// A number in a value of this width, with its expression.
    fn held(&mut self, s: &Scalar, dtype: DType, span: Span) -> Scalar {
        let expr = Some(self.expr_of(s));
        let value = match i64::try_from(s.lo) {
            Ok(i) if s.lo == s.hi => {
                let op = Op::Const(Const::Int(i.into()));
                self.emit(op, dtype, Uniform::Block, span)
            }
            _ if self.dtype(s.value) == dtype => s.value,
            _ => {
                let uniform = self.uniform(s.value);
                self.emit(Op::Cast(s.value, Round::Default), dtype, uniform, span)
            }
        };
        let most = (1_i128 << (8 * dtype.bytes())) - 1;
        Scalar {
            value,
            num: Num::Usize,
            lo: s.lo.clamp(0, most),
            hi: s.hi.clamp(0, most),
            expr,
        }
    }

    /// A sum or product modulo 2^64.
    fn in_words(&mut self, op: Binary, a: &Scalar, b: &Scalar, span: Span) -> Scalar {
        let uniform = self.uniform(a.value).max(self.uniform(b.value));
        let value = self.emit(Op::Binary(op, a.value, b.value), DType::U64, uniform, span);
        let (x, y) = (self.expr_of(a), self.expr_of(b));
        let expr = Some(if op == Binary::Mul { x * y } else { x + y });
        Scalar {
            value,
            num: Num::Usize,
            lo: 0,
            hi: u64::MAX.into(),
            expr,
        }
    }

    /// What the program has of a window.
    pub(super) fn window_ir(g: &GlobalVal) -> Option<Window> {
        let all = |of: &[Scalar]| -> Vec<Value> { of.iter().map(|s| s.value).collect() };
        g.window.as_ref().map(|w| Window {
            first: w.first.value,
            extents: all(&w.extents),
            strides: all(&w.strides),
        })
    }
}
