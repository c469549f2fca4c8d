//! Global tensors: extents, tiles, loads and stores.
//!
//! Every access rests on proofs: that a tile lies inside (no predicate), that a vector is contiguous,
//! aligned and does not straddle the tensor's edge (its width). What is not proven is guarded.

use super::call::Call;
use super::value::{FillVal, GlobalVal, Home, Num, Reg, Scalar, Val, ViewVal};
use super::{Check, Push};
use crate::artifact::ParamKind;
use crate::ast::{BinOp, Span};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{
    Access, Binary, Cache, Compare, Const, Edge, GlobalView, Op, Round, StmtKind, TensorType, Type,
    Uniform, Value, ViewAxis,
};

/// Bytes of the widest access.
const WIDEST: u32 = 16;

impl<'a> Check<'a> {
    pub(crate) fn tensor_kind(&self, param: usize) -> (DType, usize, bool) {
        match self.kernel.params[param].kind {
            ParamKind::Tensor {
                dtype,
                rank,
                strided,
                ..
            } => (dtype, rank as usize, strided),
            ParamKind::Scalar(t) => (t, 0, false),
        }
    }

    fn global(call: &Call<'a>) -> Option<GlobalVal> {
        match &call.recv {
            Val::Global(g) => Some(g.clone()),
            _ => None,
        }
    }

    pub(crate) fn dim(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(g) = Self::global(call) else {
            return Val::Poison;
        };
        match self.axis(&g, call) {
            Some(axis) => self.extent(g.param, axis, call.span),
            None => Val::Poison,
        }
    }

    fn axis(&mut self, g: &GlobalVal, call: &Call<'a>) -> Option<usize> {
        let (_, rank, _) = self.tensor_kind(g.param);
        let left = rank - g.fixed.len();
        let i = self.const_int(&call.arg(0), "an axis", call.at(0))?;
        if i < 0 || i >= left as i128 {
            let name = self.kernel.params[g.param].name.clone();
            self.error(
                codes::AXIS,
                call.at(0),
                format!(
                    "`{name}` has {left} {}, numbered from 0; there is no axis {i}",
                    if left == 1 { "axis" } else { "axes" }
                ),
            )
            .push(self);
            return None;
        }
        Some(i as usize + g.fixed.len())
    }

    pub(crate) fn stride(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(g) = Self::global(call) else {
            return Val::Poison;
        };
        let Some(axis) = self.axis(&g, call) else {
            return Val::Poison;
        };
        let (_, rank, strided) = self.tensor_kind(g.param);
        if strided {
            let value = self.emit(
                Op::Stride(g.param, axis),
                DType::U64,
                Uniform::Block,
                call.span,
            );
            let mut s = self.scalar_of(value, Num::Usize);
            s.expr = Some(self.stride_symbol(g.param, axis));
            return Val::Scalar(s);
        }
        let mut product = Val::Int(1, Num::Usize);
        for inner in axis + 1..rank {
            let extent = self.extent(g.param, inner, call.span);
            product = self.binary(BinOp::Mul, product, extent, call.span);
        }
        product
    }

    fn stride_symbol(&mut self, param: usize, axis: usize) -> tiki_layout::sym::Expr {
        if let Some(e) = self.strides.get(&(param, axis)) {
            return e.clone();
        }
        let name = format!("{}.stride({axis})", self.kernel.params[param].name);
        let e: tiki_layout::sym::Expr = self.facts.extent(&name).into();
        self.strides.insert((param, axis), e.clone());
        e
    }

