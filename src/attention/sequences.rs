//! Sequences end to end: [`Offsets`], [`forward_packed`], [`backward_packed`].

use super::options::{Shape, alike, is_built};
use super::packed::{attention_plan, attention_plan_keys};
use super::pass::{Kind, Pass, are_offsets};
use super::table::{Backward, Forward, PACKED_HEAD_DIMS};
use super::{Attended, Attends, AttentionError, Gradients, Options};
use crate::{LaunchError, Stream, Tensor};

/// Where sequences begin: sequence `i` has the queries from `queries[i]` to `queries[i + 1]`, and so its keys.
///
/// Both tensors have one element more than there are sequences, never decrease, and end inside the tensors' rows. What
/// lies outside every sequence sees nothing and is seen by nothing, but tiles may reach over a sequence's ends, and there
/// its values are multiplied by zero: they must be numbers, not infinities or NaN.
///
/// [`Offsets`] are such tensors made of numbers that the host has, which it holds to that
/// ([`AttentionError::Offsets`]). Offsets that a kernel has computed, the virtual machine reads before each pass and
/// holds to it too, except in a graph's capture. On a card nobody reads them: rows whose offsets decrease or lie beyond
/// the tensor get numbers without meaning; no memory outside the tensors is touched, and nothing faults.
#[derive(Debug, Clone, Copy)]
pub struct Sequences<'a> {
    /// Cumulative offsets of the queries.
    pub queries: &'a Tensor<u32, 1>,
    /// Cumulative offsets of the keys; those of the queries where a sequence attends to itself.
    pub keys: &'a Tensor<u32, 1>,
}

/// Offsets of sequences on a device, made of the host's.
#[derive(Debug)]
pub struct Offsets {
    queries: Tensor<u32, 1>,
    keys: Option<Tensor<u32, 1>>,
}

impl Offsets {
    /// Of sequences in these queries and keys; without offsets of keys, those of the queries are theirs too.
    ///
    /// # Errors
    ///
    /// If the two are not equally many, decrease somewhere, or end beyond the rows of q or k.
    pub fn new<E: Attends>(
        q: &Tensor<E, 4>,
        k: &Tensor<E, 4>,
        queries: &[u32],
        keys: Option<&[u32]>,
    ) -> Result<Offsets, AttentionError> {
        let of_keys = keys.unwrap_or(queries);
        alike("queries", &[queries.len()], &[queries.len().max(1)])?;
        alike("keys", &[of_keys.len()], &[queries.len()])?;
        are_offsets("queries", queries, q.dim(2))?;
        are_offsets("keys", of_keys, k.dim(2))?;
        let device = q.device();
        let keys = keys.map(|keys| device.tensor_from(keys, [keys.len()]));
        Ok(Offsets {
            queries: device.tensor_from(queries, [queries.len()])?,
            keys: keys.transpose()?,
        })
    }

    /// As the passes take them.
    #[must_use]
    pub fn sequences(&self) -> Sequences<'_> {
        Sequences {
            queries: &self.queries,
            keys: self.keys.as_ref().unwrap_or(&self.queries),
        }
    }
}

impl Sequences<'_> {
    /// How many there are.
    fn kind(&self) -> Kind {
        Kind::Packed(self.queries.len().saturating_sub(1))
    }

    /// Holds offsets on the virtual machine to what they must be.
    fn hold(&self, queries: usize, keys: usize) -> Result<(), AttentionError> {
        let each = [
            ("queries", self.queries, queries),
            ("keys", self.keys, keys),
        ];
        for (name, offsets, rows) in each {
            if offsets.device().kind() != crate::Kind::Vm {
                continue;
            }
            match offsets.to_vec() {
                Ok(offsets) => are_offsets(name, &offsets, rows)?,
                // What a graph will find there is not known yet.
                Err(LaunchError::InCapture { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// What each query sees.
fn plan<E: Attends>(
    stream: &Stream,
    q: &Tensor<E, 4>,
    keys: usize,
    sequences: Sequences<'_>,
    options: &Options,
) -> Result<Tensor<u32, 2>, AttentionError> {
    sequences.hold(q.dim(2), keys)?;
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
    alike("keys", &sequences.keys.shape(), &sequences.queries.shape())?;
    let pass = Pass {
        kind: sequences.kind(),
        scale,
        band: options.band(),
    };
    let Some(mut to) = super::begin(q, &shape, pass)? else {
        return super::nothing(q, &shape, pass);
    };
    let seen = plan(stream, q, shape.keys, sequences, options)?;
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
    alike("keys", &sequences.keys.shape(), &sequences.queries.shape())?;
    let scale = super::fit(
        [q, k, v],
        forward,
        d_out,
        d_lse,
        options,
        sequences.kind(),
        PACKED_HEAD_DIMS,
    )?;
    let Some(mut to) = super::begin_back([q, k, v])? else {
        return super::none([q, k, v]);
    };
    let seen = plan(stream, q, k.dim(2), sequences, options)?;
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
