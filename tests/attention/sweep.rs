//! Two hundred cases and more on an NVIDIA GPU, forward and backward, against f64.

use crate::forward::draw;
use crate::reference::Random;
use crate::{backward, forward};
use tiki::Device;
use tiki::prelude::{bf16, f16};

#[test]
fn random_shapes_and_options_on_a_gpu() {
    let device = Device::cuda(0).expect("an NVIDIA GPU");
    let mut random = Random(2026);
    let mut worst = [0.0_f64; 4];
    for i in 0..120 {
        let case = draw(&mut random, 700, &[64, 96, 128, 192, 256]);
        let off = if i % 2 == 0 {
            forward::check::<f16>(&device, &case, i)
        } else {
            forward::check::<bf16>(&device, &case, i)
        };
        assert!(off <= 1.0, "case {i}, {case:?}: {off:.2} times the bound");
        worst[0] = worst[0].max(off);
    }
    for i in 0..100 {
        let case = draw(&mut random, 700, &[64, 128]);
        let off = if i % 2 == 0 {
            backward::check::<f16>(&device, &case, i, i % 3 == 0)
        } else {
            backward::check::<bf16>(&device, &case, i, i % 3 == 0)
        };
        assert!(
            off.iter().all(|o| *o <= 1.0),
            "case {i}, {case:?}: dQ, dK, dV {off:.2?} times the bound"
        );
        for (w, o) in worst[1..].iter_mut().zip(off) {
            *w = w.max(o);
        }
    }
    println!("220 cases; out, dQ, dK, dV at most {worst:.2?} of their bounds");
}
