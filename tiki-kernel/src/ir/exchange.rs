//! How a register tensor is dealt anew among the lanes of each warp.
//!
//! In one *round* every lane gives at most one of its values to the lane whose number differs in some
//! bits (`xor`; 0: it keeps it) and puts what it gets at one of its new places. Which value and which place
//! may differ from lane to lane, so a round is a selection of what is given, a shuffle, and a selection of
//! where it goes. For each distance there are as many rounds as the lane with most to trade needs.
//!
//! Invariant: all warps do the same, and every element that the new distribution holds comes from a lane of
//! the same warp; otherwise there is no exchange.

use super::{Coordinate, Dist, TensorType, within};
use std::collections::{BTreeMap, HashMap};

const LANES: usize = 32;

/// All rounds, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// In order.
    pub rounds: Vec<Round>,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Bits in which the numbers of partners differ.
    pub xor: u32,
    /// Places of the old fragment that are given, each with the mask of the lanes that give it.
    pub gives: Vec<(usize, u32)>,
    /// Places of the new fragment that are filled, each with the mask of the lanes that fill it.
    pub takes: Vec<(usize, u32)>,
}

impl Exchange {
    /// The exchange that deals a tensor as `to` says; `None` if elements would have to leave their warp.
    #[must_use]
    pub fn of(tensor: &TensorType, to: &Dist) -> Option<Exchange> {
        let wanted = wanted(tensor, to)?;
        let mut rounds = Vec::new();
        for xor in 0..LANES {
            // Per lane: places in the new fragment, and in its partner's old one.
            let trades: Vec<Vec<(usize, usize)>> = (0..LANES)
                .map(|lane| {
                    let of = |(place, from): (usize, &Option<(usize, usize)>)| match from {
                        Some((other, i)) if other ^ lane == xor => Some((place, *i)),
                        _ => None,
                    };
                    wanted[lane].iter().enumerate().filter_map(of).collect()
                })
                .collect();
            rounds.extend(cheaper(xor, &trades));
        }
        Some(Exchange { rounds })
    }

    /// Shuffles of one thread.
    #[must_use]
    pub fn shuffles(&self) -> usize {
        self.rounds.iter().filter(|r| r.xor != 0).count()
    }

    /// Selections of one thread.
    #[must_use]
    pub fn selections(&self) -> usize {
        selections(&self.rounds)
    }
}

/// What is given beyond the first value, and what is put where something has been put before.
fn selections(rounds: &[Round]) -> usize {
    let mut filled = Vec::new();
    let mut count = 0;
    for round in rounds {
        count += round.gives.len().saturating_sub(1);
        for (place, _) in &round.takes {
            if filled.contains(place) {
                count += 1;
            }
            filled.push(*place);
        }
    }
    count
}

/// Rounds at one distance: in the order of the new places or of the old ones, whichever selects less.
fn cheaper(xor: usize, trades: &[Vec<(usize, usize)>]) -> Vec<Round> {
    let by = |key: fn(&(usize, usize)) -> (usize, usize)| {
        let mut trades = trades.to_vec();
        trades.iter_mut().for_each(|t| t.sort_by_key(key));
        let most = trades.iter().map(Vec::len).max().unwrap_or(0);
        let rounds = (0..most).map(|n| {
            let (mut gives, mut takes) = (BTreeMap::new(), BTreeMap::new());
            for (lane, trade) in trades.iter().enumerate() {
                if let Some((place, i)) = trade.get(n) {
                    *takes.entry(*place).or_insert(0) |= 1_u32 << lane;
                    *gives.entry(*i).or_insert(0) |= 1_u32 << (lane ^ xor);
                }
            }
            Round {
                xor: xor as u32,
                gives: gives.into_iter().collect(),
                takes: takes.into_iter().collect(),
            }
        });
        rounds.collect::<Vec<Round>>()
    };
    let (new, old) = (by(|t| (t.0, t.1)), by(|t| (t.1, t.0)));
    if selections(&old) < selections(&new) {
        old
    } else {
        new
    }
}

/// A lane and a place of it.
type Source = (usize, usize);

