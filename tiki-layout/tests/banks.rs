//! Wavefronts against brute force, and the choice of a swizzle against all placements.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use std::collections::{BTreeMap, BTreeSet};
use tiki_layout::banks::{
    BankError, Optimality, Request, SharedAccess, TileAccess, choose_swizzle,
};
use tiki_layout::xor::Subspace;
use tiki_layout::{Composed, Layout, Swizzle};

/// Serves a phase word by word: each wavefront takes at most one new word of each bank; repeated until none is left.
fn serve(addresses: &[Option<i64>], width: i64) -> usize {
    let mut waiting: BTreeSet<i64> = BTreeSet::new();
    for address in addresses.iter().flatten() {
        waiting.extend((*address..address + width).map(|byte| byte / 4));
    }
    let mut wavefronts = 0;
    while !waiting.is_empty() {
        let mut busy = [false; 32];
        waiting.retain(|word| std::mem::replace(&mut busy[(word % 32) as usize], true));
        wavefronts += 1;
    }
    wavefronts
}

/// Invariant: wavefronts are the rounds that a one-word-per-bank machine needs; services agree with them.
/// Witness: that machine, on random lanes, widths and masks.
#[test]
fn wavefronts_are_rounds_of_the_banks() {
    arbtest(|u| {
        let width = *u.choose(&[1i64, 2, 4, 8, 16])?;
        let stride = width * u.int_in_range(0..=40)?;
        let spread = *u.choose(&[0i64, 4, 4096])?;
        let lanes = u.int_in_range(0..=32)?;
        let mut addresses = Vec::new();
        for lane in 0..lanes {
            let noise = if spread == 0 {
                0
            } else {
                u.int_in_range(0..=spread / width.min(spread))? * width
            };
            addresses.push(if u.ratio(1, 10)? {
                None
            } else {
                Some(lane * stride + noise)
            });
        }
        let access = SharedAccess::store(width, addresses.clone()).expect("aligned");
        let report = access.report();
        let per_phase = match width {
            16 => 8,
            8 => 16,
            _ => 32,
        };
        let want: Vec<usize> = addresses
            .chunks(per_phase)
            .map(|lanes| serve(lanes, width))
            .collect();
        assert_eq!(
            report
                .phases
                .iter()
                .map(|p| p.wavefronts)
                .collect::<Vec<_>>(),
            want
        );
        assert_eq!(report.wavefronts, want.iter().sum::<usize>());
        assert_eq!(report.degree, want.iter().copied().max().unwrap_or(0));
        let mut last: BTreeMap<usize, usize> = BTreeMap::new();
        for s in access.services() {
            let slot = last.entry(s.phase).or_insert(0);
            *slot = (*slot).max(s.wavefront + 1);
            assert_eq!(s.bank, s.word % 32);
        }
        assert_eq!(last.values().sum::<usize>(), report.wavefronts);
        Ok(())
    })
    .budget_ms(2_000);
}

/// Random accesses to a tile of `1 << unit_bits` units of 16 bytes: bits of the lane go to independent unit bits or sums
/// of them, so that demands overlap in every way.
fn accesses(u: &mut Unstructured, unit_bits: u32, plain: bool) -> Result<Vec<TileAccess>> {
    let mut list = Vec::new();
    for _ in 0..u.int_in_range(1..=5)? {
        let lane_bits: Vec<i64> = (0..3)
            .map(|_| u.int_in_range(0..=(1i64 << unit_bits) - 1))
            .collect::<Result<_>>()?;
        let start = u.int_in_range(0..=(1i64 << unit_bits) - 1)?;
        let unit = |lane: usize| {
            lane_bits
                .iter()
                .enumerate()
                .filter(|(b, _)| lane >> b & 1 == 1)
                .fold(start, |x, (_, v)| x ^ v)
        };
        let access = if plain && u.arbitrary()? {
            // Four bytes per lane: eight units, four words of each.
            TileAccess::from_addresses(
                (0..32)
                    .map(|l| unit(l >> 2) * 16 + (l as i64 & 3) * 4)
                    .collect(),
                4,
                Request::Store,
            )
        } else {
            TileAccess::from_addresses(
                (0..8).map(|lane| unit(lane) * 16).collect(),
                16,
                Request::Matrices,
            )
        };
        list.push(access.expect("aligned").weighted(u.int_in_range(1..=4)?));
    }
    Ok(list)
}

