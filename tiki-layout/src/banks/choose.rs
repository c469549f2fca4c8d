//! The best swizzle for all accesses to one tile together.
//!
//! 1. Each phase of each access becomes a subspace of *units*, the widest vectors, which must stay in one piece.
//! 2. The lower bound over **all** linear placements of units, not only over swizzles, is known from dimensions.
//! 3. The parameters of a single swizzle are bounded by ranks: units that share a bank unswizzled must be told apart by
//!    the bits that are XORED, so `bits >= dim(L meet K0)` for every demand L that is to be free of conflicts; of
//!    those left, ranks decide. Fewest bits win, then the lowest base, then the smallest shift.
//! 4. If that reaches the bound, the bound is the proof. Otherwise the quotient is searched: see the `search` module.
//!    If a swizzle costs what the search found, it is taken; else the answer is a matrix.
//!
//! The cost of the answer is counted once more from the addresses themselves; ranks and counts always agree.

use super::search::Demands;
use super::{BANKS, BankError, TileAccess, WORD_BYTES};
use crate::Swizzle;
use crate::xor::{BitMatrix, Refusal, Subspace, XorLayout};
use std::collections::BTreeMap;

/// Why no linear placement is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimality {
    /// The cost is the lower bound.
    BoundReached,
    /// Every subspace of a quotient was visited or cut; none costs less.
    Exhausted {
        /// Dimension of the quotient.
        dimension: u32,
        /// Subspaces visited or cut.
        visited: u64,
    },
}

/// A placement and its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwizzleChoice {
    /// The swizzle of element offsets, if one swizzle is best. The identity if none is needed.
    pub swizzle: Option<Swizzle>,
    /// The placement as a map of element offset bits.
    pub matrix: BitMatrix,
    /// Weighted wavefronts of all accesses.
    pub wavefronts: u64,
    /// Weighted wavefronts without a swizzle.
    pub unswizzled: u64,
    /// What no linear placement that keeps the vectors whole can be below.
    pub bound: u64,
    /// The proof.
    pub optimality: Optimality,
}

impl SwizzleChoice {
    /// Where an element goes. Offsets beyond the tile are moved within their own copy of it.
    pub fn apply(&self, offset: i64) -> i64 {
        let mask = (1i64 << self.matrix.columns().len()) - 1;
        (offset & !mask) | self.matrix.apply((offset & mask) as u64) as i64
    }

    /// The tile's layout with this placement.
    pub fn place(&self, tile: &crate::Layout) -> Result<XorLayout, Refusal> {
        XorLayout::from_layout(tile)?.map_offsets(&self.matrix)
    }
}

