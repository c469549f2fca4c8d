//! Memory the launcher lends to kernels that ask for a workspace.
//!
//! One piece per stream, as large as the largest asked for: kernels of one stream run in order, so they
//! share it. A captured graph gets a piece of its own, since it may be launched on any stream later.

use std::sync::Arc;

use crate::buffer::{Buffer, Memory};
use crate::device::Device;
use crate::error::LaunchError;
use crate::machine::Machine;
use crate::order::{BufferId, Order};

/// The pieces, by stream.
#[derive(Debug, Default)]
pub(crate) struct Workspaces(Vec<Piece>);

#[derive(Debug)]
struct Piece {
    stream: usize,
    buffer: BufferId,
    address: u64,
    bytes: u64,
}

impl Workspaces {
    /// The stream's piece, at least this large.
    pub fn lend(
        &mut self,
        machine: &dyn Machine,
        order: &mut Order,
        memory: &mut Memory,
        stream: usize,
        bytes: u64,
    ) -> Result<u64, LaunchError> {
        if let Some(piece) = self
            .0
            .iter()
            .find(|p| p.stream == stream && p.bytes >= bytes)
        {
            return Ok(piece.address);
        }
        self.forget(machine, order, memory, stream);
        let address = machine.allocate(bytes, order.raw(stream))?;
        memory.take(bytes);
        let buffer = order.register(stream);
        self.0.push(Piece {
            stream,
            buffer,
            address,
            bytes,
        });
        Ok(address)
    }

    /// Frees the stream's piece behind its work.
    pub fn forget(
        &mut self,
        machine: &dyn Machine,
        order: &mut Order,
        memory: &mut Memory,
        stream: usize,
    ) {
        if let Some(i) = self.0.iter().position(|p| p.stream == stream) {
            let piece = self.0.swap_remove(i);
            memory.give(piece.bytes);
            order.release(machine, piece.buffer, Some(piece.address));
        }
    }

    /// Frees all.
    pub fn clear(&mut self, machine: &dyn Machine, order: &mut Order) {
        for piece in self.0.drain(..) {
            order.release(machine, piece.buffer, Some(piece.address));
        }
    }
}

/// A piece for a graph: allocated on a stream of its own, because the captured one would record the allocation.
pub(crate) fn for_graph(device: &Device, bytes: u64) -> Result<Arc<Buffer>, LaunchError> {
    let aside = device.new_stream()?;
    let address = device.machine().allocate(bytes, aside.machine_stream())?;
    aside.synchronize()?;
    Ok(Arc::new(Buffer::adopt(device, address, bytes, aside.id())))
}
