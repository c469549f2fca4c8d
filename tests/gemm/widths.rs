//! Invariant: a tile's shape changes no sum: each element is its own, in every order of completion and with every access
//! recorded. Witness: the tiles that are made for results which fill the multiprocessors once, at results that end within a
//! tile and K of less than a step and of an odd number of steps; results of more tiles than multiprocessors.

use crate::orders::in_all_orders;
use crate::target;
use half::{bf16, f16};
use tiki::gemm::hopper::hopper;
use tiki::vm::{Checks, Options};
use tiki::{Device, Element, LaunchError, Stream, Tensor};

type Launch<'a, E> =
    &'a dyn Fn(&Stream, &Tensor<E, 2>, &Tensor<E, 2>, &mut Tensor<E, 2>) -> Result<(), LaunchError>;

fn multiplied<E: Element + PartialEq + std::fmt::Debug>(
    device: &Device,
    (m, n, k): (usize, usize, usize),
    rounded: fn(f32) -> E,
    launch: Launch<'_, E>,
) -> Vec<E> {
    // Exact in either type, and in any order of sums.
    let value = |i: usize| ((i * 7919) % 61) as f32 / 16.0 - 1.875;
    let a: Vec<f32> = (0..m * k).map(value).collect();
    let b: Vec<f32> = (0..n * k).map(|i| value(i + 5)).collect();
    let tensor = |x: &[f32], shape| {
        let x: Vec<E> = x.iter().map(|x| rounded(*x)).collect();
        device.tensor_from(&x, shape).unwrap()
    };
    let (rows, columns) = (tensor(&a, [m, k]), tensor(&b, [n, k]));
    let mut c = tensor(&vec![f32::NAN; m * n], [m, n]);
    launch(&device.stream(), &rows, &columns, &mut c).unwrap();
    let got = c.to_vec().unwrap();
    for i in (0..m * n).step_by(7) {
        let want: f32 = (0..k).map(|t| a[i / n * k + t] * b[i % n * k + t]).sum();
        assert_eq!(got[i], rounded(want), "{m} x {n} x {k}, element {i}");
    }
    got
}

macro_rules! by {
    ($e:ty, $bm:literal, $bn:literal, $stages:literal, $slab:literal, $group:literal) => {
        &|stream, a, b, c| {
            let no: Tensor<$e, 1> = stream.device().empty([0])?;
            let d: Tensor<$e, 2> = stream.device().empty([0, 0])?;
            hopper::<$e, $e, $bm, $bn, 64, $stages, $slab, $group, 0, 0, 0>::launch(
                stream, a, b, c, &no, &d, 1.0, 0.0, 0,
            )
        }
    };
}

#[test]
fn tiles_of_every_width_are_one_product() {
    let recorded = Options {
        checks: Checks::All,
        ..Options::default()
    };
    let device = Device::vm_with(target("sm_90a"), recorded).unwrap();
    for extents in [(136, 264, 456), (8, 8, 40), (400, 72, 200)] {
        multiplied(
            &device,
            extents,
            bf16::from_f32,
            by!(bf16, 192, 192, 4, 32, 8),
        );
        multiplied(
            &device,
            extents,
            bf16::from_f32,
            by!(bf16, 128, 144, 6, 24, 8),
        );
        multiplied(
            &device,
            extents,
            bf16::from_f32,
            by!(bf16, 128, 112, 6, 56, 2),
        );
        multiplied(
            &device,
            extents,
            bf16::from_f32,
            by!(bf16, 128, 64, 8, 64, 2),
        );
        multiplied(
            &device,
            extents,
            f16::from_f32,
            by!(f16, 192, 192, 4, 32, 8),
        );
        multiplied(
            &device,
            extents,
            f16::from_f32,
            by!(f16, 128, 144, 6, 24, 8),
        );
        multiplied(
            &device,
            extents,
            f16::from_f32,
            by!(f16, 128, 112, 6, 56, 2),
        );
    }
}

#[test]
fn no_order_of_completion_changes_three_warpgroups() {
    in_all_orders("sm_90a", |device| {
        let by: Launch<'_, bf16> = by!(bf16, 192, 192, 4, 32, 8);
        let got = multiplied(device, (392, 584, 72), bf16::from_f32, by);
        vec![got.iter().flat_map(|x| x.to_le_bytes()).collect()]
    });
}
