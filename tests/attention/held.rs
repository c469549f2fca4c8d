//! What a call is held to: the options of its forward pass, and offsets that sequences can have.

use tiki::Device;
use tiki::attention::{self, AttentionError, Options, Sequences, attention};
use tiki::prelude::f16;

/// Invariant: a backward pass takes the options of its forward pass, whichever differ, and says which. Witness: each of them.
#[test]
fn a_backward_pass_is_held_to_its_forward_pass() {
    let device = Device::vm().expect("the virtual machine opens");
    let stream = device.stream();
    let q = device.zeros::<f16, 4>([1, 1, 8, 64]).unwrap();
    let plain = Options::default();
    let forward = attention(&q, &q, &q, &plain).unwrap();
    let back = |forward: &attention::Attended<f16>, options: &Options| {
        attention::backward(&stream, &q, &q, &q, forward, &q, None, options)
    };
    let ordered = Options {
        deterministic: true,
        scale: Some(0.125),
        window: Some((usize::MAX, usize::MAX)),
        ..plain
    };
    // The same, said otherwise; and an option of the backward pass alone.
    back(&forward, &ordered).expect("the same options");
    let scaled = Options {
        scale: Some(0.25),
        ..plain
    };
    let windowed = Options {
        window: Some((3, 2)),
        ..plain
    };
    let both = "both take the same options";
    for (options, said) in [
        (
            scaled,
            "the forward pass had scale 0.125, its backward pass is asked for 0.25",
        ),
        (
            Options::causal(),
            "the forward pass had a window after the diagonal of all, its backward pass is asked for 0",
        ),
        (
            windowed,
            "the forward pass had a window before the diagonal of all, its backward pass is asked for 3",
        ),
    ] {
        let error = back(&forward, &options).expect_err("other options");
        assert!(matches!(error, AttentionError::Forward { .. }));
        assert_eq!(error.to_string(), format!("{said}: {both}"));
        let other = attention(&q, &q, &q, &options).unwrap();
        back(&other, &options).expect("the same options");
        back(&other, &plain).expect_err("other options");
    }
    let offsets = attention::Offsets::new(&q, &q, &[0, 5, 8], None).unwrap();
    let packed =
        attention::forward_packed(&stream, &q, &q, &q, offsets.sequences(), &plain).unwrap();
    let error = back(&packed, &plain).expect_err("another pass");
    assert_eq!(
        error.to_string(),
        format!(
            "the forward pass had attention over 2 packed sequences, its backward pass is asked for sequences of one length: {both}"
        )
    );
    let kept = attention::Attended::kept(forward.out.view(), forward.lse.view());
    back(&kept, &scaled).expect("nobody knows what these had");
}

/// Invariant: offsets that no sequences have are refused: of the host's numbers at once, of tensors where the virtual machine
/// runs. Witness: both kinds of fault, in queries and in keys.
#[test]
fn offsets_are_held_to_what_they_must_be() {
    let device = Device::vm().expect("the virtual machine opens");
    let stream = device.stream();
    let (q, k) = (
        device.zeros::<f16, 4>([1, 1, 8, 64]).unwrap(),
        device.zeros::<f16, 4>([1, 1, 6, 64]).unwrap(),
    );
    let plain = Options::default();
    for (queries, keys, said) in [
        (
            [0, 5, 3, 8],
            [0, 2, 4, 6],
            "offset 2 of the queries is 3; it must be at least 5, the one before it",
        ),
        (
            [0, 5, 6, 9],
            [0, 2, 4, 6],
            "offset 3 of the queries is 9; it must be at most 8, the rows of the tensor",
        ),
        (
            [0, 5, 6, 8],
            [2, 1, 4, 6],
            "offset 1 of the keys is 1; it must be at least 2, the one before it",
        ),
        (
            [0, 5, 6, 8],
            [0, 2, 4, 7],
            "offset 3 of the keys is 7; it must be at most 6, the rows of the tensor",
        ),
    ] {
        let error = attention::Offsets::new(&q, &k, &queries, Some(&keys)).unwrap_err();
        assert!(matches!(error, AttentionError::Offsets { .. }));
        assert_eq!(error.to_string(), said);
        let tensors = [queries, keys].map(|o| device.tensor_from(&o, [4]).unwrap());
        let sequences = Sequences {
            queries: &tensors[0],
            keys: &tensors[1],
        };
        let error = attention::forward_packed(&stream, &q, &k, &k, sequences, &plain).unwrap_err();
        assert_eq!(error.to_string(), said);
    }
    for keys in [None, Some(&[0][..])] {
        let none = attention::Offsets::new(&q, &k, &[], keys).unwrap_err();
        assert_eq!(none.to_string(), "`queries` has shape [0]; it must be [1]");
    }
}
