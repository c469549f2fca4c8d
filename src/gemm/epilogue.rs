//! What happens to a sum before it is stored: device functions of one element, fused into the kernels.

use crate::prelude::{Element, Register, View, exp, fma, max_propagate_nan, tanh};

/// Numbers of the functions of [`act`]; 0 is the value itself.
#[tiki::device]
pub const RELU: u32 = 1;
/// See [`RELU`].
#[tiki::device]
pub const GELU: u32 = 2;
/// See [`RELU`].
#[tiki::device]
pub const SILU: u32 = 3;

/// The value, `max(x, 0)` (NaN stays), GELU by tanh, or SiLU.
#[tiki::device]
pub fn act(x: f32, kind: u32) -> f32 {
    if kind == 0 {
        x
    } else if kind == RELU {
        max_propagate_nan(x, 0.0)
    } else if kind == GELU {
        0.5 * x * (1.0 + tanh(0.797_884_56 * (x + 0.044_715 * x * x * x)))
    } else if kind == SILU {
        x / (1.0 + exp(-x))
    } else {
        x
    }
}

/// `y + beta d`; with `beta` 0, `y` whatever `d` is.
#[tiki::device]
pub fn residual(y: f32, d: f32, beta: f32) -> f32 {
    if beta == 0.0 { y } else { fma(beta, d, y) }
}

/// `act(alpha sums + bias) + beta d` of a tile's sums. What lies outside `bias` is zero.
#[tiki::device]
pub fn finished<O: Element>(
    sums: &Register<f32>,
    bias: &View<O, 1>,
    d: &Register<O>,
    alpha: f32,
    beta: f32,
    activation: u32,
) -> Register<f32> {
    let columns = bias.load_like(&sums.col_vector(0.0));
    let y = sums
        .map(|x| x * alpha)
        .cols(&columns.cast::<f32>(), |x, b| x + b)
        .map(|x| act(x, activation));
    y.zip(&d.cast::<f32>(), |y, d| residual(y, d, beta))
}
