use super::Lower;
use crate::ir::Mma;
impl<'a> Lower<'a> {
    pub(super) fn warpgroup_product(&mut self, mma: &'a Mma, zero: bool) {
        unreachable!("bug: {mma:?} {zero} has no lowering yet")
    }
}