/// The best placement for a tile of elements of `element_bytes` under all `accesses`.
///
/// ```
/// # use tiki_layout::{Layout, banks::{TileAccess, choose_swizzle}};
/// // A tile of 8 rows of 64 two-byte elements: written by rows, read by `ldmatrix`.
/// let rows = Layout::parse("(8,8):(8,64)").unwrap();
/// let columns = Layout::parse("(8,8):(64,8)").unwrap();
/// let accesses = [TileAccess::stores(&rows, 2, 16).unwrap(), TileAccess::matrices(&columns, 2).unwrap()];
/// let best = choose_swizzle(2, &accesses).unwrap();
/// assert_eq!(best.swizzle.unwrap().to_string(), "Sw<3,3,3>");
/// assert_eq!((best.unswizzled, best.wavefronts, best.bound), (72, 16, 16));
/// ```
pub fn choose_swizzle(
    element_bytes: i64,
    accesses: &[TileAccess],
) -> Result<SwizzleChoice, BankError> {
    if !matches!(element_bytes, 1 | 2 | 4 | 8 | 16) {
        return Err(BankError::Width {
            bytes: element_bytes,
        });
    }
    let unit = accesses
        .iter()
        .map(TileAccess::unit)
        .fold(element_bytes.max(WORD_BYTES), i64::max);
    let word_bits = (unit / WORD_BYTES).trailing_zeros();
    let bank_bits = BANKS.trailing_zeros() - word_bits;
    let last = accesses
        .iter()
        .map(TileAccess::last_byte)
        .max()
        .unwrap_or(0);
    let unit_bits = 64 - ((last / unit) as u64).leading_zeros();
    let mut merged: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
    for (number, access) in accesses.iter().enumerate() {
        for (basis, weight) in access.phases(number)? {
            // Words that can share a bank agree within the unit: their differences are whole units.
            let high = Subspace::span((word_bits..63).map(|bit| 1 << bit));
            let units = Subspace::span(basis).meet(&high);
            let units = units.basis().iter().map(|v| v >> word_bits).collect();
            let sum: &mut u64 = merged.entry(units).or_insert(0);
            *sum = sum.saturating_add(weight);
        }
    }
    let spaces = merged
        .into_iter()
        .map(|(basis, weight)| (Subspace::span(basis), weight))
        .collect();
    let demands = Demands { spaces, bank_bits };
    let element_shift = (unit / element_bytes).trailing_zeros();

    let bound = demands.bound();
    let unswizzled = demands.cost(&kernel_of(None, bank_bits, unit_bits));
    let single = best_single(&demands, unit_bits);
    let answer = |swizzle: Option<Fields>, kernel: Subspace, optimality| {
        let units = match swizzle {
            Some(fields) => fields.matrix(unit_bits),
            None => placement(&kernel, bank_bits, unit_bits),
        };
        let low = BitMatrix::identity(element_shift);
        let high = units.columns().iter().map(|c| c << element_shift);
        SwizzleChoice {
            swizzle: swizzle.map(|f| f.swizzle(element_shift)),
            matrix: BitMatrix::new(low.columns().iter().copied().chain(high).collect()),
            wavefronts: demands.cost(&kernel),
            unswizzled,
            bound,
            optimality,
        }
    };
    if single.cost == bound {
        return Ok(answer(
            Some(single.fields),
            single.kernel,
            Optimality::BoundReached,
        ));
    }
    let found = demands.search(bound)?;
    let optimality = if found.cost == bound {
        Optimality::BoundReached
    } else {
        Optimality::Exhausted {
            dimension: found.quotient,
            visited: found.visited,
        }
    };
    if single.cost == found.cost {
        return Ok(answer(Some(single.fields), single.kernel, optimality));
    }
    // Prefer a placement that stays in its row of banks: one whose K meets the bank bits trivially.
    let rows = Subspace::span((0..bank_bits).map(|bit| 1 << bit));
    let mut in_rows = demands.clone();
    in_rows.spaces.push((rows, 1));
    let in_rows_cost = found.cost.saturating_add(1);
    let kernel = match in_rows.search(in_rows_cost) {
        Ok(better) if better.cost == in_rows_cost => {
            extend(&better.kernel, &in_rows.sum(), bank_bits, unit_bits)
        }
        _ => extend(&found.kernel, &demands.sum(), bank_bits, unit_bits),
    };
    Ok(answer(None, kernel, optimality))
}

/// A swizzle of units: `bits` bits from `base + shift` XORed onto those from `base`.
#[derive(Clone, Copy)]
struct Fields {
    bits: u32,
    base: u32,
    shift: u32,
}

impl Fields {
    fn apply(self, unit: u64) -> u64 {
        unit ^ (unit >> self.shift & ((1 << self.bits) - 1) << self.base)
    }

    fn matrix(self, unit_bits: u32) -> BitMatrix {
        BitMatrix::new((0..unit_bits).map(|bit| self.apply(1 << bit)).collect())
    }

    fn swizzle(self, element_shift: u32) -> Swizzle {
        let base = if self.bits == 0 {
            0
        } else {
            self.base + element_shift
        };
        Swizzle::new(self.bits.into(), base.into(), self.shift.into()).unwrap_or(Swizzle::IDENTITY)
    }
}

struct Single {
    fields: Fields,
    kernel: Subspace,
    cost: u64,
}

