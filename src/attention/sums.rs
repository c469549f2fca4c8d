//! Sums of rows that lanes keep to themselves until the row leaves: no lane asks another for each block of keys.

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

/// The sum of all that the lane holds: of what is not negative, no less than the greatest, and not a number if one is not.
#[tiki::device]
pub fn most(sum: &Register<f32>) -> f32 {
    let mut all = sum.raw()[0];
    #[unroll]
    for i in 1..sum.raw().len() {
        all += sum.raw()[i];
    }
    all
}
