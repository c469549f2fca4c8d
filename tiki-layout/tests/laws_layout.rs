//! The laws of plain layouts, each over 2,000 random cases and every index of each.
//!
//! Each test names its Invariant and the Witness that a failure would print.

mod random;

use arbtest::arbitrary::Unstructured;
use random::{full_shape, holds, layout, tame, tiler, wild};
use std::collections::HashSet;
use tiki_layout::coord::{coord_to_index, index_to_coord};
use tiki_layout::{Error, Layout, Order, Tiler, Tuple, laws};

fn offsets(layout: &Layout) -> HashSet<i64> {
    layout.offsets().collect()
}

/// Invariant: the three kinds of coordinates and the iterator agree. Witness: the index where two of them differ.
#[test]
fn coordinates_agree() {
    holds(|u| {
        let a = layout(u, 200)?;
        for (index, offset) in (0..).zip(a.offsets()) {
            let natural = index_to_coord(index, a.shape()).unwrap();
            assert_eq!(a.at(index), Ok(offset), "{a} at {index}");
            assert_eq!(a.at_coord(natural.clone()), Ok(offset), "{a} at {natural}");
            assert_eq!(
                coord_to_index(&natural, a.shape()),
                Ok(index),
                "{a} at {natural}"
            );
        }
        assert_eq!(a.offsets().count() as i64, a.size(), "{a}");
        let (low, high) = a.span();
        assert_eq!(a.cosize(), high - low, "{a}");
        assert!(
            a.offsets().all(|x| low <= x && x < high),
            "{a} leaves {low}..{high}"
        );
        Ok(())
    });
}

/// Invariant: coalescing changes no value and leaves nothing to merge. Witness: the index, or the pair left.
#[test]
fn coalesce_keeps_the_function() {
    holds(|u| {
        let a = layout(u, 200)?;
        let r = a.coalesce().unwrap();
        laws::coalesce(&a, &r).unwrap_or_else(|e| panic!("{a} -> {r}: {e}"));
        let by_mode = a
            .coalesce_like(&Tuple::Tuple(vec![Tuple::Int(1); a.rank()]))
            .unwrap();
        laws::same_function(&a, &by_mode).unwrap_or_else(|e| panic!("{a} -> {by_mode}: {e}"));
        assert_eq!(by_mode.rank(), a.rank());
        Ok(())
    });
}

/// Invariant: filtering keeps the set of offsets and counts no mode twice. Witness: the offset lost or gained.
#[test]
fn filter_keeps_the_offsets() {
    holds(|u| {
        let a = layout(u, 200)?;
        let r = a.filter().unwrap();
        assert_eq!(offsets(&r), offsets(&a), "{a} -> {r}");
        assert!(
            r.is_empty() || r.leaves().iter().all(|(s, d)| *d != 0 || *s == 1),
            "{a} -> {r}"
        );
        assert_eq!(offsets(&a.filter_zeros().unwrap()), offsets(&a), "{a}");
        assert!(a.filter_zeros().unwrap().shape().is_congruent(a.shape()));
        Ok(())
    });
}

/// Invariant: moving modes about keeps every value at its moved coordinate. Witness: the two layouts.
#[test]
fn structure_moves_modes_only() {
    holds(|u| {
        let a = layout(u, 100)?;
        let same =
            |r: &Layout| laws::same_function(&a, r).unwrap_or_else(|e| panic!("{a} -> {r}: {e}"));
        same(&a.flatten().unwrap());
        same(&a.flatten().unwrap().unflatten(a.shape()).unwrap());
        let (begin, end) = (u.int_in_range(0..=a.rank())?, u.int_in_range(0..=a.rank())?);
        match a.group(begin, end) {
            Ok(r) => same(&r),
            Err(e) => assert!(begin > end, "{a} group {begin}..{end}: {e}"),
        }
        same(&a.append_to_rank(a.rank() + 2).unwrap());
        let b = layout(u, 6)?;
        let both = a.append(&b).unwrap();
        assert_eq!(both.mode(a.rank()).unwrap(), b);
        assert_eq!(a.prepend(&b).unwrap().mode(0).unwrap(), b);
        assert_eq!(
            both.take(a.rank(), a.rank() + 1).unwrap().mode(0).unwrap(),
            b
        );
        let all: Vec<usize> = (0..a.rank()).collect();
        same(&a.select(&all).unwrap());
        assert_eq!(
            a.transpose().unwrap().transpose().unwrap(),
            a.select(&all).unwrap()
        );
        if a.rank() > 0 {
            let place = u.int_in_range(0..=a.rank() - 1)?;
            let r = a.replace(place, &b).unwrap();
            assert!(r.modes().enumerate().all(|(i, mode)| mode
                == if i == place {
                    b.clone()
                } else {
                    a.mode(i).unwrap()
                }));
        }
        assert!(matches!(a.mode(a.rank()), Err(Error::Mode { .. })));
        Ok(())
    });
}

