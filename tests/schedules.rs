//! Schedules of products that the library does not have, written as a user would.
//!
//! Invariant: a schedule needs nothing of the compiler but the language: each compiles, and gives on the
//! machine, in every order of completion, the product within the bound of an f32 sum of exact products.
//! Witness: some of them, at shapes around their tiles.

use tiki::prelude::*;
use tiki::vm::{Async, Options};

/// Blocks of a cluster share operands: each loads a part of what its neighbours need too, and sends it to all
/// of them. A stage is free once every block of the cluster is done with it.
#[tiki::kernel(target = "sm_90a", warpgroups = 3, registers = 168, shared = "227 KiB", grid = persistent, cluster = MC * NC,
    build(
    (E = f16, O = f16, BM = 128, BN = 64, BK = 64, STAGES = 4, MC = 2, NC = 1),
    (E = bf16, O = bf16, BM = 128, BN = 128, BK = 64, STAGES = 4, MC = 1, NC = 2),
    (E = f16, O = f16, BM = 128, BN = 64, BK = 64, STAGES = 4, MC = 2, NC = 2),
), deny(bank_conflicts, spills))]
pub fn clustered<
    E: Element,
    O: Float,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const STAGES: usize,
    const MC: usize,
    const NC: usize,
>(
    a: &Global<E>,
    b: &Global<E>,
    c: &mut Global<O>,
) {
    require!(a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0));
    let a_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BM, BK]));
    let b_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BN, BK]));
    let out_s = Shared::<O>::stages(4, Layout::k_major::<O>([64, 64]));
    let pipe = Pipeline::cluster(STAGES, 2);
    let tiles = Tiles::persistent([a.dim(0).div_ceil(BM * MC), b.dim(0).div_ceil(BN * NC)]);
    let steps = a.dim(1).div_ceil(BK);
    let (mi, ni) = (cluster_rank() / NC, cluster_rank() % NC);
    if warpgroup_idx() == 0 {
        set_registers(40);
        if elect_one() {
            let row: u32 = ((1 << NC) - 1) << (mi * NC).cast::<u32>();
            let mut columns: u32 = 0;
            #[unroll]
            for i in 0..MC {
                columns += 1 << (i * NC);
            }
            let (to_row, to_column) = (
                Load::tma().multicast(row),
                Load::tma().multicast(columns << ni.cast::<u32>()),
            );
            let load = Load::tma();
            for [tm, tn] in tiles {
                let (m, n) = (tm * MC + mi, tn * NC + ni);
                for k in 0..steps {
                    let s = pipe.acquire();
                    if NC == 1 {
                        load.copy_into(&a.tile([BM, BK], [m, k]), a_s.stage(s), &pipe, s);
                    } else {
                        to_row.copy_into(
                            &a.tile([BM / NC, BK], [m * NC + ni, k]),
                            a_s.stage(s).tile([BM / NC, BK], [ni, 0]),
                            &pipe,
                            s,
                        );
                        pipe.expect(s, (NC - 1) * (BM / NC) * BK * E::BYTES);
                    }
                    if MC == 1 {
                        load.copy_into(&b.tile([BN, BK], [n, k]), b_s.stage(s), &pipe, s);
                    } else {
                        to_column.copy_into(
                            &b.tile([BN / MC, BK], [n * MC + mi, k]),
                            b_s.stage(s).tile([BN / MC, BK], [mi, 0]),
                            &pipe,
                            s,
                        );
                        pipe.expect(s, (MC - 1) * (BN / MC) * BK * E::BYTES);
                    }
                }
            }
        }
    } else {
        set_registers(232);
        let half = warpgroup_idx() - 1;
        let gemm = Gemm::<E>::warpgroup(Warp::new(4, 1));
        let (store, bar) = (Store::tma(), Barrier::named(128));
        for [tm, tn] in tiles {
            let (m, n) = (tm * MC + mi, tn * NC + ni);
            let mut held = pipe.wait();
            let mut acc = gemm.issue(
                a_s.stage(held).tile([64, BK], [half, 0]),
                b_s.stage(held),
                gemm.zeros([64, BN]),
            );
            for _ in 1..steps {
                let s = pipe.wait();
                acc = acc.issue(a_s.stage(s).tile([64, BK], [half, 0]), b_s.stage(s));
                warpgroup_wait(1);
                pipe.release(held);
                held = s;
            }
            warpgroup_wait(0);
            pipe.release(held);
            let out = acc.retire().cast::<O>();
            #[unroll]
            for slab in 0..BN / 64 {
                let staged = out_s.stage(2 * half + slab % 2);
                if elect_one() {
                    store.wait_read(slab.min(1)); // the first slab's buffer may be the last one's of the tile before
                }
                bar.sync();
                staged.store(&out.tile([64, 64], [0, slab]));
                fence_async();
                bar.sync();
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
    cluster_sync(); // nobody leaves while others still send to it or arrive in it
}

/// The two blocks of a cluster sum half of K each. Then each gives the other the half of the columns that it does not
/// finish, by leaving it where its operands lay, and finishes the other half.
#[tiki::kernel(target = "sm_90a", warpgroups = 3, registers = 168, shared = "227 KiB", cluster = 2,
    grid = [a.dim(0).div_ceil(128) * b.dim(0).div_ceil(BN) * 2],
    build((E = f16, BN = 128, STAGES = 6), (E = bf16, BN = 128, STAGES = 6)), deny(bank_conflicts, spills))]
