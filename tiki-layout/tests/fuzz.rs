//! Random operations on random layouts with hostile numbers.
//!
//! Invariant: nothing panics, hangs or wraps: every call answers a value or a typed error that can be printed, and a
//! small answer keeps the law of its operation.
//! Witness: the seed of the round, and the operation with its operands.
//!
//! `LAYOUT_FUZZ_SECONDS=600 cargo test -p tiki-layout --test fuzz` runs longer than the default of 2 seconds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use tiki_layout::atoms::{
    CopyAtom, CopyMap, Major, MmaAtom, Operand, SharedAtom, TiledCopy, TiledMma,
};
use tiki_layout::banks::{
    BankError, GlobalAccess, Optimality, Request, SharedAccess, TileAccess, choose_swizzle,
};
use tiki_layout::coord::{
    coord_to_coord, coord_to_index, coord_to_offset, index_to_coord, offset_to_coord,
};
use tiki_layout::{
    ByteSwizzle, Composed, Coord, Coordinates, Error, Layout, Order, Result, Swizzle, Tiler, Tuple,
    laws,
};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n.max(1)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Mostly small, sometimes at the edges of the range.
    fn number(&mut self) -> i64 {
        match self.below(40) {
            0 => *self.pick(&[
                i64::MAX,
                i64::MIN,
                i64::MAX - 1,
                i64::MIN + 1,
                1 << 62,
                -(1 << 62),
            ]),
            1 => *self.pick(&[
                1 << 31,
                (1 << 31) - 1,
                1 << 32,
                -(1 << 31),
                1 << 20,
                1_000_003,
            ]),
            2 | 3 => -((self.next() % 40) as i64),
            4 => 0,
            _ => *self.pick(&[1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 12, 16, 32, 33, 64, 128]),
        }
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    fn tuple(&mut self, depth: usize) -> Tuple {
        if depth == 0 || self.one_in(2) {
            return Tuple::Int(self.number());
        }
        (0..self.below(4)).map(|_| self.tuple(depth - 1)).collect()
    }

    fn coord(&mut self, depth: usize) -> Coord {
        match self.below(4) {
            0 => Coord::All,
            1 if depth > 0 => (0..self.below(4))
                .map(|_| self.coord(depth - 1))
                .collect::<Vec<_>>()
                .into(),
            _ => Coord::Int(self.number()),
        }
    }

    /// A coordinate nested like `shape`, so that it often fits.
    fn coord_of(&mut self, shape: &Tuple) -> Coord {
        match shape {
            _ if self.one_in(4) => Coord::All,
            Tuple::Int(_) => Coord::Int(self.number()),
            Tuple::Tuple(modes) => modes
                .iter()
                .map(|mode| self.coord_of(mode))
                .collect::<Vec<_>>()
                .into(),
        }
    }

    fn layout(&mut self) -> Option<Layout> {
        let shape = self.tuple(3);
        if self.one_in(3) {
            return Layout::col_major(shape).ok();
        }
        let stride = shape.map(&mut |_| self.number());
        Layout::new(shape, stride).ok()
    }

    fn tiler(&mut self, pool: &[Layout], depth: usize) -> Tiler {
        match self.below(6) {
            0 => Tiler::Keep,
            1..=3 if depth > 0 => (0..self.below(4))
                .map(|_| self.tiler(pool, depth - 1))
                .collect::<Vec<_>>()
                .into(),
            4 => Tiler::Layout(self.pick(pool).clone()),
            _ => Layout::new(self.number(), 1).map_or(Tiler::Keep, Tiler::Layout),
        }
    }

    fn order(&mut self) -> Order {
        match self.below(3) {
            0 => Order::Left,
            1 => Order::Right,
            _ => Order::By(self.tuple(2)),
        }
    }

    fn swizzle(&mut self) -> Option<Swizzle> {
        Swizzle::new(self.number(), self.number(), self.number()).ok()
    }
}

/// Small enough to visit every index.
fn small(layout: &Layout) -> bool {
    layout.size() <= 4096
}

/// A law that could not be decided (too large, past the range of numbers) is no violation.
fn kept(law: Result<()>) {
    if let Err(
        error @ (Error::NotRepresentable { .. } | Error::Unreached { .. } | Error::Mismatch { .. }),
    ) = law
    {
        panic!("law broken: {error}");
    }
}