/// Invariant: zipping twice gives the layout back. Witness: both.
#[test]
fn zip_is_an_involution() {
    holds(|u| {
        let (outer, inner) = (u.int_in_range(1..=3)?, u.int_in_range(1..=3)?);
        let mode = |u: &mut Unstructured<'_>| {
            let parts = (0..inner)
                .map(|_| layout(u, 3))
                .collect::<arbtest::arbitrary::Result<Vec<_>>>()?;
            Ok(Layout::concat(&parts).unwrap())
        };
        let modes = (0..outer)
            .map(|_| mode(u))
            .collect::<arbtest::arbitrary::Result<Vec<_>>>()?;
        let a = Layout::concat(&modes).unwrap();
        let zipped = a.zip().unwrap();
        assert_eq!(zipped.rank(), inner, "{a} -> {zipped}");
        assert_eq!(zipped.zip().unwrap(), a);
        assert_eq!(
            zipped.mode(0).unwrap().mode(0).unwrap(),
            a.mode(0).unwrap().mode(0).unwrap()
        );
        Ok(())
    });
}

/// Invariant: a slice with its offset gives what the layout gives at the kept coordinates; slice and dice share out the
/// modes. Witness: the coordinate.
#[test]
fn slice_is_exact() {
    holds(|u| {
        let a = layout(u, 100)?;
        let Some(cut) = random::cut(u, a.shape())? else {
            return Ok(());
        };
        let (r, start) = a.slice(cut.clone()).unwrap();
        let mut want: Vec<i64> = Vec::new();
        for index in 0..a.size() {
            let natural = index_to_coord(index, a.shape()).unwrap();
            if on_the_cut(&cut, &natural, a.shape()) {
                want.push(a.at(index).unwrap() - start);
            }
        }
        let got: Vec<i64> = r.offsets().collect();
        assert_eq!(got, want, "{a} at {cut}: {r} from {start}");
        assert_eq!(
            a.dice(cut.clone()).unwrap().size().max(1) * r.size(),
            a.size().max(r.size()),
            "{a} at {cut}"
        );
        Ok(())
    });
}

fn on_the_cut(cut: &tiki_layout::Coord, natural: &Tuple, shape: &Tuple) -> bool {
    match cut {
        tiki_layout::Coord::All => true,
        tiki_layout::Coord::Int(place) => coord_to_index(natural, shape) == Ok(*place),
        tiki_layout::Coord::Tuple(parts) => parts
            .iter()
            .zip(natural.modes().iter().zip(shape.modes()))
            .all(|(c, (n, s))| on_the_cut(c, n, s)),
    }
}

/// Every layout whose shape refines `extent` with the values `f`, looked for the slow way: all factorisations.
fn some_layout_has(extent: i64, f: &dyn Fn(i64) -> i64, unit: i64) -> bool {
    if unit == extent {
        return true;
    }
    let left = extent / unit;
    (2..=left).filter(|take| left % take == 0).any(|take| {
        // Digit of `take` values of step `f(unit)`, added to whatever is below.
        let linear = (0..take * unit).all(|i| f(i) == f(i % unit) + (i / unit) * f(unit));
        linear && some_layout_has(extent, f, unit * take)
    })
}

