//! Shapes and options drawn at random, forward, backward and packed, on both schedules, against f64.
//!
//! `TIKI_SWEEP=220 cargo test --release --features attention --test attention sweep` draws that many; without it
//! there are a few. With the feature `gpu` an NVIDIA GPU takes them, 220 unless said otherwise. What the worst of
//! each result was is printed (`-- --nocapture`), after each case how far it is.

use crate::reference::{Narrow, Random};
use crate::{backward, forward, packed};
use tiki::Device;
use tiki::prelude::{bf16, f16};

/// The results of a case, in units of their bounds: out, log-sum-exp, dQ, dK, dV; zero where a case does not ask.
fn one<E: Narrow>(device: &Device, random: &mut Random, i: u64) -> ([f64; 5], String) {
    let longest = if i.is_multiple_of(5) { 700 } else { 260 };
    let widths = &[64, 96, 128, 192, 256];
    match i % 3 {
        0 => {
            let case = forward::draw(random, longest, widths);
            let off = forward::check::<E>(device, &case, i);
            ([off, 0.0, 0.0, 0.0, 0.0], format!("{case:?}"))
        }
        1 => {
            let case = forward::draw(random, longest, widths);
            let [q, k, v] = backward::check::<E>(device, &case, i, i.is_multiple_of(2));
            ([0.0, 0.0, q, k, v], format!("{case:?}"))
        }
        _ => {
            let (case, lengths) = packed::draw(random, longest, &[64, 128]);
            let off = packed::check::<E>(device, &case, &lengths, i);
            (off, format!("{case:?}, {lengths:?}"))
        }
    }
}

fn sweep(devices: &[Device], count: u64) {
    let mut random = Random(2026);
    let mut worst = [0.0_f64; 5];
    for i in 0..count {
        // Every kind of case meets every type and every device.
        let device = &devices[(i / 6) as usize % devices.len()];
        let (off, what) = if i.is_multiple_of(2) {
            one::<f16>(device, &mut random, i)
        } else {
            one::<bf16>(device, &mut random, i)
        };
        assert!(
            off.iter().all(|o| *o <= 1.0),
            "case {i} on {}, {what}: out, lse, dQ, dK, dV {off:.2?} times the bound",
            device.name()
        );
        for (w, o) in worst.iter_mut().zip(off) {
            *w = w.max(o);
        }
        println!("{} of {count}: {off:.2?}", i + 1);
    }
    println!("{count} cases; out, lse, dQ, dK, dV at most {worst:.2?} of their bounds");
}

/// How many cases are asked for.
fn asked(unless: u64) -> u64 {
    let text = std::env::var("TIKI_SWEEP").unwrap_or_default();
    text.parse().unwrap_or(unless)
}

#[cfg(not(feature = "gpu"))]
#[test]
fn random_shapes_and_options_of_both_schedules() {
    sweep(&crate::machines(), asked(12));
}

#[cfg(feature = "gpu")]
#[test]
fn random_shapes_and_options_on_a_gpu() {
    sweep(&[Device::cuda(0).expect("an NVIDIA GPU")], asked(220));
}
