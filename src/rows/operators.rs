//! RMSNorm and softmax as operators of a training loop.
//!
//! Rows have any width; what is summed is summed in f32. NaN and infinity in a row make it NaN, as the formula says; a
//! row of minus infinity alone has softmax 0 and gradient 0.

use super::kernels;
use crate::operator::{Operator, alike};
use crate::prelude::{bf16, f16};
use crate::{Element, LaunchError, Stream, Tensor};

/// Element types that rows are built for.
pub trait Rows: Element {
    /// `out` and the rows' roots.
    #[doc(hidden)]
    fn rms_norm(
        stream: &Stream,
        x: &Tensor<Self, 2>,
        weight: &Tensor<Self, 1>,
        eps: f32,
    ) -> Result<(Tensor<Self, 2>, Tensor<f32, 1>), LaunchError>;
    /// Gradients of x and of the weight.
    #[doc(hidden)]
    fn rms_norm_backward(
        stream: &Stream,
        x: &Tensor<Self, 2>,
        weight: &Tensor<Self, 1>,
        roots: &Tensor<f32, 1>,
        d_out: &Tensor<Self, 2>,
    ) -> Result<(Tensor<Self, 2>, Tensor<Self, 1>), LaunchError>;
    /// Softmax.
    #[doc(hidden)]
    fn softmax(stream: &Stream, x: &Tensor<Self, 2>) -> Result<Tensor<Self, 2>, LaunchError>;
    /// Gradient of its input.
    #[doc(hidden)]
    fn softmax_backward(
        stream: &Stream,
        y: &Tensor<Self, 2>,
        d_out: &Tensor<Self, 2>,
    ) -> Result<Tensor<Self, 2>, LaunchError>;
}

macro_rules! rows {
    ($($e:ty)*) => {$(
        impl Rows for $e {
            fn rms_norm(
                stream: &Stream,
                x: &Tensor<Self, 2>,
                weight: &Tensor<Self, 1>,
                eps: f32,
            ) -> Result<(Tensor<Self, 2>, Tensor<f32, 1>), LaunchError> {
                let mut out = x.device().empty(x.shape())?;
                let mut roots = x.device().empty([x.dim(0)])?;
                if !x.is_empty() {
                    kernels::rms_norm::<$e>::launch(stream, x, weight, &mut out, &mut roots, eps)?;
                }
                Ok((out, roots))
            }
            fn rms_norm_backward(
                stream: &Stream,
                x: &Tensor<Self, 2>,
                weight: &Tensor<Self, 1>,
                roots: &Tensor<f32, 1>,
                d_out: &Tensor<Self, 2>,
            ) -> Result<(Tensor<Self, 2>, Tensor<Self, 1>), LaunchError> {
                let mut d_x = x.device().empty(x.shape())?;
                let mut d_weight = x.device().zeros(weight.shape())?;
                if !x.is_empty() {
                    kernels::rms_norm_backward::<$e>::launch(stream, x, weight, roots, d_out, &mut d_x)?;
                    kernels::rms_norm_weight_backward::<$e>::launch(stream, x, roots, d_out, &mut d_weight)?;
                }
                Ok((d_x, d_weight))
            }
            fn softmax(stream: &Stream, x: &Tensor<Self, 2>) -> Result<Tensor<Self, 2>, LaunchError> {
                let mut out = x.device().empty(x.shape())?;
                if !x.is_empty() {
                    kernels::softmax::<$e>::launch(stream, x, &mut out)?;
                }
                Ok(out)
            }
            fn softmax_backward(
                stream: &Stream,
                y: &Tensor<Self, 2>,
                d_out: &Tensor<Self, 2>,
            ) -> Result<Tensor<Self, 2>, LaunchError> {
                let mut d_x = y.device().empty(y.shape())?;
                if !y.is_empty() {
                    kernels::softmax_backward::<$e>::launch(stream, y, d_out, &mut d_x)?;
                }
                Ok(d_x)
            }
        }
    )*};
}

rows!(f32 f16 bf16);

/// Of `(x, weight)`; it keeps each row's factor.
pub type RmsNorm<E> = Operator<(Tensor<E, 2>, Tensor<E, 1>), Tensor<E, 2>, Tensor<f32, 1>>;

/// RMSNorm of rows.
#[must_use]
pub fn rms_norm<E: Rows>(eps: f32) -> RmsNorm<E> {
    let forward = move |stream: &Stream, (x, weight): &(Tensor<E, 2>, Tensor<E, 1>)| {
        Ok(E::rms_norm(stream, x, weight, eps)?)
    };
    Operator::new("rms_norm", forward)
        .rules(|(x, weight)| {
            if x.dim(1) == weight.dim(0) {
                return Ok(());
            }
            let (width, given) = (x.dim(1), weight.dim(0));
            Err(format!(
                "rows of {width} elements take a weight of {width}, not {given}"
            ))
        })
        .backward(|stream, (x, weight), out, roots, d_out| {
            alike("rms_norm", &out.shape(), &d_out.shape())?;
            Ok(E::rms_norm_backward(stream, x, weight, roots, d_out)?)
        })
}

/// Softmax of rows.
#[must_use]
pub fn softmax<E: Rows>() -> Operator<Tensor<E, 2>, Tensor<E, 2>> {
    Operator::new("softmax", |stream: &Stream, x: &Tensor<E, 2>| {
        Ok((E::softmax(stream, x)?, ()))
    })
    .backward(|stream, _, y, (), d_out| {
        alike("softmax", &y.shape(), &d_out.shape())?;
        Ok(E::softmax_backward(stream, y, d_out)?)
    })
}
