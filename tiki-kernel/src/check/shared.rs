//! Shared tensors: allocation, stages, transposition and tiles.

use super::Check;
use super::call::Call;
use super::value::{LayoutVal, Num, Scalar, SharedVal, StagesVal, Val};
use crate::ast::Span;
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Binary, Digit, Op, Round, Shared, SharedView, Value};

impl<'a> Check<'a> {
    pub(super) fn allocate(
        &mut self,
        dtype: DType,
        layout: &LayoutVal,
        count: u32,
        span: Span,
    ) -> (SharedVal, i64) {
        let (shared, pitch) = self.laid_out(dtype, layout, count, span);
        let alloc = self.kernel.shared.len();
        self.kernel.shared.push(shared);
        let val = SharedVal {
            alloc,
            dtype,
            axes: layout.axes.clone(),
            swizzle: layout.swizzle,
            offset: 0,
            dynamic: Vec::new(),
            block: None,
        };
        (val, pitch)
    }

    /// An allocation that nobody has yet, and the elements from one stage to the next.
    pub(super) fn laid_out(
        &self,
        dtype: DType,
        layout: &LayoutVal,
        count: u32,
        span: Span,
    ) -> (Shared, i64) {
        let mut elements = layout.cosize().max(0);
        let mut align = dtype.bytes().max(16);
        if let Some(x) = layout.swizzle {
            // Offsets move within groups of 2^(base + bits); the pattern repeats after a period that a
            // base must be aligned to, so that the hardware's own swizzles agree.
            let group = 1_i64 << (x.base + x.bits);
            elements = (elements + group - 1) / group * group;
            align =
                align.max((dtype.bytes() << (x.base + x.bits + x.shift.unsigned_abs())).min(1024));
        }
        let unit = i64::from(align / dtype.bytes()).max(1);
        let pitch = if count > 1 {
            (elements + unit - 1) / unit * unit
        } else {
            elements
        };
        let total = if count == 0 {
            0
        } else {
            pitch * i64::from(count - 1) + elements
        };
        let bytes = u32::try_from(total * i64::from(dtype.bytes())).unwrap_or(u32::MAX);
        let shape: Vec<String> = layout.shape().iter().map(u32::to_string).collect();
        let stages = if count == 1 {
            String::new()
        } else {
            format!("{count} stages x ")
        };
        let detail = format!("{stages}{} x {} bytes", shape.join(" x "), dtype.bytes());
        let alloc = self.kernel.shared.len();
        let shared = Shared {
            name: unnamed(alloc),
            dtype,
            bytes,
            align,
            stages: count,
            detail,
            over: None,
            span,
        };
        (shared, pitch)
    }

    pub(crate) fn shared_new(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(dtype) = self.element_generic(call) else {
            return Val::Poison;
        };
        let stages = call.row.name == "stages";
        let count = if stages {
            match self.const_in(&call.arg(0), "the number of stages", 1, 64, call.at(0)) {
                Some(n) => n as u32,
                None => return Val::Poison,
            }
        } else {
            1
        };
        let at = usize::from(stages);
        let Val::Layout(layout) = call.arg(at) else {
            let diag = self
                .error(
                    codes::TYPE,
                    call.at(at),
                    format!("a shared tensor has a layout, not {}", call.arg(at).kind()),
                )
                .help("write `Layout::row_major([32, 32])` or `layout!((32, 32):(32, 1))`");
            return self.refuse(diag);
        };
        if self.control > 0 {
            let diag = self
                .error(codes::UNSUPPORTED, call.span, "shared memory is allocated once for the whole kernel, not under run-time control")
                .help("move it before the branch or loop");
            return self.refuse(diag);
        }
        if !dtype.row().arithmetic && dtype.bytes() > 2 {
            let diag = self.error(
                codes::TYPE,
                call.span,
                format!("a shared tensor of `{dtype}`"),
            );
            return self.refuse(diag);
        }
        let (first, pitch) = self.allocate(dtype, &layout, count, call.span);
        if stages {
            Val::Stages(StagesVal {
                first,
                count,
                pitch,
            })
        } else {
            Val::Shared(first)
        }
    }

    pub(crate) fn stage(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Stages(stages) = call.recv.clone() else {
            return Val::Poison;
        };
        let Some(index) = self.scalar_as(&call.arg(0), Num::Usize, call.at(0)) else {
            return Val::Poison;
        };
        let mut s = stages.first;
        if index.lo == index.hi {
            if index.lo >= i128::from(stages.count) {
                let diag = self.error(
                    codes::BOUNDS,
                    call.at(0),
                    format!("stage {} of {}", index.lo, stages.count),
                );
                return self.refuse(diag);
            }
            s.offset += index.lo as i64 * stages.pitch;
        } else {
            let value = self.narrow(&index, call.at(0));
            s.dynamic.push((value, stages.pitch));
        }
        Val::Shared(s)
    }

    /// An index as a `u32` value.
    pub(crate) fn narrow(&mut self, s: &Scalar, span: Span) -> Value {
        if self.dtype(s.value) == DType::U32 {
            return s.value;
        }
        let uniform = self.uniform(s.value);
        self.emit(Op::Cast(s.value, Round::Default), DType::U32, uniform, span)
    }

