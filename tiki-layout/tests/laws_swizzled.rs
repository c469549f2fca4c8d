//! The laws of swizzles, swizzled layouts, atoms, and of notation, each over 2,000 random cases.
//!
//! Each test names its Invariant and the Witness that a failure would print.

mod random;

use random::{holds, layout, swizzle, tame, tiler};
use std::collections::HashSet;
use tiki_layout::atoms::{CopyAtom, CopyMap, MmaAtom, Operand, TiledCopy, TiledMma, WARP_SHAPES};
use tiki_layout::coord::index_to_coord;
use tiki_layout::{ByteSwizzle, Composed, Coord, Error, Layout, Swizzle, Tiler, Tuple};

fn composed(
    u: &mut arbtest::arbitrary::Unstructured<'_>,
    size: i64,
) -> arbtest::arbitrary::Result<Composed> {
    let offset = if u.ratio(1, 3)? {
        u.int_in_range(0..=70)?
    } else {
        0
    };
    Ok(Composed::new(swizzle(u)?, offset, tame(u, size)?).expect("small numbers"))
}

/// Invariant: what is printed reads back as the same value. Witness: the text.
#[test]
fn notation_round_trips() {
    fn back<T: std::str::FromStr<Err = Error> + std::fmt::Display + PartialEq + std::fmt::Debug>(
        value: &T,
    ) {
        let text = value.to_string();
        assert_eq!(text.parse::<T>().as_ref(), Ok(value), "{text}");
        let spaced: String = text
            .chars()
            .flat_map(|c| {
                if "(),:<>".contains(c) {
                    vec![' ', c, ' ']
                } else {
                    vec![c]
                }
            })
            .collect();
        assert_eq!(spaced.parse::<T>().as_ref(), Ok(value), "{spaced}");
    }
    holds(|u| {
        let a = layout(u, 500)?;
        back(&a);
        back(a.shape());
        back(&tiler(u, &a)?);
        if let Some(cut) = random::cut(u, a.shape())? {
            back(&cut);
        }
        let s = swizzle(u)?;
        back(&s);
        back(&s.to_bytes(16).unwrap());
        back(&composed(u, 60)?);
        Ok(())
    });
}

/// Invariant: no text, however broken, does anything but parse or be refused at a byte inside it. Witness: the text.
#[test]
fn broken_notation_is_refused() {
    holds(|u| {
        let mut text: Vec<char> = composed(u, 60)?.to_string().chars().collect();
        for _ in 0..u.int_in_range(1..=4)? {
            let place = u.int_in_range(0..=text.len() - 1)?;
            let letter = *u.choose(&[
                '(', ')', ',', ':', '_', '-', '9', '<', '>', 'o', 'S', ' ', '\u{e9}',
            ])?;
            match u.int_in_range(0..=2)? {
                0 if text.len() > 1 => drop(text.remove(place)),
                1 => text[place] = letter,
                _ => text.insert(place, letter),
            }
        }
        let text: String = text.into_iter().collect();
        let refusals = [
            text.parse::<Composed>().err(),
            text.parse::<Layout>().err(),
            text.parse::<Tiler>().err(),
            text.parse::<Coord>().err(),
        ];
        for error in refusals.into_iter().flatten() {
            assert!(!error.to_string().is_empty());
            if let Error::Parse { at, .. } = error {
                assert!(at <= text.len(), "{text}");
            }
        }
        Ok(())
    });
}

/// Invariant: a swizzle is its own inverse, permutes its period, keeps runs of `2^base`; of two that compose, the result
/// is one after the other; a byte swizzle moves whole elements as its element form says. Witness: the offset.
#[test]
fn swizzles_permute() {
    holds(|u| {
        let (s, t) = (swizzle(u)?, swizzle(u)?);
        let run = 1 << s.base();
        for x in 0..s.period().min(2048) {
            assert_eq!(s.apply(s.apply(x)), x, "{s} at {x}");
            assert_eq!(s.apply(x), s.apply(x - x % run) + x % run, "{s} at {x}");
            assert!(s.apply(x) < s.period(), "{s} at {x}");
        }
        if let Ok(both) = s.compose(&t) {
            assert!(
                (0..4096).all(|x| both.apply(x) == s.apply(t.apply(x))),
                "{s} after {t} = {both}"
            );
        }
        assert_eq!(
            Swizzle::from_masks(s.y_mask(), s.z_mask()).map(|r| r.apply(1234)),
            Ok(s.apply(1234)),
            "{s}"
        );
        let bytes =
            ByteSwizzle::new(s.bits().into(), i64::from(s.base()) + 4, s.shift().into()).unwrap();
        for (width, size) in [(8, 1), (16, 2), (32, 4), (64, 8), (128, 16)] {
            let elements = bytes.to_elements(width).unwrap();
            assert!(
                (0..2048).all(|x| elements.apply(x) * size == bytes.apply(x * size)),
                "{bytes} on {width} bits"
            );
            assert_eq!(elements.to_bytes(width), Ok(bytes));
        }
        Ok(())
    });
}

