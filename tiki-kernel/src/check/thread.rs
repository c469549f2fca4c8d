//! The scalar vocabulary of threads: indices, shuffles, votes, atomics, barriers.

use super::call::Call;
use super::rules::Takes;
use super::value::{Num, Scalar, Val};
use super::{Check, Push};
use crate::ast::Span;
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{
    AtomOp, Barrier, MemoryOrder, Op, Order, Place, Scope, Shuffle, Special, StmtKind, Uniform,
    Vote,
};

impl<'a> Check<'a> {
    pub(crate) fn special(&mut self, s: Special, call: &Call<'a>) -> Val<'a> {
        let threads = i128::from(self.kernel.threads.max(32));
        let (uniform, count) = match s {
            Special::Thread => (Uniform::Thread, threads),
            Special::Lane => (Uniform::Thread, 32),
            Special::Warp => (Uniform::Warp, (threads + 31) / 32),
            Special::ClusterRank => (Uniform::Block, i128::from(self.kernel.cluster.max(1))),
            _ => (Uniform::Thread, 1 << 32),
        };
        let value = self.emit(Op::Special(s), DType::U32, uniform, call.span);
        if s == Special::ActiveMask {
            return Val::Scalar(self.scalar_of(value, Num::D(DType::U32)));
        }
        let symbol = self.facts.extent(call.row.name);
        let _ = self
            .facts
            .assume_lt(symbol, i64::try_from(count).unwrap_or(i64::MAX));
        Val::Scalar(Scalar {
            value,
            num: Num::Usize,
            lo: 0,
            hi: count - 1,
            expr: Some(symbol.into()),
        })
    }

    pub(crate) fn dim3(&mut self, call: &Call<'a>) -> Val<'a> {
        Val::Dim3(call.row.name == "grid_dim")
    }

    /// `block_idx().x`, `grid_dim().x`.
    pub(crate) fn block_coordinate(&mut self, grid: bool, axis: u8, span: Span) -> Val<'a> {
        let special = if grid {
            Special::Grid(axis)
        } else {
            Special::Block(axis)
        };
        let value = self.emit(Op::Special(special), DType::U32, Uniform::Block, span);
        let most = if axis == 0 {
            i128::from(i32::MAX)
        } else {
            65535
        };
        if grid {
            return Val::Scalar(Scalar {
                value,
                num: Num::Usize,
                lo: 1,
                hi: most,
                expr: None,
            });
        }
        let (expr, hi) = match &self.block_symbols[axis as usize] {
            Some((expr, hi)) => (Some(expr.clone()), (*hi).min(most - 1)),
            None => (None, most - 1),
        };
        Val::Scalar(Scalar {
            value,
            num: Num::Usize,
            lo: 0,
            hi,
            expr,
        })
    }

    pub(crate) fn sync_block(&mut self, call: &Call<'a>) -> Val<'a> {
        self.block_wide("this barrier", call.span);
        self.push(StmtKind::Barrier(Barrier::Block), call.span);
        Val::Unit
    }

    pub(crate) fn sync_warp(&mut self, call: &Call<'a>) -> Val<'a> {
        self.push(StmtKind::Barrier(Barrier::Warp), call.span);
        Val::Unit
    }

    pub(crate) fn fence(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(scope) = self.memory_scope(&call.arg(0), call.at(0)) else {
            return Val::Poison;
        };
        self.push(
            StmtKind::Fence(Order {
                order: MemoryOrder::AcqRel,
                scope,
            }),
            call.span,
        );
        Val::Unit
    }

    pub(crate) fn trap(&mut self, call: &Call<'a>) -> Val<'a> {
        self.push(StmtKind::Trap, call.span);
        Val::Unit
    }

    pub(crate) fn shuffle(&mut self, mode: Shuffle, call: &Call<'a>) -> Val<'a> {
        let Some(s) = self.word(&call.arg(0), call.row.name, call.at(0)) else {
            return Val::Poison;
        };
        let lane = self.convert(
            &call.arg(1),
            Num::D(DType::U32),
            crate::ir::Round::Default,
            call.at(1),
        );
        let Some(lane) = self.scalar(&lane, call.at(1)) else {
            return Val::Poison;
        };
        let dtype = self.dtype(s.value);
        let value = self.emit(
            Op::Shuffle {
                mode,
                value: s.value,
                lane: lane.value,
            },
            dtype,
            Uniform::Thread,
            call.span,
        );
        self.wait_for_type(value, s.num);
        Val::Scalar(Scalar {
            value,
            expr: None,
            ..s
        })
    }

    /// A value of 32 bits.
    fn word(&mut self, val: &Val<'a>, name: &str, span: Span) -> Option<Scalar> {
        let s = self.scalar(val, span)?;
        let dtype = self.dtype(s.value);
        if dtype.bytes() != 4 || dtype == DType::BOOL {
            self.error(
                codes::TYPE,
                span,
                format!("`{name}` moves 32-bit values, not `{}`", s.num.name()),
            )
            .help("convert it: `as u32`, or `.cast::<f32>()`")
            .push(self);
            return None;
        }
        Some(s)
    }

    pub(crate) fn vote(&mut self, vote: Vote, call: &Call<'a>) -> Val<'a> {
        let Some(s) = self.scalar_as(&call.arg(0), Num::D(DType::BOOL), call.at(0)) else {
            return Val::Poison;
        };
        let dtype = if vote == Vote::Ballot {
            DType::U32
        } else {
            DType::BOOL
        };
        let value = self.emit(Op::Vote(vote, s.value), dtype, Uniform::Warp, call.span);
        Val::Scalar(self.scalar_of(value, Num::D(dtype)))
    }

    pub(crate) fn match_any(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(s) = self.word(&call.arg(0), "match_any", call.at(0)) else {
            return Val::Poison;
        };
        let value = self.emit(Op::Match(s.value), DType::U32, Uniform::Thread, call.span);
        Val::Scalar(self.scalar_of(value, Num::D(DType::U32)))
    }

    pub(crate) fn redux(&mut self, op: AtomOp, takes: Takes, call: &Call<'a>) -> Val<'a> {
        let Some(s) = self.taken(&call.arg(0), takes, call.row.name, call.at(0)) else {
            return Val::Poison;
        };
        let dtype = self.dtype(s.value);
        let value = self.emit(Op::Redux(op, s.value), dtype, Uniform::Warp, call.span);
        self.wait_for_type(value, s.num);
        Val::Scalar(self.scalar_of(value, s.num))
    }

    pub(crate) fn memory_scope(&mut self, val: &Val<'a>, span: Span) -> Option<Scope> {
        if let Val::Scope(scope) = val {
            return Some(*scope);
        }
        self.error(
            codes::TYPE,
            span,
            format!("expected a scope, found {}", val.kind()),
        )
        .help("write `Scope::Block`, `Scope::Device` or `Scope::System`")
        .push(self);
        None
    }

    pub(crate) fn memory_order(&mut self, val: &Val<'a>, span: Span) -> Option<MemoryOrder> {
        if let Val::Order(order) = val {
            return Some(*order);
        }
        self.error(
            codes::TYPE,
            span,
            format!("expected a memory order, found {}", val.kind()),
        )
        .help("write `Order::Relaxed`, `Order::Acquire`, `Order::Release` or `Order::AcqRel`")
        .push(self);
        None
    }

    /// Order and scope from the arguments at `i` and after.
    pub(crate) fn order_at(&mut self, call: &Call<'a>, i: usize) -> Option<Order> {
        let order = self.memory_order(&call.arg(i), call.at(i))?;
        let scope = self.memory_scope(&call.arg(i + 1), call.at(i + 1))?;
        Some(Order { order, scope })
    }

    /// The element a `get`, `set` or atomic names.
    fn element(&mut self, call: &Call<'a>, writes: bool) -> Option<(Place, DType)> {
        match &call.recv {
            Val::Global(g) => {
                let g = g.clone();
                if writes {
                    self.writable(&g, call.span)?;
                }
                let (view, dtype) = self.global_element(&g, &call.arg(0), call.at(0))?;
                Some((Place::Global(view), dtype))
            }
            Val::Shared(s) | Val::Peer(s) => {
                let s = s.clone();
                let view = self.shared_element(&s, &call.arg(0), call.at(0))?;
                Some((Place::Shared(view), s.dtype))
            }
            _ => None,
        }
    }

    pub(crate) fn atomic(&mut self, op: AtomOp, returns: bool, call: &Call<'a>) -> Val<'a> {
        let Some((place, dtype)) = self.element(call, true) else {
            return Val::Poison;
        };
        let operands = if op == AtomOp::CompareExchange { 2 } else { 1 };
        let Some(order) = self.order_at(call, 1 + operands) else {
            return Val::Poison;
        };
        let bitwise = matches!(op, AtomOp::Exchange | AtomOp::CompareExchange);
        let ok = match op {
            AtomOp::Add => {
                dtype.is_int() && dtype.bytes() >= 4
                    || matches!(dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16)
            }
            _ if bitwise => matches!(dtype.bytes(), 4 | 8),
            _ => dtype.is_int() && dtype.bytes() >= 4,
        };
        if !ok {
            let diag = self.error(
                codes::TYPE,
                call.span,
                format!("`{}` does not work on elements of `{dtype}`", call.row.name),
            );
            return self.refuse(diag);
        }
        let mut values = Vec::new();
        for i in 0..operands {
            match self.scalar_as(&call.arg(1 + i), Num::D(dtype), call.at(1 + i)) {
                Some(s) => values.push(s.value),
                None => return Val::Poison,
            }
        }
        if !returns {
            self.push(
                StmtKind::Red {
                    op,
                    place,
                    value: values[0],
                    order,
                },
                call.span,
            );
            return Val::Unit;
        }
        let value = self.emit(
            Op::Atom {
                op,
                place,
                operands: values,
                order,
            },
            dtype,
            Uniform::Thread,
            call.span,
        );
        Val::Scalar(self.scalar_of(value, Num::D(dtype)))
    }

    pub(crate) fn get(&mut self, call: &Call<'a>) -> Val<'a> {
        let order = if call.args.len() == 3 {
            self.order_at(call, 1)
        } else {
            Some(WEAK)
        };
        let (Some((place, dtype)), Some(order)) = (self.element(call, false), order) else {
            return Val::Poison;
        };
        let value = self.emit(
            Op::LoadElement { place, order },
            dtype,
            Uniform::Thread,
            call.span,
        );
        Val::Scalar(self.scalar_of(value, Num::D(dtype)))
    }

    pub(crate) fn address(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some((place, _)) = self.element(call, false) else {
            return Val::Poison;
        };
        let dtype = match place {
            Place::Global(_) => DType::U64,
            Place::Shared(_) => DType::U32,
        };
        let value = self.emit(Op::Address(place), dtype, Uniform::Thread, call.span);
        Val::Scalar(self.scalar_of(value, Num::D(dtype)))
    }

    pub(crate) fn set(&mut self, call: &Call<'a>) -> Val<'a> {
        let order = if call.args.len() == 4 {
            self.order_at(call, 2)
        } else {
            Some(WEAK)
        };
        let (Some((place, dtype)), Some(order)) = (self.element(call, true), order) else {
            return Val::Poison;
        };
        let Some(s) = self.scalar_as(&call.arg(1), Num::D(dtype), call.at(1)) else {
            return Val::Poison;
        };
        let kind = match place {
            Place::Global(view) => StmtKind::StoreElement {
                view,
                value: s.value,
                order,
            },
            Place::Shared(view) => StmtKind::StoreSharedElement {
                view,
                value: s.value,
            },
        };
        self.push(kind, call.span);
        Val::Unit
    }
}

const WEAK: Order = Order {
    order: MemoryOrder::Weak,
    scope: Scope::Block,
};