/// The units that share a bank with unit 0 under a swizzle: `bank(x) = 0` where the high bits determine the low.
fn kernel_of(fields: Option<Fields>, bank_bits: u32, unit_bits: u32) -> Subspace {
    let low = (1u64 << bank_bits) - 1;
    Subspace::span((bank_bits..unit_bits).map(|bit| {
        let unit = 1u64 << bit;
        // The swizzle reads the high bits only, so x = high ^ (what lands on the bank bits) has bank 0.
        unit | fields.map_or(0, |f| f.apply(unit) & low)
    }))
}

/// The cheapest single swizzle; of equal ones that with the fewest bits, then the lowest base, then the least shift.
fn best_single(demands: &Demands, unit_bits: u32) -> Single {
    let bank_bits = demands.bank_bits;
    let plain = kernel_of(None, bank_bits, unit_bits);
    let none = Fields {
        bits: 0,
        base: 0,
        shift: 0,
    };
    let mut best = Single {
        fields: none,
        cost: demands.cost(&plain),
        kernel: plain.clone(),
    };
    let bound = demands.bound();
    // Units of one bank that a phase touches must be told apart by the field: this many bits at least.
    let collide = |(space, _): &(Subspace, u64)| space.meet_dim(&plain);
    let free = |(space, _): &&(Subspace, u64)| space.dim() <= bank_bits;
    let least = demands
        .spaces
        .iter()
        .filter(free)
        .map(collide)
        .max()
        .unwrap_or(0);
    // With fewer bits the bound is out of reach: they are tried last, and only if nothing reached it.
    let most = bank_bits.min(unit_bits.saturating_sub(bank_bits));
    for bits in (least.max(1)..=most).chain(1..least.min(most + 1)) {
        if best.cost == bound {
            break;
        }
        for base in 0..=bank_bits - bits {
            for shift in (bank_bits - base).max(bits)..=unit_bits - bits - base {
                let fields = Fields { bits, base, shift };
                let kernel = kernel_of(Some(fields), bank_bits, unit_bits);
                let cost = demands.cost(&kernel);
                if (cost, bits, base, shift)
                    < (
                        best.cost,
                        best.fields.bits,
                        best.fields.base,
                        best.fields.shift,
                    )
                {
                    best = Single {
                        fields,
                        kernel,
                        cost,
                    };
                }
            }
        }
    }
    best
}

/// Extends the part of K inside of `sum` to codimension `bank_bits`, by the highest unit bits outside of `sum`.
fn extend(part: &Subspace, sum: &Subspace, bank_bits: u32, unit_bits: u32) -> Subspace {
    let mut kernel = part.clone();
    let mut covered = sum.clone();
    for bit in (0..unit_bits).rev() {
        if kernel.dim() + bank_bits >= unit_bits {
            break;
        }
        if covered.insert(1 << bit) {
            kernel.insert(1 << bit);
        }
    }
    kernel
}

/// An invertible map that sends K to the units of bank 0.
fn placement(kernel: &Subspace, bank_bits: u32, unit_bits: u32) -> BitMatrix {
    let low = (1u64 << bank_bits) - 1;
    let high_parts: Vec<u64> = kernel.basis().iter().map(|v| v & !low).collect();
    if Subspace::span(high_parts.iter().copied()).dim() == kernel.dim() {
        // K is a graph over the high bits: XOR the value of the graph onto the bank bits.
        let by_high = BitMatrix::new(high_parts);
        let by_member = BitMatrix::new(kernel.basis().to_vec());
        let column = |bit: u32| {
            let unit = 1u64 << bit;
            let member = by_high
                .solve(unit)
                .map_or(0, |choice| by_member.apply(choice));
            if bit < bank_bits {
                unit
            } else {
                unit | member & low
            }
        };
        return BitMatrix::new((0..unit_bits).map(column).collect());
    }
    // Preimages: bank bits come from a complement of K, the other bits from K.
    let mut covered = kernel.clone();
    let outside = (0..unit_bits)
        .map(|bit| 1u64 << bit)
        .filter(|unit| covered.insert(*unit))
        .collect::<Vec<_>>();
    BitMatrix::new([outside.as_slice(), kernel.basis()].concat()).quasi_inverse(unit_bits)
}
