//! Which instance serves which element type, head dimension and device: one row each.
//!
//! A device of capability 9.0 runs Hopper's schedules. Every other one from 8.0 on runs Ampere's, and so does Hopper the
//! backward pass of head dimensions for which its own schedule has no room.

use super::AttentionError;
use super::backward_ampere::attention_round;
use super::banded::{
    attention_ampere, attention_backward_ampere, attention_backward_hopper, attention_hopper,
};
use super::gradients::{attention_clear, attention_finish, attention_prepare};
use super::packed::{
    attention_backward_packed_ampere, attention_backward_packed_hopper, attention_packed_ampere,
    attention_packed_hopper,
};
use crate::prelude::{bf16, f16};
use crate::{Device, Element, LaunchError, Stream, Tensor};

/// Keys seen before and after the diagonal.
pub(super) type Band = (u32, u32);

/// Element types that attention is built for.
pub trait Attends: Element {
    /// The forward kernel of this head dimension.
    #[doc(hidden)]
    fn forward(stream: &Stream, call: Forward<'_, Self>) -> Result<(), AttentionError>;

    /// The backward kernels of this head dimension.
    #[doc(hidden)]
    fn backward(
        stream: &Stream,
        call: Backward<'_, Self>,
        own: Option<Own<'_, Self>>,
    ) -> Result<(), AttentionError>;
}

/// A kernel of one's own in the middle of the backward pass.
pub(super) type Own<'a, E> = &'a mut dyn FnMut(
    Prepared<'_>,
    &mut Tensor<E, 4>,
    &mut Tensor<E, 4>,
) -> Result<(), LaunchError>;

/// What the kernel in the middle of the backward pass works with, besides q, k, v, `d_out`, dK and dV.
#[derive(Debug)]
pub struct Prepared<'a> {
    /// Whose algorithm it must be.
    pub schedule: Schedule,
    /// Binary log-sum-exp of each row; plus infinity where nothing is seen.
    pub top: &'a Tensor<f32, 3>,
    /// What the softmax takes from the gradient of each row's probabilities.
    pub delta: &'a Tensor<f32, 3>,
    /// Sums of dQ.
    pub sums: &'a mut Tensor<f32, 4>,
    /// Whose turn it is at each tile of queries.
    pub turns: &'a mut Tensor<u32, 3>,
    /// Factor of the scores.
    pub scale: f32,
    /// Times log2(e).
    pub scale_log2: f32,
}

/// Whose instructions an algorithm is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// [`super::forward_ampere::attend_ampere`], [`super::backward_ampere::attend_backward_ampere`].
    Ampere,
    /// [`super::forward_hopper::attend`], [`super::backward_hopper::attend_backward`].
    Hopper,
}

/// The tensors of a forward pass; `seen` if sequences are packed.
#[doc(hidden)]
#[derive(Debug)]
pub struct Forward<'a, E: Element> {
    pub q: &'a Tensor<E, 4>,
    pub k: &'a Tensor<E, 4>,
    pub v: &'a Tensor<E, 4>,
    pub seen: Option<&'a Tensor<u32, 2>>,
    pub out: &'a mut Tensor<E, 4>,
    pub lse: &'a mut Tensor<f32, 3>,
    pub scale: f32,
    pub band: Band,
}

/// The tensors of a backward pass; `seen` if sequences are packed: what each query sees, and what sees each key.
#[doc(hidden)]
#[derive(Debug)]
pub struct Backward<'a, E: Element> {
    pub q: &'a Tensor<E, 4>,
    pub k: &'a Tensor<E, 4>,
    pub v: &'a Tensor<E, 4>,
    pub seen: Option<(&'a Tensor<u32, 2>, &'a Tensor<u32, 2>)>,
    pub out: &'a Tensor<E, 4>,
    pub lse: &'a Tensor<f32, 3>,
    pub d_out: &'a Tensor<E, 4>,
    pub d_lse: Option<&'a Tensor<f32, 3>>,
    pub dq: &'a mut Tensor<E, 4>,
    pub dk: &'a mut Tensor<E, 4>,
    pub dv: &'a mut Tensor<E, 4>,
    pub scale: f32,
    pub band: Band,
    pub ordered: bool,
}

/// Queries that the statistics of rows are padded to.
const PADDED: usize = 128;
/// Keys below which the second instance of a row is the faster one under a causal mask, as measured.
const FEW: usize = 4096;

