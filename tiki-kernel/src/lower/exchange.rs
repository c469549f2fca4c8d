//! Register tensors dealt anew within warps: the rounds of an [`Exchange`].

use super::Lower;
use super::tiles::Element;
use crate::ir::exchange::Exchange;
use crate::ir::{Const, Value};
use crate::isa::{self, Cmp, Shfl, Ty};
use crate::ptx::Operand;
use std::collections::HashMap;

/// Every lane.
const ALL: u32 = u32::MAX;

impl Lower<'_> {
    /// The elements of `v`, from those of `from`.
    pub(super) fn exchange(&mut self, v: Value, from: Value) -> Vec<Element> {
        let (old, new) = (self.tensor(from), self.tensor(v));
        let exchange = Exchange::of(old, &new.dist)
            .expect("bug: the checker has found that no element leaves its warp");
        let t = new.dtype;
        let ty = Ty::of_register(t);
        let mut lanes: HashMap<u32, Operand> = HashMap::new();
        let mut out: Vec<Option<Operand>> = vec![None; new.dist.len()];
        for round in &exchange.rounds {
            // The commonest is given by all that give nothing else.
            let most = round.gives.iter().max_by_key(|(_, mask)| mask.count_ones());
            let Some((most, _)) = most else { continue };
            let mut given = self.whole(from, *most);
            for (i, mask) in round.gives.iter().filter(|(i, _)| i != most) {
                let x = self.whole(from, *i);
                let p = self.lane_in(*mask, &mut lanes);
                given = self.select(t, p, x, given);
            }
            if round.xor != 0 {
                given = self.shuffle(Shfl::Bfly, ty, given, Operand::int(round.xor));
            }
            for (place, mask) in &round.takes {
                let put = match out[*place].take() {
                    Some(before) if *mask != ALL => {
                        let p = self.lane_in(*mask, &mut lanes);
                        self.select(t, p, given.clone(), before)
                    }
                    _ => given.clone(),
                };
                out[*place] = Some(put);
            }
        }
        let absent = |l: &mut Self| l.constant(t, Const::Int(0));
        out.into_iter()
            .map(|o| Element::Whole(o.unwrap_or_else(|| absent(self))))
            .collect()
    }

    /// Whether the lane is one of these.
    fn lane_in(&mut self, mask: u32, known: &mut HashMap<u32, Operand>) -> Operand {
        if let Some(p) = known.get(&mask) {
            return p.clone();
        }
        let lane = self.digit(1, 32);
        let mask_in = self.register(&Operand::int(mask), Ty::B32);
        let moved = self.def(Ty::B32, isa::shr(Ty::U32), [mask_in.into(), lane]);
        let bit = self.def(Ty::B32, isa::and(Ty::B32), [moved, Operand::int(1)]);
        let p = self.def(
            Ty::Pred,
            isa::setp(Cmp::Ne, Ty::U32),
            [bit, Operand::int(0)],
        );
        known.insert(mask, p.clone());
        p
    }
}
