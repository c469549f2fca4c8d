//! What the programs of scans share: whole numbers, of which the sums are exact, and a loop beside the launch.

use super::{further, number};
use std::error::Error;
use tiki::{Device, LaunchError, Stream, Tensor};

type Launched = Result<(), LaunchError>;

/// Whole numbers from -8 to 8.
pub fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919) % 17) as f32 - 8.0).collect()
}

/// Sums down a matrix of the rows and columns that the arguments say, else of 700 by `columns`.
pub fn sums_down(
    columns: usize,
    launch: impl Fn(&Stream, &Tensor<f32, 3>, &mut Tensor<f32, 3>) -> Launched,
    report: &str,
) -> Result<bool, Box<dyn Error>> {
    let rows = number(1, "a number of rows", 700)?;
    let columns = number(2, "a number of columns", columns)?;
    let device = Device::open_default()?;
    let x = numbers(rows * columns);
    let input = device.tensor_from(&x, [1, rows, columns])?;
    let mut out = device.zeros::<f32, 3>([1, rows, columns])?;
    launch(&device.stream(), &input, &mut out)?;
    let got = out.to_vec()?;
    let mut sums = vec![0.0; columns];
    let mut wrong = 0;
    for (got, x) in got.chunks(columns.max(1)).zip(x.chunks(columns.max(1))) {
        for ((sum, x), got) in sums.iter_mut().zip(x).zip(got) {
            *sum += x;
            wrong += usize::from(sum != got);
        }
    }
    println!(
        "{}: sums down {rows} x {columns}, {wrong} wrong",
        device.name()
    );
    println!("{report}");
    Ok(wrong == 0)
}

/// `h = h / 2 + b` along rows of so many steps, which lie in tensors of this shape.
pub fn recurrences<const R: usize>(
    steps: usize,
    shape: [usize; R],
    launch: impl Fn(&Stream, &Tensor<f32, R>, &Tensor<f32, R>, &mut Tensor<f32, R>) -> Launched,
    report: &str,
) -> Result<bool, Box<dyn Error>> {
    let device = Device::open_default()?;
    let b = numbers(shape.iter().product());
    let factors = device.tensor_from(&vec![0.5; b.len()], shape)?;
    let terms = device.tensor_from(&b, shape)?;
    let mut out = device.zeros::<f32, R>(shape)?;
    launch(&device.stream(), &factors, &terms, &mut out)?;
    let got = out.to_vec()?;
    let mut h = 0.0;
    let off = got.iter().zip(&b).enumerate().map(|(i, (got, b))| {
        h = if i % steps == 0 { 0.0 } else { 0.5 * h } + f64::from(*b);
        (f64::from(*got) - h).abs()
    });
    let furthest = off.fold(0.0, further);
    println!(
        "{}: {} of {steps} steps, at most {furthest:.1e} off",
        device.name(),
        match b.len() / steps.max(1) {
            1 => "a recurrence".into(),
            rows => format!("{rows} recurrences"),
        }
    );
    println!("{report}");
    Ok(furthest < 1e-5)
}
