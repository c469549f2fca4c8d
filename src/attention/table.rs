//! Which instance serves which element type, head dimension and device: one row each.

use super::AttentionError;
use super::backward_hopper::attention_backward_hopper;
use super::forward_hopper::attention_hopper;
use super::gradients::{attention_finish, attention_prepare};
use crate::prelude::{bf16, f16};
use crate::{Element, Stream, Tensor};

/// Keys seen before and after the diagonal.
pub(super) type Band = (u32, u32);

/// Element types that attention is built for.
pub trait Attends: Element {
    /// The forward kernel of this head dimension.
    #[doc(hidden)]
    #[allow(clippy::too_many_arguments)]
    fn forward(
        stream: &Stream,
        width: usize,
        q: &Tensor<Self, 4>,
        k: &Tensor<Self, 4>,
        v: &Tensor<Self, 4>,
        out: &mut Tensor<Self, 4>,
        lse: &mut Tensor<f32, 3>,
        scale_log2: f32,
        band: Band,
    ) -> Result<(), AttentionError>;

    /// The backward kernels of this head dimension.
    #[doc(hidden)]
    fn backward(stream: &Stream, call: Backward<'_, Self>) -> Result<(), AttentionError>;
}

/// The tensors of a backward pass.
#[doc(hidden)]
#[derive(Debug)]
pub struct Backward<'a, E: Element> {
    pub q: &'a Tensor<E, 4>,
    pub k: &'a Tensor<E, 4>,
    pub v: &'a Tensor<E, 4>,
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
/// Keys from which the second instance of a row is the faster one, as measured.
const MANY: usize = 8192;
/// Keys below which it is, under a causal mask.
const FEW: usize = 4096;

/// Which of a row's two instances is the faster.
fn second(width: usize, keys: usize, (_, after): Band) -> bool {
    let causal = after == 0;
    match width {
        64 => causal && keys < FEW,
        128 => keys >= MANY,
        _ => false,
    }
}

macro_rules! table {
    ($($d:literal: [$($a:literal)*] [$($b:literal)*];)* backward $($w:literal: $bm:literal;)*) => {
        /// Head dimensions that are built, forward.
        pub const HEAD_DIMS: &[usize] = &[$($d),*];
        /// Head dimensions that are built, backward.
        pub const BACKWARD_HEAD_DIMS: &[usize] = &[$($w),*];
        table! { @ f16: $($d: [$($a)*] [$($b)*];)* backward $($w: $bm;)* }
        table! { @ bf16: $($d: [$($a)*] [$($b)*];)* backward $($w: $bm;)* }
    };
    (@ $e:ident: $($d:literal: [$($a:literal)*] [$($b:literal)*];)* backward $($w:literal: $bm:literal;)*) => {
        impl Attends for $e {
            fn forward(
                stream: &Stream,
                width: usize,
                q: &Tensor<Self, 4>,
                k: &Tensor<Self, 4>,
                v: &Tensor<Self, 4>,
                out: &mut Tensor<Self, 4>,
                lse: &mut Tensor<f32, 3>,
                scale_log2: f32,
                band: Band,
            ) -> Result<(), AttentionError> {
                let (before, after) = band;
                match (width, second(width, k.shape()[2], band)) {
                    $(($d, false) => attention_hopper::<$e, $d, $($a),*>::launch(
                        stream, q, k, v, out, lse, scale_log2, before, after,
                    )?,
                    ($d, true) => attention_hopper::<$e, $d, $($b),*>::launch(
                        stream, q, k, v, out, lse, scale_log2, before, after,
                    )?,)*
                    (given, _) => return Err(AttentionError::HeadDim { given, built: HEAD_DIMS }),
                }
                Ok(())
            }

            fn backward(stream: &Stream, call: Backward<'_, Self>) -> Result<(), AttentionError> {
                let Backward { q, k, v, out, lse, d_out, d_lse, dq, dk, dv, scale, band, ordered } = call;
                let (device, [batch, heads, queries, width]) = (q.device(), q.shape());
                let padded = queries.next_multiple_of(PADDED);
                let mut top = device.empty::<f32, 3>([batch, heads, padded])?;
                let mut delta = device.empty::<f32, 3>([batch, heads, padded])?;
                let mut sums = device.zeros::<f32, 4>([batch, heads, padded * width / 128, 128])?;
                let mut turns = device.zeros::<u32, 3>([batch, heads, padded / 32])?;
                let scale_log2 = scale * std::f32::consts::LOG2_E;
                let extra = d_lse.unwrap_or(lse);
                match width {
                    $($w => {
                        attention_prepare::<$e, $w>::launch(
                            stream, out, d_out, lse, extra, &mut top, &mut delta, d_lse.is_some(),
                        )?;
                        if ordered {
                            attention_backward_hopper::<$e, $w, $bm, 1>::launch(
                                stream, q, k, v, d_out, &top, &delta, &mut sums, &mut turns, dk, dv, scale, scale_log2,
                                band.0, band.1,
                            )?;
                        } else {
                            attention_backward_hopper::<$e, $w, $bm, 0>::launch(
                                stream, q, k, v, d_out, &top, &delta, &mut sums, &mut turns, dk, dv, scale, scale_log2,
                                band.0, band.1,
                            )?;
                        }
                        attention_finish::<$e, $w>::launch(stream, &sums, dq, scale)?;
                    })*
                    given => return Err(AttentionError::HeadDim { given, built: BACKWARD_HEAD_DIMS }),
                }
                Ok(())
            }
        }
    };
}

// Forward, by head dimension, two instances: keys of a block, warpgroups that multiply, tiles of queries in flight,
// slabs staged at once. Backward: queries of a step.
table! {
    64: [128 3 2 1] [128 2 2 1];
    96: [128 2 2 3] [128 2 2 3];
    128: [128 2 2 2] [176 2 1 1];
    192: [96 2 1 1] [96 2 1 1];
    256: [64 2 1 2] [64 2 1 2];
    backward
    64: 128;
    128: 64;
}
