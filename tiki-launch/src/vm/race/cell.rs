//! The memory of a word: who wrote its bytes last, and who has read them since.
//!
//! A [`Stamp`] names bytes of the word by a mask. Accesses that neither cover nor follow one another spill into
//! a list behind the cell. Cells lie in lines ([`super::line`]).

use super::clock::Known;

/// Bits of a stamp beside the mask of bytes.
pub(super) const STRONG: u8 = 0x10;
/// Through the asynchronous path.
pub(super) const ASYNC: u8 = 0x20;
/// By a copy of a thread: an ordinary write, yet every card shows it to the asynchronous path once it is
/// waited for, and compilers rely on that.
pub(super) const COPY: u8 = 0x40;
/// All bytes, by the ordinary path.
#[cfg(test)]
pub(super) const PLAIN_MASK: u8 = 0xf;
/// Several lanes, or none.
pub(super) const MANY: u8 = 0xff;

/// An access, remembered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::vm) struct Stamp {
    pub(super) clock: u32,
    /// Step that made it.
    pub(super) pc: u32,
    pub(super) team: u32,
    pub(super) agent: u16,
    /// Lane; of what the accelerator wrote, how it is spread ([`super::SPREAD`] and up).
    pub(super) lane: u8,
    /// Bytes of the word in the low half; [`STRONG`], [`ASYNC`], [`COPY`].
    pub(super) bits: u8,
}

impl Stamp {
    #[inline(always)]
    pub(super) fn mask(&self) -> u8 {
        self.bits & 0xf
    }
    pub(super) fn same_moment(&self, other: &Stamp) -> bool {
        (self.clock, self.agent, self.team) == (other.clock, other.agent, other.team)
            && (self.bits ^ other.bits) & 0xf0 == 0
    }
    fn with_mask(mut self, mask: u8) -> Stamp {
        self.bits = self.bits & 0xf0 | mask;
        self
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(in crate::vm) struct Cell {
    pub(super) write: Stamp,
    pub(super) read: Stamp,
    /// One more than the number of the list of further stamps; none if zero.
    pub(super) more: u32,
}

/// Who looks: a warp with what it knows.
pub(super) struct View<'a> {
    pub(super) team: u32,
    pub(super) agent: u16,
    pub(super) clock: u32,
    pub(super) known: &'a Known,
    /// Lanes of one warp are told apart.
    pub(super) lanes: bool,
}

impl View<'_> {
    /// Whether what a stamp tells of is over for a lane of this warp.
    #[inline(always)]
    pub(super) fn after(&self, s: &Stamp, lane: u8, pc: u32) -> bool {
        if s.team != self.team {
            return self.known.outside.get(s.team, s.agent) >= s.clock;
        }
        if s.agent == self.agent {
            return !self.lanes
                || s.clock < self.clock
                || s.lane == lane
                || s.lane == MANY
                || lane == MANY
                || s.pc == pc;
        }
        self.known.seen.get(s.agent) >= s.clock
    }
    /// Whether the asynchronous path sees it.
    pub(super) fn fenced(&self, s: &Stamp) -> bool {
        s.bits & (ASYNC | COPY) != 0
            || s.team != self.team
            || self.known.fenced.get(s.agent) >= s.clock
    }
}

/// What a new access found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clash {
    pub(super) other: Stamp,
    /// The other one wrote.
    pub(super) wrote: bool,
    /// It is over, but the asynchronous path need not see it.
    pub(super) unfenced: bool,
}

/// Lists of further stamps.
#[derive(Debug, Default)]
pub(super) struct Lists {
    all: Vec<Vec<(Stamp, bool)>>,
    free: Vec<u32>,
}

impl Lists {
    fn list(&mut self, cell: &mut Cell) -> &mut Vec<(Stamp, bool)> {
        if cell.more == 0 {
            cell.more = match self.free.pop() {
                Some(i) => i + 1,
                None => {
                    self.all.push(vec![]);
                    self.all.len() as u32
                }
            };
        }
        &mut self.all[cell.more as usize - 1]
    }
    /// Gives a cell a list of its own.
    pub(super) fn give(&mut self, cell: &mut Cell, list: impl Iterator<Item = (Stamp, bool)>) {
        self.list(cell).extend(list);
    }
    /// Takes a cell's list from it, to be put back.
    pub(super) fn lift(&mut self, cell: &mut Cell) -> (u32, Vec<(Stamp, bool)>) {
        let number = std::mem::take(&mut cell.more) - 1;
        (number, std::mem::take(&mut self.all[number as usize]))
    }
    /// A list that is of no cell any more: its room is used again.
    pub(super) fn put_back(&mut self, (number, mut list): (u32, Vec<(Stamp, bool)>)) {
        list.clear();
        self.all[number as usize] = list;
        self.free.push(number);
    }
    pub(super) fn of(&self, cell: &Cell) -> &[(Stamp, bool)] {
        match cell.more {
            0 => &[],
            n => &self.all[n as usize - 1],
        }
    }
}

