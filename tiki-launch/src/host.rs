//! The virtual machine as a device: [`crate::machine::Machine`] over [`crate::vm`].
//!
//! It finishes each piece of work before it returns. So streams are only names, an event is the moment at
//! which it was recorded, and a kernel that breaks is reported by its own launch. A stream under capture
//! notes launches, copies and clears; launching the graph does them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tiki_kernel::dtype::DType;
use tiki_kernel::isa::Ty;
use tiki_kernel::target::Target;

use crate::error::{LaunchError, Status};
use crate::machine::{
    Entry, Kind, Machine, RawEvent, RawFunction, RawGraph, RawModule, RawStream, Shot, Traits, Unit,
};
use crate::tensor_map::{Map, MapOf};
use crate::vm::{MemoryError, Options, Printed, Program, Swizzle, TensorMap, Vm};

/// Multiprocessors that a persistent grid is told of: few, so that a block has several tiles to go through.
const MULTIPROCESSORS: u32 = 4;

/// Opens a virtual machine that imitates a card of this target.
pub(crate) fn open(target: Target, options: Options) -> Box<dyn Machine> {
    let row = target.row();
    let traits = Traits {
        name: format!("virtual machine of {target}"),
        kind: Kind::Vm,
        capability: row.capability,
        multiprocessors: MULTIPROCESSORS,
        shared_per_block: row.shared_per_block,
        driver: format!("tiki {}", env!("CARGO_PKG_VERSION")),
    };
    Box::new(Host {
        traits,
        options,
        vm: Vm::new(),
        inner: Mutex::default(),
    })
}

#[derive(Debug)]
struct Host {
    traits: Traits,
    options: Options,
    vm: Vm,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    last: u64,
    modules: HashMap<u64, Arc<Module>>,
    events: HashMap<u64, Instant>,
    captures: HashMap<u64, Vec<Work>>,
    graphs: HashMap<u64, Arc<[Work]>>,
}

#[derive(Debug)]
struct Module {
    program: Program,
    entry: String,
}

/// A piece of work that a graph can hold.
#[derive(Debug, Clone)]
enum Work {
    Launch {
        kernel: String,
        module: u64,
        geometry: Geometry,
        params: Vec<u8>,
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
}

#[derive(Debug, Clone, Copy)]
struct Geometry {
    grid: [u32; 3],
    block: [u32; 3],
    cluster: u32,
    dynamic_shared: u32,
}

impl Inner {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

impl Host {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work now, or notes it where the stream is under capture.
    fn give(&self, stream: RawStream, work: Work) -> Result<(), LaunchError> {
        if let Some(noted) = self.inner().captures.get_mut(&stream.0) {
            noted.push(work);
            return Ok(());
        }
        self.execute(&work)
    }

    fn execute(&self, work: &Work) -> Result<(), LaunchError> {
        match work {
            Work::Zero { address, bytes } => pieces(*bytes)
                .try_for_each(|(at, bytes)| self.vm.write(address + at, &[0; PIECE][..bytes]))
                .map_err(|e| failed("clearing memory", &e)),
            Work::Copy { from, to, bytes } => {
                let mut between = [0; PIECE];
                let mut one = |(at, bytes): (u64, usize)| {
                    let between = &mut between[..bytes];
                    self.vm.read(from + at, between)?;
                    self.vm.write(to + at, between)
                };
                // What is still to be read must not be written yet.
                let copied = if to > from {
                    pieces(*bytes).rev().try_for_each(&mut one)
                } else {
                    pieces(*bytes).try_for_each(&mut one)
                };
                copied.map_err(|e| failed("copying on the machine", &e))
            }
            Work::Launch {
                kernel,
                module,
                geometry,
                params,
            } => {
                let module = self.inner().modules.get(module).cloned();
                let Some(module) = module else {
                    return Err(LaunchError::NoEntry {
                        kernel: kernel.clone(),
                        entry: String::new(),
                    });
                };
                let &Geometry {
                    grid,
                    block,
                    cluster,
                    dynamic_shared,
                } = geometry;
                let mut options = self.options.clone();
                if cluster > 1 {
                    options.cluster = [cluster, 1, 1];
                }
                // A card's driver prints to the program's output too.
                let printed = Printed::default();
                options.printed.get_or_insert_with(|| printed.clone());
                let params = params.clone();
                let ran = self.vm.launch_raw(
                    &module.program,
                    &module.entry,
                    grid,
                    block,
                    dynamic_shared,
                    params,
                    &options,
                );
                print!("{}", printed.take());
                ran.map(drop).map_err(|fault| LaunchError::Fault {
                    doing: format!("running kernel `{kernel}`").into(),
                    report: fault.to_string(),
                    fault: Some(fault),
                })
            }
        }
    }
}

/// Bytes that are cleared or copied at once.
const PIECE: usize = 1 << 14;

/// Offset and length of each piece of a range.
fn pieces(bytes: u64) -> impl DoubleEndedIterator<Item = (u64, usize)> {
    let piece = PIECE as u64;
    (0..bytes.div_ceil(piece)).map(move |i| (i * piece, piece.min(bytes - i * piece) as usize))
}

fn failed(doing: &'static str, error: &MemoryError) -> LaunchError {
    let status = Status {
        number: 0,
        name: "memory".into(),
        text: error.to_string(),
    };
    LaunchError::Driver {
        doing: doing.into(),
        status: Box::new(status),
    }
}

impl Machine for Host {
    fn traits(&self) -> &Traits {
        &self.traits
    }