/// Invariant: an answer is exact, and a refusal is right: no layout has the values. Witness: the index of the wrong
/// value, or the factorisation that was missed.
#[test]
fn composition_is_exact_and_complete() {
    holds(|u| {
        let (a, b) = (layout(u, 60)?, layout(u, 60)?);
        match a.compose(&b) {
            Ok(r) => {
                laws::composition(&a, &b, &r).unwrap_or_else(|e| panic!("{a} o {b} = {r}: {e}"))
            }
            Err(Error::NotRepresentable { got, want, .. }) => {
                assert_ne!(got, want);
                let of = |x: i64| a.at(x).unwrap();
                let leaves = b.leaves();
                let apart = (0..).zip(b.offsets()).all(|(index, offset)| {
                    let digits = index_to_coord(index, &leaves.iter().map(|leaf| leaf.0).collect())
                        .unwrap()
                        .leaves();
                    of(offset)
                        == digits
                            .iter()
                            .zip(&leaves)
                            .map(|(c, (_, d))| of(c * d))
                            .sum::<i64>()
                });
                let each = leaves
                    .iter()
                    .all(|(s, d)| some_layout_has(*s, &|i| of(i * d), 1));
                assert!(
                    !(apart && each),
                    "{a} o {b} was refused, but a layout has its values"
                );
            }
            Err(Error::Empty { .. }) => assert!(a.is_empty() && !b.is_empty(), "{a} o {b}"),
            Err(e) => panic!("{a} o {b}: {e}"),
        }
        Ok(())
    });
}

/// Invariant: a tame layout read through a part of its compact domain is never refused. Witness: the refusal.
#[test]
fn reshapes_are_not_refused() {
    holds(|u| {
        let a = tame(u, 100)?;
        let r = a.with_shape(a.shape().flatten()).unwrap();
        laws::same_function(&a, &r).unwrap_or_else(|e| panic!("{a} -> {r}: {e}"));
        let identity = Layout::new(a.size(), 1).unwrap();
        laws::same_function(&a, &a.compose(&identity).unwrap()).unwrap();
        Ok(())
    });
}

/// Invariant: composition by mode is composition of each mode, and has the tiler's rank. Witness: the mode.
#[test]
fn composition_by_mode() {
    holds(|u| {
        let a = layout(u, 60)?;
        let Tiler::Modes(tilers) = tiler(u, &a)? else {
            return Ok(());
        };
        let Ok(r) = a.compose_by(Tiler::Modes(tilers.clone())) else {
            return Ok(());
        };
        assert_eq!(r.rank(), tilers.len());
        for ((mode, tiler), got) in a.modes().zip(&tilers).zip(r.modes()) {
            match tiler {
                Tiler::Layout(b) => laws::composition(&mode, b, &got)
                    .unwrap_or_else(|e| panic!("{mode} o {b}: {e}")),
                _ => assert_eq!(got, mode),
            }
        }
        Ok(())
    });
}

/// Invariant: the complement increases, avoids the layout, and reaches the bound; a refusal names a real overlap,
/// a backward or an empty mode. Witness: the offset.
#[test]
fn complement_fills_the_gaps() {
    holds(|u| {
        let a = layout(u, 40)?;
        let bound = u.int_in_range(0..=100)?;
        match a.complement_in(bound) {
            Ok(r) => laws::complement_in(&a, bound, &r)
                .unwrap_or_else(|e| panic!("{a} up to {bound}: {r}: {e}")),
            Err(Error::Overlap {
                extent,
                stride,
                below,
                ..
            }) => {
                assert!(
                    stride < below && a.leaves().iter().any(|(_, d)| *d == stride),
                    "{a}: {extent}:{stride} {below}"
                );
            }
            Err(Error::NegativeStride { stride, .. }) => {
                assert!(a.leaves().iter().any(|(_, d)| *d == stride), "{a}")
            }
            Err(Error::Empty { .. }) => assert!(a.is_empty(), "{a}"),
            Err(e) => panic!("{a} up to {bound}: {e}"),
        }
        Ok(())
    });
}

