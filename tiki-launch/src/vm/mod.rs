//! The virtual machine: PTX without a GPU.
//!
//! [`Vm`] owns device memory ([`Vm::alloc`] gives addresses, as a driver does), loads PTX text
//! ([`Vm::load`]) and runs entries of it ([`Vm::launch`]). A warp's 32 lanes are vectors; what an
//! instruction computes is its row's own [`meaning`].
//!
//! ```
//! use tiki_launch::vm::{Arg, Options, Vm};
//!
//! let vm = Vm::new();
//! let p = vm.load(".version 7.8\n.target sm_80\n.address_size 64
//!     .visible .entry k(.param .u64 p) { .reg .b64 %a; .reg .b32 %t;
//!       ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 4, %a; st.global.u32 [%a], %t; ret; }").unwrap();
//! let x = vm.alloc(4 * 32, "x").unwrap();
//! vm.launch(&p, "k", [1, 1, 1], [32, 1, 1], 0, &[Arg::Address(x)], &Options::default()).unwrap();
//! let mut out = [0; 128];
//! vm.read(x, &mut out).unwrap();
//! assert_eq!(out[124..], 31u32.to_le_bytes());
//! ```
//!
//! - Every access is held against its buffer ([`Vm::alloc`] gives each its own region of addresses) and its
//!   alignment; [`Options::checks`] asks for more: races, data in flight, misuse of barriers. What is wrong is
//!   a [`Fault`] with a stable code ([`Code`]), the block, warp and lanes, the line of the PTX and of the
//!   author's source. [`Vm::launch`] fails with the first one; [`Vm::examine`] goes on and lists them all;
//!   [`Vm::survey`] does so for every way in which asynchronous work may complete.
//! - Results do not depend on the number of host threads, nor on the CPU level.
//! - What threads print by C's formats is in the [`Report`], block by block.
//! - A [`Recorder`] takes [`Timeline`]s: what the warps of a block waited for, and what ran beside what.
//! - Asynchronous work completes when it is issued, as late as possible, or by a seed ([`Async`]).
//! - Floating point is exact; the approximate unit gives correctly rounded values, which a GPU does not.

// Lanes are numbered: a loop over them says so.
#![allow(clippy::needless_range_loop, clippy::precedence)]

mod access;
mod arg;
mod atomic;
mod barrier;
mod between;
mod block;
mod bulk;
mod costs;
mod decode;
mod decode_calls;
#[allow(unsafe_code)]
mod dispatch;
mod engine;
mod exec;
mod fault;
mod findings;
mod group;
mod image_map;
mod index;
mod lanes;
mod launch;
mod ledger;
mod limits;
mod looks;
mod map_edit;
mod map_read;
mod matrix;
pub mod meaning;
mod memory;
mod object;
mod options;
mod outside;
mod planes;
mod pressure;
mod printf;
mod products;
mod program;
mod race;
mod reach;
mod recover;
mod shared;
#[allow(unsafe_code)]
mod simd;
mod sparse;
mod straight;
mod strip;
mod survey;
mod tensor_map;
mod timeline;
mod transfer;
mod turn;
mod uses;
mod warp;
mod wmma;
mod written;

pub use arg::Arg;
pub use costs::Cost;
pub use dispatch::Level;
pub use fault::{Code, Fault, Other, Severity, Source};
pub use findings::{is_error, to_json, to_sarif};
pub use image_map::ImageMap;
pub use launch::Report;
pub use memory::MemoryError;
pub use options::{Async, Checks, Generation, Options};
pub use outside::Printed;
pub use program::{LoadError, Program};
pub use survey::{Shot, Survey};
pub use tensor_map::{Swizzle, TensorMap};
pub use timeline::{On, Phase, Recorder, Row, Span, Timeline};

use memory::{BufferId, Memory};
use std::collections::HashMap;
use tiki_kernel::isa::Space;

/// A machine: memory and the means to run programs on it. All calls are legal from any thread; launches
/// that touch the same memory at once are the caller's to order.
#[derive(Debug, Default)]
pub struct Vm {
    memory: Memory,
}

