//! Captured graphs: many launches given to the device as one.
//!
//! A graph keeps the buffers it uses alive and is ordered like a single piece of work that touches all
//! of them, so it may be launched on any stream of its device, over and over. See [`Stream::capture`]
//! for what a capture may contain.

use crate::device::Device;
use crate::error::LaunchError;
use crate::machine::RawGraph;
use crate::order::Captured;
use crate::stream::Stream;

/// A captured graph.
#[derive(Debug)]
pub struct Graph {
    device: Device,
    raw: RawGraph,
    held: Captured,
    /// Stream of the latest launch: freeing the graph waits for it.
    last: Option<Stream>,
}

impl Graph {
    pub(crate) fn capture(
        stream: &Stream,
        work: impl FnOnce(&Stream) -> Result<(), LaunchError>,
    ) -> Result<Graph, LaunchError> {
        let device = stream.device();
        let machine = device.machine();
        let begin = || {
            let mut state = device.lock();
            if state.order.capturing(stream.id()) {
                return Err(LaunchError::InCapture {
                    doing: "beginning another capture",
                });
            }
            state.order.begin_capture(machine, stream.id())?;
            let raw = state.order.raw(stream.id());
            machine
                .begin_capture(raw)
                .map_err(|error| (error, state.order.end_capture(machine, stream.id())).0)
        };
        begin()?;
        let end = Ending {
            stream,
            armed: true,
        };
        let outcome = work(stream);
        let (graph, held) = end.now();
        let graph = Graph {
            device: device.clone(),
            raw: graph?,
            held,
            last: None,
        };
        outcome.map(|()| graph)
    }

    /// Launches the whole graph. It takes `&mut self` because a graph runs once at a time.
    pub fn launch(&mut self, stream: &Stream) -> Result<(), LaunchError> {
        let machine = self.device.machine();
        if *stream.device() != self.device {
            let place = crate::error::Place {
                kernel: "a captured graph".into(),
                argument: "stream".into(),
            };
            return Err(LaunchError::OtherDevice {
                place: Box::new(place),
                there: stream.device().to_string(),
                here: self.device.to_string(),
            });
        }
        let mut state = self.device.lock();
        let order = &mut state.order;
        if order.capturing(stream.id()) {
            return Err(LaunchError::InCapture {
                doing: "launching another graph",
            });
        }
        for part in &self.held.parts {
            order.before(machine, stream.id(), part.buffer.id(), part.writes)?;
        }
        machine.launch_graph(self.raw, order.raw(stream.id()))?;
        let mark = order.next(stream.id());
        for part in &self.held.parts {
            order.touched(mark, part.buffer.id(), part.writes);
        }
        drop(state);
        self.last = Some(stream.clone());
        Ok(())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Some(stream) = &self.last {
            // A failed kernel has been, or will be, reported by whoever asks for its result.
            let _ = stream.synchronize();
        }
        self.device.machine().drop_graph(self.raw);
    }
}

/// Ends the capture whatever happens inside, a panic included.
struct Ending<'a> {
    stream: &'a Stream,
    armed: bool,
}

impl Ending<'_> {
    fn now(mut self) -> (Result<RawGraph, LaunchError>, Captured) {
        self.armed = false;
        self.end()
    }
    fn end(&self) -> (Result<RawGraph, LaunchError>, Captured) {
        let device = self.stream.device();
        let machine = device.machine();
        let mut state = device.lock();
        let graph = machine.end_capture(state.order.raw(self.stream.id()));
        let held = state.order.end_capture(machine, self.stream.id());
        state.unload_retired(machine);
        (graph, held)
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if self.armed
            && let (Ok(graph), _) = self.end()
        {
            self.stream.device().machine().drop_graph(graph);
        }
    }
}
