//! What a kernel carries of another crate's items: each once, however many ways lead to it.

use gpu::Device;
use gpu::prelude::*;
use tiki_test_library::steps::step10;

#[gpu::kernel(crate = ::gpu, threads = 32, grid = [1])]
fn climb(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let map = ThreadMap::linear(32);
    let y = x.tile([32], [0]).load(map).map(|x| step10(x));
    out.tile_mut([32], [0]).store(&y);
}

#[test]
fn diamonds_are_carried_once() -> Result<(), Box<dyn std::error::Error>> {
    let program = gpu::jit::program(climb::TEXT)?;
    let names: Vec<&str> = program
        .items
        .iter()
        .map(|i| i.name().text.as_str())
        .collect();
    assert_eq!(names.len(), 11, "{names:?}");
    // Private callees of the other crate, in the text of this one.
    assert!(
        names.contains(&"step0") && climb::TEXT.len() < 16_000,
        "{}",
        climb::TEXT.len()
    );
    let device = Device::vm()?;
    let x = device.tensor_from(&[1.0f32; 32], [32])?;
    let mut out = device.zeros([32])?;
    climb::launch(&device.stream(), &x, &mut out)?;
    // f(0) = 1, f(1) = 2, each further the sum of the two before: Fibonacci.
    let (mut a, mut b) = (1.0f32, 2.0);
    for _ in 0..9 {
        (a, b) = (b, a + b);
    }
    assert_eq!(out.to_vec()?, [b; 32]);
    Ok(())
}