pub fn halves_of_k<E: Half, const BN: usize, const STAGES: usize>(
    a: &Global<E>,
    b: &Global<E>,
    c: &mut Global<E>,
) {
    require!(a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0));
    require!(a.dim(1) >= 1);
    let a_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([128, 64]));
    let b_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BN, 64]));
    let out_s = Shared::<E>::stages(2, Layout::k_major::<E>([64, BN / 2]));
    // A thread's sums beside each other, as it holds them.
    let (eights, tile) = (BN / 16, 32 * BN);
    let parts = b_s
        .reuse_as::<f32>(layout!(((8, 2, 4, 2), (2, 4, eights)):((16, 2, 128, tile), (1, 4, 512))));
    let pipe = Pipeline::tma(STAGES, 2);
    // Steps past the last one of K multiply zeros.
    let each = a.dim(1).div_ceil(64).div_ceil(2);
    let (rank, pair) = (cluster_rank(), block_idx().x / 2);
    let rows = a.dim(0).div_ceil(128);
    let (m, n) = (pair % rows, pair / rows);
    if warpgroup_idx() == 0 {
        set_registers(40);
        if elect_one() {
            let load = Load::tma();
            for i in 0..each {
                let (k, s) = (rank * each + i, pipe.acquire());
                load.copy_into(&a.tile([128, 64], [m, k]), a_s.stage(s), &pipe, s);
                load.copy_into(&b.tile([BN, 64], [n, k]), b_s.stage(s), &pipe, s);
            }
        }
        cluster_sync();
        cluster_sync();
    } else {
        set_registers(232);
        let half = warpgroup_idx() - 1;
        let gemm = Gemm::<E>::warpgroup(Warp::new(4, 1));
        let (store, bar, both) = (Store::tma(), Barrier::named(128), Barrier::named(256));
        let mut held = pipe.wait();
        let rows = a_s.stage(held).tile([64, 64], [half, 0]);
        let mut acc = gemm.issue(rows, b_s.stage(held), gemm.zeros([64, BN]));
        for _ in 1..each {
            let s = pipe.wait();
            acc = acc.issue(a_s.stage(s).tile([64, 64], [half, 0]), b_s.stage(s));
            warpgroup_wait(1);
            pipe.release(held);
            held = s;
        }
        warpgroup_wait(0);
        let sums = acc.retire();
        both.sync(); // the other warpgroup has read its operands too
        let own = parts.tile([64, BN / 2], [half, 0]);
        #[unroll]
        for q in 0..2 {
            if q != rank {
                own.store(&sums.tile([64, BN / 2], [0, q]));
            }
        }
        cluster_sync();
        #[unroll]
        for q in 0..2 {
            if q == rank {
                // Of two, the order does not matter.
                let mine = sums.tile([64, BN / 2], [0, q]);
                let theirs = own.peer(1 - q).load_like(&mine);
                let staged = out_s.stage(half);
                staged.store(&(&mine + &theirs).cast::<E>());
                fence_async();
                bar.sync();
                if elect_one() {
                    store.copy(staged, c.tile_mut([64, BN / 2], [2 * m + half, 2 * n + q]));
                    store.commit();
                    store.wait_read(0);
                }
            }
        }
        cluster_sync(); // nobody's memory goes while the other reads it
    }
}

