//! Statements and the flow of control.
//!
//! A branch is `bra.uni` where its condition is known to be the same for the lanes of a warp. A counted
//! loop tests at its end; if the step is above 1 it tests what is left before it counts, so that a bound
//! near the type's end does not wrap.

use super::Lower;
use super::guards::guard;
use crate::ir::{Block, Op, Order, Place, Scope, Special, Stmt, StmtKind, Type, Uniform, Value};
use crate::isa::{self, Cmp, Ty};
use crate::ptx::{Guard, Label, Operand};

/// All lanes of a warp, as a mask.
pub(super) const ALL_LANES: i32 = -1;

/// An open loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loop {
    next: Label,
    end: Label,
}

impl<'a> Lower<'a> {
    /// Statements in order.
    pub(super) fn block(&mut self, stmts: &'a Block) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    /// The source place of what follows.
    pub(super) fn place(&mut self, span: crate::ast::Span) {
        let at = self.places.at(span);
        self.span = span;
        if at.line > 0 {
            let file = self
                .places
                .files
                .get(at.file as usize)
                .map_or("kernel", String::as_str);
            let n = self.module.file(file);
            self.b.loc(n, at.line, at.column.max(1));
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        self.place(stmt.span);
        match &stmt.kind {
            StmtKind::Let(v, op) => {
                let name = self.kernel.values[v.0 as usize].name.clone();
                match &self.kernel.values[v.0 as usize].ty {
                    Type::Tensor(_) => self.holding(&name, |l| l.define_tile(*v, op)),
                    Type::Scalar(_) => {
                        let o = self.holding(&name, |l| l.scalar_op(*v, op));
                        self.scalars.insert(*v, o);
                    }
                }
            }
            StmtKind::Async(a) => self.asynchronous(a),
            StmtKind::Set(var, v) => match &self.kernel.values[v.0 as usize].ty {
                Type::Scalar(_) => {
                    let o = self.scalar(*v);
                    let r = self.variable(*var)[0];
                    self.copy(r, o);
                }
                Type::Tensor(_) => self.set_variable(*var, *v),
            },
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => self.branch(*cond, then, otherwise),
            StmtKind::For {
                index,
                lo,
                hi,
                step,
                unroll,
                body,
            } => self.count(*index, *lo, *hi, *step, *unroll, body),
            StmtKind::While { head, cond, body } => {
                let (next, end) = (self.b.label("next"), self.b.label("end"));
                self.label(next);
                self.block(head);
                self.leave_unless(*cond, end);
                self.loops.push(Loop { next, end });
                self.block(body);
                self.loops.pop();
                self.ins(None, isa::bra(), vec![next.into()]);
                self.label(end);
            }
            StmtKind::Once(body) => {
                let end = self.b.label("end");
                self.loops.push(Loop { next: end, end });
                self.block(body);
                self.loops.pop();
                self.label(end);
            }
            StmtKind::Break(up) => {
                let l = self.loops[self.loops.len() - 1 - *up as usize];
                self.ins(None, isa::bra(), vec![l.end.into()]);
            }
            StmtKind::Continue(up) => {
                let l = self.loops[self.loops.len() - 1 - *up as usize];
                self.ins(None, isa::bra(), vec![l.next.into()]);
            }
            StmtKind::Return => self.ins(None, isa::ret(), vec![]),
            StmtKind::Trap => self.ins(None, isa::trap(), vec![]),
            StmtKind::Store {
                view,
                value,
                access,
            } => self.store(view, *value, access),
            StmtKind::StoreShared {
                view,
                value,
                vector,
            } => self.store_shared(view, *value, *vector),
            StmtKind::StoreElement { view, value, order } => {
                self.store_element(&Place::Global(view.clone()), *value, order);
            }
            StmtKind::StoreSharedElement { view, value } => {
                let plain = Order {
                    order: crate::ir::MemoryOrder::Weak,
                    scope: Scope::Block,
                };
                self.store_element(&Place::Shared(view.clone()), *value, &plain);
            }
            StmtKind::Red {
                op,
                place,
                value,
                order,
            } => {
                self.atomic(*op, place, &[*value], order, false);
            }
            StmtKind::Written(fragment, inputs) => {
                self.written(fragment, inputs);
            }
            StmtKind::Barrier(b) => self.barrier(b),
            StmtKind::Fence(order) => self.fence(order),
        }
    }

    fn label(&mut self, l: Label) {
        self.b.place(l);
        self.unpacked = None;
    }

    fn bra(&self, cond: Value) -> isa::Op {
        if self.uniform(cond) < Uniform::Thread {
            isa::bra().set("uni", "uni")
        } else {
            isa::bra()
        }
    }

    fn leave_unless(&mut self, cond: Value, to: Label) {
        let o = self.scalar(cond);
        let r = self.register(&o, Ty::Pred);
        let bra = self.bra(cond);
        self.ins(
            Some(Guard {
                reg: r,
                negated: true,
            }),
            bra,
            vec![to.into()],
        );
    }

    fn branch(&mut self, cond: Value, then: &'a Block, otherwise: &'a Block) {
        let (other, end) = (self.b.label("else"), self.b.label("end"));
        self.leave_unless(cond, if otherwise.is_empty() { end } else { other });
        self.unpacked = None;
        self.block(then);
        if !otherwise.is_empty() {
            let bra = self.bra(cond);
            self.ins(None, bra, vec![end.into()]);
            self.label(other);
            self.block(otherwise);
        }
        self.label(end);
    }

    fn count(
        &mut self,
        index: Value,
        lo: Value,
        hi: Value,
        step: u32,
        unroll: Option<u32>,
        body: &'a Block,
    ) {
        let t = self.dtype(index);
        let (ty, reg) = (Ty::of_arithmetic(t), Ty::of_register(t));
        let name = self.kernel.values[index.0 as usize].name.clone();
        let (from, to) = (self.scalar(lo), self.scalar(hi));
        let i = self.holding(
            if name.is_empty() {
                "loop counter"
            } else {
                &name
            },
            |l| l.reg(reg),
        );
        self.copy(i, from.clone());
        self.scalars.insert(index, i.into());
        let uniform = self.uniform(lo).max(self.uniform(hi)) < Uniform::Thread;
        let bra = if uniform {
            isa::bra().set("uni", "uni")
        } else {
            isa::bra()
        };
        let (top, next, end) = (
            self.b.label("loop"),
            self.b.label("next"),
            self.b.label("end"),
        );
        let none = self.def(Ty::Pred, isa::setp(Cmp::Ge, ty), [from, to.clone()]);
        self.ins(guard(Some(none)), bra, vec![end.into()]);
        self.label(top);
        if let Some(n) = unroll {
            self.b.pragma(&if n <= 1 {
                "nounroll".to_string()
            } else {
                format!("unroll {n}")
            });
        }
        self.loops.push(Loop { next, end });
        self.block(body);
        self.loops.pop();
        self.label(next);
        let again = if step == 1 {
            self.ins(
                None,
                isa::add(ty),
                vec![i.into(), i.into(), Operand::int(1)],
            );
            self.def(Ty::Pred, isa::setp(Cmp::Lt, ty), [i.into(), to])
        } else {
            let unsigned = if t.bytes() == 8 { Ty::U64 } else { Ty::U32 };
            let rest = self.def(reg, isa::sub(unsigned), [to, i.into()]);
            let p = self.def(
                Ty::Pred,
                isa::setp(Cmp::Gt, unsigned),
                [rest, Operand::int(step)],
            );
            self.ins(
                None,
                isa::add(ty),
                vec![i.into(), i.into(), Operand::int(step)],
            );
            p
        };
        self.ins(guard(Some(again)), bra, vec![top.into()]);
        self.label(end);
    }

    /// A scalar's operand.
    pub(super) fn scalar(&mut self, v: Value) -> Operand {
        match self.scalars.get(&v) {
            Some(o) => o.clone(),
            None => unreachable!("bug: value {} is used before it is defined", v.0),
        }
    }

    /// Computes a scalar.
    pub(super) fn scalar_op(&mut self, v: Value, op: &'a Op) -> Operand {
        let t = self.dtype(v);
        match op {
            Op::Const(c) => self.constant(t, *c),
            Op::Param(i) => self.scalar_param(*i),
            Op::Extent(i, axis) => {
                let o = self.extent(*i, *axis);
                self.cast(crate::dtype::DType::U32, t, crate::ir::Round::Default, o)
            }
            Op::Stride(i, axis) => {
                let o = self.stride(*i, *axis);
                self.cast(crate::dtype::DType::U64, t, crate::ir::Round::Default, o)
            }
            Op::Get(var) => {
                let r = self.variable(*var)[0];
                let copy = self.reg(Ty::of_register(t));
                self.copy(copy, r.into());
                copy.into()
            }
            Op::Special(s) => {
                let o = self.special_value(*s);
                self.cast(crate::dtype::DType::U32, t, crate::ir::Round::Default, o)
            }
            Op::Unary(f, a) => {
                let (from, a) = (self.dtype(*a), self.scalar(*a));
                self.unary(*f, from, t, a)
            }
            Op::Binary(f, a, b) => {
                let (a, b) = (self.scalar(*a), self.scalar(*b));
                self.binary(*f, t, a, b)
            }
            Op::Compare(f, a, b) => {
                let from = self.dtype(*a);
                let (a, b) = (self.scalar(*a), self.scalar(*b));
                self.compare(*f, from, a, b)
            }
            Op::Fma(a, b, c) => {
                let (a, b, c) = (self.scalar(*a), self.scalar(*b), self.scalar(*c));
                self.multiply_add(t, a, b, c)
            }
            Op::Select(c, a, b) => {
                let (c, a, b) = (self.scalar(*c), self.scalar(*a), self.scalar(*b));
                self.select(t, c, a, b)
            }
            Op::Cast(a, round) => {
                let (from, a) = (self.dtype(*a), self.scalar(*a));
                self.cast(from, t, *round, a)
            }
            Op::Bits(a) => {
                let (from, a) = (self.dtype(*a), self.scalar(*a));
                self.reinterpret(from, t, a)
            }
            Op::Shuffle { mode, value, lane } => {
                let x = self.scalar(*value);
                self.shuffled(*mode, t, x, *lane)
            }
            Op::Vote(vote, a) => {
                let p = self.scalar(*a);
                self.vote(*vote, p)
            }
            Op::Match(a) => {
                let (from, a) = (self.dtype(*a), self.scalar(*a));
                self.matched(from, a)
            }
            Op::Redux(op, a) => {
                let a = self.scalar(*a);
                self.redux(*op, t, a)
            }
            Op::Atom {
                op,
                place,
                operands,
                order,
            } => self
                .atomic(*op, place, operands, order, true)
                .unwrap_or_else(|| Operand::int(0)),
            Op::LoadElement { place, order } => self.load_element(place, order),
            Op::Raw(a, i) => self.whole(*a, *i as usize),
            Op::Elect => self.elect(),
            Op::Written(fragment, inputs) => {
                let results = self.written(fragment, inputs);
                let first = results[0].clone();
                self.results.insert(v, results);
                first
            }
            Op::Also(first, i) => self.results[first][*i as usize].clone(),
            Op::Address(place) => self.address_of(place),
            Op::Load { .. }
            | Op::LoadShared { .. }
            | Op::Splat(_)
            | Op::Map(_)
            | Op::Pick(..)
            | Op::Exchange(_)
            | Op::Reduce(_)
            | Op::Scan(_) => {
                unreachable!("bug: {op:?} gives a register tensor")
            }
        }
    }

    pub(super) fn special_value(&mut self, s: Special) -> Operand {
        match s {
            Special::Thread => self.thread(),
            Special::Lane => self.digit(1, 32),
            Special::Warp => self.digit(32, self.kernel.threads.div_ceil(32)),
            Special::Warpgroup => self.warpgroup(),
            Special::Block(axis) => self.special(isa::Special::ctaid(axis.into())),
            Special::Grid(axis) => self.special(isa::Special::nctaid(axis.into())),
            Special::ClusterRank => self.special(isa::Special::CLUSTER_CTARANK),
            Special::ActiveMask => self.def(Ty::B32, isa::activemask(), []),
        }
    }
}
