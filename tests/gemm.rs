//! The library of products on the virtual machine.
//!
//! Invariant: whatever instance the table picks, the result is within the bound; what no instance takes is an
//! error that lists each with its reason, and nothing is launched. Witness: `products::all`, on machines of
//! two targets and in every order of asynchronous completion.

mod products;

use products::{Call, run};
use tiki::gemm::{Activation, Epilogue, GemmError, batched, by_groups, choose, grouped, product};
use tiki::prelude::{bf16, e4m3, e5m2, f16};
use tiki::vm::{Async, Checks, Options};
use tiki::{Device, Tensor};

fn target(name: &str) -> tiki::compiler::target::Target {
    tiki::compiler::target::Target::by_name(name).expect("a target")
}

fn judged(outcomes: Vec<products::Outcome>) -> Vec<Vec<u8>> {
    let bad: Vec<String> = (outcomes.iter())
        .filter_map(|o| o.verdict.clone().err())
        .collect();
    let (wrong, all) = (bad.len(), outcomes.len());
    assert!(
        bad.is_empty(),
        "{wrong} of {all} are wrong:\n{}",
        bad.join("\n")
    );
    outcomes.into_iter().map(|o| o.bytes).collect()
}

#[test]
fn products_agree_with_f64_on_hopper() {
    let device = Device::vm().unwrap();
    judged(products::all(&device, true));
}

#[test]
fn products_agree_with_f64_on_ampere() {
    let device = Device::vm_of(target("sm_80")).unwrap();
    judged(products::all(&device, false));
}

/// Machines of every order of asynchronous completion, with all checks.
fn in_all_orders(target_name: &str, mut at: impl FnMut(&Device) -> Vec<Vec<u8>>) {
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
    for completion in [Async::Late, Async::Seed(7)] {
        for name in ["sm_90a", "sm_80"] {
            let options = Options {
                completion,
                checks: Checks::All,
                ..Options::default()
            };
            let device = &Device::vm_with(target(name), options).unwrap();
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
        }
    }
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

/// Invariant: a product is, bit for bit, the model of the tensor cores (`tiki_kernel`'s own arithmetic on significands) applied
/// to 16 terms after 16, rounded once. Witness: every shape of `products::SHAPES`, two types, two targets.
fn is_the_model<E: products::Real + tiki::gemm::Product<E>>(
    device: &Device,
    ty: tiki::compiler::isa::Ty,
    bits: impl Fn(E) -> u32,
    rounded: impl Fn(f32) -> E,
) {
    use tiki::compiler::isa::meaning::tensor::{Generation, Num, dot_f32, model, take_apart};
    for (m, n, k) in products::SHAPES {
        let call = Call {
            extents: (m, n, k),
            ..Call::default()
        };
        let outcome = run::<E, E>(device, call);
        outcome.verdict.unwrap();
        assert!(outcome.name.contains(" in 1 "), "{}", outcome.name);
        let apart = |values: Vec<E>| -> Vec<Vec<Num>> {
            let of_row = |row: &[E]| {
                let mut row: Vec<Num> = row.iter().map(|x| take_apart(ty, bits(*x))).collect();
                row.resize(k.next_multiple_of(16), take_apart(ty, 0));
                row
            };
            values.chunks(k).map(of_row).collect()
        };
        let a = apart(products::values::<E>(m * k, 1));
        let b = apart(products::values::<E>(n * k, 2));
        let model = model(Generation::Hopper, ty, true);
        for i in (0..m * n).step_by(5) {
            let chunks = a[i / n].chunks(16).zip(b[i % n].chunks(16));
            let sum = chunks.fold(0, |c, (a, b)| dot_f32(model, a, b, c));
            let want = rounded(f32::from_bits(sum)).bytes();
            let size = size_of::<E>();
            let got = &outcome.bytes[i * size..][..size];
            assert!(
                got == want,
                "{}: element {i}: {got:?} for {want:?}",
                outcome.name
            );
        }
    }
}

#[test]
fn products_are_the_tensor_core_model_bit_for_bit() {
    use tiki::compiler::isa::Ty;
    for device in [
        Device::vm().unwrap(),
        Device::vm_of(target("sm_80")).unwrap(),
    ] {
        is_the_model::<f16>(&device, Ty::F16, |x| x.to_bits().into(), f16::from_f32);
        is_the_model::<bf16>(&device, Ty::BF16, |x| x.to_bits().into(), bf16::from_f32);
    }
}

#[test]
fn what_is_not_built_is_told() {
    let ampere = Device::vm_of(target("sm_80")).unwrap();
    let a: Tensor<e4m3, 2> = ampere.zeros([32, 64]).unwrap();
    let mut c: Tensor<bf16, 2> = ampere.zeros([32, 32]).unwrap();
    let error = product(&ampere.stream(), &a, &a, &mut c, &Epilogue::default()).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, GemmError::NotBuilt { .. }), "{text}");
    assert!(
        text.contains("32 x 32 x 64 of e4m3 into bf16") && text.contains("sm_90a"),
        "{text}"
    );

    let hopper = Device::vm().unwrap();
    let a: Tensor<e4m3, 2> = hopper.zeros([32, 72]).unwrap();
    let c: Tensor<bf16, 2> = hopper.zeros([32, 32]).unwrap();
    let b: Tensor<e4m3, 2> = hopper.zeros([32, 64]).unwrap();
    let text = choose(&hopper, &a, &b, &c, &Epilogue::default())
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("the right operand is [32, 64]; the product needs [32, 72]"),
        "{text}"
    );
}