/// Invariant: operations of the domain commute with the swizzle, and a slice is exact whatever bits it cuts.
/// Witness: the index.
#[test]
fn domain_operations_pass_under_the_swizzle() {
    holds(|u| {
        let c = composed(u, 60)?;
        let tiler = tiler(u, c.layout())?;
        let through = |plain: &Layout, got: &Composed| {
            let want: Vec<i64> = plain
                .offsets()
                .map(|x| c.swizzle().apply(x + c.offset()))
                .collect();
            assert_eq!(
                got.offsets().collect::<Vec<_>>(),
                want,
                "{c} by {tiler}: {got}"
            );
        };
        if let Ok(plain) = c.layout().zipped_divide(&tiler) {
            through(&plain, &c.zipped_divide(&tiler).unwrap());
        }
        through(&c.layout().coalesce().unwrap(), &c.coalesce().unwrap());
        let Some(cut) = random::cut(u, c.shape())? else {
            return Ok(());
        };
        let (plain, start) = c.layout().slice(cut.clone()).unwrap();
        let slice = c.slice(cut.clone()).unwrap();
        for (index, offset) in (0..).zip(plain.offsets()) {
            let want = c.swizzle().apply(c.offset() + start + offset);
            assert_eq!(slice.at(index), Ok(want), "{c} at {cut}");
            assert_eq!(
                slice.at_coord(index_to_coord(index, slice.shape()).unwrap()),
                Ok(want),
                "{c} at {cut}"
            );
        }
        Ok(())
    });
}

/// Invariant: a decayed layout differs from the swizzled one by a constant; a refusal is right about its index.
/// Witness: the index.
#[test]
fn decay_is_exact() {
    holds(|u| {
        let c = composed(u, 40)?;
        let start = c.offsets().next();
        match c.decay() {
            Ok((plain, offset)) => {
                assert!(
                    plain.offsets().map(|x| x + offset).eq(c.offsets()),
                    "{c}: {plain} from {offset}"
                );
            }
            Err(Error::NotRepresentable {
                index, want, got, ..
            }) => {
                assert_ne!(want, got);
                assert_eq!(
                    c.at(index).ok(),
                    start.map(|start| start + want),
                    "{c} at {index}"
                );
            }
            Err(e) => panic!("{c}: {e}"),
        }
        Ok(())
    });
}

/// Invariant: a layout after a swizzle, and the inverses of a swizzled layout, are what they are called or refused.
/// Witness: the index.
#[test]
fn swizzles_are_pulled_through() {
    holds(|u| {
        let (a, s) = (tame(u, 64)?, swizzle(u)?);
        if let Ok(r) = a.after_swizzle(&s) {
            assert!(
                (0..a.size()).all(|i| r.at(i) == a.at(s.apply(i))),
                "{a} o {s} = {r}"
            );
        }
        let c = Composed::new(s, 0, a).unwrap();
        if let Ok(r) = c.right_inverse() {
            assert!(
                (0..r.size()).all(|k| c.at(r.at(k).unwrap()) == Ok(k)),
                "{c}: {r}"
            );
        }
        if let Ok(r) = c.left_inverse() {
            assert!(
                (0..c.size()).all(|i| c.at(r.at(c.at(i).unwrap()).unwrap()) == c.at(i)),
                "{c}: {r}"
            );
        }
        Ok(())
    });
}

/// Invariant: elements of another width lie on the same bits, where the swizzle does not reach into an element.
/// Witness: the offset.
#[test]
fn recast_keeps_the_bits() {
    holds(|u| {
        let c = Composed::new(swizzle(u)?, 0, tame(u, 60)?).unwrap();
        let n = *u.choose(&[1, 2, 4, 8])?;
        let injective = !c.is_empty() && c.layout().is_injective().unwrap();
        if let (Ok(r), true) = (c.upcast(n), injective)
            && r.size() * n == c.size()
            && (c.swizzle().is_identity() || n <= 1 << c.swizzle().base())
        {
            let want: HashSet<i64> = c.offsets().map(|x| x / n).collect();
            assert_eq!(
                r.offsets().collect::<HashSet<_>>(),
                want,
                "{c} up {n} = {r}"
            );
        }
        if let (Ok(r), true) = (c.downcast(n), injective)
            && c.layout().leaves().iter().filter(|(_, d)| *d == 1).count() == 1
        {
            let want: HashSet<i64> = c
                .offsets()
                .flat_map(|x| (0..n).map(move |i| x * n + i))
                .collect();
            assert_eq!(
                r.offsets().collect::<HashSet<_>>(),
                want,
                "{c} down {n} = {r}"
            );
        }
        Ok(())
    });
}

