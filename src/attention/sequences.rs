//! Sequences end to end: [`forward_packed`], [`backward_packed`].

use super::options::{Shape, alike, is_built};
use super::packed::{attention_plan, attention_plan_keys};
use super::table::{Backward, Forward, PACKED_HEAD_DIMS};
use super::{Attended, Attends, AttentionError, Gradients, Options};
use crate::{Stream, Tensor};

/// Where sequences begin: sequence `i` has the queries from `queries[i]` to `queries[i + 1]`, and so its keys.
///
/// Both tensors have one element more than there are sequences and never decrease. What lies outside every
/// sequence sees nothing and is seen by nothing, but tiles may reach over a sequence's ends, and there its values are
/// multiplied by zero: they must be numbers, not infinities or NaN.
#[derive(Debug, Clone, Copy)]
pub struct Sequences<'a> {
    /// Cumulative offsets of the queries.
    pub queries: &'a Tensor<u32, 1>,
    /// Cumulative offsets of the keys; those of the queries where a sequence attends to itself.
    pub keys: &'a Tensor<u32, 1>,
}

/// What each query sees.
fn plan<E: Attends>(
    stream: &Stream,
    q: &Tensor<E, 4>,
    sequences: Sequences<'_>,
    options: &Options,
) -> Result<Tensor<u32, 2>, AttentionError> {
    alike("keys", &sequences.keys.shape(), &sequences.queries.shape())?;
    let (before, after) = options.band();
    let mut seen = q.device().empty::<u32, 2>([2, q.dim(2)])?;
    let Sequences { queries, keys } = sequences;
    attention_plan::launch(stream, queries, keys, &mut seen, before, after)?;
    Ok(seen)
}

/// Attention within each of several sequences; q is `[batch, heads, all queries, D]`, k and v `[batch, key heads, all keys,
/// D]`. The diagonal is each sequence's own.
pub fn forward_packed<E: Attends>(
    stream: &Stream,
    q: &Tensor<E, 4>,
    k: &Tensor<E, 4>,
    v: &Tensor<E, 4>,
    sequences: Sequences<'_>,
    options: &Options,
) -> Result<Attended<E>, AttentionError> {
    let shape = Shape::of(q.shape(), k.shape(), v.shape())?;
    is_built(shape.width, PACKED_HEAD_DIMS)?;
    let scale = options.scale_of(shape.width)?;
    let Some(mut to) = super::begin(q, &shape)? else {
        return super::nothing(q, &shape);
    };
    let seen = plan(stream, q, sequences, options)?;
    E::forward(
        stream,
        Forward {
            q,
            k,
            v,
            seen: Some(&seen),
            out: &mut to.out,
            lse: &mut to.lse,
            scale,
            band: options.band(),
        },
    )?;
    Ok(to)
}

/// Gradients of [`forward_packed`].
#[allow(clippy::too_many_arguments)]
pub fn backward_packed<E: Attends>(
    stream: &Stream,
    q: &Tensor<E, 4>,
    k: &Tensor<E, 4>,
    v: &Tensor<E, 4>,
    sequences: Sequences<'_>,
    forward: &Attended<E>,
    d_out: &Tensor<E, 4>,
    d_lse: Option<&Tensor<f32, 3>>,
    options: &Options,
) -> Result<Gradients<E>, AttentionError> {
    let scale = super::fit([q, k, v], forward, d_out, d_lse, options, PACKED_HEAD_DIMS)?;
    let Some(mut to) = super::begin_back([q, k, v])? else {
        return super::none([q, k, v]);
    };
    let seen = plan(stream, q, sequences, options)?;
    let mut seeing = q.device().empty::<u32, 2>([2, k.dim(2)])?;
    attention_plan_keys::launch(stream, &seen, &mut seeing)?;
    E::backward(
        stream,
        Backward {
            q,
            k,
            v,
            seen: Some((&seen, &seeing)),
            out: &forward.out,
            lse: &forward.lse,
            d_out,
            d_lse,
            dq: &mut to.q,
            dk: &mut to.k,
            dv: &mut to.v,
            scale,
            band: options.band(),
            ordered: options.deterministic,
        },
        None,
    )?;
    Ok(to)
}
