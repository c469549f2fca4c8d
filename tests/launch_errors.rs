//! What a launch that is refused says.
//!
//! Invariant: a fact that does not hold is told with the values of its operands, a computation of the launcher
//! that has no result with its numbers, both with the kernel's name and the author's words. Witness: the whole text.

use std::path::Path;
use tiki::prelude::*;
use tiki::{Device, LaunchError};

/// Facts of every form, over names that a launcher might use itself.
#[tiki::kernel(threads = 32, grid = [x.dim(0) - 3], build((V = 8)))]
fn picky<const V: usize>(
    x: &Global<f32, 1>,
    out: &mut Global<f32, 1>,
    scale: f32,
    holds: u32,
    left: u32,
) {
    require!(x.dim(0).is_multiple_of(V) && out.dim(0) == x.dim(0));
    require!(scale > 0.5, holds == 7);
    require!(-(left as i32) <= 0 && (1usize << left) < 1024);
    require!(holds.div_ceil(left) == 4 || holds > 9);
    out.set([thread_idx()], scale * x.get([thread_idx()]));
}

#[test]
fn launches_tell_facts_and_sums_with_their_numbers() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let stream = device.stream();
    let says = |n: usize, scale: f32, holds: u32, left: u32| {
        let x = device.zeros::<f32, 1>([n])?;
        let mut out = device.zeros::<f32, 1>([n])?;
        picky::<8>::launch(&stream, &x, &mut out, scale, holds, left)
    };
    says(40, 1.0, 7, 2)?;
    let of = |error: Result<(), LaunchError>| error.expect_err("a refusal").to_string();
    let kernel = "kernel `picky<V = 8>`";
    for (said, wanted) in [
        (
            of(says(577, 1.0, 7, 2)),
            format!(
                "[TL020] {kernel} requires `x.dim(0).is_multiple_of(V)`, but `x.dim(0)` is 577 and `V` is 8"
            ),
        ),
        (
            of(says(40, 0.25, 7, 2)),
            format!("[TL020] {kernel} requires `scale > 0.5`, but `scale` is 0.25"),
        ),
        (
            of(says(40, 1.0, 8, 2)),
            format!("[TL020] {kernel} requires `holds == 7`, but `holds` is 8"),
        ),
        (
            of(says(40, 1.0, 7, 3)),
            format!(
                "[TL020] {kernel} requires `holds.div_ceil(left) == 4 || holds > 9`, but \
                 `holds.div_ceil(left)` is 3 and `holds` is 7"
            ),
        ),
        (
            of(says(40, 1.0, 7, u32::MAX)),
            format!(
                "[TL031] {kernel}: `left as i32` in its `require!` is 4294967295, which does not fit in i32"
            ),
        ),
        (
            of(says(40, 1.0, 7, 64)),
            format!(
                "[TL031] {kernel}: `1usize << left` in its `require!` is 1 << 64, which does not fit in usize"
            ),
        ),
        (
            of(says(40, 1.0, 7, 0)),
            format!(
                "[TL031] {kernel}: `holds.div_ceil(left)` in its `require!` is 7.div_ceil(0), a division by zero"
            ),
        ),
        (
            of(says(0, 1.0, 7, 2)),
            format!("[TL031] {kernel}: `x.dim(0) - 3` in its grid is 0 - 3, which is negative"),
        ),
    ] {
        assert_eq!(said, wanted);
    }
    Ok(())
}

#[test]
fn a_device_that_is_none_is_told_as_it_was_given() {
    let error = Device::named("gpu").expect_err("no such device");
    let text = error.to_string();
    assert!(
        text.starts_with("[TL005] `gpu`, which is no device"),
        "{text}"
    );
}

/// What the message about an old driver offers is there.
#[test]
fn the_cure_for_an_old_driver_is_a_feature_of_this_crate() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).expect("the manifest");
    let error = LaunchError::OldDriver { missing: "cuX" }.to_string();
    let feature = error.split('"').nth(1).expect("a feature in quotes");
    let forwarded = format!("{feature} = [\"tiki-launch/{feature}\"]");
    assert!(manifest.contains(&forwarded), "{error}\n{manifest}");
    assert!(
        error.contains("default-features = false"),
        "{error}: two bindings exclude each other"
    );
}
