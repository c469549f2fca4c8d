//! The library of products on the virtual machine.
//!
//! Invariant: whatever instance the table picks, the result is within the bound; what no instance takes is an
//! error that lists each with its reason, and nothing is launched. Witness: `products::all`, on machines of
//! two targets and in every order of asynchronous completion.

mod list;
mod many;
mod orders;
#[path = "../products/mod.rs"]
mod products;
mod uneven;
mod widths;

use products::{Call, run};
use tiki::gemm::{Epilogue, GemmError, choose, product};
use tiki::prelude::{bf16, e4m3, f16};
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

/// Invariant: a product is, bit for bit, the model of the tensor cores (`tiki_kernel`'s own arithmetic on significands) applied
/// to 16 terms after 16, rounded once. Witness: every shape of `products::SHAPES`, two types, two targets.
fn is_the_model<E: products::Real + tiki::gemm::Product<E>>(
    device: &Device,
    ty: tiki::compiler::isa::Ty,
    bits: impl Fn(E) -> u32,
    rounded: impl Fn(f32) -> E,
) {
    use tiki::vm::meaning::tensor::{Generation, Num, dot_f32, model, take_apart};
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

#[test]
fn whole_tiles_have_an_instance_of_their_own() {
    let device = Device::vm_of(target("sm_80")).unwrap();
    let chosen = |m: usize, n: usize, k: usize| {
        let (a, b) = (
            device.empty::<f16, 2>([m, k]).unwrap(),
            device.empty::<f16, 2>([n, k]).unwrap(),
        );
        let c = device.empty::<f16, 2>([m, n]).unwrap();
        let choice = choose(&device, &a, &b, &c, &Epilogue::default());
        choice.unwrap().instance
    };
    assert!(chosen(2048, 4096, 192).starts_with("whole"));
    for (m, n, k) in [
        (2056, 4096, 192),
        (2048, 4104, 192),
        (2048, 4096, 200),
        (2048, 4096, 128),
    ] {
        assert!(chosen(m, n, k).starts_with("ampere"), "{m} x {n} x {k}");
    }
}

/// Invariant: the instance of whole tiles sums in the order of the one for any tiles, in every order of completion.
/// Witness: the same bits, at the fewest steps it takes and at others, of values and of NaN and infinities.
#[test]
fn whole_tiles_are_the_same_bits() {
    use tiki::gemm::ampere::{ampere, whole};
    for (m, n, k) in [(128, 128, 192), (256, 128, 256), (128, 384, 448)] {
        let (mut a, b) = (
            products::values::<f16>(m * k, 1),
            products::values::<f16>(n * k, 2),
        );
        (a[3], a[k + 70], a[2 * k + 1]) = (f16::NAN, f16::INFINITY, f16::MAX);
        orders::in_all_orders("sm_80", |device| {
            let stream = device.stream();
            let (da, db) = (
                device.tensor_from(&a, [m, k]).unwrap(),
                device.tensor_from(&b, [n, k]).unwrap(),
            );
            let poison = vec![f16::from_f32(-77.0); m * n];
            let mut c = device.tensor_from(&poison, [m, n]).unwrap();
            let mut d = device.tensor_from(&poison, [m, n]).unwrap();
            let (no, none) = (
                device.empty::<f16, 1>([0]).unwrap(),
                device.empty::<f16, 2>([m, 0]).unwrap(),
            );
            whole::<f16, 128, 128, 64, 3>::launch(&stream, &da, &db, &mut c).unwrap();
            ampere::<f16, 128, 128, 64, 3, 0>::launch(
                &stream, &da, &db, &mut d, &no, &none, 1.0, 0.0, 0,
            )
            .unwrap();
            let bytes = |t: &Tensor<f16, 2>| -> Vec<u8> {
                let all = t.to_vec().unwrap();
                all.iter().flat_map(|x| x.to_le_bytes()).collect()
            };
            let (c, d) = (bytes(&c), bytes(&d));
            assert!(c == d, "{m} x {n} x {k}");
            vec![c]
        });
    }
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
