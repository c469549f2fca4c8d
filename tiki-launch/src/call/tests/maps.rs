//! Launches with tensor maps. The GPU's own tests do the same there.
//!
//! Invariant: a kernel is passed the maps of the very tensors of its launch, and a launch that is like an earlier one
//! writes none and allocates nothing. Witness: a kernel that writes the maps it got to its output.

use half::f16;
use tiki_kernel::artifact::{Artifact, Hidden, Param, ParamKind};
use tiki_kernel::dtype::DType;

use super::BLANK;
use crate::buffer::Buffer;
use crate::double;
use crate::error::LaunchError;
use crate::gpu::driver::counting::asked;
use crate::tensor::Operand;
use crate::tensor_map::{AXES, MapOf};
use crate::{Call, Device, Stream, Tensor};

const fn matrix(name: &'static str, dtype: DType, writes: bool) -> Param {
    Param {
        name,
        kind: ParamKind::Tensor {
            dtype,
            rank: 2,
            writes,
            strided: false,
            align: 16,
        },
    }
}

/// Tiles and swizzles of the maps, one for each tensor.
const TILES: [([u32; AXES], u32); 3] = [
    ([64, 64, 1, 1, 1], 128),
    ([32, 32, 1, 1, 1], 64),
    ([2, 16, 1, 1, 1], 0),
];

const fn map(param: u32) -> Hidden {
    let (tile, swizzle) = TILES[param as usize];
    Hidden::TensorMap {
        param,
        tile,
        swizzle,
    }
}

/// A kernel that writes the maps it is passed.
pub(crate) static MAPPED: Artifact = Artifact {
    instance: "maps",
    entry: "maps",
    ptx: include_str!("../../gpu/driver/ptx/maps.ptx"),
    threads: [16, 1, 1],
    params: &[
        matrix("a", DType::F16, false),
        matrix("b", DType::F16, false),
        matrix("out", DType::U64, true),
    ],
    hidden: &[map(0), map(1), map(2)],
    ..BLANK
};

pub(crate) fn mapped(
    on: &Stream,
    a: &Tensor<f16, 2>,
    b: &Tensor<f16, 2>,
    out: &mut Tensor<u64, 2>,
) -> Result<(), LaunchError> {
    let mut call = Call::new(on, &MAPPED)?;
    call.tensor(0, a)?.tensor(1, b)?.tensor_mut(2, out)?;
    call.grid([1, 1, 1])?.launch()
}

