//! Attention of sequences that lie end to end in one tensor, by cumulative offsets.
//!
//! Tiles are those of the tensor, whatever sequences they cut. [`attention_plan`] says for each query which keys it
//! sees, `from <= key < to` (`seen[0]`, `seen[1]`): its own sequence's, within the band around that sequence's
//! diagonal. Neither bound ever decreases along the queries. So what a tile sees runs from its first query's
//! first key to its last query's last, and the queries that see a key are a range, too, which [`attention_plan_keys`]
//! finds (`seeing`); blocks of other sequences are skipped. The algorithms are those of equal lengths.

use super::backward_ampere::attend_backward_ampere;
use super::backward_hopper::attend_backward;
use super::forward_ampere::attend_ampere;
use super::forward_hopper::attend;
use super::place::{Place, band_of};
use tiki::prelude::*;

/// What each query sees. `queries` and `keys` are cumulative: sequence `i` has the rows from `[i]` to `[i + 1]`.
#[tiki::kernel(threads = 128, grid = [seen.dim(1).div_ceil(128)])]
pub fn attention_plan(
    queries: &Global<u32, 1>,
    keys: &Global<u32, 1>,
    seen: &mut Global<u32, 2>,
    before: u32,
    after: u32,
) {
    require!(queries.dim(0) >= 1 && keys.dim(0) == queries.dim(0) && seen.dim(0) == 2);
    let row = block_idx().x * 128 + thread_idx();
    let count = queries.dim(0);
    // How many sequences begin at the row or before it.
    let (mut begun, mut most) = (0_usize, count);
    while begun < most {
        let middle = (begun + most) / 2;
        if queries.get([middle]) as usize > row {
            most = middle;
        } else {
            begun = middle + 1;
        }
    }
    let i = begun.max(1) - 1;
    let first = keys.get([i]);
    // A row of no sequence sees nothing.
    let (mut from, mut to) = (first, first);
    if begun >= 1 && begun < count {
        let (own, length) = (queries.get([i]), keys.get([i + 1]) - first);
        let band = band_of(
            (queries.get([i + 1]) - own) as usize,
            length as usize,
            before,
            after,
        );
        let r = (row as u32 - own) as i32;
        from = first + min(max(r + band.left, 0), band.keys) as u32;
        to = first + min(max(r + band.right + 1, 0), band.keys) as u32;
    }
    if row < seen.dim(1) {
        seen.set([0, row], from);
        seen.set([1, row], to);
    }
}

/// Which queries see each key: from the first that sees it or a later one to the first that sees only later ones.
#[tiki::kernel(threads = 128, grid = [seeing.dim(1).div_ceil(128)])]
pub fn attention_plan_keys(seen: &Global<u32, 2>, seeing: &mut Global<u32, 2>) {
    require!(seen.dim(0) == 2 && seeing.dim(0) == 2);
    let key = block_idx().x * 128 + thread_idx();
    let from = reach(seen, 1, key as u32);
    let to = reach(seen, 0, key as u32);
    if key < seeing.dim(1) {
        seeing.set([0, key], from);
        seeing.set([1, key], to);
    }
}

