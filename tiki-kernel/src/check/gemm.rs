//! Matrix products on tensor cores.
//!
//! An accumulator is one variable from its zeros to its last use: products update it in place, what
//! reads it copies nothing.

use super::call::Call;
use super::value::{Cell, GemmVal, Home, Num, Reg, Val};
use super::{Check, Push};
use crate::ast::{GenericArg, Span};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{
    Async, Const, Dist, Mma, MmaKind, Mode, Op, Operand, StmtKind, TensorType, Type, Uniform, Var,
};
use crate::target::Feature;

/// What tensor cores multiply: element type, accumulator, and whether the product is named `tf32`.
const PRODUCTS: &[(DType, DType, bool)] = &[
    (DType::F16, DType::F32, false),
    (DType::BF16, DType::F32, false),
    (DType::E4M3, DType::F32, false),
    (DType::E5M2, DType::F32, false),
    (DType::I8, DType::I32, false),
    (DType::U8, DType::I32, false),
    (DType::F32, DType::F32, true),
];

fn zero_of(t: DType) -> Const {
    if t.is_int() {
        Const::Int(0)
    } else {
        Const::Float(0.0)
    }
}

impl GemmVal {
    /// Its kind of product, by single warps.
    fn by_warps(&self) -> MmaKind {
        if self.thrice {
            MmaKind::WarpThrice
        } else {
            MmaKind::Warp
        }
    }
}

/// Who holds what of an accumulator of (M, N).
pub(crate) fn accumulator(shape: &[u32], warps: (u32, u32), warpgroup: bool) -> Dist {
    let (m, n) = (shape[0], shape[1]);
    let quad = [Mode::along(1, 4, 2), Mode::along(0, 8, 1)];
    let pair = [Mode::along(1, 2, 1), Mode::along(0, 2, 8)];
    let (threads, values) = if warpgroup {
        let groups = warps.0 / 4;
        let rows = m / (64 * groups);
        (
            [Mode::along(0, 4, 16), Mode::along(0, groups, 64)],
            [Mode::along(1, n / 8, 8), Mode::along(0, rows, 64 * groups)],
        )
    } else {
        let (wm, wn) = (m / warps.0, n / warps.1);
        (
            [Mode::along(0, warps.0, wm), Mode::along(1, warps.1, wn)],
            [Mode::along(1, wn / 8, 8), Mode::along(0, wm / 16, 16)],
        )
    };
    Dist {
        threads: quad.into_iter().chain(threads).collect(),
        values: pair.into_iter().chain(values).collect(),
    }
    .merged()
}

