//! Random small layouts, and the loop that runs a law over 2,000 of them.
//!
//! A case is one seed of arbtest: a failure prints the seed, and the assertion prints the layouts.
#![allow(dead_code)]

use arbtest::arbitrary::{Result, Unstructured};
use tiki_layout::{Coord, Layout, Swizzle, Tiler, Tuple};

/// How many cases of each law.
pub const CASES: usize = 2_000;

/// Runs `law` until it has gone through [`CASES`] times; cases that ran out of random bytes do not count.
pub fn holds(law: impl Fn(&mut Unstructured<'_>) -> Result<()>) {
    let (mut ran, mut seed) = (0, 0_u32);
    while ran < CASES {
        seed += 1;
        assert!(
            seed < 20 * CASES as u32,
            "the law ran {ran} times only: its cases are too rare"
        );
        let done = std::cell::Cell::new(false);
        // arbtest reads the low half of a seed as the number of random bytes.
        let random = u64::from(seed.wrapping_mul(0x9e37_79b9) | 1);
        arbtest::arbtest(|u| {
            law(u)?;
            done.set(true);
            Ok(())
        })
        .seed((random << 32) | 512)
        .run();
        ran += usize::from(done.get());
    }
}

/// An extent: small, 1 now and then, 0 rarely.
fn extent(u: &mut Unstructured<'_>, empty: bool) -> Result<i64> {
    if empty && u.ratio(1, 40)? {
        return Ok(0);
    }
    u.choose(&[1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 8, 12]).copied()
}

fn tree(u: &mut Unstructured<'_>, depth: u32, empty: bool, room: &mut i64) -> Result<Tuple> {
    if depth == 0 || u.ratio(3, 5)? {
        let extent = extent(u, empty)?;
        let extent = if extent > *room { 1 } else { extent };
        *room /= extent.max(1);
        return Ok(Tuple::Int(extent));
    }
    let rank = u.int_in_range(1..=3)?;
    (0..rank).map(|_| tree(u, depth - 1, empty, room)).collect()
}

/// A shape of at most `size` elements; its top level may be a single integer.
pub fn shape(u: &mut Unstructured<'_>, size: i64) -> Result<Tuple> {
    let mut room = size;
    if u.ratio(1, 4)? {
        return tree(u, 0, true, &mut room);
    }
    let rank = u.int_in_range(1..=3)?;
    (0..rank).map(|_| tree(u, 2, true, &mut room)).collect()
}

/// A shape without empty modes.
pub fn full_shape(u: &mut Unstructured<'_>, size: i64) -> Result<Tuple> {
    Ok(shape(u, size)?.map(&mut |extent| extent.max(1)))
}

/// Any strides at all: broadcast, backward, overlapping.
pub fn wild(u: &mut Unstructured<'_>, size: i64) -> Result<Layout> {
    let shape = shape(u, size)?;
    let mut strides = Vec::new();
    for _ in 0..shape.leaf_count() {
        strides.push(*u.choose(&[0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, -1, -2, -4])?);
    }
    Ok(with_strides(shape, strides))
}

/// Compact in a random order of the leaves, now and then with gaps or a broadcast mode.
pub fn tame(u: &mut Unstructured<'_>, size: i64) -> Result<Layout> {
    let shape = shape(u, size)?;
    let extents = shape.leaves();
    let mut order: Vec<usize> = (0..extents.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, u.int_in_range(0..=i)?);
    }
    let gaps = u.ratio(1, 3)?;
    let mut step = 1;
    let mut strides = vec![0; extents.len()];
    for leaf in order {
        if gaps && u.ratio(1, 3)? {
            step *= *u.choose(&[2, 3, 4])?;
        }
        if gaps && u.ratio(1, 8)? {
            continue;
        }
        strides[leaf] = step;
        step *= extents[leaf].max(1);
    }
    Ok(with_strides(shape, strides))
}

/// Either kind.
pub fn layout(u: &mut Unstructured<'_>, size: i64) -> Result<Layout> {
    if u.arbitrary()? {
        tame(u, size)
    } else {
        wild(u, size)
    }
}

pub fn with_strides(shape: Tuple, strides: Vec<i64>) -> Layout {
    let stride = strides
        .into_iter()
        .collect::<Tuple>()
        .unflatten(&shape)
        .expect("as many strides as leaves");
    Layout::new(shape, stride).expect("small numbers")
}

/// A tiler for `layout`: one layout, or one per mode.
pub fn tiler(u: &mut Unstructured<'_>, layout: &Layout) -> Result<Tiler> {
    if u.ratio(1, 3)? {
        return tame(u, 16).map(Tiler::Layout);
    }
    let rank = u.int_in_range(1..=layout.rank().max(1))?;
    let entry = |u: &mut Unstructured<'_>| {
        Ok(match u.int_in_range(0..=5)? {
            0 => Tiler::Keep,
            1 => Tiler::Layout(tame(u, 8)?),
            _ => Tiler::Layout(Layout::new(*u.choose(&[1, 2, 3, 4, 5, 8])?, 1).expect("small")),
        })
    };
    (0..rank)
        .map(|_| entry(u))
        .collect::<Result<_>>()
        .map(Tiler::Modes)
}

/// A coordinate of `shape` that keeps some modes, and one place of each other mode. `None` if there is no place.
pub fn cut(u: &mut Unstructured<'_>, shape: &Tuple) -> Result<Option<Coord>> {
    if u.ratio(2, 5)? {
        return Ok(Some(Coord::All));
    }
    match shape {
        Tuple::Tuple(modes) if u.arbitrary()? => {
            let parts = modes
                .iter()
                .map(|mode| cut(u, mode))
                .collect::<Result<Option<Vec<_>>>>()?;
            Ok(parts.map(Coord::Tuple))
        }
        shape => match shape.product().expect("small") {
            0 => Ok(None),
            size => u
                .int_in_range(0..=size - 1)
                .map(|place| Some(Coord::Int(place))),
        },
    }
}

pub fn swizzle(u: &mut Unstructured<'_>) -> Result<Swizzle> {
    let bits = u.int_in_range(0..=3)?;
    let shift = u.int_in_range(bits.max(1)..=4)?;
    let sign = if u.ratio(1, 5)? { -1 } else { 1 };
    Ok(Swizzle::new(bits, u.int_in_range(0..=3)?, sign * shift).expect("a swizzle"))
}
