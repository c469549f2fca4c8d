//! Invariant: neither the order in which copies and multiplies complete nor a record of every access changes or finds
//! anything. Witness: a call for each kernel, on machines of two targets.

use crate::many::batches_and_groups;
use crate::products::{Call, run};
use crate::{judged, target};
use tiki::Device;
use tiki::gemm::Activation;
use tiki::prelude::{bf16, e4m3, e5m2, f16};
use tiki::vm::{Async, Checks, Options};

/// Machines of every order of asynchronous completion, with all checks.
pub fn in_all_orders(target_name: &str, mut at: impl FnMut(&Device) -> Vec<Vec<u8>>) {
    let mut first = None;
    let seeds = (1..4).map(Async::Seed);
    for completion in [Async::Eager, Async::Late].into_iter().chain(seeds) {
        let options = Options {
            completion,
            ..Options::default()
        };
        let got = at(&Device::vm_with(target(target_name), options).unwrap());
        let same = first.get_or_insert_with(|| got.clone()) == &got;
        assert!(same, "{target_name}, {completion:?} changes a result");
    }
}

/// Machines of both targets that record every access, on which asynchronous work completes late.
pub fn with_all_checks(at: impl Fn(&str, &Device)) {
    for completion in [Async::Late, Async::Seed(7)] {
        for name in ["sm_90a", "sm_80"] {
            let options = Options {
                completion,
                checks: Checks::All,
                ..Options::default()
            };
            at(name, &Device::vm_with(target(name), options).unwrap());
        }
    }
}

/// Invariant: with every access recorded, no kernel of the library races, touches what is in flight or misuses a
/// copy or a multiply, however late its copies and multiplies complete. Witness: one call for each kernel.
#[test]
fn nothing_is_found_with_all_checks() {
    let finished = |extents| Call {
        extents,
        bias: true,
        beta: 1.5,
        activation: Activation::Silu,
        ..Call::default()
    };
    let call = |extents| Call {
        extents,
        ..Call::default()
    };
    with_all_checks(|name, device| {
        let tf32 = Call {
            precision: tiki::gemm::Precision::Tf32,
            ..call((130, 72, 72))
        };
        let mut all = vec![
            run::<f16, f16>(device, call((130, 136, 136))),
            run::<bf16, bf16>(device, call((16, 72, 264))),
            run::<f16, f16>(device, finished((130, 72, 136))),
            run::<bf16, bf16>(
                device,
                Call {
                    own: true,
                    ..finished((130, 72, 136))
                },
            ),
            run::<f16, f16>(device, finished((40, 72, 2048))),
            run::<f32, f32>(device, finished((33, 35, 37))),
            run::<f32, f32>(device, tf32),
            run::<f32, f32>(device, Call { bias: true, ..tf32 }),
            run::<i8, i32>(device, call((33, 35, 37))),
        ];
        if name == "sm_90a" {
            all.push(run::<e4m3, bf16>(device, call((130, 72, 144))));
            all.push(run::<e5m2, f32>(device, finished((130, 72, 144))));
            all.push(run::<e5m2, f16>(device, finished((33, 35, 37))));
            all.push(run::<f16, f16>(
                device,
                Call {
                    across: [true, true],
                    ..call((130, 72, 136))
                },
            ));
        }
        judged(all);
        batches_and_groups::<f16, f16>(device, (2, 136, 72, 72));
    });
}

#[test]
fn no_order_of_completion_changes_a_bit() {
    let call = |extents| Call {
        extents,
        ..Call::default()
    };
    let finished = |extents| Call {
        bias: true,
        beta: 1.5,
        activation: Activation::Gelu,
        ..call(extents)
    };
    in_all_orders("sm_90a", |device| {
        judged(vec![
            run::<f16, f16>(device, call((130, 264, 200))),
            run::<bf16, bf16>(device, call((16, 72, 264))),
            run::<f16, f16>(
                device,
                Call {
                    across: [true, true],
                    ..call((130, 72, 136))
                },
            ),
            run::<f16, f16>(device, finished((130, 136, 72))),
            run::<bf16, bf16>(
                device,
                Call {
                    own: true,
                    ..finished((130, 136, 72))
                },
            ),
            run::<e4m3, bf16>(device, call((130, 72, 272))),
            run::<e5m2, f16>(device, finished((130, 72, 272))),
            run::<f32, f32>(
                device,
                Call {
                    precision: tiki::gemm::Precision::Tf32,
                    ..finished((130, 72, 136))
                },
            ),
            // In parts.
            run::<f16, f16>(device, finished((40, 72, 4096))),
        ])
    });
    in_all_orders("sm_80", |device| {
        judged(vec![
            run::<f16, f16>(device, call((130, 136, 200))),
            run::<bf16, bf16>(device, finished((130, 136, 72))),
            run::<f16, f16>(device, finished((33, 35, 1037))),
            run::<f32, f32>(device, finished((70, 36, 104))),
            run::<i8, i32>(device, call((70, 36, 104))),
        ])
    });
}
