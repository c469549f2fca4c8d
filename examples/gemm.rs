//! Matrix product `c = a @ b.T` of 16-bit floats, accumulated in f32, of any extents. (The kernels here take K in
//! multiples of 8; `gemm_hopper` N too.)
//!
//! Tiles come by asynchronous copies through a ring of stages; past the edges they are zero. Each warp
//! multiplies its part of the tile on the tensor cores while later stages are under way.
//!
//! `cargo run --release --example gemm -- [M N K]` multiplies random matrices, `.. -- FILE.safetensors A B` two of
//! a file, by the instance that the library picks; it checks a sample against f64, and prints the speed and
//! the instance's budget. The kernels here show how such instances are written: shared memory, roles and epilogue
//! here, the main loops out of the library (`tiki::gemm::schedule`), which its own instances are made of too.

use std::error::Error;
#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::gemm::schedule::{fill_stages, multiply_ring, multiply_stages, stage_slab};
use tiki::gemm::{Epilogue, GemmError, product};
use tiki::prelude::*;

#[tiki::kernel(target = "sm_80", warps = 4, registers = 208, shared = "96 KiB",
    grid = [b.dim(0).div_ceil(BN), a.dim(0).div_ceil(BM)], build(
    (E = f16, BM = 128, BN = 128, BK = 32, STAGES = 4),
    (E = bf16, BM = 128, BN = 128, BK = 32, STAGES = 4),
    (E = f16, BM = 64, BN = 64, BK = 64, STAGES = 3),
))]
pub fn gemm_ampere<
    E: Half,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const STAGES: usize,
>(
    a: &Global<E>,
    b: &Global<E>,
    c: &mut Global<E>,
) {
    require!(
        a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0) && a.dim(1) % 8 == 0
    );
    let (m, n) = (block_idx().y, block_idx().x);
    let a_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BM, BK]));
    let b_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BN, BK]));
    let load = Load::cp_async(128);
    let pipe = Pipeline::cp_async(STAGES);
    let gemm = Gemm::<E>::new(Warp::new(2, 2));
    let steps = a.dim(1).div_ceil(BK);
    let fetch = |k: usize| {
        let s = pipe.acquire();
        load.copy(&a.tile([BM, BK], [m, k]), a_s.stage(s)); // past the last step: zero fill, no traffic
        load.copy(&b.tile([BN, BK], [n, k]), b_s.stage(s));
        pipe.commit();
    };
    let acc = multiply_ring(&gemm, &pipe, STAGES, steps, fetch, a_s, b_s, [BM, BN]);
    c.tile_mut([BM, BN], [m, n]).store(&acc.cast::<E>());
}

/// The same on Hopper: one warpgroup fills the ring through the tensor memory accelerator, two multiply
/// 64 rows each; a persistent grid takes tile after tile, and each result leaves through shared memory
/// while the next tile's stages are filled.
#[tiki::kernel(target = "sm_90a", warpgroups = 3, registers = 168, shared = "227 KiB", grid = persistent,
    build(
    (E = bf16, BM = 128, BN = 256, BK = 64, STAGES = 4),
    (E = f16, BM = 128, BN = 256, BK = 64, STAGES = 4),
    (E = f16, BM = 128, BN = 128, BK = 64, STAGES = 4),
    (E = bf16, BM = 128, BN = 128, BK = 64, STAGES = 4),
    (E = f16, BM = 128, BN = 64, BK = 64, STAGES = 6),
    (E = bf16, BM = 128, BN = 64, BK = 64, STAGES = 6),
), deny(bank_conflicts, spills))]
pub fn gemm_hopper<
    E: Half,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const STAGES: usize,
>(
    a: &Global<E>,
    b: &Global<E>,
    c: &mut Global<E>,
) {
    require!(
        a.dim(1) == b.dim(1)
            && c.dim(0) == a.dim(0)
            && c.dim(1) == b.dim(0)
            && a.dim(1) % 8 == 0
            && c.dim(1) % 8 == 0
    );
    require!(BM == 128 && BN % 64 == 0 && a.dim(1) >= 1); // two warpgroups of 64 rows; a step at least
    let a_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BM, BK])); // 64 KiB
    let b_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BN, BK])); // 128 KiB
    let out_s = Shared::<E>::stages(4, Layout::k_major::<E>([64, 64])); // 32 KiB: two slabs a consumer
    let pipe = Pipeline::tma(STAGES, 2);
    let tiles = Tiles::persistent([a.dim(0).div_ceil(BM), b.dim(0).div_ceil(BN)]).grouped(8);
    let steps = a.dim(1).div_ceil(BK);
    if warpgroup_idx() == 0 {
        set_registers(40);
        if elect_one() {
            let load = Load::tma();
            for [m, n] in tiles {
                fill_stages(&pipe, steps, |k: usize, s: usize| {
                    load.copy_into(&a.tile([BM, BK], [m, k]), a_s.stage(s), &pipe, s);
                    load.copy_into(&b.tile([BN, BK], [n, k]), b_s.stage(s), &pipe, s);
                });
            }
        }
    } else {
        set_registers(232);
        let half = warpgroup_idx() - 1;
        let gemm = Gemm::<E>::warpgroup(Warp::new(4, 1));
        let (store, bar) = (Store::tma(), Barrier::named(128));
        let left = |s: usize| a_s.stage(s).tile([64, BK], [half, 0]);
        let right = |s: usize| b_s.stage(s);
        for [m, n] in tiles {
            let (sums, held) = multiply_stages(&gemm, &pipe, steps, [64, BN], &left, &right);
            pipe.release(held);
            #[unroll]
            for slab in 0..BN / 64 {
                let staged = out_s.stage(2 * half + slab % 2);
                stage_slab(&store, &bar, slab, staged, || {
                    sums.tile([64, 64], [0, slab]).cast::<E>()
                });
                if elect_one() {
                    let at = [2 * m + half, n * (BN / 64) + slab];
                    store.copy(staged, c.tile_mut([64, 64], at));
                    store.commit();
                }
            }
        }
        if elect_one() {
            store.wait_read(0); // the block's memory goes with it
        }
    }
}

