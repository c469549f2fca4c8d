//! Reductions and scans along an axis.
//!
//! Missing elements never count. Sums of 16-bit floats accumulate in `f32` and are rounded once. The
//! scratch that threads of several warps need is planned by the schedule.

use super::call::Call;
use super::value::{Home, Reg, Val};
use super::{Check, Push};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Op, Reduce, ReduceOp, Scan, ScanOp, TensorType, Type, Uniform};

impl<'a> Check<'a> {
    pub(crate) fn reduce(&mut self, op: ReduceOp, axis: Option<u8>, call: &Call<'a>) -> Val<'a> {
        let Val::Register(r) = call.recv.clone() else {
            return Val::Poison;
        };
        if !self.reducible(&r, axis, call) {
            return Val::Poison;
        }
        let at = usize::from(axis.unwrap_or(0));
        let narrow = op == ReduceOp::Sum && r.dtype.is_float() && r.dtype.bytes() == 2;
        if narrow {
            let own = r.dtype;
            let Val::Register(wide) = self.register_cast(&r, r.dtype.accumulator(), call.span)
            else {
                return Val::Poison;
            };
            let sum = self.reduce_along(op, at, &wide, call);
            return match sum {
                Val::Register(s) => self.register_cast(&s, own, call.span),
                val => self.convert(
                    &val,
                    super::value::Num::D(own),
                    crate::ir::Round::Default,
                    call.span,
                ),
            };
        }
        self.reduce_along(op, at, &r, call)
    }

    /// Whether a tensor can be reduced or scanned so; else the error is told.
    fn reducible(&mut self, r: &Reg, axis: Option<u8>, call: &Call<'a>) -> bool {
        let name = call.row.name;
        let wanted = if axis.is_some() { 2 } else { 1 };
        if r.shape.len() != wanted {
            let shape = r.shape.clone();
            let mut diag = self.error(
                codes::RANK,
                call.span,
                format!(
                    "`{name}` works on tensors of {wanted} {}; this one has shape {shape:?}",
                    if wanted == 1 { "axis" } else { "axes" }
                ),
            );
            if axis.is_none() && shape.len() == 2 {
                diag = diag.help(format!("use `row_{name}` or `col_{name}`"));
            } else if axis.is_some() && shape.len() == 1 {
                diag = diag.help(format!(
                    "use `{}`",
                    name.trim_start_matches("row_").trim_start_matches("col_")
                ));
            }
            diag.push(self);
            return false;
        }
        if r.dtype == DType::BOOL {
            let diag = self
                .error(
                    codes::TYPE,
                    call.span,
                    format!("`{name}` does not work on bools"),
                )
                .help("convert them: `.cast::<u32>()`");
            diag.push(self);
            return false;
        }
        if self.region > 0 {
            let diag = self.error(
                codes::UNSUPPORTED,
                call.span,
                format!("`{name}` within an elementwise closure"),
            );
            diag.push(self);
            return false;
        }
        true
    }

    pub(crate) fn scan(&mut self, op: ScanOp, axis: Option<u8>, call: &Call<'a>) -> Val<'a> {
        let Val::Register(r) = call.recv.clone() else {
            return Val::Poison;
        };
        if !self.reducible(&r, axis, call) {
            return Val::Poison;
        }
        let first = usize::from(op == ScanOp::Affine);
        let mut how = [false; 2];
        for (i, (told, what)) in how.iter_mut().zip(["exclusive", "reverse"]).enumerate() {
            match call.arg(first + i) {
                Val::Bool(b) => *told = b,
                Val::Poison => return Val::Poison,
                val => {
                    let text = format!("`{what}` is known at build time, not {}", val.kind());
                    let diag = self.error(codes::NEED_CONST, call.at(first + i), text);
                    return self.refuse(diag);
                }
            }
        }
        let factor = match (op, call.arg(0)) {
            (ScanOp::Affine, Val::Register(f)) => {
                if !self.equals(&r, &f, "a recurrence", call.span) {
                    return Val::Poison;
                }
                Some(f)
            }
            (ScanOp::Affine, val) => return self.not_register(&val, call.at(0)),
            _ => None,
        };
        let at = usize::from(axis.unwrap_or(0));
        let sums = matches!(op, ScanOp::Sum | ScanOp::Product | ScanOp::Affine);
        let own = r.dtype;
        let narrow = sums && own.is_float() && own.bytes() == 2;
        let (mut wide, mut factor) = (r, factor);
        if narrow {
            for r in std::iter::once(&mut wide).chain(&mut factor) {
                let Val::Register(w) = self.register_cast(r, own.accumulator(), call.span) else {
                    return Val::Poison;
                };
                *r = w;
            }
        }
        let ty = TensorType {
            dtype: wide.dtype,
            shape: wide.shape.clone(),
            dist: wide.dist.clone(),
        };
        if crate::ir::scan::Steps::of(&ty, at).is_none() {
            let diag = self
                .error(
                    codes::UNSUPPORTED,
                    call.span,
                    format!("a scan along axis {at} in which warps would meet more than once"),
                )
                .note(format!("the tensor is distributed {}", wide.dist))
                .help("deal it so that whole warps stand side by side along the axis");
            return self.refuse(diag);
        }
        let Some(meet) = self.meeting(crosses_warps(&wide, at), "this scan's barrier", call.span)
        else {
            return Val::Poison;
        };
        let scan = Scan {
            value: wide.value,
            factor: factor.map(|f| f.value),
            axis: at as u8,
            op,
            exclusive: how[0],
            reverse: how[1],
            bounds: wide.bounds.clone(),
            scratch: None,
            barrier_before: false,
            meet,
        };
        let value = self.emit_typed(Op::Scan(scan), Type::Tensor(ty), Uniform::Thread, call.span);
        let result = Reg {
            value,
            home: Home::None,
            ..wide
        };
        if narrow {
            return self.register_cast(&result, own, call.span);
        }
        Val::Register(result)
    }

    fn reduce_along(&mut self, op: ReduceOp, axis: usize, r: &Reg, call: &Call<'a>) -> Val<'a> {
        let several = crosses_warps(r, axis);
        let Some(meet) = self.meeting(several, "this reduction's barrier", call.span) else {
            return Val::Poison;
        };
        let dtype = if matches!(op, ReduceOp::ArgMax | ReduceOp::ArgMin) {
            DType::U32
        } else {
            r.dtype
        };
        let mut shape = r.shape.clone();
        shape.remove(axis);
        let mut bounds = r.bounds.clone();
        bounds.remove(axis);
        let dist = r.dist.without(axis);
        let reduce = Reduce {
            value: r.value,
            axis: axis as u8,
            op,
            bounds: r.bounds.clone(),
            scratch: None,
            barrier_before: false,
            meet,
        };
        let ty = TensorType {
            dtype,
            shape: shape.clone(),
            dist: dist.clone(),
        };
        let value = self.emit_typed(
            Op::Reduce(reduce),
            Type::Tensor(ty),
            Uniform::Thread,
            call.span,
        );
        let result = Reg {
            value,
            dtype,
            shape,
            dist,
            bounds,
            home: Home::None,
        };
        if result.shape.is_empty() {
            return self.raw_element(&result, 0, call.span);
        }
        Val::Register(result)
    }
}

/// Whether threads of several warps hold elements of one row.
fn crosses_warps(r: &Reg, axis: usize) -> bool {
    let mut stride = 1;
    r.dist.threads.iter().any(|m| {
        stride *= m.extent;
        m.axis == Some(axis as u8) && stride > 32
    })
}
