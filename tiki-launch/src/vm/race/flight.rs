//! Work of a warp's lanes that is under way, in groups.
//!
//! A lane's work belongs to its open group until the lane closes it; a wait completes all groups of a lane
//! but the newest few. The warp numbers what it issues; everything below the oldest number that a lane still
//! waits for is over.

use std::collections::VecDeque;

#[derive(Debug)]
struct Entry {
    number: u32,
    /// Lanes for which it is not over.
    mask: u32,
    /// Group of each lane.
    groups: Groups,
}

#[derive(Debug)]
enum Groups {
    Same(u32),
    Each(Box<[u32; 32]>),
}

/// Work of one kind.
#[derive(Debug, Default)]
pub(in crate::vm) struct Flight {
    /// The agent that does it; none before there is any.
    pub(super) agent: Option<u16>,
    last: u32,
    closed: [u32; 32],
    pending: VecDeque<Entry>,
}

impl Flight {
    /// Lanes issue work; its number.
    pub(super) fn issue(&mut self, mask: u32) -> u32 {
        self.last += 1;
        let first = self.closed[mask.trailing_zeros() as usize & 31];
        let same = (0..32).all(|i| mask >> i & 1 == 0 || self.closed[i] == first);
        let groups = if same {
            Groups::Same(first)
        } else {
            Groups::Each(Box::new(self.closed))
        };
        self.pending.push_back(Entry {
            number: self.last,
            mask,
            groups,
        });
        self.last
    }
    /// Lanes close their open group.
    pub(super) fn close(&mut self, mask: u32) {
        for i in (0..32).filter(|i| mask >> i & 1 == 1) {
            self.closed[i] += 1;
        }
    }
    /// Lanes wait for all closed groups but the newest; up to which number everything is over.
    pub(super) fn wait(&mut self, mask: u32, keep: u32) -> u32 {
        for e in &mut self.pending {
            let waits = mask & e.mask;
            for i in (0..32).filter(|i| waits >> i & 1 == 1) {
                let group = match &e.groups {
                    Groups::Same(g) => *g,
                    Groups::Each(all) => all[i],
                };
                if group.saturating_add(keep) < self.closed[i] {
                    e.mask &= !(1 << i);
                }
            }
        }
        self.pending.retain(|e| e.mask != 0);
        self.over()
    }
    /// The number up to which everything is over.
    pub(super) fn over(&self) -> u32 {
        self.pending.front().map_or(self.last, |e| e.number - 1)
    }
    /// The newest number.
    pub(super) fn last(&self) -> u32 {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_completes_all_but_the_newest_groups() {
        let mut f = Flight::default();
        for _ in 0..3 {
            f.issue(u32::MAX);
            f.close(u32::MAX);
        }
        assert_eq!(f.wait(u32::MAX, 1), 2);
        assert_eq!(f.wait(u32::MAX, 0), 3);
    }

    #[test]
    fn an_open_group_is_not_waited_for() {
        let mut f = Flight::default();
        f.issue(1);
        assert_eq!(f.wait(u32::MAX, 0), 0);
        f.close(1);
        assert_eq!(f.wait(u32::MAX, 0), 1);
    }

    #[test]
    fn lanes_wait_for_themselves() {
        let mut f = Flight::default();
        f.issue(0b11);
        f.close(0b11);
        assert_eq!(f.wait(0b01, 0), 0);
        assert_eq!(f.wait(0b10, 0), 1);
    }
}