/// The words of the three maps, written anew.
pub(crate) fn maps_of(device: &Device, operands: [Operand<'_>; 3]) -> Vec<u64> {
    let each = operands.iter().zip(TILES);
    each.flat_map(|(operand, (tile, swizzle))| {
        let of = MapOf::tensor(operand, tile, swizzle);
        device.machine().tensor_map(&of).unwrap().0
    })
    .collect()
}

#[track_caller]
fn right(on: &Stream, a: &Tensor<f16, 2>, b: &Tensor<f16, 2>, out: &mut Tensor<u64, 2>) {
    mapped(on, a, b, out).unwrap();
    let expected = maps_of(on.device(), [a.operand(), b.operand(), out.operand()]);
    assert_eq!(out.to_vec().unwrap(), expected, "{a:?} {b:?}");
}

/// Shapes that change, at addresses that are used again.
pub(crate) fn maps_follow_their_tensors(device: &Device) {
    let on = device.new_stream().unwrap();
    let big = device.zeros::<f16, 2>([256, 256]).unwrap();
    let mut out = device.zeros::<u64, 2>([3, 16]).unwrap();
    for round in 0..4 {
        for rows in [64, 128, 100] {
            let a = device.zeros::<f16, 2>([rows, 64]).unwrap();
            let b = big.slice(0, 0..rows).unwrap();
            right(&on, &a, &b, &mut out);
            if round % 2 == 1 {
                let b = b.reshape([rows / 2, 512]).unwrap();
                right(&on, &a, &b, &mut out);
            }
        }
    }
}

#[test]
fn maps_are_those_of_the_launch() {
    let (device, _) = double::device();
    maps_follow_their_tensors(&device);
}

#[test]
fn memory_that_is_taken_again_has_a_map_of_its_new_shape() {
    let (device, double) = double::device();
    let on = device.stream();
    let b = device.zeros::<f16, 2>([8, 64]).unwrap();
    let mut out = device.zeros::<u64, 2>([3, 16]).unwrap();
    let rows = |rows| {
        let memory = Buffer::foreign(&device, 0x10_0000);
        Tensor::<f16, 2>::over(memory, [rows, 64], [64, 1])
    };
    // The last in rows that lie as before, but hold fewer elements: everything but the extents is the same.
    let again = [rows(8), rows(16), rows(8), rows(4)];
    for a in &again {
        right(&on, a, &b, &mut out);
    }
    let made = double.counts().maps;
    for a in &again {
        mapped(&on, a, &b, &mut out).unwrap();
    }
    assert_eq!(double.counts().maps, made, "all of them were known");
}

#[test]
fn a_warm_launch_writes_no_map_and_allocates_nothing() {
    let (device, double) = double::device();
    let streams = [device.stream(), device.new_stream().unwrap()];
    let a = device.zeros::<f16, 2>([128, 64]).unwrap();
    let b = device.zeros::<f16, 2>([256, 64]).unwrap();
    let shorter = b.slice(0, 0..32).unwrap();
    let x = device.tensor_from(&[1.0f32; 4], [4]).unwrap();
    let mut out = device.zeros::<u64, 2>([3, 16]).unwrap();
    let mut sums = device.zeros([4]).unwrap();
    let mut round = |i: usize| {
        mapped(&streams[0], &a, [&b, &shorter][i % 2], &mut out).unwrap();
        super::add(&streams[0], &x, &mut sums, 1.0).unwrap();
    };
    (0..4).for_each(&mut round);
    assert_eq!(double.counts().maps, 4);
    double.forget_launches();
    let (before, launches) = (asked(), double.counts().launches);
    (0..100).for_each(&mut round);
    assert_eq!(asked(), before);
    assert_eq!(double.counts().launches, launches + 200);
    assert_eq!(double.counts().maps, 4);
}

/// More shapes than a device keeps maps of: they are forgotten between launches, never within one.
#[test]
fn more_maps_than_are_kept_stay_right() {
    let (device, double) = double::device();
    let on = device.stream();
    let big = device.zeros::<f16, 2>([3000, 8]).unwrap();
    let a = device.zeros::<f16, 2>([8, 8]).unwrap();
    let mut out = device.zeros::<u64, 2>([3, 16]).unwrap();
    let captured = on.capture(|on| mapped(on, &a, &big, &mut out));
    let expected = maps_of(&device, [a.operand(), big.operand(), out.operand()]);
    for rows in 1..3000 {
        let (b, c) = (
            big.slice(0, 0..rows).unwrap(),
            big.slice(0, rows..3000).unwrap(),
        );
        right(&on, &b, &c, &mut out);
    }
    assert!(double.counts().maps > 2 * 3000, "{:?}", double.counts());
    // A graph has the maps of its capture, which the device has forgotten.
    captured.unwrap().launch(&on).unwrap();
    assert_eq!(out.to_vec().unwrap(), expected);
}

#[test]
fn threads_that_launch_at_once_get_their_own_maps() {
    let (device, _) = double::device();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let device = &device;
            scope.spawn(move || {
                let on = device.new_stream().unwrap();
                let big = device.zeros::<f16, 2>([64, 64]).unwrap();
                let mut out = device.zeros::<u64, 2>([3, 16]).unwrap();
                for i in 0..100 {
                    let a = big.slice(0, 0..1 + (7 * i + thread) % 64).unwrap();
                    right(&on, &a, &big, &mut out);
                }
            });
        }
    });
}
