//! Loads and stores of global tensors, as wide and as unguarded as [`super::bounds`] proves.

use super::bounds::power_of_two_in;
use super::call::Call;
use super::value::{FillVal, GlobalVal, Home, Num, Reg, Val, ViewVal};
use super::{Check, Push};
use crate::ast::Span;
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Cache, Const, GlobalView, Op, StmtKind, TensorType, Type, Uniform};

impl<'a> Check<'a> {
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
            let (_, rank, _) = self.kind_of(&view.global);
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
                let (_, rank, _) = self.kind_of(&view.global);
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
    pub(super) fn run_of(&self, view: &ViewVal, r: &Reg) -> u32 {
        let (_, rank, _) = self.kind_of(&view.global);
        view.axes
            .iter()
            .position(|a| a.0 == rank - 1)
            .map_or(1, |a| power_of_two_in(r.dist.run(a)))
    }

    pub(super) fn emit_load(
        &mut self,
        view: &ViewVal,
        shape: Vec<u32>,
        dist: crate::ir::Dist,
        width: u32,
        span: Span,
    ) -> Val<'a> {
        let (dtype, ..) = self.kind_of(&view.global);
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
        let (dtype, ..) = self.kind_of(&view.global);
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
        let (dtype, rank, _) = self.kind_of(g);
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
