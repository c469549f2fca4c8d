//! What a warp knows of others: vector clocks.
//!
//! An agent is something that touches memory in an order of its own: a warp, the copies of a warp, the
//! stores it handed to the accelerator, the multiplies of a warpgroup, the deliveries that a barrier object
//! counts. Each numbers what it does; a [`Clock`] says up to which number an agent's doings are over, for
//! the one who holds it. An access comes after another exactly if the clock of its warp covers it.

use std::sync::Arc;

/// Numbers by agent; an agent that is not listed has done nothing that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::vm) struct Clock(Vec<u32>);

impl Clock {
    #[inline(always)]
    pub(super) fn get(&self, agent: u16) -> u32 {
        self.0.get(agent as usize).copied().unwrap_or(0)
    }
    /// Covers an agent at least up to a number.
    pub(super) fn raise(&mut self, agent: u16, to: u32) {
        let at = agent as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] = self.0[at].max(to);
    }
    /// Covers nothing any more.
    fn clear(&mut self) {
        self.0.clear();
    }
    /// Covers what another covers, and nothing else.
    fn set(&mut self, other: &Clock) {
        self.0.clone_from(&other.0);
    }
    /// Covers what another covers.
    pub(super) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a = (*a).max(*b);
        }
    }
}

/// What is known of other teams: by number, ascending.
#[derive(Debug, Clone, Default)]
pub(in crate::vm) struct Outside(Vec<(u32, Arc<Clock>)>);

impl Outside {
    pub(super) fn get(&self, team: u32, agent: u16) -> u32 {
        match self.0.binary_search_by_key(&team, |t| t.0) {
            Ok(i) => self.0[i].1.get(agent),
            Err(_) => 0,
        }
    }
    pub(super) fn learn(&mut self, team: u32, clock: &Arc<Clock>) {
        match self.0.binary_search_by_key(&team, |t| t.0) {
            Ok(i) => {
                if !Arc::ptr_eq(&self.0[i].1, clock) {
                    let mut both = Clock::clone(&self.0[i].1);
                    both.join(clock);
                    self.0[i].1 = Arc::new(both);
                }
            }
            Err(i) => self.0.insert(i, (team, clock.clone())),
        }
    }
    pub(super) fn join(&mut self, other: &Outside) {
        for (team, clock) in &other.0 {
            self.learn(*team, clock);
        }
    }
}

/// All that a warp knows, or that a barrier passes on.
#[derive(Debug, Clone, Default)]
pub(in crate::vm) struct Known {
    /// What is over.
    pub(super) seen: Clock,
    /// What the asynchronous path sees too: writes that a fence between the paths covered.
    pub(super) fenced: Clock,
    /// Barrier objects made up to here are seen by the asynchronous path and by other blocks.
    pub(super) made: Clock,
    /// Other teams.
    pub(super) outside: Outside,
}

impl Known {
    /// Knows nothing any more; keeps its room.
    pub(super) fn clear(&mut self) {
        self.seen.clear();
        self.fenced.clear();
        self.made.clear();
        self.outside.0.clear();
    }
    /// Knows what another knows; keeps its room.
    pub(super) fn set(&mut self, other: &Known) {
        self.seen.set(&other.seen);
        self.fenced.set(&other.fenced);
        self.made.set(&other.made);
        self.outside.0.clone_from(&other.outside.0);
    }
    pub(super) fn join(&mut self, other: &Known) {
        self.seen.join(&other.seen);
        self.fenced.join(&other.fenced);
        self.made.join(&other.made);
        if !other.outside.0.is_empty() {
            self.outside.join(&other.outside);
        }
    }
}

/// What was released at a place in memory.
#[derive(Debug, Clone)]
pub(in crate::vm) struct Released {
    pub(super) team: u32,
    pub(super) known: Known,
    /// The same, for other teams; nothing if it was released among the threads of a block.
    pub(super) abroad: Option<Arc<Clock>>,
}

impl Released {
    pub(super) fn new(team: u32, known: &Known, wide: bool) -> Released {
        Released {
            team,
            known: known.clone(),
            abroad: wide.then(|| Arc::new(known.seen.clone())),
        }
    }
    /// Adds what is known here to what the reader knows.
    pub(super) fn tell(&self, reader: &mut Known, team: u32, wide: bool) {
        if team == self.team {
            reader.join(&self.known);
        } else if let Some(clock) = self.abroad.as_ref().filter(|_| wide) {
            reader.outside.learn(self.team, clock);
            reader.outside.join(&self.known.outside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_join_to_the_larger_of_each() {
        let (mut a, mut b) = (Clock::default(), Clock::default());
        a.raise(0, 3);
        a.raise(2, 1);
        b.raise(2, 5);
        b.raise(4, 1);
        a.join(&b);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|i| a.get(i)), [3, 0, 5, 0, 1, 0]);
        a.raise(0, 2);
        assert_eq!(a.get(0), 3, "a clock never falls");
    }

    #[test]
    fn a_narrow_release_stays_in_its_team() {
        let mut known = Known::default();
        known.seen.raise(1, 7);
        let mut reader = Known::default();
        Released::new(3, &known, false).tell(&mut reader, 4, true);
        assert_eq!(reader.outside.get(3, 1), 0);
        Released::new(3, &known, true).tell(&mut reader, 4, false);
        assert_eq!(reader.outside.get(3, 1), 0);
        Released::new(3, &known, true).tell(&mut reader, 4, true);
        assert_eq!(reader.outside.get(3, 1), 7);
    }
}
