//! A first kernel: written, refused, read, mended, drawn, run and tuned.
//!
//! Everything on this page is compiled and run when the documentation is tested, on a computer without a
//! GPU.
//!
//! # Set out
//! A crate of your own names the clone of the repository in its `Cargo.toml`; the profile lets the macro, which is a
//! compiler, and the virtual machine be optimised in debug builds too:
//!
//! ```toml
//! [dependencies]
//! tiki = { path = "../tiki" }
//!
//! [profile.dev.build-override]
//! opt-level = 3
//! [profile.dev.package]
//! tiki-launch.opt-level = 2
//! tiki-kernel.opt-level = 1
//! ```
//!
//! The command `tiki`, of which this page makes use, is installed from the clone: `cargo install --path tiki-cli`. It shows
//! the kernels of the crate in whose folder it is called, once that has been built.
//!
//! # Write it
//! A kernel that turns a matrix over: each block loads a square of `D` by `D` numbers into shared memory, waits for
//! all of its threads, and stores the square turned. `D` is a parameter; `build(..)` says for which values the kernel
//! is compiled, while the crate is built.
//!
//! # See it fail its budget
//! A square of 256 is too large:
//!
//! ```compile_fail
//! use tiki::prelude::*;
//!
//! #[tiki::kernel(threads = 256, grid = [x.dim(1).div_ceil(D), x.dim(0).div_ceil(D)], build((D = 256)))]
//! pub fn turn<const D: usize>(x: &Global<f32>, out: &mut Global<f32>) {
//!     require!(out.dim(0) == x.dim(1) && out.dim(1) == x.dim(0));
//!     let b = block_idx();
//!     let square = Shared::<f32>::new(Layout::row_major([D, D]));
//!     square.store(&x.tile([D, D], [b.y, b.x]).load(ThreadMap::linear(256)));
//!     sync_block();
//!     out.tile_mut([D, D], [b.x, b.y])
//!         .store(&square.t().load(ThreadMap::linear(256)));
//! }
//! # fn main() {}
//! ```
//!
//! `cargo check` says so, at the allocation, with the arithmetic:
//!
//! ```text
//! error: [TK501] kernel `turn` needs 256 KiB of shared memory per block; sm_80 has 163 KiB
//!          = here: `square` takes 256 KiB: 256 x 256 x 4 bytes
//! ```
//!
//! # Read the report
//! With `D = 64` it fits. What the compiler chose, and what it costs, is a constant of the instance:
//!
//! ```
//! use tiki::prelude::*;
//!
//! #[tiki::kernel(threads = 256, grid = [x.dim(1).div_ceil(D), x.dim(0).div_ceil(D)], build((D = 64)))]
//! pub fn turn<const D: usize>(x: &Global<f32>, out: &mut Global<f32>) {
//!     require!(out.dim(0) == x.dim(1) && out.dim(1) == x.dim(0));
//!     let b = block_idx();
//!     let square = Shared::<f32>::new(Layout::row_major([D, D]));
//!     square.store(&x.tile([D, D], [b.y, b.x]).load(ThreadMap::linear(256)));
//!     sync_block();
//!     out.tile_mut([D, D], [b.x, b.y])
//!         .store(&square.t().load(ThreadMap::linear(256)));
//! }
//!
//! // Budgets are constants: a test of them needs no test run.
//! const _: () = assert!(turn::<64>::BUDGET.shared == 64 * 64 * 4);
//!
//! # fn main() {
//! // The report tells of the one thing that is wrong with it.
//! println!("{}", turn::<64>::REPORT);
//! assert!(turn::<64>::REPORT.contains("shared"));
//! # }
//! ```
//!
//! `tiki explain turn` prints it as well, for any instance, and `--json` for a program; `tiki show turn --stage ptx`
//! shows the text that the GPU gets.
//!
//! # Draw its layout
//! The square is read in columns: 32 threads at addresses that are 64 numbers apart, all in one bank of shared
//! memory. A swizzle mixes the row into the column:
//!
//! ```
//! use tiki::algebra::banks::SharedAccess;
//! use tiki::algebra::{Composed, Layout, picture};
//!
//! // Lane to offset: 32 lanes, 64 numbers of 4 bytes apart.
//! let column = SharedAccess::load_of_map(&Layout::parse("32:64")?, 4, 4)?;
//! assert_eq!(column.report().wavefronts, 32); // one after the other
//! let mixed = SharedAccess::load_of_map(&Composed::parse("Sw<5,0,6> o 0 o 32:64")?, 4, 4)?;
//! assert_eq!(mixed.report().wavefronts, 1);
//!
//! println!("{}", picture::bank_map("a column", &column).to_text(false));
//! let square = Composed::parse("Sw<5,0,6> o 0 o (64,64):(64,1)")?;
//! println!("{}", picture::index_map(&square)?.to_text(false));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In a terminal: `tiki plot banks '32:64' --bytes 4`, and with `--out column.svg` as a file.
//!
//! # Mend it, and hold it
//! The swizzle goes into the layout, and `deny(bank_conflicts)` makes a conflict an error from now on. Lists and
//! facts in `build(..)` and `tune(..)` stand for many instances.
//!
//! # Run it, and tune it
//! On a GPU, or on the virtual machine, which executes the same PTX text and needs nothing installed:
//!
//! ```
//! use tiki::Device;
//! use tiki::prelude::*;
//! use tiki::tune::{Tuner, Verdict};
//!
//! #[tiki::kernel(
//!     threads = 256,
//!     grid = [x.dim(1).div_ceil(D), x.dim(0).div_ceil(D)],
//!     deny(bank_conflicts),
//!     build((D = 64)),
//!     tune(D = [32, 64, 128, 256])
//! )]
//! pub fn turn<const D: usize>(x: &Global<f32>, out: &mut Global<f32>) {
//!     require!(out.dim(0) == x.dim(1) && out.dim(1) == x.dim(0));
//!     let b = block_idx();
//!     let swizzle = if D == 32 { Swizzle::new(5, 0, 5) } else { Swizzle::new(5, 0, 6) };
//!     let square = Shared::<f32>::new(Layout::row_major([D, D]).swizzle(swizzle));
//!     square.store(&x.tile([D, D], [b.y, b.x]).load(ThreadMap::linear(256)));
//!     sync_block();
//!     out.tile_mut([D, D], [b.x, b.y])
//!         .store(&square.t().load(ThreadMap::linear(256)));
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::vm()?; // `Device::open_default()` takes a GPU if there is one
//! let stream = device.stream();
//! let host: Vec<f32> = (0..96 * 160).map(|i| i as f32).collect();
//! let x = device.tensor_from(&host, [96, 160])?;
//! let mut out = device.zeros::<f32, 2>([160, 96])?;
//! turn::<64>::launch(&stream, &x, &mut out)?;
//! let turned = out.to_vec()?;
//! assert!((0..96 * 160).all(|i| turned[i % 160 * 96 + i / 160] == host[i]));
//!
//! // A mistake in a launch is an error with the names and the numbers, and nothing runs.
//! let mut wrong = device.zeros::<f32, 2>([160, 95])?;
//! let error = turn::<64>::launch(&stream, &x, &mut wrong).unwrap_err();
//! assert!(error.to_string().contains("out.dim(1) == x.dim(0)"));
//!
//! // Any other instance can be compiled by the running program, by the same compiler.
//! let small = turn::<64>::jit(&[("D", 32.into())])?;
//! small.run(&stream, &x, &mut out)?;
//! assert_eq!(out.to_vec()?, turned);
//!
//! // To tune: the compiler's checks reject candidates before anything is assembled, with their reasons; the others are
//! // measured in turn. (On a GPU, by its events; here it is the host's time for running the machine.)
//! let tuner = Tuner { first: 6, most: 6, repeat: 1, ..Tuner::default() };
//! let decision = tuner.choose(
//!     &stream,
//!     turn::<64>::candidates(&[])?,
//!     |kernel| kernel.run(&stream, &x, &mut out),
//!     |instance, verdict| println!("{instance:?}: {}", verdict.word()),
//! )?;
//! let why = |d: i128| {
//!     let found = decision.log.iter().find(|(i, _)| i.args[0].1 == d.into());
//!     match found {
//!         Some((_, Verdict::Illegal(why))) => why.clone(),
//!         _ => String::new(),
//!     }
//! };
//! assert!(why(128).contains("TK603")); // its swizzle leaves conflicts
//! assert!(why(256).contains("TK501")); // it does not fit
//!
//! // The record is committed beside the crate; `kernel_set!` builds from it and refuses it once it is stale:
//! //     tiki::kernel_set! { pub struct Tuned; turn = turn<tuned = "turn.tuned">; }
//! let record = decision.tuned.to_string();
//! assert!(record.starts_with("tiki-tuned 1\nkernel turn\n"));
//! # Ok(())
//! # }
//! ```
//!
//! From a shell, on a GPU: `tiki tune turn --arg x=4096,4096 --arg out=4096,4096 --out turn.tuned`; with `--device vm` and
//! without `--out` it goes through the candidates where there is none.
//!
//! # Go on
//! What can stand in a body: [`crate::prelude`]. Sharing functions and kernels between crates: [`crate::device`],
//! [`crate::kernel_set`]. Devices, tensors and streams: [`crate::Device`]. Machine code is kept between runs:
//! [`crate::cache`]. Larger kernels are in the repository's `examples/`.