/// Invariant: the chosen placement is a permutation that keeps vectors whole, costs what the counter says, and no
/// linear placement is cheaper.
/// Witness: the counter at every address, and every subspace of the units as the set that shares bank 0.
#[test]
fn no_linear_placement_is_cheaper() {
    let (mut matrices, mut conflicts) = (0, 0);
    arbtest(|u| {
        let unit_bits = u.int_in_range(2..=5)?;
        let list = accesses(u, unit_bits, true)?;
        let best = choose_swizzle(2, &list).expect("linear");
        let size = 8i64 << unit_bits;
        let image: BTreeSet<i64> = (0..size).map(|x| best.apply(x)).collect();
        assert!(
            image.len() as i64 == size && image.last() == Some(&(size - 1)),
            "not a permutation: {best:?}"
        );
        assert!(
            (0..size)
                .all(|x| best.apply(x) % 8 == x % 8
                    && best.apply(x) / 8 == best.apply(x / 8 * 8) / 8)
        );
        let place = |byte: i64| best.apply(byte / 2) * 2 + byte % 2;
        let total = |f: &dyn Fn(i64) -> i64| {
            list.iter()
                .map(|a| a.wavefronts(f).expect("aligned"))
                .sum::<u64>()
        };
        assert_eq!(total(&place), best.wavefronts);
        assert_eq!(total(&|byte| byte), best.unswizzled);
        assert!(best.bound <= best.wavefronts && best.wavefronts <= best.unswizzled);
        if let Some(s) = best.swizzle {
            assert!(
                (0..size).all(|x| s.apply(x) == best.apply(x)),
                "{s} is not its matrix"
            );
        } else {
            matrices += 1;
        }
        if best.wavefronts == best.bound {
            assert_eq!(best.optimality, Optimality::BoundReached);
        } else {
            conflicts += 1;
        }
        // All subspaces of dimension unit_bits - 3, as spans of one or two vectors (or none).
        let demands: Vec<(Subspace, u64)> = list
            .iter()
            .flat_map(|a| {
                a.requests(|x| x)
                    .expect("aligned")
                    .into_iter()
                    .flat_map(|r| r.words())
                    .map(|w| (w, a.weight()))
            })
            .map(|(words, weight)| {
                let first = words.first().expect("lanes") / 4;
                (
                    Subspace::span(words.iter().map(|w| ((w / 4) ^ first) as u64)),
                    weight,
                )
            })
            .collect();
        let cost = |k: &Subspace| demands.iter().map(|(s, w)| w << s.meet_dim(k)).sum::<u64>();
        let units = 1u64 << unit_bits;
        let least = match unit_bits {
            0..=3 => cost(&Subspace::default()),
            4 => (1..units)
                .map(|a| cost(&Subspace::span([a])))
                .min()
                .expect("some"),
            _ => (1..units)
                .flat_map(|a| (a + 1..units).map(move |b| Subspace::span([a, b])))
                .map(|k| cost(&k))
                .min()
                .expect("some"),
        };
        assert_eq!(best.wavefronts, least, "{list:?} chose {best:?}");
        Ok(())
    })
    .budget_ms(6_000)
    .size_min(64)
    .size_max(1024);
    assert!(
        matrices > 0 && conflicts > 0,
        "{matrices} matrices, {conflicts} with conflicts: both kinds must occur"
    );
}

