//! A machine for this crate's own tests: it does each piece of work as late as it may.
//!
//! Every stream is a queue that runs only when the host waits for it, or as far as another stream's
//! wait demands; so work that is not ordered runs in the wrong order, and memory freed too early is gone when
//! its kernel comes. "Kernels" are host functions found by the entry's name.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use tiki_kernel::target::Target;

use crate::device::Device;
use crate::error::{LaunchError, Status};
use crate::machine::{
    Entry, Kind, Machine, RawEvent, RawFunction, RawGraph, RawModule, RawStream, Shot, Traits, Unit,
};

/// What happened, for tests to ask.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Counts {
    pub launches: usize,
    pub records: usize,
    pub waits: usize,
    pub frees: usize,
    pub loads: usize,
    pub unloads: usize,
    pub live_events: usize,
    pub live_streams: usize,
    pub live_graphs: usize,
    pub live_bytes: usize,
    /// Tensor maps written.
    pub maps: usize,
}

#[derive(Debug, Clone)]
enum Op {
    Launch {
        program: usize,
        grid: [u32; 3],
        words: Vec<u64>,
    },
    Zero {
        address: u64,
        bytes: u64,
    },
    Copy {
        from: u64,
        to: u64,
        bytes: u64,
    },
    Free {
        address: u64,
    },
    Record {
        stamp: u64,
    },
    Wait {
        stream: u64,
        stamp: u64,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub counts: Counts,
    pub memory: Memory,
    next: u64,
    queues: HashMap<u64, VecDeque<Op>>,
    events: HashMap<u64, (u64, u64)>,
    reached: HashSet<u64>,
    captures: HashMap<u64, Vec<Op>>,
    graphs: HashMap<u64, Vec<Op>>,
    fault: Option<String>,
    /// Launches are counted and forgotten.
    forgets: bool,
}

/// Live allocations.
#[derive(Debug, Default)]
pub(crate) struct Memory(BTreeMap<u64, Vec<u8>>);

impl Memory {
    fn at(&mut self, address: u64, bytes: usize) -> Result<&mut [u8], String> {
        let found = self.0.range_mut(..=address).next_back();
        let place = found.and_then(|(start, block)| {
            let from = (address - start) as usize;
            block.get_mut(from..from.checked_add(bytes)?)
        });
        place.ok_or_else(|| {
            format!("access to {bytes} bytes at {address:#x}, which are not allocated")
        })
    }
    fn f32(&mut self, address: u64, i: u64) -> Result<f32, String> {
        let bytes = self.at(address + 4 * i, 4)?;
        Ok(f32::from_le_bytes(bytes.try_into().unwrap()))
    }
    fn set_f32(&mut self, address: u64, i: u64, value: f32) -> Result<(), String> {
        self.at(address + 4 * i, 4)?
            .copy_from_slice(&value.to_le_bytes());
        Ok(())
    }
}

type Program = fn(&mut Memory, [u32; 3], &[u64]) -> Result<(), String>;

/// Programs by entry name. Vectors come as address and extent.
const PROGRAMS: &[(&str, Program)] = &[
    // out = x + by, elementwise
    ("add", |memory, _, words| {
        let &[x, n, out, _, by] = words else {
            return Err(format!("add takes 5 words, not {words:?}"));
        };
        for i in 0..n {
            let sum = memory.f32(x, i)? + f32::from_bits(by as u32);
            memory.set_f32(out, i, sum)?;
        }
        Ok(())
    }),
    // as `add`, addresses alone
    ("bare", |memory, grid, words| {
        let &[x, out, by] = words else {
            return Err(format!("bare takes 3 words, not {words:?}"));
        };
        for i in 0..u64::from(grid[0]) {
            let sum = memory.f32(x, i)? + f32::from_bits(by as u32);
            memory.set_f32(out, i, sum)?;
        }
        Ok(())
    }),
    // adds 1 to the workspace's first number and stores it to out
    ("count", |memory, _, words| {
        let &[out, _, workspace, _] = words else {
            return Err(format!("count takes 4 words, not {words:?}"));
        };
        let count = memory.f32(workspace, 0)? + 1.0;
        memory.set_f32(workspace, 0, count)?;
        memory.set_f32(out, 0, count)
    }),
    // writes the tensor maps it was passed, behind three matrices, to the third
    ("maps", |memory, _, words| {
        let (&out, maps) = (&words[6], &words[9..]);
        let bytes: Vec<u8> = maps.iter().flat_map(|w| w.to_le_bytes()).collect();
        memory.at(out, bytes.len())?.copy_from_slice(&bytes);
        Ok(())
    }),
    ("spills", |_, _, _| Ok(())),
    ("strided", |_, _, _| Ok(())),
];

impl Inner {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
    fn put(&mut self, stream: RawStream, op: Op) {
        match self.captures.get_mut(&stream.0) {
            Some(graph) => graph.push(op),
            None => self.queues.entry(stream.0).or_default().push_back(op),
        }
    }
    /// Runs a stream's queue, to the end or until a stamp is reached.
    fn run(&mut self, stream: u64, until: Option<u64>) {
        while until.is_none_or(|stamp| !self.reached.contains(&stamp)) {
            let Some(op) = self.queues.get_mut(&stream).and_then(VecDeque::pop_front) else {
                return;
            };
            let done = match op {
                Op::Launch {
                    program,
                    grid,
                    words,
                } => (PROGRAMS[program].1)(&mut self.memory, grid, &words),
                Op::Zero { address, bytes } => {
                    self.memory.at(address, bytes as usize).map(|to| to.fill(0))
                }
                Op::Copy { from, to, bytes } => {
                    let copied = self.memory.at(from, bytes as usize).map(|b| b.to_vec());
                    copied
                        .and_then(|b| self.memory.at(to, b.len()).map(|to| to.copy_from_slice(&b)))
                }
                Op::Free { address } => {
                    let freed = self.memory.0.remove(&address).expect("freed once");
                    self.counts.live_bytes -= freed.len();
                    self.counts.frees += 1;
                    Ok(())
                }
                Op::Record { stamp } => {
                    self.reached.insert(stamp);
                    Ok(())
                }
                Op::Wait { stream, stamp } => {
                    self.run(stream, Some(stamp));
                    Ok(())
                }
            };
            if let Err(report) = done {
                self.fault.get_or_insert(report);
            }
        }
    }
    fn finish(&mut self, stream: u64) -> Result<(), LaunchError> {
        self.run(stream, None);
        match self.fault.clone() {
            Some(report) => Err(LaunchError::Fault {
                doing: "waiting for a stream".into(),
                report,
                fault: None,
            }),
            None => Ok(()),
        }
    }
}

/// The test's hand on the machine.
#[derive(Debug, Clone)]
pub(crate) struct Double {
    traits: Arc<Traits>,
    inner: Arc<Mutex<Inner>>,
}

impl Double {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }
    pub fn counts(&self) -> Counts {
        self.inner().counts.clone()
    }
    /// From here on launches are counted and forgotten, so that they need no memory.
    pub fn forget_launches(&self) {
        self.inner().forgets = true;
    }
    /// Runs everything that was given to any stream.
    pub fn run_all(&self) {
        let mut inner = self.inner();
        let mut streams: Vec<u64> = inner.queues.keys().copied().collect();
        streams.sort_unstable();
        for stream in streams {
            inner.run(stream, None);
        }
        assert_eq!(inner.fault, None);
    }
}