#[test]
fn the_choice_follows_the_shape() {
    let device = Device::vm().unwrap();
    let chosen = |m: usize, n: usize, k: usize| {
        let (a, b) = (
            device.zeros::<f16, 2>([m, k]).unwrap(),
            device.zeros::<f16, 2>([n, k]).unwrap(),
        );
        let c = device.zeros::<f16, 2>([m, n]).unwrap();
        choose(&device, &a, &b, &c, &Epilogue::default())
            .unwrap()
            .instance
    };
    assert!(chosen(16, 4096, 64).starts_with("few 16"));
    assert!(chosen(100, 256, 64).starts_with("few 128"));
    assert!(chosen(2048, 4096, 64).starts_with("hopper"));
    assert!(chosen(64, 63, 64).starts_with("any"));
    assert!(chosen(64, 64, 0).starts_with("any"));
}

/// Batches, rows by groups and lists, against products one by one.
fn batches_and_groups<E, O>(
    device: &Device,
    (count, m, n, k): (usize, usize, usize, usize),
) -> Vec<u8>
where
    E: products::Real + tiki::gemm::Product<O>,
    O: products::Real + PartialEq,
{
    let stream = device.stream();
    let (a, b) = (
        products::values::<E>(count * m * k, 5),
        products::values::<E>(count * n * k, 6),
    );
    let (da, db) = (
        device.tensor_from(&a, [count, m, k]).unwrap(),
        device.tensor_from(&b, [count, n, k]).unwrap(),
    );
    let mut c = device
        .tensor_from(&vec![O::of(-77.0); count * m * n], [count, m, n])
        .unwrap();
    let chosen = batched(&stream, &da, &db, &mut c, &Epilogue::default()).unwrap();
    let all = c.to_vec().unwrap();
    for i in 0..count {
        for (r, q) in [(0, 0), (m / 2, n / 3), (m - 1, n - 1)] {
            let (x, y) = (&a[(i * m + r) * k..][..k], &b[(i * n + q) * k..][..k]);
            let terms = || x.iter().zip(y).map(|(x, y)| x.wide() * y.wide());
            let (want, size) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
            let got = all[(i * m + r) * n + q].wide();
            let eight = if size_of::<E>() == 1 {
                (k as f64 / 32.0 + 2.0) * 2f64.powi(-13)
            } else {
                0.0
            };
            let slack = (k as f64 + 8.0) * 2f64.powi(-23) + eight;
            let bound = slack * size + want.abs() * O::HALF.0 * 1.01 + O::HALF.1;
            assert!(
                (got - want).abs() <= bound,
                "{}: matrix {i}, ({r}, {q}): {got} for {want}",
                chosen.instance
            );
        }
    }
    // The same as a list.
    let mut parts = Vec::new();
    for i in 0..count {
        parts.push((
            da.at::<1, 2>([i]).unwrap(),
            db.at::<1, 2>([i]).unwrap(),
            device.zeros::<O, 2>([m, n]).unwrap(),
        ));
    }
    let mut members: Vec<_> = parts.iter_mut().map(|(a, b, c)| (&*a, &*b, c)).collect();
    let choices = grouped(&stream, &mut members, &Epilogue::default()).unwrap();
    assert_eq!(choices.len(), count);
    // Rows that belong to different matrices: those of the batch turned, each 128 rows by another one.
    let table: Vec<u32> = (0..(count * m).div_ceil(128))
        .map(|t| ((2 * t + 1) % count) as u32)
        .collect();
    let rows = da.reshape([count * m, k]).unwrap();
    let mut by = device
        .tensor_from(&vec![O::of(-77.0); count * m * n], [count * m, n])
        .unwrap();
    let groups = device.tensor_from(&table, [table.len()]).unwrap();
    by_groups(&stream, &rows, &db, &groups, &mut by, &Epilogue::default()).unwrap();
    let found = by.to_vec().unwrap();
    for (t, &g) in table.iter().enumerate() {
        let range = 128 * t..(128 * t + 128).min(count * m);
        let left = rows.slice(0, range.clone()).unwrap();
        let mut one = device.zeros::<O, 3>([1, range.len(), n]).unwrap();
        let right = db.at::<1, 2>([g as usize]).unwrap().with_rank().unwrap();
        let left = left.with_rank().unwrap();
        batched(&stream, &left, &right, &mut one, &Epilogue::default()).unwrap();
        assert!(
            found[range.start * n..range.end * n] == one.to_vec().unwrap()[..],
            "rows of group {t}"
        );
    }
    all.into_iter()
        .chain(found)
        .flat_map(|x| x.bytes())
        .collect()
}

