//! Loads and stores of shared tensors, whole and by element.

use super::call::Call;
use super::value::{Home, Num, Reg, SharedVal, Val};
use super::{Check, Push};
use crate::ast::Span;
use crate::diag::codes;
use crate::ir::{Op, SharedView, StmtKind, TensorType, Type, Uniform};

impl<'a> Check<'a> {
    pub(crate) fn shared_load(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Some(s), Val::ThreadMap(map)) = (Self::shared(call), call.arg(0)) else {
            let diag = self.error(
                codes::TYPE,
                call.at(0),
                format!("`load` takes a thread map, not {}", call.arg(0).kind()),
            );
            return self.refuse(diag);
        };
        let shape = Self::shared_shape(&s);
        let (want, exact) = map.vector.unwrap_or((1, false));
        let run = s
            .axes
            .last()
            .and_then(|digits| digits.first())
            .filter(|d| d.stride == 1)
            .map_or(1, |d| 1 << d.extent.trailing_zeros().min(7));
        let width = want.min(run);
        if exact && width < want {
            let diag = self
                .error(
                    codes::VECTOR,
                    call.span,
                    format!("vectors of {want} elements are not proven"),
                )
                .note(format!(
                    "{run} elements lie next to each other along the tensor's last axis"
                ));
            return self.refuse(diag);
        }
        let Some(dist) = self.distribute(&map, &shape, width, call.at(0)) else {
            return Val::Poison;
        };
        self.emit_shared_load(&s, shape, dist, call.span)
    }

    pub(crate) fn shared_load_like(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Some(s), Val::Register(like)) = (Self::shared(call), call.arg(0)) else {
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
        let shape = Self::shared_shape(&s);
        if shape != like.shape {
            let diag = self.error(
                codes::SHAPE,
                call.span,
                format!(
                    "the shared tensor has shape {shape:?} and the other {:?}",
                    like.shape
                ),
            );
            return self.refuse(diag);
        }
        self.emit_shared_load(&s, shape, like.dist, call.span)
    }

    pub(super) fn emit_shared_load(
        &mut self,
        s: &SharedVal,
        shape: Vec<u32>,
        dist: crate::ir::Dist,
        span: Span,
    ) -> Val<'a> {
        let ty = TensorType {
            dtype: s.dtype,
            shape: shape.clone(),
            dist: dist.clone(),
        };
        let op = Op::LoadShared {
            view: Self::shared_ir(s),
            vector: 1,
        };
        let value = self.emit_typed(op, Type::Tensor(ty), Uniform::Thread, span);
        Val::Register(Reg {
            value,
            dtype: s.dtype,
            bounds: vec![None; shape.len()],
            shape,
            dist,
            home: Home::None,
        })
    }

    pub(crate) fn shared_store(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Some(s), Val::Register(r)) = (Self::shared(call), call.arg(0)) else {
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
        let shape = Self::shared_shape(&s);
        if shape != r.shape {
            let diag = self.error(
                codes::SHAPE,
                call.span,
                format!(
                    "the shared tensor has shape {shape:?} and the other {:?}",
                    r.shape
                ),
            );
            return self.refuse(diag);
        }
        if s.dtype != r.dtype {
            let diag = self
                .error(
                    codes::ELEMENT,
                    call.at(0),
                    format!(
                        "the shared tensor holds `{}`, the other `{}`",
                        s.dtype, r.dtype
                    ),
                )
                .help(format!("convert it: `.cast::<{}>()`", s.dtype));
            return self.refuse(diag);
        }
        self.push(
            StmtKind::StoreShared {
                view: Self::shared_ir(&s),
                value: r.value,
                vector: 1,
            },
            call.span,
        );
        Val::Unit
    }

    /// One element of a shared tensor.
    pub(crate) fn shared_element(
        &mut self,
        s: &SharedVal,
        at: &Val<'a>,
        span: Span,
    ) -> Option<SharedView> {
        let Val::Array(parts) = at else {
            self.error(
                codes::TYPE,
                span,
                format!("coordinates are an array, `[i, j]`, not {}", at.kind()),
            )
            .push(self);
            return None;
        };
        if parts.len() != s.axes.len() {
            self.error(
                codes::RANK,
                span,
                format!(
                    "the tensor has {} axes; {} coordinates are given",
                    s.axes.len(),
                    parts.len()
                ),
            )
            .push(self);
            return None;
        }
        let mut s = s.clone();
        for (axis, part) in parts.clone().iter().enumerate() {
            let index = self.scalar_as(part, Num::Usize, span)?;
            let digits = s.axes[axis].clone();
            let whole: u32 = digits.iter().map(|d| d.extent).product();
            if index.lo >= i128::from(whole) {
                self.error(
                    codes::BOUNDS,
                    span,
                    format!(
                        "index {} lies outside the tensor's extent {whole} along axis {axis}",
                        index.lo
                    ),
                )
                .push(self);
                return None;
            }
            self.advance(&mut s, &digits, &index, span);
        }
        s.axes = Vec::new();
        Some(Self::shared_ir(&s))
    }
}