/// Three warpgroups multiply 64 rows each beside one that loads: a tile of 192 rows.
#[tiki::kernel(target = "sm_90a", warpgroups = 4, registers = 128, shared = "227 KiB",
    grid = [b.dim(0).div_ceil(BN), a.dim(0).div_ceil(192)], build((E = f16, BN = 128, STAGES = 4), (E = bf16, BN = 192, STAGES = 4)),
    deny(bank_conflicts, spills))]
pub fn three_consumers<E: Half, const BN: usize, const STAGES: usize>(
    a: &Global<E>,
    b: &Global<E>,
    c: &mut Global<E>,
) {
    require!(
        a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0) && c.dim(1) % 8 == 0
    );
    let a_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([192, 64]));
    let b_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BN, 64]));
    let pipe = Pipeline::tma(STAGES, 3);
    let steps = a.dim(1).div_ceil(64);
    let (m, n) = (block_idx().y, block_idx().x);
    if warpgroup_idx() == 0 {
        set_registers(32);
        if elect_one() {
            let load = Load::tma();
            for k in 0..steps {
                let s = pipe.acquire();
                load.copy_into(&a.tile([192, 64], [m, k]), a_s.stage(s), &pipe, s);
                load.copy_into(&b.tile([BN, 64], [n, k]), b_s.stage(s), &pipe, s);
            }
        }
    } else {
        set_registers(160);
        let third = warpgroup_idx() - 1;
        let gemm = Gemm::<E>::warpgroup(Warp::new(4, 1));
        let mut held = pipe.wait();
        let rows = a_s.stage(held).tile([64, 64], [third, 0]);
        let mut acc = gemm.issue(rows, b_s.stage(held), gemm.zeros([64, BN]));
        for _ in 1..steps {
            let s = pipe.wait();
            acc = acc.issue(a_s.stage(s).tile([64, 64], [third, 0]), b_s.stage(s));
            warpgroup_wait(1);
            pipe.release(held);
            held = s;
        }
        warpgroup_wait(0);
        c.tile_mut([64, BN], [3 * m + third, n])
            .store(&acc.retire().cast::<E>());
    }
}

/// No roles and no tensor memory accelerator: the warpgroup that multiplies copies its own stages, and fences
/// what it has copied.
#[tiki::kernel(target = "sm_90a", warpgroups = 1, shared = "160 KiB",
    grid = [b.dim(0).div_ceil(BN), a.dim(0).div_ceil(64)], build((E = f16, BN = 128, STAGES = 3), (E = bf16, BN = 64, STAGES = 4)),
    deny(bank_conflicts, spills))]
