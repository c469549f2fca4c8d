//! Tensors and views on the test double.

use half::f16;

use crate::double;
use crate::{Device, Element, Tensor};

fn counted<const R: usize>(device: &Device, shape: [usize; R]) -> Tensor<i32, R> {
    let host: Vec<i32> = (0..shape.iter().product::<usize>() as i32).collect();
    device.tensor_from(&host, shape).unwrap()
}

#[test]
fn values_go_to_the_device_and_back() {
    fn round_trip<E: Element + PartialEq>(device: &Device, values: &[E]) {
        let mut tensor = device.tensor_from(values, [values.len()]).unwrap();
        assert_eq!(tensor.to_vec().unwrap(), values);
        let reversed: Vec<E> = values.iter().rev().copied().collect();
        tensor.copy_from(&reversed).unwrap();
        assert_eq!(tensor.to_vec().unwrap(), reversed);
    }
    let (device, _) = double::device();
    round_trip(&device, &[1.0f32, -2.5]);
    round_trip(&device, &[f16::ONE, f16::MAX, f16::ZERO]);
    round_trip(&device, &[true, false, true]);
    round_trip(&device, &[u64::MAX, 1]);
    round_trip::<f32>(&device, &[]);
    assert_eq!(
        device.zeros::<f64, 2>([2, 3]).unwrap().to_vec().unwrap(),
        [0.0; 6]
    );
}

#[test]
fn views_share_the_buffer_and_read_in_their_own_order() {
    let (device, double) = double::device();
    let x = counted(&device, [2, 3]);
    let bytes = double.counts().live_bytes;
    let t = x.transpose();
    assert_eq!(
        (t.shape(), t.strides(), t.is_contiguous()),
        ([3, 2], [1, 3], false)
    );
    assert_eq!(t.to_vec().unwrap(), [0, 3, 1, 4, 2, 5]);
    assert_eq!(t.slice(0, 1..3).unwrap().to_vec().unwrap(), [1, 4, 2, 5]);
    assert_eq!(x.slice(1, 2..3).unwrap().to_vec().unwrap(), [2, 5]);
    assert_eq!(x.at::<1, 1>([1]).unwrap().to_vec().unwrap(), [3, 4, 5]);
    assert_eq!(x.at::<2, 0>([1, 2]).unwrap().to_vec().unwrap(), [5]);
    assert_eq!(
        x.reshape([6]).unwrap().to_vec().unwrap(),
        [0, 1, 2, 3, 4, 5]
    );
    assert_eq!(
        x.slice(0, 1..2)
            .unwrap()
            .reshape([3, 1])
            .unwrap()
            .to_vec()
            .unwrap(),
        [3, 4, 5]
    );
    let cube = counted(&device, [2, 3, 4]).swap_axes(0, 2).unwrap();
    assert_eq!(
        (cube.shape(), cube.dim(0), cube.stride(0)),
        ([4, 3, 2], 4, 1)
    );
    assert_eq!(cube.to_vec().unwrap()[..4], [0, 12, 4, 16]);
    // Rows 0 to 3 of a transposed view as two of two; none of none.
    let split = cube.split_axis::<2, 4>(0, [2, 2]).unwrap();
    assert_eq!(
        (split.shape(), split.strides()),
        ([2, 2, 3, 2], [2, 1, 4, 12])
    );
    assert_eq!(split.to_vec().unwrap(), cube.to_vec().unwrap());
    let last = cube.split_axis::<3, 5>(2, [1, 2, 1]).unwrap();
    assert_eq!(last.shape(), [4, 3, 1, 2, 1]);
    assert_eq!(last.to_vec().unwrap(), cube.to_vec().unwrap());
    let none = cube.slice(0, 0..0).unwrap();
    let eights = none.split_axis::<3, 5>(0, [0, 4, 2]).unwrap();
    assert!(eights.to_vec().unwrap().is_empty());
    drop((cube, split, last, none, eights));
    double.run_all();
    assert_eq!(double.counts().live_bytes, bytes);
    let row = x.at::<1, 1>([1]).unwrap();
    drop((x, t));
    assert_eq!(row.to_vec().unwrap(), [3, 4, 5], "a view keeps the buffer");
}

