//! What is different in the blocks of a cluster.
//!
//! Invariant: a kernel gives in every block of a cluster what it gives without one. An address of shared memory has the
//! block's rank above the offset there, so what is made of addresses (descriptors of operands above all) must not take it
//! for something else; the machine's addresses have something there in all blocks of a cluster.
//! Witness: a product whose right operand lies by columns, in two slabs: its descriptor has a distance just above its
//! start. And one that reads what its neighbours have written. On the machine, and on a card with the feature `gpu`.

use tiki::prelude::*;

/// `c = a @ b`, 64 rows a block, 128 columns that lie side by side.
#[tiki::kernel(target = "sm_90a", warpgroups = 1, cluster = 2, shared = "160 KiB", grid = [a.dim(0) / 64],
    build((K = 64), (K = 128)), deny(bank_conflicts, spills))]
pub fn rows_by_columns<const K: usize>(a: &Global<f16>, b: &Global<f16>, c: &mut Global<f32>) {
    require!(a.dim(1) == K && b.dim(0) == K && b.dim(1) == 128);
    require!(a.dim(0) % 128 == 0 && c.dim(0) == a.dim(0) && c.dim(1) == 128);
    let a_s = Shared::<f16>::new(Layout::k_major::<f16>([64, K]));
    let b_s = Shared::<f16>::new(Layout::k_major::<f16>([K, 128]));
    let pipe = Pipeline::tma(1, 1);
    let load = Load::tma();
    let m = block_idx().x;
    if elect_one() {
        let s = pipe.acquire();
        load.copy_into(&a.tile([64, K], [m, 0]), a_s, &pipe, s);
        load.copy_into(&b.tile([K, 128], [0, 0]), b_s, &pipe, s);
    }
    let gemm = Gemm::<f16>::warpgroup(Warp::new(4, 1));
    let s = pipe.wait();
    let product = gemm.issue(a_s, b_s.t(), gemm.zeros([64, 128]));
    warpgroup_wait(0);
    pipe.release(s);
    c.tile_mut([64, 128], [m, 0]).store(&product.retire());
    cluster_sync();
}

/// Numbers between -1 and 1 of few digits.
fn value(i: usize) -> f16 {
    f16::from_f32(((i * 37 + i / 11 * 5) % 127) as f32 / 64.0 - 1.0)
}

/// A kernel's launch.
type Launch = fn(
    &tiki::Stream,
    &tiki::Tensor<f16, 2>,
    &tiki::Tensor<f16, 2>,
    &mut tiki::Tensor<f32, 2>,
) -> Result<(), tiki::LaunchError>;

/// Each block gives what the next one of its cluster was given, by tiles, by a thread map, and by element.
#[tiki::kernel(target = "sm_90a", threads = 128, cluster = 4, grid = [x.dim(0)], deny(bank_conflicts, spills))]
pub fn turned(x: &Global<f32>, by_tile: &mut Global<f32>, by_element: &mut Global<f32>) {
    require!(x.dim(0) % 4 == 0 && x.dim(1) == 256);
    require!(by_tile.dim(0) == x.dim(0) && by_tile.dim(1) == 256);
    require!(by_element.dim(0) == x.dim(0) && by_element.dim(1) == 128);
    let s = Shared::<f32>::new(layout!((1, 256):(256, 1)));
    let block = block_idx().x;
    let map = ThreadMap::linear(128);
    s.store(&x.tile([1, 256], [block, 0]).load(map));
    cluster_sync();
    let next = s.peer((cluster_rank() + 1) % 4);
    #[unroll]
    for half in 0..2 {
        let tile = next.tile([1, 128], [0, half]).load(map);
        by_tile.tile_mut([1, 128], [block, half]).store(&tile);
    }
    by_element.set([block, thread_idx()], next.get([0, 255 - thread_idx()]));
    cluster_sync();
}

fn check(device: &tiki::Device, k: usize, launch: Launch) {
    let m = 256;
    let a: Vec<f16> = (0..m * k).map(value).collect();
    let b: Vec<f16> = (0..k * 128).map(|i| value(i + 5)).collect();
    let da = device.tensor_from(&a, [m, k]).unwrap();
    let db = device.tensor_from(&b, [k, 128]).unwrap();
    let unset = vec![f32::NAN; m * 128];
    let mut c = device.tensor_from(&unset, [m, 128]).unwrap();
    launch(&device.stream(), &da, &db, &mut c).unwrap();
    for (i, got) in c.to_vec().unwrap().into_iter().enumerate() {
        let (row, column) = (i / 128, i % 128);
        let terms = (0..k).map(|t| a[row * k + t].to_f64() * b[t * 128 + column].to_f64());
        let (sum, size) = terms.fold((0.0, 0.0), |(s, z), t| (s + t, z + t.abs()));
        assert!(
            (f64::from(got) - sum).abs() <= k as f64 * 2f64.powi(-23) * size,
            "row {row}, column {column}: {got} for {sum}"
        );
    }
}

fn device() -> tiki::Device {
    #[cfg(not(feature = "gpu"))]
    {
        let target = tiki::compiler::target::Target::by_name("sm_90a").unwrap();
        let options = tiki::vm::Options {
            checks: tiki::vm::Checks::All,
            ..Default::default()
        };
        tiki::Device::vm_with(target, options).unwrap()
    }
    #[cfg(feature = "gpu")]
    tiki::Device::cuda(0).expect("an NVIDIA GPU")
}

#[test]
fn a_block_reads_what_its_neighbour_wrote() {
    let device = device();
    let x: Vec<f32> = (0..8 * 256).map(|i| i as f32).collect();
    let dx = device.tensor_from(&x, [8, 256]).unwrap();
    let unset = vec![f32::NAN; 8 * 256];
    let mut by_tile = device.tensor_from(&unset, [8, 256]).unwrap();
    let mut by_element = device.tensor_from(&unset[..8 * 128], [8, 128]).unwrap();
    turned::launch(&device.stream(), &dx, &mut by_tile, &mut by_element).unwrap();
    let next = |row: usize| row / 4 * 4 + (row + 1) % 4;
    for (i, got) in by_tile.to_vec().unwrap().into_iter().enumerate() {
        assert_eq!(
            got,
            x[next(i / 256) * 256 + i % 256],
            "element {i} of tiles"
        );
    }
    for (i, got) in by_element.to_vec().unwrap().into_iter().enumerate() {
        assert_eq!(got, x[next(i / 128) * 256 + 255 - i % 128], "element {i}");
    }
}

#[test]
fn every_block_of_a_cluster_multiplies() {
    let device = device();
    check(&device, 64, rows_by_columns::<64>::launch);
    check(&device, 128, rows_by_columns::<128>::launch);
}
