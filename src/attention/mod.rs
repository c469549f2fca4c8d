//! Attention that trains: `out = softmax(scale * q @ k.T) @ v`, the log-sum-exp of each row, and the gradients.
//!
//! Tensors are `[batch, heads, length, D]`; query head `h` reads key head `h / (query heads / key heads)`. What
//! is summed is summed in f32.
//!
//! - **Scale**: `1 / sqrt(D)` unless [`Options::scale`] says otherwise.
//! - **Band**: query `r` sees the keys from `r + shift - before` to `r + shift + after`, where `shift` is keys less
//!   queries: the last query stands beside the last key, whatever the two lengths. `causal` is `after = 0`.
//! - **Masks** apply before the maximum is taken. What a masked score would have been, NaN included, leaves no
//!   trace. A value that no query of a tile sees is not read; one that some see is multiplied by the zero
//!   probability of the others, as `softmax(..) @ v` says.
//! - **A row that sees nothing** has output 0, log-sum-exp minus infinity, and gradients 0.
//! - **`lse` is binary**: times ln 2 it is the natural log-sum-exp of the scaled scores.
//!
//! Sequences of several lengths, end to end in one tensor, are attended to by [`forward_packed`]. A score that is
//! any function of product and place, and its derivative, are functions that a kernel of one's own gives to
//! [`forward_hopper::attend`], [`backward_hopper::attend_backward`] and their like; `examples/attention_scores` has linear
//! biases, a soft cap and documents.
//!
//! A device, head dimension or shape for which nothing is built is an error ([`AttentionError`]) that says what
//! is; nothing slower is taken instead.

pub mod backward_ampere;
pub mod backward_hopper;
pub mod banded;
mod cache;
mod custom;
pub mod deal;
pub mod decode_split;
pub mod forward_ampere;
pub mod forward_hopper;
pub mod gradients;
mod options;
pub mod packed;
mod pass;
pub mod place;
pub mod running;
mod sequences;
mod table;
pub mod turns;

pub use cache::{Cache, DECODE_HEAD_DIMS, Decoded, Decodes, PAGE, decode};
pub use custom::{backward_with, forward_with};
pub use options::{AttentionError, Options};
pub use sequences::{Offsets, Sequences, backward_packed, forward_packed};
pub use table::{Attends, HEAD_DIMS, PACKED_HEAD_DIMS, Prepared, Schedule};

use crate::operator::{Operator, OperatorError, alike};
use crate::{Stream, Tensor};
use options::Shape;
use pass::{Kind, Pass};

/// What the forward pass gives. It knows the options that it was made with: a backward pass with others is refused.
#[derive(Debug)]
pub struct Attended<E: Attends> {
    /// `softmax(scale * q @ k.T) @ v`.
    pub out: Tensor<E, 4>,
    /// Binary log-sum-exp of each row's scaled scores.
    pub lse: Tensor<f32, 3>,
    pass: Option<Pass>,
}

impl<E: Attends> Attended<E> {
    /// Of tensors that were kept elsewhere. The backward pass is then not held to the options of the forward pass, which
    /// these do not tell.
    #[must_use]
    pub fn kept(out: Tensor<E, 4>, lse: Tensor<f32, 3>) -> Attended<E> {
        Attended {
            out,
            lse,
            pass: None,
        }
    }
}

/// Attention on the default stream of the tensors' device.
pub fn attention<E: Attends>(
    q: &Tensor<E, 4>,
    k: &Tensor<E, 4>,
    v: &Tensor<E, 4>,
    options: &Options,
) -> Result<Attended<E>, AttentionError> {
    forward(&q.device().stream(), q, k, v, options)
}

/// Attention on a stream.
pub fn forward<E: Attends>(
    stream: &Stream,
    q: &Tensor<E, 4>,
    k: &Tensor<E, 4>,
    v: &Tensor<E, 4>,
    options: &Options,
) -> Result<Attended<E>, AttentionError> {
    let shape = Shape::of(q.shape(), k.shape(), v.shape())?;
    options::is_built(shape.width, HEAD_DIMS)?;
    let scale = options.scale_of(shape.width)?;
    let band = options.band();
    let pass = Pass {
        kind: Kind::Whole,
        scale,
        band,
    };
    let Some(mut to) = begin(q, &shape, pass)? else {
        return nothing(q, &shape, pass);
    };
    E::forward(
        stream,
        table::Forward {
            q,
            k,
            v,
            seen: None,
            out: &mut to.out,
            lse: &mut to.lse,
            scale,
            band,
        },
    )?;
    Ok(to)
}

/// What the forward pass writes; `None` if there is nothing to see.
fn begin<E: Attends>(
    q: &Tensor<E, 4>,
    shape: &Shape,
    pass: Pass,
) -> Result<Option<Attended<E>>, AttentionError> {
    if shape.keys == 0 || q.is_empty() {
        return Ok(None);
    }
    let out = q.device().empty::<E, 4>(q.shape())?;
    let lse = q.device().empty::<f32, 3>(shape.rows())?;
    let pass = Some(pass);
    Ok(Some(Attended { out, lse, pass }))
}

