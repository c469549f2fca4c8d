//! XOR layouts against the swizzles they come from, and the laws of their operations, at every index.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use std::collections::BTreeSet;
use tiki_layout::xor::{BitMatrix, Refusal, Subspace, XorLayout};
use tiki_layout::{Composed, Layout, Swizzle, Tiler, Tuple};

/// A strided layout whose sums do not carry: the leaves own disjoint runs of bits, in random order.
fn linear(u: &mut Unstructured) -> Result<Layout> {
    let leaves = u.int_in_range(1..=4)?;
    let (mut extents, mut strides, mut bit) = (Vec::new(), vec![0i64; leaves], 0u32);
    for _ in 0..leaves {
        extents.push(1i64 << u.int_in_range(0..=3)?);
    }
    let mut order: Vec<usize> = (0..leaves).collect();
    for i in (1..leaves).rev() {
        order.swap(i, u.int_in_range(0..=i)?);
    }
    for at in order {
        bit += u.int_in_range(0..=1)?;
        strides[at] = 1 << bit;
        bit += extents[at].trailing_zeros();
    }
    let nest = |v: &[i64]| match v {
        [a, b, rest @ ..] if !rest.is_empty() => Tuple::Tuple(
            [Tuple::Tuple(vec![(*a).into(), (*b).into()])]
                .into_iter()
                .chain(rest.iter().map(|x| (*x).into()))
                .collect(),
        ),
        v => v.iter().copied().collect(),
    };
    Ok(Layout::new(nest(&extents), nest(&strides)).expect("small"))
}

fn swizzle(u: &mut Unstructured) -> Result<Swizzle> {
    let bits = u.int_in_range(0..=3)?;
    let shift = u.int_in_range(bits..=bits + 2)?;
    let shift = if u.arbitrary()? { shift } else { -shift };
    Ok(Swizzle::new(bits, u.int_in_range(0..=3)?, shift).expect("the fields do not overlap"))
}

fn xor(u: &mut Unstructured) -> Result<XorLayout> {
    let shape: Tuple = (0..u.int_in_range(1..=3)?)
        .map(|_| Ok(1i64 << u.int_in_range(0..=3)?))
        .collect::<Result<_>>()?;
    let mut columns = Vec::new();
    for extent in shape.leaves() {
        columns.push(
            (0..extent.trailing_zeros())
                .map(|_| u.int_in_range(0..=511))
                .collect::<Result<Vec<u64>>>()?,
        );
    }
    Ok(XorLayout::new(shape, columns, u.int_in_range(0..=511)?).expect("powers of two"))
}

/// Invariant: the XOR layout of a swizzled layout is the same function, and leads back to it.
/// Witness: every index of both.
#[test]
fn every_swizzled_layout_is_its_xor_layout() {
    let mut converted = 0;
    arbtest(|u| {
        let layout = linear(u)?;
        let used = layout
            .leaves()
            .iter()
            .fold(0, |all, (s, d)| all | ((s - 1) * d));
        let offset = u.int_in_range(0..=255)? & !used;
        let composed = Composed::new(swizzle(u)?, offset, layout).expect("small");
        let x = XorLayout::from_composed(&composed).expect("no sum carries");
        for i in 0..composed.size() {
            assert_eq!(x.at(i), composed.at(i), "{composed} is not {x} at {i}");
        }
        assert_eq!(Ok(x.cosize()), composed.cosize());
        if let Ok(back) = x.to_composed() {
            assert!(
                (0..x.size()).all(|i| back.at(i) == x.at(i)),
                "{x} became {back}"
            );
            converted += 1;
        }
        Ok(())
    })
    .budget_ms(2_000);
    assert!(converted > 0, "only {converted} led back to a swizzle");
}

