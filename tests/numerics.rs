//! Invariant: the example kernels agree with f64 references on the virtual machine; those that wait for copies or for other
//! blocks in every order of completion, and no check finds anything in them.
//! Witness: every width, row count and element type of `suite::cases`, special values included; `waiting` of its rings and scans.

mod suite;

use suite::Outcome;
use tiki::Device;
use tiki::vm::{Async, Checks, Options};

fn all_are_right(outcomes: &[Outcome]) {
    let bad: Vec<String> = outcomes
        .iter()
        .filter_map(|o| o.verdict.as_ref().err().map(|e| format!("{}: {e}", o.name)))
        .collect();
    assert!(
        bad.is_empty(),
        "{} of {} cases are wrong:\n{}",
        bad.len(),
        outcomes.len(),
        bad.join("\n")
    );
}

#[test]
fn kernels_agree_with_f64() {
    let device = Device::vm().expect("the virtual machine opens");
    all_are_right(&suite::cases::all(&device).expect("every case runs"));
}

#[test]
fn every_order_of_completion_with_every_check() {
    let newest = tiki::compiler::target::Target::all().max_by_key(|t| t.row().capability);
    let mut first: Option<Vec<Vec<u8>>> = None;
    for completion in [Async::Eager, Async::Late, Async::Seed(1), Async::Seed(2)] {
        let options = Options {
            completion,
            checks: Checks::All,
            ..Options::default()
        };
        let device = Device::vm_with(newest.expect("a target"), options).expect("it opens");
        let mut outcomes = Vec::new();
        suite::scans::waiting(&device, &mut outcomes).expect("every case runs");
        suite::columns::waiting(&device, &mut outcomes).expect("every case runs");
        suite::rings::waiting(&device, &mut outcomes).expect("every case runs");
        all_are_right(&outcomes);
        // The same bits in every order.
        let bits: Vec<Vec<u8>> = outcomes.into_iter().map(|o| o.bytes).collect();
        assert_eq!(*first.get_or_insert_with(|| bits.clone()), bits);
    }
}