#[test]
fn many_products_in_one_kernel() {
    in_all_orders("sm_90a", |device| {
        vec![
            batches_and_groups::<f16, f16>(device, (3, 136, 136, 72)),
            batches_and_groups::<bf16, bf16>(device, (3, 24, 35, 17)),
            batches_and_groups::<e4m3, bf16>(device, (2, 130, 72, 144)),
        ]
    });
    in_all_orders("sm_80", |device| {
        vec![
            batches_and_groups::<f16, f16>(device, (3, 136, 136, 72)),
            batches_and_groups::<i8, i32>(device, (3, 70, 35, 17)),
        ]
    });
    let device = Device::vm().unwrap();
    let a: Tensor<f16, 3> = device.zeros([3, 24, 16]).unwrap();
    let short: Tensor<f16, 3> = device.zeros([2, 40, 16]).unwrap();
    let mut c: Tensor<f16, 3> = device.zeros([3, 24, 40]).unwrap();
    assert!(matches!(
        batched(&device.stream(), &a, &short, &mut c, &Epilogue::default()),
        Err(GemmError::Shape { .. })
    ));
    let mut none: Tensor<f16, 3> = device.zeros([3, 0, 40]).unwrap();
    let rows = a.slice(1, 0..0).unwrap();
    let b: Tensor<f16, 3> = device.zeros([3, 40, 16]).unwrap();
    batched(&device.stream(), &rows, &b, &mut none, &Epilogue::default()).unwrap();
}

#[test]
fn few_tiles_of_a_long_k_are_multiplied_in_parts() {
    let device = Device::vm().unwrap();
    let parts = |m: usize, n: usize, k: usize| {
        let (a, b) = (
            device.empty::<f16, 2>([m, k]).unwrap(),
            device.empty::<f16, 2>([n, k]).unwrap(),
        );
        let c = device.empty::<f16, 2>([m, n]).unwrap();
        choose(&device, &a, &b, &c, &Epilogue::default())
            .unwrap()
            .parts
    };
    assert!(parts(128, 128, 16384) > 1);
    assert_eq!(parts(128, 128, 64), 1);
    assert_eq!(parts(1024, 1024, 1024), 1);
}

#[test]
fn an_empty_result_launches_nothing() {
    let device = Device::vm().unwrap();
    for (m, n) in [(0, 8), (8, 0), (0, 0)] {
        let (a, b) = (
            device.zeros::<f16, 2>([m, 8]).unwrap(),
            device.zeros::<f16, 2>([n, 8]).unwrap(),
        );
        let mut c = device.zeros::<f16, 2>([m, n]).unwrap();
        product(&device.stream(), &a, &b, &mut c, &Epilogue::default()).unwrap();
    }
}
