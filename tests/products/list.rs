//! Lists of products of different shapes in one kernel.

use super::{Call, Outcome, Real, judge, placed, values};
use tiki::Device;
use tiki::gemm::{Activation, Epilogue, Precision, Product, listed};
use tiki::prelude::{bf16, f16};

/// Around the edges of tiles, none, of a K of 0, of one step and of many: whole eights.
pub const EIGHTS: [(usize, usize, usize); 9] = [
    (1, 8, 8),
    (128, 128, 64),
    (130, 264, 200),
    (70, 72, 0),
    (0, 64, 64),
    (257, 136, 72),
    (64, 0, 8),
    (40, 520, 640),
    (192, 192, 192),
];

/// Others.
pub const ODD: [(usize, usize, usize); 6] = [
    (1, 1, 1),
    (33, 35, 37),
    (5, 7, 0),
    (70, 9, 11),
    (0, 3, 5),
    (130, 70, 129),
];

/// Runs a list in one kernel and judges each member; operands lie as `call` says, members with a gap or across by turns.
pub fn run<E: Real + Product<O>, O: Real>(
    device: &Device,
    shapes: &[(usize, usize, usize)],
    call: Call,
) -> Vec<Outcome> {
    let calls: Vec<Call> = (shapes.iter().enumerate())
        .map(|(i, &extents)| Call {
            extents,
            gap: if i % 2 == 0 { call.gap } else { 0 },
            across: if i % 3 == 1 { call.across } else { [false; 2] },
            own: true,
            ..call
        })
        .collect();
    let mut operands = Vec::new();
    for (i, call) in calls.iter().enumerate() {
        let ((m, n, k), seed) = (call.extents, 10 * i as u64);
        let (a, b) = (values::<E>(m * k, seed + 1), values::<E>(n * k, seed + 2));
        // What is not read is poison.
        let c = if call.beta == 0.0 {
            vec![O::of(f64::NAN); m * n]
        } else {
            values::<O>(m * n, seed + 3)
        };
        let placed = (
            placed(device, &a, (m, k), call.across[0], call.gap),
            placed(device, &b, (n, k), call.across[1], call.gap),
            placed(device, &c, (m, n), false, call.gap),
        );
        operands.push(((a, b, c), placed));
    }
    let epilogue = Epilogue {
        alpha: call.alpha.unwrap_or(1.0),
        beta: call.beta,
        activation: call.activation,
        precision: call.precision,
        ..Epilogue::default()
    };
    let mut members: Vec<_> = (operands.iter_mut())
        .map(|(_, (a, b, c))| (&*a, &*b, c))
        .collect();
    let chosen = listed(&device.stream(), &mut members, &epilogue);
    let chosen = chosen.unwrap_or_else(|e| panic!("{call:?}: {e}"));
    let judged = calls.into_iter().zip(&operands);
    judged
        .map(|(call, ((a, b, c), (.., dc)))| {
            let (m, n, k) = call.extents;
            let (dtype, across, gap) = (E::DTYPE, call.across, call.gap);
            let name = format!(
                "{} {m} x {n} x {k} {dtype} {across:?} gap {gap}",
                chosen.instance
            );
            let got = dc.to_vec().expect("a result");
            let zeros = vec![O::of(0.0); m * n];
            let d = if call.beta == 0.0 { &zeros } else { c };
            judge(name, call, [a, b], [d, &[]], &got)
        })
        .collect()
}

/// Every kernel of lists.
pub fn all(device: &Device) -> Vec<Outcome> {
    let plain = Call::default();
    let finished = Call {
        alpha: Some(0.5),
        beta: -2.0,
        activation: Activation::Silu,
        ..plain
    };
    let relu = Call {
        activation: Activation::Relu,
        ..plain
    };
    let mut out = Vec::new();
    for call in [plain, finished, relu, Call { gap: 8, ..finished }] {
        out.extend(run::<f16, f16>(device, &EIGHTS, call));
        out.extend(run::<bf16, bf16>(device, &EIGHTS, call));
    }
    let across = Call {
        across: [true, true],
        gap: 3,
        ..plain
    };
    for call in [plain, finished, across, Call { gap: 1, ..relu }] {
        out.extend(run::<f16, f16>(device, &ODD, call));
        out.extend(run::<bf16, bf16>(device, &ODD, call));
        for precision in [Precision::Tf32, Precision::Tf32x3] {
            out.extend(run::<f32, f32>(device, &ODD, Call { precision, ..call }));
        }
    }
    out
}
