//! What is proven of an access to a global tensor.
//!
//! That a tile lies inside (no predicate), that a vector is contiguous, aligned and does not straddle
//! the tensor's edge (its width). What is not proven is guarded.

use super::value::{GlobalVal, Num, Scalar, ViewVal};
use super::{Check, Push};
use crate::artifact::ParamKind;
use crate::ast::Span;
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{
    Access, Binary, Compare, Const, Edge, GlobalView, Op, Round, Uniform, Value, ViewAxis,
};

impl<'a> Check<'a> {
    /// The view with its proofs.
    pub(crate) fn proven(&mut self, view: &ViewVal, span: Span) -> GlobalView {
        let param = view.global.param;
        let fixed = self.fixed(&view.global);
        let axes = view
            .axes
            .iter()
            .map(|(axis, extent, origin)| {
                let end = self.expr_of(origin) + i64::from(*extent);
                let limit = self.extent_expr_of(&view.global, *axis);
                let whole = self.facts.le(end, limit).is_proven();
                if view.global.window.is_none() {
                    self.check_known_bounds(param, *axis, origin, *extent, span);
                }
                ViewAxis {
                    axis: *axis,
                    extent: *extent,
                    origin: origin.value,
                    whole,
                }
            })
            .collect();
        GlobalView {
            param,
            window: Self::window_ir(&view.global),
            fixed,
            axes,
        }
    }

    pub(super) fn fixed(&mut self, g: &GlobalVal) -> Vec<(usize, Value, bool)> {
        let mut fixed = Vec::new();
        for (axis, at) in g.fixed.iter().enumerate() {
            let e = self.expr_of(at);
            let limit = self.extent_expr_of(g, axis);
            fixed.push((axis, at.value, self.facts.lt(e, limit).is_proven()));
        }
        fixed
    }

    /// A tile that begins past a build-time extent is a defect, not an edge.
    pub(super) fn check_known_bounds(
        &mut self,
        param: usize,
        axis: usize,
        origin: &Scalar,
        extent: u32,
        span: Span,
    ) {
        let Some(super::facts::Dim::Known(limit)) = self.dims.get(&(param, axis)).cloned() else {
            return;
        };
        if limit > 0 && origin.lo >= limit && extent > 0 {
            let name = self.kernel.params[param].name.clone();
            self.error(
                codes::BOUNDS,
                span,
                format!(
                    "the tile begins at {} along axis {axis} of `{name}`, which ends at {limit}",
                    origin.lo
                ),
            )
            .push(self);
        }
    }

    /// How many elements along each axis are not missing, where that may be fewer than all.
    pub(super) fn bounds(
        &mut self,
        view: &ViewVal,
        ir: &GlobalView,
        span: Span,
    ) -> Vec<Option<Value>> {
        let mut bounds: Vec<Option<Value>> = Vec::new();
        for ((axis, extent, origin), ir_axis) in view.axes.iter().zip(&ir.axes) {
            if ir_axis.whole {
                bounds.push(None);
                continue;
            }
            let limit = self.extent_of(&view.global, *axis, span);
            let Some(limit) = self.scalar_as(&limit, Num::Usize, span) else {
                bounds.push(None);
                continue;
            };
            let wide = if self.dtype(origin.value) == self.dtype(limit.value) {
                self.dtype(limit.value)
            } else {
                DType::U64
            };
            let (o, l) = (
                self.widen(origin, wide, span),
                self.widen(&limit, wide, span),
            );
            let uniform = self.uniform(o).max(self.uniform(l));
            let inside = self.emit(Op::Compare(Compare::Lt, o, l), DType::BOOL, uniform, span);
            let rest = self.emit(Op::Binary(Binary::Sub, l, o), wide, uniform, span);
            let all = self.emit(
                Op::Const(Const::Int((*extent).into())),
                wide,
                Uniform::Block,
                span,
            );
            let least = self.emit(Op::Binary(Binary::Min, rest, all), wide, uniform, span);
            let none = self.emit(Op::Const(Const::Int(0)), wide, Uniform::Block, span);
            let mut count = self.emit(Op::Select(inside, least, none), wide, uniform, span);
            if wide != DType::U32 {
                count = self.emit(Op::Cast(count, Round::Default), DType::U32, uniform, span);
            }
            bounds.push(Some(count));
        }
        // Outside along a fixed coordinate, everything is missing.
        let fixed: Vec<_> = ir.fixed.clone();
        for (axis, at, inside) in fixed {
            if inside || bounds.is_empty() {
                continue;
            }
            let limit = self.extent_of(&view.global, axis, span);
            let Some(limit) = self.scalar_as(&limit, Num::Usize, span) else {
                continue;
            };
            let at = Scalar {
                value: at,
                num: Num::Usize,
                lo: 0,
                hi: 0,
                expr: None,
            };
            let wide = if self.dtype(at.value) == self.dtype(limit.value) {
                self.dtype(limit.value)
            } else {
                DType::U64
            };
            let (a, l) = (self.widen(&at, wide, span), self.widen(&limit, wide, span));
            let uniform = self.uniform(a).max(self.uniform(l));
            let within = self.emit(Op::Compare(Compare::Lt, a, l), DType::BOOL, uniform, span);
            let none = self.emit(Op::Const(Const::Int(0)), DType::U32, Uniform::Block, span);
            let all = match bounds[0] {
                Some(v) => v,
                None => self.emit(
                    Op::Const(Const::Int(view.axes[0].1.into())),
                    DType::U32,
                    Uniform::Block,
                    span,
                ),
            };
            bounds[0] = Some(self.emit(Op::Select(within, all, none), DType::U32, uniform, span));
        }
        bounds
    }