/// Invariant: tame layouts have a complement, and with it they cover `0..n` once if nothing is left over.
/// Witness: the offset missing.
#[test]
fn complement_completes_a_tile() {
    holds(|u| {
        let a = tame(u, 24)?;
        if a.is_empty() {
            return Ok(());
        }
        let a = a.filter().unwrap();
        let r = a.complement_in(a.cosize()).unwrap();
        let both = Layout::concat([&a, &r]).unwrap();
        if both.size() == both.cosize() {
            let mut all: Vec<i64> = both.offsets().collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..both.size()), "{a} with {r}");
        }
        Ok(())
    });
}

/// Invariant: `a(R(k)) = k` and `a(R(a(i))) = a(i)`. Witness: k, or i.
#[test]
fn inverses_invert() {
    holds(|u| {
        let a = layout(u, 80)?;
        let r = a.right_inverse().unwrap();
        laws::right_inverse(&a, &r).unwrap_or_else(|e| panic!("{a}: {r}: {e}"));
        match a.left_inverse() {
            Ok(r) => laws::left_inverse(&a, &r).unwrap_or_else(|e| panic!("{a}: {r}: {e}")),
            Err(
                Error::Overlap { .. } | Error::Divisibility { .. } | Error::NegativeStride { .. },
            ) => {}
            Err(e) => panic!("{a}: {e}"),
        }
        let compact = Layout::ordered(full_shape(u, 60)?, Order::Left).unwrap();
        assert_eq!(compact.right_inverse().unwrap().size(), compact.size());
        Ok(())
    });
}

/// Invariant: every division visits all of the layout, the four forms in different order; the tile is the layout read
/// at the tile. Witness: the offset never visited.
#[test]
fn divisions_cover() {
    holds(|u| {
        let a = layout(u, 60)?;
        let tiler = tiler(u, &a)?;
        let Ok(logical) = a.logical_divide(&tiler) else {
            return Ok(());
        };
        laws::covers(&a, &logical).unwrap_or_else(|e| panic!("{a} / {tiler} = {logical}: {e}"));
        let zipped = a.zipped_divide(&tiler).unwrap();
        assert_eq!(zipped.rank(), 2);
        let mut want: Vec<i64> = logical.offsets().collect();
        want.sort_unstable();
        for r in [
            &zipped,
            &a.tiled_divide(&tiler).unwrap(),
            &a.flat_divide(&tiler).unwrap(),
        ] {
            let mut got: Vec<i64> = r.offsets().collect();
            got.sort_unstable();
            assert_eq!(got, want, "{a} / {tiler} = {r}");
        }
        if let Tiler::Layout(tile) = &tiler
            && !a.is_empty()
        {
            laws::composition(&a, tile, &zipped.mode(0).unwrap())
                .unwrap_or_else(|e| panic!("{a} / {tiler}: {e}"));
        }
        Ok(())
    });
}

/// Invariant: a tile of consecutive elements that divides each mode is never refused. Witness: the refusal.
#[test]
fn dividing_tiles_are_not_refused() {
    holds(|u| {
        let a = wild(u, 100)?;
        let extents = a.shape().product_each().unwrap().leaves();
        let mut tiles = Vec::new();
        for (mode, extent) in a.modes().zip(&extents) {
            let single = mode.coalesce().unwrap().depth() == 0;
            let tile = (1..=*extent)
                .rev()
                .find(|n| extent % n == 0 && (single || *n == 1))
                .unwrap_or(1);
            tiles.push(tile);
        }
        let tiler = Tiler::by_extents(&tiles.into_iter().collect()).unwrap();
        let r = a
            .zipped_divide(&tiler)
            .unwrap_or_else(|e| panic!("{a} / {tiler}: {e}"));
        assert_eq!(r.size(), a.size());
        Ok(())
    });
}

/// Invariant: the block is mode 0 and no two copies touch. Witness: the layouts.
#[test]
fn products_repeat() {
    holds(|u| {
        let (a, t) = (layout(u, 16)?, layout(u, 12)?);
        let Ok(r) = a.logical_product(&t) else {
            return Ok(());
        };
        laws::product(&a, &t, &r).unwrap_or_else(|e| panic!("{a} x {t} = {r}: {e}"));
        let mut want: Vec<i64> = r.offsets().collect();
        want.sort_unstable();
        for r in [
            a.zipped_product(&t).unwrap(),
            a.tiled_product(&t).unwrap(),
            a.flat_product(&t).unwrap(),
        ] {
            let mut got: Vec<i64> = r.offsets().collect();
            got.sort_unstable();
            assert_eq!(got, want, "{a} x {t} = {r}");
        }
        Ok(())
    });
}