/// What it gives where nothing is seen.
fn nothing<E: Attends>(
    q: &Tensor<E, 4>,
    shape: &Shape,
    pass: Pass,
) -> Result<Attended<E>, AttentionError> {
    let device = q.device();
    let lse = vec![f32::NEG_INFINITY; shape.rows().iter().product()];
    Ok(Attended {
        out: device.zeros::<E, 4>(q.shape())?,
        lse: device.tensor_from(&lse, shape.rows())?,
        pass: Some(pass),
    })
}

/// What the backward pass gives.
#[derive(Debug)]
pub struct Gradients<E: Attends> {
    /// Of q.
    pub q: Tensor<E, 4>,
    /// Of k.
    pub k: Tensor<E, 4>,
    /// Of v.
    pub v: Tensor<E, 4>,
}

/// Gradients of a loss, given those of `out` and, if the loss uses it, of `lse`.
#[allow(clippy::too_many_arguments)]
pub fn backward<E: Attends>(
    stream: &Stream,
    q: &Tensor<E, 4>,
    k: &Tensor<E, 4>,
    v: &Tensor<E, 4>,
    forward: &Attended<E>,
    d_out: &Tensor<E, 4>,
    d_lse: Option<&Tensor<f32, 3>>,
    options: &Options,
) -> Result<Gradients<E>, AttentionError> {
    let scale = fit(
        [q, k, v],
        forward,
        d_out,
        d_lse,
        options,
        Kind::Whole,
        HEAD_DIMS,
    )?;
    let Some(mut to) = begin_back([q, k, v])? else {
        return none([q, k, v]);
    };
    E::backward(
        stream,
        table::Backward {
            q,
            k,
            v,
            seen: None,
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

/// Checks the tensors of a backward pass against each other, and its options against those of the forward pass; gives the
/// scale.
fn fit<E: Attends>(
    [q, k, v]: [&Tensor<E, 4>; 3],
    forward: &Attended<E>,
    d_out: &Tensor<E, 4>,
    d_lse: Option<&Tensor<f32, 3>>,
    options: &Options,
    kind: Kind,
    built: &'static [usize],
) -> Result<f32, AttentionError> {
    let shape = Shape::of(q.shape(), k.shape(), v.shape())?;
    options::is_built(shape.width, built)?;
    options::alike("out", &forward.out.shape(), &q.shape())?;
    options::alike("d_out", &d_out.shape(), &q.shape())?;
    options::alike("lse", &forward.lse.shape(), &shape.rows())?;
    if let Some(d_lse) = d_lse {
        options::alike("d_lse", &d_lse.shape(), &shape.rows())?;
    }
    let (scale, band) = (options.scale_of(shape.width)?, options.band());
    if let Some(pass) = &forward.pass {
        Pass { kind, scale, band }.is_that_of(pass)?;
    }
    Ok(scale)
}

/// What the backward pass writes; `None` if nothing was seen.
fn begin_back<E: Attends>(
    [q, k, v]: [&Tensor<E, 4>; 3],
) -> Result<Option<Gradients<E>>, AttentionError> {
    if k.is_empty() || q.is_empty() {
        return Ok(None);
    }
    Ok(Some(Gradients {
        q: q.device().empty(q.shape())?,
        k: q.device().empty(k.shape())?,
        v: q.device().empty(v.shape())?,
    }))
}

/// What it gives where nothing was seen.
fn none<E: Attends>([q, k, v]: [&Tensor<E, 4>; 3]) -> Result<Gradients<E>, AttentionError> {
    Ok(Gradients {
        q: q.device().zeros(q.shape())?,
        k: q.device().zeros(k.shape())?,
        v: q.device().zeros(v.shape())?,
    })
}

/// Attention as an operator of a training loop: of `(q, k, v)`, keeping the log-sum-exp.
#[must_use]
pub fn operator<E: Attends>(options: Options) -> Operator<Qkv<E>, Tensor<E, 4>, Tensor<f32, 3>> {
    let pass = |e: AttentionError| match e {
        AttentionError::Launch(error) => OperatorError::Launch(error),
        error => OperatorError::Pass(Box::new(error)),
    };
    Operator::new("attention", move |stream, (q, k, v): &Qkv<E>| {
        let Attended { out, lse, .. } = forward(stream, q, k, v, &options).map_err(pass)?;
        Ok((out, lse))
    })
    .rules(|(q, k, v)| {
        let shape = Shape::of(q.shape(), k.shape(), v.shape());
        let built = shape.and_then(|shape| options::is_built(shape.width, HEAD_DIMS));
        built.map_err(|e| e.to_string())
    })
    .backward(move |stream, (q, k, v), out, lse, d_out| {
        alike("attention", &out.shape(), &d_out.shape())?;
        let forward = Attended::kept(out.view(), lse.view());
        let g = backward(stream, q, k, v, &forward, d_out, None, &options).map_err(pass)?;
        Ok((g.q, g.k, g.v))
    })
}

/// Queries, keys and values.
pub type Qkv<E> = (Tensor<E, 4>, Tensor<E, 4>, Tensor<E, 4>);
