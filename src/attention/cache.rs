//! A decoder's step over a cache: [`decode`].

use super::decode_split::{attention_combine, attention_decode};
use super::{AttentionError, Options};
use crate::prelude::{bf16, f16};
use crate::{Element, Stream, Tensor};

/// Keys of a page.
pub const PAGE: usize = 64;
/// Head dimensions that are built.
pub const DECODE_HEAD_DIMS: &[usize] = &[64, 128];
/// Blocks for each multiprocessor, at most: more are more beginnings and ends, as measured.
const BLOCKS: usize = 8;

/// Keys and values that came before.
#[derive(Debug)]
pub enum Cache<'a, E: Element> {
    /// `[batch, key heads, length, D]`.
    Whole {
        /// Keys.
        k: &'a Tensor<E, 4>,
        /// Values.
        v: &'a Tensor<E, 4>,
    },
    /// Pages of [`PAGE`] keys, `[pages, key heads, PAGE, D]`, and which pages a sequence has,
    /// `[batch, pages]`. A number past the last page is that of a page without keys.
    Paged {
        /// Keys.
        k: &'a Tensor<E, 4>,
        /// Values.
        v: &'a Tensor<E, 4>,
        /// Page of each 64 keys of each sequence.
        table: &'a Tensor<u32, 2>,
    },
}

/// Output and binary log-sum-exp of one query a head.
#[derive(Debug)]
pub struct Decoded<E: Element> {
    /// `[batch, heads, D]`.
    pub out: Tensor<E, 3>,
    /// `[batch, heads]`.
    pub lse: Tensor<f32, 2>,
}

/// Attention of one query a head, `[batch, heads, D]`, to the first `lengths[batch]` keys of a cache, or to all it has if that
/// is more than there are. Of the options the scale applies. The query comes after every key and the result is the
/// same bits on every run, so `causal` and `deterministic` hold as they are; a window is refused.
pub fn decode<E: Decodes>(
    stream: &Stream,
    q: &Tensor<E, 3>,
    cache: &Cache<'_, E>,
    lengths: &Tensor<u32, 1>,
    options: &Options,
) -> Result<Decoded<E>, AttentionError> {
    let [batch, heads, width] = q.shape();
    let (k, v, longest) = match cache {
        Cache::Whole { k, v } => (*k, *v, k.dim(2)),
        Cache::Paged { k, v, table } => (*k, *v, table.dim(1) * PAGE),
    };
    let whole = matches!(cache, Cache::Whole { .. });
    let fits = k.shape() == v.shape() && k.dim(3) == width && (!whole || k.dim(0) == batch);
    if !fits || (!whole && k.dim(2) != PAGE) {
        return Err(AttentionError::Shapes {
            q: [batch, heads, 1, width],
            k: k.shape(),
            v: v.shape(),
        });
    }
    if k.dim(1) == 0 || !heads.is_multiple_of(k.dim(1)) {
        return Err(AttentionError::Heads {
            queries: heads,
            keys: k.dim(1),
        });
    }
    super::options::is_built(width, DECODE_HEAD_DIMS)?;
    if options.window.is_some() {
        return Err(AttentionError::Option {
            option: "window",
            call: "decode",
        });
    }
    super::options::alike("lengths", &lengths.shape(), &[batch])?;
    let scale = options.scale_of(width)?;
    let device = q.device();
    // Rounded down: a few blocks past a whole number of waves last as long as a wave.
    let wanted = BLOCKS * device.multiprocessors() as usize / (batch * heads).max(1);
    let splits = wanted.clamp(1, longest.div_ceil(PAGE).max(1));
    let mut parts = device.empty::<f32, 4>([batch, heads, splits, width])?;
    let mut sums = device.empty::<f32, 3>([batch, heads, splits])?;
    let mut out = device.empty::<E, 3>(q.shape())?;
    let mut lse = device.empty::<f32, 2>([batch, heads])?;
    if batch * heads == 0 {
        return Ok(Decoded { out, lse });
    }
    let none = device.zeros::<u32, 2>([batch, 1])?;
    let table = match cache {
        Cache::Whole { .. } => &none,
        Cache::Paged { table, .. } => table,
    };
    E::decode(
        stream,
        (q, k, v, table, lengths),
        (&mut parts, &mut sums),
        (&mut out, &mut lse),
        scale * std::f32::consts::LOG2_E,
        !whole,
    )?;
    Ok(Decoded { out, lse })
}

type Inputs<'a, E> = (
    &'a Tensor<E, 3>,
    &'a Tensor<E, 4>,
    &'a Tensor<E, 4>,
    &'a Tensor<u32, 2>,
    &'a Tensor<u32, 1>,
);

/// Element types that a decoder's step is built for.
pub trait Decodes: Element {
    /// The kernels of this head dimension.
    #[doc(hidden)]
    fn decode(
        stream: &Stream,
        inputs: Inputs<'_, Self>,
        parts: (&mut Tensor<f32, 4>, &mut Tensor<f32, 3>),
        to: (&mut Tensor<Self, 3>, &mut Tensor<f32, 2>),
        scale_log2: f32,
        paged: bool,
    ) -> Result<(), AttentionError>;
}

macro_rules! decodes {
    ($($e:ty)*; $widths:tt) => {$( decodes! { @ $e $widths } )*};
    (@ $e:ty { $($d:literal)* }) => {
        impl Decodes for $e {
            fn decode(
                stream: &Stream,
                (q, k, v, table, lengths): Inputs<'_, Self>,
                (parts, sums): (&mut Tensor<f32, 4>, &mut Tensor<f32, 3>),
                (out, lse): (&mut Tensor<Self, 3>, &mut Tensor<f32, 2>),
                scale: f32,
                paged: bool,
            ) -> Result<(), AttentionError> {
                match (q.dim(2), paged) {
                    $(($d, false) => attention_decode::<$e, $d, 0>::launch(stream, q, k, v, table, lengths, parts, sums, scale)?,
                    ($d, true) => attention_decode::<$e, $d, 1>::launch(stream, q, k, v, table, lengths, parts, sums, scale)?,)*
                    (given, _) => return Err(AttentionError::HeadDim { given, built: DECODE_HEAD_DIMS }),
                }
                match q.dim(2) {
                    $($d => attention_combine::<$e, $d>::launch(stream, parts, sums, out, lse)?,)*
                    given => return Err(AttentionError::HeadDim { given, built: DECODE_HEAD_DIMS }),
                }
                Ok(())
            }
        }
    };
}

decodes! { f16 bf16; { 64 128 } }
