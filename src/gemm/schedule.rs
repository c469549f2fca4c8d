//! The main loops of products, each written once: device functions that the library's kernels are made of, and
//! yours can be.
//!
//! A loop is a protocol: when a stage may be written, read, given back. What is copied and what is multiplied
//! is the caller's, as closures over stages and steps; so are shared memory, roles and what happens to the
//! sums. Everything is inlined: a kernel made of these is the kernel with the loop written out.
//!
//! ```text
//! multiply_ring        warps, tiles by asynchronous copies            sm_80
//! multiply_whole       warps, the same of whole tiles                 sm_80
//! multiply_copied      warps, tiles through registers, any strides    sm_80
//! fill_stages          the role that loads through the accelerator    sm_90a
//! multiply_stages      the roles that multiply what it loads          sm_90a
//! multiply_meanwhile   the same; what else there is to do is done while the first product runs
//! stage_slab           sums into shared memory, for the accelerator   sm_90a
//! stage_in_ring        the same through any number of buffers         sm_90a
//! in_groups            where a tile stands
//! ```

use crate::prelude::*;

/// `a @ b.T` over a ring of stages. `fetch` acquires a stage, starts the copies of a step, and commits;
/// it is called for steps past the last one too, and what lies outside a tensor is zero and no traffic.
#[tiki::device]
#[allow(clippy::too_many_arguments)]
pub fn multiply_ring<E: Element, Acc: Element>(
    gemm: &Gemm<E, E, Acc>,
    pipe: &Pipeline,
    stages: usize,
    steps: usize,
    fetch: impl Fn(usize),
    a_s: Stages<E>,
    b_s: Stages<E>,
    shape: [usize; 2],
) -> Register<Acc> {
    for k in 0..stages - 1 {
        fetch(k);
    }
    let mut acc = gemm.zeros(shape);
    for k in 0..steps {
        let s = pipe.wait(); // the group's wait, then the block's barrier
        fetch(k + stages - 1);
        gemm.accumulate(a_s.stage(s), b_s.stage(s), &mut acc);
    }
    acc
}

/// The same of whole tiles and at least `stages` steps, copied by `left` and `right`. The copies for a later step stand
/// between quarters of a step's product: the tensor cores do not wait for the instructions that start them. No
/// branch asks whether a step is past the last one; the last steps are a loop of their own.
#[tiki::device]
#[allow(clippy::too_many_arguments)]
pub fn multiply_whole<E: Element, Acc: Element>(
    gemm: &Gemm<E, E, Acc>,
    pipe: &Pipeline,
    stages: usize,
    steps: usize,
    left: impl Fn(usize, usize),
    right: impl Fn(usize, usize),
    a_s: Stages<E>,
    b_s: Stages<E>,
    [m, n, depth]: [usize; 3],
) -> Register<Acc> {
    for k in 0..stages - 1 {
        let s = pipe.acquire();
        left(k, s);
        right(k, s);
        pipe.commit();
    }
    let mut acc = gemm.zeros([m, n]);
    for k in stages - 1..steps {
        let s = pipe.wait();
        let (a, b) = (a_s.stage(s), b_s.stage(s));
        let (rows, columns) = ([m, depth / 4], [n, depth / 4]);
        gemm.accumulate(a.tile(rows, [0, 0]), b.tile(columns, [0, 0]), &mut acc);
        let t = pipe.acquire();
        left(k, t);
        gemm.accumulate(a.tile(rows, [0, 1]), b.tile(columns, [0, 1]), &mut acc);
        right(k, t);
        pipe.commit();
        let (rows, columns) = ([m, depth / 2], [n, depth / 2]);
        gemm.accumulate(a.tile(rows, [0, 1]), b.tile(columns, [0, 1]), &mut acc);
    }
    for _ in 0..stages - 1 {
        let s = pipe.wait();
        pipe.acquire();
        pipe.commit();
        gemm.accumulate(a_s.stage(s), b_s.stage(s), &mut acc);
    }
    acc
}

/// `a @ b.T`: tiles go through registers, so they may lie in any way; a block's barrier either side of
/// the product.
#[tiki::device]
#[allow(clippy::too_many_arguments)]
pub fn multiply_copied<E: Element, Acc: Element>(
    gemm: &Gemm<E, E, Acc>,
    steps: usize,
    map: ThreadMap,
    a_s: Shared<E>,
    b_s: Shared<E>,
    left: impl Fn(usize) -> View<E>,
    right: impl Fn(usize) -> View<E>,
    shape: [usize; 2],
) -> Register<Acc> {
    let mut acc = gemm.zeros(shape);
    for k in 0..steps {
        a_s.store(&left(k).load(map));
        b_s.store(&right(k).load(map));
        sync_block();
        gemm.accumulate(a_s, b_s, &mut acc);
        sync_block();
    }
    acc
}