/// One operation of a layout; what it answers is the next operand. `say` records it first.
fn of_layout(r: &mut Random, pool: &[Layout], say: &mut String) -> Result<Layout> {
    let (a, b) = (r.pick(pool).clone(), r.pick(pool).clone());
    let tiler = r.tiler(pool, 2);
    let (n, m) = (r.number(), r.number());
    let (i, j) = (r.below(5), r.below(5));
    let which = r.below(40);
    *say =
        format!("{which}: a = {a}, b = {b}, tiler = {tiler}, n = {n}, m = {m}, i = {i}, j = {j}");
    match which {
        0 => a.coalesce().inspect(|x| {
            if small(&a) {
                kept(laws::coalesce(&a, x))
            }
        }),
        1 => a.coalesce_like(&r.tuple(2)),
        2 => a.filter(),
        3 => a.filter_zeros(),
        4 => a.filter_like(&r.tuple(2)),
        5 => a.compose(&b).inspect(|x| {
            if small(&b) && !a.is_empty() {
                kept(laws::composition(&a, &b, x))
            }
        }),
        6 => a.compose_by(tiler),
        7 => a.with_shape(r.tuple(2)),
        8 => a.complement().inspect(|x| {
            if small(&a) && small(x) {
                kept(laws::complement(&a, x))
            }
        }),
        9 => a.complement_in(n).inspect(|x| {
            if small(&a) && small(x) {
                kept(laws::complement(&a, x))
            }
        }),
        10 => a.complement_in(r.tuple(2)),
        11 => a.right_inverse().inspect(|x| {
            if small(x) {
                kept(laws::right_inverse(&a, x))
            }
        }),
        12 => a.left_inverse().inspect(|x| {
            if small(&a) {
                kept(laws::left_inverse(&a, x))
            }
        }),
        13 => a.logical_divide(tiler).inspect(|x| {
            if small(&a) && small(x) {
                kept(laws::covers(&a, x))
            }
        }),
        14 => a.zipped_divide(tiler),
        15 => a.tiled_divide(tiler),
        16 => a.flat_divide(tiler),
        17 => a.logical_product(&b).inspect(|x| {
            if small(x) {
                kept(laws::product(&a, &b, x))
            }
        }),
        18 => a.zipped_product(tiler),
        19 => a.tiled_product(tiler),
        20 => a.flat_product(tiler),
        21 => a.blocked_product(&b),
        22 => a.raked_product(&b),
        23 => a.tile_to_shape(r.tuple(2), r.order()),
        24 => a.upcast(n),
        25 => a.downcast(n),
        26 => a.recast(n, m),
        27 => a.max_common_layout(&b),
        28 => a.nullspace(),
        29 => Layout::domain_distribute(a.shape(), n),
        30 => a.like(),
        31 => a.fragment_like(),
        32 => Layout::ordered(r.tuple(3), r.order()),
        33 => a.group(i, j),
        34 => a.take(i, j),
        35 => a.select(&[i, j]),
        36 => a.replace(i, &b),
        37 => a.zip(),
        38 => a.slice(r.coord_of(a.shape())).map(|cut| cut.0),
        _ => a.local_partition(&b, n, None).map(|part| part.0),
    }
}