#[test]
fn wrong_views_and_lengths_are_typed_errors() {
    let (device, _) = double::device();
    let mut x = counted(&device, [2, 3]);
    let code = |error: crate::LaunchError| error.code().as_str();
    assert_eq!(code(x.slice(1, 2..4).unwrap_err()), "TL026");
    assert_eq!(code(x.slice(2, 0..1).unwrap_err()), "TL026");
    let backwards = std::ops::Range { start: 2, end: 1 };
    assert_eq!(code(x.slice(0, backwards).unwrap_err()), "TL026");
    assert_eq!(code(x.at::<1, 1>([2]).unwrap_err()), "TL026");
    assert_eq!(code(x.at::<1, 2>([0]).unwrap_err()), "TL026");
    assert_eq!(code(x.swap_axes(0, 2).unwrap_err()), "TL026");
    assert_eq!(code(x.reshape([7]).unwrap_err()), "TL026");
    assert_eq!(code(x.split_axis::<2, 3>(1, [2, 2]).unwrap_err()), "TL026");
    assert_eq!(code(x.split_axis::<2, 3>(2, [1, 3]).unwrap_err()), "TL026");
    assert_eq!(code(x.split_axis::<2, 4>(1, [1, 3]).unwrap_err()), "TL026");
    let strided = x.transpose().reshape([6]).unwrap_err();
    assert!(strided.to_string().contains("needs a copy"));
    assert_eq!(code(x.copy_from(&[1, 2]).unwrap_err()), "TL024");
    assert_eq!(code(x.transpose().copy_from(&[0; 6]).unwrap_err()), "TL016");
    assert_eq!(
        code(device.tensor_from(&[1.0f32], [2]).unwrap_err()),
        "TL024"
    );
    assert_eq!(
        code(device.zeros::<f32, 3>([usize::MAX, 2, 2]).unwrap_err()),
        "TL013"
    );
    assert_eq!(
        code(device.zeros::<f64, 1>([1 << 61]).unwrap_err()),
        "TL013"
    );
    assert_eq!(
        code(device.zeros::<f64, 1>([1 << 40]).unwrap_err()),
        "TL012"
    );
    let stream = device.stream();
    let other = counted(&device, [3, 2]);
    assert_eq!(
        code(x.copy_from_tensor(&stream, &other).unwrap_err()),
        "TL025"
    );
    let same = x.view();
    assert_eq!(
        code(x.copy_from_tensor(&stream, &same).unwrap_err()),
        "TL019"
    );
    assert_eq!(
        code(x.copy_from_tensor(&stream, &other.transpose()).unwrap_err()),
        "TL016"
    );
    let (elsewhere, _) = double::device();
    assert_eq!(
        code(
            x.copy_from_tensor(&stream, &counted(&elsewhere, [2, 3]))
                .unwrap_err()
        ),
        "TL014"
    );
}

#[test]
fn tensors_without_elements_are_legal_everywhere() {
    let (device, double) = double::device();
    let mut x = device.zeros::<f32, 2>([0, 5]).unwrap();
    assert!(x.is_empty() && x.is_contiguous() && x.address() == 0);
    assert_eq!(double.counts().live_bytes, 0);
    x.copy_from(&[]).unwrap();
    let from = device.zeros([0, 5]).unwrap();
    x.copy_from_tensor(&device.stream(), &from).unwrap();
    assert!(x.transpose().to_vec().unwrap().is_empty());
    assert_eq!(x.reshape([5, 0, 7]).unwrap().shape(), [5, 0, 7]);
    let none = counted(&device, [4]).slice(0, 4..4).unwrap();
    assert!(none.to_vec().unwrap().is_empty());
    let huge = device.zeros::<f32, 3>([0, usize::MAX, usize::MAX]).unwrap();
    assert_eq!(huge.len(), 0);
}