impl Cell {
    /// Whether nobody has read it since the last write.
    pub(super) fn untouched(&self) -> bool {
        self.read.mask() == 0 && self.more == 0
    }
    /// Notes an access and says with what it clashes. Through the asynchronous path, earlier writes must be
    /// fenced too.
    #[inline]
    pub(super) fn enter(
        &mut self,
        lists: &mut Lists,
        s: Stamp,
        write: bool,
        view: &View<'_>,
    ) -> Option<Clash> {
        let clash = self.look(lists, &s, write, view);
        self.note(lists, s, write, view);
        clash
    }

    /// With what an access clashes.
    #[inline]
    pub(super) fn look(
        &self,
        lists: &Lists,
        s: &Stamp,
        write: bool,
        view: &View<'_>,
    ) -> Option<Clash> {
        let m = s.mask();
        let strong = |o: &Stamp| o.bits & s.bits & STRONG != 0;
        let look = |o: &Stamp, wrote: bool| -> Option<Clash> {
            if o.mask() & m == 0 || !(wrote || write) || strong(o) {
                return None;
            }
            let over = view.after(o, s.lane, s.pc);
            let unfenced = over && wrote && s.bits & ASYNC != 0 && !view.fenced(o);
            (!over || unfenced).then_some(Clash {
                other: *o,
                wrote,
                unfenced,
            })
        };
        let mut clash = look(&self.write, true).or_else(|| look(&self.read, false));
        if self.more != 0 {
            for (o, wrote) in lists.of(self) {
                clash = clash.or_else(|| look(o, *wrote));
            }
        }
        clash
    }

    /// Notes an access.
    #[inline]
    pub(super) fn note(&mut self, lists: &mut Lists, s: Stamp, write: bool, view: &View<'_>) {
        if self.more != 0 {
            self.prune(lists, &s, write, view);
        }
        if write {
            self.note_write(lists, s);
        } else {
            self.note_read(lists, s, view);
        }
    }

    fn note_write(&mut self, lists: &mut Lists, s: Stamp) {
        let m = s.mask();
        let rest = self.write.mask() & !m;
        if rest != 0 && self.write.same_moment(&s) {
            let lane = if self.write.lane == s.lane {
                s.lane
            } else {
                MANY
            };
            self.write = Stamp { lane, ..s }.with_mask(m | rest);
        } else {
            // An ordinary write is not forgotten for an atomic one: others may see the one and not the other.
            let kept = if s.bits & !self.write.bits & STRONG != 0 {
                self.write.mask()
            } else {
                rest
            };
            if kept != 0 {
                let old = self.write.with_mask(kept);
                lists.list(self).push((old, true));
            }
            self.write = s;
        }
        let left = self.read.mask() & !m;
        self.read = self.read.with_mask(left);
    }

    fn note_read(&mut self, lists: &mut Lists, s: Stamp, view: &View<'_>) {
        let m = s.mask();
        let old = self.read;
        let rest = old.mask() & !m;
        if old.mask() == 0 {
            self.read = s;
        } else if old.same_moment(&s) {
            let lane = if old.lane == s.lane { s.lane } else { MANY };
            self.read = Stamp { lane, ..s }.with_mask(m | rest);
        } else if rest == 0 && superseded(&old, &s, view) {
            self.read = s;
        } else {
            lists.list(self).push((old, false));
            self.read = s;
        }
    }

    /// Drops from the list what the new access makes superfluous.
    fn prune(&mut self, lists: &mut Lists, s: &Stamp, write: bool, view: &View<'_>) {
        let m = s.mask();
        let list = &mut lists.all[self.more as usize - 1];
        list.retain_mut(|(o, wrote)| {
            let plain_under_strong = *wrote && s.bits & !o.bits & STRONG != 0;
            if write && !plain_under_strong {
                *o = o.with_mask(o.mask() & !m);
                return o.mask() != 0;
            }
            write || *wrote || o.mask() & !m != 0 || !superseded(o, s, view)
        });
        if list.is_empty() {
            lists.free.push(self.more - 1);
            self.more = 0;
        }
    }
}

/// Whether who comes after the new access comes after the old one too.
fn superseded(old: &Stamp, new: &Stamp, view: &View<'_>) -> bool {
    if (old.team, old.agent) == (new.team, new.agent) {
        return old.clock <= new.clock && (old.bits & STRONG == 0 || new.bits & STRONG != 0);
    }
    old.bits & STRONG == 0 && view.after(old, MANY, u32::MAX)
}