/// Everything that does not answer a layout.
fn of_the_rest(r: &mut Random, pool: &[Layout], say: &mut String) -> Result<()> {
    let (a, b) = (r.pick(pool).clone(), r.pick(pool).clone());
    let (s, t) = (r.tuple(3), r.tuple(3));
    let (n, m) = (r.number(), r.number());
    let which = r.below(24);
    *say = format!("rest {which}: a = {a}, b = {b}, s = {s}, t = {t}, n = {n}, m = {m}");
    match which {
        0 => a.at(n).map(drop),
        1 => a.at_coord(s).map(drop),
        2 => {
            let (low, high) = a.span();
            assert!(low <= high && a.cosize() >= 0 && a.size() >= 0);
            a.is_injective().map(drop)
        }
        3 => coord_to_offset(&s, &t, &r.tuple(3)).map(drop),
        4 => coord_to_index(&s, &t).map(drop),
        5 => index_to_coord(n, &s).map(drop),
        6 => offset_to_coord(n, a.shape(), a.stride()).map(drop),
        7 => coord_to_coord(&s, &t, a.shape()).map(drop),
        8 => s.ceil_div(&t).map(drop),
        9 => s.shape_div(&t).map(drop),
        10 => s.elem_scale(&t).and(s.inner_product(&t)).map(drop),
        11 => s.compact_order(&t).and(s.prefix_product(n)).map(drop),
        12 => s.is_evenly_divided_by(&r.tiler(pool, 2)).map(drop),
        13 => a.max_common_vector(&b).and(a.max_alignment()).map(drop),
        14 => a.dice(r.coord(2)).map(drop),
        15 => {
            let all = Coordinates::identity(s)?;
            assert!(!all.to_string().is_empty());
            let part = all.local_tile(r.tiler(pool, 2), r.coord(2))?;
            part.at(n).map(drop)
        }
        16 => {
            let swizzle = r.swizzle().unwrap_or_default();
            let other = r.swizzle().unwrap_or_default();
            assert_eq!(swizzle.apply(swizzle.apply(n)), n);
            let _ = (
                swizzle.compose(&other),
                Swizzle::from_masks(n, m),
                swizzle.upcast(n),
                swizzle.downcast(n),
            );
            let _ = (
                swizzle.to_bytes(n).map(|bytes| bytes.raw()),
                ByteSwizzle::B128.to_elements(m),
            );
            swizzle.recast(n, m).map(drop)
        }
        17..=20 => {
            let c = Composed::new(
                r.swizzle().unwrap_or_default(),
                if r.one_in(2) { 0 } else { n },
                a,
            )?;
            *say += &format!(", c = {c}");
            let tiler = r.tiler(pool, 2);
            match r.below(12) {
                0 => c.slice(r.coord_of(c.shape())).map(drop),
                1 => c.decay().map(drop),
                2 => c.right_inverse().map(drop),
                3 => c.left_inverse().map(drop),
                4 => c.upcast(m).map(drop),
                5 => c.downcast(m).map(drop),
                6 => c.recast(n, m).map(drop),
                7 => c
                    .max_common_vector(&b.into())
                    .and(c.max_alignment())
                    .map(drop),
                8 => b.compose_swizzled(&c).map(drop),
                9 => b.logical_product_swizzled(&c).map(drop),
                10 => c.cosize().and(c.at(m)).map(drop),
                _ => c.zipped_divide(tiler).map(drop),
            }
        }
        21 => {
            let mma = match r.below(3) {
                0 => MmaAtom::warp(n, m, r.number(), r.number()),
                1 => MmaAtom::warpgroup(n, m, r.one_in(2)),
                _ => MmaAtom::warp(16, 8, 16, 16),
            }?;
            let tiled = TiledMma::new(mma, &a, [None, Some(b.clone()), None])?;
            let _ = (tiled.partition(Operand::A, &b), tiled.layout_tv(Operand::B));
            CopyMap::of_accumulator_part(&tiled, n).map(drop)
        }
        22 => {
            let atom = CopyAtom::load_matrices(4, r.one_in(2)).and_then(|atom| atom.of_width(n));
            let map = CopyMap::by_threads_and_values(&a, &b)?;
            TiledCopy::new(atom?, map)?.destination_tv().map(drop)
        }
        _ => {
            let _ = SharedAtom::k_major(n, m, 16).and(SharedAtom::mn_major(n, 64, m));
            SharedAtom::B64
                .layout(if r.one_in(2) { Major::K } else { Major::Mn }, n)
                .map(drop)
        }
    }
}

/// Lane addresses: mostly multiples of the width and near one another, as an access of a kernel has them.
fn lanes(r: &mut Random, width: i64) -> Vec<i64> {
    let (first, wild) = (r.below(4096) as i64 & !0xf, r.one_in(4));
    let step = r.number().wrapping_mul(width);
    let across = r.number().wrapping_mul(width);
    let count = *r.pick(&[0, 1, 8, 16, 31, 32, 32, 32, 33, 64]);
    (0..count)
        .map(|lane| match wild && r.one_in(8) {
            true => r.number(),
            false => first
                .wrapping_add(step.wrapping_mul(lane % 8))
                .wrapping_add(across.wrapping_mul(lane / 8)),
        })
        .collect()
}

