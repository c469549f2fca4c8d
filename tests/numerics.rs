//! Invariant: the example kernels agree with f64 references on the virtual machine.
//! Witness: every width, row count and element type of `suite::cases`, special values included.

mod suite;

#[test]
fn kernels_agree_with_f64() {
    let device = tiki::Device::vm().expect("the virtual machine opens");
    let outcomes = suite::cases::all(&device).expect("every case runs");
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