    /// The widest proven access of at most `want` elements along the contiguous axis, and why not more.
    pub(crate) fn vector_width(&mut self, view: &ViewVal, want: u32) -> (u32, String) {
        let (dtype, rank, strided) = self.kind_of(&view.global);
        let param = view.global.param;
        let name = self.kernel.params[param].name.clone();
        let Some((_, extent, origin)) = view.axes.iter().find(|a| a.0 == rank - 1).cloned() else {
            return (
                1,
                format!("no axis of the view runs along `{name}`'s contiguous axis"),
            );
        };
        let mut reason = String::new();
        let mut width = want;
        while width > 1 {
            let access = width.min(WIDEST / dtype.bytes()).max(1);
            match self.vector_problem(
                view, &name, param, rank, strided, extent, &origin, width, access,
            ) {
                None => break,
                Some(why) => reason = format!("{width} elements: {why}"),
            }
            width /= 2;
        }
        (width, reason)
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn vector_problem(
        &mut self,
        view: &ViewVal,
        name: &str,
        param: usize,
        rank: usize,
        strided: bool,
        extent: u32,
        origin: &Scalar,
        width: u32,
        access: u32,
    ) -> Option<String> {
        if !extent.is_multiple_of(width) {
            return Some(format!(
                "the tile's extent {extent} is not a multiple of {width}"
            ));
        }
        let e = self.expr_of(origin);
        if !self.facts.divides(e, access.into()).is_proven() {
            return Some(format!(
                "the tile's origin along the contiguous axis is not proven to be a multiple of {access}"
            ));
        }
        if let Some(window) = &view.global.window {
            let first = self.expr_of(&window.first);
            if !self.facts.divides(first, access.into()).is_proven() {
                return Some(format!(
                    "the window is not proven to begin at a multiple of {access} elements of `{name}`"
                ));
            }
        }
        if strided {
            let s = self.stride_expr_of(&view.global, rank - 1);
            if !self.facts.eq(s, 1).is_proven() {
                return Some(format!(
                    "`{name}` is strided and `{name}.stride({}) == 1` is not required",
                    rank - 1
                ));
            }
        }
        // Rows that this view can stand on must begin aligned.
        let mut other: Vec<(usize, Scalar, u32)> = view
            .global
            .fixed
            .iter()
            .enumerate()
            .map(|(a, s)| (a, s.clone(), 1))
            .collect();
        other.extend(
            view.axes
                .iter()
                .filter(|a| a.0 != rank - 1)
                .map(|a| (a.0, a.2.clone(), a.1)),
        );
        for (axis, at, extent) in other {
            if extent <= 1 && at.hi == 0 {
                continue;
            }
            let (aligned, what) = if strided {
                let s = self.stride_expr_of(&view.global, axis);
                (
                    self.facts.divides(s, access.into()).is_proven(),
                    format!("{name}.stride({axis}) % {access} == 0"),
                )
            } else {
                let mut stride: tiki_layout::sym::Expr = 1_i64.into();
                for inner in axis + 1..rank {
                    stride = stride * self.extent_expr(param, inner);
                }
                (
                    self.facts.divides(stride, access.into()).is_proven(),
                    format!("{name}.dim({}) % {access} == 0", rank - 1),
                )
            };
            if !aligned && view.global.window.is_some() {
                return Some(format!(
                    "the window's stride along axis {axis} is not proven to be a multiple of {access}"
                ));
            }
            if !aligned {
                return Some(format!(
                    "its rows are not proven to begin aligned: `require!({what})` would"
                ));
            }
        }
        None
    }

    /// What a proven access of `width` elements needs of the tensor, and its edge.
    pub(crate) fn access(&mut self, view: &ViewVal, ir: &GlobalView, width: u32) -> Access {
        let param = view.global.param;
        let (dtype, rank, _) = self.kind_of(&view.global);
        let vector = width.min(WIDEST / dtype.bytes()).max(1);
        if let ParamKind::Tensor { align, .. } = &mut self.kernel.params[param].kind {
            *align = (*align).max(vector * dtype.bytes());
        }
        let edge = match ir.axes.iter().find(|a| a.axis == rank - 1) {
            Some(a) if a.whole => Edge::Inside,
            _ if vector == 1 => Edge::Whole,
            _ => {
                let limit = self.extent_expr_of(&view.global, rank - 1);
                if self.facts.divides(limit, vector.into()).is_proven() {
                    Edge::Whole
                } else {
                    Edge::Straddle
                }
            }
        };
        Access {
            vector,
            edge,
            cache: view.cache,
        }
    }
}

/// Bytes of the widest access.
const WIDEST: u32 = 16;

/// The largest power of two that divides a run.
pub(super) fn power_of_two_in(run: u32) -> u32 {
    1 << run.trailing_zeros().min(7)
}
