//! Invariant: products of a list in one kernel are each the product, in every order of completion and with every access
//! recorded; what fits no instance is told, with the member that does not. Witness: f64 and the products one by one.

use crate::judged;
use crate::orders::{in_all_orders, with_all_checks};
use crate::products::{self, Call, list};
use tiki::gemm::{Activation, Epilogue, GemmError, listed};
use tiki::prelude::{bf16, e4m3, f16};
use tiki::{Device, Tensor};

#[test]
fn no_order_of_completion_changes_a_list() {
    let finished = Call {
        beta: 1.5,
        activation: Activation::Gelu,
        ..Call::default()
    };
    for name in ["sm_90a", "sm_80"] {
        in_all_orders(name, |device| {
            let mut all = list::run::<f16, f16>(device, &list::EIGHTS[..6], Call::default());
            all.extend(list::run::<bf16, bf16>(
                device,
                &list::EIGHTS[2..5],
                finished,
            ));
            all.extend(list::run::<f16, f16>(device, &list::ODD, finished));
            all.extend(list::run::<f32, f32>(device, &list::ODD, finished));
            judged(all)
        });
    }
}

#[test]
fn nothing_is_found_in_a_list() {
    with_all_checks(|_, device| {
        let own = Call {
            beta: 0.5,
            ..Call::default()
        };
        for call in [Call::default(), own] {
            judged(list::run::<f16, f16>(device, &list::EIGHTS, call));
            judged(list::run::<f16, f16>(device, &list::ODD, call));
            judged(list::run::<f32, f32>(device, &list::ODD, call));
        }
    });
}

/// Members of one buffer beside each other, results between operands: all places count from the lowest address.
#[test]
fn members_of_one_buffer_are_reached() {
    let device = Device::vm().unwrap();
    let all: Tensor<f16, 2> =
        (device.tensor_from(&products::values::<f16>(96 * 64, 4), [96, 64])).unwrap();
    let rows = |r: std::ops::Range<usize>| all.slice(0, r).unwrap();
    let (a, b, c) = (rows(48..64), rows(64..96), rows(0..32));
    let (mut first, mut second) = (
        rows(32..48).slice(1, 32..64).unwrap(),
        rows(32..48).slice(1, 0..32).unwrap(),
    );
    let mut members = [(&a, &b, &mut first), (&a, &c, &mut second)];
    listed(&device.stream(), &mut members, &Epilogue::default()).unwrap();
    let rows = [
        a.to_vec().unwrap(),
        b.to_vec().unwrap(),
        c.to_vec().unwrap(),
    ];
    for (right, result) in [(1, &first), (2, &second)] {
        let got = result.to_vec().unwrap();
        for (i, x) in got.iter().enumerate() {
            let terms = (0..64)
                .map(|k| rows[0][i / 32 * 64 + k].to_f64() * rows[right][i % 32 * 64 + k].to_f64());
            let want: f64 = terms.sum();
            assert!(
                (x.to_f64() - want).abs() <= 0.01 + want.abs() / 1024.0,
                "{i}: {x} for {want}"
            );
        }
    }
    // The same result twice.
    let mut again = first.view();
    let mut members = [(&a, &b, &mut first), (&a, &b, &mut again)];
    let error = listed(&device.stream(), &mut members, &Epilogue::default()).unwrap_err();
    assert!(
        matches!(error, GemmError::Launch(tiki::LaunchError::Overlap { .. })),
        "{error}"
    );
}

#[test]
fn what_is_no_list_is_told() {
    let device = Device::vm().unwrap();
    let stream = device.stream();
    let zeros = |shape: [usize; 2]| device.zeros::<f16, 2>(shape).unwrap();
    let (a, b, short) = (zeros([16, 24]), zeros([32, 24]), zeros([32, 16]));
    let (mut c, mut d) = (zeros([16, 32]), zeros([16, 32]));
    let mut members = [(&a, &b, &mut c), (&a, &short, &mut d)];
    let error = listed(&stream, &mut members, &Epilogue::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(
            "product 1 of the list: the right operand is [32, 16]; the product needs [32, 24]"
        ),
        "{text}"
    );
    let bias = device.zeros::<f16, 1>([32]).unwrap();
    let with = Epilogue {
        bias: Some(&bias),
        ..Epilogue::default()
    };
    let mut members = [(&a, &b, &mut c)];
    let text = listed(&stream, &mut members, &with)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("a list of 1 products of f16 into f16") && text.contains("no bias"),
        "{text}"
    );
    // No instance of 8-bit floats.
    let (x, y): (Tensor<e4m3, 2>, Tensor<e4m3, 2>) = (
        device.zeros([16, 32]).unwrap(),
        device.zeros([8, 32]).unwrap(),
    );
    let mut z: Tensor<f16, 2> = device.zeros([16, 8]).unwrap();
    let mut members = [(&x, &y, &mut z)];
    let error = listed(&stream, &mut members, &Epilogue::default()).unwrap_err();
    assert!(matches!(error, GemmError::NotBuilt { .. }), "{error}");
    // Nothing at all.
    let chosen = listed::<f16, f16>(&stream, &mut [], &Epilogue::default()).unwrap();
    assert_eq!(chosen.tiles, 0);
}

/// Invariant: what does not lie in whole eights is multiplied by the instance for any strides, never the others.
#[test]
fn one_member_decides_for_all() {
    let device = Device::vm().unwrap();
    let instance = |shapes: &[(usize, usize, usize)]| {
        let outcomes = list::run::<f16, f16>(&device, shapes, Call::default());
        let name = outcomes[0].name.clone();
        judged(outcomes);
        name
    };
    assert!(instance(&[(64, 64, 64), (128, 256, 64)]).starts_with("list group 128 x"));
    assert!(instance(&[(128, 768, 64); 9]).starts_with("list group 128 x 256"));
    assert!(instance(&[(128, 128, 64); 9]).starts_with("list group 128 x 128"));
    assert!(instance(&[(64, 64, 64); 9]).starts_with("list ring 64 x 64"));
    assert!(instance(&[(64, 64, 64), (8, 9, 64)]).starts_with("list each"));
}
