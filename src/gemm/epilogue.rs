//! What happens to a sum before it is stored: device functions of one element, fused into the kernels.

use crate::prelude::{Element, Register, View, exp, fma, max_propagate_nan, tanh};

/// 0: the value, 1: `max(x, 0)` (NaN stays), 2: GELU by tanh, 3: SiLU.
#[tiki::device]
pub fn act(x: f32, kind: u32) -> f32 {
    if kind == 0 {
        x
    } else if kind == 1 {
        max_propagate_nan(x, 0.0)
    } else if kind == 2 {
        0.5 * x * (1.0 + tanh(0.797_884_56 * (x + 0.044_715 * x * x * x)))
    } else {
        x / (1.0 + exp(-x))
    }
}

/// `y + beta d`; with `beta` 0, `y` whatever `d` is.
#[tiki::device]
pub fn residual(y: f32, d: f32, beta: f32) -> f32 {
    if beta == 0.0 { y } else { fma(beta, d, y) }
}

/// `act(alpha sums + bias) + beta d` of a tile's sums. What lies outside `bias` and `d` is zero.
#[tiki::device]
pub fn finished<O: Element>(
    sums: &Register<f32>,
    bias: &View<O, 1>,
    d: &View<O>,
    alpha: f32,
    beta: f32,
    activation: u32,
) -> Register<f32> {
    let columns = bias.load_like(&sums.col_vector(0.0));
    let y = sums
        .map(|x| x * alpha)
        .cols(&columns.cast::<f32>(), |x, b| x + b)
        .map(|x| act(x, activation));
    let old = d.load_like(sums);
    y.zip(&old.cast::<f32>(), |y, d| residual(y, d, beta))
}