/// Invariant: for a linear access, counted wavefronts are `2^dim(L meet K)` in every phase.
/// Witness: random rows under random swizzles, counted.
#[test]
fn ranks_and_counts_agree() {
    arbtest(|u| {
        let bits = u.int_in_range(0..=3)?;
        let swizzle =
            Swizzle::new(bits, u.int_in_range(3..=5)?, u.int_in_range(bits..=4)?).expect("valid");
        let rows = Layout::new(
            [8, 4],
            [
                8i64 << u.int_in_range(0..=5)?,
                8i64 << u.int_in_range(0..=5)?,
            ],
        )
        .expect("small");
        let moved = Composed::new(swizzle, 0, rows.clone()).expect("small");
        let access = SharedAccess::store_of_map(&moved, 2, 16).expect("aligned");
        let zero = Subspace::span((5..40).map(|b| 1u64 << b));
        for (words, phase) in access.words().iter().zip(access.report().phases) {
            let first = *words.first().expect("lanes");
            let space = Subspace::span(words.iter().map(|w| (w ^ first) as u64));
            if words.len() == 1 << space.dim() {
                assert_eq!(phase.wavefronts, 1 << space.meet_dim(&zero), "{moved}");
            }
        }
        Ok(())
    })
    .budget_ms(1_000);
}

#[test]
fn a_square_of_floats_read_both_ways() {
    // 32 x 32 four-byte numbers, written by rows and read by columns, one number per lane.
    let tile = Layout::row_major([32, 32]).expect("small");
    let rows =
        TileAccess::stores(&Layout::new([32, 32], [1, 32]).expect("small"), 4, 4).expect("aligned");
    let columns = TileAccess::stores(&tile, 4, 4).expect("aligned");
    let best = choose_swizzle(4, &[rows, columns]).expect("linear");
    assert_eq!(
        best.swizzle.map(|s| s.to_string()).as_deref(),
        Some("Sw<5,0,5>")
    );
    assert_eq!(
        (best.unswizzled, best.wavefronts, best.optimality),
        (32 + 1024, 64, Optimality::BoundReached)
    );
    let placed = best.place(&tile).expect("powers of two");
    assert_eq!(placed.to_string(), "(32,32):(^33,^1)");
}

/// Three accesses whose demands fill a plane: over two elements no line avoids all three, and the search says so.
#[test]
fn three_lines_in_a_plane_must_conflict() {
    // Units of 16 bytes: three demands {0,a}, {0,b}, {0,a^b} crossed with two common bits.
    let access = |line: i64| {
        let unit = move |lane: i64| (lane & 3) ^ (if lane & 4 != 0 { line } else { 0 });
        TileAccess::from_addresses(
            (0..8).map(|lane| unit(lane) * 16).collect(),
            16,
            Request::Matrices,
        )
        .expect("aligned")
    };
    let best = choose_swizzle(2, &[access(4), access(8), access(12)]).expect("linear");
    assert_eq!((best.bound, best.wavefronts), (3, 4));
    assert!(
        matches!(best.optimality, Optimality::Exhausted { dimension: 2, .. }),
        "{best:?}"
    );
}

#[test]
fn mistakes_are_refused_with_their_numbers() {
    assert_eq!(
        SharedAccess::store(3, []),
        Err(BankError::Width { bytes: 3 })
    );
    assert_eq!(
        SharedAccess::store(8, [Some(0), Some(12)]),
        Err(BankError::Misaligned {
            lane: 1,
            address: 12,
            width: 8
        })
    );
    assert_eq!(
        SharedAccess::store(4, [None, Some(-4)]),
        Err(BankError::Address { lane: 1 })
    );
    assert_eq!(
        SharedAccess::matrices(vec![0; 12]),
        Err(BankError::Lanes { count: 12 })
    );
    assert_eq!(
        SharedAccess::store(4, vec![Some(0); 33]),
        Err(BankError::Lanes { count: 33 })
    );
    let thirds = TileAccess::from_addresses(
        (0..8).map(|lane| lane * 48).collect(),
        16,
        Request::Matrices,
    )
    .expect("aligned");
    assert_eq!(
        choose_swizzle(2, &[thirds]),
        Err(BankError::NotLinear {
            access: 0,
            phase: 0
        })
    );
    assert_eq!(
        SharedAccess::store(16, [None; 32])
            .expect("no lanes")
            .report()
            .wavefronts,
        0
    );
}
