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
//! A device, head dimension or shape for which nothing is built is an error ([`AttentionError`]) that says what
//! is; nothing slower is taken instead.

pub mod backward_hopper;
mod cache;
pub mod decode_split;
pub mod forward_hopper;
pub mod gradients;
mod options;
mod table;

pub use cache::{Cache, DECODE_HEAD_DIMS, Decoded, Decodes, PAGE, decode};
pub use options::{AttentionError, Options};
pub use table::{Attends, BACKWARD_HEAD_DIMS, HEAD_DIMS};

use crate::operator::{Operator, OperatorError};
use crate::{Stream, Tensor};

/// What the forward pass gives.
#[derive(Debug)]
pub struct Attended<E: Attends> {
    /// `softmax(scale * q @ k.T) @ v`.
    pub out: Tensor<E, 4>,
    /// Binary log-sum-exp of each row's scaled scores.
    pub lse: Tensor<f32, 3>,
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
    let shape = options::Shape::of(q.shape(), k.shape(), v.shape())?;
    let band = options.band()?;
    let scale = options.scale_of(shape.width)?;
    let device = q.device();
    let rows = [shape.batch, shape.heads, shape.queries];
    let mut lse = device.empty::<f32, 3>(rows)?;
    if shape.keys == 0 || shape.queries == 0 {
        // Nothing is seen.
        let nothing = vec![f32::NEG_INFINITY; rows.iter().product()];
        let out = device.zeros::<E, 4>(q.shape())?;
        let lse = device.tensor_from(&nothing, rows)?;
        return Ok(Attended { out, lse });
    }
    let mut out = device.empty::<E, 4>(q.shape())?;
    let scale_log2 = scale * std::f32::consts::LOG2_E;
    E::forward(
        stream,
        shape.width,
        q,
        k,
        v,
        &mut out,
        &mut lse,
        scale_log2,
        band,
    )?;
    Ok(Attended { out, lse })
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
    let shape = options::Shape::of(q.shape(), k.shape(), v.shape())?;
    let rows = [shape.batch, shape.heads, shape.queries];
    options::alike("out", &forward.out.shape(), &q.shape())?;
    options::alike("d_out", &d_out.shape(), &q.shape())?;
    options::alike("lse", &forward.lse.shape(), &rows)?;
    if let Some(d_lse) = d_lse {
        options::alike("d_lse", &d_lse.shape(), &rows)?;
    }
    let band = options.band()?;
    let scale = options.scale_of(shape.width)?;
    let device = q.device();
    if shape.keys == 0 || shape.queries == 0 {
        // Nothing is seen.
        return Ok(Gradients {
            q: device.zeros(q.shape())?,
            k: device.zeros(k.shape())?,
            v: device.zeros(v.shape())?,
        });
    }
    let mut to = Gradients {
        q: device.empty(q.shape())?,
        k: device.empty(k.shape())?,
        v: device.empty(v.shape())?,
    };
    E::backward(
        stream,
        table::Backward {
            q,
            k,
            v,
            out: &forward.out,
            lse: &forward.lse,
            d_out,
            d_lse,
            dq: &mut to.q,
            dk: &mut to.k,
            dv: &mut to.v,
            scale,
            band,
            ordered: options.deterministic,
        },
    )?;
    Ok(to)
}

/// Attention as an operator of a training loop: of `(q, k, v)`, keeping the log-sum-exp.
#[must_use]
pub fn operator<E: Attends>(options: Options) -> Operator<Qkv<E>, Tensor<E, 4>, Tensor<f32, 3>> {
    let pass = |e: AttentionError| match e {
        AttentionError::Launch(error) => OperatorError::Launch(error),
        error => OperatorError::Pass(Box::new(error)),
    };
    Operator::new("attention", move |stream, (q, k, v): &Qkv<E>| {
        let Attended { out, lse } = forward(stream, q, k, v, &options).map_err(pass)?;
        Ok((out, lse))
    })
    .rules(|(q, k, v)| {
        let shape = options::Shape::of(q.shape(), k.shape(), v.shape());
        shape.map(|_| ()).map_err(|e| e.to_string())
    })
    .backward(move |stream, (q, k, v), out, lse, d_out| {
        let forward = Attended {
            out: out.view(),
            lse: lse.view(),
        };
        let g = backward(stream, q, k, v, &forward, d_out, None, &options).map_err(pass)?;
        Ok((g.q, g.k, g.v))
    })
}

/// Queries, keys and values.
pub type Qkv<E> = (Tensor<E, 4>, Tensor<E, 4>, Tensor<E, 4>);