/// A device over a fresh double, with the default target's capability.
pub(crate) fn device() -> (Device, Double) {
    device_of(Kind::Vm)
}

/// The same as another kind of machine.
pub(crate) fn device_of(kind: Kind) -> (Device, Double) {
    let row = Target::default_target().row();
    let traits = Traits {
        name: "a test double".into(),
        kind,
        capability: row.capability,
        multiprocessors: 4,
        shared_per_block: row.shared_per_block,
        driver: "none".into(),
    };
    let double = Double {
        traits: Arc::new(traits),
        inner: Arc::default(),
    };
    (Device::over(Box::new(double.clone())).unwrap(), double)
}

impl Machine for Double {
    fn traits(&self) -> &Traits {
        &self.traits
    }
    fn allocate(&self, bytes: u64, _: RawStream) -> Result<u64, LaunchError> {
        if bytes > 1 << 30 {
            return Err(LaunchError::OutOfMemory { bytes });
        }
        let mut inner = self.inner();
        let address = 0x1000 + inner.number() * 0x100_0000;
        inner.memory.0.insert(address, vec![0xcd; bytes as usize]);
        inner.counts.live_bytes += bytes as usize;
        Ok(address)
    }
    fn free(&self, address: u64, stream: RawStream) {
        self.inner().put(stream, Op::Free { address });
    }
    fn zero(&self, address: u64, bytes: u64, stream: RawStream) -> Result<(), LaunchError> {
        self.inner().put(stream, Op::Zero { address, bytes });
        Ok(())
    }
    fn upload(&self, address: u64, bytes: &[u8], stream: RawStream) -> Result<(), LaunchError> {
        let mut inner = self.inner();
        inner.finish(stream.0)?;
        inner
            .memory
            .at(address, bytes.len())
            .unwrap()
            .copy_from_slice(bytes);
        Ok(())
    }
    fn download(
        &self,
        address: u64,
        bytes: &mut [u8],
        stream: RawStream,
    ) -> Result<(), LaunchError> {
        let mut inner = self.inner();
        inner.finish(stream.0)?;
        bytes.copy_from_slice(inner.memory.at(address, bytes.len()).unwrap());
        Ok(())
    }
    fn copy(&self, from: u64, to: u64, bytes: u64, stream: RawStream) -> Result<(), LaunchError> {
        self.inner().put(stream, Op::Copy { from, to, bytes });
        Ok(())
    }
    fn new_stream(&self) -> Result<RawStream, LaunchError> {
        let mut inner = self.inner();
        inner.counts.live_streams += 1;
        Ok(RawStream(inner.number()))
    }
    fn drop_stream(&self, _: RawStream) {
        self.inner().counts.live_streams -= 1; // its queue goes on, as on a GPU
    }
    fn synchronize(&self, stream: RawStream) -> Result<(), LaunchError> {
        self.inner().finish(stream.0)
    }
    fn new_event(&self, _: bool) -> Result<RawEvent, LaunchError> {
        let mut inner = self.inner();
        inner.counts.live_events += 1;
        Ok(RawEvent(inner.number()))
    }
    fn drop_event(&self, _: RawEvent) {
        self.inner().counts.live_events -= 1;
    }
    fn record(&self, event: RawEvent, stream: RawStream) -> Result<(), LaunchError> {
        let mut inner = self.inner();
        assert!(
            !inner.captures.contains_key(&stream.0),
            "an event of ours inside a graph"
        );
        let stamp = inner.number();
        inner.events.insert(event.0, (stream.0, stamp));
        inner.put(stream, Op::Record { stamp });
        inner.counts.records += 1;
        Ok(())
    }
    fn wait(&self, stream: RawStream, event: RawEvent) -> Result<(), LaunchError> {
        let mut inner = self.inner();
        let (other, stamp) = inner.events[&event.0];
        inner.put(
            stream,
            Op::Wait {
                stream: other,
                stamp,
            },
        );
        inner.counts.waits += 1;
        Ok(())
    }
    fn reached(&self, event: RawEvent) -> bool {
        let inner = self.inner();
        inner
            .events
            .get(&event.0)
            .is_some_and(|(_, stamp)| inner.reached.contains(stamp))
    }
    fn elapsed_us(&self, _: RawEvent, _: RawEvent) -> Result<f64, LaunchError> {
        Ok(1.0)
    }
    fn load(&self, unit: &Unit<'_>) -> Result<Entry, LaunchError> {
        let mut inner = self.inner();
        if unit.ptx == "nonsense" {
            return Err(LaunchError::Refused {
                kernel: unit.kernel.into(),
                log: "line 1: nonsense".into(),
                status: Box::new(Status {
                    number: 218,
                    name: "INVALID".into(),
                    text: "bad text".into(),
                }),
            });
        }
        let Some(program) = PROGRAMS.iter().position(|(name, _)| *name == unit.entry) else {
            return Err(LaunchError::NoEntry {
                kernel: unit.kernel.into(),
                entry: unit.entry.into(),
            });
        };
        inner.counts.loads += 1;
        Ok(Entry {
            module: RawModule(inner.number()),
            function: RawFunction(program as u64),
            registers: 24,
            local_bytes: if unit.entry == "spills" { 8 } else { 0 },
            static_shared: 0,
        })
    }
    fn unload(&self, _: RawModule) {
        let mut inner = self.inner();
        assert!(
            inner.captures.is_empty(),
            "code taken away during a capture"
        );
        inner.counts.unloads += 1;
    }
    fn launch(&self, shot: &Shot<'_>, stream: RawStream) -> Result<(), LaunchError> {
        let program = shot.function.0 as usize;
        let mut inner = self.inner();
        inner.counts.launches += 1;
        if inner.forgets {
            return Ok(());
        }
        let mut words = shot.words.to_vec();
        words.extend(shot.maps.iter().flat_map(|map| map.0));
        inner.put(
            stream,
            Op::Launch {
                program,
                grid: shot.grid,
                words,
            },
        );
        Ok(())
    }
    fn tensor_map(
        &self,
        of: &crate::tensor_map::MapOf,
    ) -> Result<crate::tensor_map::Map, LaunchError> {
        self.inner().counts.maps += 1;
        let mut words = [0; 16];
        words[0] = of.address;
        words[1] = u64::from(of.swizzle) << 32 | u64::from(of.dtype.bytes());
        words[2..7].copy_from_slice(&of.extents);
        words[7..11].copy_from_slice(&of.pitches);
        for (word, tile) in words[11..].iter_mut().zip(of.tile) {
            *word = tile.into();
        }
        Ok(crate::tensor_map::Map(words))
    }
    fn begin_capture(&self, stream: RawStream) -> Result<(), LaunchError> {
        self.inner().captures.insert(stream.0, Vec::new());
        Ok(())
    }
    fn end_capture(&self, stream: RawStream) -> Result<RawGraph, LaunchError> {
        let mut inner = self.inner();
        let ops = inner.captures.remove(&stream.0).expect("a capture to end");
        assert!(
            !ops.iter()
                .any(|op| matches!(op, Op::Free { .. } | Op::Wait { .. })),
            "{ops:?}"
        );
        let graph = inner.number();
        inner.graphs.insert(graph, ops);
        inner.counts.live_graphs += 1;
        Ok(RawGraph(graph))
    }
    fn launch_graph(&self, graph: RawGraph, stream: RawStream) -> Result<(), LaunchError> {
        let mut inner = self.inner();
        for op in inner.graphs[&graph.0].clone() {
            inner.put(stream, op);
        }
        Ok(())
    }
    fn drop_graph(&self, graph: RawGraph) {
        let mut inner = self.inner();
        inner.graphs.remove(&graph.0);
        inner.counts.live_graphs -= 1;
    }
}
