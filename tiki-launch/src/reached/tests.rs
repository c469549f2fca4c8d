use crate::{Device, LaunchError, Tensor};

fn nothing() -> Result<(), LaunchError> {
    Ok(())
}

#[test]
fn outputs_share_nothing_with_others() {
    let device = Device::vm().unwrap();
    let stream = device.stream();
    let all: Tensor<f32, 2> = device.zeros([8, 16]).unwrap();
    let other: Tensor<f32, 2> = device.zeros([8, 16]).unwrap();
    let (mut left, mut right) = (all.slice(1, 0..8).unwrap(), all.slice(1, 8..16).unwrap());
    let mut middle = all.slice(1, 4..12).unwrap();
    // Columns beside each other; the same memory read twice.
    let apart = [left.reached_mut(), right.reached_mut(), other.reached()];
    stream.reaching("list", &apart, nothing).unwrap();
    let (left, right) = (left, right);
    let read = [left.reached(), middle.reached(), right.reached()];
    stream.reaching("list", &read, nothing).unwrap();
    let shared = [left.reached(), middle.reached_mut()];
    let error = stream.reaching("list", &shared, nothing).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, LaunchError::Overlap { .. }), "{text}");
    assert!(
        text.contains("tensor 1") && text.contains("tensor 0"),
        "{text}"
    );
    let elsewhere = Device::vm().unwrap().stream();
    let error = elsewhere.reaching("list", &[left.reached()], nothing);
    assert!(matches!(error, Err(LaunchError::OtherDevice { .. })));
}

/// Invariant: what is launched within waits for what other streams did to the tensors, and they for it. Witness: the waits
/// of two streams that take turns.
#[test]
fn what_is_reached_is_ordered() {
    let (device, double) = crate::double::device();
    let (one, two) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let mut x: Tensor<f32, 1> = device.zeros([4]).unwrap();
    let other: Tensor<f32, 1> = device.zeros([4]).unwrap();
    let waits = || double.counts().waits;
    one.reaching("list", &[x.reached_mut()], nothing).unwrap();
    let before = waits();
    two.reaching("list", &[other.reached()], nothing).unwrap();
    one.reaching("list", &[x.reached()], nothing).unwrap();
    let begun = waits();
    two.reaching("list", &[x.reached()], nothing).unwrap();
    assert_eq!(waits(), begun + 1, "{before}");
    two.reaching("list", &[x.reached()], nothing).unwrap();
    assert_eq!(waits(), begun + 1);
    one.reaching("list", &[x.reached_mut()], nothing).unwrap();
    assert_eq!(waits(), begun + 2);
}
