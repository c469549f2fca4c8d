//! The edges by name, and every order in which asynchronous work can end.

use crate::reference::{Case, Random};
use crate::{backward, forward, machine, machines};
use tiki::attention::{self, AttentionError, Options, Sequences, attention};
use tiki::compiler::target::Target;
use tiki::prelude::{bf16, f16};
use tiki::vm::{Async, Checks, Options as Run};
use tiki::{Device, Stream};

const PLAIN: Case = Case {
    batch: 1,
    heads: 1,
    key_heads: 1,
    queries: 70,
    keys: 70,
    width: 64,
    causal: true,
    window: None,
    scale: 0.125,
    deterministic: false,
};

#[test]
fn every_order_of_completion_with_every_check() {
    let newest = Target::all().max_by_key(|t| t.row().capability);
    for completion in [Async::Eager, Async::Late, Async::Seed(1), Async::Seed(2)] {
        let run = Run {
            completion,
            checks: Checks::All,
            ..Run::default()
        };
        let device = Device::vm_with(newest.expect("a target"), run).expect("it opens");
        for (width, keys) in [(64, 140), (128, 70)] {
            let case = Case {
                width,
                keys,
                ..PLAIN
            };
            let off = backward::check::<f16>(&device, &case, 5, true);
            assert!(
                off.iter().all(|o| *o <= 1.0),
                "{completion:?}, {case:?}: {off:?}"
            );
        }
    }
}

#[test]
fn rows_that_see_nothing() {
    let device = Device::vm().expect("the virtual machine opens");
    // The first 70 queries stand before the first key.
    let case = Case {
        queries: 140,
        ..PLAIN
    };
    assert!(forward::check::<bf16>(&device, &case, 1) <= 1.0);
    let off = backward::check::<f16>(&device, &case, 2, true);
    assert!(off.iter().all(|o| *o <= 1.0), "{off:?}");
    // No key at all.
    let q = device.zeros::<f16, 4>([1, 2, 3, 64]).unwrap();
    let k = device.zeros::<f16, 4>([1, 1, 0, 64]).unwrap();
    let got = attention(&q, &k, &k, &Options::default()).unwrap();
    assert!(got.out.to_vec().unwrap().iter().all(|o| o.to_f32() == 0.0));
    let lse = got.lse.to_vec().unwrap();
    assert!(lse.iter().all(|l| *l == f32::NEG_INFINITY));
}

#[test]
fn tensors_without_elements_have_results_without_elements() {
    for device in machines() {
        let stream = device.stream();
        let tensor = |shape| device.zeros::<f16, 4>(shape).unwrap();
        for (q, k) in [
            ([0, 1, 5, 64], [0, 1, 5, 64]),
            ([1, 0, 5, 64], [1, 1, 5, 64]),
            ([1, 2, 0, 64], [1, 1, 5, 64]),
            ([1, 2, 5, 64], [1, 1, 0, 64]),
        ] {
            let (q, k) = (tensor(q), tensor(k));
            let plain = Options::default();
            let forward = attention::forward(&stream, &q, &k, &k, &plain).unwrap();
            assert_eq!(forward.out.shape(), q.shape());
            let back = attention::backward(&stream, &q, &k, &k, &forward, &q, None, &plain);
            let back = back.unwrap_or_else(|e| panic!("{:?}: {e}", q.shape()));
            for (got, of) in [(&back.q, &q), (&back.k, &k), (&back.v, &k)] {
                assert_eq!(got.shape(), of.shape());
                assert!(got.to_vec().unwrap().iter().all(|g| g.to_f32() == 0.0));
            }
        }
    }
}

#[test]
fn what_is_masked_leaves_no_trace() {
    let device = Device::vm().expect("the virtual machine opens");
    let (length, width, seen) = (80, 64, 64);
    let mut random = Random(3);
    let q = random.tensor::<f16>(length * width);
    let v = random.tensor::<f16>(length * width);
    let mut k = random.tensor::<f16>(length * width);
    let run = |k: &[f16]| {
        let to = |t: &[f16]| device.tensor_from(t, [1, 1, length, width]).unwrap();
        let got = attention(&to(&q), &to(k), &to(&v), &Options::causal()).unwrap();
        (got.out.to_vec().unwrap(), got.lse.to_vec().unwrap())
    };
    let clean = run(&k);
    for (i, x) in k[seen * width..].iter_mut().enumerate() {
        *x = if i % 2 == 0 { f16::NAN } else { f16::INFINITY };
    }
    let dirty = run(&k);
    let bits = |t: &[f16]| t.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(
        bits(&clean.0[..seen * width]),
        bits(&dirty.0[..seen * width])
    );
    assert_eq!(clean.1[..seen], dirty.1[..seen]);
}