pub fn one_role<E: Half, const BN: usize, const STAGES: usize>(
    a: &Global<E>,
    b: &Global<E>,
    c: &mut Global<E>,
) {
    require!(
        a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0) && a.dim(1) % 8 == 0
    );
    let (m, n) = (block_idx().y, block_idx().x);
    let a_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([64, 64]));
    let b_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BN, 64]));
    let load = Load::cp_async(128);
    let pipe = Pipeline::cp_async(STAGES);
    let fetch = |k: usize| {
        let s = pipe.acquire();
        load.copy(&a.tile([64, 64], [m, k]), a_s.stage(s));
        load.copy(&b.tile([BN, 64], [n, k]), b_s.stage(s));
        pipe.commit();
    };
    for k in 0..STAGES - 1 {
        fetch(k);
    }
    let gemm = Gemm::<E>::warpgroup(Warp::new(4, 1));
    let s = pipe.wait();
    fence_async();
    sync_block();
    let mut acc = gemm.issue(a_s.stage(s), b_s.stage(s), gemm.zeros([64, BN]));
    warpgroup_wait(0);
    for k in 1..a.dim(1).div_ceil(64) {
        fetch(k + STAGES - 2);
        let s = pipe.wait();
        fence_async();
        sync_block();
        acc = acc.issue(a_s.stage(s), b_s.stage(s));
        warpgroup_wait(0); // the next copies go to the stage before: it is read
    }
    warpgroup_wait(0);
    c.tile_mut([64, BN], [m, n])
        .store(&acc.retire().cast::<E>());
}

/// All tiles' steps in one row, dealt out evenly: each block has the same number of them, to within one, however many tiles there
/// are (stream-K). A tile's parts then lie with blocks beside each other. The one that has its last step adds the others'
/// parts, nearest first, so that a result does not depend on who was first. A block begins at its far end: what others
/// wait for is there before it waits itself.
#[tiki::kernel(threads = 128, grid = [BLOCKS], workspace(parts = [BLOCKS, 64, 64], there = [BLOCKS]),
    build((E = f16, BLOCKS = 5), (E = f16, BLOCKS = 7), (E = bf16, BLOCKS = 132)), deny(bank_conflicts, spills))]
pub fn dealt_steps<E: Half, const BLOCKS: usize>(
    a: &Global<E>,
    b: &Global<E>,
    c: &mut Global<E>,
    parts: &mut Global<f32, 3>,
    there: &mut Global<u32, 1>,
) {
    require!(a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0));
    // No block without a step.
    require!(a.dim(0).div_ceil(64) * b.dim(0).div_ceil(64) * a.dim(1).div_ceil(64) >= BLOCKS);
    let a_s = Shared::<E>::new(Layout::k_major::<E>([64, 64]));
    let b_s = Shared::<E>::new(Layout::k_major::<E>([64, 64]));
    let gemm = Gemm::<E>::new(Warp::new(2, 2));
    let map = ThreadMap::rows(128, 8).vector_up_to(8);
    let (columns, steps) = (b.dim(0).div_ceil(64), a.dim(1).div_ceil(64));
    let all = a.dim(0).div_ceil(64) * columns * steps;
    let me = block_idx().x;
    let begin = all * me / BLOCKS;
    let mut end = all * (me + 1) / BLOCKS;
    while end > begin {
        let tile = (end - 1) / steps;
        let first = tile * steps;
        let from = begin.max(first);
        let (m, n) = (tile / columns, tile % columns);
        let mut sums = gemm.zeros([64, 64]);
        for k in from - first..end - first {
            a_s.store(&a.tile([64, 64], [m, k]).load(map));
            b_s.store(&b.tile([64, 64], [n, k]).load(map));
            sync_block();
            gemm.accumulate(a_s, b_s, &mut sums);
            sync_block();
        }
        if end < first + steps {
            parts.at_mut([me]).tile_mut([64, 64], [0, 0]).store(&sums);
            sync_block();
            if thread_idx() == 0 {
                fence(Scope::Device);
                there.set_with([me], 1, Order::Release, Scope::Device);
            }
        } else {
            // Block `of - 1` ends at step `all * of / BLOCKS`.
            let mut of = me;
            let mut more = from > first;
            while more {
                of -= 1;
                if thread_idx() == 0 {
                    let mut ready: u32 = 0;
                    while ready == 0 {
                        ready = there.get_with([of], Order::Acquire, Scope::Device);
                    }
                }
                sync_block();
                let part = parts.at([of]).tile([64, 64], [0, 0]).load_like(&sums);
                sums = &sums + &part;
                more = all * of / BLOCKS > first;
            }
            c.tile_mut([64, 64], [m, n]).store(&sums.cast::<E>());
        }
        end = from;
    }
}

