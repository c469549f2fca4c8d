//! Addresses in shared memory given one after the other: each where it is used, not all before the first.
//!
//! As [`super::shared`] finds them, with one difference. Where the allocation is aligned beyond the bits
//! that a swizzle changes, the run-time part is added first and the XOR comes last:
//!
//! ```text
//! (base + run-time offset) ^ low(K)  + high(K)        one register for all, an XOR an access
//! ```
//!
//! so that a ring of stages costs one sum, not one for each distinct `low(K)`.

use super::Lower;
use super::shared::{Plan, address, in_bytes, plan, scaled};
use crate::budget::shared_memory;
use crate::ir::{SharedView, TensorType};
use crate::isa::{self, Ty};
use crate::ptx::Operand;
use std::collections::HashMap;

/// Addresses of a tile's accesses, by value index.
pub(super) struct Lanes<'v> {
    view: &'v SharedView,
    t: TensorType,
    how: How,
    /// Byte offset of the allocation.
    start: i64,
    bytes: i64,
    name: String,
}

enum How {
    Sum {
        base: Option<Operand>,
        k: Vec<i64>,
    },
    /// Base without `low(K)`.
    Last {
        base: Option<Operand>,
        k: Vec<(i64, i64)>,
    },
    /// A base for each `low(K)`.
    Bases {
        bases: HashMap<i64, Option<Operand>>,
        k: Vec<(i64, i64)>,
    },
    Each,
}

impl Lower<'_> {
    /// Prepares the addresses of a tile.
    pub(super) fn lanes_of<'v>(&mut self, view: &'v SharedView, t: TensorType) -> Lanes<'v> {
        let name = format!("address of {}", self.kernel.shared[view.alloc].name);
        let bytes = i64::from(t.dtype.bytes());
        let start = i64::from(self.shared_offsets[view.alloc]);
        let how = self.holding(&name, |l| match plan(view, &t) {
            Plan::Sum { form, k } => {
                let base = l.shared_base(&scaled(&form, bytes), None, 0);
                let base = l.moving(view, base, bytes);
                How::Sum { base, k }
            }
            Plan::Bits { form, k } => {
                let x = view.swizzle.map(|x| in_bytes(x, bytes));
                let form = scaled(&form, bytes);
                let most = k.iter().map(|(low, _)| low * bytes).max().unwrap_or(0);
                let unit = (most as u64 + 1).next_power_of_two() as i64;
                let aligned = i64::from(shared_memory::lay_out(l.kernel).align) % unit == 0
                    && start % unit == 0
                    && view.dynamic.iter().all(|(_, s)| (s * bytes) % unit == 0);
                if aligned {
                    let base = l.shared_base(&form, x, 0);
                    let base = l.moving(view, base, bytes);
                    return How::Last { base, k };
                }
                let mut bases = HashMap::new();
                for (low, _) in &k {
                    if !bases.contains_key(low) {
                        let base = l.shared_base(&form, x, low * bytes);
                        bases.insert(*low, l.moving(view, base, bytes));
                    }
                }
                How::Bases { bases, k }
            }
            Plan::Each => How::Each,
        });
        Lanes {
            view,
            t,
            how,
            start,
            bytes,
            name,
        }
    }

    /// The address of the access from value `i` on.
    pub(super) fn lane_address(&mut self, lanes: &Lanes<'_>, i: usize) -> Operand {
        let (start, bytes) = (lanes.start, lanes.bytes);
        self.holding(&lanes.name, |l| match &lanes.how {
            How::Sum { base, k } => address(base, start + k[i] * bytes),
            How::Last { base, k } => {
                let (low, high) = k[i];
                if low == 0 {
                    return address(base, start + high * bytes);
                }
                let base = base.clone().unwrap_or_else(|| l.shared_symbol());
                let by = Operand::int(low * bytes);
                let moved = l.def(Ty::B32, isa::xor(Ty::B32), [base, by]);
                address(&Some(moved), start + high * bytes)
            }
            How::Bases { bases, k } => {
                let (low, high) = k[i];
                address(&bases[&low], start + high * bytes)
            }
            How::Each => l.shared_each(lanes.view, &lanes.t, i, start),
        })
    }
}

impl Lanes<'_> {
    /// Element type.
    pub(super) fn dtype(&self) -> crate::dtype::DType {
        self.t.dtype
    }
}