/// Invariant: blocked and raked products have the same elements, and mode `i` is as large as both operands' modes
/// together. Witness: the mode.
#[test]
fn blocked_and_raked_products_interleave() {
    holds(|u| {
        let (a, t) = (tame(u, 16)?, tame(u, 12)?);
        let (Ok(blocked), Ok(raked)) = (a.blocked_product(&t), a.raked_product(&t)) else {
            return Ok(());
        };
        let rank = a.rank().max(t.rank());
        assert_eq!(
            (blocked.rank(), raked.rank()),
            (rank, rank),
            "{a} x {t} = {blocked}"
        );
        let size = |l: &Layout, i: usize| l.append_to_rank(rank).unwrap().mode(i).unwrap().size();
        for i in 0..rank {
            assert_eq!(
                size(&blocked, i),
                size(&a, i) * size(&t, i),
                "{a} x {t} = {blocked}, mode {i}"
            );
        }
        assert_eq!(offsets(&blocked), offsets(&raked), "{a} x {t}");
        Ok(())
    });
}

/// Invariant: a compact block tiled to a shape it divides fills it once, and any coordinate of the shape is one of the
/// result. Witness: the offset.
#[test]
fn tile_to_shape_fills() {
    holds(|u| {
        let block = Layout::ordered(
            full_shape(u, 24)?,
            if u.arbitrary()? {
                Order::Left
            } else {
                Order::Right
            },
        )
        .unwrap();
        let mut target = Vec::new();
        for extent in block.shape().product_each().unwrap().leaves() {
            target.push(extent * u.int_in_range(1..=3)?);
        }
        let target: Tuple = target.into_iter().collect();
        let order = if u.arbitrary()? {
            Order::Left
        } else {
            Order::Right
        };
        let r = block.tile_to_shape(target.clone(), order).unwrap();
        laws::tiled_to(&target, &r).unwrap_or_else(|e| panic!("{block} to {target} = {r}: {e}"));
        assert_eq!(
            offsets(&r),
            (0..r.size()).collect(),
            "{block} to {target} = {r}"
        );
        assert_eq!(
            block
                .tile_to_shape(target.map(&mut |x| x * 2 + 1), Order::Left)
                .is_ok(),
            block.size() == 1
        );
        Ok(())
    });
}

/// Invariant: layouts made compact in an order, or like another, are compact. Witness: the offset left out.
#[test]
fn ordered_layouts_are_compact() {
    holds(|u| {
        let shape = full_shape(u, 100)?;
        let n = shape.leaf_count() as i64;
        let mut order: Vec<i64> = (0..n).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, u.int_in_range(0..=i)?);
        }
        let order = order
            .into_iter()
            .collect::<Tuple>()
            .unflatten(&shape)
            .unwrap();
        let r = Layout::ordered(shape.clone(), order.clone()).unwrap();
        assert_eq!(
            offsets(&r),
            (0..r.size()).collect(),
            "{shape} in order {order}: {r}"
        );
        assert_eq!(r.like().unwrap(), r);
        let a = tame(u, 60)?;
        if a.is_empty() {
            return Ok(());
        }
        let (like, fragment) = (a.like().unwrap(), a.fragment_like().unwrap());
        assert_eq!(like.shape(), a.shape());
        assert_eq!(fragment.size(), a.size(), "{a}: {fragment}");
        if a.leaves().iter().all(|(_, d)| *d != 0) && !a.is_empty() {
            assert_eq!(offsets(&like), (0..a.size()).collect(), "{a}: {like}");
            assert_eq!(
                offsets(&fragment),
                (0..a.size()).collect(),
                "{a}: {fragment}"
            );
        }
        Ok(())
    });
}

