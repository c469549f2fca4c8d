//! Transaction barriers.
//!
//! | operation | text | by |
//! | --- | --- | --- |
//! | `Init(n)` | set the count | one thread |
//! | `Wait(parity)` | ask until the phase is over; each asking may sleep a while | every thread that comes here |
//! | `Arrive`, `ArriveExpect`, `Expect` | | every thread that comes here |
//! | `ArriveAt(block)` | map the address into the other block, arrive there | every thread that comes here |

use super::Lower;
use crate::ir::{SharedView, Transaction};
use crate::isa::{self, Space, Ty};
use crate::ptx::{Base, Guard, Operand};

impl Lower<'_> {
    /// An operation on a barrier.
    pub(super) fn transaction(&mut self, barrier: &SharedView, op: &Transaction) {
        let at = self.shared_place(barrier);
        match op {
            Transaction::Init(n) => {
                let init = isa::mbarrier_init().with(Space::SharedCta);
                self.ins(None, init, vec![at, Operand::int(*n)]);
            }
            Transaction::Wait(parity) => {
                let parity = self.scalar(*parity);
                let again = self.b.label("wait");
                self.b.place(again);
                self.unpacked = None;
                let over = self.def(
                    Ty::Pred,
                    isa::mbarrier_try_wait_parity().with(Space::SharedCta),
                    [at, parity],
                );
                let Operand::Reg(reg) = over else { return };
                let negated = Some(Guard { reg, negated: true });
                self.ins(negated, isa::bra(), vec![again.into()]);
            }
            Transaction::Arrive => {
                let arrive = isa::mbarrier_arrive().with(Space::SharedCta);
                self.ins(None, arrive, vec![Operand::Sink, at]);
            }
            Transaction::ArriveExpect(bytes) => {
                let arrive = isa::mbarrier_arrive_expect().with(Space::SharedCta);
                let operands = vec![Operand::Sink, at, Operand::int(*bytes)];
                self.ins(None, arrive, operands);
            }
            Transaction::Expect(bytes) => {
                self.ins(None, isa::mbarrier_expect(), vec![at, Operand::int(*bytes)]);
            }
            Transaction::ArriveAt(block) => {
                let block = self.scalar(*block);
                let here = self.address_value(&at);
                let there = self.def(Ty::B32, isa::mapa(), [here, block]);
                let there = self.register(&there, Ty::B32);
                let operands = vec![Operand::Sink, Operand::addr(there, 0)];
                self.ins(None, isa::mbarrier_arrive_at(), operands);
            }
        }
    }

    /// A shared address as a value.
    pub(super) fn address_value(&mut self, at: &Operand) -> Operand {
        let Operand::Addr { base, offset, .. } = at else {
            return at.clone();
        };
        let base = match base {
            Base::Reg(r) => (*r).into(),
            _ => self.shared_symbol(),
        };
        self.add_const(base, *offset)
    }
}