/// Invariant: `vector` neighbours of one operand are neighbours in the other, and of each aligned run.
/// Witness: the element.
#[test]
fn common_vectors_lie_together() {
    holds(|u| {
        let (c, d) = (composed(u, 60)?, Composed::from(tame(u, 60)?));
        let n = c
            .max_common_vector(&d)
            .unwrap_or_else(|e| panic!("{c} and {d}: {e}"));
        let index = d.layout().right_inverse().unwrap();
        for i in 0..n.min(index.size()) {
            let x = index.at(i).unwrap();
            assert_eq!(d.at(x), Ok(i), "{c} and {d}: {n}");
            assert_eq!(
                c.at(x).map(|y| y - c.at(0).unwrap()),
                Ok(i),
                "{c} and {d}: {n}"
            );
        }
        let align = c.max_alignment().unwrap();
        let image: HashSet<i64> = c.offsets().collect();
        let whole = |x: &i64| {
            (x.div_euclid(align) * align..)
                .take(align as usize)
                .all(|y| image.contains(&y))
        };
        assert!(image.iter().all(whole), "{c}: alignment {align}");
        Ok(())
    });
}

/// Invariant: a tiled mma over any threads shares each operand's tile out completely, and the threads of the axis that
/// an operand lacks hold the same elements. Witness: the element.
#[test]
fn tiled_mma_shares_out_the_tile() {
    holds(|u| {
        let s = u.choose(WARP_SHAPES)?;
        if s.k * s.m > 512 {
            return Ok(());
        }
        let atom = MmaAtom::warp(s.m, s.n, s.k, s.width).unwrap();
        let threads = [u.int_in_range(1..=3)?, u.int_in_range(1..=2)?, 1];
        let mma = TiledMma::new(
            atom,
            &Layout::row_major(threads).unwrap(),
            [None, None, None],
        )
        .unwrap();
        for operand in [Operand::A, Operand::B, Operand::C] {
            let tv = mma.layout_tv(operand).unwrap();
            let tile = mma.tile_of(operand).unwrap().product().unwrap();
            let seen: HashSet<i64> = tv.offsets().collect();
            assert_eq!(
                seen,
                (0..tile).collect(),
                "{s:?} {threads:?} {operand:?}: {tv}"
            );
            let copies = tv.size() / tile;
            let lacks = threads[3 - operand.axes().iter().sum::<usize>()];
            assert_eq!(copies, lacks, "{s:?} {threads:?} {operand:?}: {tv}");
        }
        Ok(())
    });
}

/// Invariant: a tiled copy reads and writes each element of its tile, once each per element, and what a thread reads and
/// another writes is the same element. Witness: the tile.
#[test]
fn tiled_copies_move_the_whole_tile() {
    holds(|u| {
        let threads = Tuple::from([*u.choose(&[1, 2, 4, 8])?, *u.choose(&[2, 4, 8])?]);
        let values = Tuple::from([*u.choose(&[1, 2, 3])?, *u.choose(&[1, 2, 4, 8])?]);
        let order = |u: &mut arbtest::arbitrary::Unstructured<'_>, shape: &Tuple| {
            Ok::<_, arbtest::arbitrary::Error>(if u.arbitrary()? {
                Layout::row_major(shape.clone()).unwrap()
            } else {
                Layout::col_major(shape.clone()).unwrap()
            })
        };
        let map =
            CopyMap::by_threads_and_values(&order(u, &threads)?, &order(u, &values)?).unwrap();
        let bits = *u.choose(&[16, 32, 64, 128])?;
        let atom = CopyAtom::plain(bits).unwrap().of_width(16).unwrap();
        let (size, values) = (map.tv.size(), map.tv.mode(1).unwrap().leaves());
        match TiledCopy::new(atom, map) {
            Ok(copy) => {
                for tv in [copy.source_tv(), copy.destination_tv()] {
                    let tv = match tv {
                        Ok(tv) => tv,
                        Err(Error::NotRepresentable { .. }) => {
                            // The atom's values straddle a mode of the thread's values.
                            assert!(
                                values[0].0 * 16 % bits != 0,
                                "{values:?} refused for {bits} bits"
                            );
                            continue;
                        }
                        Err(e) => panic!("{values:?} for {bits} bits: {e}"),
                    };
                    let seen: HashSet<i64> = tv.offsets().collect();
                    assert_eq!((tv.size(), seen), (size, (0..size).collect()), "{tv}");
                }
            }
            Err(Error::Atom { got, want, .. }) => assert_ne!(got % want, 0),
            Err(e) => panic!("{e}"),
        }
        Ok(())
    });
}