/// Which of a row's two instances is the faster.
fn second(width: usize, keys: usize, (_, after): Band) -> bool {
    width == 64 && after == 0 && keys < FEW
}

/// The schedule that a device runs forward.
#[must_use]
pub fn schedule(device: &Device) -> Schedule {
    if device.capability() == (9, 0) {
        Schedule::Hopper
    } else {
        Schedule::Ampere
    }
}

macro_rules! table {
    (
        hopper { $($d:literal: [$($a:literal)*] $([$($b:literal)*])?;)* }
        hopper backward { $($w:literal: $bm:literal;)* }
        hopper packed { $($p:literal: [$($c:literal)*] $pm:literal;)* }
        ampere { $($s:literal: $bn:literal $sm:literal;)* }
        ampere packed { $($t:literal;)* }
    ) => {
        /// Head dimensions that are built, forward and backward.
        pub const HEAD_DIMS: &[usize] = &[$($s),*];
        /// Head dimensions that are built for packed sequences.
        pub const PACKED_HEAD_DIMS: &[usize] = &[$($t),*];
        table! { @ f16 { $($d: [$($a)*] $([$($b)*])?;)* } { $($w: $bm;)* } { $($p: [$($c)*] $pm;)* } { $($s: $bn $sm;)* } { $($t;)* } }
        table! { @ bf16 { $($d: [$($a)*] $([$($b)*])?;)* } { $($w: $bm;)* } { $($p: [$($c)*] $pm;)* } { $($s: $bn $sm;)* } { $($t;)* } }
    };
    (@ $e:ident
        { $($d:literal: [$($a:literal)*] $([$($b:literal)*])?;)* }
        { $($w:literal: $bm:literal;)* }
        { $($p:literal: [$($c:literal)*] $pm:literal;)* }
        { $($s:literal: $bn:literal $sm:literal;)* }
        { $($t:literal;)* }
    ) => {
        impl Attends for $e {
            fn forward(stream: &Stream, call: Forward<'_, Self>) -> Result<(), AttentionError> {
                let Forward { q, k, v, seen, out, lse, scale, band } = call;
                let (width, log2) = (q.dim(3), scale * std::f32::consts::LOG2_E);
                let second = second(width, k.dim(2), band);
                match (schedule(stream.device()) == Schedule::Hopper, seen, width, second) {
                    $((true, None, $d, false) => attention_hopper::<$e, $d, $($a),*>::launch(stream, q, k, v, out, lse, log2, band.0, band.1)?,
                    $((true, None, $d, true) => attention_hopper::<$e, $d, $($b),*>::launch(stream, q, k, v, out, lse, log2, band.0, band.1)?,)?)*
                    $((true, Some(seen), $p, _) => attention_packed_hopper::<$e, $p, $($c),*>::launch(stream, q, k, v, seen, out, lse, log2)?,)*
                    $((false, None, $s, _) => attention_ampere::<$e, $s, $bn>::launch(stream, q, k, v, out, lse, log2, band.0, band.1)?,)*
                    $((false, Some(seen), $t, _) => attention_packed_ampere::<$e, $t>::launch(stream, q, k, v, seen, out, lse, log2)?,)*
                    (_, None, given, _) => return Err(AttentionError::HeadDim { given, built: HEAD_DIMS }),
                    (_, Some(_), given, _) => return Err(AttentionError::HeadDim { given, built: PACKED_HEAD_DIMS }),
                }
                Ok(())
            }

            fn backward(
                stream: &Stream,
                call: Backward<'_, Self>,
                own: Option<Own<'_, Self>>,
            ) -> Result<(), AttentionError> {
                let Backward { q, k, v, seen, out, lse, d_out, d_lse, dq, dk, dv, scale, band, ordered } = call;
                let (device, [batch, heads, queries, width]) = (q.device(), q.shape());
                let built = if seen.is_some() { PACKED_HEAD_DIMS } else { HEAD_DIMS };
                if !built.contains(&width) {
                    return Err(AttentionError::HeadDim { given: width, built });
                }
                let padded = queries.next_multiple_of(PADDED);
                let mut top = device.empty::<f32, 3>([batch, heads, padded])?;
                let mut delta = device.empty::<f32, 3>([batch, heads, padded])?;
                let extra = d_lse.unwrap_or(lse);
                match width {
                    $($s => attention_prepare::<$e, $s>::launch(stream, out, d_out, lse, extra, &mut top, &mut delta, d_lse.is_some())?,)*
                    given => return Err(AttentionError::HeadDim { given, built }),
                }
                let hopper = schedule(device) == Schedule::Hopper && [$($w),*].contains(&width);
                let shape = if hopper { [batch, heads, padded * width / 128, 128] } else { q.shape() };
                let mut sums = device.empty::<f32, 4>(shape)?;
                let mut turns = device.empty::<u32, 3>([batch, heads, padded / 32 + 1])?;
                let (all, every) = (sums.len(), turns.len());
                attention_clear::launch(stream, &mut sums.reshape([all])?, &mut turns.reshape([every])?)?;
                let log2 = scale * std::f32::consts::LOG2_E;
                let (sums, turns) = (&mut sums, &mut turns);
                // One in order, and one's own, need not tell what it is through with.
                let told = if ordered || own.is_some() { 0 } else { 2 * k.dim(2).div_ceil(128) as u32 };
                let group = (heads / k.dim(1)) as u32;
                if let Some(own) = own {
                    let schedule = if hopper { Schedule::Hopper } else { Schedule::Ampere };
                    let (top, delta) = (&top, &delta);
                    own(Prepared { schedule, top, delta, sums, turns, scale, scale_log2: log2 }, dk, dv)?;
                } else {
                    match (hopper, seen, width, ordered) {
                    $((true, None, $w, true) => attention_backward_hopper::<$e, $w, $bm, 1>::launch(
                        stream, q, k, v, d_out, &top, &delta, sums, turns, dk, dv, scale, log2, band.0, band.1)?,
                    (true, None, $w, false) => attention_backward_hopper::<$e, $w, $bm, 0>::launch(
                        stream, q, k, v, d_out, &top, &delta, sums, turns, dk, dv, scale, log2, band.0, band.1)?,)*
                    $((true, Some(seen), $p, true) => attention_backward_packed_hopper::<$e, $p, $pm, 1>::launch(
                        stream, q, k, v, seen.0, seen.1, d_out, &top, &delta, sums, turns, dk, dv, scale, log2)?,
                    (true, Some(seen), $p, false) => attention_backward_packed_hopper::<$e, $p, $pm, 0>::launch(
                        stream, q, k, v, seen.0, seen.1, d_out, &top, &delta, sums, turns, dk, dv, scale, log2)?,)*
                    $((_, None, $s, _) => attention_backward_ampere::<$e, $s, $sm>::launch(
                        stream, q, k, v, d_out, &top, &delta, sums, turns, dk, dv, scale, log2, band.0, band.1)?,)*
                    $((_, Some(seen), $t, _) => attention_backward_packed_ampere::<$e, $t>::launch(
                        stream, q, k, v, seen.0, seen.1, d_out, &top, &delta, sums, turns, dk, dv, scale, log2)?,)*
                    (_, _, given, _) => return Err(AttentionError::HeadDim { given, built }),
                    }
                }
                match (hopper, width) {
                    $((true, $w) => attention_finish::<$e, $w>::launch(stream, sums, turns, dq, scale, group, told)?,)*
                    $((_, $s) => attention_round::<$e, $s>::launch(stream, sums, dq, scale)?,)*
                    (_, given) => return Err(AttentionError::HeadDim { given, built }),
                }
                Ok(())
            }
        }
    };
}

// Hopper forward, by head dimension, an instance or the two that `second` chooses between: keys of a block, warpgroups that multiply, tiles of queries in flight,
// slabs staged at once. Backward: queries of a step. Packed: slabs staged at once; queries of a step. Ampere: keys of a
// block forward; queries of a step backward.
table! {
    hopper {
        64: [128 3 2 1] [128 2 2 1];
        96: [128 2 2 3];
        128: [128 2 2 2];
        192: [96 2 1 1];
        256: [64 2 1 2];
    }
    hopper backward {
        64: 128;
        128: 64;
    }
    hopper packed {
        64: [1] 128;
        128: [2] 64;
    }
    ampere {
        64: 64 64;
        96: 64 64;
        128: 64 64;
        192: 32 32;
        256: 32 32;
    }
    ampere packed {
        64;
        128;
    }
}