    pub(super) fn shared(call: &Call<'a>) -> Option<SharedVal> {
        match &call.recv {
            Val::Shared(s) | Val::Peer(s) => Some(s.clone()),
            _ => None,
        }
    }

    pub(crate) fn shared_t(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut s) = Self::shared(call) else {
            return Val::Poison;
        };
        if s.axes.len() != 2 {
            let diag = self.error(
                codes::RANK,
                call.span,
                format!("`t` swaps two axes; this tensor has {}", s.axes.len()),
            );
            return self.refuse(diag);
        }
        s.axes.swap(0, 1);
        Val::Shared(s)
    }

    pub(crate) fn shared_tile(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut s) = Self::shared(call) else {
            return Val::Poison;
        };
        let (Val::Array(shape), Val::Array(at)) = (call.arg(0), call.arg(1)) else {
            let diag = self.error(
                codes::TYPE,
                call.span,
                "`tile` takes a shape and tile coordinates: `.tile([64, 32], [i, 0])`",
            );
            return self.refuse(diag);
        };
        if shape.len() != s.axes.len() || at.len() != s.axes.len() {
            let diag = self.error(
                codes::RANK,
                call.span,
                format!(
                    "the tensor has {} axes; the tile has a shape of {} and coordinates of {}",
                    s.axes.len(),
                    shape.len(),
                    at.len()
                ),
            );
            return self.refuse(diag);
        }
        for axis in 0..s.axes.len() {
            let Some(extent) =
                self.const_in(&shape[axis], "a tile's extent", 1, 1 << 20, call.at(0))
            else {
                return Val::Poison;
            };
            let Some(index) = self.scalar_as(&at[axis], Num::Usize, call.at(1)) else {
                return Val::Poison;
            };
            let whole: u32 = s.axes[axis].iter().map(|d| d.extent).product();
            if extent as u32 > whole
                || (index.lo == index.hi && (index.lo + 1) * extent > i128::from(whole))
            {
                let diag = self.error(codes::BOUNDS, call.at(1), format!("tile {} of extent {extent} lies outside the tensor's extent {whole} along axis {axis}", index.lo));
                return self.refuse(diag);
            }
            let Some((inner, outer)) = split(&s.axes[axis], extent as u32) else {
                let layout: Vec<String> = s.axes[axis]
                    .iter()
                    .map(|d| format!("{}:{}", d.extent, d.stride))
                    .collect();
                let diag = self.error(
                    codes::ALGEBRA,
                    call.at(0),
                    format!(
                        "a tile of {extent} does not divide axis {axis}, which is {}",
                        layout.join(", ")
                    ),
                );
                return self.refuse(diag);
            };
            s.axes[axis] = inner;
            self.advance(&mut s, &outer, &index, call.at(1));
        }
        s.val()
    }

    /// Moves a shared tensor by a coordinate along some digits.
    pub(super) fn advance(
        &mut self,
        s: &mut SharedVal,
        digits: &[Digit],
        index: &Scalar,
        span: Span,
    ) {
        if index.lo == index.hi {
            let mut left = index.lo;
            for (i, d) in digits.iter().enumerate() {
                let last = i + 1 == digits.len();
                let digit = if last {
                    left
                } else {
                    left % i128::from(d.extent)
                };
                s.offset += digit as i64 * d.stride;
                left /= i128::from(d.extent.max(1));
            }
            return;
        }
        let mut left = index.clone();
        for (i, d) in digits.iter().enumerate() {
            let last = i + 1 == digits.len();
            let digit = if last {
                left.clone()
            } else {
                let extent = self.index_const(d.extent, span);
                let digit = self.arith(Binary::Rem, &left, &extent, span);
                left = self.arith(Binary::Div, &left, &extent, span);
                digit
            };
            let value = self.narrow(&digit, span);
            s.dynamic.push((value, d.stride));
        }
    }

    pub(crate) fn shared_ir(s: &SharedVal) -> SharedView {
        SharedView {
            alloc: s.alloc,
            axes: s.axes.clone(),
            swizzle: s.swizzle,
            offset: s.offset,
            dynamic: s.dynamic.clone(),
            block: s.block,
        }
    }

    pub(crate) fn shared_shape(s: &SharedVal) -> Vec<u32> {
        s.axes
            .iter()
            .map(|a| a.iter().map(|d| d.extent).product())
            .collect()
    }
}

/// What an allocation is called until the author names it.
pub(crate) fn unnamed(alloc: usize) -> String {
    format!("shared_{alloc}")
}

/// The digits of the first `extent` coordinates, and those of the tiles.
fn split(digits: &[Digit], extent: u32) -> Option<(Vec<Digit>, Vec<Digit>)> {
    let (mut inner, mut outer) = (Vec::new(), Vec::new());
    let mut left = extent;
    for d in digits {
        if left == 1 {
            outer.push(*d);
        } else if left.is_multiple_of(d.extent) {
            inner.push(*d);
            left /= d.extent;
        } else if d.extent.is_multiple_of(left) {
            inner.push(Digit {
                extent: left,
                stride: d.stride,
            });
            outer.push(Digit {
                extent: d.extent / left,
                stride: d.stride * i64::from(left),
            });
            left = 1;
        } else {
            return None;
        }
    }
    (left == 1).then(|| {
        if inner.is_empty() {
            inner.push(Digit {
                extent: 1,
                stride: 0,
            });
        }
        (inner, outer)
    })
}