/// Invariant: recast elements lie on the same bits. Witness: the offset.
#[test]
fn recast_keeps_the_bits() {
    holds(|u| {
        let a = tame(u, 60)?;
        let n = *u.choose(&[1, 2, 3, 4, 8])?;
        let injective = !a.is_empty() && a.is_injective().unwrap();
        if let (Ok(r), true) = (a.upcast(n), injective)
            && r.size() * n == a.size()
        {
            let want: HashSet<i64> = a.offsets().map(|x| x / n).collect();
            assert_eq!(offsets(&r), want, "{a} up {n} = {r}");
        }
        if let (Ok(r), true) = (a.downcast(n), injective)
            && a.leaves().iter().filter(|(_, d)| *d == 1).count() == 1
        {
            let want: HashSet<i64> = a
                .offsets()
                .flat_map(|x| (0..n).map(move |i| x * n + i))
                .collect();
            assert_eq!(offsets(&r), want, "{a} down {n} = {r}");
            laws::same_function(&a, &r.upcast(n).unwrap())
                .unwrap_or_else(|e| panic!("{a} down and up {n}: {e}"));
        }
        Ok(())
    });
}

/// Invariant: what two layouts have in common is the identity under both; aligned runs are
/// whole; the null
/// space maps to 0; distributed workers stand on different places. Witness: the index.
#[test]
fn facts_about_layouts() {
    holds(|u| {
        let (a, b) = (layout(u, 60)?, layout(u, 60)?);
        let r = a
            .max_common_layout(&b)
            .unwrap_or_else(|e| panic!("{a} and {b}: {e}"));
        for (i, x) in (0..).zip(r.offsets()) {
            assert_eq!((a.at(x), b.at(x)), (Ok(i), Ok(i)), "{a} and {b}: {r}");
        }
        let n = a.max_alignment().unwrap();
        let image = offsets(&a);
        let whole = |x: &i64| {
            (x.div_euclid(n) * n..)
                .take(n as usize)
                .all(|y| image.contains(&y))
        };
        assert!(image.iter().all(whole), "{a}: alignment {n}");
        let null = a.nullspace().unwrap();
        assert!(null.offsets().all(|i| a.at(i) == Ok(0)), "{a}: {null}");
        let workers = u.int_in_range(1..=24)?;
        let spread = Layout::domain_distribute(a.shape(), workers).unwrap();
        assert!(
            spread.is_empty() || workers % spread.size() == 0,
            "{a}: {spread}"
        );
        assert!(
            spread.is_injective().unwrap() && spread.offsets().all(|i| i < a.size()),
            "{a}: {spread}"
        );
        Ok(())
    });
}

/// Invariant: all blocks of a local tile together are the layout, and so are all threads of a local partition.
/// Witness: the offset missing.
#[test]
fn partitions_share_out_everything() {
    holds(|u| {
        let mut extents = Vec::new();
        let (mut tile, mut blocks) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let (t, b) = (*u.choose(&[1, 2, 3, 4])?, *u.choose(&[1, 2, 3])?);
            tile.push(t);
            blocks.push(b);
            extents.push(t * b);
        }
        let tuple = |list: &[i64]| Tuple::from(list);
        let a = Layout::ordered(
            tuple(&extents),
            if u.arbitrary()? {
                Order::Left
            } else {
                Order::Right
            },
        )
        .unwrap();
        let tiler = Tiler::by_extents(&tuple(&tile)).unwrap();
        let mut seen = Vec::new();
        for i in 0..blocks[0] {
            for j in 0..blocks[1] {
                let (r, start) = a.local_tile(&tiler, [i, j], None).unwrap();
                seen.extend(r.offsets().map(|x| x + start));
            }
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..a.size()), "{a} tiled by {tiler}");
        let threads = Layout::ordered(
            tuple(&tile),
            if u.arbitrary()? {
                Order::Left
            } else {
                Order::Right
            },
        )
        .unwrap();
        let mut seen = Vec::new();
        for thread in 0..threads.size() {
            let (r, start) = a.local_partition(&threads, thread, None).unwrap();
            seen.extend(r.offsets().map(|x| x + start));
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..a.size()), "{a} shared by {threads}");
        Ok(())
    });
}