    fn allocate(&self, bytes: u64, _: RawStream) -> Result<u64, LaunchError> {
        let name = format!("buffer of {bytes} bytes");
        self.vm
            .alloc(bytes, &name)
            .map_err(|_| LaunchError::OutOfMemory { bytes })
    }
    fn free(&self, address: u64, _: RawStream) {
        self.vm.free(address);
    }
    fn zero(&self, address: u64, bytes: u64, stream: RawStream) -> Result<(), LaunchError> {
        self.give(stream, Work::Zero { address, bytes })
    }
    fn upload(&self, address: u64, bytes: &[u8], _: RawStream) -> Result<(), LaunchError> {
        self.vm
            .write(address, bytes)
            .map_err(|e| failed("copying to the machine", &e))
    }
    fn download(&self, address: u64, bytes: &mut [u8], _: RawStream) -> Result<(), LaunchError> {
        self.vm
            .read(address, bytes)
            .map_err(|e| failed("copying from the machine", &e))
    }
    fn copy(&self, from: u64, to: u64, bytes: u64, stream: RawStream) -> Result<(), LaunchError> {
        self.give(stream, Work::Copy { from, to, bytes })
    }

    fn new_stream(&self) -> Result<RawStream, LaunchError> {
        Ok(RawStream(self.inner().number()))
    }
    fn drop_stream(&self, _: RawStream) {}
    fn synchronize(&self, _: RawStream) -> Result<(), LaunchError> {
        Ok(())
    }
    fn new_event(&self, _: bool) -> Result<RawEvent, LaunchError> {
        Ok(RawEvent(self.inner().number()))
    }
    fn drop_event(&self, event: RawEvent) {
        self.inner().events.remove(&event.0);
    }
    fn record(&self, event: RawEvent, _: RawStream) -> Result<(), LaunchError> {
        self.inner().events.insert(event.0, Instant::now());
        Ok(())
    }
    fn wait(&self, _: RawStream, _: RawEvent) -> Result<(), LaunchError> {
        Ok(())
    }
    fn reached(&self, _: RawEvent) -> bool {
        true
    }
    fn elapsed_us(&self, start: RawEvent, end: RawEvent) -> Result<f64, LaunchError> {
        let inner = self.inner();
        let at = |event: RawEvent| inner.events.get(&event.0).copied();
        let between = at(end)
            .zip(at(start))
            .map(|(end, start)| end.saturating_duration_since(start));
        Ok(between.map_or(f64::NAN, |d| d.as_secs_f64() * 1e6))
    }