/// Invariant: every valid swizzle of up to 9 bits over a compact tile leads back to a swizzle and agrees.
/// Witness: all of them, at every index.
#[test]
fn all_small_swizzles_round_trip() {
    for bits in 0..=4i64 {
        for base in 0..=4 {
            for shift in (-4..=4i64).filter(|s| s.abs() >= bits && bits + base + s.abs() <= 9) {
                let s = Swizzle::new(bits, base, shift).expect("valid");
                let tile = Composed::new(s, 0, Layout::new(512, 1).expect("small")).expect("small");
                let x = XorLayout::from_composed(&tile).expect("linear");
                assert!((0..512).all(|i| x.at(i) == Ok(s.apply(i))), "{s}");
                let leaves = XorLayout::new(
                    vec![2i64; 9].into_iter().collect::<Tuple>(),
                    x.columns()[0].iter().map(|c| vec![*c]).collect(),
                    0,
                );
                let back = leaves.expect("bits").to_composed().expect("one swizzle");
                assert!(
                    (0..512).all(|i| back.at(i) == Ok(s.apply(i))),
                    "{s} became {back}"
                );
            }
        }
    }
}

/// Invariant: composition, division and slices are those of the functions.
/// Witness: every coordinate, against the swizzled layout divided on its domain.
#[test]
fn operations_agree_with_the_domain() {
    arbtest(|u| {
        let (rows, cols) = (
            1i64 << u.int_in_range(1..=4)?,
            1i64 << u.int_in_range(1..=4)?,
        );
        let layout = Layout::row_major([rows, cols]).expect("small");
        let composed = Composed::new(swizzle(u)?, 0, layout).expect("small");
        let x = XorLayout::from_composed(&composed).expect("linear");
        let cut = |u: &mut Unstructured, extent: i64| {
            Ok(1i64 << u.int_in_range(0..=extent.trailing_zeros())?)
        };
        let tiler = Tiler::by_extents(&[cut(u, rows)?, cut(u, cols)?].into_iter().collect())
            .expect("positive");
        let want = composed
            .map_layout(|l| l.zipped_divide(&tiler))
            .expect("divides");
        let got = x.zipped_divide(&tiler).expect("powers of two");
        assert_eq!(got.shape(), want.shape());
        assert!(
            (0..want.size()).all(|i| got.at(i) == want.at(i)),
            "{x} / {tiler} = {got}, wanted {want}"
        );
        let row = u.int_in_range(0..=rows - 1)?;
        let line = x
            .slice(vec![row.into(), tiki_layout::Coord::All])
            .expect("inside");
        assert!(
            (0..cols).all(|j| line.at(j) == composed.at_coord([row, j])),
            "{x} at row {row} = {line}"
        );
        let (a, b) = (xor(u)?, xor(u)?);
        match a.compose(&b) {
            Ok(ab) => assert!((0..b.size()).all(|i| ab.at(i) == a.at(b.at(i).expect("inside")))),
            Err(reason) => assert_eq!(
                reason,
                Refusal::Outside {
                    index: b.cosize() - 1,
                    size: a.size()
                }
            ),
        }
        Ok(())
    })
    .budget_ms(2_000);
}

/// Invariant: `left_inverse(A)(A(i)) = i`, `A(right_inverse(A)(i)) = i`, and A with its complement reaches every offset
/// below the bound once; a refusal is right.
/// Witness: every index.
#[test]
fn inverses_and_complements_hold_at_every_index() {
    arbtest(|u| {
        let a = xor(u)?;
        let offsets: Vec<i64> = (0..a.size()).map(|i| a.at(i).expect("inside")).collect();
        let distinct: BTreeSet<i64> = offsets.iter().copied().collect();
        let injective = distinct.len() == offsets.len();
        assert_eq!(offsets.iter().max().map(|m| m + 1), Some(a.cosize()));
        match a.left_inverse() {
            Ok(l) => assert!(
                offsets.iter().zip(0..).all(|(o, i)| l.at(*o) == Ok(i)),
                "{a} has not the inverse {l}"
            ),
            Err(Refusal::NotInjective { index }) => {
                assert!(
                    !injective && index != 0 && offsets[0] == offsets[index as usize],
                    "{a}: {index}"
                );
            }
            Err(other) => panic!("{a}: {other}"),
        }
        match a.right_inverse() {
            Ok(r) => {
                assert!(
                    (0..r.size()).all(|o| a.at(r.at(o).expect("inside")) == Ok(o)),
                    "{a} has not the inverse {r}"
                );
                let reached = (0..2 * r.size()).all(|o| distinct.contains(&o));
                assert!(!reached, "{r} of {a} could be longer");
            }
            Err(reason) => assert!(!distinct.contains(&0), "{a}: {reason}"),
        }
        for offset in 0..a.cosize().min(64) {
            match a.coord_of(offset) {
                Ok(Some(c)) => assert_eq!(a.at_coord(c), Ok(offset)),
                Ok(None) => assert!(!distinct.contains(&offset)),
                Err(_) => assert!(!injective),
            }
        }
        let bound = u.int_in_range(1..=1024)?;
        match a.complement_in(bound) {
            Ok(c) => {
                let mut all: Vec<i64> = offsets
                    .iter()
                    .flat_map(|o| {
                        (0..c.size())
                            .map(|j| o ^ c.at(j).expect("inside"))
                            .collect::<Vec<_>>()
                    })
                    .collect();
                all.sort_unstable();
                assert_eq!(
                    all,
                    (0..bound).collect::<Vec<_>>(),
                    "{a} and {c} do not fill {bound}"
                );
            }
            Err(Refusal::NotInjective { .. }) => assert!(!injective),
            Err(Refusal::Bound { .. }) => assert!(bound & (bound - 1) != 0 || a.cosize() > bound),
            Err(other) => panic!("{a}: {other}"),
        }
        Ok(())
    })
    .budget_ms(3_000);
}

