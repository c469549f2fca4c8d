//! Memory that the launcher lends: outputs that the kernel's attribute names as workspaces.
//!
//! All workspaces of a launch lie in one piece, each at a multiple of [`APART`] bytes, zeroed before every launch.
//! The piece is found when the launch is made, because another launch may have exchanged it for a larger one.

use std::sync::MutexGuard;

use tiki_kernel::artifact::ParamKind;

use super::{Answer, Call};
use crate::device::State;
use crate::error::LaunchError;
use crate::machine::Machine;
use crate::order::Order;

/// Bytes of which a workspace begins at a multiple.
const APART: u64 = 256;

impl<'c> Call<'c> {
    /// Has the launcher lend an output of this shape, zeroed.
    pub fn workspace(&mut self, index: usize, shape: &[usize]) -> Answer<&mut Self> {
        let index = self.in_turn(index)?;
        let kind = self.params[index].kind;
        let dtype = match kind {
            ParamKind::Tensor {
                dtype,
                rank,
                writes: true,
                strided: false,
                ..
            } if rank as usize == shape.len() => dtype,
            _ => {
                let given = format!("a workspace of rank {}", shape.len());
                return Err(self.wrong_type(index, kind, given));
            }
        };
        if shape.iter().any(|&extent| extent > u32::MAX as usize) {
            return Err(self.too_long(index, shape));
        }
        let count = shape.iter().try_fold(1u64, |n, &e| n.checked_mul(e as u64));
        let bytes = count.and_then(|n| n.checked_mul(dtype.bytes().into()));
        let Some(bytes) = bytes.filter(|n| *n < 1 << 48) else {
            return Err(Box::new(LaunchError::TooLarge {
                shape: shape.to_vec(),
                dtype,
            }));
        };
        let word = self.args.words().len();
        self.push(0)?;
        for &extent in shape {
            self.push(extent as u64)?;
        }
        if self.lent.try_push((word as u8, bytes)).is_err() {
            return Err(self.wrong_count(self.given));
        }
        Ok(self)
    }

    /// Finds the piece, under the device's lock, and lends from it.
    #[inline(never)]
    pub(super) fn lend_workspaces(
        &mut self,
        mut lock: MutexGuard<'c, State>,
    ) -> Result<MutexGuard<'c, State>, LaunchError> {
        let (device, stream, bytes) = (self.stream.device(), self.stream.id(), self.lent_bytes());
        let machine = device.machine();
        if lock.order.capturing(stream) {
            drop(lock);
            let buffer = crate::workspace::for_graph(device, bytes)?;
            lock = device.lock();
            lock.order.capture(stream, &buffer, true);
            self.lend(machine, &mut lock.order, buffer.address())?;
        } else {
            let state = &mut *lock;
            let (order, memory) = (&mut state.order, &mut state.memory);
            let address = (state.workspaces).lend(machine, order, memory, stream, bytes)?;
            self.lend(machine, order, address)?;
        }
        Ok(lock)
    }

    /// Bytes of the piece; 0 if nothing is lent.
    fn lent_bytes(&self) -> u64 {
        self.lent.iter().fold(0, |end, (_, bytes)| {
            end.next_multiple_of(APART) + (*bytes).max(1)
        })
    }

    /// Lends from the piece at `address`, and has it zeroed.
    fn lend(
        &mut self,
        machine: &dyn Machine,
        order: &mut Order,
        address: u64,
    ) -> Result<(), LaunchError> {
        let mut at = 0u64;
        for (word, bytes) in &self.lent {
            at = at.next_multiple_of(APART);
            self.args.set(usize::from(*word), address + at);
            at += (*bytes).max(1);
        }
        machine.zero(address, at, order.raw(self.stream.id()))
    }
}