#[test]
fn what_is_not_built_is_an_error() {
    let device = Device::vm().expect("the virtual machine opens");
    let tensor = |shape| device.zeros::<f16, 4>(shape).unwrap();
    let plain = Options::default();
    let (q, k) = (tensor([1, 4, 8, 80]), tensor([1, 4, 8, 80]));
    let error = attention(&q, &k, &k, &plain).unwrap_err();
    assert!(matches!(
        error,
        AttentionError::HeadDim {
            given: 80,
            built: attention::HEAD_DIMS
        }
    ));
    let k = tensor([1, 3, 8, 80]);
    let error = attention(&q, &k, &k, &plain).unwrap_err();
    assert_eq!(
        error.to_string(),
        "4 query heads are not a multiple of 3 key heads"
    );
    let error = attention(&q, &tensor([2, 4, 8, 80]), &k, &plain).unwrap_err();
    assert!(matches!(error, AttentionError::Shapes { .. }));
    let q = tensor([1, 1, 8, 96]);
    let wrong = Options {
        scale: Some(f32::NAN),
        ..plain
    };
    let error = attention(&q, &q, &q, &wrong).unwrap_err();
    assert!(matches!(error, AttentionError::Scale { .. }));
    // A number, but not in the binary exponents that the kernels work with.
    let wrong = Options {
        scale: Some(3e38),
        ..plain
    };
    let error = attention(&q, &q, &q, &wrong).unwrap_err();
    assert!(matches!(error, AttentionError::Scale { scale: 3e38 }));
    let q = tensor([1, 1, 8, 80]);
    let lse = device.zeros::<f32, 3>([1, 1, 8]).unwrap();
    let forward = attention::Attended::kept(tensor([1, 1, 8, 80]), lse);
    let stream = device.stream();
    let error = attention::backward(&stream, &q, &q, &q, &forward, &q, None, &plain).unwrap_err();
    assert!(matches!(
        error,
        AttentionError::HeadDim {
            given: 80,
            built: attention::HEAD_DIMS
        }
    ));
    let q = tensor([1, 1, 8, 96]);
    let offsets = device.tensor_from(&[0_u32, 8], [2]).unwrap();
    let one = Sequences {
        queries: &offsets,
        keys: &offsets,
    };
    let error = attention::forward_packed(&stream, &q, &q, &q, one, &plain).unwrap_err();
    assert!(matches!(
        error,
        AttentionError::HeadDim {
            given: 96,
            built: attention::PACKED_HEAD_DIMS
        }
    ));
    let q = tensor([1, 1, 8, 64]);
    let shorter = device.tensor_from(&[0_u32], [1]).unwrap();
    let apart = Sequences {
        queries: &offsets,
        keys: &shorter,
    };
    let error = attention::forward_packed(&stream, &q, &q, &q, apart, &plain).unwrap_err();
    assert_eq!(error.to_string(), "`keys` has shape [1]; it must be [2]");
}

#[test]
fn gradients_agree_with_differences() {
    let device = Device::vm().expect("the virtual machine opens");
    let (mut random, shape) = (Random(4), [1, 1, 6, 64]);
    let mut one = || {
        let own = random.tensor::<f16>(6 * 64);
        device.tensor_from(&own, shape).unwrap()
    };
    let inputs = (one(), one(), one());
    let operator = attention::operator::<f16>(Options::causal());
    let off = tiki::operator::check_gradients(&operator, &device.stream(), inputs, 3, 0.25);
    let off = off.expect("both passes run");
    assert!(off < 0.2, "{off:.3} of a usual derivative");
}

/// Gradients of a case that is `deterministic`, as bits.
fn bits_of(device: &Device, stream: &Stream, width: usize) -> Vec<u16> {
    let mut random = Random(8);
    let mut one = |length: usize| {
        let own = random.tensor::<f16>(2 * length * width);
        device.tensor_from(&own, [1, 2, length, width]).unwrap()
    };
    let (q, k, v, g) = (one(150), one(290), one(290), one(150));
    let options = Options {
        deterministic: true,
        ..Options::default()
    };
    let forward = attention::forward(stream, &q, &k, &v, &options).unwrap();
    let back =
        attention::backward(stream, &q, &k, &v, &forward, &g, None, &options).expect("it runs");
    let all = [back.q, back.k, back.v].map(|t| t.to_vec().unwrap());
    all.iter().flatten().map(|x| x.to_bits()).collect()
}

#[test]
fn gradients_in_a_fixed_order() {
    for capability in [(8, 0), (9, 0)] {
        for width in [64, 128] {
            let orders = [Async::Late, Async::Eager, Async::Seed(3), Async::Seed(4)];
            let results = orders.map(|completion| {
                let run = Run {
                    completion,
                    ..Run::default()
                };
                let device = machine(capability, run);
                bits_of(&device, &device.stream(), width)
            });
            assert!(results.iter().all(|r| *r == results[0]), "width {width}");
        }
    }
}

#[test]
fn a_captured_backward_pass_runs_again() {
    for device in machines() {
        let mut random = Random(6);
        let mut one = || {
            let own = random.tensor::<f16>(70 * 64);
            device.tensor_from(&own, [1, 1, 70, 64]).unwrap()
        };
        let (q, k, v, g) = (one(), one(), one(), one());
        let options = Options {
            deterministic: true,
            ..Options::causal()
        };
        let stream = device.new_stream().unwrap();
        let forward = attention::forward(&stream, &q, &k, &v, &options).unwrap();
        let back =
            |stream: &Stream| attention::backward(stream, &q, &k, &v, &forward, &g, None, &options);
        let right = back(&stream).unwrap().q.to_vec().unwrap();
        let mut kept = None;
        let graph = stream.capture(|stream| {
            kept = Some(back(stream).map_err(|error| match error {
                AttentionError::Launch(error) => error,
                error => panic!("{error}"),
            })?);
            Ok(())
        });
        let (mut graph, kept) = (graph.expect("it is captured"), kept.unwrap());
        for run in 0..3 {
            graph.launch(&stream).unwrap();
            let got = kept.q.to_vec().unwrap();
            assert!(got == right, "{}, run {run}", device.name());
        }
    }
}
