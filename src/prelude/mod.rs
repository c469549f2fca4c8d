//! What can stand in a kernel's body.
//!
//! Every name here means something to the compiler (`tiki_kernel::ops` is its table) and has a real Rust
//! type, so that rustc checks a body and an editor completes in it. None of it runs on the host: outside
//! a kernel every function of this module panics with "device only". The exceptions are plain types:
//! [`struct@f16`], [`bf16`] and the element traits.
//!
//! | | |
//! | --- | --- |
//! | tensors | [`Global`] arguments, their [`View`]s, [`Shared`] storage, [`Register`]s |
//! | who holds what | [`ThreadMap`], [`Layout`], [`Swizzle`], `layout!` |
//! | moving | [`Load`], [`Store`], [`Pipeline`], [`Barrier`] |
//! | multiplying | [`Gemm`], [`Warp`], [`Pending`] |
//! | threads | [`thread_idx`], [`block_idx`], [`shuffle_xor`], [`ballot`], [`sync_block`].. |
//! | numbers | [`exp2`], [`rsqrt`], [`fma`].., each with its accuracy |
//! | facts | [`require!`](crate::prelude::require) |
//! | dealt anew, used again | [`Register::redistribute`], [`Register::redistribute_through`], [`Shared::reuse_as`], [`Shared::arranged`] |
//! | the target's own words | [`Register::raw`], [`ptx!`](crate::prelude::ptx), [`Global::address`], [`Shared::address`] |
//!
//! Control flow is Rust's: branches, `match`, loops, labels, ranges with `step_by` and `rev`, closures and functions that
//! return from anywhere. What is known at build time is decided there; `#[unroll]` unrolls, and such a loop may still be
//! left at run time. In an elementwise closure (`map`, `zip`, ..) a `return` or `break` under a run-time condition has no
//! place: it computes every branch for every element.

mod element;
mod facts;
mod global;
mod layout;
mod matrix;
mod movement;
mod numbers;
mod register;
mod shared;
mod threads;

pub use element::{Element, Float, Half, Int32, Integer, Number, ScalarOps, Word};
#[doc(hidden)]
pub use facts::{executed, written};
pub use facts::{layout, ptx, require};
pub use global::{Compact, Global, Leading, Strided, View};
pub use layout::{Layout, Swizzle, ThreadMap};
pub use matrix::{Gemm, Operand, Pending, Tiles, TilesIter, Warp};
pub use movement::{
    Barrier, Load, Pipeline, Store, cluster_rank, cluster_sync, dependent_launch, dependent_wait,
    elect_one, fence_async, set_registers, warpgroup_idx, warpgroup_wait,
};
pub use numbers::{
    abs, ceil, cos, div_fast, exp, exp_fast, exp2, exp2_fast, floor, fma, log, log2, max,
    max_propagate_nan, min, min_propagate_nan, recip, round, rsqrt, sin, sqrt, sqrt_fast, tanh,
    tanh_fast, trunc,
};
pub use register::{Raw, Register};
pub use shared::{Peer, Shared, Stages};
pub use threads::{
    Dim3, Order, Scope, active_mask, ballot, block_idx, fence, grid_dim, lane_idx, match_any,
    redux_add, redux_and, redux_max, redux_min, redux_or, redux_xor, shuffle, shuffle_down,
    shuffle_up, shuffle_xor, sync_block, sync_warp, thread_idx, trap, vote_all, vote_any, warp_idx,
};

#[doc(no_inline)]
pub use half::{bf16, f16};
#[doc(no_inline)]
pub use std::primitive::{bool, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64};
#[doc(no_inline)]
pub use tiki_launch::{e4m3, e5m2};

/// The host's body of everything a kernel calls.
#[cold]
#[track_caller]
fn device_only() -> ! {
    panic!("device only: this function has a meaning inside a kernel, not on the host")
}