    fn load(&self, unit: &Unit<'_>) -> Result<Entry, LaunchError> {
        let kernel = || unit.kernel.to_string();
        let program = self
            .vm
            .load(unit.ptx)
            .map_err(|error| LaunchError::Refused {
                kernel: kernel(),
                log: error.to_string(),
                status: Box::new(Status {
                    number: 0,
                    name: "not understood".into(),
                    text: "the virtual machine cannot run this text".into(),
                }),
            })?;
        let (Some((static_shared, local_bytes)), Some(declared)) =
            (program.usage(unit.entry), program.params(unit.entry))
        else {
            self.vm.unload(program);
            return Err(LaunchError::NoEntry {
                kernel: kernel(),
                entry: unit.entry.into(),
            });
        };
        let bytes = static_shared.saturating_add(unit.dynamic_shared);
        let limit = self.traits.shared_per_block;
        let wrong = (0..declared.len().max(unit.widths.len())).find_map(|index| {
            let declared = declared.get(index).map(|&(_, size)| size as usize);
            let described = unit.widths.get(index).map(|&width| usize::from(width));
            (declared != described).then(|| LaunchError::Parameters {
                kernel: kernel(),
                index,
                declared,
                described,
            })
        });
        let refused = wrong.or_else(|| {
            (bytes > limit).then(|| LaunchError::Shared {
                kernel: kernel(),
                bytes,
                limit,
            })
        });
        if let Some(error) = refused {
            self.vm.unload(program);
            return Err(error);
        }
        let mut inner = self.inner();
        let number = inner.number();
        inner.modules.insert(
            number,
            Arc::new(Module {
                program,
                entry: unit.entry.into(),
            }),
        );
        Ok(Entry {
            module: RawModule(number),
            function: RawFunction(number),
            registers: 0,
            local_bytes,
            static_shared,
        })
    }
    fn unload(&self, module: RawModule) {
        let removed = self.inner().modules.remove(&module.0);
        if let Some(module) = removed.and_then(Arc::into_inner) {
            self.vm.unload(module.program);
        }
    }
    fn launch(&self, shot: &Shot<'_>, stream: RawStream) -> Result<(), LaunchError> {
        self.give(
            stream,
            Work::Launch {
                kernel: shot.kernel.into(),
                module: shot.function.0,
                geometry: Geometry {
                    grid: shot.grid,
                    block: shot.block,
                    cluster: shot.cluster,
                    dynamic_shared: shot.dynamic_shared,
                },
                params: shot.packed(),
            },
        )
    }

    fn tensor_map(&self, of: &MapOf) -> Result<Map, LaunchError> {
        let refused = |why: String| LaunchError::Refused {
            kernel: "a tensor map".into(),
            log: why,
            status: Box::default(),
        };
        let swizzle = match of.swizzle {
            0 => Swizzle::None,
            32 => Swizzle::B32,
            64 => Swizzle::B64,
            _ => Swizzle::B128,
        };
        // Single precision with a shorter fraction is stored as it is, 8-bit floats are bytes.
        let ty = match of.dtype {
            DType::TF32 => Ty::F32,
            DType::E4M3 | DType::E5M2 | DType::BOOL => Ty::U8,
            t => Ty::of_arithmetic(t),
        };
        let map = TensorMap {
            ty,
            address: of.address,
            dims: of.extents[..of.rank].to_vec(),
            strides: of.pitches[..of.rank.saturating_sub(1)].to_vec(),
            extent: of.tile[..of.rank].to_vec(),
            swizzle,
            nan_outside: false,
        };
        let bytes = map.encode().map_err(refused)?;
        let mut words = [0; 16];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
        }
        Ok(Map(words))
    }

    fn begin_capture(&self, stream: RawStream) -> Result<(), LaunchError> {
        self.inner().captures.insert(stream.0, Vec::new());
        Ok(())
    }
    fn end_capture(&self, stream: RawStream) -> Result<RawGraph, LaunchError> {
        let mut inner = self.inner();
        let noted = inner.captures.remove(&stream.0).unwrap_or_default();
        let number = inner.number();
        inner.graphs.insert(number, noted.into());
        Ok(RawGraph(number))
    }
    fn launch_graph(&self, graph: RawGraph, _: RawStream) -> Result<(), LaunchError> {
        let noted = self.inner().graphs.get(&graph.0).cloned();
        noted
            .iter()
            .flat_map(|work| work.iter())
            .try_for_each(|work| self.execute(work))
    }
    fn drop_graph(&self, graph: RawGraph) {
        self.inner().graphs.remove(&graph.0);
    }
}

#[cfg(test)]
mod tests;