/// The first query whose bound on this side is greater; as many as there are if none.
#[tiki::device]
pub fn reach(seen: &Global<u32, 2>, side: usize, bound: u32) -> u32 {
    let (mut low, mut high) = (0_u32, seen.dim(1) as u32);
    while low < high {
        let middle = (low + high) / 2;
        if seen.get([side, middle as usize]) > bound {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The keys that `rows` queries from a query on see.
#[tiki::device]
pub fn tile_sees(seen: &Global<u32, 2>, row: i32, rows: usize) -> (i32, i32) {
    let last = (row as usize + rows).min(seen.dim(1)) - 1;
    let from = seen.get([0, row as usize]) as i32;
    (from, seen.get([1, last]) as i32)
}

/// Whether each of `rows` queries is there and sees each of `columns` keys.
#[tiki::device]
pub fn sees_all(seen: &Global<u32, 2>, at: Place, rows: usize, columns: usize) -> bool {
    let row = at.row as usize;
    let from = seen.get([0, row + rows - 1]) as i32;
    let to = seen.get([1, row]) as i32;
    row + rows <= seen.dim(1) && from <= at.key && at.key + columns as i32 <= to
}

/// Minus infinity where a query, a row of the tile, does not see a key.
#[tiki::device]
pub fn limit_rows<const ROWS: usize, const COLUMNS: usize>(
    seen: &Global<u32, 2>,
    score: Register<f32>,
    at: Place,
) -> Register<f32> {
    let mut score = score;
    if !sees_all(seen, at, ROWS, COLUMNS) {
        let tile = [at.row as usize / ROWS];
        let like = score.row_vector(0.0);
        let from = seen.at([0]).tile([ROWS], tile).load_like(&like);
        let to = seen.at([1]).tile([ROWS], tile).load_like(&like);
        // `from <= key < to` in one comparison: what is before wraps to a large distance.
        let count = to.zip(&from, |to, from| to - from);
        let key = score.map_at(|_, [_, c]| at.key as u32 + c as u32);
        let past = key.rows(&from, |key, from| key - from);
        let kept = past.rows(&count, |past, count| past < count);
        score = score.zip(&kept, |x, kept| if kept { x } else { f32::NEG_INFINITY });
    }
    score
}

/// The place with queries and keys exchanged: of `seeing` as of `seen`.
#[tiki::device]
pub fn turned(at: Place) -> Place {
    Place {
        batch: at.batch,
        head: at.head,
        row: at.key,
        key: at.row,
    }
}

/// Forward, on Hopper.
#[tiki::kernel(target = "sm_90a", warpgroups = 3, shared = "227 KiB", grid = persistent, build(
    (E = [f16, bf16], D = 64, OS = 1),
    (E = [f16, bf16], D = 128, OS = 2),
))]
pub fn attention_packed_hopper<E: Half, const D: usize, const OS: usize>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    seen: &Global<u32, 2>,
    out: &mut Global<E, 4>,
    lse: &mut Global<f32, 3>,
    scale_log2: f32,
) {
    require!(q.dim(3) == D && k.dim(3) == D && v.shape() == k.shape() && out.shape() == q.shape());
    require!(lse.dim(0) == q.dim(0) && lse.dim(1) == q.dim(1) && lse.dim(2) == q.dim(2));
    require!(k.dim(0) == q.dim(0) && k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0 && k.dim(2) >= 1);
    require!(seen.dim(0) == 2 && seen.dim(1) == q.dim(2));
    let spans = |row: i32| tile_sees(seen, row, 128);
    let scored = |x: Register<f32>, at: Place, _outer: bool| limit_rows::<64, 128>(seen, x, at);
    attend::<E, D, 128, 2, 2, OS>(q, k, v, out, lse, scale_log2, spans, scored);
}

/// Forward, from Ampere on.
#[tiki::kernel(target = "sm_80", warps = 4, grid = [q.dim(2).div_ceil(64), q.dim(1), q.dim(0)], build(
    (E = [f16, bf16], D = [64, 128]),
))]
pub fn attention_packed_ampere<E: Half, const D: usize>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    seen: &Global<u32, 2>,
    out: &mut Global<E, 4>,
    lse: &mut Global<f32, 3>,
    scale_log2: f32,
) {
    require!(q.dim(3) == D && k.dim(3) == D && v.shape() == k.shape() && out.shape() == q.shape());
    require!(lse.dim(0) == q.dim(0) && lse.dim(1) == q.dim(1) && lse.dim(2) == q.dim(2));
    require!(k.dim(0) == q.dim(0) && k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0 && k.dim(2) >= 1);
    require!(seen.dim(0) == 2 && seen.dim(1) == q.dim(2));
    let spans = |row: i32| tile_sees(seen, row, 64);
    let scored = |x: Register<f32>, at: Place, _outer: bool| limit_rows::<64, 64>(seen, x, at);
    attend_ampere::<E, D, 64>(q, k, v, out, lse, scale_log2, spans, scored);
}

