//! RMSNorm: `out = x / sqrt(mean(x * x) + eps) * weight`, row by row.
//!
//! One block a row. Each byte comes from memory once: rows are read a second time where they are written, out of the
//! caches, which are asked to keep them until then and to let go of them after (on an H200 that is up to 4% faster than
//! holding them in registers); rows of 8 and of 32 KiB stay in registers. 16-bit inputs are computed in f32. A thread holds 16 to 32 values: enough loads in flight to keep
//! the memory busy, few enough warps that the reduction costs little. NaN and infinity in a row make that row NaN, as the formula says.
//!
//! `cargo run --release --example rms_norm -- [FILE]` reads `hidden` and `norm_weight` of a safetensors
//! file, and compares with its `rms_norm_expected`.

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;
use tiki::rows::walk::over;

#[tiki::kernel(threads = T, grid = [x.dim(0)], build(
    (E = f16, N = 576, T = 96),
    (E = bf16, N = 576, T = 96),
    (E = f32, N = 576, T = 96),
    (E = f16, N = 1024, T = 64),
    (E = bf16, N = 1024, T = 64),
    (E = f32, N = 1024, T = 128),
    (E = f16, N = 4096, T = 256),
    (E = bf16, N = 4096, T = 256),
    (E = f32, N = 4096, T = 512),
    (E = f16, N = 8192, T = 512),
    (E = bf16, N = 8192, T = 512),
    (E = f32, N = 8192, T = 512),
    (E = f16, N = 16384, T = 512),
    (E = bf16, N = 16384, T = 512),
    (E = f32, N = 16384, T = 1024),
))]
pub fn rms_norm<E: Element, const N: usize, const T: usize>(
    x: &Global<E>,
    weight: &Global<E, 1>,
    out: &mut Global<E>,
    eps: f32,
) {
    require!(x.dim(1) == N && weight.dim(0) == N && out.shape() == x.shape());
    let row = block_idx().x;
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let tile = x.tile([1, N], [row, 0]);
    if N * E::BYTES == 8192 || N * E::BYTES == 32768 {
        let v = tile.evict_last().load(map).cast::<f32>();
        let inverse = || (&v * &v).row_sum().map(|s| rsqrt(over::<N>(s) + eps));
        let weights = || weight.tile([N], [0]).evict_last().load(map).cast::<f32>();
        // Weights in f32 would take registers over the barrier, and with them a block.
        let (w, inv_rms) = if E::BYTES == 2 {
            let w = weights();
            (w, inverse())
        } else {
            let inv_rms = inverse();
            (weights(), inv_rms)
        };
        let y = v.rows(&inv_rms, |a, r| a * r).cols(&w, |a, g| a * g);
        out.tile_mut([1, N], [row, 0]).store(&y.cast::<E>());
    } else {
        let v = tile.evict_last().load(map).cast::<f32>();
        let inv_rms = (&v * &v).row_sum().map(|s| rsqrt(over::<N>(s) + eps));
        // Piece by piece, where a whole row would take too many registers.
        let piece = if N * E::BYTES > 32768 { N / 4 } else { N };
        #[unroll]
        for k in 0..N / piece {
            let w = weight.tile([piece], [k]).evict_last().load(map);
            let again = x.tile([1, piece], [row, k]).evict_first().load(map);
            let y = again
                .cast::<f32>()
                .rows(&inv_rms, |a, r| a * r)
                .cols(&w.cast::<f32>(), |a, g| a * g);
            out.tile_mut([1, piece], [row, k])
                .evict_first()
                .store(&y.cast::<E>());
        }
    }
}

/// Of the sum of two tensors, which is written too (the residual stream of a transformer). The sum is normalised as it
/// was before it is rounded. Inputs of 16 bits are read twice as above, and both results leave at the end: 5% faster.
#[tiki::kernel(threads = T, grid = [x.dim(0)], build(
    (E = f16, N = 576, T = 96),
    (E = bf16, N = 576, T = 96),
    (E = f32, N = 576, T = 96),
    (E = f16, N = 4096, T = 512),
    (E = bf16, N = 4096, T = 512),
    (E = f32, N = 4096, T = 512),
))]
pub fn add_rms_norm<E: Element, const N: usize, const T: usize>(
    x: &Global<E>,
    residual: &Global<E>,
    weight: &Global<E, 1>,
    sum: &mut Global<E>,
    out: &mut Global<E>,
    eps: f32,
) {
    require!(x.dim(1) == N && weight.dim(0) == N && residual.shape() == x.shape());
    require!(sum.shape() == x.shape() && out.shape() == x.shape());
    let row = block_idx().x;
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let (xs, rs) = (x.tile([1, N], [row, 0]), residual.tile([1, N], [row, 0]));
    if E::BYTES == 2 {
        let v = &xs.evict_last().load(map).cast::<f32>() + &rs.evict_last().load(map).cast::<f32>();
        let inv_rms = (&v * &v).row_sum().map(|s| rsqrt(over::<N>(s) + eps));
        let w = weight.tile([N], [0]).evict_last().load(map).cast::<f32>();
        let again =
            &xs.evict_first().load(map).cast::<f32>() + &rs.evict_first().load(map).cast::<f32>();
        let y = again.rows(&inv_rms, |a, r| a * r).cols(&w, |a, g| a * g);
        sum.tile_mut([1, N], [row, 0])
            .evict_first()
            .store(&again.cast::<E>());
        out.tile_mut([1, N], [row, 0])
            .evict_first()
            .store(&y.cast::<E>());
    } else {
        let v = &xs.evict_last().load(map).cast::<f32>() + &rs.evict_last().load(map).cast::<f32>();
        sum.tile_mut([1, N], [row, 0]).store(&v.cast::<E>());
        let inv_rms = (&v * &v).row_sum().map(|s| rsqrt(over::<N>(s) + eps));
        let w = weight.tile([N], [0]).load(map).cast::<f32>();
        let y = v.rows(&inv_rms, |a, r| a * r).cols(&w, |a, g| a * g);
        out.tile_mut([1, N], [row, 0]).store(&y.cast::<E>());
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let file = program::tensors()?;
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let x = file.load::<f16, 2>(&device, "hidden")?;
    let weight = file.load::<f16, 1>(&device, "norm_weight")?;
    let mut out = device.zeros::<f16, 2>(x.shape())?;
    let time = tiki::bench::Bench {
        samples: 20,
        ..Default::default()
    }
    .run(&stream, || {
        rms_norm::<f16, 576, 96>::launch(&stream, &x, &weight, &mut out, 1e-5)
    })?;
    let expected = file.read_as::<f64>("rms_norm_expected", &x.shape())?;
    let comparison = tiki::report::compare(&out.to_vec()?, &expected)?;
    println!(
        "{}: rms_norm of {:?} in {:.1} us (median of {})",
        device.name(),
        x.shape(),
        time.median(),
        time.all().len()
    );
    println!("{comparison}");
    println!("{}", rms_norm::<f16, 576, 96>::REPORT);
    Ok(comparison.holds(0.999, 2))
}

fn main() -> ExitCode {
    program::end(run())
}
