//! The laws of plain layouts, each over 2,000 random cases and every index of each.
//!
//! Each test names its Invariant and the Witness that a failure would print.

mod random;

use arbtest::arbitrary::Unstructured;
use random::{full_shape, holds, layout, tame, tiler};
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
    let reached = std::cell::Cell::new(0);
    holds(|u| {
        let a = layout(u, 60)?;
        let Tiler::Modes(tilers) = tiler(u, &a)? else {
            return Ok(());
        };
        let Ok(r) = a.compose_by(Tiler::Modes(tilers.clone())) else {
            return Ok(());
        };
        reached.set(reached.get() + 1);
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
    assert!(
        reached.get() >= 400,
        "{} cases reached the law",
        reached.get()
    );
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

/// Invariant: coordinates come in the order of their indices, which is the colexicographic one, each inside its shape.
/// Witness: the shape and the coordinate.
#[test]
fn coordinates_are_counted_in_order() {
    holds(|u| {
        let shape = random::shape(u, 100)?;
        let all: Vec<Tuple> = shape.coordinates().unwrap().collect();
        assert_eq!(all.len() as i64, shape.product().unwrap(), "{shape}");
        for (index, coord) in (0..).zip(&all) {
            assert_eq!(
                coord_to_index(coord, &shape),
                Ok(index),
                "{coord} of {shape}"
            );
            assert_eq!(coord.elem_less(&shape), Ok(true), "{coord} of {shape}");
        }
        for pair in all.windows(2) {
            assert_eq!(
                pair[0].cmp_colex(&pair[1]),
                Ok(std::cmp::Ordering::Less),
                "{shape}"
            );
        }
        Ok(())
    });
}
