//! Asynchronous statements.

use super::Lower;
use crate::ir::Async;
use crate::ptx::Operand;

impl<'a> Lower<'a> {
    pub(super) fn asynchronous(&mut self, a: &'a Async) {
        unreachable!("bug: {a:?} has no lowering yet")
    }

    pub(super) fn warpgroup(&mut self) -> Operand {
        unreachable!("bug: warpgroups have no lowering yet")
    }

    pub(super) fn elect(&mut self) -> Operand {
        unreachable!("bug: no lowering yet for an election")
    }
}