    pub(crate) fn shape(&mut self, call: &Call<'a>) -> Val<'a> {
        Self::global(call).map_or(Val::Poison, |g| Val::Shape(g.param))
    }

    /// Coordinates given as an array.
    fn coordinates(&mut self, val: &Val<'a>, span: Span) -> Option<Vec<Scalar>> {
        let Val::Array(parts) = val else {
            if !val.is_poison() {
                self.error(
                    codes::TYPE,
                    span,
                    format!("coordinates are an array, `[i, j]`, not {}", val.kind()),
                )
                .push(self);
            }
            return None;
        };
        parts
            .clone()
            .iter()
            .map(|p| self.scalar_as(p, Num::Usize, span))
            .collect()
    }

    fn extents(&mut self, val: &Val<'a>, span: Span) -> Option<Vec<u32>> {
        let Val::Array(parts) = val else {
            if !val.is_poison() {
                self.error(
                    codes::TYPE,
                    span,
                    format!(
                        "a shape is an array of build-time numbers, not {}",
                        val.kind()
                    ),
                )
                .push(self);
            }
            return None;
        };
        parts
            .clone()
            .iter()
            .map(|p| {
                self.const_in(p, "a tile's extent", 0, 1 << 20, span)
                    .map(|i| i as u32)
            })
            .collect()
    }

    pub(crate) fn global_at(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut g) = Self::global(call) else {
            return Val::Poison;
        };
        let Some(at) = self.coordinates(&call.arg(0), call.at(0)) else {
            return Val::Poison;
        };
        let (_, rank, _) = self.tensor_kind(g.param);
        if g.fixed.len() + at.len() >= rank {
            let left = rank - g.fixed.len();
            let diag = self
                .error(
                    codes::RANK,
                    call.at(0),
                    format!(
                        "{} coordinates fix all of the tensor's {left} axes",
                        at.len()
                    ),
                )
                .help("one element is `.get([i, j])`");
            return self.refuse(diag);
        }
        g.fixed.extend(at);
        if call.row.name == "at_mut" && self.writable(&g, call.span).is_none() {
            return Val::Poison;
        }
        Val::Global(g)
    }

    /// An error unless the tensor is taken by `&mut`.
    pub(crate) fn writable(&mut self, g: &GlobalVal, span: Span) -> Option<()> {
        if g.mutable {
            return Some(());
        }
        let param = &self.kernel.params[g.param];
        let (name, at) = (param.name.clone(), param.span);
        self.error(
            codes::WRITE_SHARED_REF,
            span,
            format!("`{name}` is written but taken by `&`"),
        )
        .also(at, format!("`{name}` is declared here"))
        .help(format!(
            "take it by `&mut Global<..>`: `{name}: &mut Global<..>`"
        ))
        .push(self);
        None
    }

    pub(crate) fn tile(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(g) = Self::global(call) else {
            return Val::Poison;
        };
        if call.row.name == "tile_mut" && self.writable(&g, call.span).is_none() {
            return Val::Poison;
        }
        let (Some(shape), Some(at)) = (
            self.extents(&call.arg(0), call.at(0)),
            self.coordinates(&call.arg(1), call.at(1)),
        ) else {
            return Val::Poison;
        };
        let (_, rank, _) = self.tensor_kind(g.param);
        let left = rank - g.fixed.len();
        if shape.len() != left || at.len() != left {
            let name = self.kernel.params[g.param].name.clone();
            let diag = self.error(
                codes::RANK,
                call.span,
                format!(
                    "`{name}` has {left} {}; the tile has a shape of {} and coordinates of {}",
                    if left == 1 { "axis" } else { "axes" },
                    shape.len(),
                    at.len()
                ),
            );
            return self.refuse(diag);
        }
        let mut axes = Vec::new();
        for (i, (extent, at)) in shape.iter().zip(&at).enumerate() {
            let extent_scalar = self.index_const(*extent, call.span);
            let origin = if at.lo == 0 && at.hi == 0 {
                self.index_const(0, call.span)
            } else if *extent == 1 {
                at.clone()
            } else {
                self.arith(Binary::Mul, at, &extent_scalar, call.span)
            };
            axes.push((i + g.fixed.len(), *extent, origin));
        }
        Val::View(ViewVal {
            global: g,
            axes,
            fill: None,
            cache: Cache::Default,
        })
    }

    fn view(call: &Call<'a>) -> Option<ViewVal> {
        match &call.recv {
            Val::View(v) => Some(v.clone()),
            _ => None,
        }
    }

