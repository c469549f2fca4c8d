use super::Lower;
use crate::ir::TensorCopy;
impl Lower<'_> {
    pub(super) fn tensor_copy(&mut self, copy: &TensorCopy) {
        unreachable!("bug: {copy:?} has no lowering yet")
    }
}