type Launch = fn(
    &tiki::Stream,
    &tiki::Tensor<f16, 2>,
    &tiki::Tensor<f16, 2>,
    &mut tiki::Tensor<f16, 2>,
) -> Result<(), tiki::LaunchError>;

fn check(launch: Launch, (m, n, k): (usize, usize, usize)) {
    let value = |i: usize| f16::from_f32(((i * 7919) % 61) as f32 / 16.0 - 1.9);
    let a: Vec<f16> = (0..m * k).map(value).collect();
    let b: Vec<f16> = (0..n * k).map(|i| value(i + 5)).collect();
    let mut first: Option<Vec<f16>> = None;
    let orders = [
        Async::Eager,
        Async::Late,
        Async::Seed(1),
        Async::Seed(2),
        Async::Seed(3),
    ];
    for completion in orders {
        let options = Options {
            completion,
            ..Options::default()
        };
        let target = tiki::compiler::target::Target::by_name("sm_90a").unwrap();
        let device = tiki::Device::vm_with(target, options).unwrap();
        let (da, db) = (
            device.tensor_from(&a, [m, k]).unwrap(),
            device.tensor_from(&b, [n, k]).unwrap(),
        );
        let mut c = device.tensor_from(&vec![f16::NAN; m * n], [m, n]).unwrap();
        launch(&device.stream(), &da, &db, &mut c).unwrap();
        let got = c.to_vec().unwrap();
        if let Some(first) = &first {
            let apart: Vec<usize> = (0..m * n)
                .filter(|&i| first[i].to_bits() != got[i].to_bits())
                .collect();
            let at = apart.first().map(|i| (i / n, i % n, first[*i], got[*i]));
            assert!(
                apart.is_empty(),
                "{completion:?} changes {} results: {at:?}",
                apart.len()
            );
            continue;
        }
        for i in (0..m * n).step_by(7) {
            let terms = (0..k).map(|t| a[i / n * k + t].to_f64() * b[i % n * k + t].to_f64());
            let (sum, size) = terms.fold((0.0, 0.0), |(s, z), t| (s + t, z + t.abs()));
            let bound =
                k as f64 * 2f64.powi(-23) * size + sum.abs() * 2f64.powi(-11) + 2f64.powi(-25);
            assert!(
                (got[i].to_f64() - sum).abs() <= bound,
                "{m} x {n} x {k}, element {i}: {} for {sum}",
                got[i]
            );
        }
        first = Some(got);
    }
}

#[test]
fn blocks_of_a_cluster_share_what_they_load() {
    check(
        clustered::<f16, f16, 128, 64, 64, 4, 2, 1>::launch,
        (257, 72, 200),
    );
    check(
        clustered::<f16, f16, 128, 64, 64, 4, 2, 2>::launch,
        (300, 264, 136),
    );
}

#[test]
fn blocks_of_a_cluster_divide_k() {
    check(halves_of_k::<f16, 128, 6>::launch, (136, 264, 456));
    check(halves_of_k::<f16, 128, 6>::launch, (8, 72, 40));
}

#[test]
fn three_warpgroups_multiply() {
    check(three_consumers::<f16, 128, 4>::launch, (200, 136, 264));
}

#[test]
fn one_warpgroup_does_everything() {
    check(one_role::<f16, 128, 3>::launch, (70, 136, 264));
}

#[test]
fn steps_are_dealt_out_evenly() {
    // Blocks of parts of several tiles; tiles of parts of many blocks; whole tiles.
    check(dealt_steps::<f16, 5>::launch, (130, 136, 264));
    check(dealt_steps::<f16, 7>::launch, (64, 72, 1016));
    check(dealt_steps::<f16, 7>::launch, (200, 264, 64));
}