/// Backward, on Hopper.
#[tiki::kernel(target = "sm_90a", warpgroups = 3, shared = "227 KiB",
    grid = [k.dim(1) * k.dim(0) * k.dim(2).div_ceil(128)], build(
    (E = [f16, bf16], D = 64, BM = 128, ORDERED = [0, 1]),
    (E = [f16, bf16], D = 128, BM = 64, ORDERED = [0, 1]),
))]
pub fn attention_backward_packed_hopper<
    E: Half,
    const D: usize,
    const BM: usize,
    const ORDERED: usize,
>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    seen: &Global<u32, 2>,
    seeing: &Global<u32, 2>,
    d_out: &Global<E, 4>,
    top: &Global<f32, 3>,
    delta: &Global<f32, 3>,
    sums: &mut Global<f32, 4>,
    turns: &mut Global<u32, 3>,
    dk: &mut Global<E, 4>,
    dv: &mut Global<E, 4>,
    scale: f32,
    scale_log2: f32,
) {
    require!(
        q.dim(3) == D && k.dim(3) == D && v.shape() == k.shape() && d_out.shape() == q.shape()
    );
    require!(dk.shape() == k.shape() && dv.shape() == k.shape() && delta.shape() == top.shape());
    require!(top.dim(0) == q.dim(0) && top.dim(1) == q.dim(1) && top.dim(2) >= q.dim(2));
    require!(sums.dim(0) == q.dim(0) && sums.dim(1) == q.dim(1) && sums.dim(3) == 128);
    require!(k.dim(0) == q.dim(0) && k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0 && q.dim(2) >= 1);
    require!(seen.dim(0) == 2 && seen.dim(1) == q.dim(2));
    require!(seeing.dim(0) == 2 && seeing.dim(1) == k.dim(2));
    attend_backward::<E, D, BM, ORDERED>(
        q,
        k,
        v,
        d_out,
        top,
        delta,
        sums,
        turns,
        dk,
        dv,
        scale,
        scale_log2,
        |key| tile_sees(seeing, key, 128).0,
        |key| tile_sees(seeing, key, 128).1,
        |x, at| limit_rows::<64, BM>(seeing, x, turned(at)),
        |score, _| score.map(|x| x),
        |ds, _, _, _| ds,
    );
}

/// Backward, from Ampere on.
#[tiki::kernel(target = "sm_80", warps = 8, grid = [k.dim(2).div_ceil(64), k.dim(1), k.dim(0)], build(
    (E = [f16, bf16], D = [64, 128]),
))]
pub fn attention_backward_packed_ampere<E: Half, const D: usize>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    seen: &Global<u32, 2>,
    seeing: &Global<u32, 2>,
    d_out: &Global<E, 4>,
    top: &Global<f32, 3>,
    delta: &Global<f32, 3>,
    sums: &mut Global<f32, 4>,
    turns: &mut Global<u32, 3>,
    dk: &mut Global<E, 4>,
    dv: &mut Global<E, 4>,
    scale: f32,
    scale_log2: f32,
) {
    require!(
        q.dim(3) == D && k.dim(3) == D && v.shape() == k.shape() && d_out.shape() == q.shape()
    );
    require!(dk.shape() == k.shape() && dv.shape() == k.shape() && delta.shape() == top.shape());
    require!(top.dim(0) == q.dim(0) && top.dim(1) == q.dim(1) && top.dim(2) >= q.dim(2));
    require!(sums.shape() == q.shape() && k.dim(0) == q.dim(0) && q.dim(2) >= 1);
    require!(k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0);
    require!(seen.dim(0) == 2 && seen.dim(1) == q.dim(2));
    require!(seeing.dim(0) == 2 && seeing.dim(1) == k.dim(2));
    attend_backward_ampere::<E, D, 64>(
        q,
        k,
        v,
        d_out,
        top,
        delta,
        sums,
        turns,
        dk,
        dv,
        scale,
        scale_log2,
        |key| tile_sees(seeing, key, 64).0,
        |key| tile_sees(seeing, key, 64).1,
        |row| seen.get([0, row as usize]) as i32,
        |x, at| limit_rows::<64, 64>(seen, x, at),
        |score, _| score.map(|x| x),
        |ds, _, _, _| ds,
    );
}
