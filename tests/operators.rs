//! Attention, RMSNorm, softmax and Gemm as operators.
//!
//! Invariant: each backward pass agrees with differences of its forward pass; wrong shapes and absent backward passes
//! are typed errors. Witness: random directions at odd shapes, in f32 where an operator has it, and each wrong call.

use tiki::attention::{self, Options};
use tiki::gemm::{self, Precision};
use tiki::operator::{Leaves, Operator, OperatorError, check_gradients};
use tiki::prelude::f16;
use tiki::{Device, Stream, Tensor, rows};

/// Numbers without a pattern, near 1 in size.
fn tensor<E, const R: usize>(device: &Device, shape: [usize; R], seed: usize) -> Tensor<E, R>
where
    Tensor<E, R>: Leaves,
    E: tiki::Element,
{
    let zeros = device.zeros::<E, R>(shape).expect("a tensor is made");
    let numbers = (0..zeros.len()).map(|i| ((i * 7919 + seed * 613) % 1009) as f64 / 504.0 - 1.0);
    zeros
        .of(&mut numbers.into_iter())
        .expect("a tensor is made")
}

/// The largest difference of two derivatives is this share of a usual derivative.
fn agrees<I: Leaves, O: Leaves, S>(
    operator: &Operator<I, O, S>,
    stream: &Stream,
    inputs: I,
    step: f64,
    bound: f64,
) {
    let off = check_gradients(operator, stream, inputs, 3, step).expect("both passes run");
    assert!(
        off < bound,
        "{}: {off:.4} of a usual derivative",
        operator.name()
    );
}

#[test]
fn gradients_are_those_of_the_forward_pass() {
    let device = Device::vm().expect("the virtual machine opens");
    let stream = device.stream();
    // More columns than a chunk, more rows than a tile, and fewer of both.
    for shape in [[3, 2100], [70, 33], [1, 1]] {
        let x = tensor::<f32, 2>(&device, shape, 1);
        let weight = tensor::<f32, 1>(&device, [shape[1]], 2);
        agrees(
            &rows::rms_norm::<f32>(0.1),
            &stream,
            (x, weight),
            0.01,
            0.02,
        );
        if shape != [1, 1] {
            // Of one column it is constant: its derivative is zero.
            let x = tensor::<f32, 2>(&device, shape, 3);
            agrees(&rows::softmax::<f32>(), &stream, x, 0.01, 0.02);
        }
    }
    for (m, n, k) in [(5, 7, 9), (64, 40, 96)] {
        let a = tensor::<f16, 2>(&device, [m, 8 * k], 4);
        let b = tensor::<f16, 2>(&device, [8 * n, 8 * k], 5);
        agrees(
            &gemm::operator::<f16>(Precision::default()),
            &stream,
            (a, b),
            0.25,
            0.1,
        );
    }
    let shape = [1, 2, 6, 64];
    let [q, k, v] = [6, 7, 8].map(|seed| tensor::<f16, 4>(&device, shape, seed));
    let operator = attention::operator::<f16>(Options::causal());
    agrees(&operator, &stream, (q, k, v), 0.25, 0.2);
}

#[test]
fn what_does_not_fit_is_a_typed_error() {
    let device = Device::vm().expect("the virtual machine opens");
    let stream = device.stream();
    let x = tensor::<f32, 2>(&device, [2, 8], 1);
    let short = tensor::<f32, 1>(&device, [7], 2);
    let error = rows::rms_norm::<f32>(0.1)
        .run(&stream, (x.view(), short))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "operator `rms_norm`: rows of 8 elements take a weight of 8, not 7"
    );
    let softmax = rows::softmax::<f32>();
    let run = softmax.run(&stream, x.view()).expect("it runs");
    let error = run.back(&stream, &tensor(&device, [3, 8], 4)).unwrap_err();
    assert!(matches!(
        &error,
        OperatorError::Gradient { operator: "softmax", given, expected }
            if given[..] == [3, 8] && expected[..] == [2, 8]
    ));
    let b = tensor::<f16, 2>(&device, [4, 16], 5);
    let a = tensor::<f16, 2>(&device, [4, 8], 6);
    let error = gemm::operator::<f16>(Precision::default())
        .run(&stream, (a, b))
        .unwrap_err();
    assert!(
        matches!(
            error,
            OperatorError::Inputs {
                operator: "gemm",
                ..
            }
        ),
        "{error}"
    );
    // Attention: what is not built is a rule like the shapes, and a gradient has its output's shape.
    let operator = attention::operator::<f16>(Options::default());
    let narrow = || tensor::<f16, 4>(&device, [1, 1, 4, 32], 7);
    let error = operator.run(&stream, (narrow(), narrow(), narrow()));
    let error = error.map(|_| ()).unwrap_err();
    assert!(
        matches!(&error, OperatorError::Inputs { operator: "attention", why } if why.contains("32")),
        "{error}"
    );
    let q = || tensor::<f16, 4>(&device, [1, 1, 4, 64], 8);
    let run = operator.run(&stream, (q(), q(), q())).expect("it runs");
    let error = run.back(&stream, &tensor(&device, [1, 1, 5, 64], 9));
    let error = error.map(|_| ()).unwrap_err();
    assert!(
        matches!(&error, OperatorError::Gradient { operator: "attention", given, .. } if given[2] == 5),
        "{error}"
    );
    let forward_only = Operator::new("twice", |_: &Stream, x: &Tensor<f32, 2>| Ok((x.view(), ())));
    let run = forward_only.run(&stream, x.view()).expect("it runs");
    let error = run.back(&stream, &x).unwrap_err();
    assert!(matches!(
        error,
        OperatorError::NoBackward { operator: "twice" }
    ));
}

#[test]
fn what_agrees_with_nothing_is_far_off() {
    let device = Device::vm().expect("the virtual machine opens");
    let stream = device.stream();
    let twice = |factor: f64| {
        Operator::new("twice", |_: &Stream, x: &Tensor<f32, 2>| {
            let to: Vec<f64> = x.numbers()?.iter().map(|x| 2.0 * x).collect();
            Ok((x.of(&mut to.into_iter())?, ()))
        })
        .backward(move |_, _, _, (), d_out: &Tensor<f32, 2>| {
            let to: Vec<f64> = d_out.numbers()?.iter().map(|d| factor * d).collect();
            Ok(d_out.of(&mut to.into_iter())?)
        })
    };
    let x = tensor::<f32, 2>(&device, [2, 8], 1);
    let off =
        |factor, directions| check_gradients(&twice(factor), &stream, x.view(), directions, 0.01);
    assert!(off(2.0, 3).expect("it runs") < 1e-3);
    assert!(off(2.1, 3).expect("it runs") > 0.01);
    assert_eq!(off(f64::NAN, 3).expect("it runs"), f64::INFINITY);
    assert_eq!(off(0.0, 3).expect("it runs"), f64::INFINITY);
    assert!(matches!(off(2.0, 0), Err(OperatorError::Inputs { .. })));
}
