//! Gradients against the definition's.

use crate::forward::draw;
use crate::reference::{Case, Narrow, Random, backward, wide};
use tiki::Device;
use tiki::attention::{self, attention};
use tiki::prelude::{bf16, f16};

/// Runs a case and says how far dQ, dK and dV are off, in units of their bounds.
pub fn check<E: Narrow>(device: &Device, case: &Case, seed: u64, with_lse: bool) -> [f64; 3] {
    let mut random = Random(seed);
    let count = |s: [usize; 4]| s.iter().product::<usize>();
    let q = random.tensor::<E>(count(case.q_shape()));
    let k = random.tensor::<E>(count(case.k_shape()));
    let v = random.tensor::<E>(count(case.k_shape()));
    let g = random.tensor::<E>(count(case.q_shape()));
    let rows = [case.batch, case.heads, case.queries];
    let l: Vec<f32> = (0..rows.iter().product())
        .map(|_| random.normal() as f32)
        .collect();
    let to = |t: &[E], s| device.tensor_from(t, s).expect("a tensor is made");
    let (dq, dk, dv) = (
        to(&q, case.q_shape()),
        to(&k, case.k_shape()),
        to(&v, case.k_shape()),
    );
    let (dg, dl) = (
        to(&g, case.q_shape()),
        device.tensor_from(&l, rows).expect("a tensor is made"),
    );
    let options = case.options();
    let forward = attention(&dq, &dk, &dv, &options).expect("the forward pass runs");
    let got = attention::backward(
        &device.stream(),
        &dq,
        &dk,
        &dv,
        &forward,
        &dg,
        with_lse.then_some(&dl),
        &options,
    )
    .unwrap_or_else(|e| panic!("{case:?}: {e}"));
    // The kernel's log-sum-exp is binary.
    let natural: Vec<f64> = l
        .iter()
        .map(|l| f64::from(*l) * std::f64::consts::LOG2_E)
        .collect();
    let inputs = [wide(&q), wide(&k), wide(&v)];
    let expected = backward(
        case,
        [&inputs[0], &inputs[1], &inputs[2]],
        &wide(&g),
        with_lse.then_some(&natural),
    );
    let far = |got: Vec<E>, expected: &[f64]| {
        // Probabilities, their gradients and the result are rounded: relative to the whole tensor's size, since
        // what is summed cancels.
        let norm = expected.iter().map(|e| e * e).sum::<f64>().sqrt();
        let off = got
            .iter()
            .zip(expected)
            .map(|(g, e)| (g.wide() - e).powi(2));
        let off = off.sum::<f64>().sqrt();
        let far = off / (norm.max(1e-9) * 2.0 * E::HALF_ULP);
        if far.is_nan() { f64::INFINITY } else { far }
    };
    [
        far(got.q.to_vec().unwrap(), &expected.q),
        far(got.k.to_vec().unwrap(), &expected.k),
        far(got.v.to_vec().unwrap(), &expected.v),
    ]
}

#[test]
fn random_shapes_and_options() {
    let device = Device::vm().expect("the virtual machine opens");
    let mut random = Random(11);
    for i in 0..6 {
        let case = draw(&mut random, 170, &[64, 128]);
        let off = if i % 2 == 0 {
            check::<f16>(&device, &case, i, i % 3 == 0)
        } else {
            check::<bf16>(&device, &case, i, i % 3 == 0)
        };
        assert!(
            off.iter().all(|o| *o <= 1.0),
            "case {i}, {case:?}: dQ, dK, dV {off:.2?} times the bound"
        );
    }
}
