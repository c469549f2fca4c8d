//! Products of a warpgroup: issued, chained, retired.
//!
//! The accumulator is in flight from its issue to a wait that covers its group.

use super::Check;
use super::call::Call;
use super::value::{Home, Num, PendingVal, Reg, Val};
use crate::ast::Span;
use crate::diag::codes;
use crate::ir::{Async, Const, MmaKind, Op, StmtKind, TensorType, Type, Uniform};
use crate::target::Feature;

/// What was waited for: groups proven done, and the last wait, for all issued before it but the newest.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waited {
    done: u64,
    last: Option<Wait>,
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    issued: u64,
    newest: u64,
    span: Span,
}

impl<'a> Check<'a> {
    pub(crate) fn gemm_issue(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(gemm) = Self::gemm(call) else {
            return Val::Poison;
        };
        if !gemm.warpgroup {
            let diag = self
                .error(
                    codes::TYPE,
                    call.span,
                    "`issue` is for a warpgroup's product",
                )
                .help("use `accumulate`, or make it by `Gemm::warpgroup`");
            return self.refuse(diag);
        }
        let Some((a, b, [m, n, _])) = self.operands(&gemm, &call.arg(0), &call.arg(1), call) else {
            return Val::Poison;
        };
        let Some(ty) = self.acc_type(&gemm, &[m, n], call.span) else {
            return Val::Poison;
        };
        let Val::Register(r) = call.arg(2) else {
            let diag = self.error(
                codes::TYPE,
                call.at(2),
                format!(
                    "the accumulator is a register tensor, not {}",
                    call.arg(2).kind()
                ),
            );
            return self.refuse(diag);
        };
        if r.dtype != ty.dtype || r.shape != ty.shape || r.dist.clone().merged() != ty.dist {
            let diag = self
                .error(
                    codes::LAYOUT,
                    call.at(2),
                    super::gemm::not_of_it(&r.shape, &ty.shape),
                )
                .note(format!("it is {} {:?} {}", r.dtype, r.shape, r.dist))
                .note(format!(
                    "the product gives {} {:?} {}",
                    ty.dtype, ty.shape, ty.dist
                ));
            return self.refuse(diag);
        }
        let (acc, zero) = match r.home {
            Home::Zeros => {
                let var = self.var(Type::Tensor(ty), "accumulator", call.span);
                self.unheld.push(var);
                (var, true)
            }
            Home::Var(var) => (var, false),
            Home::Again(var) => (var, true),
            Home::None => {
                let var = self.var(Type::Tensor(ty), "accumulator", call.span);
                self.unheld.push(var);
                self.push(StmtKind::Set(var, r.value), call.span);
                (var, false)
            }
        };
        self.mma(&gemm, acc, a, b, MmaKind::Warpgroup { zero }, call.span);
        self.issued += 1;
        Val::Pending(PendingVal {
            gemm,
            acc,
            shape: r.shape,
            ticket: self.issued,
        })
    }

    pub(crate) fn pending_issue(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Pending(mut p) = call.recv.clone() else {
            return Val::Poison;
        };
        let Some((a, b, [m, n, _])) =
            self.operands(&p.gemm.clone(), &call.arg(0), &call.arg(1), call)
        else {
            return Val::Poison;
        };
        if p.shape != [m, n] {
            let diag = self.error(
                codes::SHAPE,
                call.span,
                format!(
                    "the accumulator is {} x {}, the product {m} x {n}",
                    p.shape[0], p.shape[1]
                ),
            );
            return self.refuse(diag);
        }
        self.mma(
            &p.gemm.clone(),
            p.acc,
            a,
            b,
            MmaKind::Warpgroup { zero: false },
            call.span,
        );
        self.issued += 1;
        p.ticket = self.issued;
        Val::Pending(p)
    }

    pub(crate) fn pending_retire(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Pending(p) = call.recv.clone() else {
            return Val::Poison;
        };
        if p.ticket > self.waited.done {
            let newer = self.issued - p.ticket;
            let place = match newer {
                0 => "its product is the newest group".to_string(),
                1 => "one group is newer than its product".to_string(),
                n => format!("{n} groups are newer than its product"),
            };
            let mut diag = self.error(
                codes::IN_FLIGHT,
                call.span,
                "the accumulator is still in flight",
            );
            // A wait that came before the product is no wait for it.
            diag = match self.waited.last.filter(|w| w.issued >= p.ticket) {
                Some(w) => diag
                    .note(place)
                    .also(
                        w.span,
                        match w.newest {
                            1 => "this lets the newest group run".to_string(),
                            n => format!("this lets the newest {n} groups run"),
                        },
                    )
                    .help(format!(
                        "`warpgroup_wait({})` there waits for it",
                        w.issued - p.ticket
                    )),
                None => diag
                    .note(format!("{place}, and nothing waits for it"))
                    .help(format!("call `warpgroup_wait({newer})` before")),
            };
            return self.refuse(diag);
        }
        let Some(ty) = self.acc_type(&p.gemm, &p.shape, call.span) else {
            return Val::Poison;
        };
        self.accumulated(p.acc, ty, call.span)
    }

    /// `acc.zeroed()`: its registers, to begin again.
    pub(crate) fn register_zeroed(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Register(r) = call.recv.clone() else {
            return Val::Poison;
        };
        let home = match r.home {
            Home::Var(var) | Home::Again(var) => Home::Again(var),
            home => home,
        };
        let zero = if r.dtype.is_float() {
            Const::Float(0.0)
        } else {
            Const::Int(0)
        };
        let zero = self.constant(zero, Num::D(r.dtype), call.span);
        let ty = Type::Tensor(TensorType {
            dtype: r.dtype,
            shape: r.shape.clone(),
            dist: r.dist.clone(),
        });
        let value = self.emit_typed(Op::Splat(zero.value), ty, Uniform::Thread, call.span);
        Val::Register(Reg { value, home, ..r })
    }

    pub(crate) fn warpgroup_wait(&mut self, call: &Call<'a>) -> Val<'a> {
        if !self.need(Feature::Warpgroup, "`warpgroup_wait`", call.span) {
            return Val::Poison;
        }
        let Some(n) = self.const_in(
            &call.arg(0),
            "the groups that may be pending",
            0,
            7,
            call.at(0),
        ) else {
            return Val::Poison;
        };
        let (issued, newest, span) = (self.issued, n as u64, call.span);
        self.waited = Waited {
            done: self.waited.done.max(issued.saturating_sub(newest)),
            last: Some(Wait {
                issued,
                newest,
                span,
            }),
        };
        self.push(StmtKind::Async(Async::WaitProducts(n as u32)), call.span);
        Val::Unit
    }
}
