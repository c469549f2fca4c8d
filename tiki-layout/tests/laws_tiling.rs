//! The laws of tiling: divisions, products, partitions, recasts, each over 2,000 random cases and every index of each.
//!
//! Each test names its Invariant and the Witness that a failure would print.

mod random;

use random::{full_shape, holds, layout, tame, tiler, wild};
use std::collections::HashSet;
use tiki_layout::{Coordinates, Error, Layout, Order, Tiler, Tuple, laws};

fn offsets(layout: &Layout) -> HashSet<i64> {
    layout.offsets().collect()
}

/// Invariant: every division visits all of the layout, the four forms in different order; the tile is the layout read
/// at the tile. Witness: the offset never visited.
#[test]
fn divisions_cover() {
    let reached = std::cell::Cell::new(0);
    holds(|u| {
        let a = layout(u, 60)?;
        let tiler = tiler(u, &a)?;
        let Ok(logical) = a.logical_divide(&tiler) else {
            return Ok(());
        };
        reached.set(reached.get() + 1);
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
    assert!(
        reached.get() >= 400,
        "{} cases reached the law",
        reached.get()
    );
}

/// Invariant: a division is refused for leaving places out only if it would. Witness: the place.
#[test]
fn refused_tiles_leave_places_out() {
    let reached = std::cell::Cell::new(0);
    holds(|u| {
        let (a, tile) = (
            Layout::new(u.int_in_range(1..=60)?, 1).unwrap(),
            layout(u, 12)?,
        );
        let Err(Error::Unreached { place, .. }) = a.logical_divide(&tile) else {
            return Ok(());
        };
        reached.set(reached.get() + 1);
        let rest = tile.complement_in(a.size()).unwrap();
        let both = Layout::concat([&tile, &rest]).unwrap();
        assert!(
            place < a.size() && !offsets(&both).contains(&place),
            "{a} / {tile}: {place}"
        );
        Ok(())
    });
    assert!(
        reached.get() >= 20,
        "{} cases reached the law",
        reached.get()
    );
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
    let reached = std::cell::Cell::new(0);
    holds(|u| {
        let (a, t) = (layout(u, 16)?, layout(u, 12)?);
        let Ok(r) = a.logical_product(&t) else {
            return Ok(());
        };
        reached.set(reached.get() + 1);
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
    assert!(
        reached.get() >= 400,
        "{} cases reached the law",
        reached.get()
    );
}

/// Invariant: blocked and raked products have the same elements, and mode `i` is as large as both operands' modes
/// together. Witness: the mode.
#[test]
fn blocked_and_raked_products_interleave() {
    let reached = std::cell::Cell::new(0);
    holds(|u| {
        let (a, t) = (tame(u, 16)?, tame(u, 12)?);
        let (Ok(blocked), Ok(raked)) = (a.blocked_product(&t), a.raked_product(&t)) else {
            return Ok(());
        };
        reached.set(reached.get() + 1);
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
    assert!(
        reached.get() >= 400,
        "{} cases reached the law",
        reached.get()
    );
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

/// Invariant: a tile of the identity says where each of its elements is, also past the end of an axis that the tile does
/// not divide; a thread's part of it says the same. Witness: the block and the element.
#[test]
fn coordinates_say_where_an_element_is() {
    holds(|u| {
        let extents = [u.int_in_range(1..=20)?, u.int_in_range(1..=20)?];
        let tile = [u.int_in_range(1..=8)?, u.int_in_range(1..=8)?];
        let all = Coordinates::identity(extents).unwrap();
        let tiler = Tiler::by_extents(&Tuple::from(tile)).unwrap();
        let blocks = [0, 1].map(|axis: usize| (extents[axis] + tile[axis] - 1) / tile[axis]);
        let block = [
            u.int_in_range(0..=blocks[0] - 1)?,
            u.int_in_range(0..=blocks[1] - 1)?,
        ];
        let part = all.local_tile(&tiler, block).unwrap();
        for i in 0..tile[0] {
            for j in 0..tile[1] {
                let want = Tuple::from([block[0] * tile[0] + i, block[1] * tile[1] + j]);
                assert_eq!(
                    part.at_coord([i, j]),
                    Ok(want),
                    "{extents:?} by {tile:?}, block {block:?}: {part}"
                );
            }
        }
        let threads = Layout::row_major(tile).unwrap();
        let thread = u.int_in_range(0..=threads.size() - 1)?;
        let place = [thread / tile[1], thread % tile[1]];
        let own = all.local_partition(&threads, thread).unwrap();
        for (index, got) in (0..).zip(own.coordinates()) {
            let (i, j) = (index % blocks[0], index / blocks[0]);
            let want = Tuple::from([i * tile[0] + place[0], j * tile[1] + place[1]]);
            assert_eq!(
                got,
                Ok(want),
                "{extents:?} by {tile:?}, thread {thread}: {own}"
            );
        }
        Ok(())
    });
}
