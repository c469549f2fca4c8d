//! Streams: where work is put, in order.
//!
//! Launches take a stream explicitly. Work on one stream runs in order; two streams run side by side
//! except where they touch the same tensor, which the library orders by itself (see the crate's page).
//! A stream may be dropped while its work runs.

use std::sync::Arc;

use crate::device::Device;
use crate::error::LaunchError;
use crate::graph::Graph;
use crate::machine::RawStream;

/// A stream of a device.
#[derive(Debug, Clone)]
pub struct Stream {
    device: Device,
    id: usize,
    /// Ends the stream with the last handle; the default stream lives as long as its device.
    _owner: Option<Arc<Owner>>,
}

#[derive(Debug)]
struct Owner {
    device: Device,
    id: usize,
}

impl Drop for Owner {
    fn drop(&mut self) {
        let machine = self.device.machine();
        let mut state = self.device.lock();
        let state = &mut *state;
        let (order, memory) = (&mut state.order, &mut state.memory);
        state.workspaces.forget(machine, order, memory, self.id);
        state.order.close(machine, self.id);
    }
}

impl Stream {
    pub(crate) fn default_of(device: &Device) -> Stream {
        Stream {
            device: device.clone(),
            id: 0,
            _owner: None,
        }
    }

    pub(crate) fn open(device: &Device) -> Result<Stream, LaunchError> {
        let raw = device.machine().new_stream()?;
        Stream::enter(device, raw, true).inspect_err(|_| device.machine().drop_stream(raw))
    }

    /// Enters a stream of the machine; `owned` ones are destroyed with the last handle.
    pub(crate) fn enter(
        device: &Device,
        raw: RawStream,
        owned: bool,
    ) -> Result<Stream, LaunchError> {
        let id = device.lock().order.open(device.machine(), raw, owned)?;
        let owner = Owner {
            device: device.clone(),
            id,
        };
        Ok(Stream {
            device: device.clone(),
            id,
            _owner: Some(Arc::new(owner)),
        })
    }

    /// The device it belongs to.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }
    #[inline]
    pub(crate) fn id(&self) -> usize {
        self.id
    }

    /// Waits on the host until all work given to this stream so far has finished. A kernel that failed
    /// while running is reported here.
    pub fn synchronize(&self) -> Result<(), LaunchError> {
        let machine = self.device.machine();
        let mut state = self.device.lock();
        if state.order.capturing(self.id) {
            return Err(LaunchError::InCapture {
                doing: "synchronising",
            });
        }
        let (ticket, raw) = (state.order.pin(self.id), state.order.raw(self.id));
        drop(state);
        let done = machine.synchronize(raw);
        self.device
            .lock()
            .order
            .unpin(machine, self.id, done.is_ok().then_some(ticket));
        done
    }

    /// Records everything `work` launches on this stream into a graph instead of running it.
    ///
    /// Allowed inside: launches and device-to-device copies on this stream, from this thread; dropping
    /// tensors (the graph keeps what it uses); anything at all on other streams, which stays outside the
    /// graph. Not allowed: allocation if this is the default stream, transfers to or from the host of
    /// tensors last written on this stream, synchronising it; each is an error (TL027), and the capture ends.
    /// A kernel may be loaded inside. Arguments are fixed at capture; tensors are the same memory each time.
    pub fn capture(
        &self,
        work: impl FnOnce(&Stream) -> Result<(), LaunchError>,
    ) -> Result<Graph, LaunchError> {
        Graph::capture(self, work)
    }

    /// The machine's own number of the stream: a `CUstream` on a GPU.
    #[must_use]
    pub fn raw(&self) -> u64 {
        self.machine_stream().0
    }
    pub(crate) fn machine_stream(&self) -> RawStream {
        self.device.lock().order.raw(self.id)
    }
}
