//! The running softmax: sums of rows, and when their base must rise.
//!
//! A row's base is a maximum that it has had. Lanes keep their own sums until the row leaves: none asks another for each block
//! of keys.

use tiki::prelude::*;

/// The sums of a row's columns in eight parts: those with the same remainder by 8, which one lane holds.
#[tiki::device]
pub fn in_parts<const BN: usize>(prob: &Register<f32>) -> Register<f32> {
    let mut sum = prob.tile([64, 8], [0, 0]);
    #[unroll]
    for g in 1..BN / 8 {
        sum = &sum + &prob.tile([64, 8], [0, g]);
    }
    sum
}

/// Whether some lane's probabilities may be more than 16 bits hold: what is not negative is no more than its sum. A
/// sum that is not a number is too much, too.
#[tiki::device]
pub fn too_much(sum: &Register<f32>) -> bool {
    let mut all = sum.raw()[0];
    #[unroll]
    for i in 1..sum.raw().len() {
        all += sum.raw()[i];
    }
    vote_any(!(all <= 32768.0))
}

/// Whether some row's maximum is 8 binary digits or more above its base.
#[tiki::device]
pub fn risen(base: &Register<f32>, peak: &Register<f32>, scale_log2: f32) -> bool {
    let far = |b: f32, p: f32| p > b && !((p - b) * scale_log2 < 8.0);
    let far = base.zip(peak, |b, p| if far(b, p) { 1.0 } else { 0.0 });
    vote_any(far.raw()[0] + far.raw()[1] > 0.0)
}

/// What is added to a row's scaled products before the exponential: less its peak; `none` if it sees nothing so far, since
/// minus infinity less itself is not a number. Zero keeps zeros; infinity makes the row's sum too much.
#[tiki::device]
pub fn lowered(peak: f32, scale_log2: f32, none: f32) -> f32 {
    if peak == f32::NEG_INFINITY {
        none
    } else {
        -(peak * scale_log2)
    }
}