/// Per lane and new place: the lane and old place it comes from; `None` where nothing is wanted.
fn wanted(tensor: &TensorType, to: &Dist) -> Option<Vec<Vec<Option<Source>>>> {
    let (from, shape) = (&tensor.dist, &tensor.shape);
    let threads = from.thread_count() as usize;
    if threads != to.thread_count() as usize || !threads.is_multiple_of(LANES) {
        return None;
    }
    let inside = |at: &[u32]| within(at, shape);
    let rank = shape.len();
    let mut wanted = vec![vec![None; to.len()]; LANES];
    for warp in 0..threads / LANES {
        let mut holders: HashMap<Coordinate, Vec<Source>> = HashMap::new();
        for lane in 0..LANES {
            for i in 0..from.len() {
                let at = from.coordinate(warp * LANES + lane, i, rank);
                if inside(&at) {
                    holders.entry(at).or_default().push((lane, i));
                }
            }
        }
        for (lane, places) in wanted.iter_mut().enumerate() {
            for (place, known) in places.iter_mut().enumerate() {
                let at = to.coordinate(warp * LANES + lane, place, rank);
                if !inside(&at) {
                    continue;
                }
                let found = holders.get(&at)?;
                match known {
                    Some(source) if found.contains(source) => {}
                    Some(_) => return None,
                    None => *known = found.iter().copied().min_by_key(|(other, _)| other ^ lane),
                }
            }
        }
    }
    Some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::ir::Mode;

    fn tensor(shape: &[u32], dist: Dist) -> TensorType {
        TensorType {
            dtype: DType::F32,
            shape: shape.to_vec(),
            dist,
        }
    }

    /// Invariant: carrying the rounds out gives every lane what the new distribution says. Witness: coordinates as
    /// values, for all pairs of some distributions of one shape.
    #[test]
    fn rounds_carry_every_element_to_its_place() {
        let rows = Dist {
            threads: vec![Mode::along(0, 32, 1)],
            values: vec![Mode::along(1, 8, 1)],
        };
        let columns = Dist {
            threads: vec![Mode::along(1, 8, 1), Mode::along(0, 4, 1)],
            values: vec![Mode::along(0, 8, 4)],
        };
        let quads = Dist {
            threads: vec![Mode::along(1, 4, 2), Mode::along(0, 8, 1)],
            values: vec![Mode::along(1, 2, 1), Mode::along(0, 4, 8)],
        };
        let copies = Dist {
            threads: vec![Mode::replicated(4), Mode::along(0, 8, 1)],
            values: vec![Mode::along(1, 8, 1), Mode::along(0, 4, 8)],
        };
        let all = [rows, columns, quads, copies];
        for shape in [[32, 8], [31, 5]] {
            for from in &all {
                for to in &all {
                    let t = tensor(&shape, from.clone());
                    let exchange = Exchange::of(&t, to).unwrap();
                    let mut out = vec![vec![None; to.len()]; LANES];
                    for round in &exchange.rounds {
                        let given = |lane: usize| {
                            let own = |g: &&(usize, u32)| g.1 >> lane & 1 == 1;
                            let (i, _) = round.gives.iter().find(own)?;
                            Some(from.coordinate(lane, *i, 2))
                        };
                        for (place, mask) in &round.takes {
                            for lane in (0..LANES).filter(|l| mask >> l & 1 == 1) {
                                out[lane][*place] = given(lane ^ round.xor as usize);
                            }
                        }
                    }
                    for (lane, places) in out.iter().enumerate() {
                        for (place, got) in places.iter().enumerate() {
                            let want = to.coordinate(lane, place, 2);
                            if want[0] < shape[0] && want[1] < shape[1] {
                                assert_eq!(got.as_ref(), Some(&want), "{from} to {to}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_stays_in_its_lane_costs_no_shuffle_and_what_leaves_its_warp_is_refused() {
        let linear = Dist {
            threads: vec![Mode::along(0, 64, 2)],
            values: vec![Mode::along(0, 2, 1)],
        };
        let turned = Dist {
            threads: vec![Mode::along(0, 64, 1)],
            values: vec![Mode::along(0, 2, 64)],
        };
        let t = tensor(&[128], linear.clone());
        let own = Exchange::of(&t, &linear).unwrap();
        assert_eq!((own.shuffles(), own.selections()), (0, 0));
        assert_eq!(Exchange::of(&t, &turned), None);
    }
}
