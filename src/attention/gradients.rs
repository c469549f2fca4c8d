//! Before and after the backward pass: what it needs of each row, and dQ from its sums.
//!
//! `delta = sum(d_out * out)` of a row is what the softmax takes from every gradient of the row's probabilities; a
//! gradient of the row's log-sum-exp is taken from it. Sums of dQ lie tile by tile of 64 x 64, as a product
//! leaves them in registers.

use tiki::prelude::*;

/// The statistics of each row: its log-sum-exp, plus infinity where nothing is seen, and its delta.
#[tiki::kernel(threads = 128, grid = [top.dim(2).div_ceil(64), top.dim(1), top.dim(0)], build(
    (E = [f16, bf16], D = [64, 96, 128, 192, 256]),
))]
pub fn attention_prepare<E: Half, const D: usize>(
    out: &Global<E, 4>,
    d_out: &Global<E, 4>,
    lse: &Global<f32, 3>,
    d_lse: &Global<f32, 3>,
    top: &mut Global<f32, 3>,
    delta: &mut Global<f32, 3>,
    with_lse: bool,
) {
    require!(out.dim(3) == D && d_out.shape() == out.shape() && delta.shape() == top.shape());
    require!(lse.dim(0) == out.dim(0) && lse.dim(1) == out.dim(1) && lse.dim(2) == out.dim(2));
    require!(top.dim(0) == out.dim(0) && top.dim(1) == out.dim(1) && top.dim(2) >= out.dim(2));
    let (m, head, batch) = (block_idx().x, block_idx().y, block_idx().z);
    let map = ThreadMap::rows(128, 8).vector_up_to(8);
    let rows = |t: &Global<E, 4>| {
        t.at([batch, head])
            .tile([64, D], [m, 0])
            .load(map)
            .cast::<f32>()
    };
    let sum = (&rows(out) * &rows(d_out)).row_sum();
    // A row past the end, or one that sees nothing, has probability 0 everywhere.
    let log = lse
        .at([batch, head])
        .tile([64], [m])
        .fill(f32::INFINITY)
        .load_like(&sum);
    let extra = d_lse.at([batch, head]).tile([64], [m]).load_like(&sum);
    let sum = sum.zip(&extra, |s, e| {
        if with_lse {
            s - e * std::f32::consts::LOG2_E
        } else {
            s
        }
    });
    let log = log.map(|l| {
        if l == f32::NEG_INFINITY {
            f32::INFINITY
        } else {
            l
        }
    });
    top.at_mut([batch, head]).tile_mut([64], [m]).store(&log);
    delta.at_mut([batch, head]).tile_mut([64], [m]).store(&sum);
}

/// `dq = scale * sums`, back in rows. It begins while the kernel that adds is in its last blocks, and waits for each key head until
/// `told` warpgroups are through with it; if that is 0, for the whole kernel.
#[tiki::kernel(target = "sm_90a", threads = 128, grid = [sums.dim(2) / 32, sums.dim(1), sums.dim(0)], build(
    (E = f16, D = 64),
    (E = bf16, D = 64),
    (E = f16, D = 128),
    (E = bf16, D = 128),
))]
pub fn attention_finish<E: Half, const D: usize>(
    sums: &Global<f32, 4>,
    turns: &Global<u32, 3>,
    dq: &mut Global<E, 4>,
    scale: f32,
    group: u32,
    told: u32,
) {
    require!(
        sums.dim(0) == dq.dim(0)
            && sums.dim(1) == dq.dim(1)
            && sums.dim(3) == 128
            && dq.dim(3) == D
    );
    require!(turns.dim(0) == dq.dim(0) && turns.dim(1) == dq.dim(1) && turns.dim(2) >= 1);
    require!(group >= 1);
    let (i, head, batch) = (block_idx().x, block_idx().y, block_idx().z);
    // One block at least waits for the end of the kernel before: so this one does not end before it.
    let last = i + 1 == grid_dim().x && head + 1 == grid_dim().y && batch + 1 == grid_dim().z;
    if told == 0 || last {
        dependent_wait();
    } else {
        let at = [batch, head / group as usize, turns.dim(2) - 1];
        if thread_idx() == 0 {
            while turns.get_with(at, Order::Acquire, Scope::Device) < told {}
        }
    }
    sync_block();
    let tile = Shared::<f32>::new(layout!(((8, 2, 4), (2, 4, 8)):((16, 2, 128), (1, 4, 512))));
    let map = ThreadMap::linear(128).vector_up_to(4);
    tile.arranged(Layout::row_major([32, 128]))
        .store(&sums.at([batch, head]).tile([32, 128], [i, 0]).load(map));
    sync_block();
    let rows = tile
        .load(ThreadMap::rows(128, 8).vector_up_to(8))
        .map(|x| x * scale)
        .cast::<E>();
    let at = if D == 64 { [i, 0] } else { [i / 2, i % 2] };
    dq.at_mut([batch, head]).tile_mut([64, 64], at).store(&rows);
}

/// Zeros: sums of dQ and turns, before anything is added to them, on the stream that adds.
#[tiki::kernel(threads = 256, grid = [sums.dim(0).div_ceil(2048)])]
pub fn attention_clear(sums: &mut Global<f32, 1>, turns: &mut Global<u32, 1>) {
    require!(turns.dim(0) <= sums.dim(0));
    for i in 0..8 {
        let at = block_idx().x * 2048 + i * 256 + thread_idx();
        sums.set([at], 0.0);
        turns.set([at], 0);
    }
}
