//! Attention of one query a head to a long cache of keys and values: the step of a decoder.
//!
//! It reads every key and value once and computes next to nothing, so it is written for the memory: the keys
//! are split over blocks, and within a block every row of a tile is a stream of its own, with its own
//! running maximum, so that the loop has no reduction but the dot product's. The next tile is on its way while one is
//! computed. Streams meet at the block's end, blocks in [`attention_combine`].
//!
//! A cache is `[batch, key heads, length, D]`, or pages of 64 keys `[pages, key heads, 64, D]` with a table
//! `[batch, pages of a sequence]`. Keys of a page that is not there count as none. Each sequence has its own length. Logarithms are binary.

use tiki::prelude::*;

/// One part of the keys: its output, normalised, and its log-sum-exp.
#[tiki::kernel(threads = 128, grid = [lse.dim(2), q.dim(1), q.dim(0)], build(
    (E = f16, D = 64, PAGED = 0),
    (E = bf16, D = 64, PAGED = 0),
    (E = f16, D = 128, PAGED = 0),
    (E = bf16, D = 128, PAGED = 0),
    (E = f16, D = 64, PAGED = 1),
    (E = bf16, D = 64, PAGED = 1),
    (E = f16, D = 128, PAGED = 1),
    (E = bf16, D = 128, PAGED = 1),
))]
pub fn attention_decode<E: Half, const D: usize, const PAGED: usize>(
    q: &Global<E, 3>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    table: &Global<u32, 2>,
    lengths: &Global<u32, 1>,
    parts: &mut Global<f32, 4>,
    lse: &mut Global<f32, 3>,
    scale_log2: f32,
) {
    require!(q.dim(2) == D && k.dim(3) == D && v.shape() == k.shape() && parts.dim(3) == D);
    require!(lengths.dim(0) == q.dim(0) && lse.dim(0) == q.dim(0) && lse.dim(1) == q.dim(1));
    require!(parts.dim(0) == q.dim(0) && parts.dim(1) == q.dim(1) && parts.dim(2) == lse.dim(2));
    require!(k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0 && table.dim(0) == q.dim(0));
    // Keys of a tile; a page has one or two.
    let rows = 4096 / D;
    let (part, head, batch) = (block_idx().x, block_idx().y, block_idx().z);
    let kv_head = head / (q.dim(1) / k.dim(1));
    // A length past the cache's end counts no keys that are not there.
    let room = if PAGED == 1 {
        table.dim(1) * 64
    } else {
        k.dim(2)
    };
    let keys = (lengths.get([batch]) as usize).min(room);
    // Tiles of this part: as many as any other part has, or fewer.
    let each = keys.div_ceil(rows).div_ceil(lse.dim(2));
    let first = part * each;
    let last = ((part + 1) * each).min(keys.div_ceil(rows));
    let map = ThreadMap::rows(128, D / 8).vector_up_to(8);
    let page = |j: usize| {
        if PAGED == 1 {
            let each = 64 / rows;
            (table.get([batch, j / each]) as usize, j % each)
        } else {
            (batch, j)
        }
    };
    let tile = |t: &Global<E, 4>, at: (usize, usize)| {
        t.at([at.0, kv_head]).tile([rows, D], [at.1, 0]).load(map)
    };
    let place = page(first);
    let (mut next_key, mut next_value) = (tile(k, place), tile(v, place));
    // Of the tile that is on its way: where its keys end.
    let there = |outer: usize| PAGED == 0 || outer < k.dim(0);
    let mut next_end = if there(place.0) { keys } else { 0 };
    let like = next_key.cast::<f32>().map(|_| 0.0);
    let mut acc = like.map(|x| x);
    let own = q
        .at([batch, head])
        .tile([D], [0])
        .load_like(&like.col_vector(0.0))
        .cast::<f32>();
    let mut peak = like.row_vector(f32::NEG_INFINITY);
    let mut total = like.row_vector(0.0);
    for j in first..last {
        let (key, value) = (next_key.cast::<f32>(), next_value.cast::<f32>());
        let end = next_end;
        let place = page((j + 1).min(last - 1));
        next_key = tile(k, place);
        next_value = tile(v, place);
        next_end = if there(place.0) { keys } else { 0 };
        let score = key
            .cols(&own, |a, b| a * b)
            .row_sum()
            .map(|x| x * scale_log2);
        let score = score.mask(|[c]| j * rows + c < end, f32::NEG_INFINITY);
        let value = value.mask(|[c, _]| j * rows + c < end, 0.0);
        let top = peak.zip(&score, f32::max);
        let safe = top.map(|p| if p == f32::NEG_INFINITY { 0.0 } else { p });
        let fade = peak.zip(&safe, |old, new| exp2_fast(old - new));
        let prob = score.zip(&safe, |x, p| exp2_fast(x - p));
        total = &(&total * &fade) + &prob;
        acc = &acc.rows(&fade, |a, f| a * f) + &value.rows(&prob, |v, p| v * p);
        peak = top;
    }
    let top = peak.max();
    let safe = if top == f32::NEG_INFINITY { 0.0 } else { top };
    let weight = peak.map(|p| exp2_fast(p - safe));
    let sum = (&total * &weight).sum();
    let inverse = if sum == 0.0 { 0.0 } else { recip(sum) };
    let out = acc
        .rows(&weight, |a, w| a * w)
        .col_sum()
        .map(|x| x * inverse);
    parts
        .at_mut([batch, head, part])
        .tile_mut([D], [0])
        .store(&out);
    if thread_idx() == 0 {
        lse.set(
            [batch, head, part],
            if sum == 0.0 {
                f32::NEG_INFINITY
            } else {
                safe + log2(sum)
            },
        );
    }
}

/// The parts together.
#[tiki::kernel(threads = D, grid = [out.dim(1), out.dim(0)], build(
    (E = f16, D = 64),
    (E = bf16, D = 64),
    (E = f16, D = 128),
    (E = bf16, D = 128),
))]
pub fn attention_combine<E: Half, const D: usize>(
    parts: &Global<f32, 4>,
    lse: &Global<f32, 3>,
    out: &mut Global<E, 3>,
    whole: &mut Global<f32, 2>,
) {
    require!(out.dim(2) == D && parts.dim(3) == D && parts.dim(2) == lse.dim(2));
    require!(parts.dim(0) == out.dim(0) && parts.dim(1) == out.dim(1));
    require!(lse.dim(0) == out.dim(0) && lse.dim(1) == out.dim(1));
    require!(whole.dim(0) == out.dim(0) && whole.dim(1) == out.dim(1));
    let (head, batch, column) = (block_idx().x, block_idx().y, thread_idx());
    let count = lse.dim(2);
    let mut top = f32::NEG_INFINITY;
    for i in 0..count {
        top = max(top, lse.get([batch, head, i]));
    }
    let safe = if top == f32::NEG_INFINITY { 0.0 } else { top };
    let (mut sum, mut acc) = (0.0_f32, 0.0_f32);
    for i in 0..count {
        let weight = exp2_fast(lse.get([batch, head, i]) - safe);
        sum += weight;
        acc = fma(weight, parts.get([batch, head, i, column]), acc);
    }
    let inverse = if sum == 0.0 { 0.0 } else { recip(sum) };
    out.set([batch, head, column], (acc * inverse).cast::<E>());
    if column == 0 {
        whole.set(
            [batch, head],
            if sum == 0.0 {
                f32::NEG_INFINITY
            } else {
                safe + log2(sum)
            },
        );
    }
}