/// Invariant: sum, meet, kernel and solution are what their names say.
/// Witness: all members of subspaces of 8-bit vectors.
#[test]
fn subspaces_and_matrices() {
    arbtest(|u| {
        let vectors = |u: &mut Unstructured| -> Result<Vec<u64>> {
            (0..u.int_in_range(0..=5)?)
                .map(|_| u.int_in_range(0..=255))
                .collect()
        };
        let (a, b) = (Subspace::span(vectors(u)?), Subspace::span(vectors(u)?));
        let set = |s: &Subspace| s.members().collect::<BTreeSet<u64>>();
        let both: BTreeSet<u64> = set(&a).intersection(&set(&b)).copied().collect();
        assert_eq!(set(&a.meet(&b)), both);
        assert_eq!(1 << a.meet_dim(&b), both.len());
        assert!((0..256).all(|v| a.contains(v) == set(&a).contains(&v)));
        let mask = u.int_in_range(0..=255)?;
        let even: BTreeSet<u64> = set(&a)
            .into_iter()
            .filter(|v| (v & mask).count_ones() % 2 == 0)
            .collect();
        assert_eq!(set(&a.orthogonal_to(&[mask])), even);
        let m = BitMatrix::new(vectors(u)?);
        let n = m.columns().len();
        let zero: BTreeSet<u64> = (0..1u64 << n).filter(|x| m.apply(*x) == 0).collect();
        assert_eq!(set(&m.kernel()), zero);
        for image in 0..256 {
            match m.solve(image) {
                Some(x) => assert_eq!(m.apply(x), image),
                None => assert!((0..1u64 << n).all(|x| m.apply(x) != image)),
            }
        }
        Ok(())
    })
    .budget_ms(2_000);
}

#[test]
fn refusals_name_their_reason() {
    let refused = |text: &str| {
        XorLayout::from_composed(&Composed::parse(text).expect("notation")).unwrap_err()
    };
    assert_eq!(
        refused("Sw<1,0,1> o 0 o (6,2):(1,8)"),
        Refusal::Extent { extent: 6 }
    );
    assert_eq!(
        refused("Sw<1,0,1> o 0 o (4,2):(3,1)"),
        Refusal::Stride {
            extent: 4,
            stride: 3
        }
    );
    assert_eq!(
        refused("Sw<1,0,1> o 0 o (4,4):(1,2)"),
        Refusal::Carry {
            bit: 1,
            leaf: (4, 2)
        }
    );
    assert_eq!(
        refused("Sw<1,0,1> o 1 o (4,4):(1,4)"),
        Refusal::Offset {
            offset: 1,
            used: 15
        }
    );
    let mixed = XorLayout::new(4, vec![vec![1 | 8, 2 | 4]], 0).expect("bits");
    assert_eq!(mixed.to_composed(), Err(Refusal::NotASwizzle { column: 6 }));
}
