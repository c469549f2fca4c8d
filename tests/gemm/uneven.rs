//! Invariant: of tiles of two widths each element is its sum, whichever width its tile has, in every order of completion and with
//! every access recorded. Witness: each number of rows of narrow tiles, results that end within either width, and K
//! of less than a step.

use crate::orders::in_all_orders;
use crate::products::{Call, run};
use crate::{judged, target};
use tiki::Device;
use tiki::gemm::Precision;
use tiki::gemm::uneven::{cut, uneven};
use tiki::vm::{Checks, Options};

fn multiplied(device: &Device, (m, n, k): (usize, usize, usize), cut: u32) -> Vec<f32> {
    // Exact in tf32, and in any order of sums.
    let value = |i: usize| ((i * 7919) % 61) as f32 / 16.0 - 1.875;
    let (a, b): (Vec<f32>, Vec<f32>) = (
        (0..m * k).map(value).collect(),
        (0..n * k).map(|i| value(i + 5)).collect(),
    );
    let rows = device.tensor_from(&a, [m, k]).unwrap();
    let eights = rows.split_axis::<3, 4>(0, [m / 8, 4, 2]).unwrap();
    let eights = eights.swap_axes(1, 2).unwrap();
    let columns = device.tensor_from(&b, [n, k]).unwrap();
    let mut c = device.tensor_from(&vec![f32::NAN; m * n], [m, n]).unwrap();
    uneven::<4, 16>::launch(&device.stream(), &eights, &columns, &mut c, cut).unwrap();
    let got = c.to_vec().unwrap();
    for i in (0..m * n).step_by(7) {
        let want: f32 = (0..k).map(|t| a[i / n * k + t] * b[i % n * k + t]).sum();
        assert_eq!(got[i], want, "{m} x {n} x {k}, cut {cut}, element {i}");
    }
    got
}

#[test]
fn tiles_of_two_widths_are_one_product() {
    let recorded = Options {
        checks: Checks::All,
        ..Options::default()
    };
    let device = Device::vm_with(target("sm_90a"), recorded).unwrap();
    for (extents, cut) in [
        ((264, 3844, 72), 1),
        ((136, 4100, 4), 2),
        ((128, 3996, 36), 1),
        ((8, 4096, 32), 0),
    ] {
        multiplied(&device, extents, cut);
    }
}

#[test]
fn no_order_of_completion_changes_two_widths() {
    in_all_orders("sm_90a", |device| {
        let got = multiplied(device, (136, 3848, 72), 1);
        vec![got.iter().flat_map(|x| x.to_le_bytes()).collect()]
    });
}

#[test]
fn a_round_to_fill_up_is_filled_up() {
    let device = Device::vm_of(target("sm_90a")).unwrap();
    let extents = (384, 4100, 36);
    let call = Call {
        extents,
        precision: Precision::Tf32,
        ..Call::default()
    };
    let outcome = run::<f32, f32>(&device, call);
    let processors = device.multiprocessors() as usize;
    assert!(cut(extents.0, extents.1, processors) > 0, "{processors}");
    assert!(outcome.name.contains("uneven"), "{}", outcome.name);
    judged(vec![outcome]);
}