/// Costs of accesses: what is counted lies between what any placement costs and one word at a time.
fn of_banks(
    r: &mut Random,
    pool: &[Layout],
    say: &mut String,
) -> std::result::Result<(), BankError> {
    let map = r.pick(pool).clone();
    let (width, element) = (
        *r.pick(&[1, 2, 4, 8, 16, 16, 0, 3, -4]),
        *r.pick(&[1, 2, 4, 8, 16, 0, i64::MAX, -2]),
    );
    let at = lanes(r, width);
    let which = r.below(5);
    *say = format!("banks {which}: map = {map}, width = {width}, element = {element}, at = {at:?}");
    let some = at.iter().map(|a| Some(*a).filter(|_| !r.one_in(16)));
    let some: Vec<Option<i64>> = some.collect();
    match which {
        0 | 1 => {
            let access = match r.below(6) {
                0 => SharedAccess::load(width, some),
                1 => SharedAccess::store(width, some),
                2 => SharedAccess::matrices(at),
                3 => SharedAccess::load_of_map(&map, element, width),
                4 => SharedAccess::store_of_map(&map, element, width),
                _ => SharedAccess::matrices_of_map(&map, element),
            }?;
            let (report, words) = (access.report(), access.words());
            let distinct: usize = words.iter().map(|phase| phase.len()).sum();
            assert!(report.ideal <= report.wavefronts && report.wavefronts <= distinct);
            assert!(report.degree <= report.wavefronts);
            assert_eq!(report.wavefronts, report.excess() + report.ideal);
            for service in access.services() {
                assert!((0..32).contains(&service.bank) && service.wavefront < report.degree);
            }
        }
        2 => {
            let access = match r.one_in(2) {
                true => GlobalAccess::new(width, some),
                false => GlobalAccess::of_map(&map, element, width),
            }?;
            let report = access.report();
            assert!(report.ideal <= report.sectors && report.lines <= report.sectors);
        }
        _ => {
            let mut all = Vec::new();
            for _ in 0..1 + r.below(3) {
                let kind = *r.pick(&[Request::Load, Request::Store, Request::Matrices]);
                let access = match r.below(4) {
                    0 if small(&map) => TileAccess::loads(&map, element, width),
                    1 if small(&map) => TileAccess::matrices(&map, element),
                    _ => TileAccess::from_addresses(lanes(r, width), width, kind),
                };
                all.push(access?.weighted(r.next() >> r.below(64)));
            }
            let best = choose_swizzle(element, &all)?;
            assert!(best.bound <= best.wavefronts && best.wavefronts <= best.unswizzled);
            if best.optimality == Optimality::BoundReached {
                assert_eq!(best.wavefronts, best.bound);
            }
        }
    }
    Ok(())
}

/// Random bytes of layout notation.
fn of_text(r: &mut Random, say: &mut String) -> Result<()> {
    let words = [
        "(",
        ")",
        ",",
        ":",
        "_",
        "-",
        "1",
        "8",
        "64",
        "<",
        ">",
        "o",
        "Sw<",
        "S",
        " ",
        "9223372036854775807",
        "[",
    ];
    let text: String = (0..r.below(24)).map(|_| *r.pick(&words)).collect();
    *say = format!("text {text}");
    let _ = (
        text.parse::<Tuple>(),
        text.parse::<Coord>(),
        text.parse::<Tiler>(),
        text.parse::<Swizzle>(),
    );
    let _ = text.parse::<Composed>();
    text.parse::<Layout>().map(drop)
}

#[test]
fn no_operation_panics() {
    let seconds = std::env::var("LAYOUT_FUZZ_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2);
    let first: u64 = std::env::var("LAYOUT_FUZZ_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut calls, mut answers, mut counts) = (0_u64, 0_u64, 0_u64);
    let mut slowest = (Duration::ZERO, String::new());
    let mut seed = first;
    while Instant::now() < end {
        let mut r = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut pool: Vec<Layout> = ["8:1", "(4,8):(8,1)", "((2,4),3):((1,6),2)"]
            .map(|t| t.parse().unwrap())
            .into();
        pool.extend((0..6).filter_map(|_| r.layout()));
        for _ in 0..200 {
            let mut say = String::new();
            let start = Instant::now();
            if r.one_in(8) {
                let counted = catch_unwind(AssertUnwindSafe(|| of_banks(&mut r, &pool, &mut say)));
                calls += 1;
                match counted {
                    Err(_) => panic!("panicked with seed {seed} at {say}"),
                    Ok(Err(error)) => assert!(!error.to_string().is_empty(), "{say}"),
                    Ok(Ok(_)) => (answers, counts) = (answers + 1, counts + 1),
                }
                continue;
            }
            let answer = catch_unwind(AssertUnwindSafe(|| match r.below(10) {
                0 => of_text(&mut r, &mut say).map(|()| None),
                1..=3 => of_the_rest(&mut r, &pool, &mut say).map(|()| None),
                _ => of_layout(&mut r, &pool, &mut say).map(Some),
            }));
            calls += 1;
            if start.elapsed() > slowest.0 {
                slowest = (start.elapsed(), say.clone());
            }
            match answer {
                Err(_) => panic!("panicked with seed {seed} at {say}"),
                Ok(Err(error)) => assert!(error.to_string().contains(error.operation()), "{say}"),
                Ok(Ok(layout)) => {
                    answers += 1;
                    if let Some(layout) = layout.filter(|x| x.shape().leaf_count() <= 24) {
                        let place = r.below(pool.len());
                        if pool.len() < 12 {
                            pool.push(layout)
                        } else {
                            pool[place] = layout
                        }
                    }
                }
            }
        }
        seed += 1;
    }
    println!(
        "{calls} calls, {answers} answers of which {counts} of banks, seeds {first}..{seed}; slowest {:?}: {}",
        slowest.0, slowest.1
    );
    assert!(
        calls > 0 && answers > calls / 10 && counts > calls / 100,
        "{answers} answers of {calls} calls: the fuzz reaches nothing"
    );
}
