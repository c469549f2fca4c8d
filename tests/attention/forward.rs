//! The forward pass against the definition.

use crate::reference::{Case, Narrow, Random, forward, wide};
use tiki::Device;
use tiki::attention::attention;
use tiki::prelude::{bf16, f16};

/// A case of random lengths and options.
pub fn draw(random: &mut Random, longest: usize, widths: &[usize]) -> Case {
    let width = random.pick(widths);
    let key_heads = random.pick(&[1, 1, 2]);
    let queries = 1 + random.below(longest);
    let keys = match random.below(3) {
        0 => queries,
        _ => 1 + random.below(longest),
    };
    let window = match random.below(3) {
        0 => Some((random.below(longest), random.below(longest / 2))),
        _ => None,
    };
    Case {
        batch: 1 + random.below(2),
        heads: key_heads * random.pick(&[1, 1, 3]),
        key_heads,
        queries,
        keys,
        width,
        causal: random.below(2) == 0,
        window,
        scale: random.pick(&[1.0, 0.7]) / (width as f64).sqrt(),
        deterministic: random.below(4) == 0,
    }
}

/// Runs a case and says how far it is off, in units of its bound.
pub fn check<E: Narrow>(device: &Device, case: &Case, seed: u64) -> f64 {
    let mut random = Random(seed);
    let count = |s: [usize; 4]| s.iter().product::<usize>();
    let q = random.tensor::<E>(count(case.q_shape()));
    let (k, v) = (
        random.tensor::<E>(count(case.k_shape())),
        random.tensor::<E>(count(case.k_shape())),
    );
    let to = |t: &[E], s| device.tensor_from(t, s).expect("a tensor is made");
    let got = attention(
        &to(&q, case.q_shape()),
        &to(&k, case.k_shape()),
        &to(&v, case.k_shape()),
        &case.options(),
    )
    .unwrap_or_else(|e| panic!("{case:?}: {e}"));
    let expected = forward(case, &wide(&q), &wide(&k), &wide(&v));
    // Probabilities and the result are rounded once each: half a unit in the last place of the largest value.
    let size = wide(&v).iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    let bound = 2.5 * size * E::HALF_ULP;
    let mut worst = 0.0_f64;
    for (g, e) in got.out.to_vec().unwrap().iter().zip(&expected.out) {
        let off = (g.wide() - e).abs() / bound;
        worst = worst.max(if off.is_nan() { f64::INFINITY } else { off });
    }
    for (g, e) in got.lse.to_vec().unwrap().iter().zip(&expected.lse) {
        let natural = f64::from(*g) * std::f64::consts::LN_2;
        let off = if natural == *e {
            0.0
        } else {
            (natural - e).abs() / 1e-4
        };
        worst = worst.max(if off.is_nan() { f64::INFINITY } else { off });
    }
    worst
}

#[test]
fn random_shapes_and_options() {
    let device = Device::vm().expect("the virtual machine opens");
    let mut random = Random(7);
    for i in 0..10 {
        let case = draw(&mut random, 260, &[64, 64, 96, 128, 128, 192, 256]);
        let off = if i % 2 == 0 {
            check::<f16>(&device, &case, i)
        } else {
            check::<bf16>(&device, &case, i)
        };
        assert!(off <= 1.0, "case {i}, {case:?}: {off:.2} times the bound");
    }
}