    pub(crate) fn view_t(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut view) = Self::view(call) else {
            return Val::Poison;
        };
        if view.axes.len() != 2 {
            let diag = self.error(
                codes::RANK,
                call.span,
                format!("`t` swaps two axes; this view has {}", view.axes.len()),
            );
            return self.refuse(diag);
        }
        view.axes.swap(0, 1);
        Val::View(view)
    }

    pub(crate) fn view_tile(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut view) = Self::view(call) else {
            return Val::Poison;
        };
        let (Some(shape), Some(at)) = (
            self.extents(&call.arg(0), call.at(0)),
            self.coordinates(&call.arg(1), call.at(1)),
        ) else {
            return Val::Poison;
        };
        if shape.len() != view.axes.len() || at.len() != shape.len() {
            let diag = self.error(
                codes::RANK,
                call.span,
                format!(
                    "the view has {} axes; the tile has a shape of {} and coordinates of {}",
                    view.axes.len(),
                    shape.len(),
                    at.len()
                ),
            );
            return self.refuse(diag);
        }
        for ((axis, extent), at) in view.axes.iter_mut().zip(&shape).zip(&at) {
            if (at.hi + 1) * i128::from(*extent) > i128::from(axis.1) {
                let diag = self.error(
                    codes::BOUNDS,
                    call.at(1),
                    format!(
                        "tile {} of extent {extent} may reach past the view's extent {}",
                        if at.lo == at.hi {
                            at.lo.to_string()
                        } else {
                            format!("up to {}", at.hi)
                        },
                        axis.1
                    ),
                );
                return self.refuse(diag);
            }
            let step = self.index_const(*extent, call.span);
            let offset = self.arith(Binary::Mul, at, &step, call.span);
            axis.2 = self.arith(Binary::Add, &axis.2, &offset, call.span);
            axis.1 = *extent;
        }
        Val::View(view)
    }

    pub(crate) fn view_fill(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut view) = Self::view(call) else {
            return Val::Poison;
        };
        let (dtype, ..) = self.tensor_kind(view.global.param);
        let val = self.typed_number(call.arg(0), Num::D(dtype), call.at(0));
        view.fill = Some(match val {
            Val::Int(i, _) => FillVal::Int(i),
            Val::Float(f, _) => FillVal::Float(f),
            Val::Bool(b) => FillVal::Bool(b),
            Val::Scalar(s) => FillVal::Scalar(s),
            _ => return Val::Poison,
        });
        Val::View(view)
    }

    /// The view with its proofs.
    pub(crate) fn proven(&mut self, view: &ViewVal, span: Span) -> GlobalView {
        let param = view.global.param;
        let fixed = self.fixed(&view.global);
        let axes = view
            .axes
            .iter()
            .map(|(axis, extent, origin)| {
                let end = self.expr_of(origin) + i64::from(*extent);
                let limit = self.extent_expr(param, *axis);
                let whole = self.facts.le(end, limit).is_proven();
                self.check_known_bounds(param, *axis, origin, *extent, span);
                ViewAxis {
                    axis: *axis,
                    extent: *extent,
                    origin: origin.value,
                    whole,
                }
            })
            .collect();
        GlobalView { param, fixed, axes }
    }

    fn fixed(&mut self, g: &GlobalVal) -> Vec<(usize, Value, bool)> {
        let mut fixed = Vec::new();
        for (axis, at) in g.fixed.iter().enumerate() {
            let e = self.expr_of(at);
            let limit = self.extent_expr(g.param, axis);
            fixed.push((axis, at.value, self.facts.lt(e, limit).is_proven()));
        }
        fixed
    }

    /// A tile that begins past a build-time extent is a defect, not an edge.
    fn check_known_bounds(
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
    fn bounds(&mut self, view: &ViewVal, ir: &GlobalView, span: Span) -> Vec<Option<Value>> {
        let param = view.global.param;
        let mut bounds: Vec<Option<Value>> = Vec::new();
        for ((axis, extent, origin), ir_axis) in view.axes.iter().zip(&ir.axes) {
            if ir_axis.whole {
                bounds.push(None);
                continue;
            }
            let limit = self.extent(param, *axis, span);
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
            let limit = self.extent(param, axis, span);
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
        let (dtype, rank, strided) = self.tensor_kind(view.global.param);
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
    fn vector_problem(
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
        if strided {
            let s = self.stride_symbol(param, rank - 1);
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
                let s = self.stride_symbol(param, axis);
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
        let (dtype, rank, _) = self.tensor_kind(param);
        let vector = width.min(WIDEST / dtype.bytes()).max(1);
        if let ParamKind::Tensor { align, .. } = &mut self.kernel.params[param].kind {
            *align = (*align).max(vector * dtype.bytes());
        }
        let edge = match ir.axes.iter().find(|a| a.axis == rank - 1) {
            Some(a) if a.whole => Edge::Inside,
            _ if vector == 1 => Edge::Whole,
            _ => {
                let limit = self.extent_expr(param, rank - 1);
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

    pub(crate) fn load(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Some(view), Val::ThreadMap(map)) = (Self::view(call), call.arg(0)) else {
            let arg = call.arg(0);
            let diag = self
                .error(
                    codes::TYPE,
                    call.at(0),
                    format!("`load` takes a thread map, not {}", arg.kind()),
                )
                .help("write `.load(ThreadMap::linear(256))`, or `.load_like(&other)`");
            return self.refuse(diag);
        };
        let shape: Vec<u32> = view.axes.iter().map(|a| a.1).collect();
        let contiguous_last = {
            let (_, rank, _) = self.tensor_kind(view.global.param);
            view.axes.last().is_some_and(|a| a.0 == rank - 1)
        };
        let (want, exact) = map.vector.unwrap_or((1, false));
        let (width, why) = if !contiguous_last && want > 1 {
            (
                1,
                "the view's last axis is not the tensor's contiguous one".to_string(),
            )
        } else {
            self.vector_width(&view, want)
        };
        if exact && width < want {
            let diag = self
                .error(
                    codes::VECTOR,
                    call.span,
                    format!("vectors of {want} elements are not proven"),
                )
                .note(why)
                .help("use `.vector_up_to(..)` to take what is proven");
            return self.refuse(diag);
        }
        let Some(dist) = self.distribute(&map, &shape, width, call.at(0)) else {
            return Val::Poison;
        };
        let width = match map.kind {
            super::value::MapKind::Explicit { .. } => {
                let (_, rank, _) = self.tensor_kind(view.global.param);
                let run = view
                    .axes
                    .iter()
                    .position(|a| a.0 == rank - 1)
                    .map_or(1, |a| power_of_two_in(dist.run(a)));
                self.vector_width(&view, run).0
            }
            _ => width,
        };
        if exact && width < want {
            let diag = self
                .error(
                    codes::VECTOR,
                    call.span,
                    format!("vectors of {want} elements are not proven"),
                )
                .note(format!(
                    "the map's values stand in runs of {width} along the contiguous axis"
                ));
            return self.refuse(diag);
        }
        self.emit_load(&view, shape, dist, width, call.span)
    }

    pub(crate) fn load_like(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Some(view), Val::Register(like)) = (Self::view(call), call.arg(0)) else {
            let diag = self.error(
                codes::TYPE,
                call.at(0),
                format!(
                    "`load_like` takes a register tensor, not {}",
                    call.arg(0).kind()
                ),
            );
            return self.refuse(diag);
        };
        let shape: Vec<u32> = view.axes.iter().map(|a| a.1).collect();
        if shape != like.shape {
            let diag = self.error(
                codes::SHAPE,
                call.span,
                format!(
                    "the view has shape {shape:?} and the tensor {:?}",
                    like.shape
                ),
            );
            return self.refuse(diag);
        }
        let run = self.run_of(&view, &like);
        let (width, _) = self.vector_width(&view, run);
        self.emit_load(&view, shape, like.dist, width, call.span)
    }

    /// The run of a tensor along the view's contiguous axis, as a power of two.
    fn run_of(&self, view: &ViewVal, r: &Reg) -> u32 {
        let (_, rank, _) = self.tensor_kind(view.global.param);
        view.axes
            .iter()
            .position(|a| a.0 == rank - 1)
            .map_or(1, |a| power_of_two_in(r.dist.run(a)))
    }

    fn emit_load(
        &mut self,
        view: &ViewVal,
        shape: Vec<u32>,
        dist: crate::ir::Dist,
        width: u32,
        span: Span,
    ) -> Val<'a> {
        let (dtype, ..) = self.tensor_kind(view.global.param);
        let ir = self.proven(view, span);
        let fill = match &view.fill {
            None if dtype.is_float() => self.constant(Const::Float(0.0), Num::D(dtype), span),
            None if dtype == DType::BOOL => self.constant(Const::Bool(false), Num::D(dtype), span),
            None => self.constant(Const::Int(0), Num::D(dtype), span),
            Some(FillVal::Int(i)) => self.constant(Const::Int(*i), Num::D(dtype), span),
            Some(FillVal::Float(f)) => self.constant(Const::Float(*f), Num::D(dtype), span),
            Some(FillVal::Bool(b)) => self.constant(Const::Bool(*b), Num::D(dtype), span),
            Some(FillVal::Scalar(s)) => s.clone(),
        };
        let bounds = self.bounds(view, &ir, span);
        let access = self.access(view, &ir, width);
        let ty = TensorType {
            dtype,
            shape: shape.clone(),
            dist: dist.clone(),
        };
        let value = self.emit_typed(
            Op::Load {
                view: ir,
                fill: fill.value,
                access,
            },
            Type::Tensor(ty),
            Uniform::Thread,
            span,
        );
        Val::Register(Reg {
            value,
            dtype,
            shape,
            dist,
            bounds,
            home: Home::None,
        })
    }

    pub(crate) fn store(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Some(view), Val::Register(r)) = (Self::view(call), call.arg(0)) else {
            let diag = self.error(
                codes::TYPE,
                call.at(0),
                format!(
                    "`store` takes a register tensor, not {}",
                    call.arg(0).kind()
                ),
            );
            return self.refuse(diag);
        };
        if self.writable(&view.global, call.span).is_none() {
            return Val::Poison;
        }
        let (dtype, ..) = self.tensor_kind(view.global.param);
        let shape: Vec<u32> = view.axes.iter().map(|a| a.1).collect();
        if shape != r.shape {
            let diag = self.error(
                codes::SHAPE,
                call.span,
                format!("the view has shape {shape:?} and the tensor {:?}", r.shape),
            );
            return self.refuse(diag);
        }
        if dtype != r.dtype {
            let name = self.kernel.params[view.global.param].name.clone();
            let diag = self
                .error(
                    codes::ELEMENT,
                    call.at(0),
                    format!("`{name}` holds `{dtype}`, the tensor `{}`", r.dtype),
                )
                .help(format!("convert it: `.cast::<{dtype}>()`"));
            return self.refuse(diag);
        }
        let run = self.run_of(&view, &r);
        let (width, _) = self.vector_width(&view, run);
        let ir = self.proven(&view, call.span);
        let access = self.access(&view, &ir, width);
        self.push(
            StmtKind::Store {
                view: ir,
                value: r.value,
                access,
            },
            call.span,
        );
        Val::Unit
    }

    /// One element of a tensor.
    pub(crate) fn global_element(
        &mut self,
        g: &GlobalVal,
        at: &Val<'a>,
        span: Span,
    ) -> Option<(GlobalView, DType)> {
        let at = self.coordinates(at, span)?;
        let (dtype, rank, _) = self.tensor_kind(g.param);
        let left = rank - g.fixed.len();
        if at.len() != left {
            let name = self.kernel.params[g.param].name.clone();
            self.error(
                codes::RANK,
                span,
                format!(
                    "`{name}` has {left} {}; {} coordinates are given",
                    if left == 1 { "axis" } else { "axes" },
                    at.len()
                ),
            )
            .push(self);
            return None;
        }
        let axes = at
            .iter()
            .enumerate()
            .map(|(i, s)| (i + g.fixed.len(), 1, s.clone()))
            .collect();
        let view = ViewVal {
            global: g.clone(),
            axes,
            fill: None,
            cache: Cache::Default,
        };
        Some((self.proven(&view, span), dtype))
    }
}

/// The largest power of two that divides a run.
fn power_of_two_in(run: u32) -> u32 {
    1 << run.trailing_zeros().min(7)
}