/// What the loading role does for one tile: `copy(k, s)` starts the copies of step `k` into stage `s`.
#[tiki::device]
pub fn fill_stages(pipe: &Pipeline, steps: usize, copy: impl Fn(usize, usize)) {
    for k in 0..steps {
        let s = pipe.acquire();
        copy(k, s);
    }
}

/// What a multiplying role does for one tile, of at least one step: the sums, and the last stage, which is read
/// and still to be released.
#[tiki::device]
pub fn multiply_stages<E: Element, Acc: Element>(
    gemm: &Gemm<E, E, Acc>,
    pipe: &Pipeline,
    steps: usize,
    shape: [usize; 2],
    left: impl Fn(usize) -> Shared<E>,
    right: impl Fn(usize) -> Shared<E>,
) -> (Register<Acc>, usize) {
    let (sums, held, _) = multiply_meanwhile(gemm, pipe, steps, shape, &left, &right, || [0, 0]);
    (sums, held)
}

/// [`multiply_stages`]; `other` says where the tile stands, which takes two divisions: nobody waits for them while the
/// first product runs.
#[tiki::device]
pub fn multiply_meanwhile<E: Element, Acc: Element>(
    gemm: &Gemm<E, E, Acc>,
    pipe: &Pipeline,
    steps: usize,
    shape: [usize; 2],
    left: impl Fn(usize) -> Shared<E>,
    right: impl Fn(usize) -> Shared<E>,
    other: impl Fn() -> [usize; 2],
) -> (Register<Acc>, usize, [usize; 2]) {
    let mut held = pipe.wait();
    let mut acc = gemm.issue(left(held), right(held), gemm.zeros(shape));
    let at = other();
    for _ in 1..steps {
        let s = pipe.wait();
        acc = acc.issue(left(s), right(s));
        warpgroup_wait(1); // all but the newest group are done: the older stage is free
        pipe.release(held);
        held = s;
    }
    warpgroup_wait(0);
    (acc.retire(), held, at)
}

/// Tile `i` of so many rows and columns of tiles, in groups of rows: a group's tiles column by column, for the second-level
/// cache.
#[tiki::device]
pub fn in_groups(i: usize, rows: usize, columns: usize, group: usize) -> [usize; 2] {
    let g = i / (group * columns);
    let r = i % (group * columns);
    let tall = group.min(rows - g * group);
    [g * group + r % tall, r / tall]
}

/// A slab of a warpgroup's sums into one of two shared buffers, ready for the accelerator to store: [`stage_in_ring`].
#[tiki::device]
pub fn stage_slab<O: Element>(
    store: &Store,
    bar: &Barrier,
    nth: usize,
    staged: Shared<O>,
    value: impl Fn() -> Register<O>,
) {
    stage_in_ring(store, bar, 2, nth, staged, &value);
}

/// A slab of a warpgroup's sums into one of so many shared buffers, ready for the accelerator to store. The buffer is
/// free once all stores but those into the others are read; for the first slabs of a tile all that they may
/// wait for, as their buffers may be the last ones' of the tile before. `value` gives the elements.
#[tiki::device]
pub fn stage_in_ring<O: Element>(
    store: &Store,
    bar: &Barrier,
    buffers: usize,
    nth: usize,
    staged: Shared<O>,
    value: impl Fn() -> Register<O>,
) {
    if elect_one() {
        store.wait_read(nth.min(buffers - 1));
    }
    bar.sync();
    staged.store(&value());
    fence_async();
    bar.sync();
}

/// Tile `i` of a result (parts, batch, M, N) of so many rows and columns of tiles: batch, part, row, column. Parts of
/// a product lie beside each other, so that they start together.
#[tiki::device]
pub fn place(i: usize, parts: usize, rows: usize, columns: usize) -> [usize; 4] {
    let (t, n) = (i / columns, i % columns);
    let (y, m) = (t / rows, t % rows);
    [y / parts, y % parts, m, n]
}

/// The matrix that rows of tile `m`, `height` rows each, are multiplied by: `first`, or beyond it by what the table says
/// of these 128 rows. A table of no entries is all zeros; what is past the last matrix is the last.
#[tiki::device]
pub fn matrix_of(
    groups: &Global<u32, 1>,
    first: usize,
    m: usize,
    height: usize,
    matrices: usize,
) -> usize {
    let more = groups.get([m * height / 128]) as usize;
    (first + more).min(matrices - 1)
}
