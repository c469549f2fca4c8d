//! A kernel of one's own between what the library prepares and finishes: [`forward_with`], [`backward_with`].
//!
//! A score can be any function of product and place. The kernel is a few lines around the library's algorithm
//! ([`super::forward_hopper::attend`] and its like), to which it gives that function; here are the tensors it works with.

use super::options::Shape;
use super::pass::{Kind, Pass};
use super::table::{self, Backward, HEAD_DIMS};
use super::{Attended, Attends, AttentionError, Gradients, Options, Prepared, Schedule};
use crate::{LaunchError, Stream, Tensor};

/// Attention by a kernel of one's own: `launch` gets the schedule, the output, the log-sum-exp, and the scale times log2(e).
/// Masks of the options are the kernel's affair.
pub fn forward_with<E: Attends>(
    q: &Tensor<E, 4>,
    k: &Tensor<E, 4>,
    v: &Tensor<E, 4>,
    options: &Options,
    launch: impl FnOnce(
        Schedule,
        &mut Tensor<E, 4>,
        &mut Tensor<f32, 3>,
        f32,
    ) -> Result<(), LaunchError>,
) -> Result<Attended<E>, AttentionError> {
    let shape = Shape::of(q.shape(), k.shape(), v.shape())?;
    super::options::is_built(shape.width, HEAD_DIMS)?;
    let scale = options.scale_of(shape.width)?;
    let pass = Pass {
        kind: Kind::Custom,
        scale,
        band: options.band(),
    };
    let Some(mut to) = super::begin(q, &shape, pass)? else {
        return super::nothing(q, &shape, pass);
    };
    let scale_log2 = scale * std::f32::consts::LOG2_E;
    launch(
        table::schedule(q.device()),
        &mut to.out,
        &mut to.lse,
        scale_log2,
    )?;
    Ok(to)
}

/// Its gradients: `launch` gets what is prepared, dK and dV.
#[allow(clippy::too_many_arguments)]
pub fn backward_with<E: Attends>(
    stream: &Stream,
    q: &Tensor<E, 4>,
    k: &Tensor<E, 4>,
    v: &Tensor<E, 4>,
    forward: &Attended<E>,
    d_out: &Tensor<E, 4>,
    d_lse: Option<&Tensor<f32, 3>>,
    options: &Options,
    mut launch: impl FnMut(
        Prepared<'_>,
        &mut Tensor<E, 4>,
        &mut Tensor<E, 4>,
    ) -> Result<(), LaunchError>,
) -> Result<Gradients<E>, AttentionError> {
    let scale = super::fit(
        [q, k, v],
        forward,
        d_out,
        d_lse,
        options,
        Kind::Custom,
        HEAD_DIMS,
    )?;
    let Some(mut to) = super::begin_back([q, k, v])? else {
        return super::none([q, k, v]);
    };
    E::backward(
        stream,
        Backward {
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
        Some(&mut launch),
    )?;
    Ok(to)
}