/// Elements of a matrix that this program is willing to make.
const MOST: usize = 1 << 28;

type Matrix = (Vec<f16>, [usize; 2]);

/// A matrix of random numbers in (-1, 1).
fn random(rows: usize, columns: usize, seed: u64) -> Matrix {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let all = (0..rows * columns).map(|_| f16::from_f32(next())).collect();
    (all, [rows, columns])
}

/// A matrix of a safetensors file, as f16.
fn read(file: &tiki::checkpoint::Checkpoint, name: &str) -> Result<Matrix, Box<dyn Error>> {
    let found = file.tensors().into_iter().find(|t| t.name == name);
    let shape = found
        .ok_or_else(|| format!("the file has no tensor `{name}`"))?
        .shape;
    let [rows, columns] = shape[..] else {
        return Err(format!("`{name}` has shape {shape:?}; a matrix has two axes").into());
    };
    Ok((file.read_as::<f16>(name, &shape)?, [rows, columns]))
}

/// The operands that the arguments name: extents, or a file and two of its tensors.
fn operands(args: &[String]) -> Result<(Matrix, Matrix), Box<dyn Error>> {
    let number = |text: &String| text.parse::<usize>().ok();
    let (m, n, k) = match args {
        [] => (300, 260, 136),
        [m, n, k] if number(m).is_some() => match (number(m), number(n), number(k)) {
            (Some(m), Some(n), Some(k)) => (m, n, k),
            _ => return Err(format!("`{n}` and `{k}` are not both extents").into()),
        },
        [path, a, b] => {
            let file = tiki::checkpoint::Checkpoint::open(path)?;
            return Ok((read(&file, a)?, read(&file, b)?));
        }
        _ => return Err("usage: gemm [M N K | FILE.safetensors A B]".into()),
    };
    let count = |a: usize, b: usize| a.checked_mul(b).filter(|n| *n <= MOST);
    if [count(m, k), count(n, k), count(m, n)].contains(&None) {
        return Err(format!("{m} x {n} x {k} has a matrix of more than {MOST} elements").into());
    }
    Ok((random(m, k, 1), random(n, k, 2)))
}

fn run() -> Result<bool, Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let ((a, [m, k]), (b, [n, depth])) = operands(&args)?;
    if k != depth {
        return Err(
            format!("a @ b.T of {m} x {k} and {n} x {depth}: second extents differ").into(),
        );
    }
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let (da, db) = (
        device.tensor_from(&a, [m, k])?,
        device.tensor_from(&b, [n, k])?,
    );
    let mut c = device.zeros::<f16, 2>([m, n])?;
    let plain = Epilogue::default();
    let chosen = product(&stream, &da, &db, &mut c, &plain)?;
    let got = c.to_vec()?;
    // A sample of outputs: products of f16 are exact in f32, sums lose at most a unit of f32 a step.
    let step = (m * n / 4099).max(1);
    let mut worst = 0.0_f64;
    for i in (0..m * n).step_by(step) {
        let (row, column) = (
            &a[i / n * k..(i / n + 1) * k],
            &b[i % n * k..(i % n + 1) * k],
        );
        let terms = row.iter().zip(column).map(|(x, y)| x.to_f64() * y.to_f64());
        let (exact, size) = terms.fold((0.0, 0.0), |(s, z), t| (s + t, z + t.abs()));
        let bound =
            k as f64 * 2f64.powi(-23) * size + exact.abs() * 2f64.powi(-11) + 2f64.powi(-25);
        let off = (got[i].to_f64() - exact).abs() / bound;
        worst = program::further(worst, off);
    }
    let mut refused = None;
    let time = tiki::bench::Bench {
        samples: 10,
        warm_up: 2,
        ..Default::default()
    }
    .run(&stream, || {
        match product(&stream, &da, &db, &mut c, &plain) {
            Ok(_) => Ok(()),
            Err(GemmError::Launch(error)) => Err(error),
            Err(error) => {
                refused = Some(error);
                Ok(())
            }
        }
    })?;
    if let Some(error) = refused {
        return Err(error.into());
    }
    let flops = 2.0 * (m * n * k) as f64 / time.median() / 1e6;
    println!(
        "{}: {m} x {n} x {k} in {:.1} us, {flops:.3} TFLOP/s by `{}`",
        device.name(),
        time.median(),
        chosen.instance
    );
    println!("worst error: {worst:.3} of the bound");
    println!("{}", chosen.report);
    Ok(worst <= 1.0)
}

fn main() -> ExitCode {
    program::end(run())
}
