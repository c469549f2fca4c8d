//! One piece of device memory, shared by all tensors that view it.
//!
//! The last tensor to go frees it, in stream order behind its last use (see [`crate::order`]), so no
//! host thread waits. Memory that another library owns is viewed in the same way and never freed.

use crate::device::Device;
use crate::error::LaunchError;
use crate::order::BufferId;

/// Bytes of device memory that the tensors of a device hold, and the workspaces that launchers lend to kernels. Memory of
/// others does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Held now.
    pub held: u64,
    /// The most that was ever held.
    pub peak: u64,
    /// The most that the driver's own count of this process reached: of everyone who allocates from the device's pool.
    /// Nothing where no driver counts.
    pub driver_peak: Option<u64>,
}

impl Memory {
    pub(crate) fn take(&mut self, bytes: u64) {
        self.held += bytes;
        self.peak = self.peak.max(self.held);
    }

    pub(crate) fn give(&mut self, bytes: u64) {
        self.held -= bytes;
    }
}

/// Device memory.
#[derive(Debug)]
pub(crate) struct Buffer {
    device: Device,
    id: BufferId,
    address: u64,
    /// Of memory that is freed with the buffer; 0 if it is someone else's.
    bytes: u64,
}

impl Buffer {
    /// Allocates; the content is whatever was there, or zeros. No bytes need no memory.
    pub fn allocate(device: &Device, bytes: u64, zeroed: bool) -> Result<Buffer, LaunchError> {
        let machine = device.machine();
        let mut state = device.lock();
        if bytes > 0 && state.order.capturing(0) {
            return Err(LaunchError::InCapture {
                doing: "allocating a tensor",
            });
        }
        let raw = state.order.raw(0);
        let address = if bytes == 0 {
            0
        } else {
            machine.allocate(bytes, raw)?
        };
        if zeroed
            && bytes > 0
            && let Err(error) = machine.zero(address, bytes, raw)
        {
            machine.free(address, raw);
            return Err(error);
        }
        let id = state.order.register(0);
        state.memory.take(bytes);
        drop(state);
        Ok(Buffer {
            device: device.clone(),
            id,
            address,
            bytes,
        })
    }

    /// Takes over memory that was allocated on a stream of the device.
    pub fn adopt(device: &Device, address: u64, bytes: u64, stream: usize) -> Buffer {
        let mut state = device.lock();
        let id = state.order.register(stream);
        state.memory.take(bytes);
        drop(state);
        Buffer {
            device: device.clone(),
            id,
            address,
            bytes,
        }
    }

    /// Views memory that someone else owns.
    pub fn foreign(device: &Device, address: u64) -> Buffer {
        let id = device.lock().order.register(0);
        Buffer {
            device: device.clone(),
            id,
            address,
            bytes: 0,
        }
    }

    #[inline]
    pub fn device(&self) -> &Device {
        &self.device
    }
    #[inline]
    pub fn id(&self) -> BufferId {
        self.id
    }
    #[inline]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Copies bytes from the host; they have left `bytes` when this returns.
    pub fn upload(&self, offset: u64, bytes: &[u8]) -> Result<(), LaunchError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let machine = self.device.machine();
        let mut state = self.device.lock();
        let (stream, _) = state.order.pin_writer(machine, self.id)?;
        let outcome = if state.order.capturing(stream) {
            Err(LaunchError::InCapture {
                doing: "copying from the host",
            })
        } else {
            state.order.before(machine, stream, self.id, true)
        };
        if let Err(error) = outcome {
            state.order.unpin(machine, stream, None);
            return Err(error);
        }
        let mark = state.order.next(stream);
        state.order.touched(mark, self.id, true);
        let raw = state.order.raw(stream);
        drop(state);
        let done = machine.upload(self.address + offset, bytes, raw);
        self.device
            .lock()
            .order
            .unpin(machine, stream, done.is_ok().then_some(mark.ticket()));
        done
    }

    /// Copies bytes to the host, behind the last write.
    pub fn download(&self, offset: u64, bytes: &mut [u8]) -> Result<(), LaunchError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let machine = self.device.machine();
        let mut state = self.device.lock();
        let (stream, ticket) = state.order.pin_writer(machine, self.id)?;
        if state.order.capturing(stream) {
            state.order.unpin(machine, stream, None);
            return Err(LaunchError::InCapture {
                doing: "copying to the host",
            });
        }
        let raw = state.order.raw(stream);
        drop(state);
        let done = machine.download(self.address + offset, bytes, raw);
        self.device
            .lock()
            .order
            .unpin(machine, stream, done.is_ok().then_some(ticket));
        done
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut state = self.device.lock();
        state.memory.give(self.bytes);
        state.order.release(
            self.device.machine(),
            self.id,
            (self.bytes > 0).then_some(self.address),
        );
    }
}
