//! The library of products on the virtual machine.
//!
//! Invariant: whatever instance the table picks, the result is within the bound; what no instance takes is an
//! error that lists each with its reason, and nothing is launched. Witness: `products::all`, on machines of
//! two targets and in every order of asynchronous completion.

mod products;

use products::{Call, run};
use tiki::gemm::{Epilogue, GemmError, batched, choose, grouped, product};
use tiki::prelude::{bf16, e4m3, f16};
use tiki::vm::{Async, Options};
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

#[test]
fn no_order_of_completion_changes_a_bit() {
    let at = |device: &Device| {
        let call = |extents| Call {
            extents,
            ..Call::default()
        };
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
            run::<f16, f16>(
                device,
                Call {
                    bias: true,
                    beta: 1.5,
                    ..call((130, 136, 72))
                },
            ),
            run::<e4m3, bf16>(device, call((130, 72, 272))),
        ])
    };
    let with = |completion| {
        let options = Options {
            completion,
            ..Options::default()
        };
        at(&Device::vm_with(target("sm_90a"), options).unwrap())
    };
    let eager = with(Async::Eager);
    assert!(eager == with(Async::Late));
    for seed in 1..4 {
        assert!(eager == with(Async::Seed(seed)), "seed {seed}");
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
    let text = choose(&hopper, &a, &a, &c, &Epilogue::default())
        .unwrap_err()
        .to_string();
    assert!(text.contains("16 bytes"), "{text}");

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

#[test]
fn batches_and_groups() {
    let device = Device::vm().unwrap();
    let stream = device.stream();
    let (m, n, k) = (24, 40, 16);
    let (a, b) = (
        products::values::<f16>(3 * m * k, 5),
        products::values::<f16>(3 * n * k, 6),
    );
    let (da, db) = (
        device.tensor_from(&a, [3, m, k]).unwrap(),
        device.tensor_from(&b, [3, n, k]).unwrap(),
    );
    let mut c = device.zeros::<f16, 3>([3, m, n]).unwrap();
    batched(&stream, &da, &db, &mut c, &Epilogue::default()).unwrap();
    let all = c.to_vec().unwrap();
    let mut parts = Vec::new();
    for i in 0..3 {
        parts.push((
            da.at::<1, 2>([i]).unwrap(),
            db.at::<1, 2>([i]).unwrap(),
            device.zeros::<f16, 2>([m, n]).unwrap(),
        ));
    }
    let mut members: Vec<_> = parts.iter_mut().map(|(a, b, c)| (&*a, &*b, c)).collect();
    let choices = grouped(&stream, &mut members, &Epilogue::default()).unwrap();
    assert_eq!(choices.len(), 3);
    for (i, (_, _, c)) in parts.iter().enumerate() {
        assert_eq!(c.to_vec().unwrap(), all[i * m * n..(i + 1) * m * n]);
    }
    let short = device.zeros::<f16, 3>([2, n, k]).unwrap();
    assert!(matches!(
        batched(&stream, &da, &short, &mut c, &Epilogue::default()),
        Err(GemmError::Shape { .. })
    ));
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