impl<'a> Check<'a> {
    pub(crate) fn warp_new(&mut self, call: &Call<'a>) -> Val<'a> {
        let m = self.const_in(&call.arg(0), "the warps down", 1, 32, call.at(0));
        let n = self.const_in(&call.arg(1), "the warps across", 1, 32, call.at(1));
        match (m, n) {
            (Some(m), Some(n)) => Val::Warps(m as u32, n as u32),
            _ => Val::Poison,
        }
    }

    pub(crate) fn gemm_new(&mut self, call: &Call<'a>) -> Val<'a> {
        let name = call.row.name;
        let (warpgroup, tf32) = (name.starts_with("warpgroup"), name.contains("tf32"));
        let Val::Warps(m, n) = call.arg(0) else {
            let diag = self.error(
                codes::TYPE,
                call.at(0),
                format!(
                    "a product's warps are `Warp::new(2, 2)`, not {}",
                    call.arg(0).kind()
                ),
            );
            return self.refuse(diag);
        };
        let mut types = Vec::new();
        for arg in call.generics {
            match arg {
                GenericArg::Type(t) => match self.dtype_of(t) {
                    Some(t) => types.push(t),
                    None => return Val::Poison,
                },
                GenericArg::Const(_) => {}
            }
        }
        if tf32 && types.is_empty() {
            types.push(DType::F32);
        }
        let Some(&dtype) = types.first() else {
            let diag = self
                .error(
                    codes::ARGUMENTS,
                    call.span,
                    "a product needs its element type",
                )
                .help("write `Gemm::<f16>::new(..)`");
            return self.refuse(diag);
        };
        let b = types.get(1).copied().unwrap_or(dtype);
        let acc = types.get(2).copied().unwrap_or(DType::F32);
        let products = PRODUCTS.iter().filter(|p| p.0 == dtype);
        if b != dtype {
            let diag = self
                .error(
                    codes::ELEMENT,
                    call.span,
                    format!("a product of `{dtype}` and `{b}`"),
                )
                .note("both operands have one element type");
            return self.refuse(diag);
        }
        let known = products.clone().find(|p| p.1 == acc && p.2 == tf32);
        if known.is_none() {
            let mut diag = self.error(
                codes::TYPE,
                call.span,
                format!("a product of `{dtype}` accumulated in `{acc}`"),
            );
            diag = match products.clone().next() {
                _ if tf32 => diag.note("tf32 is a way to multiply `f32`"),
                Some((_, _, true)) => diag
                    .note("tensor cores multiply `f32` as tf32, with 11 bits of each factor")
                    .help("say so: `Gemm::<f32>::tf32(..)`, or `tf32x3` for 22 bits"),
                Some((_, acc, _)) => diag.help(format!("`Gemm::<{dtype}, {dtype}, {acc}>`")),
                None => {
                    let of: Vec<String> = PRODUCTS.iter().map(|p| format!("`{}`", p.0)).collect();
                    diag.note(format!("products are of {}", of.join(", ")))
                }
            };
            return self.refuse(diag);
        }
        let feature = if warpgroup {
            Feature::Warpgroup
        } else {
            Feature::WarpMma
        };
        if !self.need(
            feature,
            if warpgroup {
                "a warpgroup's product"
            } else {
                "a product"
            },
            call.span,
        ) {
            return Val::Poison;
        }
        if warpgroup && (!m.is_multiple_of(4) || n != 1) {
            let diag = self.error(codes::MAP, call.at(0), format!("a warpgroup's product is divided ({m}, {n}); its warps stand in fours, one below the other")).help("write `Warp::new(4, 1)`");
            return self.refuse(diag);
        }
        let here = self.threads_here();
        if (!warpgroup && m * n * 32 != here) || (warpgroup && !here.is_multiple_of(m * 32)) {
            let diag = self.error(
                codes::MAP,
                call.at(0),
                format!(
                    "{m} x {n} warps are {} threads; {here} come here",
                    m * n * 32
                ),
            );
            return self.refuse(diag);
        }
        Val::Gemm(GemmVal {
            dtype,
            acc,
            warps: (m, n),
            warpgroup,
            thrice: name == "tf32x3",
        })
    }

    pub(super) fn gemm(call: &Call<'a>) -> Option<GemmVal> {
        match &call.recv {
            Val::Gemm(g) => Some(g.clone()),
            _ => None,
        }
    }

    /// The type of an accumulator, if the shape suits the warps.
    pub(super) fn acc_type(
        &mut self,
        gemm: &GemmVal,
        shape: &[u32],
        span: Span,
    ) -> Option<TensorType> {
        let [m, n] = shape else {
            self.error(
                codes::RANK,
                span,
                format!("an accumulator has two axes, not {}", shape.len()),
            )
            .push(self);
            return None;
        };
        let (um, un) = if gemm.warpgroup {
            (16 * gemm.warps.0, 8)
        } else {
            (16 * gemm.warps.0, 8 * gemm.warps.1)
        };
        if !m.is_multiple_of(um) || !n.is_multiple_of(un) || *m == 0 || *n == 0 {
            self.error(
                codes::SHAPE,
                span,
                format!("an accumulator of {m} x {n}; these warps take multiples of {um} x {un}"),
            )
            .push(self);
            return None;
        }
        if gemm.warpgroup && *n > 256 {
            self.error(
                codes::SHAPE,
                span,
                format!("an accumulator {n} wide; a warpgroup's product is at most 256 wide"),
            )
            .push(self);
            return None;
        }
        Some(TensorType {
            dtype: gemm.acc,
            shape: shape.to_vec(),
            dist: accumulator(shape, gemm.warps, gemm.warpgroup),
        })
    }

    pub(crate) fn gemm_zeros(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(gemm) = Self::gemm(call) else {
            return Val::Poison;
        };
        let Val::Array(parts) = call.arg(0) else {
            let diag = self.error(
                codes::TYPE,
                call.at(0),
                format!(
                    "an accumulator's shape is `[M, N]`, not {}",
                    call.arg(0).kind()
                ),
            );
            return self.refuse(diag);
        };
        let mut shape = Vec::new();
        for p in &parts {
            match self.const_in(p, "an accumulator's extent", 0, 1 << 16, call.at(0)) {
                Some(i) => shape.push(i as u32),
                None => return Val::Poison,
            }
        }
        let Some(ty) = self.acc_type(&gemm, &shape, call.span) else {
            return Val::Poison;
        };
        let zero = self.constant(zero_of(gemm.acc), Num::D(gemm.acc), call.span);
        let (dtype, dist) = (ty.dtype, ty.dist.clone());
        let value = self.emit_typed(
            Op::Splat(zero.value),
            Type::Tensor(ty),
            Uniform::Thread,
            call.span,
        );
        Val::Register(Reg {
            value,
            dtype,
            bounds: vec![None; 2],
            shape,
            dist,
            home: Home::Zeros,
        })
    }

    /// The operands, and their extents M, N, K.
    pub(super) fn operands(
        &mut self,
        gemm: &GemmVal,
        a: &Val<'a>,
        b: &Val<'a>,
        call: &Call<'a>,
    ) -> Option<(Operand, crate::ir::SharedView, [u32; 3])> {
        let Val::Shared(b) = b else {
            self.error(
                codes::TYPE,
                call.at(1),
                format!(
                    "the right operand of a product lies in shared memory; this is {}",
                    b.kind()
                ),
            )
            .push(self);
            return None;
        };
        let bs = Self::shared_shape(b);
        let (operand, dtype, shape) = match a {
            Val::Shared(a) => (
                Operand::Shared(Self::shared_ir(a)),
                a.dtype,
                Self::shared_shape(a),
            ),
            Val::Register(r) => (Operand::Register(r.value), r.dtype, r.shape.clone()),
            a => {
                self.error(codes::TYPE, call.at(0), format!("the left operand of a product lies in shared memory or registers; this is {}", a.kind())).push(self);
                return None;
            }
        };
        let in_registers = matches!(operand, Operand::Register(_));
        for (t, at, converts) in [
            (dtype, call.at(0), in_registers),
            (b.dtype, call.at(1), false),
        ] {
            if t != gemm.dtype {
                let wanted = gemm.dtype;
                let help = if converts {
                    format!("convert it: `.cast::<{wanted}>()`")
                } else {
                    format!(
                        "a shared operand is `Shared::<{wanted}>`: convert before storing into it, `.cast::<{wanted}>()`"
                    )
                };
                self.error(
                    codes::ELEMENT,
                    at,
                    format!("the product is of `{wanted}`, the operand of `{t}`"),
                )
                .help(help)
                .push(self);
                return None;
            }
        }
        let ([m, k], [n, kb]) = (&shape[..], &bs[..]) else {
            self.error(
                codes::RANK,
                call.span,
                format!(
                    "a product takes operands of two axes, not {} and {}",
                    shape.len(),
                    bs.len()
                ),
            )
            .push(self);
            return None;
        };
        if k != kb {
            self.error(
                codes::SHAPE,
                call.span,
                format!("`a @ b.T` of {m} x {k} and {n} x {kb}: the second extents differ"),
            )
            .help("`b` is given as (N, K); `.t()` transposes it")
            .push(self);
            return None;
        }
        let step = 32 / gemm.dtype.bytes();
        if !k.is_multiple_of(step) {
            self.error(
                codes::SHAPE,
                call.span,
                format!("a product over K = {k}; one instruction takes {step}"),
            )
            .push(self);
            return None;
        }
        if let Val::Register(r) = a {
            let want = accumulator(&r.shape, gemm.warps, gemm.warpgroup);
            if gemm.warps.1 != 1 || r.dist.clone().merged() != want {
                self.error(codes::LAYOUT, call.at(0), "the left operand's registers are not distributed as this product takes them")
                    .note(format!("it takes {want}"))
                    .note(format!("the tensor is {}", r.dist))
                    .note("a product's result is such an operand for a product of the same warps, if they stand one below the other")
                    .push(self);
                return None;
            }
        }
        Some((operand, Self::shared_ir(b), [*m, *n, *k]))
    }

    pub(super) fn mma(
        &mut self,
        gemm: &GemmVal,
        acc: Var,
        a: Operand,
        b: crate::ir::SharedView,
        kind: MmaKind,
        span: Span,
    ) {
        self.push(
            StmtKind::Async(Async::Mma(Mma {
                acc,
                a,
                b,
                warps: gemm.warps,
                kind,
            })),
            span,
        );
    }

    pub(crate) fn gemm_dot(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(gemm) = Self::gemm(call) else {
            return Val::Poison;
        };
        if gemm.warpgroup {
            let diag = self
                .error(
                    codes::TYPE,
                    call.span,
                    "a warpgroup's product is asynchronous",
                )
                .help("use `issue`, `warpgroup_wait` and `retire`");
            return self.refuse(diag);
        }
        let Some((a, b, [m, n, _])) = self.operands(&gemm, &call.arg(0), &call.arg(1), call) else {
            return Val::Poison;
        };
        let Some(ty) = self.acc_type(&gemm, &[m, n], call.span) else {
            return Val::Poison;
        };
        let acc = self.var(Type::Tensor(ty.clone()), "dot", call.span);
        self.unheld.push(acc);
        let zero = self.constant(zero_of(gemm.acc), Num::D(gemm.acc), call.span);
        let splat = self.emit_typed(
            Op::Splat(zero.value),
            Type::Tensor(ty.clone()),
            Uniform::Thread,
            call.span,
        );
        self.push(StmtKind::Set(acc, splat), call.span);
        self.mma(&gemm, acc, a, b, gemm.by_warps(), call.span);
        self.accumulated(acc, ty, call.span)
    }

    /// What is in an accumulator now.
    pub(super) fn accumulated(&mut self, acc: Var, ty: TensorType, span: Span) -> Val<'a> {
        let (dtype, shape, dist) = (ty.dtype, ty.shape.clone(), ty.dist.clone());
        let value = self.emit_typed(Op::Get(acc), Type::Tensor(ty), Uniform::Thread, span);
        Val::Register(Reg {
            value,
            dtype,
            bounds: vec![None; shape.len()],
            shape,
            dist,
            home: Home::Var(acc),
        })
    }

    pub(crate) fn gemm_accumulate(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(gemm) = Self::gemm(call) else {
            return Val::Poison;
        };
        if gemm.warpgroup {
            let diag = self
                .error(
                    codes::TYPE,
                    call.span,
                    "a warpgroup's product is asynchronous",
                )
                .help("use `issue`, `warpgroup_wait` and `retire`");
            return self.refuse(diag);
        }
        let Val::RefMut(place) = call.arg(2) else {
            let diag = self.error(
                codes::TYPE,
                call.at(2),
                format!(
                    "the accumulator is given by `&mut acc`; this is {}",
                    call.arg(2).kind()
                ),
            );
            return self.refuse(diag);
        };
        let Some((a, b, [m, n, _])) = self.operands(&gemm, &call.arg(0), &call.arg(1), call) else {
            return Val::Poison;
        };
        let Some(ty) = self.acc_type(&gemm, &[m, n], call.span) else {
            return Val::Poison;
        };
        if let Val::Register(_) = self.peek(&place) {
            self.cell_at(&place, call.span);
        }
        match self.peek(&place) {
            Val::Cell(
                var,
                Cell::Tensor {
                    dtype, shape, dist, ..
                },
            ) => {
                if dtype != ty.dtype || shape != ty.shape || dist.clone().merged() != ty.dist {
                    let diag = self
                        .error(codes::LAYOUT, call.at(2), not_of_it(&shape, &ty.shape))
                        .note(format!("it is {dtype} {shape:?} {dist}"))
                        .note(format!(
                            "the product gives {} {:?} {}",
                            ty.dtype, ty.shape, ty.dist
                        ));
                    return self.refuse(diag);
                }
                self.mma(&gemm, var, a, b, gemm.by_warps(), call.span);
                Val::Unit
            }
            Val::Poison => Val::Poison,
            val => {
                let diag = self.error(
                    codes::TYPE,
                    call.at(2),
                    format!("the accumulator is a register tensor, not {}", val.kind()),
                );
                self.refuse(diag)
            }
        }
    }
}

/// An accumulator that a product does not fit into.
pub(super) fn not_of_it(given: &[u32], wanted: &[u32]) -> String {
    if given == wanted {
        "the accumulator is not of this product".into()
    } else {
        format!("the accumulator has shape {given:?}, the product {wanted:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Invariant: every element of an accumulator is held once, as the instruction's fragment says.
    /// Witness: all pairs of thread and value.
    #[test]
    pub(super) fn an_accumulator_is_held_once() {
        for (shape, warps, warpgroup) in [
            ([64, 48], (2, 2), false),
            ([128, 128], (4, 2), false),
            ([64, 256], (4, 1), true),
            ([256, 64], (8, 1), true),
        ] {
            let d = accumulator(&shape, warps, warpgroup);
            assert_eq!(d.thread_count(), 32 * warps.0 * warps.1);
            let mut seen = vec![0; (shape[0] * shape[1]) as usize];
            for t in 0..d.thread_count() as usize {
                for v in 0..d.len() {
                    let c = d.coordinate(t, v, 2);
                    seen[(c[0] * shape[1] + c[1]) as usize] += 1;
                }
            }
            assert!(seen.iter().all(|&n| n == 1), "{shape:?} {warps:?}");
            // Lane 5 holds row 1, columns 2 and 3 first.
            assert_eq!(
                (
                    d.coordinate(5, 0, 2).to_vec(),
                    d.coordinate(5, 1, 2).to_vec(),
                    d.coordinate(5, 2, 2).to_vec()
                ),
                (vec![1, 2], vec![1, 3], vec![9, 2])
            );
        }
    }
}
