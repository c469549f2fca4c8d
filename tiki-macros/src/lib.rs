//! The procedural macros of Tiki: tokens in, tokens out.
//!
//! ```text
//! tokens --parse--> ast --tiki-kernel--> artefacts or diagnostics --expand, report--> tokens
//!            ^
//!            `-- bundle: the tokens of the device items it uses, fetched by name
//! ```
//!
//! Everything that thinks is in tiki-kernel; here are the reading of Rust syntax, the fetching of shared
//! device items and the writing of the items that a kernel becomes. They are used through the facade,
//! whose documentation shows them.

#![forbid(unsafe_code)]

mod bundle;
mod clock;
mod dump;
mod expand;
mod folder;
mod kept;
mod parse;
mod report;

use proc_macro::TokenStream;

/// Turns a function into a kernel: a type of the same name with a typed `launch`.
///
/// ```ignore
/// #[tiki::kernel(threads = 256, grid = [x.dim(0)], build((E = f16, N = 4096), (E = f32, N = 1024)))]
/// pub fn scale<E: Element, const N: usize>(x: &Global<E>, out: &mut Global<E>, by: f32) { .. }
///
/// scale::<f16, 4096>::launch(&stream, &x, &mut out, 2.0)?;
/// const _: () = assert!(scale::<f16, 4096>::BUDGET.shared == 0);
/// ```
///
/// The body is compiled to PTX while the crate is built, once an instance, and is checked by rustc as well:
/// a function that nobody calls, against the types of the prelude. What is wrong is told at the token that
/// is wrong. If the kernel does not compile, its type and `launch` are there all the same.
///
/// # The type
/// `launch(stream, args..)` takes inputs (`&Global<E, R>`) as `&Tensor<E, R>`, outputs (`&mut Global`) as
/// `&mut Tensor`, scalars by value; it evaluates the grid and every `require!` on the host. `ARTIFACT`,
/// `BUDGET`, `PTX` and `REPORT` are constants of an instance. An instance that was not built is a compile
/// error where it is named. `jit(&[("N", 8192.into())])` compiles any other at run time, from `TEXT`, the
/// kernel's canonical text; what it gives is a kernel to `run(stream, args..)`.
///
/// # Optional inputs
/// `bias: Option<&Global<f32, 1>>` is given or not by each instance: the body says which, `require!(bias.is_some()
/// == BIAS)` with `const BIAS: bool` a parameter of the kernel, and asks by `if let Some(b) = bias`, `match` or
/// `is_some()`. What must hold of it is `bias.is_none_or(|b| b.dim(0) == N)`. `launch` takes `Option<&Tensor>`
/// and refuses a call that does not fit the instance.
///
/// # Options
/// `threads`, `warps` or `warpgroups`; `grid = [..]` over the arguments, or `persistent`; `target`,
/// `cluster`, `registers`, `shared`, `blocks_per_sm`, `contract`; `deny(bank_conflicts, uncoalesced, spills,
/// unproven, partial_waves)`, of which the driver is asked about spills once more and the launcher alone judges
/// partial waves (a grid that is no multiple of the blocks that the GPU holds at once); `build((E = f16, N = 4096), ..)`,
/// where a list, a range and a fact stand for many instances: `build((E = [f16, bf16], N = 64..=256, N % 64 ==
/// 0))`; `tune(N = [1024, 2048])` for what a tuner may try;
/// `assume(path::N == 128)` for a constant the macro cannot see (an assertion holds rustc to it); `crate =
/// path` where the dependency has another name.
///
/// # Looking inside
/// `TIKI_DUMP=ast,ir,schedule,lower,ptx,budget,report cargo build` writes the stages as files into
/// `TIKI_DUMP_DIR` (`tiki` in the target directory unless said), of the instances that
/// `TIKI_DUMP_FILTER` names; `time` adds the clock. `TIKI_OVERRIDE=DIR` takes an edited `.ptx` of that name in
/// place of what was compiled. Changing one of these variables expands again. The command `tiki` shows any
/// stage of any instance without a build.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::kernel(attribute.into(), item.into()).into()
}

/// Shares a function, a constant or a struct with kernels, in this crate and in others.
///
/// ```ignore
/// #[tiki::device]
/// pub fn silu(x: f32) -> f32 {
///     x / (1.0 + exp(-x))
/// }
/// ```
///
/// The item stays what it is. Beside it stands a hidden macro of the same name, which hands its tokens, and
/// those of all it uses, to the kernels that name it; `use` brings both, renamed or not, by glob or by path,
/// through re-exports, and the callees need not be public. Names that are macros already (`vec`, `line`,
/// `Debug`..) are refused, and so is recursion. A kernel that names a function without the attribute gets
/// rustc's "cannot find macro": put `#[tiki::device]` before the function.
#[proc_macro_attribute]
pub fn device(attribute: TokenStream, item: TokenStream) -> TokenStream {
    bundle::device(attribute.into(), item.into()).into()
}

/// `#[tiki::device]` on every function, constant and struct of an inline module.
#[proc_macro_attribute]
pub fn module(attribute: TokenStream, item: TokenStream) -> TokenStream {
    bundle::module(attribute.into(), item.into()).into()
}

/// Instances of kernels, one's own or another crate's, under one type.
///
/// ```ignore
/// tiki::kernel_set! {
///     pub struct Mine;
///     gemm = lib::gemm<E = f16, BM = 256>;
///     gemm = lib::gemm<E = bf16, BM = 128>;
/// }
/// Mine::gemm::<f16, 256>(&stream, &a, &b, &mut c)?;
/// ```
///
/// The instances are this crate's own, so a library that builds more or fewer breaks nobody. Messages about
/// a kernel of elsewhere stand on the line that names it. `crate = path;` before the struct says where
/// `tiki` is.
#[proc_macro]
pub fn kernel_set(input: TokenStream) -> TokenStream {
    bundle::kernel_set(input.into()).into()
}

/// Makes a test of a function that takes the device.
///
/// ```ignore
/// #[tiki::test]
/// fn doubles(device: &Device) -> Result<(), LaunchError> {
///     let x = device.tensor_from(&[1.0f32, 2.0, 3.0], [3])?;
///     let mut out = device.zeros([3])?;
///     double::launch(&device.stream(), &x, &mut out)?;
///     assert_eq!(out.to_vec()?, [2.0, 4.0, 6.0]);
///     Ok(())
/// }
/// ```
///
/// It runs on virtual machines of its own with every check on, five times: asynchronous work completes at once, as late
/// as it may, and as three seeds say; or once on the GPU that `TIKI_DEVICE` names (`cuda:0`). `target =
/// "sm_80"` chooses the card that the machine imitates. A failure names the run.
#[proc_macro_attribute]
pub fn test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::test::tokens(attribute.into(), item.into()).into()
}

/// As [`macro@kernel`], but the compiler is not asked: a test of the types alone.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn __shadow(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::only_checked(attribute.into(), item.into()).into()
}

/// As [`macro@kernel`], and rustc says what it finds in the body even where our compiler has refused it: a test that both
/// refuse alike.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn __twice(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::twice(attribute.into(), item.into()).into()
}

/// The next step of fetching device items: only the other macros call it.
#[doc(hidden)]
#[proc_macro]
pub fn __next(input: TokenStream) -> TokenStream {
    bundle::next(input.into()).into()
}