impl Vm {
    /// A machine without buffers.
    #[must_use]
    pub fn new() -> Vm {
        Vm::default()
    }
    /// A zeroed buffer; its address. The name is for reports.
    ///
    /// # Errors
    /// If it is too large.
    pub fn alloc(&self, bytes: u64, name: &str) -> Result<u64, MemoryError> {
        self.memory.alloc(bytes, name).map(memory::address)
    }
    /// A buffer that holds nothing yet: it reads as zero, but a kernel that reads a byte of it before something has
    /// written it is told so ([`Code::Undefined`]), unless nothing is checked. Launches on a machine that has such a
    /// buffer run on one host thread.
    ///
    /// # Errors
    /// If it is too large.
    pub fn alloc_unset(&self, bytes: u64, name: &str) -> Result<u64, MemoryError> {
        self.memory.alloc_unset(bytes, name).map(memory::address)
    }
    /// Frees a buffer. Launches under way keep it.
    pub fn free(&self, address: u64) {
        self.memory.free(id(address).0);
    }
    /// Copies bytes into a buffer; the address may point into it.
    ///
    /// # Errors
    /// If there is no such range.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        let (id, start) = id(address);
        let buffer = self.memory.range(id, start, data.len() as u64)?;
        buffer.bytes.write(start as usize, data);
        buffer.mark(start as usize, data.len());
        Ok(())
    }
    /// Copies bytes out of a buffer.
    ///
    /// # Errors
    /// If there is no such range.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        let (id, start) = id(address);
        self.memory
            .range(id, start, out.len() as u64)?
            .bytes
            .read(start as usize, out);
        Ok(())
    }
    /// Loads PTX text; its global variables become buffers.
    ///
    /// # Errors
    /// Everything in it that the table or the machine does not have, with lines.
    pub fn load(&self, text: &str) -> Result<Program, LoadError> {
        let m = program::read(text)?;
        limits::module(&m)?;
        let (mut consts, places) = decode::constants(&m);
        let mut at: HashMap<String, (Space, u64)> = places
            .into_iter()
            .map(|(n, a)| (n, (Space::Const, a)))
            .collect();
        let mut globals = vec![];
        for v in m.vars.iter().filter(|v| v.space == Space::Global) {
            let a = self
                .alloc(v.bytes(), &v.name)
                .map_err(|e| LoadError(vec![format!("`{}`: {e}", v.name)]))?;
            globals.push(a);
            at.insert(v.name.clone(), (Space::Global, a));
        }
        for v in &m.vars {
            let mut init = v.init.clone();
            for (offset, name) in &v.init_addresses {
                let Some((space, a)) = at.get(name) else {
                    continue;
                };
                let a = a + meaning::moves::window(*space);
                let (i, n) = (*offset as usize, (v.ty.bytes() as usize).min(8));
                init[i..i + n].copy_from_slice(&a.to_le_bytes()[..n]);
            }
            match at.get(&v.name) {
                Some((Space::Const, a)) => {
                    consts[*a as usize..*a as usize + init.len()].copy_from_slice(&init)
                }
                Some((_, a)) => self
                    .write(*a, &init)
                    .map_err(|e| LoadError(vec![e.to_string()]))?,
                None => {}
            }
        }
        let mut program = Program {
            kernels: HashMap::new(),
            files: m.files.clone(),
            consts,
            globals,
        };
        let mut errors = vec![];
        for f in m.functions.iter().filter(|f| f.entry && f.body.is_some()) {
            match decode::kernel(&m, f, &at) {
                Ok(k) => {
                    program.kernels.insert(f.name.clone(), k);
                }
                Err(e) => errors.extend(e.0),
            }
        }
        if errors.is_empty() {
            Ok(program)
        } else {
            errors.dedup();
            self.unload(program);
            Err(LoadError(errors))
        }
    }
    /// Frees a program and its global variables.
    pub fn unload(&self, program: Program) {
        for a in program.globals {
            self.free(a);
        }
    }
    /// Runs an entry and returns when it has finished.
    ///
    /// # Errors
    /// A launch that does not fit the kernel, or the first error that was found.
    #[allow(clippy::too_many_arguments)]
    pub fn launch(
        &self,
        program: &Program,
        entry: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        args: &[Arg],
        options: &Options,
    ) -> Result<Report, Box<Fault>> {
        let params = arg::parameters(program, entry, args)?;
        self.launch_raw(program, entry, grid, block, dynamic_shared, params, options)
    }
    /// The same with the bytes of all parameters, laid out as PTX lays them.
    ///
    /// # Errors
    /// As [`Vm::launch`].
    #[allow(clippy::too_many_arguments)]
    pub fn launch_raw(
        &self,
        program: &Program,
        entry: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        params: Vec<u8>,
        options: &Options,
    ) -> Result<Report, Box<Fault>> {
        let shape = (grid, block, dynamic_shared);
        let report = self.start(program, entry, shape, params, options, false)?;
        match report.findings.iter().position(is_error) {
            Some(at) => Err(Box::new(
                report
                    .findings
                    .into_iter()
                    .nth(at)
                    .unwrap_or_else(|| Fault::new(Code::Launch, entry, String::new())),
            )),
            None => Ok(report),
        }
    }
    /// Runs an entry and reports all that is found: it goes on behind an error wherever it can.
    ///
    /// # Errors
    /// A launch that does not fit the kernel.
    #[allow(clippy::too_many_arguments)]
    pub fn examine(
        &self,
        program: &Program,
        entry: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        args: &[Arg],
        options: &Options,
    ) -> Result<Report, Box<Fault>> {
        let params = arg::parameters(program, entry, args)?;
        let shape = (grid, block, dynamic_shared);
        self.start(program, entry, shape, params, options, true)
    }

    fn start(
        &self,
        program: &Program,
        entry: &str,
        (grid, block, dynamic_shared): ([u32; 3], [u32; 3], u32),
        params: Vec<u8>,
        options: &Options,
        keep_going: bool,
    ) -> Result<Report, Box<Fault>> {
        let Some(kernel) = program.kernels.get(entry) else {
            return Err(launch::refusal(
                entry,
                "the program has no such entry".into(),
            ));
        };
        let cluster = if options.cluster == [0; 3] {
            kernel.cluster().unwrap_or([1; 3])
        } else {
            options.cluster.map(|c| c.max(1))
        };
        if let Some(own) = kernel.cluster()
            && own != cluster
        {
            return Err(launch::refusal(
                entry,
                format!("the kernel is for clusters of {own:?}, launched with {cluster:?}"),
            ));
        }
        let table = self.memory.table();
        launch::run(&launch::Env {
            kernel,
            program,
            table: &table,
            params,
            grid,
            block,
            cluster,
            dynamic_shared,
            level: launch::level(options),
            options,
            keep_going,
            global: Default::default(),
        })
    }
}

fn id(address: u64) -> (BufferId, u64) {
    let (n, at) = memory::split(address);
    (BufferId(u32::try_from(n).unwrap_or(u32::MAX)), at)
}
